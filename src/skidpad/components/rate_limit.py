"""A value that follows its goal at a limited rate and lands on it, in steps of dt.

The rate is found once per step. A step that would reach or pass the goal ends on it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..ops import abs, logical_and, sign, where
from ..units import s

__all__ = ["Approach", "approach", "landed"]


class Approach(NamedTuple):
    """How a value moves towards its goal during one step."""

    rate: Any
    """Rate held through the step, in units of the value per second."""
    lands: Any
    """Whether the value is on its goal at the end of the step."""


def approach(value: Any, goal: Any, limit: Any, dt: s, tolerance: Any) -> Approach:
    """The step of a value towards its goal with a rate of at most `limit`, which is not negative.

    Within `tolerance` of the goal the value stays where it is; a step that ends that near lands.
    """
    gap = goal - value
    # Without a tolerance a value on its goal lands there again, so that it follows a small change
    # of the goal: gradients see that.
    far = abs(gap) >= tolerance
    within_reach = abs(gap) < limit * dt + tolerance
    rate = where(within_reach, gap / dt, limit * sign(gap))
    return Approach(where(far, rate, 0.0), logical_and(far, within_reach))


def landed(after: Any, goal: Any, lands: Any) -> Any:
    """The value after a step, put on its goal where it landed: free of the rounding of the sum."""
    return where(lands, goal, after)
