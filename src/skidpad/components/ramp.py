"""A one-sided ramp with a rounded foot, and its integral: forces of what can push and not pull."""

from __future__ import annotations

from typing import Any

from ..ops import clip, maximum
from .wheel import floored_speed

__all__ = ["ramp", "ramp_integral"]


def ramp(x: Any, width: Any) -> Any:
    """0 below -width, x above width, and between them smooth to the second derivative."""
    return 0.5 * (floored_speed(x, width) + x)


def ramp_integral(x: Any, width: Any) -> Any:
    """The integral of `ramp` from below: 0 below -width, x²/2 + width²/10 above width."""
    t = clip(x * (1.0 / width), -1.0, 1.0)
    t2 = t * t
    # Of the quartic of `floored_speed`, and of x itself, each halved; 0 at t = -1.
    foot = 0.1 + 0.5 * t2 + 0.125 * t * (3.0 + t2 * (2.0 - 0.2 * t2))
    beyond = maximum(x, width)
    return 0.5 * (foot * (width * width)) + 0.5 * (beyond * beyond - width * width)
