"""Wheels of a start by names: those that are given keep their spin, also 0, and the others roll."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad import record
from skidpad.vehicles import commonroad_mb, commonroad_std, two_track

CARS = {
    "two_track": (two_track(), "v_x"),
    "commonroad_std": (commonroad_std(), "v"),
    "commonroad_mb": (commonroad_mb(), "v_x"),
}
every_car = pytest.mark.parametrize("name", list(CARS))


def start_of(name: str) -> tuple[sp.Vehicle, sp.Simulator[Any, Any], dict[str, float]]:
    car, speed = CARS[name]
    assert car.model.fills
    return car, sp.Simulator(car, dt=0.001), {speed: 20.0}


@every_car
def test_wheels_that_nobody_names_roll(name: str) -> None:
    car, sim, moving = start_of(name)
    for x in (sim.reset(**moving), sim.reset(moving), sim.reset(car.State(**moving))):
        assert all(50.0 < getattr(x, wheel) < 80.0 for wheel in car.model.fills)


@every_car
def test_wheels_that_are_given_as_locked_are_locked(name: str) -> None:
    car, sim, moving = start_of(name)
    locked = dict.fromkeys(car.model.fills, 0.0)
    for x in (sim.reset(**moving, **locked), sim.reset(moving | locked)):
        assert all(getattr(x, wheel) == 0.0 for wheel in car.model.fills)


@every_car
@pytest.mark.parametrize("spin", [0.0, 3.0])
def test_one_wheel_that_is_given_leaves_the_others_rolling(name: str, spin: float) -> None:
    car, sim, moving = start_of(name)
    one, *others = car.model.fills
    rolling = sim.reset(**moving)
    x = sim.reset(**moving, **{one: spin})
    assert getattr(x, one) == spin
    assert x == rolling._replace(**{one: spin})
    assert others


@every_car
def test_a_whole_state_with_turning_wheels_stays_as_it_is(name: str) -> None:
    car, sim, moving = start_of(name)
    x = sim.reset(**moving)._replace(**{car.model.fills[0]: 1.0, car.model.fills[1]: 0.0})
    assert sim.reset(x) == x
    assert sim.reset(record.flatten(x)) == x


@every_car
def test_fleets_start_alike(name: str) -> None:
    car, sim, moving = start_of(name)
    for fields in (moving, moving | {car.model.fills[0]: 0.0}):
        x = sim.reset(fields)
        fleet = sp.Fleet(car, dt=0.001, integrator=sim.integrator.name)
        sim.step()
        states = fleet.rollout(fields, {}, steps=1)
        assert np.asarray(states)[-1].ravel() == pytest.approx(record.flatten(sim.state), rel=1e-12)
        assert x == sim.reset(fields)
