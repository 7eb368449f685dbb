"""Poses in the plane, coordinates in the frames that they make, and rotations in space.

Floats, arrays and symbols go through the same formulas, so all of it can be traced. Those that take
a cosine and a sine are arithmetic alone: compiled loops and kernels that have these at hand use
them as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Array
from ..core.body import Pose as Pose
from ..ops import cos, sin
from ..units import one


def turned(c: Any, s: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """A vector given along axes that are turned by an angle with this cosine and sine, seen from
    the axes before."""
    return c * x - s * y, s * x + c * y


def turned_back(c: Any, s: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The inverse of `turned`: components along the turned axes."""
    return c * x + s * y, c * y - s * x


def moved(c: Any, s: Any, x_0: Any, y_0: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """A point given in a frame that lies at (x_0, y_0) and is turned as in `turned`, seen from
    outside of it."""
    return x_0 + c * x - s * y, y_0 + s * x + c * y


def rotated(x: Any, y: Any, angle: Any) -> tuple[Any, Any]:
    """A vector turned to the left by an angle in rad; from body to world axes, the angle is the
    yaw."""
    return turned(cos(angle), sin(angle), x, y)


def unrotated(x: Any, y: Any, angle: Any) -> tuple[Any, Any]:
    """A vector turned to the right by an angle in rad; from world to body axes, the angle is the
    yaw."""
    return turned_back(cos(angle), sin(angle), x, y)


def to_world(pose: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """World coordinates of a point given in the frame of a pose x, y, yaw."""
    x_0, y_0, yaw = pose
    return moved(cos(yaw), sin(yaw), x_0, y_0, x, y)


def to_body(pose: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Coordinates in the frame of a pose x, y, yaw of a point of the world."""
    x_0, y_0, yaw = pose
    return unrotated(x - x_0, y - y_0, yaw)


def relative(pose: Any, other: Any) -> Pose:
    """Another pose as the frame of the first one has it; the yaw is not wrapped."""
    x, y, yaw = other
    return Pose(*to_body(pose, x, y), yaw - pose[2])


def placed(pose: Any, inner: Any) -> Pose:
    """The inverse of `relative`: the pose in the world of one that is given in a frame."""
    x, y, yaw = inner
    return Pose(*to_world(pose, x, y), pose[2] + yaw)


def towed(pose: Any, hitch_x: Any, drawbar: Any, angle: Any) -> Pose:
    """The pose of a trailer's axle behind a unit at a pose, by where it hangs, forward of the unit,
    the distance from there back to the axle, and its heading less the unit's."""
    x, y, yaw = pose
    heading = yaw + angle
    return Pose(
        x + hitch_x * cos(yaw) - drawbar * cos(heading),
        y + hitch_x * sin(yaw) - drawbar * sin(heading),
        heading,
    )


def points_to_world(pose: Any, points: Array) -> Array:
    """World coordinates of points (..., 2) given in the frame of a pose."""
    return np.stack(to_world(pose, points[..., 0], points[..., 1]), axis=-1)


def points_to_body(pose: Any, points: Array) -> Array:
    """Coordinates in the frame of a pose of points (..., 2) of the world."""
    return np.stack(to_body(pose, points[..., 0], points[..., 1]), axis=-1)


class Vector(NamedTuple):
    """Three components in the axes named where it is used; any unit."""

    x: float
    y: float
    z: float


class Rotation(NamedTuple):
    """A rotation matrix; the columns are the turned axes seen from the axes turned from."""

    xx: one
    xy: one
    xz: one
    yx: one
    yy: one
    yz: one
    zx: one
    zy: one
    zz: one


def rotation_turned(r: Rotation, v: Vector) -> Vector:
    """The vector with components `v` in the turned axes, seen from the axes before."""
    return Vector(
        r.xx * v.x + r.xy * v.y + r.xz * v.z,
        r.yx * v.x + r.yy * v.y + r.yz * v.z,
        r.zx * v.x + r.zy * v.y + r.zz * v.z,
    )


def rotation_turned_back(r: Rotation, v: Vector) -> Vector:
    """The inverse of `turned`."""
    return Vector(
        r.xx * v.x + r.yx * v.y + r.zx * v.z,
        r.xy * v.x + r.yy * v.y + r.zy * v.z,
        r.xz * v.x + r.yz * v.y + r.zz * v.z,
    )
