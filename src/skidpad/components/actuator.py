"""Actuators: first-order lags whose limits hold in continuous time, so at any step size."""

from __future__ import annotations

from typing import Any

from ..ops import clip
from ..units import s


def lag(value: Any, target: Any, t: s) -> Any:
    """Rate of a first-order lag with time constant `t`, in units of `value` per second."""
    return (target - value) * (1.0 / t)


def limited_lag(value: Any, target: Any, t: s, limit: Any) -> Any:
    """Rate of a lag whose target is limited to ±`limit`; the value then never leaves that range."""
    return lag(value, clip(target, -limit, limit), t)


def rate_limited_lag(value: Any, target: Any, t: s, limit: Any, rate_limit: Any) -> Any:
    """Rate of a lag with target within ±`limit` that also never moves faster than `rate_limit`."""
    return clip(limited_lag(value, target, t, limit), -rate_limit, rate_limit)
