"""The node of the Formula Student car against its simulator and recordings of upstream."""

from __future__ import annotations

from math import inf, nan, pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from ros2.rig import Rig, pose_request
from skidpad.demo.shows import StartLine
from skidpad.errors import InvalidValue, SimulationDiverged
from skidpad.ros2.dds import Qos
from skidpad.ros2.messages import message_type
from skidpad.ros2.nodes import brains2
from skidpad.ros2.nodes.brains2 import LapClock, cone_track

DATA = Path(__file__).parents[1] / "data" / "brains2" / "sim_upstream.npz"
RUNS = sorted({key.partition("/")[0] for key in np.load(DATA).files})
CONTROLS = message_type("brains2/msg/Controls").Record
COMMAND = "/brains2/target_controls"
POSE, VELOCITY, ACCELERATION, ACTUATORS, VIZ, DIAGNOSTICS = (
    f"/brains2/{name}"
    for name in (
        "pose",
        "velocity",
        "acceleration",
        "current_controls",
        "viz/sim",
        "diagnostics/sim",
    )
)
CYLINDER, CUBE = 3, 1


def rig(
    parameters: dict[str, Any] | None = None, *words: str, compat: str | None = None, **how: Any
) -> Rig:
    return Rig(
        lambda node: brains2.Brains2(node, compat=compat), brains2.NAME, parameters, words, **how
    )


@pytest.fixture
def database(tmp_path: Path) -> str:
    """A folder with one track, whose start line is where upstream's tracks have it."""
    rows = [f"blue,{-1.5},{y}\nyellow,{1.5},{y}" for y in (10, 15, 20)]
    orange = [f"orange,{x},{y}" for y in (7.3, 4.7) for x in (2.2, -2.2)]
    (tmp_path / "alpha.csv").write_text("\n".join(["color,X,Y", *rows, *orange]))
    (tmp_path / "alpha_center_line.csv").write_text("s,X,Y,phi,kappa,w\n")
    return str(tmp_path)


def controls(steer: float, torques: Any) -> Any:
    fl, fr, rl, rr = torques
    return CONTROLS(delta=steer, tau_fl=fl, tau_fr=fr, tau_rl=rl, tau_rr=rr)


def told(node: Rig, k: int = -1) -> tuple[float, ...]:
    """The state in the messages of one tick, in its order."""
    pose, velocity, actuators = (node.all(topic)[k] for topic in (POSE, VELOCITY, ACTUATORS))
    return (*pose[1:4], *velocity[1:4], *actuators[1:])


def test_messages_are_what_the_simulator_says() -> None:
    """A drive to the limit, each message of each tick, to the bit."""
    node = rig()
    car = sp.Simulator(sp.vehicles.formula_student(), 0.01, substeps=10)
    car.reset(yaw=pi / 2)
    rng = np.random.default_rng(0)
    for k in range(300):
        steer, torques = rng.uniform(-0.3, 0.3), rng.uniform(-20.0, 120.0, 4)
        node.publish(COMMAND, controls(steer, torques))
        node.tick()
        brakes = np.maximum(-torques, 0.0)
        x = car.step([steer, *np.maximum(torques, 0.0), *brakes])
        out = car.outputs()
        assert told(node) == (*x[:7], *(np.array(x[7:11]) - brakes))
        assert node.last(ACCELERATION)[1:] == (out.a_x, out.a_y)
        (frame,) = node.last("/tf").transforms
        assert (frame.header.frame_id, frame.child_frame_id) == ("world", "car")
        assert (frame.transform.translation.x, frame.transform.translation.y) == (x.x, x.y)
        half = frame.transform.rotation
        assert half.w**2 - half.z**2 == pytest.approx(np.cos(x.yaw), abs=1e-12)
        assert node.last("/clock").clock == divmod((k + 1) * 10**7, 10**9)
    assert x.v_x > 5.0


