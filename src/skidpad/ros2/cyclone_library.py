"""What is used of the package `cyclonedds`, imported when it is needed."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any, NamedTuple

from ..extras import require

_ERRORS = 3
"""Of the kinds of lines that Cyclone may log: fatal ones and errors."""


class Calls(NamedTuple):
    """Functions of the C library that its binding has in another form, or not at all."""

    attach: Any
    """Wait set, entity and a number to know it by."""
    wait: Any
    """Wait set, room for numbers, how much, and ns to wait at most; returns how many are due."""


def cyclone(module: str) -> Any:
    """A module of the binding."""
    return require(f"cyclonedds.{module}", purpose="ROS 2 over DDS")


@cache
def calls() -> Calls:
    """Functions of the C library, without the lock of the interpreter while they run."""
    library = cyclone("internal").DDS._dll_handle
    # Its own function objects: the binding has set other argument types on the shared ones.
    attach, wait = library["dds_waitset_attach"], library["dds_waitset_wait"]
    attach.argtypes = [ctypes.c_int32, ctypes.c_int32, ctypes.c_ssize_t]
    wait.argtypes = [
        *(ctypes.c_int32, ctypes.POINTER(ctypes.c_ssize_t)),
        *(ctypes.c_size_t, ctypes.c_int64),
    ]
    return Calls(attach, wait)


@cache
def leave_to_the_parent() -> None:
    """Let forks delete nothing when they end: they would wait for threads that they have not."""
    entities = cyclone("core").Entity._entities
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=entities.clear)


def silence() -> None:
    """Let Cyclone write no line for every packet that somebody else got wrong."""
    set_mask = cyclone("internal").DDS._dll_handle["dds_set_log_mask"]
    set_mask.argtypes = [ctypes.c_uint32]
    set_mask(_ERRORS)


def delete(entity: Any) -> None:
    """Delete an entity now, whoever still has a reference to it; a second time does nothing."""
    entity.__del__()
