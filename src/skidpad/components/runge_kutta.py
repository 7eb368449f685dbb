"""A step of the classical Runge-Kutta method inside an update, over a small record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..integrate.explicit import ExplicitRungeKutta
from ..integrate.tableau import RK4

R = TypeVar("R", bound=tuple[Any, ...])

_RK4 = ExplicitRungeKutta(RK4)


def rk4(rates: Callable[[R], R], x: R, dt: Any) -> R:
    """The record after `dt`, from a function that gives its time derivatives as a like record."""
    kind = type(x)
    after, _ = _RK4.step(lambda stage: rates(kind(*stage)), x, dt)
    return kind(*after)
