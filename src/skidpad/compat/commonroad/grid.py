"""The times of a simulation: how many steps of the disturbance, and how many sub-steps in each."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...brief import shown
from ...errors import InvalidValue

_ROUNDING = 1e-9
"""How far a ratio of times may be from a whole number, relative, and still be meant as one."""


class Grid(NamedTuple):
    """A uniform grid: `steps` steps of `dt` in s. The disturbance is constant over each of them."""

    steps: int
    dt: float


def grid(t_final: float, delta_t_w: float, *, raw: bool) -> Grid:
    """The fewest equal steps no longer than delta_t_w that end at t_final, in s.

    A ratio that is a whole number but for rounding is taken as one: 0.14 / 0.02 gives 7 steps,
    though it is 7.000000000000001. With `raw` it is not, and gives 8 steps of 0.0175 s, as in
    commonroad-control. No time at all has no steps.
    """
    if t_final == 0.0:
        return Grid(0, delta_t_w)
    steps = math.ceil(t_final / delta_t_w) if raw else whole_parts(t_final, delta_t_w)
    return Grid(steps, t_final / steps)


def whole_parts(whole: float, part: float) -> int:
    """The fewest equal parts of `whole` that are no longer than `part`, but for rounding."""
    ratio = whole / part
    nearest = round(ratio)
    close = abs(ratio - nearest) <= _ROUNDING * max(ratio, 1.0)
    return max(nearest if close else math.ceil(ratio), 1)


def seconds(name: str, value: object, *, zero: bool) -> float:
    """A duration in s; raises unless it is finite and above 0, or at least 0 where that is
    meant."""
    try:
        if isinstance(value, (bool, str)):
            raise TypeError(f"{value!r} is not a number")
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} = {shown(value)} must be a number of seconds") from None
    if not (math.isfinite(number) and (number > 0.0 or (zero and number == 0.0))):
        allowed = "at least 0" if zero else "greater than 0"
        raise InvalidValue(f"{name} = {number} s must be finite and {allowed}")
    return number
