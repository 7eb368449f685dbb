"""Kernels that compiled code holds once and calls, instead of a copy at every place of use.

What is written as `called(kernel, a, b)` is `kernel(a, b)` for every backend. Only while a function
is traced into a Program does the tracer take the call instead: it makes a function of the Program.
Whoever needs plain expressions meanwhile, to differentiate them or to see which value depends on
which, makes them within `inlined`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

__all__ = ["called", "inlined", "taken_by"]

R = TypeVar("R")
Tracer = Callable[[Callable[..., Any], tuple[Any, ...]], Any]
"""Takes a kernel and its arguments; returns what the kernel would."""

_TRACER: ContextVar[Tracer | None] = ContextVar("skidpad_tracer", default=None)


def called(kernel: Callable[..., R], *arguments: Any) -> R:
    """`kernel(*arguments)`, which compiled code holds once however often it is called.

    For a large kernel that a vehicle uses several times, such as a tyre at four wheels. Arguments
    and results are records and numbers, or tuples of them. The kernel has to be a function of its
    arguments alone.
    """
    tracer = _TRACER.get()
    return kernel(*arguments) if tracer is None else tracer(kernel, arguments)


@contextmanager
def taken_by(tracer: Tracer | None) -> Generator[None]:
    """Within, calls of this thread are handed to a tracer."""
    before = _TRACER.set(tracer)
    try:
        yield
    finally:
        _TRACER.reset(before)


def inlined() -> AbstractContextManager[None]:
    """A context within which `called` is a plain call, also in a trace."""
    return taken_by(None)
