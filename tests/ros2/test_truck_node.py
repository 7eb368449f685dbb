"""The truck's node against its engine, recordings of upstream, and what messages mean."""

from __future__ import annotations

from math import cos, inf, nan, sin, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compat.truck.recordings import MAPS, model_path, recording
from ros2.rig import Rig, pose_request, transform
from skidpad.compat.truck import Noise
from skidpad.compat.truck.engine import Engine
from skidpad.errors import InvalidValue
from skidpad.geometry.maps.map import Map
from skidpad.ros2.messages import message_type
from skidpad.ros2.nodes import truck

CONTROL = message_type("truck_msgs/msg/Control").Record
COMMAND = "/control/command"
LOCALIZATION, WHEELS = "/simulator/localization", "/hardware/wheel/odometry"
STATE, TELEMETRY, SCAN, IMU = (
    "/simulator/state", "/hardware/telemetry", "/lidar/scan", "/camera/imu",
)  # fmt: skip
EVERY_TICK = ("/clock", LOCALIZATION, WHEELS, STATE, TELEMETRY, SCAN, IMU)
B = 0.2025
"""From the rear axle to the base point."""


def rig(
    parameters: dict[str, Any] | None = None, *words: str, compat: str | None = None, **how: Any
) -> Rig:
    return Rig(lambda node: truck.Truck(node, compat=compat), truck.NAME, parameters, words, **how)


def replayed(name: str, ticks: int) -> tuple[Rig, Any]:
    """A recording that starts at rest and has one command, given to the node."""
    data = recording(name)
    ops = {op[0]: op[1:] for op in reversed(data.scenario["ops"])}
    parameters: dict[str, Any] = dict(
        zip(("initial_x", "initial_y", "initial_yaw"), ops["reset"], strict=False)
    )
    parameters["model_config"] = str(model_path(data.scenario["model"]))
    if "map" in ops:
        parameters["map_config"] = str(MAPS / ops["map"][0])
    node = rig(parameters, compat="upstream")
    velocity, curvature = ops["control2"]
    node.publish(COMMAND, CONTROL(velocity=velocity, curvature=curvature))
    node.tick(ticks)
    return node, data


@pytest.mark.parametrize("compat", [None, "upstream"])
def test_messages_are_what_the_engine_says(compat: str | None) -> None:
    """A drive with every kind of command; each message of each tick, to the bit."""
    node = rig(compat=compat)
    engine = Engine(compat=compat, precision=1e-8)
    commands = {
        0: (0.6, None, 0.8),
        60: (0.7, 0.2, -1.2),
        130: (-0.4, None, 0.3),
        260: (0.0, 0.5, 0.0),
    }
    for k in range(300):
        if k in commands:
            v, a, kappa = commands[k]
            extra = {} if a is None else {"has_acceleration": True, "acceleration": a}
            node.publish(COMMAND, CONTROL(velocity=v, curvature=kappa, **extra))
            engine.set_base_control(v, a, kappa)
        node.tick()
        engine.advance(0.01)
        state, told = engine.state(), node.last(LOCALIZATION)
        pose, x = state.odom_base_pose, told.pose.pose
        turn = (0.0, 0.0, sin(pose.yaw / 2), cos(pose.yaw / 2))
        assert (*x.position, *x.orientation) == (pose.x, pose.y, 0.0, *turn)
        assert told.twist.twist.angular.z == state.base_angular_velocity
        report, telemetry = node.last(STATE), node.last(TELEMETRY)
        assert (report.speed, report.steering) == (
            state.base_twist.velocity,
            state.current_steering.middle,
        )
        assert report.pose == x
        assert not report.collision
        np.testing.assert_array_equal(report.gyro_angular_velocity, state.gyro_angular_velocity)
        np.testing.assert_array_equal(
            report.accel_linear_acceleration, state.accel_linear_acceleration
        )
        imu = node.last(IMU)
        np.testing.assert_array_equal(imu.angular_velocity, state.gyro_angular_velocity)
        np.testing.assert_array_equal(imu.linear_acceleration, state.accel_linear_acceleration)
        now, target, spin = state.current_steering, state.target_steering, state.wheel_velocity
        assert telemetry._replace(header=None)[1:] == (
            state.current_motor_rps, state.target_motor_rps, 0.0, 0.0, target.left, now.left,
            target.right, now.right, spin.rl, spin.rr, spin.fl, spin.fr,
        )  # fmt: skip
    assert node.last(LOCALIZATION).pose.pose.orientation.z < -0.1


