"""Actuators: first-order lags, limits, dead bands, as rates in continuous time."""

from __future__ import annotations

from typing import Any

from ..ops import clip, sqrt
from ..units import s

__all__ = [
    "lag",
    "limited",
    "limited_lag",
    "outside_dead_band",
    "rate_limited_lag",
    "servo_rate",
    "smoothly_limited",
]


def limited(value: Any, limit: Any, width: Any = None) -> Any:
    """The value within ±`limit`; with a `width`, as `smoothly_limited` says."""
    return clip(value, -limit, limit) if width is None else smoothly_limited(value, limit, width)


def smoothly_limited(value: Any, limit: Any, width: Any) -> Any:
    """The value within ±`limit`, its corners rounded over `width` times the limit.

    Smooth everywhere and never quite at the limit, so that an optimiser finds its way back from
    beyond; at the corner itself it is half the rounding short of it. Its slope at 0 is 1.
    """
    w = width * limit
    steep = value * sqrt(1.0 + width * width)
    above, below = steep + limit, steep - limit
    return 0.5 * (sqrt(above * above + w * w) - sqrt(below * below + w * w))


def outside_dead_band(error: Any, width: Any) -> Any:
    """What an error exceeds the dead band ±`width` by; 0 within it."""
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
    """Rate of a lag with target within ±`limit` that also never moves faster than `rate_limit`."""
    return limited(limited_lag(value, target, t, limit, width), rate_limit, width)


def servo_rate(error: Any, t: s, rate_limit: Any) -> Any:
    """Rate at which a servo takes back an `error` (value less target) with time constant `t`.

    Never faster than `rate_limit`.
    """
    return limited(error * (-1.0 / t), rate_limit)