@pytest.mark.slow_cases("random_overlimit", "slalom_zoh")
@pytest.mark.parametrize("run", RUNS)
def test_upstream_is_repeated(run: str) -> None:
    """Recorded runs of the program's `simulate`, through the node."""
    data = np.load(DATA)
    start, commands, states, published = (
        data[f"{run}/{name}"][first:last]
        for name, first, last in (
            ("x_upstream", 0, 1),
            ("u_cmd", 0, 300),
            ("x_upstream", 1, 301),
            ("a_upstream", 0, 300),
        )
    )
    node = rig(compat="upstream")
    node.program.simulator.reset(start[0])
    for row, x, a in zip(commands, states, published, strict=True):
        node.publish(COMMAND, controls(row[0], row[1:]))
        node.tick()
        np.testing.assert_allclose(told(node), x, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(node.last(ACCELERATION)[1:], a, rtol=1e-6, atol=1e-6)


def test_braking_does_not_drive_backwards() -> None:
    """Torques below 0 are those of brakes: they stop the car and hold it."""
    node = rig()
    node.publish(COMMAND, controls(0.0, [50.0] * 4))
    node.tick(100)
    node.publish(COMMAND, controls(0.0, [-100.0] * 4))
    node.tick(300)
    assert abs(node.last(VELOCITY).v_x) < 1e-6
    assert node.last(ACTUATORS).tau_fl == pytest.approx(-100.0)


def test_a_lap_takes_as_long_as_a_turn(database: str, capsys: Any) -> None:
    """On a circle through the start line: the time of a lap is a whole turn over the yaw rate."""
    node = rig({"track_database": database, "freq": 25.0})
    for torque, ticks in ((40.0, 70), (6.0, 1050)):
        node.publish(COMMAND, controls(0.15, [torque] * 4))
        node.tick(ticks)
    last = node.all(VELOCITY)[-125:]
    rates = [v.omega for v in last]
    assert max(rates) - min(rates) < 1e-3
    values = {pair.key: pair.value for pair in node.last(DIAGNOSTICS).status[0].values}
    assert float(values["last lap time (s)"]) == pytest.approx(2.0 * pi / rates[-1], rel=2e-3)
    assert 0.0 < float(values["best lap time (s)"]) <= float(values["last lap time (s)"])
    assert values["track name"] == "alpha"
    assert float(values["sim runtime (ms)"]) > 0.0
    assert "lap completed in" in capsys.readouterr().err


def test_laps_by_hand() -> None:
    """At 10 m/s over a line between two ticks, thrice; then beside it and backwards."""
    clock = LapClock(StartLine(0.0, 5.0, pi / 2, 2.0))
    clock.restart(0.0, 0.0, 0.0)
    assert not clock.add(1.0, 0.0, 10.0)  # over the line at 0.5 s: the clock starts
    assert not clock.add(2.0, 30.0, 10.0)
    assert not clock.add(3.0, 30.0, 0.0)  # beside it, and backwards
    assert not clock.add(4.0, 0.0, 0.0)
    assert clock.add(5.0, 0.0, 20.0)  # at 4.25 s
    assert (clock.last, clock.best) == (pytest.approx(3.75), pytest.approx(3.75))
    assert not clock.add(6.0, 30.0, 20.0)
    assert not clock.add(7.0, 30.0, 0.0)
    assert not clock.add(8.0, 0.0, 0.0)
    assert clock.add(13.0, 0.0, 10.0)  # at 10.5 s
    assert (clock.last, clock.best) == (pytest.approx(6.25), pytest.approx(3.75))
    # A car that is put elsewhere has begun no lap; what it has done stays.
    clock.restart(13.0, 0.0, 0.0)
    assert not clock.add(14.0, 0.0, 10.0)
    assert (clock.last, clock.best) == (pytest.approx(6.25), pytest.approx(3.75))


def test_cones_are_where_the_file_has_them(database: str) -> None:
    node = rig({"track_database": database})
    node.tick()
    cones, car = node.all(VIZ)
    count = {"blue_cones": 3, "yellow_cones": 3, "orange_cones": 4}
    assert [m.ns for m in cones.markers] == [ns for ns, k in count.items() for _ in range(k)]
    assert [m.id for m in cones.markers] == [k for n in count.values() for k in range(n)]
    assert all(m.header.frame_id == "world" and m.type == CYLINDER for m in cones.markers)
    assert all(m.action == 0 and m.color.a == 1.0 for m in cones.markers)
    blue, orange = cones.markers[0], cones.markers[6]
    assert blue.pose.position == (-1.5, 10.0, 0.325 / 2)
    assert tuple(blue.scale) == (0.228, 0.228, 0.325)
    assert orange.pose.position == (2.2, 7.3, 0.505 / 2)
    assert tuple(orange.scale) == (0.285, 0.285, 0.505)
    assert orange.color[:3] == (1.0, 0.5, 0.0)
    assert len(car.markers) == 5


def test_wheels_are_where_the_car_has_them_and_steer() -> None:
    node = rig()
    node.publish(COMMAND, controls(0.3, [0.0] * 4))
    node.tick(200)
    tub, *wheels = node.last(VIZ).markers
    assert (tub.ns, tub.type) == ("chassis", CUBE)
    places = [(w.pose.position.x, w.pose.position.y) for w in wheels]
    assert places == [(0.7853, 0.62), (0.7853, -0.62), (-0.7853, 0.62), (-0.7853, -0.62)]
    assert [(w.ns, w.id) for w in wheels] == [("tires", k) for k in (1, 2, 3, 4)]
    stamp = node.last(POSE).header.stamp
    assert all(m.header == (stamp, "car") for m in (tub, *wheels))
    for wheel, steer in zip(wheels, (0.3, 0.3, 0.0, 0.0), strict=True):
        assert wheel.pose.position.z == wheel.scale.x / 2 == wheel.scale.y / 2
        x, y, z, w = wheel.pose.orientation
        axis = (2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y))
        # The axle, to the right: the cylinder's z, turned with the wheel.
        np.testing.assert_allclose(axis, (np.sin(steer), -np.cos(steer), 0.0), atol=1e-5)


