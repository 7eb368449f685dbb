"""What an engine reports about the truck. SI units; frames as said at each field."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ...brief import brief_repr
from ...components.ackermann import Twist, WheelSpin
from ...units import m, m_s, m_s2, per_s, rad, rad_s, s


class Status(IntEnum):
    """Whether the truck can go on, by upstream's numbers."""

    IN_PROGRESS = 0
    OK = 1
    """Never given, neither here nor upstream."""
    COLLISION = 2
    """The body has touched an obstacle; only a reset ends it."""


class Pose(NamedTuple):
    """Place and heading in the world frame."""

    x: m = 0.0
    y: m = 0.0
    yaw: rad = 0.0
    """From the world x axis, positive to the left, not wrapped."""


class Steering(NamedTuple):
    """Angles from straight ahead, positive to the left."""

    middle: rad
    """Of a wheel in the middle of the front axle."""
    left: rad
    right: rad


class Velocity(NamedTuple):
    """Velocity in the world frame."""

    x: m_s
    y: m_s


class AngularVelocity(NamedTuple):
    """Angular velocity in the axes of the IMU."""

    x: rad_s
    y: rad_s
    z: rad_s


class SpecificForce(NamedTuple):
    """What an accelerometer shows, in the axes of the IMU: at rest it points away from the ground.

    Its unit is that of an acceleration.
    """

    x: m_s2
    y: m_s2
    z: m_s2


class EngineState(NamedTuple):
    """The truck at one moment; the base point is what upstream calls the model centre."""

    status: Status
    time: s
    """Simulated time since the engine was made."""
    time_ns: int
    """The same as a whole number of nanoseconds."""
    odom_base_pose: Pose
    """Pose of the base point."""
    current_steering: Steering
    target_steering: Steering
    """Where the steering is going by the last command."""
    base_twist: Twist
    """Curvature of the base point's path and speed along it, negative in reverse."""
    odom_base_linear_velocity: Velocity
    """Velocity of the base point in the world frame. It is along the path of that point, which
    leads off the heading in a turn; under compat="upstream" it is along the heading."""
    base_angular_velocity: rad_s
    """Yaw rate, positive to the left."""
    wheel_velocity: WheelSpin
    """Spin of the wheels about their axles, positive when they roll forward."""
    current_motor_rps: per_s
    """Revolutions of the motor per second, from the speed of the base point."""
    target_motor_rps: per_s
    """The same at the speed commanded."""
    lidar_ranges: NDArray[Any]
    """Distance to the nearest obstacle along each ray in m, counter-clockwise from the first; inf
    where nothing is in range, -inf where something is nearer than the least range. Under
    compat="upstream" float32 and without range limits; 3.4028e38 for nothing."""
    gyro_angular_velocity: AngularVelocity
    """What the gyroscope of the IMU shows, with its noise."""
    accel_linear_acceleration: SpecificForce
    """What the accelerometer of the IMU shows, with its noise."""

    __repr__ = brief_repr
