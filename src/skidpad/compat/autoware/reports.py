"""Messages of a planning simulator: its inputs, its reports at every tick, and their noise.

There is one record per message of the vehicle. Frames: positions in the origin frame (parameter
`origin_frame_id`), velocities and accelerations in the vehicle frame (parameter
`simulated_frame_id`: x forward, y left, at the centre of the rear axle). Covariances are flat, row
by row, as in the ROS messages: 36 numbers over x, y, z, roll, pitch, yaw, or 9 over x, y, z.
`stamp` is the time of the tick in s. `Reporter` makes the reports from the motion of a model:
noise, frames, covariances, rounding.

The noise has one stream of normal numbers per channel, which depends on the seed and the name of
the channel alone. The numbers are drawn in blocks for speed; they do not depend on the block
length.

Inputs are commands, gears, lights, modes and poses. Enumerations have the numbers of
`autoware_vehicle_msgs`. A message may be given as a record, a mapping, a sequence or keywords;
missing fields are zero.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from ctypes import c_float
from dataclasses import dataclass, fields
from enum import IntEnum
from itertools import count
from math import atan2, cos, isfinite, isinf, remainder, sin, tau
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...core import record
from ...core.checks import not_negative, one_of, positive
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...random import streams
from ...units import m, m_s, m_s2, one, rad, rad_s, s
from ...vehicles.parts.actuators import Gear

BLOCK = 1024
"""Numbers drawn at a time per channel, which takes a few µs."""


class Deviations(NamedTuple):
    """Standard deviations of the measurement noise, with the defaults of Autoware's parameters."""

    position: m = 0.01
    """Standard deviation of x and of y, independently (pos_noise_stddev)."""
    velocity: m_s = 0.01
    """Standard deviation of v_x, one draw shared by odometry and velocity report
    (vel_noise_stddev)."""
    angle: rad = 0.0001
    """Standard deviation of the yaw, not of roll and pitch (rpy_noise_stddev)."""
    steer: rad = 0.0001
    """Standard deviation of the steering angle (steer_noise_stddev)."""


class Sample(NamedTuple):
    """Measurement noise of one tick."""

    x: m
    y: m
    velocity: m_s
    yaw: rad
    steer: rad


def samples(
    seed: int, deviations: Deviations, block: int = BLOCK
) -> Iterator[tuple[float, float, float, float, float]]:
    """Noise of successive ticks, each a tuple in the order of `Sample`."""

    def channel(name: str, deviation: float, kind: type = np.float64) -> Iterator[float]:
        for first in count(step=block):
            ticks = np.arange(first, first + block)
            drawn = streams.normals(seed, f"planning.{name}", ticks)[:, 0, 0]
            yield from (deviation * drawn).astype(kind).tolist()

    d = deviations
    first = channel("x", d.position), channel("y", d.position), channel("velocity", d.velocity)
    # The program draws the noise of the angle as a 32-bit float, all other noise as 64-bit floats.
    yaw = channel("yaw", d.angle, np.float32)
    return zip(*first, yaw, channel("steer", d.steer), strict=True)


SOURCES = ("ORIGIN", "INITIAL_POSE_TOPIC")
"""Values of the parameter initialize_source."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node; the defaults are those of upstream's source, not its YAML files."""

    simulated_frame_id: str = "base_link"
    """Name of the vehicle frame."""
    origin_frame_id: str = "odom"
    """Name of the frame of positions."""
    initialize_source: str = "INITIAL_POSE_TOPIC"
    """Source of the initial pose.

    ORIGIN: start at x = y = yaw = 0. INITIAL_POSE_TOPIC: wait for `initial_pose`.
    """
    timer_sampling_time_ms: float = 25
    """Nominal period of the ticks in ms; under compat="upstream" also the unit of dead times."""
    initial_engage_state: bool = True
    """Whether the vehicle moves before `engage` is called. Upstream has no default."""
    add_measurement_noise: bool = False
    pos_noise_stddev: m = 0.01
    vel_noise_stddev: m_s = 0.01
    rpy_noise_stddev: rad = 0.0001
    steer_noise_stddev: rad = 0.0001
    x_stddev: m = 0.0001
    """Entry (x, x) of the odometry's covariance, unsquared."""
    y_stddev: m = 0.0001
    """Entry (y, y) of the odometry's covariance, unsquared."""
    enable_road_slope_simulation: bool = False
    """Whether gravity acts along a sloping road; the pitch is always reported."""
    enable_pub_steer: bool = True
    """Whether the steering angle is reported."""

    __repr__ = brief_repr

    @property
    def period(self) -> float:
        """Nominal period of the ticks, in s."""
        return self.timer_sampling_time_ms / 1000.0

    @property
    def deviations(self) -> Deviations:
        """Standard deviations of the measurement noise."""
        names = ("pos", "vel", "rpy", "steer")
        return Deviations(*(getattr(self, f"{name}_noise_stddev") for name in names))


