"""Any vehicle as a node: its records as messages, and what its body tells everybody."""

from __future__ import annotations

import math
import re
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from ros2.desk import Desk, built, request
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.ros2.nodes.common import (
    PARTS,
    declared,
    field_names,
    interface,
    record_class,
    write_package,
)
from skidpad.ros2.nodes.vehicle import SingleVehicle
from skidpad.sensors.motion import motion_of

CARS = [*sp.vehicles.names(), "DELAY_STEER_ACC_GEARED"]
RUN = (
    "ackermann_truck", "brains2", "commonroad_ks", "commonroad_st", "double_integrator",
    "DELAY_STEER_ACC_GEARED",
)  # fmt: skip
"""Of each kind of input one or two: speeds, torques, accelerations, steering rates, gears."""
POSE = "geometry_msgs/msg/PoseWithCovarianceStamped"
LEGAL = re.compile(r"(?!.*__)(?!.*_$)[a-z][a-z0-9_]*")
"""What ROS 2 takes for the name of a field."""


def desk(name: str = "four_wheel", *words: str, lock_step: bool = False) -> Desk:
    return Desk(lambda node: SingleVehicle(node, name), words, name, lock_step=lock_step)


def simulator(name: str) -> sp.Simulator[Any, Any]:
    """As the node makes it: ticks of 10 ms in steps of 1 ms, where the model leaves the choice."""
    vehicle = sp.vehicles.get(name)().with_clipped_inputs()
    return sp.Simulator(vehicle, 0.01, substeps=10 if vehicle.model.continuous else None)


def twist(v: float, omega: float = 0.0) -> Any:
    return built("geometry_msgs/msg/Twist", linear__x=v, angular__z=omega)


def drive(speed: float, steer: float = 0.0, acceleration: float = 0.0) -> Any:
    return built(
        "ackermann_msgs/msg/AckermannDriveStamped",
        drive__speed=speed,
        drive__steering_angle=steer,
        drive__acceleration=acceleration,
    )


