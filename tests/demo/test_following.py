"""`skidpad run VEHICLE`: whatever has a body follows its line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.control import path_following
from skidpad.demo.following import vehicle_show
from skidpad.demo.performing import perform
from skidpad.vehicles import wheeled

COMMAND_DRIVEN = ("IDEAL_STEER_VEL", "DELAY_STEER_VEL", "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD")


def furthest_off(vehicle: sp.Vehicle, **options: Any) -> float:
    """Largest distance from the line in a few seconds, in wheelbases."""
    show = vehicle_show(vehicle, 1, **options)
    motions: list[np.ndarray] = []
    outcome = perform(show, duration=5.0, keepers=[lambda segment: motions.append(segment.motion)])
    assert outcome.error is None
    line = max(show.stage.lines, key=lambda one: len(one.points))
    places = np.concatenate(motions)[:, 0, :2]
    assert np.hypot(*(places[-1] - places[0])) > 2.0 * vehicle.geometry.wheel_base
    left = path_following.nearest(np.array(line.points), places).left
    return float(np.abs(left).max()) / vehicle.geometry.wheel_base


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*sp.vehicles.names(), *COMMAND_DRIVEN])
def test_every_listed_vehicle_follows_its_line(name: str) -> None:
    assert furthest_off(sp.vehicles.get(name)()) < 0.6


@pytest.mark.parametrize("control", ["raw", "twist_pid", "twist_ideal"])
def test_a_robot_that_turns_on_the_spot_follows_its_line(control: str) -> None:
    robot = wheeled.vehicle(wheeled.differential(control=wheeled.Control(control)))
    assert furthest_off(robot, controller="pure_pursuit", speed=1.5) < 1.0


def test_wheels_that_spin_by_themselves_begin_rolling() -> None:
    car = sp.vehicles.commonroad_std()
    show = vehicle_show(car, 0, speed=9.0)
    first = show.begin(1)
    channels = show.stage.bodies[0].channels
    v, front, rear = (first.rows[0, channels[name]] for name in ("v", "omega_f", "omega_r"))
    assert v > 5.0
    assert front * car.params.R_w == pytest.approx(v)
    assert rear == front


def test_a_vehicle_without_a_body_cannot_be_run() -> None:
    car = sp.vehicles.four_wheel()
    bare = sp.Vehicle(replace(car.model, body=None), car.params)
    with pytest.raises(sp.InvalidValue, match="a run needs to know the body of 'four_wheel'"):
        vehicle_show(bare, 0)
