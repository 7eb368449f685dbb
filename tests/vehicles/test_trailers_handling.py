"""How cars with trailers handle: geometry of slow turns, snaking, reversing and folding up.

The references are written down here for small angles, from the books: a car of mass m_1 with axles
a ahead and b behind, a hitch h behind, and a trailer of mass m_2 with its centre of mass c and its
axle L behind the hitch. Each axle pushes with C times its slip angle.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import skidpad as sp
from skidpad.core import record
from skidpad.tyres import LinearTyre
from skidpad.tyres.contract import Carcass
from skidpad.vehicles.parts import Trailer

two_track = sp.vehicles.two_track
G = 9.81
FREE = Carcass(rolling=0.0, C_z=1e9)
EVEN = LinearTyre(C_x=18.0, C_y=18.0, trail=0.0, carcass=FREE)
"""Alike in both directions, so that a locked wheel pulls straight against its motion."""
RAILS = EVEN._replace(C_x=2000.0, C_y=2000.0, mu_x=10.0, mu_y=10.0)
"""Hardly any slip."""
LOCKED = {"brake_rl": 1e5, "brake_rr": 1e5}
BY_MASS = {"z_cg": 0.0, "z_hitch": 0.0, "I_w": 1e-4, "C_drag": 0.0, "brake": 0.0}
"""Loads stay, wheels weigh nothing and the trailer has no brakes, as in the books."""


@cache
def towing(tyre: LinearTyre, **values: float) -> sp.Vehicle:
    own = Trailer(**BY_MASS | values, tyre=tyre)
    flat = {"z_cg": 0.0, "I_w": 1e-4, "C_drag": 0.0, "brake_max": 1e6, "ackermann": 1.0}
    return two_track(tyre=tyre, trailers=own, **flat)


class Linear(NamedTuple):
    """The linear car and trailer."""

    A: Any
    """Of (v_y, omega, omega of the trailer, hitch)."""

    @property
    def modes(self) -> Any:
        return np.linalg.eigvals(self.A)

    @property
    def growth(self) -> float:
        return float(self.modes.real.max())


def linear(car: sp.Vehicle, v: float, *, locked: bool = False, pull: float = 0.0) -> Linear:
    """Small motions about a straight line at a speed; a locked rear axle slows it down, and so
    does a force that pulls back at the trailer's centre of mass."""
    p, t = car.params, car.params.trailers.first
    a, b, h, c, L = p.l_f, p.l_r, p.l_r + t.behind, t.l_cg, t.l_axle
    on_hitch = t.m * (1.0 - c / L)
    front = (p.m * b - on_hitch * t.behind) / (a + b)
    rear, axle = p.m + on_hitch - front, t.m - on_hitch
    C_f, C_r, C_t = (p.tyres.tyre.C_y * G * load for load in (front, rear, axle))
    slowing = 0.0
    if locked:
        C_r = slowing = p.tyres.tyre.mu_x * G * rear
    a_x = -(slowing + pull) / (p.m + t.m)
    X = t.m * a_x + pull
    way = math.copysign(1.0, v)
    # Forces over (v_y, omega, omega of the trailer, hitch).
    Y_f = -C_f / abs(v) * np.array([1.0, a, 0.0, 0.0])
    Y_r = -C_r / abs(v) * np.array([1.0, -b, 0.0, 0.0])
    Y_t = -C_t / abs(v) * np.array([1.0, -h, -L, 0.0]) + way * C_t * np.array([0.0, 0.0, 0.0, 1.0])
    turn, folded = np.array([0.0, v, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0])
    # Rates of v_y, omega, omega of the trailer, and the force across at the hitch.
    left = np.array(
        [
            [p.m, 0.0, 0.0, 1.0],
            [0.0, p.I_z, 0.0, -h],
            [t.m, -t.m * h, -t.m * c, -1.0],
            [0.0, 0.0, t.I_z, -c],
        ]
    )
    right = np.array(
        [
            Y_f + Y_r - p.m * turn - X * folded,
            a * Y_f - b * Y_r + h * X * folded,
            Y_t - t.m * turn + t.m * a_x * folded,
            -(L - c) * Y_t,
        ]
    )
    A = np.zeros((4, 4))
    A[:3] = np.linalg.solve(left, right)[:3]
    A[3] = [0.0, -1.0, 1.0, 0.0]
    return Linear(A)


def modes(car: sp.Vehicle, v: float, *, locked: bool = False, pull: float = 0.0) -> Any:
    """Eigenvalues of the car itself about a straight line."""
    assert car.model.settle is not None
    x = car.model.settle(car.State(v_x=v), car.params)
    x = x._replace(spin_rl=0.0, spin_rr=0.0) if locked else x
    u, w = car.Input(**LOCKED if locked else {}), car.model.Disturbance(F_x_1=-pull)
    A = np.array(car.linearise_continuous(x, u, w=w).A)
    # Speed, pose and loads do not couple with what turns the car.
    names = record.names(car.State)
    across = ("v_y", "omega", "hitch_1", "hitch_rate_1")
    kept = [k for k, name in enumerate(names) if name in across or name.startswith("spin")]
    return np.linalg.eigvals(A[np.ix_(kept, kept)])


