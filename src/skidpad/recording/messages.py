"""Messages about things that move: transforms, poses, numbers of a body, scans, inertial units."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin
from typing import NamedTuple

from ..stage import Scan
from . import protobuf as pb
from .protobuf import Template
from .rotations import Quaternion, Rotation
from .schemas import FIRST_CHANNEL

WORLD = "world"
"""Frame that everything stands in."""
STANDARD_GRAVITY = 9.81
"""As the vehicles of this package take it, in m/s²."""


class Place(NamedTuple):
    """Channels of a pose in the world."""

    x: int
    y: int
    z: int | None
    rotation: Rotation


def vector(number: int, *values: float) -> Template:
    """A field of the type Vector2, Vector3, Point3, Quaternion or Color."""
    return pb.message(number, *(pb.double(k, value) for k, value in enumerate(values, 1)))


def still_pose(number: int, x: float, y: float, z: float, rotation: Quaternion) -> Template:
    """A field of the type Pose that does not change."""
    return pb.message(number, vector(1, x, y, z), vector(2, *rotation))


def _variables(number: int, source: pb.Source, columns: Sequence[int | None]) -> Template:
    """A field of the type Vector3 or Quaternion that changes; 0 where there is no column."""
    numbered = [(k, column) for k, column in enumerate(columns, 1) if column is not None]
    return pb.message(number, *(pb.variable(k, source, column) for k, column in numbered))


def _transform(parent: str, child: str, *motion: Template) -> Template:
    """An entry of FrameTransforms."""
    return pb.message(1, pb.timestamp(1), pb.string(2, parent), pb.string(3, child), *motion)


def moving_transform(child: str, place: Place) -> Template:
    """The transform of a body's frame to the world's."""
    position = _variables(4, "row", place[:3])
    return _transform(WORLD, child, position, _variables(5, "rotation", place.rotation))


def steered_transform(
    parent: str, child: str, at: tuple[float, float, float], rotation: Rotation
) -> Template:
    """The transform of a wheel that is steered to its vehicle."""
    return _transform(parent, child, vector(4, *at), _variables(5, "rotation", rotation))


def still_transform(
    parent: str, child: str, at: tuple[float, float, float], rotation: Quaternion
) -> Template:
    """The transform of something fixed to a body."""
    return _transform(parent, child, vector(4, *at), vector(5, *rotation))


def poses(places: Sequence[Place]) -> Template:
    """A PoseInFrame of a vehicle, or a PosesInFrame of many: they are alike."""
    templates = [
        pb.message(3, _variables(1, "row", place[:3]), _variables(2, "rotation", place.rotation))
        for place in places
    ]
    return pb.joined([pb.timestamp(1), pb.string(2, WORLD), *templates])


def state(columns: Sequence[int]) -> Template:
    """The numbers of a body: time, then its channels from field `FIRST_CHANNEL` on."""
    numbered = enumerate(columns, FIRST_CHANNEL)
    numbers = [pb.variable(k, "row", column) for k, column in numbered]
    return pb.joined([pb.variable(1, "time", 0), *numbers])


def laser_scan(scan: Scan, frame: str) -> Template:
    """A LaserScan."""
    turned = (0.0, 0.0, sin(0.5 * scan.yaw), cos(0.5 * scan.yaw))
    at = still_pose(3, scan.x, scan.y, 0.0, turned)
    last = scan.first_angle + scan.step * (scan.count - 1)
    angles = pb.double(4, scan.first_angle), pb.double(5, last)
    return pb.joined([pb.timestamp(1), pb.string(2, frame), at, *angles, laser_ranges(scan.count)])


def laser_ranges(count: int) -> Template:
    """What a LaserScan ends with."""
    return pb.variables(6, count)


def true_imu(frame: str, a_x: int, a_y: int, omega: int) -> Template:
    """What a perfect unit at the reference point of a vehicle on level ground would show."""
    rate = _variables(4, "row", (None, None, omega))
    force = pb.variable(1, "row", a_x), pb.variable(2, "row", a_y)
    forces = pb.message(5, *force, pb.double(3, STANDARD_GRAVITY))
    return pb.joined([pb.timestamp(1), pb.string(2, frame), rate, forces])


def imu(frame: str, oriented: bool) -> Template:
    """A reading of an inertial unit: three rates and three forces, the quaternion if it has one."""
    orientation = [_variables(3, "reading", range(6, 10))] if oriented else []
    return pb.joined([pb.timestamp(1), pb.string(2, frame), *orientation, imu_numbers()])


def imu_numbers() -> Template:
    """What a reading of an inertial unit ends with: rates, then forces."""
    rates, forces = _variables(4, "reading", range(3)), _variables(5, "reading", range(3, 6))
    return pb.joined([rates, forces])
