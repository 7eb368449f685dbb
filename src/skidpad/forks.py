"""Forks of the process wait until no thread holds certain locks.

A child has only the thread that forked. What another one held is held in the child for ever, and
what it was at, such as compiling, is left half way.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, ExitStack
from typing import Any

TRACING, LOOPS, MACHINE_CODE, ARRAYS, MEMORY = range(5)
"""The order in which threads take these locks, and forks too: LLVM's memory is freed by whichever
thread lets go of it last, whatever else that thread holds."""

_guarded: list[tuple[int, AbstractContextManager[Any]]] = []
_held = ExitStack()


def guard(lock: AbstractContextManager[Any], order: int) -> None:
    """Let forks wait for a lock from now on."""
    if all(lock is not other for _, other in _guarded):
        _guarded.append((order, lock))
        _guarded.sort(key=lambda entry: entry[0])


def _hold() -> None:
    for _, lock in _guarded:
        _held.enter_context(lock)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_held.close, after_in_child=_held.close)
