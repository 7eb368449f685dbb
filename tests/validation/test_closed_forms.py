"""Manoeuvres with a known answer, worked out here on paper rather than by the code under test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

from skidpad import vehicles
from skidpad.core import record
from validation.reference import load, vehicle

NO_DRAG = {"C_r0": 0.0, "C_r1": 0.0, "C_r2": 0.0, "C_down": 0.0}


def car(name: str, which: str, **more: float):
    return vehicle(vehicles.get(name), load("rhs_dyn")[f"{which}/params"], **more)


def rate(model, **state: float):
    """The derivative with actuators at their targets."""
    x = record.build(model.State, **state)
    u = record.build(model.Input, **{k: state[k] for k in model.Input._fields if k in state})
    return model.derivative(x, u)


def steady_turn(model, v_x: float, steer: float) -> tuple[float, float]:
    """Lateral velocity and yaw rate at which both stand still, at a fixed speed."""

    def lateral(z: np.ndarray) -> list[float]:
        dx = rate(model, v_x=v_x, v_y=z[0], omega=z[1], steer=steer)
        return [dx.v_y, dx.omega]

    v_y, omega = fsolve(lateral, [0.0, v_x * steer / 1.5706], xtol=1e-13)
    return float(v_y), float(omega)


def understeer_gradient(model, v_x: float, steer: float) -> float:
    """Extra steering per lateral acceleration, K in steer = L / R + K a_y."""
    _, omega = steady_turn(model, v_x, steer)
    wheelbase = model.params.l_f + model.params.l_r
    return (steer - wheelbase * omega / v_x) / (v_x * omega)


@pytest.mark.parametrize("which", ["P0", "P1"])
@pytest.mark.parametrize("name", ["four_wheel"])
def test_neutral_steer_whatever_the_weight_distribution(name: str, which: str) -> None:
    """Stiffness per load is the same at both axles, and each carries the load it has to corner:
    F_yf = m a_y l_r / L on a load m g l_r / L. Both need alpha = a_y / (B C D g), so K = 0 and the
    yaw gain is v / L; the sideslip gain is l_r / L - v² / (L B C D g).
    """
    model = car(name, which, **NO_DRAG)
    p, steer = model.params, 1e-4
    wheelbase = p.l_f + p.l_r
    stiffness = p.tyre.B * p.tyre.C * p.tyre.D
    for v_x in (5.0, 15.0, 25.0):
        v_y, omega = steady_turn(model, v_x, steer)
        assert omega / steer == pytest.approx(v_x / wheelbase, rel=1e-5)
        gain = p.l_r / wheelbase - v_x**2 / (wheelbase * stiffness * p.g)
        assert v_y / v_x / steer == pytest.approx(gain, rel=1e-4, abs=1e-5)


def test_swapped_load_shares_make_the_upstream_car_oversteer() -> None:
    """With the shares exchanged, alpha_f = a_y l_r / (l_f B C D g) and the inverse at the rear:
    K = (l_r / l_f - l_f / l_r) / (B C D g), which is negative when the weight is at the rear.
    """
    model = car("brains2", "P1", steer_rate_max=1e9, **NO_DRAG)
    p = model.params
    K = (p.l_r / p.l_f - p.l_f / p.l_r) / (p.tyre.B * p.tyre.C * p.tyre.D * p.g)
    assert K < -1e-3
    for v_x in (10.0, 20.0):
        assert understeer_gradient(model, v_x, 1e-4) == pytest.approx(K, rel=1e-4)


@pytest.mark.parametrize("which", ["P0", "P1"])
@pytest.mark.parametrize("name", ["four_wheel"])
def test_lateral_modes_of_the_linear_bicycle(name: str, which: str) -> None:
    """Decay rates around straight driving against the two-state textbook model with downforce.

    Without resistance, which would brake the car and so move load to the front.
    """
    model = car(name, which, C_r0=0.0, C_r1=0.0, C_r2=0.0)
    p, v = model.params, 10.0
    total = p.m * p.g + 0.5 * p.C_down * v * v
    per_load = p.tyre.B * p.tyre.C * p.tyre.D
    C_f = per_load * total * p.l_r / (p.l_f + p.l_r)
    C_r = per_load * total * p.l_f / (p.l_f + p.l_r)
    turn = C_f * p.l_f - C_r * p.l_r
    damp = C_f * p.l_f**2 + C_r * p.l_r**2
    textbook = np.array(
        [
            [-(C_f + C_r) / (p.m * v), -turn / (p.m * v) - v],
            [-turn / (p.I_z * v), -damp / (p.I_z * v)],
        ]
    )
    h = 1e-6
    measured = np.empty((2, 2))
    for j, field in enumerate(("v_y", "omega")):
        plus, minus = rate(model, v_x=v, **{field: h}), rate(model, v_x=v, **{field: -h})
        measured[:, j] = [(plus.v_y - minus.v_y) / (2 * h), (plus.omega - minus.omega) / (2 * h)]
    scale = np.abs(textbook).max()
    np.testing.assert_allclose(measured, textbook, rtol=1e-6, atol=1e-6 * scale)


@pytest.mark.parametrize("name", ["four_wheel", "kinematic_bicycle", "brains2"])
def test_coast_down(name: str) -> None:
    """m v' = -(a + b v + c v²) has 2 c v + b = q tan(phi - q t / (2 m)), q² = 4 a c - b²."""
    model = car(name, "P0")
    p, v_0 = model.params, 15.0
    q = math.sqrt(4.0 * p.C_r0 * p.C_r2 - p.C_r1**2)
    phi = math.atan((2.0 * p.C_r2 * v_0 + p.C_r1) / q)
    # Down to 2 m/s, where tanh(v / v_0) is still one to the last digit of the comparison.
    t = np.linspace(0.0, 2.0 * p.m / q * (phi - math.atan((4.0 * p.C_r2 + p.C_r1) / q)), 20)
    expected = (q * np.tan(phi - q * t / (2.0 * p.m)) - p.C_r1) / (2.0 * p.C_r2)
    assert expected[-1] == pytest.approx(2.0)
    run = solve_ivp(
        lambda _, v: [rate(model, v_x=float(v[0])).v_x],
        (0.0, t[-1]),
        [v_0],
        method="DOP853",
        t_eval=t,
        rtol=1e-11,
        atol=1e-11,
    )
    np.testing.assert_allclose(run.y[0], expected, rtol=1e-9)


