"""Roll, pitch and heave: natural frequencies, damping and energy in closed form."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.vehicles.parts.chassis import (
    Pressed,
    RollPitch,
    RollPitchState,
    roll_stiffness,
    sprung_mass,
)
from skidpad.vehicles.parts.kinematics import Acceleration
from vehicles.parts.sprung_car import BY_HAND, G, Moving, P, acting

RATE = st.floats(-1.0, 1.0)
ANGLE = st.floats(-0.05, 0.05)


def matrix(chassis: RollPitch) -> np.ndarray:
    """The Jacobian of the rates, without push of tyres and air."""
    z: Any = ca.SX.sym("z", 6)
    x: Any = Moving(0.0, 0.0, *ca.vertsplit(z))
    rates = ca.vertcat(*chassis.rates(x, acting(Acceleration(0.0, 0.0)), P))
    return np.array(ca.Function("A", [z], [ca.jacobian(rates, z)])(np.zeros(6)))


def frequencies(A: np.ndarray) -> np.ndarray:
    return np.sort(np.abs(np.linalg.eigvals(A).imag))[1::2]


def test_natural_frequency_and_damping_of_roll() -> None:
    """omega² = (K - m_s g h) / I, with I about the common centre of body and wheels."""
    chassis = RollPitch(BY_HAND, c_f=900.0, c_r=1100.0)
    body, K = sprung_mass(BY_HAND, P), sum(roll_stiffness(BY_HAND, P))
    m_u = P.m - body.m
    inertia = chassis.I_x + body.m * m_u / P.m * body.arm**2
    C = 0.5 * (900.0 * P.track_f**2 + 1100.0 * P.track_r**2)
    omega = math.sqrt((K - body.m * G * body.arm) / inertia)
    zeta = 0.5 * C / (inertia * omega)
    modes = np.linalg.eigvals(matrix(chassis)[:2, :2])
    assert np.abs(modes) == pytest.approx([omega, omega], rel=1e-12)
    assert modes.real == pytest.approx([-zeta * omega] * 2, rel=1e-12)


def test_natural_frequencies_of_bounce_and_pitch() -> None:
    """Without damping the roots of the two by two equations (Gillespie, eqs. 5-26 to 5-30)."""
    chassis = RollPitch(BY_HAND, c_f=0.0, c_r=0.0)
    body, s = sprung_mass(BY_HAND, P), BY_HAND
    alpha = 2.0 * (s.k_f + s.k_r) / body.m
    beta = 2.0 * (s.k_r * body.l_r - s.k_f * body.l_f) / body.m
    gamma = 2.0 * (s.k_f * body.l_f**2 + s.k_r * body.l_r**2) / chassis.I_y
    apart = math.sqrt(0.25 * (alpha - gamma) ** 2 + beta**2 * body.m / chassis.I_y)
    want = [math.sqrt(0.5 * (alpha + gamma) + sign * apart) for sign in (-1.0, 1.0)]
    assert frequencies(matrix(chassis)[2:, 2:]) == pytest.approx(want, rel=1e-12)


def test_uncoupled_bounce_and_pitch() -> None:
    """With k_f l_f = k_r l_r both have the frequency of one mass on one spring."""
    body = sprung_mass(BY_HAND, P)
    s = BY_HAND._replace(k_r=BY_HAND.k_f * body.l_f / body.l_r)
    chassis = RollPitch(s, c_f=0.0, c_r=0.0)
    bounce = math.sqrt(2.0 * (s.k_f + s.k_r) / body.m)
    pitch = math.sqrt(2.0 * (s.k_f * body.l_f**2 + s.k_r * body.l_r**2) / chassis.I_y)
    want = sorted((bounce, pitch))
    assert frequencies(matrix(chassis)[2:, 2:]) == pytest.approx(want, rel=1e-12)


@given(
    roll=ANGLE, roll_rate=RATE, pitch=ANGLE, pitch_rate=RATE, heave=ANGLE, heave_rate=RATE,
    a_x=st.floats(-8.0, 8.0), a_y=st.floats(-8.0, 8.0), load_a_x=st.floats(-8.0, 8.0),
)  # fmt: skip
def test_power_of_the_tyres_is_stored_or_lost(
    a_x: float, a_y: float, load_a_x: float, **motion: float
) -> None:
    """The force at the patches times what the motion of the body adds to their velocity, and that
    of the air on the axles, is the rate of the energy and the loss of the dampers."""
    s = BY_HAND._replace(anti_dive=0.4, anti_lift_r=0.2, anti_squat=0.6, anti_lift_f=0.1)
    chassis, air = RollPitch(s), Pressed(200.0, 350.0)
    v = (12.0, -0.7)

    class Driving(Moving):
        v_x, v_y = v

    x: Any = Driving(load_a_x=load_a_x, **motion)
    rate = chassis.rates(x, acting(Acceleration(a_x, a_y), air), P)
    patches = chassis.carried(x, P)[0]
    at = chassis.compression(x, P)
    power = P.m * (a_x * (patches.x - v[0]) + a_y * (patches.y - v[1]))
    power += air.front * at.front_rate + air.rear * at.rear_rate
    leaves = x[2:]
    z: Any = ca.SX.sym("z", 6)
    symbols: Any = Moving(load_a_x, 0.0, *ca.vertsplit(z))
    gradient = ca.gradient(ca.SX(chassis.energy(symbols, G, P)), z)
    slope = np.array(ca.Function("slope", [z], [gradient])(leaves)).ravel()
    terms = slope * np.array(rate)
    loss = chassis.loss(x, P)
    assert loss >= 0.0
    size = np.abs(terms).sum() + abs(power) + loss
    assert terms.sum() == pytest.approx(power - loss, rel=0.0, abs=1e-12 * (size + 1.0))


def test_energy_is_least_at_rest() -> None:
    chassis = RollPitch(BY_HAND)
    rng = np.random.default_rng(5)
    for row in rng.uniform(-0.1, 0.1, (50, 6)):
        assert chassis.energy(Moving(0.0, 0.0, *row), G, P) > 0.0
    assert chassis.energy(Moving(), G, P) == 0.0


def test_signs() -> None:
    """To the left the right side goes down; in braking the nose; downforce sinks the body."""
    chassis, x = RollPitch(BY_HAND), Moving()
    assert chassis.rates(x, acting(Acceleration(0.0, 3.0)), P).roll_rate > 0.0
    assert chassis.rates(x, acting(Acceleration(-3.0, 0.0)), P).pitch_rate > 0.0
    assert chassis.rates(x, acting(Acceleration(0.0, 0.0), Pressed(9.0, 9.0)), P).heave_rate < 0.0
    assert RollPitchState._fields == tuple(Moving._fields[2:])
