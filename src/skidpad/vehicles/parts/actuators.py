"""Actuator dynamics: lags, limits, dead bands and ramps, as rates or as steps of dt.

`approach` follows a goal at a limited rate and ends exactly on it: the rate is computed once per
step, and a step that would reach or pass the goal ends on it. `ramp` is one-sided with a rounded
corner, for contact forces that push and do not pull; `ramp_integral` is its energy. `rk4` is one
step of the classical Runge-Kutta method inside an update, over a small record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ...integrate.explicit import RK4, ExplicitRungeKutta
from ...ops import abs, clip, logical_and, maximum, sign, sqrt, where
from ...units import s
from .load_transfer import floored_speed


def limited(value: Any, limit: Any, width: Any = None) -> Any:
    """Clip `value` to ±`limit`; with a `width` smoothly, see `smoothly_limited`."""
    return clip(value, -limit, limit) if width is None else smoothly_limited(value, limit, width)


def smoothly_limited(value: Any, limit: Any, width: Any) -> Any:
    """Clip `value` smoothly to ±`limit`, with corners rounded over `width` times the limit.

    The result is smooth everywhere and never quite reaches the limit, so that an optimiser finds a
    gradient beyond it; at the corner it is half the rounding below the limit. Its slope at 0 is 1.
    """
    w = width * limit
    steep = value * sqrt(1.0 + width * width)
    above, below = steep + limit, steep - limit
    return 0.5 * (sqrt(above * above + w * w) - sqrt(below * below + w * w))


def outside_dead_band(error: Any, width: Any) -> Any:
    """Part of `error` outside the dead band ±`width`; 0 within it."""
    return error - limited(error, width)


def lag(value: Any, target: Any, t: s) -> Any:
    """Rate of a first-order lag with time constant `t`, in units of `value` per second."""
    return (target - value) * (1.0 / t)


def limited_lag(value: Any, target: Any, t: s, limit: Any, width: Any = None) -> Any:
    """Rate of a lag whose target is limited to ±`limit`; the value then never leaves that range.

    With a `width` the limit is smooth.
    """
    return lag(value, limited(target, limit, width), t)


def rate_limited_lag(
    value: Any, target: Any, t: s, limit: Any, rate_limit: Any, width: Any = None
) -> Any:
    """Rate of a lag with its target limited to ±`limit` and the rate itself to ±`rate_limit`."""
    return limited(limited_lag(value, target, t, limit, width), rate_limit, width)


def servo_rate(error: Any, t: s, rate_limit: Any) -> Any:
    """Rate at which a servo reduces `error` (value minus target) with time constant `t`.

    The rate is limited to ±`rate_limit`.
    """
    return limited(error * (-1.0 / t), rate_limit)


class Approach(NamedTuple):
    """Rate-limited motion of a value towards its goal during one step."""

    rate: Any
    """Rate during the step, in units of the value per second."""
    lands: Any
    """Whether the value reaches its goal at the end of the step."""


def approach(value: Any, goal: Any, limit: Any, dt: s, tolerance: Any) -> Approach:
    """One step of a value towards its goal, at a rate of at most `limit` (not negative).

    Within `tolerance` of the goal the value does not move; a step that ends this close reaches it.
    """
    gap = goal - value
    # Without a tolerance a value on its goal lands there again, so that it follows a small change
    # of the goal: gradients see that.
    far = abs(gap) >= tolerance
    within_reach = abs(gap) < limit * dt + tolerance
    rate = where(within_reach, gap / dt, limit * sign(gap))
    return Approach(where(far, rate, 0.0), logical_and(far, within_reach))


def end_on_goal(after: Any, goal: Any, lands: Any) -> Any:
    """Value after a step, set to the goal if `lands`, so that no rounding error remains."""
    return where(lands, goal, after)


def ramp(x: Any, width: Any) -> Any:
    """Smooth one-sided ramp: 0 below -width, x above width, twice differentiable between."""
    return 0.5 * (floored_speed(x, width) + x)


def ramp_integral(x: Any, width: Any) -> Any:
    """The integral of `ramp` from below: 0 below -width, x²/2 + width²/10 above width."""
    t = clip(x * (1.0 / width), -1.0, 1.0)
    t2 = t * t
    # Of the quartic of `floored_speed`, and of x itself, each halved; 0 at t = -1.
    foot = 0.1 + 0.5 * t2 + 0.125 * t * (3.0 + t2 * (2.0 - 0.2 * t2))
    beyond = maximum(x, width)
    return 0.5 * (foot * (width * width)) + 0.5 * (beyond * beyond - width * width)


R = TypeVar("R", bound=tuple[Any, ...])

_RK4 = ExplicitRungeKutta(RK4)


def rk4(rates: Callable[[R], R], x: R, dt: Any) -> R:
    """Record after one Runge-Kutta step of `dt`; `rates` returns its time derivatives."""
    kind = type(x)
    after, _ = _RK4.step(lambda stage: rates(kind(*stage)), x, dt)
    return kind(*after)
