"""A planning simulator from names, files and parameters, with real models inside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import skidpad as sp
from compat.autoware.fake_motion import FakeMotion
from skidpad.compat.autoware.reports import NAMES, Settings, settings
from skidpad.errors import InvalidValue, SimulationDiverged
from skidpad.vehicles.command_driven.records import PARAMETERS
from skidpad.vehicles.parts.actuators import Gear

CAR = {"wheel_base": 2.79, "initialize_source": "ORIGIN"}

MODEL_FILE = """\
/**:
  ros__parameters:
    simulated_frame_id: "base_link"
    origin_frame_id: "map"
    vehicle_model_type: "DELAY_STEER_ACC_GEARED"
    initialize_source: "INITIAL_POSE_TOPIC"
    timer_sampling_time_ms: 20
    add_measurement_noise: False
    enable_road_slope_simulation: True
    vel_lim: 30.0
    acc_time_delay: 0.1
    acc_time_constant: 0.1
    steer_time_delay: 0.1
    steer_time_constant: 0.1
    x_stddev: 0.0001
    y_stddev: 0.0001
"""
INFO_FILE = """\
/**:
  ros__parameters:
    wheel_radius: 0.39
    wheel_base: 2.74
    max_steer_angle: 0.70
"""


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    model, info = tmp_path / "simulator_model.param.yaml", tmp_path / "vehicle_info.param.yaml"
    model.write_text(MODEL_FILE)
    info.write_text(INFO_FILE)
    return [model, info]


def driven(simulator: sp.PlanningSimulator, seconds: float, **command: float) -> Any:
    """The odometry after some time in DRIVE with one command, from the clock's present time."""
    simulator.gear(Gear.DRIVE)
    simulator.command(**command)
    for k in range(round(seconds / simulator.period) + 1):
        reports = simulator.tick(k * simulator.period)
    simulator.restart_clock()
    assert reports.odometry is not None
    return reports.odometry


def test_the_files_of_a_vehicle(files: list[Path]) -> None:
    simulator = sp.PlanningSimulator("DELAY_STEER_ACC_GEARED", files)
    assert simulator.period == 0.02
    assert simulator.settings.origin_frame_id == "map"
    assert simulator.settings.enable_road_slope_simulation
    assert simulator.parameters["wheel_base"] == 2.74
    assert simulator.model.name == "DELAY_STEER_ACC_GEARED"
    assert not simulator.initialised


def test_files_name_the_model_and_keywords_win(files: list[Path]) -> None:
    simulator = sp.PlanningSimulator(files, initialize_source="ORIGIN", wheel_base=3.0)
    assert simulator.model.name == "DELAY_STEER_ACC_GEARED"
    assert simulator.parameters["wheel_base"] == 3.0
    assert simulator.initialised
    other = sp.PlanningSimulator("IDEAL_STEER_ACC", files)
    assert other.model.name == "IDEAL_STEER_ACC", "a name given wins over the file"


def test_one_file_by_its_path(files: list[Path]) -> None:
    simulator = sp.PlanningSimulator(str(files[0]), wheel_base=3.0)
    assert simulator.settings.timer_sampling_time_ms == 20


def test_defaults_are_those_of_the_parameter_table() -> None:
    for name in NAMES:
        assert getattr(Settings(), name) == PARAMETERS[name].default


def test_unknown_names() -> None:
    with pytest.raises(InvalidValue, match="no model 'DELAY_STEER_AC'; did you mean 'DELAY_STEER"):
        sp.PlanningSimulator("DELAY_STEER_AC", CAR)
    with pytest.raises(InvalidValue, match=r"'BICYCLE'\. There are 13: IDEAL_STEER_VEL, ID"):
        sp.PlanningSimulator("BICYCLE", CAR)
    with pytest.raises(InvalidValue, match="no parameter 'vel_limit'; did you mean 'vel_lim'"):
        sp.PlanningSimulator("DELAY_STEER_VEL", CAR, vel_limit=3.0)
    with pytest.raises(InvalidValue, match="no parameter 'vel_lim'"):
        sp.PlanningSimulator(FakeMotion(), vel_lim=3.0)
    with pytest.raises(InvalidValue, match="compat = 'autoware' is unknown"):
        sp.PlanningSimulator("IDEAL_STEER_VEL", CAR, compat="autoware")
    with pytest.raises(InvalidValue, match="must be the name of a model"):
        sp.PlanningSimulator(CAR, CAR)


def test_an_unknown_initialize_source() -> None:
    """The program takes any other word for INITIAL_POSE_TOPIC."""
    with pytest.raises(InvalidValue, match="'HOME' is unknown; allowed are ORIGIN, INITIAL_POSE"):
        sp.PlanningSimulator(FakeMotion(), initialize_source="HOME")
    upstream = sp.PlanningSimulator(FakeMotion(), initialize_source="HOME", compat="upstream")
    assert not upstream.initialised
    upstream.initial_pose()
    assert upstream.initialised


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("timer_sampling_time_ms", 0),
        ("timer_sampling_time_ms", "often"),
        ("origin_frame_id", 3),
        ("enable_pub_steer", 1),
        ("x_stddev", -1.0),
    ],
)
def test_settings_are_checked(name: str, bad: Any) -> None:
    with pytest.raises(InvalidValue, match=f"{name} = "):
        settings({name: bad}, None)


@pytest.mark.parametrize(
    "name", ["IDEAL_STEER_VEL", "DELAY_STEER_ACC_GEARED", "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD"]
)
@pytest.mark.parametrize("compat", [None, "upstream"])
def test_it_drives_forwards_and_turns_left(name: str, compat: str | None) -> None:
    simulator = sp.PlanningSimulator(name, CAR, compat=compat)
    odometry = driven(simulator, 4.0, velocity=2.0, acceleration=1.0, steer=0.1)
    assert odometry.v_x > 1.0
    assert odometry.pose.x > 2.0
    assert odometry.pose.y > 0.1
    assert odometry.omega > 0.0


def test_a_hill_slows_the_vehicle() -> None:
    class Hill:
        def pitch(self, x: float, y: float, yaw: float) -> float:
            return -0.05

    level = sp.PlanningSimulator("IDEAL_STEER_ACC_GEARED", CAR)
    uphill = sp.PlanningSimulator(
        "IDEAL_STEER_ACC_GEARED", CAR, road=Hill(), enable_road_slope_simulation=True
    )
    difference = (
        driven(level, 2.0, acceleration=1.0).v_x - driven(uphill, 2.0, acceleration=1.0).v_x
    )
    # 2 s of g sin(0.05); the sum of command and slope is rounded to 32 bits.
    assert difference == pytest.approx(2.0 * 9.81 * 0.04997916927, rel=1e-6)


def test_dead_time_holds_a_command_back() -> None:
    simulator = sp.PlanningSimulator(
        "DELAY_STEER_ACC_GEARED", CAR, acc_time_delay=0.2, acc_time_constant=0.03
    )
    simulator.gear(Gear.DRIVE)
    simulator.command(acceleration=2.0)
    first = next(
        k
        for k in range(100)
        if simulator.tick(k * 0.025).acceleration.a_x > 0.0  # type: ignore[union-attr]
    )
    # The tick at 0 s takes it over, so it is 0.2 s old at the tick at 0.2 s.
    assert first == 8


def test_a_vehicle_in_gear_none_stays() -> None:
    simulator = sp.PlanningSimulator("DELAY_STEER_ACC_GEARED", CAR)
    simulator.command(acceleration=2.0)
    for k in range(50):
        reports = simulator.tick(k * 0.025)
    assert reports.odometry is not None
    assert reports.odometry.pose.x == reports.odometry.v_x == 0.0


def test_a_model_that_diverges_can_be_started_again() -> None:
    simulator = sp.PlanningSimulator("IDEAL_STEER_VEL", CAR)
    simulator.tick(5.0)
    simulator.command(velocity=3e38, steer=1.5707964)
    with pytest.raises(SimulationDiverged, match=r"in the tick to t = 6\.0 s") as caught:
        simulator.tick(6.0)
    assert caught.value.time == 5.0
    assert caught.value.last_state.x == 0.0
    simulator.command(velocity=1.0)
    simulator.initial_pose(x=7.0)
    assert simulator.tick(7.0).odometry.pose.x == pytest.approx(9.0)  # type: ignore[union-attr]


def test_importing_it_needs_no_compiler() -> None:
    code = "import sys, skidpad; skidpad.PlanningSimulator; print('llvmlite' in sys.modules)"
    path = str(Path(sp.__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {path!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "False"
