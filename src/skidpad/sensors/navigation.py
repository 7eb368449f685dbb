"""Navigation sensors: inertial measurement unit, satellite receiver, odometry and wheel speeds.

`Imu` reads specific force and angular rate at any point of the vehicle. An accelerometer measures
the acceleration over ground minus gravity: at rest on level ground it reads 9.81 m/s² upwards. Away
from the body point a turning body adds α×r (Euler) and ω×(ω×r) (centripetal).

`Gnss` reads the position of an antenna, with white and slowly varying errors.

`Odometry` is dead reckoning, whose error grows with the distance. Its true value is the constant
twist between two samples, which moves the pose at one to the pose at the next. On an arc this is
the actual velocity; increments and the pose are integrated from that twist with its errors.

`WheelSpeed` is a sensor or an encoder at each hub. The wheels roll without slip: a wheel turns as
fast as its contact patch moves along it. The cars of this package output forces at the wheels, not
their spin, so longitudinal slip is not included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..core.arrays import Array
from ..core.body import body_of
from ..core.checks import must_be, one_of
from ..core.files import brief_repr
from ..core.model import Vehicle
from ..core.record import check
from ..errors import InvalidValue
from ..geometry.geodesy import NULL_ISLAND, Origin, check_origin, degree, place_in_world
from ..geometry.pose import (
    Vector,
    relative,
    rotated,
    rotation_turned,
    rotation_turned_back,
    unrotated,
)
from ..ops import abs, atan2, cos, floor, sin, sqrt, where
from ..units import Allowed, Unit, m, m_s, m_s2, non_negative, one, positive, rad, rad_s, s
from ..vehicles.parts.load_transfer import contact_velocities, in_wheel_frame
from .motion import (
    AT_BODY_POINT,
    Motion,
    Mounting,
    added,
    checked_mounting,
    cross,
    pose_in_world,
    rotation,
    sensor_axes,
)
from .sensor import PERFECT, Channel, Sensor, checked_channel

STANDARD_GRAVITY = 9.81
"""Gravitational acceleration in m/s², as in the cars of this package."""

Axes = Channel | tuple[Channel, Channel, Channel]
"""One channel for all three axes, or one for each."""


class ImuReading(NamedTuple):
    """Reading of an IMU, along the axes of the sensor."""

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
        """Channels of the three accelerometer axes, then of the three gyroscope axes."""
        return _three("accelerometer", self.accelerometer) + _three("gyroscope", self.gyroscope)

    def measure(self, truth: Motion) -> ImuReading:
        """Reading without errors, for numbers, arrays and symbols."""
        roll, pitch, g = truth.roll, truth.pitch, self.g
        up = Vector(-sin(pitch), cos(pitch) * sin(roll), cos(pitch) * cos(roll))
        place = self.mounting.position
        rate = Vector(truth.omega_x, truth.omega_y, truth.omega)
        change = Vector(truth.omega_x_rate, truth.omega_y_rate, truth.omega_rate)
        acceleration = added(
            Vector(truth.a_x, truth.a_y, truth.a_z),
            cross(change, place),
            cross(rate, cross(rate, place)),
        )
        force = added(acceleration, Vector(g * up.x, g * up.y, g * up.z))
        axes = sensor_axes(self.mounting)
        return ImuReading(*rotation_turned_back(axes, force), *rotation_turned_back(axes, rate))


def _three(name: str, axes: Axes) -> tuple[Channel, Channel, Channel]:
    if isinstance(axes, Channel):
        return axes, axes, axes
    if isinstance(axes, tuple) and len(axes) == 3 and all(isinstance(c, Channel) for c in axes):
        return axes
    raise InvalidValue(f"Imu.{name} must be a Channel or one for each of x, y, z; got {axes!r}")


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
        """Position fix without errors, for numbers, arrays and symbols."""
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


_SMALL = 1e-4
"""Half rotation angle in rad below which series are used; their next terms are below 1e-16."""


class Growth(NamedTuple):
    """Odometry error growth: standard deviations after one metre or one radian.

    Standard deviations grow with the square root of distance and angle, as variances add up, so the
    error over a distance does not depend on the rate.
    """

    along: Annotated[float, Unit("m/√m", length=0.5), non_negative] = 0.0
    """Error along the vehicle, over distance driven."""
    across: Annotated[float, Unit("m/√m", length=0.5), non_negative] = 0.0
    """Error across the vehicle, over distance driven."""
    yaw: Annotated[float, Unit("rad/√m", length=-0.5), non_negative] = 0.0
    """Error of the heading, over distance driven."""
    yaw_turning: Annotated[float, Unit("rad/√rad"), non_negative] = 0.0
    """Error of the heading, over angle turned."""


NO_GROWTH = Growth()


class OdometryReading(NamedTuple):
    """Twist, increment and dead-reckoned pose of the mounting; the pose is zero at the start."""

    v_x: m_s
    """Velocity along the mounting, mean since the previous sample."""
    v_y: m_s
    """Velocity to the left of the mounting, mean since the previous sample."""
    omega: rad_s
    """Yaw rate, positive to the left, mean since the previous sample."""
    d_x: m
    """Displacement since the previous sample, along the heading at that sample."""
    d_y: m
    """Displacement since the previous sample, to the left of the heading at that sample."""
    d_yaw: rad
    """Heading change since the previous sample, positive to the left."""
    x: m
    """x in the frame of the first sample; includes the motion of lost samples."""
    y: m
    """y in the frame of the first sample."""
    yaw: rad
    """Heading in the frame of the first sample, not wrapped."""
    stamp: s = 0.0
    """Time of the measurement."""


class Step(NamedTuple):
    """Planar motion in the frame of its start: a twist times its time, or a change of pose."""

    x: m
    y: m
    yaw: rad


def twist_of(change: Step) -> Step:
    """Constant twist that produces a change of pose in unit time (logarithm of SE(2))."""
    half = 0.5 * change.yaw
    small = abs(half) < _SMALL
    safe = where(small, 1.0, half)
    k = where(small, 1.0 - half * half * (1.0 / 3.0), safe * cos(safe) / sin(safe))
    return Step(k * change.x + half * change.y, k * change.y - half * change.x, change.yaw)


def change_of(twist: Step) -> Step:
    """Change of pose by a constant twist in unit time (exponential of SE(2))."""
    half = 0.5 * twist.yaw
    small = abs(half) < _SMALL
    safe = where(small, 1.0, half)
    # sin(yaw)/yaw and (1 - cos(yaw))/yaw, by half the angle so that nothing cancels.
    a = where(small, 1.0 - half * half * (2.0 / 3.0), sin(safe) * cos(safe) / safe)
    b = where(small, half - half * half * half * (1.0 / 3.0), sin(safe) * sin(safe) / safe)
    return Step(a * twist.x - b * twist.y, b * twist.x + a * twist.y, twist.yaw)


@dataclass(frozen=True, kw_only=True)
class Odometry(Sensor):
    """Dead reckoning of the mounting point; its height, roll and pitch have no effect.

    The channels act on the twist: with a scale of 0.02 in `forward`, distances read 2 % too long.
    """

    name: str = "odometry"
    mounting: Mounting = AT_BODY_POINT
    """Frame that is tracked, such as the middle of the rear axle."""
    forward: Channel = PERFECT
    """Errors of v_x in m/s."""
    sideways: Channel = PERFECT
    """Errors of v_y in m/s."""
    turning: Channel = PERFECT
    """Errors of omega in rad/s."""
    growth: Growth = NO_GROWTH
    """Errors that grow with the distance driven."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        checked_mounting("Odometry", self.mounting)
        for name in ("forward", "sideways", "turning"):
            checked_channel(f"Odometry.{name}", getattr(self, name))
        if not isinstance(self.growth, Growth):
            raise InvalidValue(f"Odometry.growth must be a Growth, got {self.growth!r}")
        check(self.growth)
        super().__post_init__()

    @property
    def Reading(self) -> type:
        """Record of its readings, `OdometryReading`."""
        return OdometryReading

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Channels of v_x, v_y and omega."""
        return self.forward, self.sideways, self.turning

    @property
    def looks_back(self) -> bool:
        """Whether a reading needs the previous sample: always True, as increments need two
        samples.
        """
        return True

    def measure(self, truth: Motion) -> OdometryReading:
        """Twist at one instant, without errors; increment and pose are zero."""
        place = self.mounting
        v_x = truth.v_x - truth.omega * place.y
        v_y = truth.v_y + truth.omega * place.x
        zeros = (0.0 * v_x,) * 6
        return OdometryReading(*unrotated(v_x, v_y, place.yaw), truth.omega, *zeros)

    def true_values(self, truth: Motion, before: Motion, elapsed: Any) -> Sequence[Any]:
        """Twist between two samples."""
        ends = (pose_in_world(self.mounting, at.x, at.y, at.yaw) for at in (before, truth))
        x, y, turn = relative(*ends)
        # Take the shorter direction of rotation.
        yaw = turn - 2.0 * pi * floor((turn + pi) * (0.5 / pi))
        twist = twist_of(Step(x, y, yaw))
        return [part / _not_zero(elapsed) for part in twist]

    def spread(self, true: Sequence[Any], elapsed: Any) -> Sequence[Any] | None:
        """Standard deviation of the twist due to error growth between two samples."""
        growth = self.growth
        if not any(growth):
            return None
        way = sqrt(true[0] * true[0] + true[1] * true[1]) * elapsed
        turn = abs(true[2]) * elapsed
        yaw = sqrt(growth.yaw**2 * way + growth.yaw_turning**2 * turn)
        parts = (growth.along * sqrt(way), growth.across * sqrt(way), yaw)
        return [part / _not_zero(elapsed) for part in parts]

    def complete(self, read: Array, truth: Any, elapsed: Array, own: Any) -> tuple[Array, Any]:
        """Complete readings (n, fields) with twist, increment and pose; the pose is the memory."""
        start = np.zeros((read.shape[1], 3)) if own is None else own
        change = change_of(Step._make(read[:, :, k] * elapsed for k in range(3)))
        yaw = _summed(start[:, 2], change.yaw)
        before = np.concatenate([start[None, :, 2], yaw[:-1]])
        steps = rotated(change.x, change.y, before)
        x, y = (_summed(start[:, k], step) for k, step in enumerate(steps))
        pose = np.stack([x, y, yaw], axis=-1)
        return np.concatenate([read, np.stack(change, axis=-1), pose], axis=-1), pose[-1]


def _summed(start: Array, gained: Any) -> Array:
    rows = np.array(gained)
    rows[0] += start
    return np.cumsum(rows, axis=0)


def _not_zero(elapsed: Any) -> Any:
    """Elapsed time as a divisor, replaced where it is 0 at the first sample."""
    return np.where(elapsed > 0.0, elapsed, 1.0)


class WheelSpeedReading(NamedTuple):
    """Spin of each wheel, positive forward, and the pulses of its encoder."""

    fl: rad_s
    """Spin of the front left wheel."""
    fr: rad_s
    """Spin of the front right wheel."""
    rl: rad_s
    """Spin of the rear left wheel."""
    rr: rad_s
    """Spin of the rear right wheel."""
    ticks_fl: one = 0.0
    """Net pulses of the front left wheel since the start; 0 without an encoder."""
    ticks_fr: one = 0.0
    """Net pulses of the front right wheel since the start."""
    ticks_rl: one = 0.0
    """Net pulses of the rear left wheel since the start."""
    ticks_rr: one = 0.0
    """Net pulses of the rear right wheel since the start."""
    stamp: s = 0.0
    """Time of the measurement."""


class WheelAngles(NamedTuple):
    """Steering angles of the front wheels, positive to the left."""

    left: rad
    right: rad


def ackermann_angles(steer: rad, wheelbase: m, track: m) -> WheelAngles:
    """Ackermann angles, with which both front wheels roll about the centre of the turn.

    `steer` is the angle of a wheel in the middle of the axle, below a right angle.
    """
    across, along = wheelbase * sin(steer), wheelbase * cos(steer)
    half = 0.5 * track * sin(steer)
    return WheelAngles(atan2(across, along - half), atan2(across, along + half))


@dataclass(frozen=True, kw_only=True)
class WheelSpeed(Sensor):
    """Wheel speed sensors at the wheels fl, fr, rl, rr, in rad/s.

    With `ticks` they are encoders: a speed is the number of pulses in a period over its length, and
    the remaining fraction of a pulse counts in the next period.
    """

    name: str = "wheel_speed"
    radius: float
    """Rolling radius of the wheels in m."""
    l_f: float
    """Distance from the body point to the front axle in m."""
    l_r: float
    """Distance from the body point to the rear axle in m."""
    track: float
    """Distance between the wheels of an axle in m."""
    steering: str = "parallel"
    """How the front wheels follow the steering angle.

    "parallel": both have it, as in the cars of this package; "ackermann": each rolls about the
    centre of the turn.
    """
    ticks: int | None = None
    """Pulses per revolution of an encoder; None for a continuous speed."""
    channel: Channel = PERFECT
    """Errors of each wheel in rad/s, independent; applied before pulses are counted."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        must_be("WheelSpeed.radius", self.radius, positive, "m")
        for name in ("track", "l_f", "l_r"):
            must_be(f"WheelSpeed.{name}", getattr(self, name), non_negative, "m")
        one_of("WheelSpeed.steering", self.steering, ("parallel", "ackermann"))
        if self.ticks is not None and (type(self.ticks) is not int or self.ticks < 1):
            raise InvalidValue(
                f"WheelSpeed.ticks = {self.ticks!r} must be a whole number, at least 1, or None"
            )
        checked_channel("WheelSpeed.channel", self.channel)
        super().__post_init__()

    @classmethod
    def of(cls, vehicle: Vehicle, *, radius: float | None = None, **settings: Any) -> WheelSpeed:
        """Wheel speed sensors for a vehicle; `radius` is taken from its geometry by default."""
        body_of(vehicle, "a wheel speed sensor")
        shape = vehicle.geometry
        if not shape.wheels:
            raise InvalidValue(f"{vehicle.name!r} has no wheels: give WheelSpeed its geometry")
        own: dict[str, Any] = {
            "radius": shape.wheels[0].radius if radius is None else radius,
            "l_f": shape.front_axle,
            "l_r": 0.0 - shape.rear_axle,
            "track": shape.track,
        }
        return cls(**{**own, **settings})

    @property
    def Reading(self) -> type:
        """Record of its readings, `WheelSpeedReading`."""
        return WheelSpeedReading

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Channels, one per wheel."""
        return (self.channel,) * 4

    @property
    def looks_back(self) -> bool:
        """Whether the sensor has an encoder, which counts over a period."""
        return self.ticks is not None

    def measure(self, truth: Motion) -> WheelSpeedReading:
        """Wheel speeds without errors, for numbers, arrays and symbols."""
        v = contact_velocities(truth.v_x, truth.v_y, truth.omega, self.l_f, self.l_r, self.track)
        left, right = (
            WheelAngles(truth.steer, truth.steer)
            if self.steering == "parallel"
            else ackermann_angles(truth.steer, self.l_f + self.l_r, self.track)
        )
        front = (
            in_wheel_frame(velocity, cos(angle), sin(angle)).x
            for velocity, angle in ((v.fl, left), (v.fr, right))
        )
        return WheelSpeedReading(*(along / self.radius for along in (*front, v.rl.x, v.rr.x)))

    def true_values(self, truth: Motion, before: Motion, elapsed: Any) -> Sequence[Any]:
        """Wheel speeds at a sample; for an encoder the mean since the previous sample."""
        now = self.measure(truth)[:4]
        if not self.looks_back:
            return now
        return [0.5 * (a + b) for a, b in zip(now, self.measure(before), strict=False)]

    def complete(self, read: Array, truth: Any, elapsed: Array, own: Any) -> tuple[Array, Any]:
        """Complete readings (n, fields) with speeds and pulses; the angle turned is the memory."""
        if self.ticks is None:
            return np.concatenate([read, np.zeros_like(read)], axis=-1), None
        start = np.zeros(read.shape[1:]) if own is None else own
        angle = _summed(start, read * (elapsed[:, :, None] * (self.ticks / (2.0 * pi))))
        counted = np.floor(angle)
        pulses = np.diff(counted, axis=0, prepend=np.floor(start)[None])
        speed = pulses * (2.0 * pi / self.ticks) / _not_zero(elapsed)[:, :, None]
        return np.concatenate([speed, counted], axis=-1), angle[-1]
