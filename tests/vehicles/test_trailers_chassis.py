"""Trailers behind a car on any chassis: each balances, and what the springs carry is told."""

from __future__ import annotations

import math

import pytest

import skidpad as sp
from skidpad.vehicles.parts import SteadySlip
from skidpad.vehicles.parts.chassis import QuasiStatic, RollPitch, RollShare
from skidpad.vehicles.parts.suspension import independent_suspension
from skidpad.vehicles.twin_track.trailers import CARAVAN, DOLLY

CHASSIS = (RollShare(), QuasiStatic(), RollPitch(), independent_suspension())
WHEELS = ("fl", "fr", "rl", "rr", "left_1", "right_1")


@pytest.mark.parametrize("chassis", CHASSIS, ids=lambda chassis: type(chassis).__name__)
def test_a_car_on_every_chassis_tows(chassis: tuple[object, ...]) -> None:
    car = sp.vehicles.two_track(chassis=chassis, trailers=CARAVAN)
    x = car.model.settle(car.State(), car.params)  # type: ignore[misc]
    u, w, p = car.Input(), car.model.Disturbance(), car.params
    loads = car.model.outputs(x, u, w, p)
    carried = sum(getattr(loads, f"F_z_{wheel}") for wheel in WHEELS)
    assert carried == pytest.approx((p.m + CARAVAN.m) * p.g, rel=1e-3)
    hitch = CARAVAN.m * (1.0 - CARAVAN.l_cg / CARAVAN.l_axle) * p.g
    assert loads.F_z_hitch_1 == pytest.approx(hitch)
    assert max(map(abs, car.model.derivative(x, u, w, p))) < 1e-9  # type: ignore[misc]


def test_a_full_car_with_two_trailers_drives() -> None:
    car = sp.vehicles.full_car("suv", trailers=(DOLLY, CARAVAN), t_load=0.1, slip=SteadySlip())
    x = car.model.settle(car.State(v_x=15.0), car.params)  # type: ignore[misc]
    u, w = car.Input(steer=0.1), car.model.Disturbance()
    rates = car.model.derivative(x, u, w, car.params)  # type: ignore[misc]
    assert all(map(math.isfinite, rates))
    assert rates.steer > 0.0


def test_without_trailers_a_full_car_has_no_time_constant_of_loads() -> None:
    assert "t_load" not in sp.vehicles.full_car().params._fields
