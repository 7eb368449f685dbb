"""Interrupts at every place where Python may answer a signal, one after the other.

The interpreter looks for signals when a function begins and when a call has returned; a profile
function is told of both.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import skidpad as sp


class Interrupt:
    """Raises KeyboardInterrupt at the n-th place of skidpad's code where a signal may be answered.

    `call` runs a function and says whether it was interrupted.
    """

    def __init__(self, place: int) -> None:
        self._left = place

    def call(self, function: Callable[[], Any]) -> bool:
        sys.setprofile(self._look)
        try:
            function()
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(None)
        return False

    def _look(self, frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        own = "/skidpad/" in code.co_filename or code is _Kernel.__call__.__code__
        # A generator may end when nobody is left to raise to.
        if event == "c_call" or not own or code.co_flags & inspect.CO_GENERATOR:
            return
        self._left -= 1
        if self._left < 0:
            sys.setprofile(None)
            raise KeyboardInterrupt


def open_to_profiles(sim: sp.Simulator) -> sp.Simulator:
    """The simulator with its kernels behind functions of Python: what ctypes calls, the interpreter
    does not tell a profile function of."""

    for name in ("_tick", "_tick_of", "_drive"):
        if hasattr(sim._stepper, name):
            setattr(sim._stepper, name, _Kernel(getattr(sim._stepper, name)))
    return sim


class _Kernel:
    def __init__(self, kernel: Callable[..., int]) -> None:
        self._kernel = kernel

    def __call__(self, *arguments: Any) -> int:
        return self._kernel(*arguments)
