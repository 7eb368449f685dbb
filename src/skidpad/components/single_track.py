"""A car as a single track without slip: it turns about a point on the line of its rear axle.

The body point is the middle of the rear axle, which moves straight ahead.
"""

from __future__ import annotations

from ..ops import cos, sin
from ..units import m, m_s, rad, rad_s
from .rigid_body import PoseRate, pose_rate

__all__ = ["rolling", "yaw_rate"]


def yaw_rate(v_x: m_s, steer: rad, wheel_base: m) -> rad_s:
    """Yaw rate of a car that rolls at `v_x` with its front wheels at `steer`."""
    # Not tan: what that does for its last place costs as much as the sine and the cosine.
    return v_x * sin(steer) / (cos(steer) * wheel_base)


def rolling(yaw: rad, v_x: m_s, steer: rad, wheel_base: m) -> PoseRate:
    """World-frame velocity of the middle of the rear axle, and the yaw rate."""
    return pose_rate(yaw, v_x, 0.0 * v_x, yaw_rate(v_x, steer, wheel_base))
