"""What a planning simulator reports at every tick, one record per message of the vehicle.

Frames: positions in the origin frame (parameter `origin_frame_id`), velocities and accelerations in
the vehicle (parameter `simulated_frame_id`: x forward, y left, at the centre of the rear axle).
Covariances are flat, row by row, as in the ROS messages: 36 numbers over x, y, z, roll, pitch, yaw,
or 9 over x, y, z. `stamp` is the time of the tick in s.
"""

from __future__ import annotations

from typing import NamedTuple

from ...brief import brief_repr
from ...units import m_s, m_s2, one, rad, rad_s, s
from .messages import ControlMode, Gear, HazardLights, TurnIndicators
from .pose import Pose, Quaternion

Covariance = tuple[float, ...]
"""A square matrix, flat, row by row; unit: the product of the units of row and column."""


def diagonal(*entries: float) -> Covariance:
    """A covariance with these entries on the diagonal and zeros elsewhere."""
    size = len(entries)
    return tuple(entries[k // size] if k % (size + 1) == 0 else 0.0 for k in range(size * size))


class Odometry(NamedTuple):
    """Pose and velocity; with measurement noise on x, y, yaw and v_x if that is on."""

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
    """x_stddev and y_stddev at (x, x) and (y, y), although these are standard deviations."""
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
    """An ideal inertial unit: no gravity, no noise but that of the orientation."""

    stamp: s
    frame: str
    orientation: Quaternion
    """That of the odometry."""
    omega: rad_s
    """Yaw rate; the other two are 0."""
    a_x: m_s2
    a_y: m_s2
    orientation_covariance: Covariance
    omega_covariance: Covariance
    acceleration_covariance: Covariance

    __repr__ = brief_repr


class ControlModeReport(NamedTuple):
    """Whose commands count."""

    stamp: s
    mode: ControlMode


class GearReport(NamedTuple):
    """The gear the model is in."""

    stamp: s
    gear: Gear | int
    """A number where it has no name, which only compat="upstream" lets in."""


class TurnIndicatorsReport(NamedTuple):
    """The last command to the direction indicators."""

    stamp: s
    turn_indicators: TurnIndicators


class HazardLightsReport(NamedTuple):
    """The last command to the hazard lights."""

    stamp: s
    hazard_lights: HazardLights


class ActuationReport(NamedTuple):
    """The pedals that would give the present acceleration, by the model's maps."""

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
    """Everything reported at one tick; None for what is not published then.

    Until the vehicle has an initial pose only the control mode is reported.
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
    """None until there was a command."""
    hazard_lights: HazardLightsReport | None = None
    """None until there was a command."""
    transform: Transform | None = None
    steering: SteeringReport | None = None
    """None if the parameter enable_pub_steer is false."""
    actuation_status: ActuationReport | None = None
    """Only for `ACTUATION_CMD...` models that have a map."""
    rejected: int = 0
    """Commands, requests and ticks rejected so far; see `PlanningSimulator.rejected`."""

    __repr__ = brief_repr
