"""Poses in space: position and orientation as reported, and the angles of a quaternion."""

from __future__ import annotations

from math import atan2, cos, sin
from typing import NamedTuple

from ...units import m, one, rad


class Quaternion(NamedTuple):
    """A rotation; unit length, w is the scalar part."""

    x: one = 0.0
    y: one = 0.0
    z: one = 0.0
    w: one = 1.0


class Pose(NamedTuple):
    """The centre of the rear axle and the direction of the body."""

    x: m
    y: m
    z: m
    orientation: Quaternion


def quaternion(pitch: rad, yaw: rad) -> Quaternion:
    """The rotation by yaw (positive to the left), then pitch (positive nose down); no roll."""
    sin_p, cos_p = sin(0.5 * pitch), cos(0.5 * pitch)
    sin_y, cos_y = sin(0.5 * yaw), cos(0.5 * yaw)
    return Quaternion(-sin_p * sin_y, sin_p * cos_y, cos_p * sin_y, cos_p * cos_y)


def yaw_of(q: Quaternion) -> rad:
    """Heading of a rotation, from −π to π, positive to the left; `q` need not be normalised."""
    return atan2(2.0 * (q.x * q.y + q.w * q.z), q.w * q.w + q.x * q.x - q.y * q.y - q.z * q.z)


def pitch_of(q: Quaternion) -> rad:
    """Pitch of a rotation without roll, from −π/2 to π/2, positive nose down."""
    return atan2(2.0 * (q.w * q.y - q.z * q.x), 1.0 - 2.0 * (q.x * q.x + q.y * q.y))
