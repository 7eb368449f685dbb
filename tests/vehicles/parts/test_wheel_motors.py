"""Motors at four wheels: power that they share, speed beyond which they do not drive, balance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import pytest

from skidpad.vehicles.parts import WheelMotors
from skidpad.vehicles.parts.electric import WheelTorques

MOTORS = WheelMotors()
SOME = 5000


@dataclass
class Sample:
    """Torques of four motors and spins of their wheels."""

    torques: Any
    spins: Any


@pytest.fixture(scope="module")
def sample() -> Sample:
    """Also of wheels that stand, turn backwards, brake and spin far beyond the limit."""
    rng = np.random.default_rng(2)
    spins = rng.uniform(-250.0, 250.0, (4, SOME)) * rng.choice([0.0, 0.1, 1.0, 1.0], (4, SOME))
    return Sample(tuple(rng.uniform(-300.0, 300.0, (4, SOME))), tuple(spins))


def test_they_never_draw_more_than_there_is(sample: Sample) -> None:
    given = MOTORS.delivered(sample.torques, sample.spins)
    powers = MOTORS.powers(given, sample.spins)
    assert powers.P_source.max() <= MOTORS.P_max * (1.0 + 1e-12)
    # Without the limit many of them would.
    told = MOTORS.drawn(sample.torques, sample.spins)
    assert (told > MOTORS.P_max).mean() > 0.02


def test_powers_balance(sample: Sample) -> None:
    given = MOTORS.delivered(sample.torques, sample.spins)
    powers = MOTORS.powers(given, sample.spins)
    at_wheels = np.array(given) * np.array(sample.spins)
    np.testing.assert_allclose(powers.P_wheels, at_wheels.sum(axis=0), atol=1e-6)
    np.testing.assert_allclose(powers.P_source, powers.P_wheels + powers.P_lost, atol=1e-6)
    # A motor that drives takes 1 / 0.9 of its power, one that brakes gives 0.9 of it back.
    lost = np.where(at_wheels > 0.0, (1.0 / 0.9 - 1.0) * at_wheels, 0.1 * -at_wheels).sum(axis=0)
    np.testing.assert_allclose(powers.P_lost, lost, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("spin", [10.0, 60.0, 100.0, -60.0])
def test_far_below_the_limit_they_give_what_is_told(spin: float) -> None:
    """The knee takes less than knee² / (1 - r) of a power that is the share r of the limit."""
    told = (20.0, 50.0, 80.0, 50.0)
    spins = (spin,) * 4
    r = abs(sum(told) * spin) / 0.9 / MOTORS.P_max
    assert r < 0.5
    given = MOTORS.delivered(told, spins)
    assert given == pytest.approx(told, rel=2.0 * MOTORS.knee**2)
    assert WheelTorques().delivered(told, spins) == told


def test_beyond_the_limit_all_torques_keep_their_ratio() -> None:
    told, spins = (250.0, -50.0, 200.0, 150.0), (140.0, 141.0, 138.0, 142.0)
    given = MOTORS.delivered(told, spins)
    ratio = np.array(given) / np.array(told)
    assert np.ptp(ratio) < 1e-12
    # Twice the limit and more is short of it by less than a percent.
    assert 0.99 * MOTORS.P_max < MOTORS.powers(given, spins).P_source <= MOTORS.P_max


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_no_wheel_is_driven_beyond_its_largest_spin(side: float) -> None:
    top = MOTORS.top()
    fast = (side * top, side * 1.5 * top, side * 0.9 * top, 0.0)
    drive = MOTORS.delivered((side * 40.0,) * 4, fast)
    assert drive[:2] == (0.0, 0.0)
    assert drive[2:] == pytest.approx((side * 40.0,) * 2, rel=1e-3)
    brake = MOTORS.delivered((side * -40.0,) * 4, fast)
    assert brake == pytest.approx((side * -40.0,) * 4, rel=1e-3)


def test_gradients_are_finite_and_torques_continuous_through_rest() -> None:
    symbols = ca.SX.sym("t", 4), ca.SX.sym("s", 4)
    given = ca.vertcat(*MOTORS.delivered(*(tuple(ca.vertsplit(s)) for s in symbols)))
    slope = ca.Function("slope", list(symbols), [ca.jacobian(given, ca.vertcat(*symbols))])
    for torque in (-276.0, 0.0, 276.0):
        for spin in (-170.0, 0.0, 1e-9, 155.0):
            assert np.isfinite(slope([torque] * 4, [spin] * 4).full()).all()
    # One wheel passes through rest while the others are at the limit of power.
    spin = np.linspace(-1e-3, 1e-3, 101)
    busy = 140.0 + 0.0 * spin
    given = MOTORS.delivered((250.0 + 0.0 * spin,) * 4, (busy, busy, busy, spin))
    assert np.abs(np.diff(np.array(given), axis=1)).max() < 1e-2
