"""Radau IIA: stability, block structure, exact Jacobians, what the residual says, a stiff car."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from integrate.problems import traced
from skidpad import integrate, ops
from skidpad.core import record
from skidpad.errors import TraceError
from skidpad.integrate.collocation import radau_tableau
from skidpad.integrate.derivatives import column, linearised, symbols_besides
from skidpad.integrate.elimination import Kind, components, factorise, find_blocks, inverse
from skidpad.integrate.radau import RESIDUAL_TOLERANCE, Radau
from skidpad.vehicles import four_wheel

STAGES = (2, 3, 4)


def pade(stages: int, z: float) -> float:
    """The Padé approximant of exp with degrees (s - 1, s): the stability function of Radau IIA.

    Hairer, Wanner, Solving Ordinary Differential Equations II, theorem IV.3.11 and section IV.5.
    """
    k, j = stages - 1, stages

    def polynomial(degree: int, other: int, at: Fraction) -> Fraction:
        factorial = math.factorial
        return sum(
            Fraction(
                math.comb(degree, i) * factorial(degree + other - i), factorial(degree + other)
            )
            * at**i
            for i in range(degree + 1)
        )

    exact = Fraction(z)
    return float(polynomial(k, j, exact) / polynomial(j, k, -exact))


def linear_step(stages: int, z: float) -> float:
    """One step of x' = z x from 1 over a time of 1."""
    step = traced(Radau(stages), lambda x: (z * x[0],), 1)
    return float(step(1.0, 1.0)[0])


