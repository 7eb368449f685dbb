"""Messages about things that move: transforms, poses, numbers of a body, scans, inertial units."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..stage import Scan
from .schemas import FIRST_CHANNEL
from .wire import Piece, double, filled, filled_list, joined, nested, stamp, text

WORLD = "world"
"""Frame that everything stands in."""
STANDARD_GRAVITY = 9.81
"""As the vehicles of this package take it, in m/s²."""

Quaternion = tuple[float, float, float, float]
"""x, y, z, w."""


class Turn(NamedTuple):
    """Columns of a quaternion among the turns; x and y are None of what stays upright."""

    x: int | None
    y: int | None
    z: int
    w: int


class Place(NamedTuple):
    """Channels of a pose in the world."""

    x: int
    y: int
    z: int | None
    turn: Turn


def quaternion(yaw: float, pitch: float = 0.0, roll: float = 0.0) -> Quaternion:
    """Of a body turned by yaw, then pitch, then roll, about its own axes."""
    found = quaternions(*(np.array([angle]) for angle in (yaw, pitch, roll)))
    x, y, z, w = found[0].tolist()
    return x, y, z, w


def quaternions(
    yaw: NDArray[np.float64], pitch: NDArray[np.float64], roll: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Quaternions x, y, z, w in a last axis, for angles of any shape."""
    (cy, sy), (cp, sp), (cr, sr) = (
        (np.cos(0.5 * angle), np.sin(0.5 * angle)) for angle in (yaw, pitch, roll)
    )
    return np.stack(
        [
            cy * cp * sr - sy * sp * cr,
            cy * sp * cr + sy * cp * sr,
            sy * cp * cr - cy * sp * sr,
            cy * cp * cr + sy * sp * sr,
        ],
        axis=-1,
    )


def vector(number: int, *values: float) -> Piece:
    """A field of the type Vector2, Vector3, Point3, Quaternion or Color."""
    return nested(number, *(double(k, value) for k, value in enumerate(values, 1)))


def still_pose(number: int, x: float, y: float, z: float, turned: Quaternion) -> Piece:
    """A field of the type Pose that does not change."""
    return nested(number, vector(1, x, y, z), vector(2, *turned))


def _position(number: int, place: Place) -> Piece:
    columns = (place.x, place.y) if place.z is None else (place.x, place.y, place.z)
    parts = [filled(k, "row", c) for k, c in enumerate(columns, 1)]
    return nested(number, *parts)


def _rotation(number: int, turn: Turn) -> Piece:
    columns = [(k, c) for k, c in enumerate(turn, 1) if c is not None]
    return nested(number, *(filled(k, "turn", c) for k, c in columns))


def moving_transform(child: str, place: Place) -> Piece:
    """The transform of a body's frame to the world's; an entry of FrameTransforms."""
    head = (stamp(1), text(2, WORLD), text(3, child))
    return nested(1, *head, _position(4, place), _rotation(5, place.turn))


def steered_transform(parent: str, child: str, at: tuple[float, float, float], turn: Turn) -> Piece:
    """The transform of a wheel that is steered to its vehicle."""
    head = (stamp(1), text(2, parent), text(3, child))
    return nested(1, *head, vector(4, *at), _rotation(5, turn))


def still_transform(
    parent: str, child: str, at: tuple[float, float, float], turned: Quaternion
) -> Piece:
    """The transform of something fixed to a body."""
    head = (stamp(1), text(2, parent), text(3, child))
    return nested(1, *head, vector(4, *at), vector(5, *turned))


def pose(place: Place) -> Piece:
    """A PoseInFrame of a vehicle."""
    return joined([stamp(1), text(2, WORLD), _moving_pose(place)])


def poses(places: Sequence[Place]) -> Piece:
    """A PosesInFrame of many vehicles."""
    return joined([stamp(1), text(2, WORLD), *(_moving_pose(place) for place in places)])


def _moving_pose(place: Place) -> Piece:
    return nested(3, _position(1, place), _rotation(2, place.turn))


def state(columns: Sequence[int]) -> Piece:
    """The numbers of a body: time, then its channels from field `FIRST_CHANNEL` on."""
    numbered = enumerate(columns, FIRST_CHANNEL)
    numbers = [filled(k, "row", column) for k, column in numbered]
    return joined([filled(1, "clock", 0), *numbers])


def laser_scan(scan: Scan, frame: str) -> Piece:
    """A LaserScan; its ranges are the last bytes."""
    at = still_pose(3, scan.x, scan.y, 0.0, (0.0, 0.0, sin(0.5 * scan.yaw), cos(0.5 * scan.yaw)))
    last = scan.first_angle + scan.step * (scan.count - 1)
    angles = double(4, scan.first_angle), double(5, last)
    return joined([stamp(1), text(2, frame), at, *angles, filled_list(6, scan.count)])


def true_imu(frame: str, a_x: int, a_y: int, omega: int) -> Piece:
    """What a perfect unit at the reference point of a vehicle on level ground would show."""
    rate = nested(4, filled(3, "row", omega))
    force = filled(1, "row", a_x), filled(2, "row", a_y)
    shown = nested(5, *force, double(3, STANDARD_GRAVITY))
    return joined([stamp(1), text(2, frame), rate, shown])


def imu(frame: str, oriented: bool) -> Piece:
    """A reading of an inertial unit: three rates and three forces, which are its last bytes.

    Of what comes with it the rates are first, then the forces, then the quaternion if there is one.
    """
    fields = [(3, 6, 4), (4, 0, 3), (5, 3, 3)]
    parts = [
        nested(n, *(filled(k + 1, "given", first + k) for k in range(count)))
        for n, first, count in (fields if oriented else fields[1:])
    ]
    return joined([stamp(1), text(2, frame), *parts])


IMU_TAIL = (3, 12, 21, 32, 41, 50)
"""Where the rates and forces lie within the last `IMU_TAIL_SIZE` bytes of a reading."""
IMU_TAIL_SIZE = 58
