"""What CommonRoad's vehicles make of a command: limits of steering and of acceleration.

Facts from M. Althoff and G. Würsching, "CommonRoad: Vehicle Models" (2020a), and its Python package
`commonroad-vehicle-models` 3.0.2. Limits act on the rate, so a vehicle may pass a limit by what it
moves within one stage of an integrator, and no further.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..ops import abs, clip, logical_and, logical_or, maximum, smooth_step, where
from ..units import m_s, m_s2, one, rad, rad_s

GOVERNOR: one = 0.02
"""Share of the largest speed over which the engine fades at its highest revs."""


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


def torque_limited(command: m_s2, v: m_s, v_engine: m_s, p: Any) -> m_s2:
    """The acceleration whose torque acts on wheels that spin: m R a, of engine or brakes.

    What slows the car comes from the brakes, which give up to `a_max`. What drives it comes from
    the engine, whose wheels turn with the rim speed `v_engine`: at most `a_max`, at most the power
    m a_max v_switch, either way, and nothing once its revs are those of `v_max` or `v_min`.
    """
    strength = p.a_max * (p.v_switch / maximum(abs(v_engine), p.v_switch))
    width = GOVERNOR * p.v_max
    # A governor that cut off at once would throw a wheel to and fro at its limit.
    forwards = 1.0 - smooth_step(v_engine, p.v_max - width, p.v_max)
    backwards = smooth_step(v_engine, p.v_min, p.v_min + width)
    driven = clip(command, -strength * backwards, strength * forwards)
    return where(command * v < 0.0, clip(command, -p.a_max, p.a_max), driven)


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
