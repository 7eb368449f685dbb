"""Each repair of upstream's program, beside what the program does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.vehicles.parts.actuators import Gear
from vehicles.autoware.recordings import Recording, updated

GEARED = (
    "DELAY_STEER_ACC_GEARED",
    "DELAY_STEER_MAP_ACC_GEARED",
    "ACTUATION_CMD",
    "ACTUATION_CMD_VGR",
    "ACTUATION_CMD_STEER_MAP",
    "ACTUATION_CMD_MECHANICAL",
)
"""Models with an acceleration that lags and a gear."""


def both(model: str, scenario: str = "s01_step_steer", **values: Any) -> tuple[Any, Any]:
    """The repaired vehicle and the one of upstream."""
    recording = Recording(f"{model}__{scenario}")
    return recording.vehicle(None, **values), recording.vehicle("upstream", **values)


@pytest.mark.parametrize("model", GEARED)
def test_a_stop_by_the_gear_leaves_no_acceleration(model: str) -> None:
    for vehicle in both(model, vel_rate_lim=7.0):
        x = vehicle.State(v_x=9.6, a_x=1.0)
        stopped = updated(vehicle, x, vehicle.Input(gear=float(Gear.REVERSE)), 0.025)
        reported = vehicle.outputs(stopped, vehicle.Input()).a_x
        assert (stopped.v_x, stopped.x, stopped.yaw) == (0.0, 0.0, 0.0)
        if vehicle.model.reproduces:
            assert stopped.a_x == reported == pytest.approx(-9.6 / 0.025)
        else:
            assert stopped.a_x == 0.0
            assert reported == -7.0


def test_a_gentle_stop_is_reported_as_it_is() -> None:
    vehicle, _ = both("DELAY_STEER_ACC_GEARED", vel_rate_lim=7.0)
    x = vehicle.State(v_x=0.1, a_x=1.0)
    stopped = updated(vehicle, x, vehicle.Input(gear=float(Gear.PARK)), 0.025)
    assert vehicle.outputs(stopped, vehicle.Input()).a_x == pytest.approx(-0.1 / 0.025)
    later = updated(vehicle, stopped, vehicle.Input(gear=float(Gear.PARK)), 0.025)
    assert vehicle.outputs(later, vehicle.Input()).a_x == 0.0


@pytest.mark.parametrize(
    # Of the pedals, those with the parts of the others.
    "model",
    [
        pytest.param(name, marks=pytest.mark.slow)
        if name in ("ACTUATION_CMD", "ACTUATION_CMD_VGR", "ACTUATION_CMD_STEER_MAP")
        else name
        for name in GEARED
    ],
)
def test_from_drive_to_reverse_the_car_follows_its_commands(model: str) -> None:
    recording = Recording(f"{model}__s10_drive_to_reverse")
    fastest = {}
    for compat in (None, "upstream"):
        vehicle = recording.vehicle(compat)
        states = recording.states(vehicle)
        fastest[compat] = min(x.v_x for x in states)
        if compat is None:
            # The commands after the change of gear ask for 2 m/s² at most, forwards or backwards.
            pushes = np.diff([x.v_x for x in states]) / recording.meta["dt_nominal"]
            backwards = pushes[[x.v_x < 0.0 for x in states[1:]]]
            assert np.abs(backwards).max(initial=0.0) < 3.5
    assert fastest["upstream"] < 2.0 * fastest[None] - 5.0


@pytest.mark.parametrize(
    ("model", "command", "spike"),
    [
        ("IDEAL_STEER_VEL", {"velocity": 5.0}, math.inf),
        ("DELAY_STEER_VEL", {"velocity": 5.0}, math.nan),
        ("DELAY_STEER_ACC_GEARED_WO_FALL_GUARD", {"acceleration": 1.0}, math.nan),
    ],
)
def test_an_update_of_no_length_reports_a_number(
    model: str, command: dict[str, float], spike: float
) -> None:
    for vehicle in both(model):
        u = vehicle.Input(**command)
        first = updated(vehicle, vehicle.State(), u, 0.0)
        expected = spike if vehicle.model.reproduces else 0.0
        assert first.a_x == pytest.approx(expected, nan_ok=True)
        assert first[:3] == (0.0, 0.0, 0.0)
        # Upstream's NaN goes no further than the report.
        second = updated(vehicle, first, u, 0.02)
        assert all(math.isfinite(value) for value in second)


@pytest.mark.parametrize("model", ["DELAY_STEER_VEL", "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD"])
def test_an_update_of_no_length_leaves_the_last_acceleration(model: str) -> None:
    vehicle, _ = both(model)
    x = vehicle.State(v_x=2.0, a_x=0.7)
    assert updated(vehicle, x, vehicle.Input(), 0.0).a_x == 0.7


STEER_MAP = [["", -1.0, 0.0, 1.0], [-1.0, -0.4, -0.3, -0.2], [1.0, 0.2, 0.3, 0.4]]
"""Rates that grow by 0.1 rad/s from column to column."""


def test_the_columns_of_the_steering_map_are_angles() -> None:
    values = {"steer_map": STEER_MAP, "steer_time_constant": 1.0, "steer_rate_lim": 5.0}
    for vehicle in both("ACTUATION_CMD_STEER_MAP", **values):
        x = vehicle.State(v_x=0.25, steer=-0.5)
        after = updated(vehicle, x, vehicle.Input(steer=1.0), 1e-6)
        rate = (after.steer - x.steer) / 1e-6
        expected = 0.325 if vehicle.model.reproduces else 0.25
        assert rate == pytest.approx(expected, abs=1e-5)


def test_dead_times_and_resets_differ_as_declared() -> None:
    repaired, upstream = both("DELAY_STEER_ACC_GEARED")
    assert (repaired.model.dead_time_rule, repaired.model.reset_keeps) == ("at_least", ())
    assert (upstream.model.dead_time_rule, upstream.model.reset_keeps) == ("nearest", ("pending",))
    _, upstream = both("IDEAL_STEER_VEL")
    assert "v_x" in upstream.model.reset_keeps
    _, upstream = both("ACTUATION_CMD_MECHANICAL")
    assert upstream.model.reset_keeps == ("steer_target", "pending")


def test_modes_are_separate_models_and_each_is_made_once() -> None:
    repaired, upstream = both("DELAY_STEER_ACC_GEARED")
    again, _ = both("DELAY_STEER_ACC_GEARED", steer_bias=0.1)
    assert repaired.model is again.model
    assert repaired.model is not upstream.model
    assert not repaired.model.reproduces
    assert "simple_planning_simulator" in upstream.model.reproduces
    assert isinstance(again, sp.Vehicle)