def test_cones_come_when_they_are_wanted() -> None:
    """Once a second, for a new listener at once, when the service is called; upstream's always."""

    def shown(node: Rig) -> int:
        return sum(message.markers[0].ns == "blue_cones" for message in node.all(VIZ))

    node = rig()
    node.tick(100)
    assert shown(node) == 1
    node.tick()
    assert shown(node) == 2
    node.exchange.readers[VIZ].append((Qos(), lambda data: None))
    node.tick()
    assert shown(node) == 3
    node.call("/brains2/publish_cones_markers")
    assert shown(node) == 4
    node.tick(50)
    assert shown(node) == 4
    always = rig(compat="upstream")
    always.tick(10)
    assert shown(always) == 10


@pytest.mark.parametrize("service", ["/brains2/reset", "/sim_node/reset"])
def test_a_reset_puts_the_car_at_the_start(service: str) -> None:
    node = rig()
    node.publish(COMMAND, controls(0.1, [80.0] * 4))
    node.tick(200)
    assert node.last(VELOCITY).v_x > 1.0
    node.call(service)
    start = (0.0, 0.0, pi / 2, *[0.0] * 8)
    assert told(node) == start
    assert node.last(ACCELERATION)[1:] == (0.0, 0.0)
    node.tick(20)
    assert told(node) == start


def test_the_car_is_put_somewhere(capsys: Any) -> None:
    node = rig()
    node.publish(COMMAND, controls(0.1, [80.0] * 4))
    node.tick(50)
    node.call("/sim_node/set_pose", pose=pose_request(5.0, -2.0, sqrt(0.5), -sqrt(0.5), "world"))
    node.tick()
    np.testing.assert_allclose(told(node)[:6], (5.0, -2.0, -pi / 2, 0.0, 0.0, 0.0), atol=1e-12)
    before = told(node)
    node.call("/sim_node/set_pose", pose=pose_request(inf, 0.0))
    assert "must be finite" in capsys.readouterr().err
    node.tick()
    assert told(node) == before


