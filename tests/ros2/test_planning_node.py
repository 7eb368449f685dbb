"""Autoware's planning simulator as a node: what goes in comes out as its own object makes it."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from ros2.desk import Desk, built, request
from ros2.planning_desk import CONTROL, DATA, GEAR, PARAMETERS, control, desk, pose
from skidpad.compat.autoware.reports import ControlCommand, Quaternion, yaw_of
from skidpad.ros2.node import SECOND
from skidpad.ros2.nodes.common import Broadcaster, Rigid, send_static
from skidpad.vehicles.registry import COMMAND_DRIVEN


def test_before_a_pose_only_the_control_mode_is_published() -> None:
    d = desk()
    heard = d.hear_all()
    d.ticks(3)
    assert {topic for topic, data in heard.items() if data} == {
        "/output/control_mode_report", "/clock",
    }  # fmt: skip


def test_what_is_published_is_what_the_simulator_reports() -> None:
    d = desk(parameters={"add_measurement_noise": True, "enable_pub_steer": True})
    own = sp.PlanningSimulator(None, {**PARAMETERS, "add_measurement_noise": True}, seed=7)
    topics = ("odometry", "pose", "twist", "acceleration", "imu", "steering", "gear_report")
    heard = {name: d.hear(f"/output/{name}") for name in topics}
    frames = d.hear("/tf")
    d.say("/input/initialpose", pose(3.0, -2.0, 0.4, z=1.5))
    own.initial_pose(
        x=3.0, y=-2.0, yaw=yaw_of(Quaternion(0, 0, math.sin(0.2), math.cos(0.2))), z=1.5
    )
    d.say(GEAR, command=2)
    own.gear("DRIVE")
    at: Any = None
    points = [built("autoware_planning_msgs/msg/TrajectoryPoint", pose__position__z=2.5)]
    for k in range(60):
        command = ControlCommand(0.0, 1.0 + 0.01 * k, 0.1 * math.sin(0.1 * k))
        d.say(CONTROL, control(*command))
        own.command(command)
        if k == 30:
            d.say("/input/trajectory", points=points)
            own.trajectory([(0.0, 0.0, 2.5)])
        d.ticks(1)
        reports: Any = own.tick_at(round(k * own.period * SECOND))
        odometry = heard["odometry"][-1]
        at = odometry.pose.pose.position
        turn = odometry.pose.pose.orientation
        assert ((at.x, at.y, at.z), tuple(turn)) == (
            reports.odometry.pose[:3], tuple(reports.odometry.pose.orientation),
        )  # fmt: skip
        assert odometry.twist.twist.linear.x == reports.odometry.v_x
        assert odometry.twist.twist.angular.z == reports.odometry.omega
        assert [*odometry.pose.covariance] == [*reports.odometry.pose_covariance]
        assert (odometry.header.frame_id, odometry.child_frame_id) == ("map", "base_link")
        stamp = odometry.header.stamp
        assert stamp.sec * SECOND + stamp.nanosec == d.node.clock.now()
        assert heard["pose"][-1].pose.pose == odometry.pose.pose
        assert [*heard["pose"][-1].pose.covariance] == [*reports.pose.covariance]
        assert heard["twist"][-1][1:] == reports.velocity[2:]
        accel = heard["acceleration"][-1]
        assert accel.header.frame_id == "/base_link"
        assert accel.accel.accel.linear[:2] == reports.acceleration[2:4]
        assert [*accel.accel.covariance] == [*reports.acceleration.covariance]
        imu = heard["imu"][-1]
        assert (imu.header.frame_id, tuple(imu.orientation)) == ("base_link", tuple(turn))
        assert imu.angular_velocity.z == reports.imu.omega
        assert imu.linear_acceleration[:2] == (reports.imu.a_x, reports.imu.a_y)
        assert heard["steering"][-1].steering_tire_angle == reports.steering.steer
        assert heard["gear_report"][-1].report == 2
        moved = frames[-1].transforms[0]
        assert (moved.header.frame_id, moved.child_frame_id) == ("map", "base_link")
        assert tuple(moved.transform.translation) == tuple(at)
        assert tuple(moved.transform.rotation) == tuple(turn)
    assert at.z == 2.5
    assert all(len(messages) == 60 for messages in heard.values())


COMPILED = [name for name in COMMAND_DRIVEN if name != "LEARNED_STEER_VEL"]


@pytest.mark.parametrize("name", COMPILED)
def test_the_node_repeats_recordings_of_the_program(name: str) -> None:
    """Commands, gears and starts go in as messages, the motion comes out as messages."""
    with np.load(DATA / f"{name}__s06_gear_sequence.npz") as file:
        meta = json.loads(str(file["meta"]))
        steps = [file[key].tolist() for key in ("dt", "gear", "cmd")]
        expected = file["out"][1:]
    maps = {k: str(DATA / "maps" / v) for k, v in meta["params"].items() if k.endswith("_map_path")}
    parameters: dict[str, Any] = {**meta["params"], **maps, "vehicle_model_type": name}
    parameters["wheel_base"] = parameters.pop("wheelbase", parameters.get("wheel_base"))
    parameters["timer_sampling_time_ms"] = round(1000 * parameters.pop("queue_dt", 0.025))
    switches = [name for name in parameters if name.startswith("convert_")]
    parameters |= {name: bool(parameters[name]) for name in switches}
    d = desk(parameters=parameters, compat="upstream", convert=False)
    odometry, accel = d.hear("/output/odometry"), d.hear("/output/acceleration")
    x, y, yaw, *rest = meta["initial_state"]
    d.say("/input/initialpose", pose(x, y, yaw))
    twist = built("geometry_msgs/msg/TwistStamped", twist__linear__x=rest[0] if rest else 0.0)
    d.say("/input/initialtwist", twist)
    # The program's first tick advances by 0 s; the recordings begin after it.
    d.say("/input/engage", engage=False)
    d.program.tick()
    d.say("/input/engage", engage=True)
    found: list[tuple[float, ...]] = []
    for dt, gear, row in zip(*steps, strict=True):
        if "ACTUATION" in name:
            kind = "tier4_vehicle_msgs/msg/ActuationCommandStamped"
            fields = ("actuation__accel_cmd", "actuation__brake_cmd", "actuation__steer_cmd")
            told = built(kind, **dict(zip(fields, row[:3], strict=True)))
            d.say("/input/actuation_command", told)
        else:
            d.say(CONTROL, control(*row[:3]))
        d.say(GEAR, command=int(gear))
        d.node.clock.advance(dt)
        d.program.tick()
        at, motion = odometry[-1].pose.pose, odometry[-1].twist.twist
        heading = yaw_of(Quaternion(*at.orientation))
        a_x = accel[-1].accel.accel.linear.x
        found.append(
            (at.position.x, at.position.y, heading, motion.linear.x, a_x, motion.angular.z)
        )
    got, wanted = np.array(found), expected[:, [0, 1, 2, 3, 5, 6]].copy()
    got[:, 2] = np.unwrap(got[:, 2])
    got[:, 2] += math.tau * np.round((wanted[0, 2] - got[0, 2]) / math.tau)
    scale = np.abs(wanted).max(axis=0).clip(min=1e-3)
    assert (np.abs(got - wanted).max(axis=0) <= 1e-9 * scale).all()


def test_lights_gears_and_modes() -> None:
    d = desk(parameters={"initialize_source": "ORIGIN"})
    turn, hazard = d.hear("/output/turn_indicators_report"), d.hear("/output/hazard_lights_report")
    mode, gear = d.hear("/output/control_mode_report"), d.hear("/output/gear_report")
    d.ticks(1)
    assert not turn
    assert not hazard
    assert (mode[-1].mode, gear[-1].report) == (1, 0)
    d.say("/input/turn_indicators_command", command=3)
    d.say("/input/hazard_lights_command", command=2)
    d.say(GEAR, command=20)
    d.ticks(1)
    assert (turn[-1].report, hazard[-1].report, gear[-1].report) == (3, 2, 20)
    assert d.ask("/input/control_mode_request", mode=4).success
    d.ticks(1)
    assert (mode[-1].mode, gear[-1].report) == (4, 22), "manual gear is PARK until one is told"
    d.say("/input/manual_gear_command", command=2)
    d.say("/input/manual_ackermann_control_command", control(a=1.0))
    d.ticks(40)
    assert gear[-1].report == 2
    assert d.program.simulator.motion.v_x > 0.5
    assert not d.ask("/input/control_mode_request", mode=2).success
    assert d.program.simulator.control_mode == 4


def test_engage_holds_and_lets_go() -> None:
    d = desk(parameters={"initialize_source": "ORIGIN", "initial_engage_state": False})
    d.say(GEAR, command=2)
    d.say(CONTROL, control(a=1.0))
    d.ticks(20)
    assert d.program.simulator.motion.v_x == 0.0
    d.say("/input/engage", engage=True)
    d.ticks(20)
    # No jump over the time that it was held: at most 20 periods of 1 m/s² since then.
    assert 0.0 < d.program.simulator.motion.v_x <= 20 * 0.025


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_bad_commands_are_refused_with_a_line(
    value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    d = desk(parameters={"initialize_source": "ORIGIN"})
    d.say(GEAR, command=2)
    d.say(CONTROL, control(a=1.0))
    d.ticks(30)
    twin = desk(parameters={"initialize_source": "ORIGIN"})
    twin.say(GEAR, command=2)
    twin.say(CONTROL, control(a=1.0))
    twin.ticks(30)
    d.say(CONTROL, control(a=value))
    d.say(CONTROL, control(steer=value))
    d.say(GEAR, command=200)
    d.say("/input/initialpose", pose(value, 0.0))
    d.say("/input/initialpose", pose(0.0, value, frame="elsewhere"))
    broken = built("geometry_msgs/msg/PoseWithCovarianceStamped", pose__pose__orientation__x=value)
    d.say("/input/initialpose", broken)
    d.say("/input/turn_indicators_command", command=9)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 7
    assert all("[ERROR]" in line for line in lines)
    assert "ControlCommand.acceleration" in lines[0]
    d.ticks(5)
    twin.ticks(5)
    assert d.program.simulator.motion == twin.program.simulator.motion


def test_a_pose_in_another_frame_waits_for_its_transform(
    capsys: pytest.CaptureFixture[str],
) -> None:
    d = desk()
    d.say("/input/initialpose", pose(1.0, 2.0, 0.3, frame="viewer", z=0.5))
    assert "initialpose waits for a transform from viewer to map" in capsys.readouterr().err
    d.ticks(2)
    assert not d.program.simulator.initialised
    send_static(d.node, [("map", "hall", Rigid((10.0, 0.0, 1.0)))])
    frames = Broadcaster(d.node, [("hall", "viewer")])
    frames.send((0, 0), Rigid((0.0, 5.0, 0.0)))
    d.node.handle()
    d.ticks(1)
    motion = d.program.simulator.motion
    assert (motion.x, motion.y) == (11.0, 7.0)
    assert motion.yaw == pytest.approx(0.3, abs=1e-15)
    odometry = d.hear("/output/odometry")
    d.ticks(1)
    assert odometry[-1].pose.pose.position.z == 1.5
    # The rotation is left out, as upstream does, and that is said.
    frames.send((0, 0), Rigid.planar(0.0, 5.0, 1.0))
    d.node.handle()
    d.say("/input/initialpose", pose(1.0, 2.0, 0.3, frame="viewer"))
    assert d.program.simulator.motion[:3] == motion[:3]
    assert "frame viewer is turned in map" in capsys.readouterr().err


def test_services_put_the_vehicle_somewhere_else() -> None:
    d = desk()
    kind = "tier4_external_api_msgs/srv/InitializePose"
    d.say("/input/initialpose", pose(0.0, 0.0, z=4.0))
    answer = d.ask("/api/simulator/set/pose", **request(kind, pose=pose(5.0, 6.0, 0.7, z=9.0)))
    assert answer.status.code == 1
    heard = d.hear("/output/odometry")
    d.ticks(1)
    assert heard[-1].pose.pose.position == (5.0, 6.0, 4.0), "upstream keeps the height"
    waiting = d.ask("/api/simulator/set/pose", **request(kind, pose=pose(1.0, 1.0, frame="x")))
    assert (waiting.status.code, waiting.status.message) == (3, "waits for a transform from x")
    bad = d.ask("/api/simulator/set/pose", **request(kind, pose=pose(math.nan, 1.0)))
    assert bad.status.code == 4
    assert "must be finite" in bad.status.message
    d.ask("/sim/set_pose", **request("nav2_msgs/srv/SetInitialPose", pose=pose(7.0, 8.0, z=2.0)))
    d.ticks(1)
    assert heard[-1].pose.pose.position == (7.0, 8.0, 2.0)


def test_a_twist_needs_a_pose_before(capsys: pytest.CaptureFixture[str]) -> None:
    d = desk()
    twist = built("geometry_msgs/msg/TwistStamped", twist__linear__x=3.0)
    d.say("/input/initialtwist", twist)
    assert (
        "/input/initialtwist is ignored: there was no initial pose before"
        in capsys.readouterr().err
    )
    d.say("/input/initialpose", pose(1.0, 0.0))
    d.say("/input/initialtwist", twist)
    assert d.program.simulator.motion.v_x == 3.0


def test_a_reset_begins_anew_where_the_vehicle_was_put() -> None:
    def drive(d: Desk) -> dict[str, list[bytes]]:
        start = len(heard["/output/odometry"])
        d.say(GEAR, command=2)
        d.say(CONTROL, control(a=1.0, steer=0.1))
        d.ticks(40)
        return {topic: data[start:] for topic, data in heard.items() if topic.startswith("/output")}

    d = desk(parameters={"add_measurement_noise": True})
    heard = d.hear_all()
    d.say("/input/initialpose", pose(2.0, 1.0, 0.5))
    begin = d.node.clock.now()
    first = drive(d)
    assert d.ask("/sim/reset").success
    assert d.program.simulator.motion[:2] == (2.0, 1.0)
    d.node.clock.set(begin)
    assert drive(d) == first


def test_a_pause_is_no_time_and_a_step_is_a_period() -> None:
    d = desk(parameters={"initialize_source": "ORIGIN", "vehicle_model_type": "IDEAL_STEER_ACC"})
    motion = d.program.simulator
    d.say(GEAR, command=2)
    d.say(CONTROL, control(a=1.0))
    d.ticks(11)
    v = motion.motion.v_x
    assert v == pytest.approx(10 * 0.025), "the first tick advances by 0 s"
    assert d.ask("/sim/pause", data=True).success
    d.node.clock.advance(100.0)
    assert d.ask("/sim/step").success
    assert motion.motion.v_x == pytest.approx(v + 0.025)
    d.node.clock.advance(100.0)
    assert d.ask("/sim/pause", data=False).success
    d.ticks(1)
    assert motion.motion.v_x == pytest.approx(v + 0.05)


def test_it_advances_by_the_clock_and_survives_one_that_goes_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    d = desk(parameters={"initialize_source": "ORIGIN", "vehicle_model_type": "IDEAL_STEER_ACC"})
    d.say(GEAR, command=2)
    d.say(CONTROL, control(a=1.0))
    d.node.clock.set(5 * SECOND)
    d.program.tick()
    for late in (0.03, 0.002, 0.0):
        d.node.clock.advance(late)
        d.program.tick()
    assert d.program.simulator.motion.v_x == pytest.approx(0.032)
    d.node.clock.set(2 * SECOND)
    d.program.tick()
    assert "the clock went back by 3.032 s" in capsys.readouterr().err
    d.node.clock.advance(0.01)
    d.program.tick()
    assert d.program.simulator.motion.v_x == pytest.approx(0.042)


def test_lock_step_gives_the_same_bits_however_commands_come() -> None:
    def run(handle_each: bool) -> dict[str, list[bytes]]:
        d = desk(lock_step=True, parameters={"add_measurement_noise": True})
        heard = d.hear_all()
        d.say("/input/initialpose", pose(0.0, 0.0))
        d.say(GEAR, command=2)
        for k in range(50):
            told = control(a=1.0, steer=0.01 * k)
            d.say(CONTROL, told, handle=False)
            if handle_each:
                d.loop.turn()
        d.loop.turn()
        assert d.loop.ticks == 50
        return heard

    assert run(handle_each=True) == run(handle_each=False)


def test_on_the_machines_clock_the_factor_multiplies_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_700_000_000 * SECOND]
    monkeypatch.setattr("skidpad.ros2.node.time.time_ns", lambda: now[0])
    ideal = {"initialize_source": "ORIGIN", "vehicle_model_type": "IDEAL_STEER_VEL"}
    d = desk("-p", "realtime_factor:=4.0", parameters=ideal, wall=True)
    odometry = d.hear("/output/odometry")
    d.say(CONTROL, control(v=2.0))
    d.ticks(1)
    for _ in range(10):
        now[0] += SECOND // 100
        d.ticks(1)
    assert d.program.simulator.motion.x == pytest.approx(2.0 * 4.0 * 0.1)
    stamp = odometry[-1].header.stamp
    assert stamp.sec * SECOND + stamp.nanosec == 1_700_000_000 * SECOND + 4 * SECOND // 10
