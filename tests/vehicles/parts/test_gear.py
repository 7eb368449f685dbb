"""Gears: which way each may go."""

from __future__ import annotations

import pytest

from skidpad.vehicles.parts.actuators import (
    Gear,
    driven_acceleration,
    drives_nowhere,
    forbids,
    is_locked,
    is_neutral,
    is_reverse,
)

FORWARD = [*range(2, 20), 23, 24]
"""autoware_vehicle_msgs/GearCommand: DRIVE to DRIVE_18, LOW, LOW_2."""
REVERSE = [20, 21]
STANDING = [0, 1, 22]


def test_the_numbers_are_those_of_the_message() -> None:
    assert [gear.value for gear in Gear] == list(range(25))
    named = (Gear.DRIVE, Gear.DRIVE_18, Gear.REVERSE, Gear.PARK, Gear.LOW_2)
    assert [gear.value for gear in named] == [2, 19, 20, 22, 24]


@pytest.mark.parametrize("gear", range(25))
def test_a_gear_is_in_one_set(gear: int) -> None:
    assert is_reverse(float(gear)) == (gear in REVERSE)
    assert drives_nowhere(float(gear)) == (gear in STANDING)
    assert is_locked(float(gear)) == (gear in (0, 22))
    assert is_neutral(float(gear)) == (gear == 1)


@pytest.mark.parametrize("gear", range(25))
def test_a_car_goes_only_the_way_of_its_gear(gear: int) -> None:
    allowed = {v for v in (-1.0, 0.0, 1.0) if not forbids(float(gear), v)}
    if gear in FORWARD:
        assert allowed == {0.0, 1.0}
    elif gear in REVERSE:
        assert allowed == {-1.0, 0.0}
    else:
        assert allowed == set()


def test_a_number_without_a_name_goes_nowhere() -> None:
    assert drives_nowhere(25.0)
    assert forbids(200.0, 0.0)


def test_acceleration_goes_with_the_gear_and_slope_with_the_road() -> None:
    assert driven_acceleration(2.0, float(Gear.DRIVE), -0.5) == 1.5
    assert driven_acceleration(2.0, float(Gear.REVERSE), -0.5) == -2.5
    assert driven_acceleration(2.0, float(Gear.NEUTRAL), -0.5) == 1.5
    assert driven_acceleration(2.0, float(Gear.PARK), -0.5) == 0.0
