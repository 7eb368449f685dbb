"""What CommonRoad's vehicles make of a command: limits of steering and of acceleration.

Facts from M. Althoff and G. Würsching, "CommonRoad: Vehicle Models" (2020a), and its Python package
`commonroad-vehicle-models` 3.0.2. Limits act on the rate, so a vehicle may pass a limit by what it
moves within one stage of an integrator, and no further.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..ops import clip, logical_and, logical_or, maximum, where
from ..units import m_s, m_s2, rad, rad_s


class Limited(NamedTuple):
    """The commands that act."""

    steer_rate: rad_s
    a: m_s2


def steering_rate(command: rad_s, steer: rad, steer_max: rad, steer_rate_max: rad_s) -> rad_s:
    """The steering rate that acts: within ±`steer_rate_max`, and 0 outwards at full lock."""
    at_lock = _outwards(command, steer, -steer_max, steer_max)
    return where(at_lock, 0.0, clip(command, -steer_rate_max, steer_rate_max))


def acceleration(command: m_s2, v: m_s, a_max: m_s2, v_switch: m_s, v_min: m_s, v_max: m_s) -> m_s2:
    """The acceleration that acts along the car.

    At most `a_max` to either side; forwards above `v_switch` the engine's power allows no more than
    a_max v_switch / v; none that would lead beyond `v_min` (negative: reverse) or `v_max`.
    """
    forwards = a_max * (v_switch / maximum(v, v_switch))
    return where(_outwards(command, v, v_min, v_max), 0.0, clip(command, -a_max, forwards))


def _outwards(rate: Any, value: Any, low: Any, high: Any) -> Any:
    """Whether a value at one of its ends is driven outwards, or held there."""
    return logical_or(
        logical_and(value <= low, rate <= 0.0), logical_and(value >= high, rate >= 0.0)
    )


def limited(steer_rate: rad_s, a: m_s2, steer: rad, v: m_s, p: Any) -> Limited:
    """Both commands limited by the fields of these names in the parameters `p`."""
    return Limited(
        steering_rate(steer_rate, steer, p.steer_max, p.steer_rate_max),
        acceleration(a, v, p.a_max, p.v_switch, p.v_min, p.v_max),
    )
