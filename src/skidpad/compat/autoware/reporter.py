"""From the motion of a model to the reports about it: noise, frames, covariances, rounding."""

from __future__ import annotations

from collections.abc import Iterator
from math import remainder, tau
from typing import Any, NamedTuple

from ...units import m, rad, s
from . import noise
from .messages import ControlMode, Gear, HazardLights, TurnIndicators, single
from .motion_model import Motion
from .pose import Pose, quaternion
from .reports import (
    AccelerationReport,
    ActuationReport,
    ControlModeReport,
    Covariance,
    GearReport,
    HazardLightsReport,
    ImuReport,
    Odometry,
    PoseReport,
    Reports,
    SteeringReport,
    Transform,
    TurnIndicatorsReport,
    VelocityReport,
    diagonal,
)
from .settings import Settings

ACCELERATION_FRAME = "/base_link"
"""Frame of the acceleration report, whatever simulated_frame_id is; upstream has the slash, too."""
IMU_FRAME = "base_link"
"""Frame of the IMU report, whatever simulated_frame_id is."""
POSE_COVARIANCE = diagonal(*[0.0225] * 3, *[0.000625] * 3)
"""Of the pose report, in m² and rad²: what Autoware's scan matcher states."""
ACCELERATION_COVARIANCE = diagonal(*[0.001] * 6)
IMU_COVARIANCE = diagonal(*[0.001] * 3)
NO_COVARIANCE: Covariance = (0.0,) * 36


class Switches(NamedTuple):
    """What is reported besides the motion."""

    control_mode: ControlMode
    gear: Gear | int
    turn_indicators: TurnIndicators | None
    hazard_lights: HazardLights | None
    actuation_status: tuple[float, float] | None
    rejected: int


class Reporter:
    """Makes the reports of one simulator.

    Args:
        settings: frames, noise, what to report.
        seed: of the measurement noise.
    """

    def __init__(self, settings: Settings, seed: int) -> None:
        self._frames = settings.origin_frame_id, settings.simulated_frame_id
        self._steering = settings.enable_pub_steer
        self._noise: Iterator[Any] | None = None
        if settings.add_measurement_noise:
            self._noise = noise.samples(seed, settings.deviations)
        self.state_covariances(settings.x_stddev, settings.y_stddev)

    def state_covariances(self, x_stddev: m, y_stddev: m) -> None:
        """Set the two numbers that go into the odometry's covariance."""
        # Standard deviations stand where variances belong: the program does so, and estimators
        # were tuned to it.
        self._odometry_covariance = diagonal(x_stddev, y_stddev, 0.0, 0.0, 0.0, 0.0)

    def waiting(self, stamp: s, mode: ControlMode, rejected: int) -> Reports:
        """The reports before there is an initial pose."""
        return Reports(stamp, ControlModeReport(stamp, mode), rejected=rejected)

    def reports(self, stamp: s, motion: Motion, pitch: rad, z: m, switches: Switches) -> Reports:
        """The reports of one tick; draws one sample of noise if that is on."""
        x, y, yaw, v_x, _, a_x, omega, steer = motion
        mode, gear, turn, hazard, status, rejected = switches
        origin, vehicle = self._frames
        a_y = omega * v_x
        reported_v_x = single(v_x)
        reported_steer = single(steer)
        if self._noise is not None:
            n_x, n_y, n_velocity, n_yaw, n_steer = next(self._noise)
            x += n_x
            y += n_y
            v_x += n_velocity
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
            ImuReport(
                stamp,
                IMU_FRAME,
                orientation,
                omega,
                a_x,
                a_y,
                IMU_COVARIANCE,
                IMU_COVARIANCE,
                IMU_COVARIANCE,
            ),
            GearReport(stamp, gear),
            None if turn is None else TurnIndicatorsReport(stamp, turn),
            None if hazard is None else HazardLightsReport(stamp, hazard),
            Transform(stamp, origin, vehicle, pose),
            SteeringReport(stamp, reported_steer) if self._steering else None,
            None if status is None else ActuationReport(stamp, vehicle, *status, 0.0),
            rejected,
        )
