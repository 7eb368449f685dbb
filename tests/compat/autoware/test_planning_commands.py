"""What reaches the model: commands, gears, modes, slopes; and what is rejected on the way."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.autoware.fake_motion import GEARED, PEDALS, FakeMotion, around
from skidpad.compat.autoware.reports import (
    ActuationCommand,
    ControlCommand,
    ControlMode,
    HazardLights,
    TurnIndicators,
)
from skidpad.compat.autoware.simulator import PlanningSimulator
from skidpad.errors import InvalidValue
from skidpad.vehicles.parts.actuators import Gear

PEDAL = ("acceleration", "steer", "gear", "slope")


class Hill:
    """A road that goes up by 0.1 rad everywhere."""

    def pitch(self, x: float, y: float, yaw: float) -> float:
        return -0.1


def row(simulator: PlanningSimulator, model: FakeMotion) -> tuple[float, ...]:
    """The input of the model at the next tick."""
    simulator.tick_at(len(model.rows) * 25_000_000)
    return model.rows[-1]


def on_a_hill(inputs: tuple[str, ...]) -> tuple[PlanningSimulator, FakeMotion]:
    model = FakeMotion(inputs)
    return around(model, road=Hill(), enable_road_slope_simulation=True), model


UPHILL = -9.81 * math.sin(0.1)


@pytest.mark.parametrize(
    ("inputs", "gear", "expected"),
    [
        (("velocity", "steer"), Gear.REVERSE, (4.0, 0.5)),
        (("acceleration", "steer"), Gear.DRIVE, (2.0 + UPHILL, 0.5)),
        (("acceleration", "steer"), Gear.REVERSE_2, (-2.0 + UPHILL, 0.5)),
        (("acceleration", "steer"), Gear.NONE, (0.0, 0.5)),
        (GEARED, Gear.DRIVE_7, (2.0 + UPHILL, 0.5, Gear.DRIVE_7)),
        (GEARED, Gear.REVERSE, (-2.0 + UPHILL, 0.5, Gear.REVERSE)),
        (GEARED, Gear.PARK, (2.0 + UPHILL, 0.5, Gear.PARK)),
        (GEARED, Gear.NONE, (0.0, 0.5, Gear.NONE)),
        (PEDAL, Gear.REVERSE, (2.0, 0.5, Gear.REVERSE, UPHILL)),
        (PEDAL, Gear.NONE, (2.0, 0.5, Gear.NONE, UPHILL)),
    ],
)
def test_control_commands(inputs: tuple[str, ...], gear: Gear, expected: tuple[float, ...]) -> None:
    simulator, model = on_a_hill(inputs)
    simulator.command(velocity=4.0, acceleration=2.0, steer=0.5)
    simulator.gear(gear)
    assert row(simulator, model) == pytest.approx(expected, rel=1e-7)


def test_actuation_commands() -> None:
    simulator, model = on_a_hill(PEDALS)
    simulator.command(accel=0.1, brake=0.2, steer=0.3)
    simulator.gear(Gear.REVERSE)
    assert row(simulator, model) == pytest.approx((0.1, 0.2, 0.3, Gear.REVERSE, UPHILL))


def test_a_slope_acts_only_if_enabled() -> None:
    model = FakeMotion(PEDAL)
    simulator = around(model, road=Hill())
    assert row(simulator, model)[-1] == 0.0


def test_a_road_without_an_answer_is_an_error() -> None:
    class Nowhere:
        def pitch(self, x: float, y: float, yaw: float) -> float:
            return math.nan

    simulator = around(road=Nowhere())
    with pytest.raises(InvalidValue, match=r"road\.pitch\(\) = nan"):
        simulator.tick(0.0)


@given(
    acceleration=st.floats(-10.0, 10.0),
    steer=st.floats(-1.0, 1.0),
    velocity=st.floats(-50.0, 50.0),
)
def test_numbers_are_those_of_the_message(
    acceleration: float, steer: float, velocity: float
) -> None:
    """The message has 32-bit floats, and so has the sum of command and slope upstream."""
    simulator, model = on_a_hill(GEARED)
    kept = simulator.command(velocity=velocity, acceleration=acceleration, steer=steer)
    assert kept == tuple(float(np.float32(v)) for v in (velocity, acceleration, steer))
    simulator.gear(Gear.DRIVE)
    total = float(np.float32(acceleration)) - 9.81 * math.sin(0.1)
    expected = (float(np.float32(total)), float(np.float32(steer)), Gear.DRIVE)
    assert row(simulator, model) == pytest.approx(expected, rel=1.2e-7, abs=1e-15)
    assert all(float(np.float32(v)) == v for v in model.rows[-1])


def test_pedals_keep_their_64_bits() -> None:
    simulator, model = on_a_hill(PEDALS)
    simulator.command(accel=0.1, brake=0.2, steer=0.3)
    assert row(simulator, model)[:3] == (0.1, 0.2, 0.3)


def test_before_any_command_there_are_zeros_in_gear_none() -> None:
    model = FakeMotion()
    simulator = around(model)
    assert row(simulator, model) == (0.0, 0.0, Gear.NONE)


def test_the_control_mode_chooses_the_source() -> None:
    model = FakeMotion()
    simulator = around(model)
    simulator.command(acceleration=1.0)
    simulator.gear(Gear.DRIVE)
    simulator.manual_command(acceleration=2.0)
    assert row(simulator, model) == (1.0, 0.0, Gear.DRIVE)
    assert simulator.request_control_mode(ControlMode.MANUAL)
    assert row(simulator, model) == (2.0, 0.0, Gear.PARK), "the manual gear starts in PARK"
    simulator.manual_gear(Gear.LOW)
    assert row(simulator, model) == (2.0, 0.0, Gear.LOW)
    assert simulator.request_control_mode("AUTONOMOUS")
    assert row(simulator, model) == (1.0, 0.0, Gear.DRIVE)


@pytest.mark.parametrize("mode", [0, 2, 3, 5, 6, 7, -1, "DISENGAGED", "RACING", None, math.nan])
def test_other_modes_are_not_granted(mode: Any) -> None:
    simulator = around()
    simulator.request_control_mode(4)
    assert simulator.request_control_mode(mode) is False
    assert simulator.control_mode is ControlMode.MANUAL
    assert simulator.rejected == {"request_control_mode": 1}


@pytest.mark.parametrize("method", ["command", "manual_command"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e39, "fast", None])
@pytest.mark.parametrize("field", ControlCommand._fields)
def test_a_bad_command_leaves_the_last_good_one(method: str, bad: Any, field: str) -> None:
    model = FakeMotion()
    simulator = around(model)
    simulator.request_control_mode("MANUAL" if method == "manual_command" else "AUTONOMOUS")
    simulator.gear(Gear.DRIVE)
    simulator.manual_gear(Gear.DRIVE)
    send = getattr(simulator, method)
    send(ControlCommand(acceleration=1.0, steer=0.5))
    with pytest.raises(InvalidValue, match=field):
        send({field: bad})
    with pytest.raises(InvalidValue, match=field):
        send(**{field: bad})
    assert row(simulator, model) == (1.0, 0.5, Gear.DRIVE)
    assert simulator.rejected == {method: 2}
    assert simulator.tick(1.0).rejected == 2


def test_the_message_names_field_and_value() -> None:
    simulator = around()
    with pytest.raises(InvalidValue, match=r"ControlCommand\.steer = nan must be finite"):
        simulator.command(steer=math.nan)
    with pytest.raises(InvalidValue, match=r"velocity = 1e\+39 does not fit a 32-bit float"):
        simulator.command(velocity=1e39)
    with pytest.raises(InvalidValue, match="no field 'stear'; did you mean 'steer'"):
        simulator.command(stear=0.1)
    with pytest.raises(InvalidValue, match=r"ActuationCommand\.brake = inf must be finite"):
        around(FakeMotion(PEDALS)).command(brake=math.inf)


def test_a_command_of_the_other_kind_is_rejected() -> None:
    with pytest.raises(InvalidValue, match="expected a ControlCommand record"):
        around().command(ActuationCommand())
    with pytest.raises(InvalidValue, match="expected a ActuationCommand record"):
        around(FakeMotion(PEDALS)).command(ControlCommand())


def test_a_record_with_the_same_fields_means_the_same() -> None:
    class Pedals(NamedTuple):
        accel: float
        brake: float
        steer: float

    assert around(FakeMotion(PEDALS)).command(Pedals(0.1, 0.0, 0.2)) == (0.1, 0.0, 0.2)


@pytest.mark.parametrize("given_", [[1, 2, 3], np.array([1.0, 2.0, 3.0]), ControlCommand(1, 2, 3)])
def test_forms_of_a_command(given_: Any) -> None:
    assert around().command(given_) == ControlCommand(1.0, 2.0, 3.0)
    assert around().command(given_, steer=0.5) == ControlCommand(1.0, 2.0, 0.5)


@pytest.mark.parametrize("compat", [None, "upstream"])
def test_pedals_in_manual_mode_are_zero_until_commanded(compat: str | None) -> None:
    """Upstream leaves them uninitialised."""
    model = FakeMotion(PEDALS)
    simulator = around(model, compat=compat)
    simulator.command(accel=0.5, steer=0.1)
    simulator.request_control_mode("MANUAL")
    simulator.manual_gear(Gear.DRIVE)
    assert row(simulator, model) == (0.0, 0.0, 0.0, Gear.DRIVE, 0.0)
    simulator.manual_command(ActuationCommand(accel=0.2))
    assert row(simulator, model) == (0.2, 0.0, 0.0, Gear.DRIVE, 0.0)


def test_a_manual_control_command_cannot_drive_pedals() -> None:
    model = FakeMotion(PEDALS)
    simulator = around(model)
    with pytest.raises(InvalidValue, match="ActuationCommand"):
        simulator.manual_command(ControlCommand(acceleration=1.0))
    upstream = around(model, compat="upstream")
    upstream.manual_command(ControlCommand(acceleration=1.0))
    upstream.request_control_mode("MANUAL")
    assert row(upstream, model)[:3] == (0.0, 0.0, 0.0)
    with pytest.raises(InvalidValue, match=r"acceleration = nan"):
        upstream.manual_command(ControlCommand(acceleration=math.nan))


@pytest.mark.parametrize("method", ["gear", "manual_gear"])
@pytest.mark.parametrize("bad", [-1, 25, 255, 2.5, "OVERDRIVE", None, math.nan])
def test_gears_outside_the_enumeration(method: str, bad: Any) -> None:
    model = FakeMotion()
    simulator = around(model)
    simulator.gear(Gear.DRIVE)
    simulator.manual_gear(Gear.REVERSE)
    with pytest.raises(InvalidValue, match=r"Gear = .* is unknown; allowed are NONE = 0"):
        getattr(simulator, method)(bad)
    assert row(simulator, model)[-1] is Gear.DRIVE
    simulator.request_control_mode("MANUAL")
    assert row(simulator, model)[-1] is Gear.REVERSE
    assert simulator.rejected == {method: 1}


@pytest.mark.parametrize("model", ["DELAY_STEER_ACC_GEARED", "IDEAL_STEER_ACC_GEARED"])
def test_upstream_stops_in_a_gear_without_a_name(model: str) -> None:
    simulator = PlanningSimulator(
        model, wheel_base=2.79, compat="upstream", initialize_source="ORIGIN",
        initial_engage_state=True,
    )  # fmt: skip
    simulator.gear(Gear.DRIVE)
    simulator.command(acceleration=2.0)
    moving = [simulator.tick(0.025 * k) for k in range(80)][-1]
    assert moving.odometry is not None
    assert moving.odometry.v_x > 1.0
    simulator.gear(25)
    stopped = [simulator.tick(2.0 + 0.025 * k) for k in range(3)][-1]
    assert stopped.odometry is not None
    assert stopped.gear is not None
    assert (stopped.odometry.v_x, stopped.gear.gear) == (0.0, 25)
    for bad in (-1, 256, 2.5, "OVERDRIVE", None, math.nan):
        with pytest.raises(InvalidValue, match=r"Gear = .* is unknown"):
            simulator.gear(bad)


@pytest.mark.parametrize("gear", list(Gear))
def test_every_gear_by_number_and_name(gear: Gear) -> None:
    simulator = around()
    simulator.gear(gear.value)
    first = simulator.tick(0.0).gear
    simulator.gear("NONE")
    simulator.gear(gear.name)
    second = simulator.tick(0.0).gear
    assert first is not None
    assert first == second
    assert first.gear is gear


def test_lights_outside_their_enumerations() -> None:
    simulator = around()
    with pytest.raises(InvalidValue, match="TurnIndicators = 4 is unknown"):
        simulator.turn_indicators(4)
    with pytest.raises(InvalidValue, match="HazardLights = 3 is unknown"):
        simulator.hazard_lights(3)
    reports = simulator.tick(0.0)
    assert reports.turn_indicators is reports.hazard_lights is None
    assert simulator.rejected == {"turn_indicators": 1, "hazard_lights": 1}


def test_lights_are_reported_from_the_first_command_on_in_any_mode() -> None:
    simulator = around()
    simulator.turn_indicators(TurnIndicators.ENABLE_LEFT)
    simulator.request_control_mode("MANUAL")
    simulator.hazard_lights(2)
    reports = simulator.tick(1.0)
    assert reports.turn_indicators == (1.0, TurnIndicators.ENABLE_LEFT)
    assert reports.hazard_lights == (1.0, HazardLights.ENABLE)


def test_a_model_with_inputs_nobody_knows() -> None:
    with pytest.raises(InvalidValue, match="no command can be translated to the input thrust"):
        around(FakeMotion(("thrust",)))
