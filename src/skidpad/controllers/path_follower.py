"""Steering along a line: curvature feed-forward, and feedback of a spring and damper over distance.

Without feed-forward errors the deviation e from the line obeys e'' + 2 ζ/d e' + e/d² = 0, where the
dash is a derivative over distance driven and d is `settling`. Written over distance instead of
time, the gains need no schedule over speed: the vehicle returns to the line on the same path at
any pace, and at standstill, where steering moves nothing, the command stays finite.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ..ops import atan2, clip, maximum, sqrt
from ..units import m, m_s, non_negative, one, per_m, positive, rad
from .line import Deviation

__all__ = ["Params", "kinematic_steer", "steer"]

LEAST_COS2 = 1e-4
"""Floor on the squared cosine of the slip angle: finite gradients for turns that are too tight."""


class Params(NamedTuple):
    """Geometry of the vehicle and the manner of its return to the line."""

    l_f: Annotated[m, positive]
    """Distance from the point that follows the line to the front axle."""
    l_r: Annotated[m, non_negative]
    """Distance from that point to the rear axle."""
    steer_max: Annotated[rad, positive]
    """Largest steering angle asked for, either side."""
    settling: Annotated[m, positive] = 3.0
    """Length over which a deviation dies out."""
    damping: Annotated[one, positive] = 1.0
    """Damping ratio of the return; 1 does not overshoot."""
    v_least: Annotated[m_s, positive] = 1.0
    """Speed below which the damping fades, as the direction of travel gets vague."""


def kinematic_steer(curvature: per_m, l_f: m, l_r: m) -> rad:
    """Steering angle with which a bicycle without tyre slip gives a point this path curvature.

    The point lies `l_f` behind the front and `l_r` before the rear axle. It slips by asin(l_r κ)
    against the heading, hence tan(steer) = (l_f + l_r) κ / sqrt(1 - (l_r κ)²).
    """
    sine = l_r * curvature
    cos2 = maximum(1.0 - sine * sine, LEAST_COS2)
    return atan2((l_f + l_r) * curvature, sqrt(cos2))


def steer(p: Params, seen: Deviation, speed: m_s, curvature: per_m) -> rad:
    """Steering target, positive to the left; this controller needs no memory.

    `seen` is the vehicle from its foot on the line, `speed` its speed over ground, `curvature` the
    feed-forward: that of the line, or its mean over a stretch ahead where the steering is slow.
    """
    slope = seen.v_left / maximum(speed, p.v_least)
    back = (2.0 * p.damping * slope + seen.left / p.settling) / p.settling
    angle = kinematic_steer(curvature - back, p.l_f, p.l_r)
    return clip(angle, -p.steer_max, p.steer_max)
