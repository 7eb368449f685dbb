"""Reports of a planning simulator at every tick, one record per message of the vehicle.

Frames: positions in the origin frame (parameter `origin_frame_id`), velocities and accelerations in
the vehicle (parameter `simulated_frame_id`: x forward, y left, at the centre of the rear axle).
Covariances are flat, row by row, as in the ROS messages: 36 numbers over x, y, z, roll, pitch, yaw,
or 9 over x, y, z. `stamp` is the time of the tick in s. `Reporter` makes the reports from the
motion of a model: noise, frames, covariances, rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2, cos, remainder, sin, tau
from typing import Any, NamedTuple

from ...core.files import brief_repr
from ...units import m, m_s, m_s2, one, rad, rad_s, s
from ...vehicles.parts.drive_command import Gear
from . import settings as noise
from .messages import ControlMode, HazardLights, Motion, TurnIndicators, single
from .settings import Settings


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


Covariance = tuple[float, ...]
"""A square matrix, flat, row by row; unit: the product of the units of row and column."""


def diagonal(*entries: float) -> Covariance:
    """A covariance with these entries on the diagonal and zeros elsewhere."""
    size = len(entries)
    return tuple(entries[k // size] if k % (size + 1) == 0 else 0.0 for k in range(size * size))


class Odometry(NamedTuple):
    """Pose and velocity, with optional measurement noise on x, y, yaw and v_x."""

    stamp: s
    frame: str
    """Frame of the pose: the origin frame."""
    child_frame: str
    """Frame of the velocities: the vehicle."""
    pose: Pose
    v_x: m_s
    """Forward velocity; negative when rolling backwards. The lateral one is reported as 0."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    pose_covariance: Covariance
    """Has x_stddev and y_stddev at (x, x) and (y, y), although these are standard deviations."""
    twist_covariance: Covariance
    """All zero."""

    __repr__ = brief_repr


class PoseReport(NamedTuple):
    """The pose of the odometry with the covariance of a scan matcher."""

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
    """Always 0."""
    omega: rad_s


class SteeringReport(NamedTuple):
    """Measured tyre angle: the true one, its bias and its noise; a 32-bit float."""

    stamp: s
    steer: rad
    """Positive to the left."""


class AccelerationReport(NamedTuple):
    """Acceleration of the vehicle, without noise and without gravity."""

    stamp: s
    frame: str
    a_x: m_s2
    """As the model reports it; negative while braking."""
    a_y: m_s2
    """Centripetal: v_x * omega, positive to the left."""
    covariance: Covariance

    __repr__ = brief_repr


class ImuReport(NamedTuple):
    """An ideal inertial unit: without gravity, and without noise except in the orientation."""

    stamp: s
    frame: str
    orientation: Quaternion
    """Orientation of the odometry."""
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
    """The present gear."""

    stamp: s
    gear: Gear | int
    """A number for a gear without a name, which only compat="upstream" accepts."""


class TurnIndicatorsReport(NamedTuple):
    """The last command to the direction indicators."""

    stamp: s
    turn_indicators: TurnIndicators


class HazardLightsReport(NamedTuple):
    """The last command to the hazard lights."""

    stamp: s
    hazard_lights: HazardLights


class ActuationReport(NamedTuple):
    """Pedal positions for the present acceleration, by the model's maps."""

    stamp: s
    frame: str
    accel: one
    brake: one
    steer: one
    """Always 0."""


class Transform(NamedTuple):
    """The vehicle in the origin frame: the pose of the odometry, noise included."""

    stamp: s
    frame: str
    child_frame: str
    pose: Pose
    """`pose.x`, `pose.y`, `pose.z` are the translation, `pose.orientation` the rotation."""

    __repr__ = brief_repr


class Reports(NamedTuple):
    """All reports of one tick; None for those that are not published.

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
    """Only for `ACTUATION_CMD...` models with a map."""
    rejected: int = 0
    """Commands, requests and ticks rejected so far; see `PlanningSimulator.rejected`."""

    __repr__ = brief_repr


ACCELERATION_FRAME = "/base_link"
"""Frame of the acceleration report, whatever simulated_frame_id is; upstream has the slash, too."""
IMU_FRAME = "base_link"
"""Frame of the IMU report, whatever simulated_frame_id is."""
POSE_COVARIANCE = diagonal(*[0.0225] * 3, *[0.000625] * 3)
"""Covariance of the pose report, in m² and rad²: that of Autoware's scan matcher."""
ACCELERATION_COVARIANCE = diagonal(*[0.001] * 6)
IMU_COVARIANCE = diagonal(*[0.001] * 3)
NO_COVARIANCE: Covariance = (0.0,) * 36


class Switches(NamedTuple):
    """Reported values other than the motion."""

    control_mode: ControlMode
    gear: Gear | int
    turn_indicators: TurnIndicators | None
    hazard_lights: HazardLights | None
    actuation_status: tuple[float, float] | None
    rejected: int


class Reporter:
    """Makes the reports of one simulator.

    Args:
        settings: frames, noise, and which reports to make.
        seed: seed of the measurement noise.
    """

    def __init__(self, settings: Settings, seed: int) -> None:
        self._frames = settings.origin_frame_id, settings.simulated_frame_id
        self._steering = settings.enable_pub_steer
        self._noise: Iterator[Any] | None = None
        if settings.add_measurement_noise:
            self._noise = noise.samples(seed, settings.deviations)
        self.state_covariances(settings.x_stddev, settings.y_stddev)

    def state_covariances(self, x_stddev: m, y_stddev: m) -> None:
        """Set the two entries of the odometry's covariance."""
        # Standard deviations in place of variances, as in the program: estimators are tuned to it.
        self._odometry_covariance = diagonal(x_stddev, y_stddev, 0.0, 0.0, 0.0, 0.0)

    def waiting(self, stamp: s, mode: ControlMode, rejected: int) -> Reports:
        """The reports before the initial pose."""
        return Reports(stamp, ControlModeReport(stamp, mode), rejected=rejected)

    def reports(self, stamp: s, motion: Motion, pitch: rad, z: m, switches: Switches) -> Reports:
        """The reports of one tick; draws one sample of noise if noise is on."""
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
        return Reports(
            stamp,
            ControlModeReport(stamp, mode),
            Odometry(
                stamp, origin, vehicle, pose, v_x, omega, self._odometry_covariance, NO_COVARIANCE
            ),
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
