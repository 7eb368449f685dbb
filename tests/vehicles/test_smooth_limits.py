"""Limits without corners: within the limits, nearly the same car, and a problem for IPOPT."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.vehicles.parts.actuators import limited, smoothly_limited
from skidpad.vehicles.parts.spinning_wheel import FirstOrderSlip

CARS = (
    sp.vehicles.four_wheel(),
    sp.vehicles.kinematic_bicycle(),
)


@given(value=st.floats(-1e3, 1e3), limit=st.floats(1e-2, 1e3), width=st.floats(1e-3, 0.5))
def test_a_smooth_limit_holds_and_is_near(value: float, limit: float, width: float) -> None:
    smooth = smoothly_limited(value, limit, width)
    rounding = 1e-12 * (abs(value) + limit)
    assert abs(smooth) <= limit + rounding
    assert smoothly_limited(-value, limit, width) == pytest.approx(-smooth, abs=rounding)
    # A rounded corner lies at most half its width from the corner itself.
    assert abs(smooth - limited(value, limit)) <= 0.5 * width * limit + rounding


def test_a_smooth_limit_rises_everywhere() -> None:
    value = ca.SX.sym("value")
    slope = ca.Function("slope", [value], [ca.jacobian(smoothly_limited(value, 2.0, 0.05), value)])
    slopes = np.array([float(slope(v)) for v in np.linspace(-8.0, 8.0, 161)])
    assert (slopes > 0.0).all()
    assert slopes[80] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("plain", CARS, ids=lambda car: car.name)
def test_a_car_within_its_limits_is_nearly_the_same(plain: sp.Vehicle) -> None:
    smooth = sp.vehicles.with_smooth_limits(plain, 0.01)
    assert smooth.params.limit_width == 0.01
    assert smooth.limits == plain.limits
    for steer, tau in ((0.02, 20.0), (-0.1, 100.0)):
        u = plain.Input(steer, tau, -tau, tau, tau)
        x = plain.State(v_x=8.0, v_y=0.2, omega=0.3, steer=0.9 * steer)
        rates = [np.array(car.derivative(x, u)) for car in (plain, smooth)]
        np.testing.assert_allclose(rates[1], rates[0], rtol=2e-3, atol=1e-9)
    far = smooth.derivative(plain.State(v_x=8.0), plain.Input(steer=5.0, tau_fl=1e4))
    assert far.steer < plain.params.steer_rate_max
    assert far.tau_fl < plain.params.tau_max / plain.params.t_tau
    wider = sp.vehicles.with_smooth_limits(smooth, 0.1)
    assert wider.model is smooth.model
    assert wider.params.limit_width == 0.1
    assert pickle.loads(pickle.dumps(smooth)).model is smooth.model


@pytest.mark.parametrize("slip", [None, FirstOrderSlip()])
def test_a_single_track_within_its_limits_is_nearly_the_same(slip: object) -> None:
    plain = sp.vehicles.single_track(slip=slip)
    smooth = sp.vehicles.with_smooth_limits(plain, 0.01)
    assert smooth.limits == plain.limits
    u = plain.Input(steer=0.02, F_drive=500.0)
    x = plain.State(v_x=20.0, v_y=0.2, omega=0.1, steer=0.01)
    rates = [np.array(car.derivative(x, u)) for car in (plain, smooth)]
    np.testing.assert_allclose(rates[1], rates[0], rtol=2e-3, atol=1e-9)
    far = [car.derivative(x, u._replace(steer=5.0)).steer for car in (plain, smooth)]
    assert far[0] == plain.params.steer_rate_max
    assert 0.98 * far[0] < far[1] < far[0]
    assert pickle.loads(pickle.dumps(smooth)).model is smooth.model


def test_what_has_no_such_limits_says_so() -> None:
    for name in ("brains2", "commonroad_ks", "formula_student"):
        with pytest.raises(InvalidValue, match=r"no limits that can be smooth; allowed are four_w"):
            sp.vehicles.with_smooth_limits(sp.vehicles.get(name)())
    with pytest.raises(InvalidValue, match="limit_width"):
        sp.vehicles.with_smooth_limits(sp.vehicles.four_wheel(), 0.0)


def lane_change_iterations(car: sp.Vehicle, steps: int = 30, dt: float = 0.05) -> int:
    """IPOPT's iterations for a lane change of 1 m on the limit of the steering rate."""
    model = car.casadi(integrator="radau")
    opti = ca.Opti()
    x = opti.variable(len(model.x_names), steps + 1)
    u = opti.variable(2, steps)
    for k in range(steps):
        controls = ca.vertcat(u[0, k], *[100.0 * u[1, k]] * 4)
        opti.subject_to(x[:, k + 1] == model.step(x[:, k], controls, dt))
    opti.subject_to(x[:, 0] == ca.DM(car.State(v_x=10.0)))
    opti.subject_to(x[1:3, -1] == ca.DM([1.0, 0.0]))
    opti.subject_to(opti.bounded(-0.5, u[0, :], 0.5))
    opti.subject_to(opti.bounded(-2.0, u[1, :], 2.0))
    effort = 20.0 * ca.sumsqr(u[0, :]) + 0.01 * ca.sumsqr(u[1, :])
    opti.minimize(ca.sumsqr(x[1, :] - 1.0) + effort + 0.1 * ca.sumsqr(x[3, :] - 10.0))
    opti.set_initial(x, ca.repmat(ca.DM(car.State(v_x=10.0)), 1, steps + 1))
    opti.set_initial(x[0, :], 10.0 * dt * np.arange(steps + 1))
    options = {"print_level": 0, "sb": "yes", "max_iter": 100}
    opti.solver("ipopt", {"expand": True, "print_time": False}, options)
    found = opti.solve()
    rates = np.diff(found.value(x[6, :])) / dt
    assert np.abs(rates).max() <= car.params.steer_rate_max * (1.0 + 1e-6)
    assert np.abs(rates).max() > 0.8 * car.params.steer_rate_max, "the limit is felt"
    return opti.stats()["iter_count"]


@pytest.mark.slow
def test_an_optimiser_finds_its_way_along_smooth_limits() -> None:
    car = sp.vehicles.with_smooth_limits(sp.vehicles.four_wheel())
    assert lane_change_iterations(car) < 60