@pytest.mark.parametrize(("name", "first"), [("s03_left_circle", 0), ("s13_scan_drive_room", 1)])
def test_upstream_is_repeated(name: str, first: int) -> None:
    """Recorded runs of the program, through the node; row `first` is that after the first tick."""
    count = 200
    node, data = replayed(name, count)
    rows = dict(zip(data.columns, data.state[first : first + count].T, strict=True))
    told, states, reports = (node.all(topic)[1:] for topic in (LOCALIZATION, STATE, TELEMETRY))
    seen = {
        "time_ns": [m.header.stamp.sec * 1e9 + m.header.stamp.nanosec for m in told],
        "base_x": [m.pose.pose.position.x for m in told],
        "base_y": [m.pose.pose.position.y for m in told],
        "odom_vx": [m.twist.twist.linear.x for m in told],
        "odom_vy": [m.twist.twist.linear.y for m in told],
        "omega": [m.twist.twist.angular.z for m in told],
        "base_v": [m.twist.twist.linear.x for m in node.all(WHEELS)[1:]],
        "steer_mid": [m.steering for m in states],
        "gyro_y": [m.gyro_angular_velocity.y for m in states],
        "acc_x": [m.accel_linear_acceleration.x for m in states],
        "acc_z": [m.linear_acceleration.z for m in node.all(IMU)[1:]],
        "steer_left": [m.current_left_steering for m in reports],
        "tgt_right": [m.target_right_steering for m in reports],
        "rps_cur": [m.current_rps for m in reports],
        "rps_tgt": [m.target_rps for m in reports],
        "w_fl": [m.front_left_wheel_velocity for m in reports],
        "w_rr": [m.rear_right_wheel_velocity for m in reports],
    }
    for column, values in seen.items():
        np.testing.assert_allclose(values, rows[column], rtol=1e-9, atol=1e-9, err_msg=column)
    for scan, row in zip(
        data.arrays.get("scan", ()), data.arrays.get("scan_record", ()), strict=True
    ):
        np.testing.assert_allclose(node.all(SCAN)[row].ranges, scan, rtol=1e-6)


def test_time_is_simulated_and_all_stamps_are_that_of_the_clock() -> None:
    node = rig({"update_period": 0.025})
    node.tick(5)
    for topic in EVERY_TICK:
        stamps = [m.clock if topic == "/clock" else m.header.stamp for m in node.all(topic)]
        assert [s.sec * 10**9 + s.nanosec for s in stamps][-5:] == [
            k * 25_000_000 for k in range(1, 6)
        ]
        # The state before the first tick is told too; the clock comes with the ticks.
        assert len(stamps) == (5 if topic == "/clock" else 6)
    assert node.last(SCAN).scan_time == np.float32(0.025)


def test_the_twist_is_in_the_axes_of_its_frame() -> None:
    """Turned into the world it is the way of the base point per time, on a circle too."""
    node = rig()
    node.publish(COMMAND, CONTROL(velocity=0.5, curvature=1.2))
    node.tick(400)
    before, now, after = (m for m in node.all(LOCALIZATION)[-3:])
    yaw = 2.0 * np.arctan2(now.pose.pose.orientation.z, now.pose.pose.orientation.w)
    v = now.twist.twist.linear
    way = [
        (getattr(after.pose.pose.position, axis) - getattr(before.pose.pose.position, axis)) / 0.02
        for axis in "xy"
    ]
    turned = (cos(yaw) * v.x - sin(yaw) * v.y, sin(yaw) * v.x + cos(yaw) * v.y)
    np.testing.assert_allclose(turned, way, atol=1e-4)
    # On its circle the base point swings out by its distance from the rear axle.
    assert v.y == pytest.approx(now.twist.twist.angular.z * B, rel=1e-9)
    assert np.hypot(v.x, v.y) == pytest.approx(0.5, rel=1e-9)
    wheels = node.last(WHEELS)
    assert (wheels.header.frame_id, wheels.child_frame_id) == ("base", "base")
    assert wheels.twist.twist.linear.x == v.x
    assert wheels.twist.covariance[0] == 1e-4
    assert not wheels.twist.covariance[1:].any()


def test_the_frame_of_the_odometry_follows_from_what_is_heard() -> None:
    """world → odom_ekf, then odom_ekf → base as told by others, is world → base."""
    node = rig({"initial_x": 3.0, "initial_y": -1.0, "initial_yaw": 0.7})
    node.tick(3)
    assert not node.heard["/tf"]
    node.publish("/tf", transform("odom_ekf", "base", 1.5, 0.4, -2.0))
    node.publish(COMMAND, CONTROL(velocity=0.5, curvature=-0.5))
    node.tick(50)
    (message,) = node.last("/tf").transforms
    assert (message.header.frame_id, message.child_frame_id) == ("world", "odom_ekf")
    assert message.header.stamp == node.last(LOCALIZATION).header.stamp
    q = message.transform.rotation
    angle = 2.0 * np.arctan2(q.z, q.w)
    x = message.transform.translation.x + cos(angle) * 1.5 - sin(angle) * 0.4
    y = message.transform.translation.y + sin(angle) * 1.5 + cos(angle) * 0.4
    base = node.last(LOCALIZATION).pose.pose
    np.testing.assert_allclose((x, y), (base.position.x, base.position.y), atol=1e-12)
    yaw = 2.0 * np.arctan2(base.orientation.z, base.orientation.w)
    assert cos(angle - 2.0 - yaw) == pytest.approx(1.0, abs=1e-12)


