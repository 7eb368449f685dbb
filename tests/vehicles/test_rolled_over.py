"""Cars that roll over: their equations are those of small angles, and end with a word."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest

import skidpad as sp
from skidpad.vehicles.parts.chassis import RollPitch
from skidpad.vehicles.parts.load_transfer import UPRIGHT
from skidpad.vehicles.parts.suspension import independent_suspension

G = 9.81


@cache
def top_heavy() -> sp.Vehicle:
    return sp.vehicles.full_car("suv", z_cg=1.0)


def rates(car: sp.Vehicle, **state: float) -> Any:
    x = car.State(**state)
    return car.model.derivative(x, car.Input(), car.model.Disturbance(), car.params)  # type: ignore[misc]


@pytest.mark.parametrize("angle", ["roll", "pitch"])
@pytest.mark.parametrize("chassis", [RollPitch(), independent_suspension()], ids=["3", "7"])
def test_equations_end_where_angles_are_no_longer_small(chassis: Any, angle: str) -> None:
    car = sp.vehicles.two_track(chassis=chassis)
    for sign in (-1.0, 1.0):
        assert all(map(math.isfinite, rates(car, **{angle: sign * (UPRIGHT - 1e-6)})))
        assert math.isnan(getattr(rates(car, **{angle: sign * (UPRIGHT + 1e-6)}), f"{angle}_rate"))


def test_a_car_that_rolls_over_says_so() -> None:
    """It tips by statics: with its tyres it grips more than track / (2 z_cg)."""
    car = top_heavy()
    p = car.params
    assert car.limits.grip > 0.5 * max(p.track_f, p.track_r) / p.z_cg * G
    sim = sp.Simulator(car, dt=0.001)
    sim.reset(v_x=25.0)
    with pytest.raises(sp.SimulationDiverged, match="rolled over: roll") as caught:
        sim.run({"steer": 0.15}, duration=6.0)
    assert abs(caught.value.last_state.roll) == pytest.approx(UPRIGHT, rel=0.1)


def test_and_in_a_fleet() -> None:
    fleet = sp.Fleet(top_heavy(), dt=0.001)
    with pytest.raises(sp.SimulationDiverged, match="rolled over: roll"):
        fleet.rollout({"v_x": 25.0}, {"steer": 0.15}, steps=3000, every=3000)