@pytest.mark.parametrize("field", ["delta", "tau_fl", "tau_rr"])
@pytest.mark.parametrize("value", [nan, inf])
def test_bad_commands_change_nothing(field: str, value: float, capsys: Any) -> None:
    node, other = rig(), rig()
    for each in (node, other):
        each.publish(COMMAND, controls(0.1, [50.0] * 4))
        each.tick(5)
    node.publish(COMMAND, CONTROLS(**{field: value}))
    assert f"{field} = {value}" in capsys.readouterr().err
    for each in (node, other):
        each.tick(5)
    assert node.heard[POSE] == other.heard[POSE]


def test_steering_far_beyond_its_end_is_cut_to_it() -> None:
    """Whatever a driver asks for, the car goes on with what it can do."""
    for compat in (None, "upstream"):
        node = rig(compat=compat)
        node.publish(COMMAND, controls(1e6, [1e9] * 4))
        node.tick(100)
        assert not node.loop.paused
        assert node.last(ACTUATORS).delta == pytest.approx(0.5, abs=1e-6)


@pytest.mark.slow_cases("20.0")
@pytest.mark.parametrize("freq", [100.0, 20.0])
def test_no_command_stops_the_simulation(freq: float) -> None:
    """From one end of steering and torques to the other with every tick, at any speed."""
    node = rig({"freq": freq})
    rng = np.random.default_rng(2)
    for k in range(1500):
        forwards = 276.75 if k % 500 < 200 else -276.75
        torques = rng.choice([forwards, 276.75, -276.75], 4)
        node.publish(COMMAND, controls(rng.choice([-0.5, 0.5]), torques))
        node.tick()
        assert not node.loop.paused
    assert np.isfinite(told(node)).all()


def test_old_commands_let_the_car_roll_if_asked_for(capsys: Any) -> None:
    node, free = rig({"command_timeout": 0.5}), rig()
    for each in (node, free):
        each.publish(COMMAND, controls(0.0, [50.0] * 4))
        each.tick(200)
    assert free.last(ACTUATORS).tau_fl == pytest.approx(50.0)
    assert node.last(ACTUATORS).tau_fl == pytest.approx(0.0, abs=1e-9)
    assert node.last(VELOCITY).v_x < 0.5 * free.last(VELOCITY).v_x
    assert "no command" in capsys.readouterr().err


def test_an_error_of_the_simulation_is_told_and_pauses(monkeypatch: Any, capsys: Any) -> None:
    node = rig()
    node.tick(3)

    def fail(*args: Any) -> Any:
        raise SimulationDiverged("it went wrong", time=0.0, last_state=None)

    with monkeypatch.context() as patch:
        patch.setattr(node.program.simulator, "step", fail)
        node.tick()
    assert node.loop.paused
    status = node.last(DIAGNOSTICS).status[0]
    assert status.level == 2
    assert "it went wrong" in status.message
    assert "paused until /sim_node/reset" in capsys.readouterr().err
    assert node.call("/sim_node/reset").success
    node.tick()
    assert not node.loop.paused
    status = node.last(DIAGNOSTICS).status[0]
    assert (status.level, status.name, status.message) == (0, "sim", "OK")


def test_a_made_up_track_begins_at_the_origin_along_y() -> None:
    """As upstream's do: blue left, yellow right, the start line some metres ahead."""
    for seed in (0, 1):
        track = cone_track("", "", seed)
        line = track.line
        assert line.y == pytest.approx(6.0, abs=0.7)
        assert line.x == pytest.approx(0.0, abs=1.0)
        assert line.heading == pytest.approx(pi / 2, abs=0.2)
        for colour, side in (("blue", -1.0), ("yellow", 1.0)):
            cones = track.cones[colour]
            nearest = cones[np.hypot(*cones.T).argmin()]
            assert side * nearest[0] > 1.0
        assert len(track.cones["orange"]) == 4
    assert rig({"track_seed": 1}).program.track.name == "made up from seed 1"


def test_tracks_that_are_not_there_are_refused(database: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="track_database"):
        rig({"track_name": "alpha"})
    with pytest.raises(InvalidValue, match=r"beta\.csv; the folder has alpha$"):
        rig({"track_database": database, "track_name": "beta"})
    (tmp_path / "bare.csv").write_text("color,X,Y\nblue,0,0\nyellow,3,0\norange,-2,5\n")
    with pytest.raises(InvalidValue, match="1 on the left and 0 on the right"):
        rig({"track_database": database, "track_name": "bare"})
    with pytest.raises(InvalidValue, match="freq"):
        rig({"freq": 0.0})