NAMES = tuple(field.name for field in fields(Settings))
"""Names of the parameters of the simulator around the model."""


def settings(values: Mapping[str, Any], compat: str | None) -> Settings:
    """Settings of the node picked from `values`; absent or None parameters get their defaults."""
    supplied = {name: values[name] for name in NAMES if values.get(name) is not None}
    for name, value in supplied.items():
        kind = type(getattr(Settings, name))
        if name.endswith("_stddev"):
            supplied[name] = not_negative(name, value)
        elif name == "timer_sampling_time_ms":
            positive(name, value, "ms")
        elif not isinstance(value, kind):
            raise InvalidValue(f"{name} = {value!r} must be a {kind.__name__}")
    # Like upstream, wait for a pose if the name of the source is unknown.
    if compat is None and "initialize_source" in supplied:
        one_of("initialize_source", supplied["initialize_source"], SOURCES)
    return Settings(**supplied)


class Quaternion(NamedTuple):
    """A rotation as a unit quaternion; w is the scalar part."""

    x: one = 0.0
    y: one = 0.0
    z: one = 0.0
    w: one = 1.0


class Pose(NamedTuple):
    """Pose of the vehicle: centre of the rear axle and orientation of the body."""

    x: m
    y: m
    z: m
    orientation: Quaternion


def quaternion(pitch: rad, yaw: rad) -> Quaternion:
    """Rotation by yaw (positive to the left), then pitch (positive nose down); no roll."""
    sin_p, cos_p = sin(0.5 * pitch), cos(0.5 * pitch)
    sin_y, cos_y = sin(0.5 * yaw), cos(0.5 * yaw)
    return Quaternion(-sin_p * sin_y, sin_p * cos_y, cos_p * sin_y, cos_p * cos_y)


def yaw_of(q: Quaternion) -> rad:
    """Heading of a rotation, from −π to π, positive to the left; `q` need not be normalised."""
    return atan2(2.0 * (q.x * q.y + q.w * q.z), q.w * q.w + q.x * q.x - q.y * q.y - q.z * q.z)


def pitch_of(q: Quaternion) -> rad:
    """Pitch of a rotation without roll, from −π/2 to π/2, positive nose down."""
    return atan2(2.0 * (q.w * q.y - q.z * q.x), 1.0 - 2.0 * (q.x * q.x + q.y * q.y))


Covariance = tuple[float, ...]
"""A square matrix, flat, row by row; unit: the product of the units of row and column."""