@pytest.mark.parametrize("z", [-0.1, -1.0, -10.0, -1e3, 0.5])
@pytest.mark.parametrize("stages", STAGES)
def test_stability_function(stages: int, z: float) -> None:
    assert linear_step(stages, z) == pytest.approx(pade(stages, z), rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("stages", STAGES)
def test_stiff_components_vanish(stages: int) -> None:
    assert abs(linear_step(stages, -1e6)) < 1e-5
    assert abs(linear_step(stages, -1e12)) < 1e-11


@pytest.mark.parametrize("stages", STAGES)
def test_undamped_oscillation_does_not_grow(stages: int) -> None:
    for frequency in (0.1, 1.0, 3.0, 10.0, 1e3, 1e6):
        step = traced(Radau(stages), lambda x, w=frequency: (w * x[1], -w * x[0]), 2)
        assert np.linalg.norm(np.array(step([0.6, 0.8], 1.0)[0])) <= 1.0 + 1e-9


def test_stiff_actuator() -> None:
    """A lag of 1 ms stepped by 10 ms: the method's own factor, and the right value in the end."""
    step = traced(Radau(), lambda x: ((5.0 - x[0]) * (1.0 / 1e-3),), 1)
    first = float(step(0.0, 0.01)[0])
    assert first == pytest.approx(5.0 * (1.0 - pade(3, -10.0)), rel=1e-12)
    x = 0.0
    for _ in range(8):
        x = float(step(x, 0.01)[0])
    assert x == pytest.approx(5.0, abs=1e-8)
    fine = 0.0
    for _ in range(20):
        fine = float(step(fine, 0.0005)[0])
    assert fine == pytest.approx(5.0 * (1.0 - math.exp(-10.0)), rel=1e-6)


def collocation_defect(stages: int, f: Any, x: float, dt: float, end: float) -> float:
    """How far `end` is from a solution of the scalar collocation equations, by another solver."""
    from scipy.optimize import fsolve

    a = np.array(radau_tableau(stages).a, dtype=float)

    def equations(d: Any) -> Any:
        return d - dt * a @ np.array([f(x + di) for di in d])

    guess = np.array(radau_tableau(stages).c, dtype=float) * (end - x)
    return float(abs(fsolve(equations, guess, xtol=1e-13)[-1] + x - end))


@pytest.mark.parametrize("target", [-0.5, -0.03, 0.0, 0.021, 0.026, 0.035, 0.5])
@pytest.mark.parametrize("stages", STAGES)
def test_rate_limit_inside_a_step(stages: int, target: float) -> None:
    def f(x: Any) -> Any:
        return ops.clip((target - x) * (1.0 / 0.02), -1.0, 1.0)

    step = traced(Radau(stages), lambda x: (f(x[0]),), 1)
    after, residual = (float(v) for v in step(0.0, 0.01))
    assert residual < 1e-20
    assert abs(after) <= 0.01 + 1e-15
    assert collocation_defect(stages, f, 0.0, 0.01, after) < 1e-12


def car_symbols() -> tuple[Any, Any, Any]:
    """States, rates and constants of the four-wheel car as columns of symbols."""
    model = four_wheel().model
    kinds = (model.Input, model.Disturbance, model.Params)
    u, w, p = (record.unflatten(k, [ca.SX.sym(n) for n in record.names(k)]) for k in kinds)
    states = column(ca.SX.sym(n) for n in record.names(model.State))
    assert model.derivative is not None
    x = record.unflatten(model.State, ca.vertsplit(states))
    rates = column(ca.SX(r) for r in record.flatten(model.derivative(x, u, w, p)))
    return states, rates, symbols_besides(rates, states)


def test_blocks_of_the_car() -> None:
    states, rates, free = car_symbols()
    names = record.names(four_wheel().model.State)
    found = [
        ({names[i] for i in block.states}, block.kind) for block in find_blocks(rates, states, free)
    ]
    assert found == [
        ({"steer"}, Kind.PIECEWISE_LINEAR),
        ({"tau_fl"}, Kind.LINEAR),
        ({"tau_fr"}, Kind.LINEAR),
        ({"tau_rl"}, Kind.LINEAR),
        ({"tau_rr"}, Kind.LINEAR),
        ({"v_x", "v_y", "omega"}, Kind.NONLINEAR),
        ({"yaw"}, Kind.QUADRATURE),
        ({"x"}, Kind.QUADRATURE),
        ({"y"}, Kind.QUADRATURE),
    ]


def test_components_come_after_what_they_need() -> None:
    # 0 needs 3; 1 and 2 need each other and 0; 3 needs nothing.
    pattern = np.zeros((4, 4), dtype=bool)
    for i, j in [(0, 3), (1, 2), (2, 1), (1, 0)]:
        pattern[i, j] = True
    assert components(pattern) == [(3,), (0,), (1, 2)]


@pytest.mark.parametrize("size", [0, 1, 3, 6])
def test_components_are_the_states_that_reach_each_other(size: int) -> None:
    rng = np.random.default_rng(size)
    for share in (0.0, 0.1, 0.2, 0.3, 0.5, 1.0):
        pattern = rng.random((size, size)) < share
        paths = pattern | np.eye(size, dtype=bool)
        reach = np.linalg.matrix_power(paths.astype(int), max(size, 1)) > 0
        found = components(pattern)
        together = {i: set(np.flatnonzero(reach[i] & reach[:, i]).tolist()) for i in range(size)}
        assert {i: set(members) for members in found for i in members} == together
        assert sorted(i for members in found for i in members) == list(range(size))
        before: set[int] = set()
        for members in found:
            before |= set(members)
            assert set(np.flatnonzero(reach[list(members)].any(axis=0)).tolist()) <= before


def test_jacobian_of_the_car_is_casadis() -> None:
    states, rates, free = car_symbols()
    result = linearised(rates, states)
    reference = ca.jacobian(rates, states)
    compare = ca.Function("compare", [states, free], [*result, rates, reference])
    car = four_wheel()
    known = dict(zip(record.names(car.model.Params), record.flatten(car.params), strict=True))
    known |= {"F_x": 10.0, "F_y": -20.0, "M_z": 5.0, "mu_scale": 0.9}
    inputs = {"tau_fl": 10.0, "tau_fr": 12.0, "tau_rl": 14.0, "tau_rr": 16.0, "steer": 0.1}
    constants = [(known | inputs)[free[i].name()] for i in range(free.numel())]
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.uniform(-0.3, 0.3, 11) + np.array([0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0])
        ours, slopes, theirs, wanted = (np.array(v) for v in compare(x, constants))
        assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-12)
        assert slopes == pytest.approx(wanted, rel=1e-10, abs=1e-9)


