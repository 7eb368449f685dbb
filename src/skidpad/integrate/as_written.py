"""Tracing what a user wrote, as it was written.

CasADi simplifies expressions while they are made: `x != x` becomes false, `x / x` one and `x - x`
zero, as if no number were NaN, infinite or zero. Guards against those would vanish from compiled
code, so functions of users are traced without it. What the integrators put around them needs it:
their Jacobians are full of zeros.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ..forks import TRACING, guard

_LOCK = threading.RLock()
"""The switch is the whole process's: one thread at a time."""
guard(_LOCK, TRACING)


@contextmanager
def making_expressions() -> Generator[None]:
    """No other thread turns CasADi's simplification off or on within: it is the whole process's,
    and half of an expression made without it has other bits."""
    with _LOCK:
        yield


@contextmanager
def as_written(leaf: Any) -> Generator[None]:
    """CasADi simplifies nothing within, if `leaf`, one of the arguments, is one of its symbols."""
    casadi = sys.modules.get("casadi")
    if casadi is None or not isinstance(leaf, casadi.SX):
        yield
        return
    options = casadi.GlobalOptions
    with _LOCK:
        before = options.getSimplificationOnTheFly()
        options.setSimplificationOnTheFly(False)
        try:
            yield
        finally:
            options.setSimplificationOnTheFly(before)
