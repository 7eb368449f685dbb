"""Poses in the plane, transformations between their frames, and rotations in space.

Floats, arrays and symbols use the same formulas, so everything can be traced. Functions that take
a cosine and a sine are pure arithmetic, for compiled loops and kernels that already have these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Array
from ..core.body import Pose as Pose
from ..ops import cos, sin
from ..units import one


def turned(c: Any, s: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Rotate a vector by the angle with this cosine and sine: components in the original axes from
    those in rotated axes."""
    return c * x - s * y, s * x + c * y


def turned_back(c: Any, s: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Rotate a vector back by an angle with this cosine and sine: components in the rotated axes
    (inverse of `turned`).
    """
    return c * x + s * y, c * y - s * x


def moved(c: Any, s: Any, x_0: Any, y_0: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Transform a point from a frame at (x_0, y_0), rotated as in `turned`, to the outer frame."""
    return x_0 + c * x - s * y, y_0 + s * x + c * y


def rotated(x: Any, y: Any, angle: Any) -> tuple[Any, Any]:
    """Rotate a vector to the left by an angle in rad; from body to world axes, the angle is the
    yaw."""
    return turned(cos(angle), sin(angle), x, y)


def unrotated(x: Any, y: Any, angle: Any) -> tuple[Any, Any]:
    """Rotate a vector to the right by an angle in rad; from world to body axes, the angle is the
    yaw."""
    return turned_back(cos(angle), sin(angle), x, y)


def to_world(pose: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """World coordinates of a point in the frame of a pose x, y, yaw."""
    x_0, y_0, yaw = pose
    return moved(cos(yaw), sin(yaw), x_0, y_0, x, y)


def to_body(pose: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Coordinates of a world point in the frame of a pose x, y, yaw."""
    x_0, y_0, yaw = pose
    return unrotated(x - x_0, y - y_0, yaw)


def relative(pose: Any, other: Any) -> Pose:
    """Pose in the frame of a reference pose; the yaw is not wrapped."""
    x, y, yaw = other
    return Pose(*to_body(pose, x, y), yaw - pose[2])


def placed(pose: Any, inner: Any) -> Pose:
    """World pose of a pose given in the frame of a reference pose; the inverse of `relative`."""
    x, y, yaw = inner
    return Pose(*to_world(pose, x, y), pose[2] + yaw)


def towed(pose: Any, hitch_x: Any, drawbar: Any, angle: Any) -> Pose:
    """Pose of a trailer's axle behind a unit at a pose.

    `hitch_x` is the position of the hitch, forward in the frame of the unit, `drawbar` the distance
    from there back to the axle, and `angle` the heading of the trailer relative to the unit.
    """
    x, y, yaw = pose
    heading = yaw + angle
    return Pose(
        x + hitch_x * cos(yaw) - drawbar * cos(heading),
        y + hitch_x * sin(yaw) - drawbar * sin(heading),
        heading,
    )


def points_to_world(pose: Any, points: Array) -> Array:
    """World coordinates of points (..., 2) in the frame of a pose."""
    return np.stack(to_world(pose, points[..., 0], points[..., 1]), axis=-1)


def points_to_body(pose: Any, points: Array) -> Array:
    """Coordinates of world points (..., 2) in the frame of a pose."""
    return np.stack(to_body(pose, points[..., 0], points[..., 1]), axis=-1)


class Vector(NamedTuple):
    """Three components of any unit, in axes that depend on the use."""

    x: float
    y: float
    z: float


class Rotation(NamedTuple):
    """Rotation matrix, whose columns are the rotated axes expressed in the original axes."""

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
    """Components in the original axes of a vector with components `v` in the rotated axes."""
    return Vector(
        r.xx * v.x + r.xy * v.y + r.xz * v.z,
        r.yx * v.x + r.yy * v.y + r.yz * v.z,
        r.zx * v.x + r.zy * v.y + r.zz * v.z,
    )


def rotation_turned_back(r: Rotation, v: Vector) -> Vector:
    """Components in the rotated axes of a vector with components `v` in the original axes."""
    return Vector(
        r.xx * v.x + r.yx * v.y + r.zx * v.z,
        r.xy * v.x + r.yy * v.y + r.zy * v.z,
        r.xz * v.x + r.yz * v.y + r.zz * v.z,
    )