def test_a_parameter_in_another_unit_is_logged(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        desk("two_track", "-p", "params.z_cg:=280.0")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("[WARN]")
    assert "two_track: z_cg = 280 m is implausible" in line
    assert line.endswith("did you mean 0.28 m (280 mm)?")


@pytest.mark.parametrize("name", CARS)
def test_types_made_from_records_are_legal_in_ros(name: str) -> None:
    vehicle = sp.vehicles.get(name)()
    for part in PARTS:
        Record = record_class(vehicle, part)
        if not record.size(Record):
            continue
        type_ = declared(vehicle, part)
        package, kind, base = type_.name.split("/")
        assert (package, kind) == ("skidpad_msgs", "msg")
        assert re.fullmatch(r"[A-Z][A-Za-z0-9]*", base)
        assert all(LEGAL.fullmatch(field) for field in field_names(Record))
        assert [f.name for f in type_.fields] == ["header", *field_names(Record)]
        # What a message is made of in ROS if nothing is said is what the model takes for it.
        default = type_.Record()
        for field, leaf in zip(field_names(Record), record.fields(Record), strict=True):
            assert getattr(default, field) == (leaf.default or 0.0)


def test_interface_files_are_read_the_same_by_others() -> None:
    """rosbags parses the text and hashes the type on its own."""
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    for name in CARS:
        vehicle = sp.vehicles.get(name)()
        ours = declared(vehicle, "State")
        store.register(typesys.get_types_from_msg(interface(vehicle.State), ours.name))
        assert store.hash_rihs01(ours.name) == ours.hash


def test_a_package_for_ros_holds_all_that_is_published(tmp_path: Path) -> None:
    cars = [sp.vehicles.get(name)() for name in ("four_wheel", "commonroad_ks")]
    files = write_package(tmp_path, cars)
    root = tmp_path / "skidpad_msgs"
    assert {f.relative_to(root).as_posix() for f in files} == {
        "package.xml",
        "CMakeLists.txt",
        *(f"msg/{c}{p}.msg" for c in ("FourWheel", "CommonroadKs") for p in PARTS),
    }
    build = (root / "CMakeLists.txt").read_text()
    assert all(f'"{f.relative_to(root).as_posix()}"' in build for f in files if f.suffix == ".msg")
    text = (root / "msg" / "FourWheelInput.msg").read_text()
    assert text.startswith("std_msgs/Header header\n# rad: ")
    assert "float64 tau_fl" in text
    assert write_package(tmp_path, cars) == files, "again"


@pytest.mark.parametrize("name", RUN)
def test_inputs_go_in_and_states_come_out_as_the_simulator_has_them(name: str) -> None:
    d = desk(name)
    own = simulator(name)
    state, odom, imu = d.hear(f"/{name}/state"), d.hear("/odom"), None
    outputs = d.hear(f"/{name}/outputs")
    frames = d.hear("/tf")
    if own.vehicle.model.continuous:
        imu = d.hear("/imu")
    names = field_names(own.vehicle.Input)
    middle = [leaf.default or 0.0 for leaf in record.fields(own.vehicle.Input)]
    for k in range(20):
        row = [m if m else 0.01 * (k + j) for j, m in enumerate(middle)]
        fields: dict[str, Any] = dict(zip(names, row, strict=True))
        d.say(f"/{name}/input", **fields)
        d.ticks(1)
        x = own.step(row)
        got = state[-1]
        assert [getattr(got, f) for f in field_names(own.vehicle.State)] == [*record.flatten(x)]
        assert [*outputs[-1][1:]] == [*record.flatten(own.outputs())]
        motion = motion_of(own.vehicle, x, own.input)
        place, moving = odom[-1].pose.pose, odom[-1].twist.twist
        assert (place.position.x, place.position.y) == (motion.x, motion.y)
        heading = 2.0 * math.atan2(place.orientation.z, place.orientation.w)
        assert heading == pytest.approx(motion.yaw, abs=1e-12)
        assert (moving.linear.x, moving.linear.y) == (motion.v_x, motion.v_y)
        assert moving.angular.z == motion.omega
        moved = frames[-1].transforms[0].transform
        assert moved.translation[:2] == (motion.x, motion.y)
        if imu is not None:
            force = imu[-1].linear_acceleration
            assert tuple(force) == (motion.a_x, motion.a_y, 9.81)
            assert imu[-1].angular_velocity.z == motion.omega
    assert (odom[-1].header.frame_id, odom[-1].child_frame_id) == ("odom", "base_link")


@pytest.mark.slow_cases("brains2", "commonroad_ks", "commonroad_st")
@pytest.mark.parametrize("name", ["four_wheel", *(c for c in RUN if c != "double_integrator")])
def test_it_goes_as_fast_and_turns_as_much_as_asked(name: str) -> None:
    """Both kinds of commands, whatever the vehicle itself takes for input."""
    start = ["-p", "command_timeout:=0.0"]
    d, can = desk(name, *start), sp.vehicles.get(name)().limits
    v = min(2.0, 0.8 * can.v_max)
    odom = d.hear("/odom")
    d.say("/cmd_vel", twist(v, 0.1 * v))
    d.ticks(800)
    moving = odom[-1].twist.twist
    assert math.hypot(moving.linear.x, moving.linear.y) == pytest.approx(v, rel=0.03)
    assert max(m.twist.twist.linear.x for m in odom) < 1.03 * v, "no further than asked"
    assert moving.angular.z == pytest.approx(0.1 * v, rel=0.08)
    d.say("/drive", drive(0.5 * v, -0.1))
    d.ticks(800)
    moving = odom[-1].twist.twist
    base = sp.vehicles.get(name)().geometry.wheel_base
    assert moving.linear.x == pytest.approx(0.5 * v, rel=0.03)
    assert moving.angular.z == pytest.approx(-0.5 * v * math.tan(0.1) / base, rel=0.15)
    d.say("/cmd_vel", twist(0.0))
    d.ticks(800)
    assert abs(odom[-1].twist.twist.linear.x) < 0.05
    if name == "brains2":
        return  # torques of its model do not drive it backwards
    for v in (-0.5, 0.5):  # back, and through rest forwards again
        d.say("/cmd_vel", twist(v, 0.05))
        d.ticks(600)
        moving = odom[-1].twist.twist
        assert moving.linear.x == pytest.approx(v, rel=0.03)
        assert moving.angular.z == pytest.approx(0.05, rel=0.15)
    assert not d.loop.paused


def test_a_drive_message_limits_the_acceleration() -> None:
    d = desk("commonroad_ks", "-p", "command_timeout:=0.0")
    d.say("/drive", drive(10.0, acceleration=0.5))
    d.ticks(100)
    assert d.program.simulator.state.v == pytest.approx(0.5, rel=0.02)


def test_commands_that_grow_old_stop_the_vehicle(capsys: pytest.CaptureFixture[str]) -> None:
    d = desk("commonroad_ks", "-p", "command_timeout:=0.5")
    d.say("/drive", drive(3.0))
    d.ticks(50)
    assert not capsys.readouterr().err
    assert d.program.simulator.state.v > 1.0
    d.ticks(500)
    assert abs(d.program.simulator.state.v) < 0.01
    assert capsys.readouterr().err.count("no command for") == 1
    d.say("/commonroad_ks/input", a=1.0)
    d.ticks(20)
    assert d.program.simulator.state.v > 0.1, "the next one counts again"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_bad_commands_are_refused_and_change_nothing(
    bad: float, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["-p", "field_topics:=true"]
    d, twin = desk("four_wheel", *words), desk("four_wheel", *words)
    for each in (d, twin):
        each.say("/cmd_vel", twist(2.0, 0.2))
        each.ticks(30)
    for topic, message in (
        ("/cmd_vel", twist(bad)),
        ("/cmd_vel", twist(0.0, bad)),
        ("/drive", drive(bad)),
        ("/drive", drive(1.0, bad)),
        ("/drive", drive(1.0, 0.0, bad)),
        ("/initialpose", built(POSE, pose__pose__position__x=bad)),
    ):
        d.say(topic, message)
    d.say("/four_wheel/input", steer=bad)
    d.say("/four_wheel/input/steer", data=bad)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 8
    assert all("[ERROR]" in line and "finite" in line for line in lines)
    for each in (d, twin):
        each.ticks(30)
    assert d.program.simulator.state == twin.program.simulator.state


def test_an_angle_beyond_the_actuator_stops_at_its_end() -> None:
    d = desk("four_wheel")
    d.say("/four_wheel/input", steer=50.0)
    d.ticks(200)
    assert not d.loop.paused
    assert abs(d.program.simulator.state.steer) <= d.program.vehicle.limits.steer_max * 1.001


def test_every_number_may_have_a_topic_of_its_own() -> None:
    d = desk("four_wheel", "-p", "field_topics:=true")
    v = d.hear("/four_wheel/state/v_x")
    d.say("/four_wheel/input/tau_rl", data=30.0)
    d.say("/four_wheel/input/tau_rr", data=30.0)
    d.ticks(50)
    own = simulator("four_wheel")
    for _ in range(50):
        own.step(tau_rl=30.0, tau_rr=30.0)
    assert v[-1].data == own.state.v_x > 0.1
    assert "/four_wheel/outputs/f_y_fl" in d.exchange.types
    assert "/four_wheel/state/v_x" not in desk("four_wheel").exchange.types


def test_parameters_and_starts_come_from_files(tmp_path: Path) -> None:
    file = tmp_path / "car.yaml"
    file.write_text(
        "/**:\n  ros__parameters:\n    period: 0.002\n    params: {m: 300.0, C_drag: 1.1}\n"
        "    initial: {x: 4.0, yaw: 0.5, v_x: 3}\n    odom_frame_id: map\n"
    )
    d = desk("formula_student", "--params-file", str(file), "-r", "odom:=/ego_racecar/odom",
             "-r", "__ns:=/car")  # fmt: skip
    program = d.program
    assert (program.vehicle.params.m, program.period) == (300.0, 0.002)
    assert "/car/formula_student/state" in d.exchange.types
    odom = d.hear("/ego_racecar/odom")
    d.ticks(1)
    own = sp.Simulator(sp.vehicles.formula_student(m=300.0, C_drag=1.1), 0.002, substeps=2)
    own.reset(x=4.0, yaw=0.5, v_x=3.0)
    assert program.simulator.state == own.step()
    assert odom[-1].header.frame_id == "map"
    for name, value in (("params.m", -1.0), ("initial.v_x", math.inf), ("period", -1.0)):
        with pytest.raises(InvalidValue, match=name.rpartition(".")[2]):
            desk("formula_student", "-p", f"{name}:={str(value).replace('inf', '.inf')}")


def test_it_is_put_elsewhere_reset_paused_and_stepped() -> None:
    d = desk("commonroad_st", "-p", "initial.x:=1.0")
    d.say("/cmd_vel", twist(3.0))
    d.ticks(60)
    pose = built(
        POSE,
        header__frame_id="odom",
        pose__pose__position__x=7.0,
        pose__pose__position__y=-2.0,
        pose__pose__orientation__z=1.0,
        pose__pose__orientation__w=1.0,
    )
    d.ask("/commonroad_st/set_pose", **request("nav2_msgs/srv/SetInitialPose", pose=pose))
    x = d.program.simulator.state
    assert (x.x, x.y, x.yaw) == pytest.approx((7.0, -2.0, 0.5 * math.pi))
    assert d.ask("/commonroad_st/reset").success
    assert d.program.simulator.state.x == 1.0
    assert d.ask("/commonroad_st/pause", data=True).success
    assert d.ask("/commonroad_st/step").success
    assert d.program.simulator.time == pytest.approx(0.01)
    d.say("/initialpose", pose)
    assert d.program.simulator.state.x == 7.0


def test_wheels_turn_as_the_vehicle_goes() -> None:
    words = ["-p", "publish_joint_states:=true", "-p", "command_timeout:=0.0"]
    d = desk("commonroad_ks", *words)
    heard = d.hear("/joint_states")
    d.say("/drive", drive(2.0))
    d.ticks(500)
    last, radius = heard[-1], d.program.vehicle.geometry.wheels[0].radius
    assert list(last.name) == [
        "fl_steer", "fr_steer", "fl_wheel", "fr_wheel", "rl_wheel", "rr_wheel",
    ]  # fmt: skip
    assert last.velocity[-1] == pytest.approx(2.0 / radius, rel=1e-3)
    gone = d.program.simulator.state.x
    assert last.position[-1] == pytest.approx(gone / radius, rel=0.02)
    d.say("/drive", drive(2.0, 0.2))
    d.ticks(300)
    inner, outer = heard[-1].velocity[4], heard[-1].velocity[5]
    assert inner < outer, "turning left, the left wheel rolls slower"


def test_lock_step_gives_the_same_bits_and_takes_any_command() -> None:
    def run() -> dict[str, list[bytes]]:
        d = desk("four_wheel", lock_step=True)
        heard = d.hear_all()
        rng = np.random.default_rng(3)
        for k in range(60):
            if k % 3 == 0:
                d.say("/cmd_vel", twist(*rng.uniform(0.0, 2.0, 2)), handle=False)
            elif k % 3 == 1:
                d.say("/drive", drive(*rng.uniform(0.0, 0.3, 2)), handle=False)
            else:
                d.say("/four_wheel/input", tau_rl=float(rng.uniform(0.0, 20.0)), handle=False)
        d.loop.turn()
        assert d.loop.ticks == 60
        return heard

    assert run() == run()


def test_a_vehicle_that_diverges_pauses_and_a_reset_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    d = desk("commonroad_ks", "-p", "initial.v:=1.0")
    step = d.program.simulator.step

    def diverge(*_: Any) -> None:
        raise sp.SimulationDiverged("the state became NaN", time=0.0, last_state=None)

    d.program.simulator.step = diverge
    d.ticks(1)
    assert d.loop.paused
    assert "paused until /commonroad_ks/reset is called" in capsys.readouterr().err
    d.program.simulator.step = step
    assert d.ask("/commonroad_ks/reset").success
    d.ticks(1)
    assert not d.loop.paused


@pytest.mark.parametrize("lock_step", [False, True])
def test_messages_of_a_tick_have_one_stamp_and_lock_step_begins_with_the_period(
    lock_step: bool,
) -> None:
    """Simulated time: nothing is told before the first tick, whose stamp is one period."""
    one = desk("kinematic_bicycle", lock_step=lock_step)
    topics = ("/odom", "/imu", "/kinematic_bicycle/state")
    heard = {topic: one.hear(topic) for topic in topics}
    one.loop.turn()
    assert lock_step is False or not any(heard.values())
    for messages in heard.values():
        messages.clear()
    before = one.node.clock.now()
    one.ask("/kinematic_bicycle/step") if lock_step else one.ticks(1)
    stamps = {messages[0].header.stamp for messages in heard.values()}
    assert stamps == {(0, before + 10_000_000)}
    if lock_step:
        assert stamps == {(0, 10_000_000)}


def test_stamps_are_the_machines_time_of_the_tick() -> None:
    one = Desk(lambda node: SingleVehicle(node, "kinematic_bicycle"), (), "car", wall=True)
    heard = one.hear("/odom")
    for _ in range(3):
        before = time.time_ns()
        one.ticks(1)
        after = time.time_ns()
        stamp = heard[-1].header.stamp
        assert before <= stamp.sec * 10**9 + stamp.nanosec <= after
