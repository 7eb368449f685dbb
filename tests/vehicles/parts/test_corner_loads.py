"""Wheel loads of a sprung car: balances of force and moments, also with wheels in the air."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.vehicles.parts.load_transfer import AxleWeights, axle_weights, corner_loads


class Car(NamedTuple):
    m: float = 1200.0
    l_f: float = 1.0
    l_r: float = 1.5
    track_f: float = 1.4
    track_r: float = 1.5
    z_cg: float = 0.6
    roll_front: float = 0.6
    F_lift: float = 50.0


G = 9.81
ACCELERATION = st.floats(-12.0, 12.0)
SHARE = st.floats(0.0, 1.0)


def standing(p: Car, down: float = 0.0) -> AxleWeights:
    return axle_weights(p.m * G, down, 0.4, p)


@given(a_x=ACCELERATION, a_y=ACCELERATION, roll_front=SHARE, down=st.floats(0.0, 5000.0))
def test_loads_add_up_and_are_never_negative(
    a_x: float, a_y: float, roll_front: float, down: float
) -> None:
    p = Car(roll_front=roll_front)
    loads = corner_loads(standing(p, down), a_x, a_y, p)
    assert sum(loads) == pytest.approx(p.m * G + down, rel=1e-12)
    assert min(loads) >= -1e-9


@given(a_x=st.floats(-9.0, 9.0), a_y=st.floats(-9.0, 9.0), roll_front=SHARE)
def test_moments_about_the_ground_balance(a_x: float, a_y: float, roll_front: float) -> None:
    """The tyres push with m a at the ground, z_cg below the mass: pitch always, and roll until
    both inner wheels are up, whichever axle takes it."""
    p = Car(roll_front=roll_front)
    fl, fr, rl, rr = corner_loads(standing(p), a_x, a_y, p)
    assert p.l_f * (fl + fr) - p.l_r * (rl + rr) == pytest.approx(-p.m * a_x * p.z_cg, abs=1e-6)
    roll = 0.5 * p.track_f * (fr - fl) + 0.5 * p.track_r * (rr - rl)
    inner_f, inner_r = min(fl, fr), min(rl, rr)
    if inner_f > p.F_lift or inner_r > p.F_lift:
        assert roll == pytest.approx(p.m * a_y * p.z_cg, abs=1e-6)


def test_the_roll_share_sets_the_shift_of_each_axle() -> None:
    """roll_front m a_y z_cg / track_f on the front axle, the rest over track_r on the rear one."""
    p = Car(roll_front=0.7)
    fl, fr, rl, rr = corner_loads(standing(p), 0.0, 4.0, p)
    assert fr - fl == pytest.approx(2.0 * 0.7 * p.m * 4.0 * p.z_cg / p.track_f)
    assert rr - rl == pytest.approx(2.0 * 0.3 * p.m * 4.0 * p.z_cg / p.track_r)


def test_an_axle_with_a_lifted_wheel_passes_the_rest_on() -> None:
    p = Car(roll_front=1.0)
    fl, fr, rl, rr = corner_loads(standing(p), 0.0, 9.0, p)
    front, rear = standing(p)
    assert (fl, fr) == pytest.approx((0.0, front), abs=1e-9)
    rest = p.m * 9.0 * p.z_cg - 0.5 * p.track_f * front
    assert rr - rl == pytest.approx(2.0 * rest / p.track_r)
    assert rl + rr == pytest.approx(rear)


def test_lifting_is_smooth() -> None:
    """No jump of load or slope where a wheel leaves the road."""
    p = Car(roll_front=0.9)
    a: Any = ca.SX.sym("a")
    load = corner_loads(standing(p), 0.0 * a, a, p).fl
    function = ca.Function("slope", [a], [load, ca.jacobian(load, a)])
    grid = np.linspace(6.0, 9.5, 3501)
    values, slopes = np.array([[float(v) for v in function(at)] for at in grid.tolist()]).T
    assert np.abs(np.diff(values)).max() < 2.0 * np.abs(slopes).max() * 1e-3
    assert np.abs(np.diff(slopes)).max() < 0.05 * np.abs(slopes).max()
