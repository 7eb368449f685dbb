"""The quarter car against its transfer functions, its frequencies, and its energy balance."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.vehicles.parts.suspension import (
    BumpStop,
    LinearDamper,
    LinearSpring,
    corner,
    corner_loss,
)
from vehicles.parts.quarter_car import (
    Quarter,
    QuarterState,
    quarter_energy,
    quarter_rates,
    tyre_load,
)
from vehicles.parts.sprung_car import FULL

P = Quarter(c_t=80.0)
K, C = 22000.0, 1400.0
HELD = corner(
    spring=LinearSpring(K, F_0=P.m_s * P.g), damper=LinearDamper(C), bump_stop=BumpStop(gap=0.08)
)
PLACE = st.floats(-0.1, 0.1)
SPEED = st.floats(-2.0, 2.0)


def linear() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrices of state, road height and road rate, about rest."""
    z: Any = ca.SX.sym("z", 6)
    *x, road, rate = ca.vertsplit(z)
    rates = ca.vertcat(*quarter_rates(QuarterState(*x), road, rate, HELD, P))
    J = np.array(ca.Function("J", [z], [ca.jacobian(rates, z)])(np.zeros(6)))
    return J[:, :4], J[:, 4], J[:, 5]


@pytest.mark.parametrize("f", [0.1, 1.2, 3.0, 11.0, 40.0])
def test_transfer_functions(f: float) -> None:
    """Body and wheel over road: (c s + k)(c_t s + k_t) / D and (m_s s² + c s + k)(c_t s + k_t) / D,
    with D = (m_s s² + c s + k)(m_u s² + (c + c_t) s + k + k_t) - (c s + k)²."""
    A, b, b_rate = linear()
    s = 2j * np.pi * f
    answer = np.linalg.solve(s * np.eye(4) - A, b + s * b_rate)
    between, tyre = C * s + K, P.c_t * s + P.k_t
    over = P.m_s * s**2 + between
    D = over * (P.m_u * s**2 + between + tyre) - between**2
    assert answer[0] == pytest.approx(between * tyre / D, rel=1e-10)
    assert answer[1] == pytest.approx(over * tyre / D, rel=1e-10)


def test_it_stands_where_its_springs_carry_it() -> None:
    assert quarter_rates(QuarterState(), 0.0, 0.0, HELD, P) == pytest.approx((0.0,) * 4, abs=1e-12)
    assert tyre_load(QuarterState(), 0.0, 0.0, P) == pytest.approx((P.m_s + P.m_u) * P.g)


def test_a_wheel_in_the_air_has_no_load() -> None:
    x = QuarterState(z_s=0.1, z_u=0.1)
    assert tyre_load(x, 0.0, 0.0, P) == 0.0
    assert quarter_rates(x, 0.0, 0.0, HELD, P).v_u < 0.0


@given(z_s=PLACE, z_u=PLACE, v_s=SPEED, v_u=SPEED, road=PLACE, road_rate=SPEED)
def test_power_of_the_road_is_stored_or_lost(
    z_s: float, z_u: float, v_s: float, v_u: float, road: float, road_rate: float
) -> None:
    """With any elements, on stops and in the air."""
    p, x = P._replace(c_t=0.0), QuarterState(z_s, z_u, v_s, v_u)
    z: Any = ca.SX.sym("z", 5)
    *parts, height = ca.vertsplit(z)
    gradient = ca.gradient(ca.SX(quarter_energy(QuarterState(*parts), height, FULL, p)), z)
    slope = np.array(ca.Function("slope", [z], [gradient])([*x, road])).ravel()
    rate = np.array([*quarter_rates(x, road, road_rate, FULL, p), road_rate])
    work = tyre_load(x, road, road_rate, p) * road_rate - corner_loss(FULL, v_u - v_s)
    size = np.abs(slope * rate).sum() + 1.0
    assert float(slope @ rate) == pytest.approx(work, rel=0.0, abs=1e-11 * size)


def test_frequencies_of_body_and_wheel() -> None:
    """Of lightly damped masses that differ much: the body on both springs in series, the wheel
    between them; Gillespie, eqs. 5-3 and following. Corrections are of the ratio of the masses."""
    p = Quarter(m_s=1000.0, m_u=1.0)
    held = corner(spring=LinearSpring(2e4, F_0=p.m_s * p.g), damper=LinearDamper(0.0))
    z: Any = ca.SX.sym("z", 4)
    rates = ca.vertcat(*quarter_rates(QuarterState(*ca.vertsplit(z)), 0.0, 0.0, held, p))
    J = np.array(ca.Function("J", [z], [ca.jacobian(rates, z)])(np.zeros(4)))
    low, _, high, _ = np.sort(np.abs(np.linalg.eigvals(J).imag))
    assert low == pytest.approx(np.sqrt(2e4 * p.k_t / (2e4 + p.k_t) / p.m_s), rel=1e-3)
    assert high == pytest.approx(np.sqrt((2e4 + p.k_t) / p.m_u), rel=1e-3)
