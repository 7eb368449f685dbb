"""Messages about things that move: transforms, poses, numbers of a body, sensors, contacts."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import cos, sin
from typing import TYPE_CHECKING, NamedTuple

from ..stage import Scan
from . import protobuf as pb
from .protobuf import Template
from .rotations import Quaternion, Rotation
from .schemas import FIRST_CHANNEL

if TYPE_CHECKING:
    from ..world.contact.touches import ContactEvent

WORLD = "world"
"""Frame that everything stands in."""
DIAGONAL_KNOWN = 2
"""Kind of a covariance of which the diagonal is known."""
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
    return pb.joined([pb.timestamp(1), pb.string(2, frame), imu_numbers(oriented)])


def imu_numbers(oriented: bool) -> Template:
    """What a reading of an inertial unit ends with: the quaternion, rates, then forces."""
    orientation = [_variables(3, "reading", range(6, 10))] if oriented else []
    rates, forces = _variables(4, "reading", range(3)), _variables(5, "reading", range(3, 6))
    return pb.joined([*orientation, rates, forces])


def location_fix(frame: str, variances: Sequence[float]) -> Template:
    """A fix of a satellite receiver; `variances` are those to the east, the north and upwards."""
    east, north, up = variances
    matrix = [east, 0.0, 0.0, 0.0, north, 0.0, 0.0, 0.0, up]
    covariance = pb.octets(4, struct.pack("<9d", *matrix)), pb.integer(5, DIAGONAL_KNOWN)
    return pb.joined([pb.timestamp(6), pb.string(7, frame), *covariance, location_numbers()])


def location_numbers() -> Template:
    """What a fix ends with: latitude, longitude, altitude."""
    return pb.joined([pb.variable(k + 1, "reading", k) for k in range(3)])


def odometry(frame: str, child: str, number: int) -> Template:
    """Wheel odometry of one of several vehicles whose readings come together."""
    names = pb.string(2, frame), pb.string(3, child)
    return pb.joined([pb.timestamp(1), *names, odometry_numbers(number)])


def odometry_numbers(number: int) -> Template:
    """What wheel odometry ends with: x, y, yaw, v_x and yaw rate."""
    return pb.joined([pb.variable(4 + k, "reading", 5 * number + k) for k in range(5)])


def bumper(frame: str) -> Template:
    """Whether a vehicle touches something."""
    return pb.joined([pb.timestamp(1), pb.string(2, frame), bumper_flag()])


def bumper_flag() -> Template:
    """What a reading of a bumper ends with."""
    return pb.flag(3, 0)


def contact(event: ContactEvent) -> Template:
    """Two things that begin or cease to touch."""
    numbers = event.normal_impulse, event.tangential_impulse, event.since
    return pb.joined(
        [
            pb.timestamp(1),
            pb.integer(2, int(event.kind == "begin")),
            pb.string(3, event.a),
            pb.string(4, event.b),
            vector(5, event.x, event.y),
            vector(6, event.normal_x, event.normal_y),
            *(pb.double(k, value) for k, value in enumerate(numbers, 7)),
        ]
    )


def contact_event(data: bytes, time: float) -> ContactEvent:
    """What a message of `contact` says; `time` is its log time in s."""
    from ..world.contact.touches import ContactEvent

    fields = {number: values[-1] for number, values in pb.fields(data).items()}
    began, a, b, where, normal = (fields[k] for k in range(2, 7))
    if not (isinstance(a, bytes) and isinstance(b, bytes)):
        raise ValueError("a contact has no names")
    places = [
        _double(pb.fields(point)[k][-1])
        for point in (where, normal)
        if isinstance(point, bytes)
        for k in (1, 2)
    ]
    numbers = [_double(fields[k]) for k in (7, 8, 9)]
    kind = "begin" if began else "end"
    return ContactEvent(kind, time, a.decode(), b.decode(), *places, *numbers)


def _double(value: int | bytes) -> float:
    if isinstance(value, int):
        raise ValueError("a message has a whole number in place of a double")
    (number,) = struct.unpack("<d", value)
    return number
