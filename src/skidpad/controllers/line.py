"""Where a vehicle is relative to a line on the ground."""

from __future__ import annotations

from typing import NamedTuple

from ..ops import maximum
from ..plane.line import LinePoint
from ..plane.pose import rotated, to_body
from ..units import m, m_s, one, per_m, rad

__all__ = ["Deviation", "LinePoint", "Motion", "advance", "deviation"]

NEAREST_TO_CENTRE: one = 0.1
"""Share of a bend's radius that `advance` keeps from its centre, where any foot is as good."""


class Motion(NamedTuple):
    """Position and velocity of the point of a vehicle that is to stay on the line."""

    x: m
    """Position in the world frame."""
    y: m
    """Position in the world frame."""
    yaw: rad
    """Heading of the vehicle from the world x axis, positive to the left."""
    v_x: m_s
    """Velocity along the vehicle, forward positive."""
    v_y: m_s
    """Velocity across the vehicle, positive to the left."""


class Deviation(NamedTuple):
    """A vehicle seen from a point of a line."""

    ahead: m
    """Distance along the tangent, positive beyond the point."""
    left: m
    """Distance across the tangent, positive to the left of the line."""
    v_left: m_s
    """Velocity across the tangent, positive to the left."""


def deviation(motion: Motion, point: LinePoint) -> Deviation:
    """The motion in the frame of a point of the line, whose x axis is the tangent."""
    ahead, left = to_body(point[:3], motion.x, motion.y)
    _, v_left = rotated(motion.v_x, motion.v_y, motion.yaw - point.heading)
    return Deviation(ahead, left, v_left)


def advance(seen: Deviation, curvature: per_m) -> m:
    """Distance along the line from the point to the foot of the perpendicular from the vehicle.

    One Newton step: exact on a straight, and called once per control step it stays on the foot, as
    its error falls with the square of the distance driven since the last call. A vehicle near the
    centre of a bend, or beyond it, advances slowly but finitely.
    """
    return seen.ahead / maximum(1.0 - curvature * seen.left, NEAREST_TO_CENTRE)