def diagonal(*entries: float) -> Covariance:
    """Flat covariance matrix with these entries on the diagonal and zeros elsewhere."""
    size = len(entries)
    return tuple(entries[k // size] if k % (size + 1) == 0 else 0.0 for k in range(size * size))


class Odometry(NamedTuple):
    """Pose and velocity, with optional measurement noise on x, y, yaw and v_x."""

    stamp: s
    frame: str
    """Frame of the pose, the origin frame."""
    child_frame: str
    """Frame of the velocities, the vehicle frame."""
    pose: Pose
    v_x: m_s
    """Forward velocity; negative when rolling backwards. The lateral velocity is reported as
    0."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    pose_covariance: Covariance
    """Covariance of the pose; x_stddev and y_stddev, though standard deviations, are at (x, x)
    and (y, y)."""
    twist_covariance: Covariance
    """Covariance of the velocities, all zero."""

    __repr__ = brief_repr


class PoseReport(NamedTuple):
    """Pose of the odometry report, with the covariance of a scan matcher."""

    stamp: s
    frame: str
    pose: Pose
    covariance: Covariance

    __repr__ = brief_repr


class VelocityReport(NamedTuple):
    """Velocity of the vehicle, in 32-bit floats; v_x has the same noise as the odometry's."""

    stamp: s
    frame: str
    v_x: m_s
    v_y: m_s
    """Lateral velocity, always 0."""
    omega: rad_s


class SteeringReport(NamedTuple):
    """Measured tyre angle: the true one plus bias and noise; a 32-bit float."""

    stamp: s
    steer: rad
    """Tyre angle, positive to the left."""


class AccelerationReport(NamedTuple):
    """Acceleration of the vehicle, without noise and without gravity."""

    stamp: s
    frame: str
    a_x: m_s2
    """Longitudinal acceleration as the model reports it; negative while braking."""
    a_y: m_s2
    """Centripetal acceleration v_x * omega, positive to the left."""
    covariance: Covariance

    __repr__ = brief_repr


class ImuReport(NamedTuple):
    """Ideal inertial measurement: without gravity, and without noise except in the orientation."""

    stamp: s
    frame: str
    orientation: Quaternion
    """Orientation as in the odometry."""
    omega: rad_s
    """Yaw rate; the other two rates are 0."""
    a_x: m_s2
    a_y: m_s2
    orientation_covariance: Covariance
    omega_covariance: Covariance
    acceleration_covariance: Covariance

    __repr__ = brief_repr


class ControlModeReport(NamedTuple):
    """The source of the commands."""

    stamp: s
    mode: ControlMode


class GearReport(NamedTuple):
    """The current gear."""

    stamp: s
    gear: Gear | int
    """Gear; a plain number if it has no name, which only compat="upstream" accepts."""


class TurnIndicatorsReport(NamedTuple):
    """The last command to the direction indicators."""

    stamp: s
    turn_indicators: TurnIndicators


class HazardLightsReport(NamedTuple):
    """The last command to the hazard lights."""

    stamp: s
    hazard_lights: HazardLights


class ActuationReport(NamedTuple):
    """Pedal positions for the current acceleration, by the model's maps."""

    stamp: s
    frame: str
    accel: one
    brake: one
    steer: one
    """Steering, always 0."""


class Transform(NamedTuple):
    """Transform from the origin frame to the vehicle: the odometry pose, noise included."""

    stamp: s
    frame: str
    child_frame: str
    pose: Pose
    """Pose with translation `pose.x`, `pose.y`, `pose.z` and rotation `pose.orientation`."""

    __repr__ = brief_repr


class Reports(NamedTuple):
    """All reports of one tick; None for reports that are not published.

    Until the vehicle has an initial pose, only the control mode is reported.
    """

    stamp: s
    control_mode: ControlModeReport
    odometry: Odometry | None = None
    pose: PoseReport | None = None
    velocity: VelocityReport | None = None
    acceleration: AccelerationReport | None = None
    imu: ImuReport | None = None
    gear: GearReport | None = None
    turn_indicators: TurnIndicatorsReport | None = None
    """None before the first command."""
    hazard_lights: HazardLightsReport | None = None
    """None before the first command."""
    transform: Transform | None = None
    steering: SteeringReport | None = None
    """None if the parameter enable_pub_steer is false."""
    actuation_status: ActuationReport | None = None
    """Only for `ACTUATION_CMD...` models with a map, else None."""
    rejected: int = 0
    """Number of commands, requests and ticks rejected so far; see
    `PlanningSimulator.rejected`."""

    __repr__ = brief_repr


ACCELERATION_FRAME = "/base_link"
"""Frame of the acceleration report for any simulated_frame_id; the slash is upstream's."""
IMU_FRAME = "base_link"
"""Frame of the IMU report for any simulated_frame_id."""
POSE_COVARIANCE = diagonal(*[0.0225] * 3, *[0.000625] * 3)
"""Covariance of the pose report, in m² and rad²: that of Autoware's scan matcher."""
ACCELERATION_COVARIANCE = diagonal(*[0.001] * 6)
IMU_COVARIANCE = diagonal(*[0.001] * 3)
NO_COVARIANCE: Covariance = (0.0,) * 36


class Switches(NamedTuple):
    """Reported states of the vehicle other than motion: control mode, gear and lights."""

    control_mode: ControlMode
    gear: Gear | int
    turn_indicators: TurnIndicators | None
    hazard_lights: HazardLights | None
    actuation_status: tuple[float, float] | None
    rejected: int


class Reporter:
    """Generator of one simulator's reports.

    Args:
        settings: frames, noise, and which reports to make.
        seed: seed of the measurement noise.
    """

    def __init__(self, settings: Settings, seed: int) -> None:
        self._frames = settings.origin_frame_id, settings.simulated_frame_id
        self._steering = settings.enable_pub_steer
        self._noise: Iterator[Any] | None = None
        if settings.add_measurement_noise:
            self._noise = samples(seed, settings.deviations)
        self.state_covariances(settings.x_stddev, settings.y_stddev)

    def state_covariances(self, x_stddev: m, y_stddev: m) -> None:
        """Set the entries for x and y in the odometry's covariance."""
        # Standard deviations in place of variances, as in the program: estimators are tuned to it.
        self._odometry_covariance = diagonal(x_stddev, y_stddev, 0.0, 0.0, 0.0, 0.0)

    def waiting(self, stamp: s, mode: ControlMode, rejected: int) -> Reports:
        """Reports before the initial pose is known."""
        return Reports(stamp, ControlModeReport(stamp, mode), rejected=rejected)

    def reports(self, stamp: s, motion: Motion, pitch: rad, z: m, switches: Switches) -> Reports:
        """Reports of one tick; draws one sample of noise if noise is enabled."""
        x, y, yaw, v_x, _, a_x, omega, steer = motion
        mode, gear, turn, hazard, status, rejected = switches
        origin, vehicle = self._frames
        a_y = omega * v_x
        reported_v_x, reported_steer = single(v_x), single(steer)
        if self._noise is not None:
            n_x, n_y, n_velocity, n_yaw, n_steer = next(self._noise)
            x, y, v_x = x + n_x, y + n_y, v_x + n_velocity
            # The noise is added to a number that already is a 32-bit float.
            reported_v_x = single(reported_v_x + n_velocity)
            reported_steer = single(reported_steer + n_steer)
            # The program makes the noisy orientation from yaw alone, so the pitch is lost.
            yaw = remainder(yaw, tau) + n_yaw
            pitch = 0.0
        orientation = quaternion(pitch, yaw)
        pose = Pose(x, y, z, orientation)
        covariances = self._odometry_covariance, NO_COVARIANCE
        return Reports(
            stamp,
            ControlModeReport(stamp, mode),
            Odometry(stamp, origin, vehicle, pose, v_x, omega, *covariances),
            PoseReport(stamp, origin, pose, POSE_COVARIANCE),
            VelocityReport(stamp, vehicle, reported_v_x, 0.0, single(omega)),
            AccelerationReport(stamp, ACCELERATION_FRAME, a_x, a_y, ACCELERATION_COVARIANCE),
            ImuReport(stamp, IMU_FRAME, orientation, omega, a_x, a_y, *[IMU_COVARIANCE] * 3),
            GearReport(stamp, gear),
            None if turn is None else TurnIndicatorsReport(stamp, turn),
            None if hazard is None else HazardLightsReport(stamp, hazard),
            Transform(stamp, origin, vehicle, pose),
            SteeringReport(stamp, reported_steer) if self._steering else None,
            None if status is None else ActuationReport(stamp, vehicle, *status, 0.0),
            rejected,
        )


class ControlMode(IntEnum):
    """Source of the commands; only AUTONOMOUS and MANUAL can be requested of the simulator."""

    NO_COMMAND = 0
    AUTONOMOUS = 1
    AUTONOMOUS_STEER_ONLY = 2
    AUTONOMOUS_VELOCITY_ONLY = 3
    MANUAL = 4
    DISENGAGED = 5
    NOT_READY = 6


class TurnIndicators(IntEnum):
    """Direction indicator command."""

    NO_COMMAND = 0
    DISABLE = 1
    ENABLE_LEFT = 2
    ENABLE_RIGHT = 3


class HazardLights(IntEnum):
    """Hazard light command."""

    NO_COMMAND = 0
    DISABLE = 1
    ENABLE = 2


class ControlCommand(NamedTuple):
    """Command of a trajectory follower, stored as 32-bit floats as in the message."""

    velocity: m_s = 0.0
    """Target velocity, positive forwards in any gear; used by the `..._STEER_VEL` models only."""
    acceleration: m_s2 = 0.0
    """Target acceleration in the direction of the gear: in REVERSE, positive means faster
    backwards. Used by the `..._ACC...` models only."""
    steer: rad = 0.0
    """Target tyre angle, positive to the left."""


class ActuationCommand(NamedTuple):
    """Command of the actuators of a vehicle, for the `ACTUATION_CMD...` models."""

    accel: one = 0.0
    """Accelerator pedal, in the unit of the accel map; the acceleration in m/s² without a
    conversion.

    It takes precedence if both pedals are pressed.
    """
    brake: one = 0.0
    """Brake pedal, in the unit of the brake map."""
    steer: one = 0.0
    """Steering, positive to the left.

    By model: tyre angle in rad, steering wheel angle in rad, or the row coordinate of the steer
    map.
    """


class InitialPose(NamedTuple):
    """Start pose of the vehicle: centre of its rear axle, in the origin frame."""

    x: m = 0.0
    y: m = 0.0
    yaw: rad = 0.0
    """Heading, positive to the left; `reports.yaw_of` computes it from a quaternion."""
    z: m = 0.0
    """Height, reported until a trajectory sets another; it has no effect on the motion."""


def single(value: float) -> float:
    """Value rounded to a 32-bit float; infinite if it is too large."""
    return c_float(value).value


def control_command(message: Any, fields: Mapping[str, Any]) -> ControlCommand:
    """Checked control command, rounded to 32-bit floats."""
    exact = checked_record(ControlCommand, message, fields)
    rounded = ControlCommand(*map(single, exact))
    for name, value, kept in zip(ControlCommand._fields, exact, rounded, strict=True):
        if isinf(kept):
            raise InvalidValue(f"ControlCommand.{name} = {value} does not fit a 32-bit float")
    return rounded


def checked_record(kind: Any, message: Any, fields: Mapping[str, Any]) -> Any:
    """A record of this kind from a message or its fields; raises `InvalidValue`."""
    # Accept any other record with the same fields, such as the converter's.
    if type(message) is not kind and getattr(message, "_fields", None) == kind._fields:
        message = kind(*message)
    # Fast path for finite floats under known names: the full checks take as long as three ticks.
    plain: Any = None if fields else message
    if message is None:
        with contextlib.suppress(TypeError):
            plain = kind(**fields)
    usual = type(plain) is kind and all(isinstance(value, float) for value in plain)
    return plain if usual and isfinite(sum(plain)) else record.build(kind, message, **fields)


def gear_number(value: Any) -> Gear | int:
    """Gear for a member, number or name, or the number itself if it fits the message (0 to 255).

    For the upstream program a number without a name is a gear that does not drive.
    """
    try:
        return member(Gear, value)
    except InvalidValue:
        if isinstance(value, int) and 0 <= value <= 255:
            return int(value)
        raise


def member(kind: type[IntEnum], value: Any) -> Any:
    """Member of an enumeration by member, number or name; raises `InvalidValue` for others."""
    try:
        return kind[value] if isinstance(value, str) else kind(value)
    except (KeyError, ValueError):
        allowed = ", ".join(f"{item.name} = {item.value}" for item in kind)
        raise InvalidValue(
            f"{kind.__name__} = {value!r} is unknown; allowed are {allowed}"
        ) from None


class Motion(NamedTuple):
    """Motion of a vehicle at the centre of its rear axle."""

    x: m
    y: m
    yaw: rad
    """Heading from the x axis, positive to the left; never wrapped."""
    v_x: m_s
    """Forward velocity."""
    v_y: m_s
    """Lateral velocity, positive to the left."""
    a_x: m_s2
    """Longitudinal acceleration, positive forwards."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    steer: rad
    """Measured tyre angle, positive to the left: the true one plus the bias."""


class MotionModel(Protocol):
    """Interface of a planning simulator's vehicle: commands in, motion out, steps of any length."""

    name: str
    """Upstream's vehicle_model_type."""
    inputs: tuple[str, ...]
    """Names of the inputs, in order."""

    def set_state(
        self, x: float, y: float, yaw: float, v_x: float, steer: float = 0.0, a_x: float = 0.0
    ) -> None:
        """Move the vehicle to a state; delayed commands stay queued."""
        ...

    def set_input(self, row: Sequence[float]) -> None:
        """Set the latest command, in the order of `inputs`."""
        ...

    def step(self, dt: float) -> None:
        """Advance by `dt` in s with the latest command; a step that fails changes nothing."""
        ...

    @property
    def motion(self) -> Motion:
        """Motion after the last step."""
        ...

    def actuation_status(self) -> tuple[float, float] | None:
        """Accelerator and brake pedal positions that explain the motion; None for a vehicle without
        pedals."""
        ...
