"""What the planning simulator reports: values, frames, covariances, pitch and height."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from compat.autoware.fake_motion import PEDALS, FakeMotion, around
from skidpad.compat.autoware.reports import (
    ControlMode,
    Quaternion,
    Reports,
    pitch_of,
    quaternion,
    yaw_of,
)
from skidpad.errors import InvalidValue
from skidpad.vehicles.parts.actuators import Gear


class Slope:
    """A road with one pitch everywhere, that notes where it was asked."""

    def __init__(self, pitch: float) -> None:
        self.value = pitch
        self.asked: list[tuple[float, float, float]] = []

    def pitch(self, x: float, y: float, yaw: float) -> float:
        self.asked.append((x, y, yaw))
        return self.value


def moving(**overrides: Any) -> Reports:
    """The reports of a vehicle at (1, 2), heading 0.5 rad, 3 m/s, in gear DRIVE."""
    model = FakeMotion(a_x=0.75, omega=0.1, steer=0.2)
    simulator = around(model, **overrides)
    simulator.initial_pose(x=1.0, y=2.0, yaw=0.5, z=4.0)
    simulator.initial_twist(3.0)
    simulator.gear(Gear.DRIVE)
    return simulator.tick(10.0)


def diagonal(matrix: tuple[float, ...]) -> list[float]:
    """The diagonal of a flat covariance that has nothing else."""
    size = math.isqrt(len(matrix))
    square = np.array(matrix).reshape(size, size)
    assert (square == np.diag(np.diag(square))).all()
    return np.diag(square).tolist()


@given(pitch=st.floats(-1.5, 1.5), yaw=st.floats(-3.1, 3.1))
def test_quaternions(pitch: float, yaw: float) -> None:
    q = quaternion(pitch, yaw)
    expected = Rotation.from_euler("ZYX", [yaw, pitch, 0.0]).as_quat(canonical=True)
    sign = 1.0 if q.w >= 0.0 else -1.0
    assert sign * np.array(q) == pytest.approx(expected, abs=1e-15)
    assert yaw_of(q) == pytest.approx(yaw, abs=1e-14)
    assert pitch_of(q) == pytest.approx(pitch, abs=1e-14)


def test_yaw_of_a_rotation_with_roll_and_any_length() -> None:
    rotation = Rotation.from_euler("ZYX", [2.5, -0.3, 0.7])
    q = Quaternion(*(3.0 * rotation.as_quat()))
    assert yaw_of(q) == pytest.approx(2.5, abs=1e-14)


def test_odometry() -> None:
    odometry = moving().odometry
    assert odometry is not None
    assert (odometry.frame, odometry.child_frame) == ("odom", "base_link")
    assert odometry.pose[:3] == (1.0, 2.0, 4.0)
    assert odometry.pose.orientation == pytest.approx((0, 0, math.sin(0.25), math.cos(0.25)))
    assert (odometry.v_x, odometry.omega) == (3.0, 0.1)
    assert diagonal(odometry.pose_covariance) == [1e-4, 1e-4, 0, 0, 0, 0]
    assert diagonal(odometry.twist_covariance) == [0] * 6


def test_pose() -> None:
    reports = moving()
    assert reports.pose is not None
    assert reports.odometry is not None
    assert reports.pose.frame == "odom"
    assert reports.pose.pose == reports.odometry.pose
    assert diagonal(reports.pose.covariance) == [0.0225] * 3 + [0.000625] * 3


def test_velocity_is_a_32_bit_report() -> None:
    velocity = moving().velocity
    assert velocity == (10.0, "base_link", 3.0, 0.0, float(np.float32(0.1)))


def test_steering_is_a_32_bit_report_and_can_be_switched_off() -> None:
    assert moving().steering == (10.0, float(np.float32(0.2)))
    assert moving(enable_pub_steer=False).steering is None


def test_acceleration_and_imu() -> None:
    reports = moving(simulated_frame_id="car")
    acceleration, imu = reports.acceleration, reports.imu
    assert acceleration is not None
    assert imu is not None
    assert reports.odometry is not None
    assert acceleration[:2] == (10.0, "/base_link"), "whatever the vehicle's frame"
    assert (acceleration.a_x, acceleration.a_y) == (0.75, pytest.approx(0.3))
    assert diagonal(acceleration.covariance) == [0.001] * 6
    assert imu.frame == "base_link"
    assert imu.orientation == reports.odometry.pose.orientation
    assert (imu.omega, imu.a_x, imu.a_y) == (0.1, 0.75, acceleration.a_y)
    for matrix in (imu.orientation_covariance, imu.omega_covariance, imu.acceleration_covariance):
        assert diagonal(matrix) == [0.001] * 3


def test_transform() -> None:
    reports = moving(origin_frame_id="map", simulated_frame_id="car")
    assert reports.transform is not None
    assert reports.odometry is not None
    assert reports.transform[:3] == (10.0, "map", "car")
    assert reports.transform.pose == reports.odometry.pose
    assert (reports.odometry.frame, reports.odometry.child_frame) == ("map", "car")
    assert reports.velocity is not None
    assert reports.velocity.frame == "car"


def test_mode_and_gear() -> None:
    reports = moving()
    assert reports.control_mode == (10.0, ControlMode.AUTONOMOUS)
    assert reports.gear == (10.0, Gear.DRIVE)
    simulator = around()
    simulator.gear(Gear.DRIVE)
    simulator.request_control_mode(ControlMode.MANUAL)
    reports = simulator.tick(11.0)
    assert reports.control_mode == (11.0, ControlMode.MANUAL)
    assert reports.gear == (11.0, Gear.PARK)


def test_actuation_status_only_where_the_model_has_one() -> None:
    assert moving().actuation_status is None
    model = FakeMotion(PEDALS, status=(0.25, 0.5))
    status = around(model, simulated_frame_id="car").tick(3.0).actuation_status
    assert status == (3.0, "car", 0.25, 0.5, 0.0)


def test_covariances_can_be_changed_while_running() -> None:
    simulator = around(x_stddev=0.5)
    simulator.covariances(y_stddev=0.25)
    odometry = simulator.tick(0.0).odometry
    assert odometry is not None
    assert diagonal(odometry.pose_covariance)[:2] == [0.5, 0.25]
    assert (simulator.settings.x_stddev, simulator.parameters["y_stddev"]) == (0.5, 0.25)
    with pytest.raises(InvalidValue, match=r"x_stddev = -1\.0 must be finite and at least 0"):
        simulator.covariances(x_stddev=-1.0, y_stddev=7.0)
    odometry = simulator.tick(0.0).odometry
    assert odometry is not None
    assert diagonal(odometry.pose_covariance)[:2] == [0.5, 0.25]
    assert simulator.rejected == {"covariances": 1}


def test_pitch_is_reported_even_if_the_slope_does_not_act() -> None:
    odometry = moving(road=Slope(-0.1)).odometry
    assert odometry is not None
    assert pitch_of(odometry.pose.orientation) == pytest.approx(-0.1)
    assert yaw_of(odometry.pose.orientation) == pytest.approx(0.5)
    ahead = Rotation.from_quat(odometry.pose.orientation).apply([1.0, 0.0, 0.0])
    assert ahead[2] > 0.0, "a negative pitch points uphill"


def test_noise_drops_the_pitch() -> None:
    odometry = moving(road=Slope(-0.1), add_measurement_noise=True).odometry
    assert odometry is not None
    assert pitch_of(odometry.pose.orientation) == 0.0


def test_pitch_is_that_of_the_pose_before_the_update() -> None:
    road = Slope(0.0)
    simulator = around(road=road)
    simulator.initial_pose(x=1.0, y=2.0, yaw=0.5)
    simulator.initial_twist(3.0)
    for now in (0.0, 1.0, 2.0):
        simulator.tick(now)
    assert road.asked == [(1.0, 2.0, 0.5), (1.0, 2.0, 0.5), (4.0, 2.0, 0.5)]


def test_a_road_may_come_later() -> None:
    simulator = around()
    simulator.tick(0.0)
    simulator.road = Slope(0.2)
    odometry = simulator.tick(1.0).odometry
    assert odometry is not None
    assert pitch_of(odometry.pose.orientation) == pytest.approx(0.2)


def test_height_of_the_nearest_trajectory_point_then_the_last_one() -> None:
    simulator = around()
    simulator.initial_pose(z=7.0)
    simulator.initial_twist(1.0)

    def height(now: float) -> float:
        odometry = simulator.tick(now).odometry
        assert odometry is not None
        return odometry.pose.z

    assert height(0.0) == 7.0
    simulator.trajectory([[0.0, 1.0, 10.0], [2.0, 0.0, 20.0], [4.0, 0.0, 30.0]])
    assert [height(t) for t in (0.0, 1.5, 2.5, 3.5)] == [10.0, 20.0, 20.0, 30.0]
    simulator.trajectory([])
    assert height(4.0) == 30.0
    simulator.trajectory([[3.0, 0.0, 1.0], [5.0, 0.0, 2.0]])
    assert height(4.0) == 1.0, "the first of two equally near"
    simulator.trajectory(None)
    assert height(4.5) == 1.0


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([[1.0, 2.0]], r"shape \(1, 2\); expected \(n, 3\)"),
        ([[0.0, 0.0, 0.0], [0.0, math.nan, 0.0]], r"trajectory\[1\] = "),
        ("up", "must be numbers"),
        ([1.0, 2.0, 3.0], r"shape \(3,\)"),
    ],
)
def test_a_bad_trajectory_leaves_the_last(bad: Any, message: str) -> None:
    simulator = around()
    simulator.trajectory([[0.0, 0.0, 5.0]])
    with pytest.raises(InvalidValue, match=message):
        simulator.trajectory(bad)
    odometry = simulator.tick(0.0).odometry
    assert odometry is not None
    assert odometry.pose.z == 5.0
    assert simulator.rejected == {"trajectory": 1}
