"""Springs, dampers, bars and stops: force is the slope of energy, dampers take, stops push."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.core import record
from skidpad.vehicles.parts.actuators import ramp, ramp_integral
from skidpad.vehicles.parts.suspension import (
    AntiRollBar,
    BumpStop,
    KneedDamper,
    LinearDamper,
    LinearSpring,
    ProgressiveSpring,
    corner,
    corner_energy,
    corner_force,
    corner_loss,
)
from vehicles.parts.sprung_car import FULL

TRAVEL = st.floats(-0.15, 0.15)
RATE = st.floats(-3.0, 3.0)
PLAIN = corner(spring=LinearSpring(25000.0, 2600.0), damper=LinearDamper(1500.0))


@pytest.mark.parametrize("held", [PLAIN, FULL], ids=["plain", "full"])
@given(travel=TRAVEL, other=TRAVEL)
def test_force_is_the_slope_of_energy(held: Any, travel: float, other: float) -> None:
    """Of both corners of an axle together: each has half of the bar."""
    z: Any = ca.SX.sym("z")
    total = corner_energy(held, z, other) + corner_energy(held, other, z)
    slope = ca.Function("slope", [z], [ca.gradient(ca.SX(total), z)])
    want = corner_force(held, travel, 0.0, other)
    assert float(slope(travel)) == pytest.approx(want, rel=1e-9, abs=1e-7)


@given(rate=RATE)
def test_dampers_take_and_never_give(rate: float) -> None:
    assert corner_loss(FULL, rate) >= 0.0
    assert corner_loss(PLAIN, rate) == pytest.approx(1500.0 * rate * rate, rel=1e-14)


def test_slopes_of_a_damper() -> None:
    """Slow and fast, in bump and in rebound; the knees are where they are said to be."""
    damper = KneedDamper(v_bump=0.5, v_rebound=0.4, width=1e-3)
    v: Any = ca.SX.sym("v")
    slope = ca.Function("c", [v], [ca.gradient(ca.SX(damper.force(v)), v)])
    for rate, want in ((0.2, 1200.0), (2.0, 500.0), (-0.2, 2400.0), (-2.0, 900.0)):
        assert float(slope(rate)) == pytest.approx(want, rel=1e-4)
    assert float(slope(0.5)) == pytest.approx(0.5 * (1200.0 + 500.0), rel=1e-4)
    assert float(slope(-0.4)) == pytest.approx(0.5 * (2400.0 + 900.0), rel=1e-4)
    assert damper.force(0.0) == 0.0
    assert damper.force(2.0) == pytest.approx(1200.0 * 0.5 + 500.0 * 1.5, rel=1e-3)
    assert damper.force(-2.0) == pytest.approx(-(2400.0 * 0.4 + 900.0 * 1.6), rel=1e-3)


def test_a_damper_never_falls_with_the_rate() -> None:
    rates: Any = np.linspace(-3.0, 3.0, 6001)
    assert np.all(np.diff(KneedDamper(width=0.05).force(rates)) > 0.0)


def test_a_progressive_spring() -> None:
    spring = ProgressiveSpring(k=2e4, k_2=1e5, k_3=1e6, F_0=100.0)
    assert spring.force(0.1) == pytest.approx(100.0 + 2000.0 + 1000.0 + 1000.0)
    assert spring.energy(0.1) == pytest.approx(10.0 + 100.0 + 100.0 / 3.0 + 25.0)
    assert ProgressiveSpring(k=2e4, F_0=100.0).force(-0.03) == LinearSpring(2e4, 100.0).force(-0.03)


def test_stops_only_push_and_come_in_smoothly() -> None:
    stop = BumpStop(gap=0.05, k=1e5, width=0.01)
    assert stop.force(0.04) == 0.0 == stop.energy(0.04)
    assert stop.force(0.08) == pytest.approx(3000.0, rel=1e-12)
    z: Any = ca.SX.sym("z")
    first = ca.gradient(ca.SX(stop.force(z)), z)
    both = ca.Function("k", [z], [first, ca.gradient(first, z)])
    for at in (0.04, 0.06):
        below, above = (np.array(both(at + d), dtype=float).ravel() for d in (-1e-9, 1e-9))
        assert below[0] == pytest.approx(above[0], abs=1.0)
        assert below[1] == pytest.approx(above[1], abs=10.0)
    grid: Any = np.linspace(0.0, 0.1, 1001)
    assert np.all(stop.force(grid) >= 0.0)


def test_the_ramp_and_its_integral() -> None:
    x = np.linspace(-3.0, 4.0, 70001)
    area = np.concatenate(([0.0], np.cumsum(0.5 * (ramp(x, 1.5)[1:] + ramp(x, 1.5)[:-1])))) * 1e-4
    assert ramp_integral(x, 1.5) == pytest.approx(area, abs=1e-7)
    assert ramp_integral(2.0, 1.5) == pytest.approx(2.0 + 0.225, rel=1e-12)


def test_the_ratio_acts_squared() -> None:
    """Wheel rate and damping are those of the elements times the square of the ratio."""
    held = corner(ratio=0.6, spring=LinearSpring(1e5), damper=LinearDamper(4000.0))
    assert corner_force(held, 0.01, 0.0, 0.01) == pytest.approx(0.36 * 1000.0)
    assert corner_force(held, 0.0, 0.5, 0.0) == pytest.approx(0.36 * 2000.0)


def test_a_bar_has_the_moment_of_roll() -> None:
    """Half a track times the roll on each side: k track² per rad, and nothing in bounce."""
    held, track, roll = corner(bar=AntiRollBar(1e4), spring=LinearSpring(1e-9)), 1.4, 0.02
    down, up = 0.5 * track * roll, -0.5 * track * roll
    right, left = corner_force(held, down, 0.0, up), corner_force(held, up, 0.0, down)
    assert 0.5 * track * (right - left) == pytest.approx(1e4 * track**2 * roll, rel=1e-9)
    assert corner_force(held, 0.03, 0.0, 0.03) == pytest.approx(0.0, abs=1e-9)


def test_every_number_is_a_leaf_and_the_class_says_the_rest() -> None:
    assert "damper.c_rebound" in record.names(type(FULL))
    assert "spring.k_3" in record.names(type(FULL))
    assert type(FULL) is not type(PLAIN)
    assert type(corner()) is type(corner(spring=LinearSpring(3.0)))
    assert pickle.loads(pickle.dumps(FULL)) == FULL
    assert all(leaf.doc for leaf in record.fields(type(FULL)))
