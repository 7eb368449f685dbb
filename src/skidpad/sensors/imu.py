"""Inertial measurement unit: specific force and angular rate at any point of the vehicle.

An accelerometer measures the acceleration over ground minus gravity: at rest on level ground it
reads 9.81 m/s² upwards. Away from the body point a turning body adds α×r (Euler) and ω×(ω×r)
(centripetal).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..core.checks import must_be
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..geometry.pose import Vector, rotation_turned_back
from ..ops import cos, sin
from ..units import Allowed, m_s2, rad_s, s
from .channels import PERFECT, Channel
from .motion import AT_BODY_POINT, Motion, Mounting, added, checked_mounting, cross, sensor_axes
from .sensor import Sensor

STANDARD_GRAVITY = 9.81
"""Gravitational acceleration in m/s², as in the cars of this package."""

Axes = Channel | tuple[Channel, Channel, Channel]
"""One channel for all three axes, or one for each."""


class ImuReading(NamedTuple):
    """Reading of the IMU, along its own axes."""

    f_x: m_s2
    """Specific force along the sensor's x axis."""
    f_y: m_s2
    """Specific force along the sensor's y axis."""
    f_z: m_s2
    """Specific force along the sensor's z axis."""
    omega_x: rad_s
    """Angular rate about the sensor's x axis."""
    omega_y: rad_s
    """Angular rate about the sensor's y axis."""
    omega_z: rad_s
    """Angular rate about the sensor's z axis."""
    stamp: s = 0.0
    """Time of the measurement."""


def acceleration_at(motion: Motion, place: Vector) -> Vector:
    """Acceleration over ground of a point of the body in m/s², in body axes.

    `place` is its position in m from the body point.
    """
    rate = Vector(motion.omega_x, motion.omega_y, motion.omega)
    change = Vector(motion.omega_x_rate, motion.omega_y_rate, motion.omega_rate)
    return added(
        Vector(motion.a_x, motion.a_y, motion.a_z),
        cross(change, place),
        cross(rate, cross(rate, place)),
    )


@dataclass(frozen=True, kw_only=True)
class Imu(Sensor):
    """Accelerometer and gyroscope; see `Channel` for their errors, in m/s² and rad/s."""

    name: str = "imu"
    mounting: Mounting = AT_BODY_POINT
    """Pose on the vehicle: `in_frame("optical")` for the axes of a camera."""
    accelerometer: Axes = PERFECT
    """Errors in m/s²: density in m/s²/√Hz, walk in m/s²/√s, which is m/s³/√Hz."""
    gyroscope: Axes = PERFECT
    """Errors in rad/s: density in rad/s/√Hz, walk in rad/s/√s, which is rad/s²/√Hz."""
    g: float = STANDARD_GRAVITY
    """Gravity in m/s²; 0 to imitate programs that leave it out."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        checked_mounting("Imu", self.mounting)
        must_be("Imu.g", self.g, Allowed(low=0.0), "m/s²")
        super().__post_init__()

    @property
    def Reading(self) -> type:
        """Record of its readings, `ImuReading`."""
        return ImuReading

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Channels of the accelerometer, then those of the gyroscope."""
        return _three("accelerometer", self.accelerometer) + _three("gyroscope", self.gyroscope)

    def measure(self, truth: Motion) -> ImuReading:
        """Reading without errors, for numbers, arrays and symbols."""
        roll, pitch, g = truth.roll, truth.pitch, self.g
        up = Vector(-sin(pitch), cos(pitch) * sin(roll), cos(pitch) * cos(roll))
        acceleration = acceleration_at(truth, self.mounting.position)
        force = added(acceleration, Vector(g * up.x, g * up.y, g * up.z))
        rate = Vector(truth.omega_x, truth.omega_y, truth.omega)
        axes = sensor_axes(self.mounting)
        return ImuReading(*rotation_turned_back(axes, force), *rotation_turned_back(axes, rate))


def _three(name: str, axes: Axes) -> tuple[Channel, Channel, Channel]:
    if isinstance(axes, Channel):
        return axes, axes, axes
    if isinstance(axes, tuple) and len(axes) == 3 and all(isinstance(c, Channel) for c in axes):
        return axes
    raise InvalidValue(f"Imu.{name} must be a Channel or one for each of x, y, z; got {axes!r}")