def assert_among(wanted: Any, found: Any, rel: float) -> None:
    for mode in wanted:
        nearest = found[np.argmin(abs(found - mode))]
        assert abs(nearest - mode) < rel * max(abs(mode), 0.5), (mode, nearest)


@pytest.mark.parametrize("l_cg", [3.7, 4.1])
@pytest.mark.parametrize("v", [8.0, 20.0, 35.0])
def test_modes_are_those_of_the_linear_car_and_trailer(v: float, l_cg: float) -> None:
    car = towing(EVEN, l_cg=l_cg)
    assert_among(linear(car, v).modes, modes(car, v), 2e-3)


def test_a_caravan_begins_to_snake_at_the_critical_speed() -> None:
    """Loaded at its tail, with much inertia: above the speed of the linear model it swings up."""
    car = towing(EVEN, l_cg=4.15, I_z=6000.0)
    critical: float = brentq(lambda v: linear(car, v).growth, 10.0, 60.0)  # pyright: ignore[reportAssignmentType]
    snaking = max(linear(car, critical).modes, key=lambda mode: mode.real)
    assert abs(snaking.imag) > 2.0
    for v, sign in ((0.97 * critical, -1.0), (1.03 * critical, 1.0)):
        own = modes(car, v)
        nearest = own[np.argmin(abs(own - snaking))]
        assert sign * nearest.real > 0.0


def test_load_on_the_hitch_damps_snaking() -> None:
    """The advice to load a caravan ahead of its axle."""
    growths = [modes(towing(EVEN, l_cg=l_cg, I_z=6000.0), 30.0).real for l_cg in (3.7, 4.15)]
    damping = [max(growth[growth < 20.0]) for growth in growths]
    assert damping[0] < damping[1]


@pytest.mark.parametrize("v", [4.0, -4.0])
def test_reversing_folds_at_the_rate_of_geometry(v: float) -> None:
    """On rails the angle goes with exp(-v t / L): it vanishes forwards and grows backwards."""
    car = towing(RAILS)
    wanted = -v / car.params.trailers.first.l_axle
    own = modes(car, v)
    assert own[np.argmin(abs(own - wanted))] == pytest.approx(wanted, rel=2e-3)


@pytest.mark.parametrize("pull", [0.0, 3000.0])
def test_modes_with_locked_rear_wheels_are_those_of_the_linear_model(pull: float) -> None:
    car = towing(EVEN)
    assert_among(
        linear(car, 15.0, locked=True, pull=pull).modes,
        modes(car, 15.0, locked=True, pull=pull),
        5e-3,
    )


def test_a_trailer_that_pulls_back_keeps_a_car_with_locked_rear_wheels_from_folding() -> None:
    """The threshold: from which pull on it the combination swings instead of diverging."""
    car = towing(EVEN)

    def balance(pull: float) -> float:
        return float(np.linalg.det(linear(car, 15.0, locked=True, pull=pull).A))

    assert balance(0.0) < 0.0
    threshold: float = brentq(balance, 0.0, 4e4)  # pyright: ignore[reportAssignmentType]
    for share, folds in ((0.98, True), (1.02, False)):
        own = modes(car, 15.0, locked=True, pull=share * threshold)
        assert np.any((own.real > 0.0) & (abs(own.imag) < 1e-6)) == folds


def integrated(car: sp.Vehicle, x: Any, u: Any, seconds: float) -> list[Any]:
    def rates(_: float, y: Any) -> Any:
        return record.flatten(car.derivative(car.State(*y), u))

    solved = solve_ivp(rates, (0.0, seconds), x, method="LSODA", rtol=1e-6, atol=1e-6)
    assert solved.success
    return [car.State(*y) for y in solved.y.T]


@pytest.mark.slow_cases("-0.4")
@pytest.mark.parametrize("behind", [-0.4, pytest.param(0.9, marks=pytest.mark.slow)])
def test_a_slow_turn_has_the_angle_and_the_offtracking_of_geometry(behind: float) -> None:
    """Tangents at circles: R of the rear axle, then the hitch, then the trailer's axle."""
    car = towing(RAILS, behind=behind)
    p, t, R = car.params, car.params.trailers.first, 12.0
    axle = math.sqrt(R * R + behind * behind - t.l_axle**2)
    wanted = -(math.atan2(behind, R) + math.atan2(t.l_axle, axle))
    steer, v = math.atan((p.l_f + p.l_r) / R), 3.0
    omega = v / R
    start = car.State(v_x=v, v_y=p.l_r * omega, omega=omega, steer=steer, hitch_1=wanted)
    assert car.model.settle is not None
    x = car.model.settle(start, p)
    last = integrated(car, x._replace(hitch_1=wanted + 0.1), car.Input(steer=steer), 6.0)[-1]
    assert last.hitch_1 == pytest.approx(wanted, abs=2e-3)
    out = car.outputs(last, car.Input(steer=steer))
    centre = np.array([last.x, last.y]) + R * np.array([-math.sin(last.yaw), math.cos(last.yaw)])
    centre -= p.l_r * np.array([math.cos(last.yaw), math.sin(last.yaw)])
    way = math.dist(centre, (out.x_trailer_1, out.y_trailer_1))
    assert way == pytest.approx(axle, rel=2e-3)
    assert way < R
