"""Actuators: first-order lags, limits, dead bands, as rates in continuous time."""

from __future__ import annotations

from typing import Any

from ..ops import clip
from ..units import s

__all__ = ["lag", "limited", "limited_lag", "outside_dead_band", "rate_limited_lag", "servo_rate"]


def limited(value: Any, limit: Any) -> Any:
    """The value within ±`limit`."""
    return clip(value, -limit, limit)


def outside_dead_band(error: Any, width: Any) -> Any:
    """What an error exceeds the dead band ±`width` by; 0 within it."""
    return error - limited(error, width)


def lag(value: Any, target: Any, t: s) -> Any:
    """Rate of a first-order lag with time constant `t`, in units of `value` per second."""
    return (target - value) * (1.0 / t)


def limited_lag(value: Any, target: Any, t: s, limit: Any) -> Any:
    """Rate of a lag whose target is limited to ±`limit`; the value then never leaves that range."""
    return lag(value, limited(target, limit), t)


def rate_limited_lag(value: Any, target: Any, t: s, limit: Any, rate_limit: Any) -> Any:
    """Rate of a lag with target within ±`limit` that also never moves faster than `rate_limit`."""
    return limited(limited_lag(value, target, t, limit), rate_limit)


def servo_rate(error: Any, t: s, rate_limit: Any) -> Any:
    """Rate at which a servo takes back an `error` (value less target) with time constant `t`.

    Never faster than `rate_limit`.
    """
    return limited(error * (-1.0 / t), rate_limit)