def test_jacobian_takes_fewer_divisions_than_casadi() -> None:
    states, rates, free = car_symbols()
    moving, velocity = states[3:6], rates[3:6]
    result = linearised(velocity, moving)
    direct = [velocity, ca.jacobian(velocity, moving)]
    counts = []
    for outputs in ([*result], direct):
        function = ca.Function("f", [states, free], outputs, {"cse": True})
        codes = [function.instruction_id(k) for k in range(function.n_instructions())]
        counts.append((codes.count(ca.OP_DIV) + codes.count(ca.OP_INV), len(codes)))
    assert counts[0][0] < counts[1][0] / 2
    assert counts[0][1] < counts[1][1]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: ops.atan2(y, x) + ops.hypot(x, y),
        lambda x, y: ops.tanh(x) * ops.exp(-y) / (1.0 + x * x),
        lambda x, y: ops.sqrt(x * x + y) - ops.log(y) + ops.abs(x),
        lambda x, y: ops.where(x < y, x * y, x / y) + ops.minimum(x, y * y) - ops.maximum(x, 0.2),
        lambda x, y: ops.asin(0.3 * x) * ops.cosh(y) + ops.tan(x) + ops.pow(y, 3.0),
        lambda x, y: ops.sin(x) * ops.cos(y) + ops.floor(3.3 * x) * y + ops.sign(x - y) * x,
    ],
)
def test_jacobian_rules(function: Any) -> None:
    z = ca.SX.sym("z", 2)
    outputs = column([function(z[0], z[1]), z[0] * function(z[1], z[0])])
    result = linearised(outputs, z)
    ours, reference = ca.Function("f", [z], [*result]), ca.Function("g", [z], [outputs])
    for point in ([0.31, 0.72], [0.83, 0.44], [0.12, 0.95]):
        values, slopes = (np.array(v) for v in ours(point))
        assert values == pytest.approx(np.array(reference(point)), rel=1e-14)
        step = 1e-6
        for j in range(2):
            ahead, behind = (np.array(point) + s * step * np.eye(2)[j] for s in (1, -1))
            change = (np.array(reference(ahead)) - np.array(reference(behind))).ravel()
            assert slopes[:, j] == pytest.approx(change / (2 * step), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
def test_inverse(size: int) -> None:
    a = ca.SX.sym("a", size, size)
    f = ca.Function("inverse", [a], [inverse(a)])
    matrix = np.random.default_rng(size).normal(size=(size, size)) - 4.0 * np.eye(size)
    assert np.array(f(matrix)) == pytest.approx(np.linalg.inv(matrix), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_block_elimination(size: int) -> None:
    rng = np.random.default_rng(size)
    full = [ca.SX.sym(f"d{i}", size, size) for i in range(3)]
    factors = rng.normal(size=(3, 3))
    grid = [[full[i] if i == j else ca.SX(factors[i, j]) for j in range(3)] for i in range(3)]
    right = [ca.SX.sym(f"r{i}", size) for i in range(3)]
    solution = ca.vertcat(*factorise(grid, size).solve(right))
    f = ca.Function("solve", [*full, *right], [solution])
    diagonal = [rng.normal(size=(size, size)) - 6.0 * np.eye(size) for _ in range(3)]
    vectors = [rng.normal(size=size) for _ in range(3)]
    eye = np.eye(size)
    dense = np.block(
        [[diagonal[i] if i == j else factors[i, j] * eye for j in range(3)] for i in range(3)]
    )
    expected = np.linalg.solve(dense, np.concatenate(vectors))
    assert np.array(f(*diagonal, *vectors)).ravel() == pytest.approx(expected, rel=1e-10)


def test_residual_falls_with_iterations() -> None:
    residuals = []
    for iterations in (1, 2, 3):
        step = traced(Radau(iterations=iterations), lambda x: (-20.0 * x[0] * x[0] * x[0],), 1)
        residuals.append(float(step(1.0, 0.02)[1]))
    assert residuals[0] > 100.0 * residuals[1] > 1e4 * residuals[2] > 0.0


def test_residual_is_about_the_error() -> None:
    def f(x: Any) -> Any:
        return (-20.0 * x[0] * x[0] * x[0], x[0] * x[1] - x[1])

    exact = traced(Radau(iterations=10), f, 2)
    for iterations in (1, 2):
        step = traced(Radau(iterations=iterations), f, 2)
        for dt in (0.005, 0.01, 0.02, 0.04):
            after, residual = step([1.0, 1.0], dt)
            error = float(np.abs(np.array(after - exact([1.0, 1.0], dt)[0]))[0, 0])
            if error > 1e-12:
                assert 0.1 * error < float(residual) < 1e3 * error


@pytest.mark.parametrize("dt", [0.5, 5.0, 50.0])
def test_residual_flags_a_step_that_does_not_converge(dt: float) -> None:
    def van_der_pol(x: Any) -> Any:
        return (x[1], 100.0 * (1.0 - x[0] * x[0]) * x[1] - x[0])

    # A point from which the oscillator jumps.
    after, residual = traced(Radau(), van_der_pol, 2)([1.05, -0.8], dt)
    further, _ = traced(Radau(iterations=3), van_der_pol, 2)([1.05, -0.8], dt)
    assert not float(ca.norm_inf(after - further)) < 1e-3
    assert not float(residual) <= RESIDUAL_TOLERANCE


def test_residual_is_nan_where_the_step_is() -> None:
    step = traced(Radau(), lambda x: (ops.sqrt(x[0]) - 3.0 * x[0] * x[0] - 5.0,), 1)
    assert math.isnan(float(step(-1.0, 0.1)[1]))


def test_residual_is_zero_where_nothing_is_iterated() -> None:
    step = traced(Radau(), lambda x: (-x[0], x[0] - 0.5 * x[1], x[1]), 3)
    assert float(step([1.0, 2.0, 3.0], 0.1)[1]) == 0.0


def test_residual_is_zero_at_rest() -> None:
    step = traced(Radau(), lambda x: (-x[0] * x[0],), 1)
    after, residual = (float(v) for v in step(0.0, 0.1))
    assert after == 0.0
    assert residual == 0.0


@pytest.mark.parametrize("value", [1.0, np.ones(3)])
def test_numbers_are_rejected(value: Any) -> None:
    with pytest.raises(TraceError, match=type(value).__name__):
        integrate.get("radau").step(lambda x: x, (value,), 0.1)


class Car:
    """The four-wheel car as CasADi functions: Radau step and derivative."""

    def __init__(self, name: str = "radau") -> None:
        car = four_wheel()
        model = car.model
        x, u = (
            record.unflatten(kind, [ca.SX.sym(n) for n in record.names(kind)])
            for kind in (model.State, model.Input)
        )
        w, dt = record.build(model.Disturbance), ca.SX.sym("dt")
        update = integrate.discretise(model, integrate.get(name))
        after, residual = update(x, u, w, car.params, dt)
        inputs = [column(x), column(u)]
        outputs = [column(after), residual]
        self.step = ca.Function("step", [*inputs, dt], outputs, {"cse": True})
        self.rate = ca.Function("rate", inputs, [column(car.derivative(x, u))])


def test_car_with_stiff_actuators() -> None:
    """10 ms steps with 1 ms actuators, one second, against a reference good to 1e-11."""
    car = Car()
    x = np.array([0, 0, 0, 10.0, 0, 0, 0, 0, 0, 0, 0])
    reference, dt = x.copy(), 0.01
    for k in range(100):
        u = np.array([0.08 * math.sin(math.pi * k * dt), 20.0, 20.0, 20.0, 20.0])
        after, residual = car.step(x, u, dt)
        assert float(residual) < 1e-12
        x = np.array(after).ravel()
        solution = solve_ivp(
            lambda t, y, u=u: np.array(car.rate(y, u)).ravel(),
            (0.0, dt),
            reference,
            method="DOP853",
            rtol=1e-11,
            atol=1e-13,
        )
        reference = solution.y[:, -1]
    assert x[:6] == pytest.approx(reference[:6], abs=1e-6)


@pytest.mark.parametrize(
    "speed", [0.5, *(pytest.param(v, marks=pytest.mark.slow) for v in (1.0, 3.0, 10.0)), 30.0]
)
def test_steps_of_steering_and_torque_converge(speed: float) -> None:
    car, dt = Car(), 0.01
    steer = min(0.3, 12.0 * 1.57 / speed**2)
    x = np.array([0, 0, 0, speed, 0, 0, 0, 0, 0, 0, 0])
    worst = 0.0
    for k in range(120):
        turn = steer * (0.0, 1.0, -1.0, 0.4)[k // 10 % 4]
        torque = (30.0, 150.0, 20.0)[k // 15 % 3]
        after, residual = car.step(x, np.array([turn, *[torque] * 4]), dt)
        worst = max(worst, float(residual))
        x = np.array(after).ravel()
    assert np.isfinite(x).all()
    assert worst < RESIDUAL_TOLERANCE


def test_car_step_is_short() -> None:
    """The operations of a step stay near those of the derivatives and Jacobians it must have."""
    model = four_wheel().model
    states, rates, free = car_symbols()
    velocities = linearised(rates[3:6], states[3:6])
    once = ca.Function("once", [states, free], [*velocities], {"cse": True}).n_instructions()
    assert model.continuous
    evaluations = 7
    assert Car().step.n_instructions() < 1.6 * evaluations * once
