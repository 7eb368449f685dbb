"""Axles of a single track, and who gets how much of a force."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

import skidpad as sp
from skidpad.tyres import BrushTyre, Contact
from skidpad.tyres.contract import Carcass, mounted
from skidpad.vehicles.bicycle import AxleMotion, GripShare, axle_forces, pitched_loads
from skidpad.vehicles.parts.actuators import front_share
from skidpad.vehicles.parts.load_transfer import AxleWeights
from skidpad.vehicles.parts.spinning_wheel import SteadySlip

FREE = Carcass(rolling=0.0)
SHARE = GripShare(0.95, 50.0)


def motion(v_y: float = 0.0, demand: float = 0.0, v_x: float = 20.0) -> AxleMotion:
    return AxleMotion(8000.0, v_x, v_y, 0.1, 1.0, demand)


@pytest.mark.parametrize("v_y", [0.2, 1.0, 5.0])
def test_it_is_two_tyres_under_half_the_load(v_y: float) -> None:
    tyre = BrushTyre(carcass=FREE)
    f = axle_forces(tyre, SteadySlip(), 0.0, motion(v_y), SHARE)
    one = tyre.forces(Contact(F_z=4000.0, alpha=math.atan(v_y / 20.0)))
    assert (f.F_x, f.F_y, f.M_z) == pytest.approx((0.0, 2.0 * one.F_y, 2.0 * one.M_z), rel=1e-12)


def test_a_tyre_that_pulls_has_its_mirror_image_beside_it() -> None:
    """Odd in the slip, and the mean of the two sides."""
    tyre = sp.tyres.get("passenger_car").record
    at = motion(0.4)._replace(omega=0.0)
    there, back, straight = (
        axle_forces(tyre, SteadySlip(), 0.0, at._replace(v_y=v), SHARE) for v in (0.4, -0.4, 0.0)
    )
    assert there.F_y == pytest.approx(-back.F_y, rel=1e-12)
    assert straight.F_y == straight.M_z == 0.0
    one = mounted(tyre, Contact(F_z=4000.0, v_x=20.0, omega=60.0, p=tyre.pressure), 1.0)
    assert one.F_y != 0.0


@pytest.mark.parametrize("demand", [-4000.0, 2000.0])
def test_it_gives_the_force_that_is_asked_for_as_long_as_it_grips(demand: float) -> None:
    tyre = BrushTyre(carcass=FREE)
    f = axle_forces(tyre, SteadySlip(), 0.0, motion(0.4, demand), SHARE)
    free = axle_forces(tyre, SteadySlip(), 0.0, motion(0.4), SHARE)
    assert f.F_x == pytest.approx(demand, rel=2e-3)
    assert f.F_y == pytest.approx(free.F_y * math.sqrt(1.0 - (f.F_x / 8000.0) ** 2), rel=1e-9)
    most = axle_forces(tyre, SteadySlip(), 0.0, motion(0.4, 100.0 * demand), SHARE).F_x
    assert most == pytest.approx(math.copysign(0.95 * 8000.0, demand))


@pytest.mark.parametrize("a_x", [-30.0, -8.0, 0.0, 5.0, 30.0])
def test_loads_add_up_and_balance_the_pitch(a_x: float) -> None:
    p: Any = SimpleNamespace(m=1000.0, l_f=1.0, l_r=1.5, z_cg=0.6, F_lift=50.0)
    loads = pitched_loads(AxleWeights(6000.0, 4000.0), a_x, p)
    assert sum(loads) == pytest.approx(10e3)
    assert min(loads) >= 0.0
    if abs(a_x) < 10.0:
        assert loads.front == pytest.approx(6000.0 - 1000.0 * 0.6 * a_x / 2.5)


@pytest.mark.parametrize(
    ("force", "v_x", "share"),
    [(1e3, 10.0, 0.2), (-1e3, 10.0, 0.7), (-1e3, 0.0, 0.2), (-1e3, -3.0, 0.2), (1e3, -3.0, 0.7)],
    ids=["drives", "brakes", "sets out backwards", "drives backwards", "brakes backwards"],
)
def test_what_is_against_the_motion_is_braking(force: float, v_x: float, share: float) -> None:
    assert front_share(force, v_x, 0.2, 0.7, 0.5) == pytest.approx(share)