def _room(tmp_path: Path) -> str:
    """A room from (0, 0) to (10, 6)."""
    file = tmp_path / "room.geojson"
    file.write_text(
        '{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {}, '
        '"geometry": {"type": "Polygon", "coordinates": '
        "[[[0, 0], [10, 0], [10, 6], [0, 6], [0, 0]]]}}]}"
    )
    Map.load(file)
    return str(file)


def test_the_scan_says_where_its_rays_point(tmp_path: Path) -> None:
    """Distances to four walls, at the angles that the message gives them."""
    node = rig({"map_config": _room(tmp_path), "initial_x": 2.0, "initial_y": 2.5})
    node.tick()
    scan = node.last(SCAN)
    assert scan.header.frame_id == "lidar_link"
    assert scan.ranges.dtype == np.float32
    angles = scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
    assert angles[-1] == pytest.approx(scan.angle_max, abs=1e-5)
    for angle, wall in ((0.0, 8.0), (np.pi / 2, 3.5), (np.pi, 2.0), (3 * np.pi / 2, 2.5)):
        ray = int(np.abs(angles - angle).argmin())
        assert scan.ranges[ray] == pytest.approx(wall, rel=1e-5)
    assert (scan.range_min, scan.range_max) == (0.0, 25.0)
    assert scan.intensities.size == 0


def test_the_imu_at_rest_feels_the_ground() -> None:
    node = rig()
    node.tick()
    imu = node.last(IMU)
    assert imu.header.frame_id == "camera_imu_optical_frame"
    np.testing.assert_allclose(imu.linear_acceleration, (0.0, -9.81, 0.0), atol=1e-12)
    assert imu.orientation_covariance[0] == -1.0


def test_a_collision_is_told_and_a_reset_ends_it(tmp_path: Path) -> None:
    node = rig({"map_config": _room(tmp_path), "initial_x": 9.0, "initial_y": 3.0})
    node.publish(COMMAND, CONTROL(velocity=0.8))
    node.tick(200)
    assert node.last(STATE).collision
    stuck = node.last(STATE).pose
    # Half of the body is 0.2525 m long.
    assert stuck.position.x == pytest.approx(10.0 - 0.2525, abs=0.01)
    node.tick(10)
    assert node.last(STATE).pose == stuck
    assert node.last("/clock").clock == (2, 100_000_000)
    assert node.call("/simulator/reset").success
    # The state is told at once, so that whoever waits for it goes on.
    assert not node.last(STATE).collision
    assert node.last(STATE).pose.position.x == 9.0
    node.tick(50)
    assert node.last(STATE).speed == 0.0
    assert node.last(STATE).pose.position.x == 9.0
    assert node.last("/clock").clock == (2, 600_000_000)


@pytest.mark.parametrize(
    "bad",
    [
        {"velocity": nan}, {"velocity": inf}, {"curvature": -inf}, {"curvature": nan},
        {"velocity": 0.1, "has_acceleration": True, "acceleration": -1.0},
        {"velocity": 0.1, "has_acceleration": True, "acceleration": nan},
    ],
)  # fmt: skip
def test_bad_commands_change_nothing(bad: dict[str, Any], capsys: Any) -> None:
    node, other = rig(), rig()
    for each in (node, other):
        each.publish(COMMAND, CONTROL(velocity=0.5, curvature=0.5))
        each.tick(10)
    node.publish(COMMAND, CONTROL(**bad))
    assert "must be" in capsys.readouterr().err
    for each in (node, other):
        each.tick(10)
    assert node.heard[LOCALIZATION] == other.heard[LOCALIZATION]


def test_an_acceleration_that_is_not_there_is_not_looked_at() -> None:
    node = rig()
    node.publish(COMMAND, CONTROL(velocity=0.5, acceleration=nan))
    node.tick(100)
    assert node.last(STATE).speed == pytest.approx(0.5)


def test_old_commands_stop_the_truck_if_asked_for(capsys: Any) -> None:
    node, free = rig({"command_timeout": 0.3}), rig()
    for each in (node, free):
        each.publish(COMMAND, CONTROL(velocity=0.5, curvature=1.0))
        each.tick(300)
    assert free.last(STATE).speed == pytest.approx(0.5)
    assert node.last(STATE).speed == 0.0
    assert node.last(STATE).steering == free.last(STATE).steering
    assert "no command" in capsys.readouterr().err
    node.publish(COMMAND, CONTROL(velocity=0.5))
    node.tick(25)
    assert node.last(STATE).speed > 0.2


