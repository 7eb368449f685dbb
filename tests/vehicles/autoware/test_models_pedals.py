"""Pedals, gears and slopes, worked by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from skidpad.vehicles.command_driven.models import acceleration, pedal_acceleration
from skidpad.vehicles.command_driven.records import ActuationInput
from skidpad.vehicles.parts.actuators import Gear
from skidpad.vehicles.parts.assembly import NoTable, table
from vehicles.autoware.recordings import Recording, updated


@pytest.mark.parametrize(
    ("pedal", "v_x", "gear", "slope", "expected"),
    [
        (1.0, 3.0, Gear.DRIVE, -0.4, 0.6),
        (1.0, 3.0, Gear.REVERSE_2, -0.4, -1.4),
        (1.0, 3.0, Gear.NEUTRAL, -0.4, -0.4),
        (1.0, 3.0, Gear.PARK, -0.4, 0.0),
        (0.0, 3.0, Gear.NONE, -0.4, 0.0),
        (-1.0, 3.0, Gear.REVERSE, -0.4, -1.4),
        (-1.0, -3.0, Gear.DRIVE, -0.4, 0.6),
        (-0.5, 0.0, Gear.DRIVE, -0.4, 0.0),
        (-0.3, 0.0, Gear.PARK, -0.4, -0.4),
    ],
)
def test_engine_and_brake_on_a_slope(
    pedal: float, v_x: float, gear: Gear, slope: float, expected: float
) -> None:
    assert acceleration(pedal, v_x, float(gear), slope) == pytest.approx(expected)


def without_fall_guard(**values: Any) -> Any:
    name = "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD__s01_step_steer"
    return Recording(name).vehicle(None, **values)


def test_a_braked_car_stands_on_a_slope_that_its_brake_can_hold() -> None:
    vehicle = without_fall_guard(acc_time_constant=0.1, vel_rate_lim=7.0)
    brake = vehicle.Input(acceleration=-2.0, slope=-1.0)
    held = updated(vehicle, vehicle.State(v_x=0.01, pedal=-2.0), brake, 0.02)
    assert (held.v_x, held.a_x) == (0.0, pytest.approx(-0.5))
    slipping = updated(vehicle, vehicle.State(pedal=-0.5), brake._replace(acceleration=-0.5), 0.02)
    assert slipping.v_x == pytest.approx(-0.02)
    rolling = updated(vehicle, vehicle.State(), vehicle.Input(slope=-1.0), 0.02)
    assert rolling.v_x == pytest.approx(-0.02)


ACCEL = table((0.0, 1.0), (0.0, 10.0), ((0.5, 0.0), (4.5, 3.0)))
BRAKE = table((0.0, 1.0), (0.0, 10.0), ((0.5, 0.0), (-5.5, -6.0)))


@pytest.mark.parametrize(
    ("accel", "brake", "maps", "expected"),
    [
        (0.5, 0.0, (ACCEL, BRAKE), 2.0),
        (0.5, 0.9, (ACCEL, BRAKE), 2.0),
        (0.0, 0.5, (ACCEL, BRAKE), -2.75),
        (0.0, 0.0, (ACCEL, BRAKE), 0.0),
        (-0.2, 0.0, (ACCEL, BRAKE), -0.2),
        (0.0, 0.5, (ACCEL, NoTable()), 0.0),
        (0.5, 0.5, (NoTable(), BRAKE), -2.75),
        (0.5, 0.0, (NoTable(), BRAKE), 0.5),
        (-1.5, 0.5, (NoTable(), NoTable()), -1.5),
    ],
)
def test_which_pedal_counts(
    accel: float, brake: float, maps: tuple[Any, Any], expected: float
) -> None:
    p = SimpleNamespace(accel_map=maps[0], brake_map=maps[1])
    asked = pedal_acceleration(ActuationInput(accel=accel, brake=brake), p)
    assert asked(5.0) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gear", "expected"),
    [(Gear.DRIVE, 1.0), (Gear.NEUTRAL, 0.0), (Gear.REVERSE, -2.6), (Gear.PARK, 0.0)],
)
def test_a_slope_pulls_on_the_drive_of_a_geared_car(gear: Gear, expected: float) -> None:
    # With a time constant of 0.5 s the drive moves dt / 0.5 of the way, less terms of dt squared.
    recording = Recording("ACTUATION_CMD__s15_no_conversion")
    vehicle = recording.vehicle(None, accel_time_constant=0.5, vel_rate_lim=7.0)
    u = vehicle.Input(accel=1.8, slope=-0.8, gear=float(gear))
    after = updated(vehicle, vehicle.State(), u, 1e-6)
    assert after.a_x * 0.5 / 1e-6 == pytest.approx(expected, abs=1e-5)
