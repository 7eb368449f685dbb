"""Satellite navigation: position of an antenna, with white and slowly varying errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Array
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..geometry.geodesy import NULL_ISLAND, Origin, check_origin, degree, place_in_world
from ..geometry.pose import Vector, rotation_turned
from ..units import m, m_s, rad, s
from .channels import PERFECT, Channel, checked_channel
from .motion import AT_BODY_POINT, Motion, Mounting, added, checked_mounting, cross, rotation
from .sensor import Sensor

Coverage = Callable[[Any, Any], Any]
"""Function of world position (x, y) in m that returns whether there is reception.

It takes numbers and arrays.
"""


class GnssReading(NamedTuple):
    """Position and velocity of the antenna in the world frame; NaN for missing values."""

    x: m
    """x of the antenna in the world frame."""
    y: m
    """y of the antenna in the world frame."""
    z: m
    """Height in the world frame."""
    v_x: m_s
    """Velocity along the world's x axis; NaN if the receiver does not measure velocity."""
    v_y: m_s
    """Velocity along the world's y axis; NaN if the receiver does not measure velocity."""
    v_z: m_s
    """Velocity upwards; NaN if the receiver does not measure velocity."""
    yaw: rad
    """Heading of the vehicle in the world frame, from two antennas; NaN with one antenna."""
    latitude: degree
    """Latitude of the antenna, positive to the north."""
    longitude: degree
    """Longitude of the antenna, positive to the east."""
    altitude: m
    """Height of the antenna above the WGS 84 ellipsoid."""
    stamp: s = 0.0
    """Time of the measurement."""


class AntennaMotion(NamedTuple):
    """Position and velocity of the antenna in the world frame."""

    position: Vector
    velocity: Vector


def antenna_motion(motion: Motion, place: Vector) -> AntennaMotion:
    """Motion of a point of the body in the world frame.

    `place` is its position in m from the body point, in body axes.
    """
    axes = rotation(motion.roll, motion.pitch, motion.yaw)
    rate = Vector(motion.omega_x, motion.omega_y, motion.omega)
    velocity = added(Vector(motion.v_x, motion.v_y, motion.v_z), cross(rate, place))
    position = added(Vector(motion.x, motion.y, motion.z), rotation_turned(axes, place))
    return AntennaMotion(position, rotation_turned(axes, velocity))


@dataclass(frozen=True, kw_only=True)
class Gnss(Sensor):
    """Satellite receiver with its antenna; perfect positions by default.

    Position errors have a white part (`std`) and a part that persists for minutes (`drift` with
    `drift_time`), as satellites and atmosphere change slowly.
    """

    name: str = "gnss"
    mounting: Mounting = AT_BODY_POINT
    """Position of the antenna; its orientation does not matter."""
    horizontal: Channel = PERFECT
    """Errors of x and of y, independent of each other, in m."""
    vertical: Channel = PERFECT
    """Errors of z in m."""
    velocity: Channel | None = None
    """Errors of each velocity component in m/s; None if velocity is not measured."""
    heading: Channel | None = None
    """Errors of the heading in rad; None if there is only one antenna."""
    origin: Origin = NULL_ISLAND
    """Position of the world frame on the globe."""
    coverage: Coverage | None = None
    """Function of x and y in m that returns whether there is reception; None for everywhere."""
    outages: tuple[tuple[float, float], ...] = ()
    """Intervals without reception, each (from, to) in s, including both ends."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        checked_mounting("Gnss", self.mounting)
        check_origin(self.origin)
        for name in ("horizontal", "vertical", "velocity", "heading"):
            channel = getattr(self, name)
            if channel is not None or name in ("horizontal", "vertical"):
                checked_channel(f"Gnss.{name}", channel)
        if self.coverage is not None and not callable(self.coverage):
            raise InvalidValue(f"Gnss.coverage must be a function of x and y: {self.coverage!r}")
        for pair in self.outages:
            if len(pair) != 2 or not pair[0] <= pair[1]:
                raise InvalidValue(f"Gnss.outages has {pair}; allowed are pairs (from, to) in s")
        super().__post_init__()

    @property
    def Reading(self) -> type:
        """Record of its readings, `GnssReading`."""
        return GnssReading

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Channels of position, velocity and heading."""
        velocity, heading = self.velocity or PERFECT, self.heading or PERFECT
        return self.horizontal, self.horizontal, self.vertical, *(velocity,) * 3, heading

    def measure(self, truth: Motion) -> GnssReading:
        """Fix without errors, for numbers, arrays and symbols."""
        antenna = antenna_motion(truth, self.mounting.position)
        nothing = float("nan")
        velocity = antenna.velocity if self.velocity else (nothing,) * 3
        yaw = truth.yaw if self.heading else nothing
        place = place_in_world(self.origin, *antenna.position)
        return GnssReading._make((*antenna.position, *velocity, yaw, *place, 0.0))

    def visible(self, truth: Motion, t: Any) -> Any:
        """Whether the antenna has reception."""
        seen = True
        if self.coverage is not None:
            position = antenna_motion(truth, self.mounting.position).position
            seen = np.asarray(self.coverage(position.x, position.y), bool)
        for begin, end in self.outages:
            seen = seen & ~((t >= begin) & (t <= end))
        return seen

    def complete(self, read: Array, truth: Any, elapsed: Array, own: Any) -> tuple[Array, Any]:
        """Complete fixes (n, fields) with latitude, longitude and altitude, from the position."""
        position: list[Any] = [read[:, :, k] for k in range(3)]
        place = place_in_world(self.origin, *position)
        return np.concatenate([read, np.stack(place, axis=-1)], axis=-1), None
