"""The planning simulator's node: names, files, pedals and maps, as Autoware's users have them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from ros2.desk import Desk
from ros2.planning_desk import CONTROL, DATA, GEAR, PARAMETERS, control, desk, pose, words
from skidpad.compat.autoware.converter import CommandConverter, SteeringWheel, SteerMap
from skidpad.errors import InvalidValue
from skidpad.ros2.node import SECOND
from skidpad.ros2.nodes.planning import MOTION_PUBLISH_MODES, Planning
from skidpad.vehicles.command_driven.records import PARAMETERS as SCHEMA


@pytest.mark.parametrize("mode", [*MOTION_PUBLISH_MODES])
def test_the_names_of_the_launch_file(mode: str) -> None:
    d = Desk(
        lambda node: Planning(node, motion_publish_mode=mode),
        [*words(), "-r", "output/steering:=/my/steering"],
        "simple_planning_simulator",
        namespace="/simulation",
    )
    names = {*d.exchange.types}
    assert "/simulation/input/initialtwist" in names
    assert "/my/steering" in names, "the user's rules come first"
    assert "/vehicle/status/steering_status" not in names
    assert {"/control/command/control_cmd", "/initialpose3d", "/map/vector_map"} <= names
    assert "/control/control_mode_request" in d.exchange.services
    motion, pose_topic = "/localization/kinematic_state", "/localization/pose_estimator"
    pose_topic += "/pose_with_covariance"
    full = mode == "full_motion"
    assert (motion in names) is full
    assert (f"/simulation/debug{motion}" in names) is not full
    assert (pose_topic in names) is not full
    assert (f"/simulation/debug{pose_topic}" in names) is full
    left = {name for name in names if "/simulation/output" in name}
    assert not left, "every output has a name"


SHARE = """
/**:
  ros__parameters:
    simulated_frame_id: "base_link"
    origin_frame_id: "map"
    vehicle_model_type: "ACTUATION_CMD_VGR"
    initialize_source: "INITIAL_POSE_TOPIC"
    timer_sampling_time_ms: 25
    add_measurement_noise: False
    enable_road_slope_simulation: False
    vel_lim: 30.0
    x_stddev: 1e-4
    accel_time_delay: 0.1
    accel_time_constant: 0.1
    brake_time_delay: 0.1
    brake_time_constant: 0.1
    convert_accel_cmd: true
    convert_brake_cmd: true
    accel_map_path: $(find-pkg-share demo_vehicle)/accel_map.csv
    brake_map_path: $(find-pkg-share demo_vehicle)/brake_map.csv
    vgr_coef_a: 15.713
    vgr_coef_b: 0.053
    vgr_coef_c: 0.042
    vgr_coef_c: 0.041
    mechanical_params:
      kp: 386.9
"""
INFO = """
/**:
  ros__parameters:
    wheel_radius: 0.383
    wheel_base: 2.5
    max_steer_angle: 0.7
"""
CONVERTER = """
/**:
  ros__parameters:
    csv_path_accel_map: $(find-pkg-share demo_vehicle)/accel_map.csv
    csv_path_brake_map: $(find-pkg-share demo_vehicle)/brake_map.csv
    is_debugging: false
    max_throttle: 0.4
    max_brake: 0.8
    max_steer: 10.0
    min_steer: -10.0
"""


def shared_files(folder: Path) -> list[str]:
    found: list[str] = []
    for name, text in (("a", SHARE), ("b", INFO), ("c", CONVERTER)):
        (folder / f"{name}.yaml").write_text(text)
        found += ["--params-file", str(folder / f"{name}.yaml")]
    return found


def test_files_of_autoware_are_taken_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ros2.desk.parse_arguments", _with_share(DATA / "maps"))
    d = Desk(lambda node: Planning(node), shared_files(tmp_path))
    parameters = d.node.parameters
    assert parameters["vgr_coef_c"] == 0.041, "the later of two keys counts, as in ROS"
    assert parameters["x_stddev"] == 1e-4
    assert (parameters["wheel_base"], parameters["max_throttle"]) == (2.5, 0.4)
    assert parameters["accel_map_path"] == str(DATA / "maps" / "accel_map.csv")
    assert d.program.simulator.model.vehicle.params.wheel_base == 2.5
    assert not [line for line in capsys.readouterr().err.splitlines() if "ERROR" in line]
    assert not parameters.undeclared(), "nothing of Autoware's own files is unknown"


def _with_share(folder: Path) -> Any:
    from skidpad.ros2.node import parse_arguments

    return lambda words: parse_arguments(words, {"demo_vehicle": folder})


def actuation_parameters(model: str) -> dict[str, Any]:
    times = {f"{p}_time_{what}": 0.1 for p in ("accel", "brake") for what in ("delay", "constant")}
    maps = {
        f"{p}_map_path": str(DATA / "maps" / f"{p}_map.csv") for p in ("accel", "brake", "steer")
    }
    switches = {"convert_accel_cmd": True, "convert_brake_cmd": True}
    wheel = {"vgr_coef_a": 15.713, "vgr_coef_b": 0.053, "vgr_coef_c": 0.042}
    chosen = {**times, **maps, **switches, "vehicle_model_type": model}
    if model == "ACTUATION_CMD_VGR":
        chosen |= wheel
    return {**chosen, "initialize_source": "ORIGIN"}


@pytest.mark.parametrize("model", ["ACTUATION_CMD", "ACTUATION_CMD_VGR", "ACTUATION_CMD_STEER_MAP"])
def test_the_converter_is_built_in(model: str) -> None:
    """As by hand with the object and the converter: from messages to pedals to motion."""
    parameters = actuation_parameters(model)
    d = desk(parameters=parameters)
    own = sp.PlanningSimulator(None, {**PARAMETERS, **parameters})
    given = own.parameters
    steering: Any = None
    if model == "ACTUATION_CMD_VGR":
        steering = SteeringWheel(15.713, 0.053, 0.042)
    elif model == "ACTUATION_CMD_STEER_MAP":
        steering = SteerMap(given["steer_map"], steer_time_constant=given["steer_time_constant"])
    converter = CommandConverter(given["accel_map"], given["brake_map"], steering)
    converted = d.hear("/output/actuation_command")
    status = d.hear("/output/actuation_status")
    assert "/input/actuation_command" not in d.exchange.types
    d.say(GEAR, command=2)
    own.gear("DRIVE")
    v, steer = 0.0, 0.0
    for k in range(80):
        d.say(CONTROL, control(a=0.5, steer=0.05))
        dt = 0.0 if k < 2 else own.period
        wanted = control(a=0.5, steer=0.05)
        angle = float(np.float32(wanted.lateral.steering_tire_angle))
        pedals = converter.convert(0.5, angle, v, steer, dt)
        assert tuple(converted[-1].actuation) == tuple(pedals)
        own.command(pedals)
        d.ticks(1)
        reports: Any = own.tick_at(round(k * own.period * SECOND))
        assert d.program.simulator.motion == own.motion
        v, steer = reports.odometry.v_x, reports.steering.steer
    assert len(status) == 80
    assert own.motion.v_x > 0.2


def test_manual_commands_reach_pedals_too() -> None:
    d = desk(parameters=actuation_parameters("ACTUATION_CMD"))
    assert d.ask("/input/control_mode_request", mode=4).success
    d.say("/input/manual_gear_command", command=2)
    for _ in range(80):
        d.say("/input/manual_ackermann_control_command", control(a=0.5))
        d.ticks(1)
    assert d.program.simulator.motion.v_x > 0.2


def test_without_the_converter_pedals_are_commanded(capsys: pytest.CaptureFixture[str]) -> None:
    d = desk(parameters=actuation_parameters("ACTUATION_CMD"), convert=False)
    assert CONTROL not in d.exchange.types
    d.say("/input/manual_ackermann_control_command", control(a=0.5))
    assert "[ERROR]" in capsys.readouterr().err, "a control command is nothing to pedals"


MAP = """<osm>
{nodes}
<way id="11"><nd ref="1"/><nd ref="2"/></way><way id="12"><nd ref="3"/><nd ref="4"/></way>
<relation id="21"><member type="way" ref="11" role="left"/>
<member type="way" ref="12" role="right"/>
<tag k="type" v="lanelet"/><tag k="subtype" v="road"/></relation></osm>"""


def test_slopes_come_from_the_file_of_the_map(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [(0, 2, 0), (100, 2, 10), (0, -2, 0), (100, -2, 10)]
    nodes = "\n".join(
        f'<node id="{k}"><tag k="local_x" v="{x}"/><tag k="local_y" v="{y}"/><tag k="ele" v="{z}"/>'
        "</node>"
        for k, (x, y, z) in enumerate(places, 1)
    )
    file = tmp_path / "map.osm"
    file.write_text(MAP.format(nodes=nodes))
    ideal = {"vehicle_model_type": "IDEAL_STEER_ACC", "enable_road_slope_simulation": True}
    d = desk(parameters={**ideal, "lanelet2_map_path": str(file)})
    d.say("/input/initialpose", pose(50.0, 0.0))
    d.say(GEAR, command=2)
    d.ticks(41)
    # Gravity along a slope of one in ten, for 1 s.
    down = -9.81 * math.sin(math.atan(0.1))
    assert d.program.simulator.motion.v_x == pytest.approx(down, rel=1e-6)
    assert not capsys.readouterr().err
    level = desk(parameters=ideal)
    for _ in range(3):
        level.say("/input/vector_map", data=b"\x16\x00serialization::archive")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "lanelet2_map_path" in lines[0]


def test_deviations_may_be_changed_while_it_runs() -> None:
    d = desk(parameters={"initialize_source": "ORIGIN"})
    heard = d.hear("/output/odometry")
    d.ticks(1)
    d.node.parameters.set({"x_stddev": 0.25})
    d.ticks(1)
    assert [m.pose.covariance[0] for m in heard] == [1e-4, 0.25]
    assert [m.pose.covariance[7] for m in heard] == [1e-4, 1e-4]
    assert d.ask("/sim/reset").success
    d.ticks(1)
    assert heard[-1].pose.covariance[0] == 0.25
    for name, value in (("x_stddev", -1.0), ("vel_lim", 3.0), ("y_stddev", math.inf)):
        with pytest.raises(InvalidValue, match=name):
            d.node.parameters.set({name: value})


def test_python_code_is_not_run_unless_allowed() -> None:
    learned = {"vehicle_model_type": "LEARNED_STEER_VEL", "model_module_paths": ["os"]}
    with pytest.raises(InvalidValue, match="would import and call"):
        desk(parameters=learned)


def test_the_last_command_stays_as_upstream() -> None:
    """There is no timeout: a command acts until the next."""
    d = desk(parameters={"initialize_source": "ORIGIN", "vehicle_model_type": "IDEAL_STEER_VEL"})
    d.say(CONTROL, control(v=2.0))
    d.ticks(401)
    assert d.program.simulator.motion.x == pytest.approx(20.0)


def test_the_page_has_every_parameter_and_topic() -> None:
    page = (Path(__file__).parents[2] / "docs" / "ros2_planning.md").read_text("utf-8")
    for name, parameter in SCHEMA.items():
        if not (parameter.unread or name.startswith("mechanical_params")):
            assert f"| `{name}` | {parameter.kind} | " in page
    for mode in MOTION_PUBLISH_MODES.values():
        for relative, absolute in mode.items():
            assert f"| `{relative}` |" in page
            assert f"`{absolute}`" in page
