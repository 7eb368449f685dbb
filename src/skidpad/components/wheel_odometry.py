"""Motion as two wheels of an axle tell it: from their spin, as if they rolled without slip."""

from __future__ import annotations

from typing import NamedTuple

from ..ops import cos, sin
from ..units import m, m_s, rad, rad_s, s
from .wheel_friction import Hub
from .wheel_load import Place


class Twist(NamedTuple):
    """Velocity of a vehicle that does not slip sideways."""

    v: m_s
    """Along the vehicle, forward positive, at the point that wheel places are given from."""
    omega: rad_s
    """Yaw rate, positive to the left."""


class Pose(NamedTuple):
    """Position and heading in the frame in which counting began."""

    x: m = 0.0
    y: m = 0.0
    yaw: rad = 0.0


class SpinningWheel(NamedTuple):
    """A wheel that is listened to."""

    spin: rad_s
    """Positive when it rolls forward."""
    hub: Hub
    place: Place
    """From the point whose motion is estimated."""


def estimated_twist(left: SpinningWheel, right: SpinningWheel) -> Twist:
    """Twist at which both wheels roll with the spin they have."""
    v_left, v_right = left.spin * left.hub.radius, right.spin * right.hub.radius
    omega = (v_right - v_left) * (1.0 / (left.place.y - right.place.y))
    return Twist(v_left + omega * left.place.y, omega)


def advanced(pose: Pose, twist: Twist, dt: s) -> Pose:
    """The pose after moving by a twist for dt, counted along the heading half way through."""
    turned = twist.omega * dt
    heading = pose.yaw + 0.5 * turned
    ahead = twist.v * dt
    return Pose(pose.x + ahead * cos(heading), pose.y + ahead * sin(heading), pose.yaw + turned)