CONSTANTS = """
inertia: {mass: 230.0, yaw_inertia: 200.0}
geometry: {car_length: 3.19, axle_track: 1.24, wheelbase: 1.5706, cog_to_rear_axle: 0.7853,
  cog_height: 0.295}
drivetrain: {C_m0: 4.950, C_r0: 350.0, C_r1: 20.0, C_r2: 3.0}
aero: {C_downforce: 3.96864}
pacejka:
  constant: {Ba: 14.550048996411983, Ca: 1.57, Da: 1.655492775, Ea: 0.5464720000000001}
actuators: {torque_max: 276.75, steering_max: 0.5, steering_rate_max: 1.0,
  motor_time_constant: 1e-3, steering_time_constant: 0.02}
"""
"""Upstream's values of what its simulation uses."""


def test_constants_of_the_car_come_from_upstreams_file(tmp_path: Path) -> None:
    file = tmp_path / "car_constants.yaml"
    file.write_text(CONSTANTS)
    of_file = rig({"car_constants": str(file)}, compat="upstream").program.simulator.vehicle
    assert of_file.params == rig(compat="upstream").program.simulator.vehicle.params
    # Our car takes what it has a place for: 350 N as rolling resistance, 3 N·s²/m² as drag.
    ours, own = (
        rig(p).program.simulator.vehicle.params for p in ({"car_constants": str(file)}, {})
    )
    carcass = own.tyres.tyre.carcass._replace(rolling=350.0 / (230.0 * 9.81))
    tyres = own.tyres._replace(tyre=own.tyres.tyre._replace(carcass=carcass))
    assert ours == own._replace(I_z=200.0, t_tau=1e-3, C_drag=6.0, tyres=tyres)
    file.write_text(CONSTANTS.replace("230.0", "300").replace("0.7853", "0.70"))
    changed = rig({"car_constants": str(file)}).program.simulator.vehicle.params
    assert (changed.m, changed.l_r, changed.l_f) == (300.0, 0.7, pytest.approx(0.8706))
    for broken, fault in ((": 4.950", ": fast"), ("C_m0: 4.950,", "")):
        file.write_text(CONSTANTS.replace(*((broken, fault) if fault else (broken, ""))))
        with pytest.raises(InvalidValue, match=r"drivetrain\.C_m0"):
            rig({"car_constants": str(file)})


def test_parameters_come_from_a_file_and_names_are_remapped(database: str, tmp_path: Path) -> None:
    file = tmp_path / "sim.yaml"
    file.write_text(
        f"sim_node:\n  ros__parameters:\n    freq: 50\n    track_database: {database}\n"
        "    use_remote_meshes: true\n    remote_meshes_url: example.org\n"
    )
    node = rig(
        None, "--ros-args", "--params-file", str(file), "-r", "/brains2/pose:=/ego/pose",
        "-p", "track_name:=alpha",
    )  # fmt: skip
    node.tick(10)
    assert node.last("/clock").clock == (0, 200_000_000)
    assert len(node.all("/ego/pose")) == 10
    assert node.program.track.name == "alpha"
    assert not node.node.parameters.undeclared()


def test_in_lock_step_the_same_commands_give_the_same_bits() -> None:
    def run() -> Rig:
        node = rig(lock_step=True)
        rng = np.random.default_rng(1)
        for steer, *torques in rng.uniform(-1.0, 1.0, (100, 5)) * (0.4, 90.0, 90.0, 90.0, 90.0):
            node.publish(COMMAND, controls(steer, torques))
        node.publish(COMMAND, CONTROLS(delta=nan))
        return node

    one, two = run(), run()
    assert one.loop.ticks == 100
    for topic in (POSE, VELOCITY, ACCELERATION, ACTUATORS, VIZ, "/tf", "/clock"):
        assert one.heard[topic] == two.heard[topic]