def test_the_truck_is_put_somewhere(capsys: Any) -> None:
    node = rig()
    node.call("/simulator/set_pose", pose=pose_request(1.0, 2.0, sqrt(0.5), sqrt(0.5), "world"))
    node.tick()
    at = node.last(LOCALIZATION).pose.pose
    np.testing.assert_allclose((at.position.x, at.position.y), (1.0, 2.0), atol=1e-12)
    assert at.orientation.z == pytest.approx(sqrt(0.5))
    for bad in (
        pose_request(nan, 0.0),
        pose_request(0.0, 0.0, nan),
        pose_request(0.0, 0.0, 0.0, 0.0),
        pose_request(0.0, 0.0, frame="map"),
    ):
        node.call("/simulator/set_pose", pose=bad)
        assert "must be" in capsys.readouterr().err
        node.tick()
        assert node.last(LOCALIZATION).pose.pose == at


def test_parameters_come_from_a_file_and_names_are_remapped(tmp_path: Path) -> None:
    file = tmp_path / "truck.yaml"
    file.write_text(
        "/**:\n  ros__parameters:\n    update_period: 2e-2\n    initial_x: 4\n"
        "    sensor_noise:\n      gyro: {enable: true, mean: 0.5, variance: 0.0}\n"
    )
    node = rig(
        None, "--ros-args", "--params-file", str(file), "-r", "__ns:=/yard", "-r",
        "/control/command:=drive", "-p", "initial_y:=1e0",
    )  # fmt: skip
    node.publish("/yard/drive", CONTROL(velocity=0.5))
    node.tick(50)
    assert node.last("/clock").clock == (1, 0)
    assert node.last(STATE).pose.position.y == 1.0
    assert node.last(STATE).pose.position.x > 4.3
    np.testing.assert_allclose(node.last(STATE).gyro_angular_velocity, 0.5, atol=1e-12)
    assert "/yard/simulator/set_pose" in node.exchange.services
    assert not node.node.parameters.undeclared()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("update_period", 0.0), ("update_period", -1.0), ("qos", 7), ("integration_step", 0.0),
        ("sensor_noise.gyro.variance", -0.1), ("map_config", "nowhere.geojson"),
        ("model_config", "nowhere.yaml"), ("initial_x", nan), ("initial_yaw", "north"),
    ],
)  # fmt: skip
def test_parameters_that_cannot_be_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidValue):
        rig({name: value})


def test_a_variance_is_a_variance() -> None:
    """Upstream takes it for a standard deviation."""
    parameters = {f"sensor_noise.accel.{k}": v for k, v in (("enable", True), ("variance", 0.04))}
    for compat, std in ((None, 0.2), ("upstream", 0.04)):
        node = rig(parameters, compat=compat)
        node.publish(COMMAND, CONTROL(curvature=0.5))
        node.tick(500)
        felt = np.array([m.linear_acceleration for m in node.all(IMU)[-500:]])
        assert felt.std(axis=0) == pytest.approx(std, rel=0.1)
        assert node.program.engine._noise._noise.accel == Noise(0.0, std)
        assert node.program.engine._noise._noise.lidar == Noise()


def test_the_parameter_qos_chooses_the_reliability() -> None:
    """Who asks for reliable messages gets none of best effort."""
    for value, readers in ((0, 1), (1, 1), (2, 0)):
        node = rig({"qos": value})
        heard: list[bytes] = []
        type_ = message_type("truck_msgs/msg/SimulationState")
        node._other.subscribe(STATE, type_, truck.Qos(), heard.append)
        node.tick()
        assert len(heard) == readers


def test_in_lock_step_the_same_commands_give_the_same_bits() -> None:
    """One tick for every good command, none for a bad one, and one for a step."""
    noisy = {f"sensor_noise.lidar.{k}": v for k, v in (("enable", True), ("variance", 0.01))}

    def run() -> Rig:
        node = rig(noisy, lock_step=True)
        rng = np.random.default_rng(3)
        for v, kappa in rng.uniform(-1.0, 1.0, (50, 2)):
            node.publish(COMMAND, CONTROL(velocity=v, curvature=kappa))
        node.publish(COMMAND, CONTROL(velocity=nan))
        node.call("/simulator/step")
        return node

    one, two = run(), run()
    assert one.loop.ticks == 51
    assert one.heard == two.heard
    assert len(one.heard[SCAN]) == 52


def test_paused_it_stands_still_until_it_is_told_to_go_on() -> None:
    node = rig()
    assert node.call("/simulator/pause", data=True).success
    node.loop.turn()
    assert node.loop.ticks == 0
    assert node.call("/simulator/step").success
    assert node.loop.ticks == 1
    assert node.last("/clock").clock == (0, 10_000_000)
