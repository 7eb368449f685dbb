"""Where a sensor sits on a vehicle and which way its axes point.

Positions are from the vehicle's body point, the one its state describes: x forward, y left, z up.
The axes of the sensor are those of the body turned by yaw about z, then pitch about the new y, then
roll about the new x, as in ROS; each positive by the right-hand rule (yaw to the left, pitch nose
down, roll to the right side down).
"""

from __future__ import annotations

from math import pi
from typing import Any, NamedTuple

from .. import record
from ..errors import InvalidValue
from ..ops import cos, sin
from ..plane.pose import Pose, placed
from ..plane.rotation import Rotation, Vector
from ..units import m, rad

FRAMES = ("body", "optical", "frd")
"""Axes by name: "body" is x forward, y left, z up; "optical" is a camera's, x right, y down, z
forward; "frd" is an aircraft's, x forward, y right, z down."""
_TURNS = {
    "body": (0.0, 0.0, 0.0),
    "optical": (-0.5 * pi, 0.0, -0.5 * pi),
    "frd": (pi, 0.0, 0.0),
}


class Mounting(NamedTuple):
    """Pose of a sensor on its vehicle; at the body point and along its axes by default."""

    x: m = 0.0
    """Forward of the body point."""
    y: m = 0.0
    """To the left of the body point."""
    z: m = 0.0
    """Above the body point."""
    roll: rad = 0.0
    """About the sensor's own x axis."""
    pitch: rad = 0.0
    """About the y axis after yaw; positive points the sensor down."""
    yaw: rad = 0.0
    """About the body's z axis, positive to the left."""

    @property
    def position(self) -> Vector:
        """Where it sits, in body axes, in m."""
        return Vector(self.x, self.y, self.z)


AT_BODY_POINT = Mounting()
"""The default of every sensor."""


def in_frame(frame: str, x: m = 0.0, y: m = 0.0, z: m = 0.0) -> Mounting:
    """A mounting whose axes go by a name of `FRAMES`, such as "optical"."""
    if frame not in _TURNS:
        raise InvalidValue(f"frame = {frame!r} is unknown; allowed are {', '.join(FRAMES)}")
    return record.build(Mounting, (x, y, z, *_TURNS[frame]))


def checked_mounting(kind: str, mounting: Any) -> Mounting:
    """The mounting; raises for anything else."""
    if not isinstance(mounting, Mounting):
        raise InvalidValue(f"{kind}.mounting must be a Mounting, got {mounting!r}")
    record.check(mounting)
    return mounting


def rotation(roll: rad, pitch: rad, yaw: rad) -> Rotation:
    """Rz(yaw) Ry(pitch) Rx(roll): takes components in the turned axes to those before."""
    c_r, s_r = cos(roll), sin(roll)
    c_p, s_p = cos(pitch), sin(pitch)
    c_y, s_y = cos(yaw), sin(yaw)
    return Rotation(
        c_y * c_p,
        c_y * s_p * s_r - s_y * c_r,
        c_y * s_p * c_r + s_y * s_r,
        s_y * c_p,
        s_y * s_p * s_r + c_y * c_r,
        s_y * s_p * c_r - c_y * s_r,
        -s_p,
        c_p * s_r,
        c_p * c_r,
    )


def cross(a: Vector, b: Vector) -> Vector:
    """Vector product."""
    return Vector(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


def added(*vectors: Vector) -> Vector:
    """Sum of vectors."""
    first, *others = vectors
    for v in others:
        first = Vector(first.x + v.x, first.y + v.y, first.z + v.z)
    return first


def sensor_axes(mounting: Mounting) -> Rotation:
    """The axes of the sensor seen from the body: `turned_back` takes body axes to them."""
    return rotation(mounting.roll, mounting.pitch, mounting.yaw)


def pose_in_world(mounting: Mounting, x: m, y: m, yaw: rad) -> Pose:
    """Pose in the plane of a sensor on a level vehicle whose body point is at (x, y, yaw)."""
    return placed((x, y, yaw), (mounting.x, mounting.y, mounting.yaw))