@pytest.mark.parametrize("which", ["P0", "P1"])
@pytest.mark.parametrize("tau", [-50.0, 30.0])
@pytest.mark.parametrize("name", ["four_wheel"])
def test_straight_line_load_balance(name: str, tau: float, which: str) -> None:
    """Force sum, then vertical balance and moments about the rear contact line."""
    model = car(name, which)
    p, v_x = model.params, 20.0
    torques = dict.fromkeys(("tau_fl", "tau_fr", "tau_rl", "tau_rr"), tau)
    x = record.build(model.State, v_x=v_x, **torques)
    out = model.outputs(x, record.build(model.Input, **torques))
    drag = p.C_r0 + p.C_r1 * v_x + p.C_r2 * v_x**2
    a_x = (4.0 * p.C_m0 * tau - drag) / p.m
    assert out.a_x == pytest.approx(a_x, rel=1e-12)
    assert out.a_y == pytest.approx(0.0, abs=1e-12)
    front, rear = out.F_z_fl + out.F_z_fr, out.F_z_rl + out.F_z_rr
    total = p.m * p.g + 0.5 * p.C_down * v_x**2
    assert front + rear == pytest.approx(total, rel=1e-12)
    wheelbase = p.l_f + p.l_r
    assert front * wheelbase == pytest.approx(total * p.l_r - p.m * out.a_x * p.z_cg, rel=1e-12)
    assert out.F_z_fl == pytest.approx(out.F_z_fr, rel=1e-12)


def test_kinematic_turn_obeys_newton_and_euler() -> None:
    """Constraint forces found from m a = F and I_z omega' = M must be the same on both balances.

    Lateral forces Y_f (steered) and Y_r at the axles are unknown. The lateral force balance and the
    moment balance give them; the longitudinal balance must then hold by itself.
    """
    model = vehicles.kinematic_bicycle(l_f=0.8706, l_r=0.70)
    p = model.params
    torque = {"tau_fl": 20.0, "tau_fr": 35.0, "tau_rl": 10.0, "tau_rr": 45.0}
    x = model.model.settle(record.build(model.State, v_x=3.0, steer=0.3, **torque), p)
    u = record.build(model.Input, steer=0.31, **torque)
    out, dx = model.outputs(x, u), model.derivative(x, u)
    c, s = math.cos(x.steer), math.sin(x.steer)
    X_f = p.C_m0 * (x.tau_fl + x.tau_fr)
    X_r = p.C_m0 * (x.tau_rl + x.tau_rr)
    turning = 0.5 * p.track * p.C_m0 * (c * (x.tau_fr - x.tau_fl) + x.tau_rr - x.tau_rl)
    drag = p.C_r0 + p.C_r1 * x.v_x + p.C_r2 * x.v_x**2
    balance = np.array([[c, 1.0], [p.l_f * c, -p.l_r]])
    wanted = [p.m * out.a_y - X_f * s, p.I_z * dx.omega - p.l_f * X_f * s - turning]
    Y_f, _ = np.linalg.solve(balance, wanted)
    assert p.m * out.a_x == pytest.approx(X_f * c + X_r - drag - Y_f * s, rel=1e-12)
