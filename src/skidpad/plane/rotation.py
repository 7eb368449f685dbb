"""Vectors in space and how axes are turned."""

from __future__ import annotations

from typing import NamedTuple

from ..units import one


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


def turned(r: Rotation, v: Vector) -> Vector:
    """The vector with components `v` in the turned axes, seen from the axes before."""
    return Vector(
        r.xx * v.x + r.xy * v.y + r.xz * v.z,
        r.yx * v.x + r.yy * v.y + r.yz * v.z,
        r.zx * v.x + r.zy * v.y + r.zz * v.z,
    )


def turned_back(r: Rotation, v: Vector) -> Vector:
    """The inverse of `turned`."""
    return Vector(
        r.xx * v.x + r.yx * v.y + r.zx * v.z,
        r.xy * v.x + r.yy * v.y + r.zy * v.z,
        r.xz * v.x + r.yz * v.y + r.zz * v.z,
    )
