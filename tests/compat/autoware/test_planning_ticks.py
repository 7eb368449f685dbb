"""Time, initialisation and engagement of the planning simulator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from compat.autoware.fake_motion import FakeMotion, around
from skidpad.compat.autoware.reports import InitialPose
from skidpad.compat.autoware.simulator import PlanningSimulator
from skidpad.errors import InvalidValue, SimulationDiverged


def test_before_a_pose_only_the_control_mode_is_reported() -> None:
    model = FakeMotion()
    simulator = PlanningSimulator(model)
    reports = simulator.tick(1.0)
    assert reports.control_mode is not None
    assert reports.control_mode.mode.name == "AUTONOMOUS"
    published = {name for name, value in reports._asdict().items() if value is not None}
    assert published == {"stamp", "control_mode", "rejected"}
    assert not simulator.initialised
    assert not model.steps


def test_the_first_tick_takes_no_time_and_the_others_the_time_since_the_last() -> None:
    model = FakeMotion()
    simulator = around(model)
    for now in (5.0, 5.025, 5.1, 5.1):
        simulator.tick(now)
    assert model.steps == [0.0, 0.025, 0.075, 0.0]


def test_waiting_for_a_pose_takes_no_time() -> None:
    model = FakeMotion()
    simulator = PlanningSimulator(model)
    simulator.tick(0.0)
    simulator.tick(1.0)
    simulator.initial_pose(x=1.0)
    simulator.tick(2.0)
    simulator.tick(2.5)
    assert model.steps == [0.0, 0.5]


def test_steps_are_exact_however_long_the_clock_has_run() -> None:
    """0.025 s apart, though the float nearest to such a time is off by up to 0.1 µs."""
    model = FakeMotion()
    simulator = around(model)
    start = 1_790_000_000_123_456_789
    for k in range(4):
        simulator.tick_at(start + k * 25_000_000)
    assert model.steps == [0.0, 0.025, 0.025, 0.025]
    model.steps.clear()
    simulator.restart_clock()
    for k in range(1000):
        simulator.tick(k * 0.025)
    assert set(model.steps) == {0.0, 0.025}


def test_reports_carry_the_time_of_the_tick() -> None:
    reports = around().tick(12.5)
    assert reports.odometry is not None
    assert reports.stamp == reports.odometry.stamp == reports.control_mode.stamp == 12.5


def test_time_that_goes_back_is_rejected_and_changes_nothing() -> None:
    model = FakeMotion()
    simulator = around(model)
    simulator.initial_pose()
    simulator.initial_twist(2.0)
    simulator.tick(1.0)
    before = model.motion
    with pytest.raises(InvalidValue, match=r"now = 0\.5 s lies before the last tick at 1\.0 s"):
        simulator.tick(0.5)
    assert model.motion == before
    assert model.steps == [0.0]
    simulator.tick(1.25)
    assert model.steps == [0.0, 0.25]
    assert simulator.rejected == {"tick": 1}


def test_a_clock_that_was_set_back_can_be_restarted() -> None:
    model = FakeMotion()
    simulator = around(model)
    simulator.tick(100.0)
    simulator.restart_clock()
    simulator.tick(1.0)
    simulator.tick(1.5)
    assert model.steps == [0.0, 0.0, 0.5]


@pytest.mark.parametrize("now", [math.nan, math.inf, "soon", None])
def test_a_time_that_is_none_is_rejected(now: Any) -> None:
    model = FakeMotion()
    simulator = around(model)
    with pytest.raises(InvalidValue, match="now = "):
        simulator.tick(now)
    assert simulator.rejected == {"tick": 1}
    assert not model.rows


@pytest.mark.parametrize("nanoseconds", [math.nan, 0.5, "soon", None, True])
def test_nanoseconds_are_whole(nanoseconds: Any) -> None:
    model = FakeMotion()
    simulator = around(model)
    with pytest.raises(InvalidValue, match=r"nanoseconds = .* must be a whole number"):
        simulator.tick_at(nanoseconds)
    assert simulator.rejected == {"tick": 1}
    assert not model.rows
    simulator.tick_at(np.int64(25))
    assert model.steps == [0.0]


def test_disengaged_the_clock_goes_on_and_the_vehicle_stays() -> None:
    model = FakeMotion()
    simulator = around(model, initial_engage_state=False)
    simulator.initial_pose(x=3.0)
    simulator.initial_twist(10.0)
    simulator.command(acceleration=1.0)
    for now in (0.0, 1.0, 2.0):
        reports = simulator.tick(now)
    assert model.steps == []
    assert len(model.rows) == 3, "commands still reach the model"
    assert reports.odometry is not None
    assert (reports.odometry.pose.x, reports.odometry.v_x) == (3.0, 10.0)
    simulator.engage()
    simulator.tick(2.5)
    assert model.steps == [0.5]
    assert simulator.motion.x == 8.0
    simulator.engage(False)
    simulator.tick(3.0)
    assert model.steps == [0.5]


def test_engage_takes_true_or_false() -> None:
    simulator = around()
    with pytest.raises(InvalidValue, match="engage = 'no' must be True or False"):
        simulator.engage("no")  # type: ignore[arg-type]
    assert simulator.engaged
    assert simulator.rejected == {"engage": 1}


def test_initial_pose_puts_the_vehicle_at_rest() -> None:
    model = FakeMotion()
    simulator = PlanningSimulator(model)
    simulator.initial_pose(InitialPose(x=1.0, y=2.0, yaw=0.5, z=3.0))
    assert model.motion[:4] == (1.0, 2.0, 0.5, 0.0)
    reports = simulator.tick(0.0)
    assert reports.odometry is not None
    assert reports.odometry.pose[:3] == (1.0, 2.0, 3.0)


def test_initial_twist_starts_again_at_the_initial_pose() -> None:
    model = FakeMotion()
    simulator = PlanningSimulator(model)
    assert not simulator.initial_twist(4.0)
    assert not simulator.initialised, "upstream ignores a twist before a pose"
    simulator.initial_pose([1.0, 2.0, 0.5, 0.0])
    simulator.set_pose(x=7.0)
    assert model.motion.x == 7.0
    assert simulator.initial_twist(4.0)
    assert model.motion[:4] == (1.0, 2.0, 0.5, 4.0)


def test_set_pose_initialises_but_keeps_the_height() -> None:
    simulator = PlanningSimulator(FakeMotion())
    simulator.set_pose(x=7.0, z=9.0)
    assert simulator.initialised
    assert not simulator.initial_twist(1.0), "only the topic's pose is remembered"
    reports = simulator.tick(0.0)
    assert reports.odometry is not None
    assert reports.odometry.pose[:3] == (7.0, 0.0, 0.0)


def test_a_pose_that_is_none_is_rejected() -> None:
    model = FakeMotion()
    simulator = PlanningSimulator(model)
    with pytest.raises(InvalidValue, match=r"InitialPose\.yaw = nan must be finite"):
        simulator.initial_pose(x=1.0, yaw=math.nan)
    with pytest.raises(InvalidValue, match="v_x = inf must be finite"):
        simulator.initial_twist(math.inf)
    assert not simulator.initialised
    assert simulator.rejected == {"initial_pose": 1, "initial_twist": 1}


def test_a_model_that_diverges_is_named_with_its_last_good_state() -> None:
    model = FakeMotion()
    simulator = around(model)
    simulator.initial_pose(x=1.0)
    simulator.initial_twist(1.0)
    simulator.tick(0.0)
    simulator.tick(1.0)
    model.motion = model.motion._replace(v_x=math.inf)
    with pytest.raises(SimulationDiverged, match=r"FAKE became NaN .* to t = 2\.0 s") as caught:
        simulator.tick(2.0)
    assert caught.value.time == 1.0
    assert caught.value.last_state.x == 2.0
    simulator.initial_pose(x=5.0)
    assert simulator.tick(2.0).odometry is not None


def test_an_acceleration_without_a_value_is_reported() -> None:
    """Upstream's first update divides a velocity by 0 s; the motion is none the worse."""
    model = FakeMotion(a_x=math.nan)
    reports = around(model).tick(0.0)
    assert reports.acceleration is not None
    assert math.isnan(reports.acceleration.a_x)
