"""Every method shows its order; explicit steps are economical; names and options are checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest

from integrate.problems import PROBLEMS, Problem, end_error, observed_order, traced
from skidpad import integrate
from skidpad.core.model import Model
from skidpad.errors import InvalidValue, StepNotConverged
from skidpad.integrate.scipy_ivp import METHODS, ScipyMethod
from skidpad.ops import atan, cos, sin
from skidpad.vehicles import four_wheel

STEPS = {"euler": 200, "semi_implicit": 200, "heun": 60, "rk4": 16, "dopri5": 32}
STEPS |= {"radau2": 24, "radau": 8, "radau3": 8, "radau4": 6}


@pytest.mark.parametrize(
    ("name", "problem"),
    # Tracing the implicit ones takes long: each has a problem, and each problem one of them.
    [
        pytest.param(
            name,
            problem,
            marks=pytest.mark.slow if name.startswith("radau") and (j + k) % 3 else (),
            id=f"{name}-{problem.name}",
        )
        for j, name in enumerate(STEPS)
        for k, problem in enumerate(PROBLEMS)
    ],
)
def test_order(name: str, problem: Problem) -> None:
    # Iterated to the end, so that the order is that of the method and not of Newton's iteration.
    options = {"iterations": 6} if name.startswith("radau") else {}
    method = integrate.get(name, **options)
    steps = STEPS[name]
    assert end_error(method, problem, 2 * steps) > 1e-13, "too accurate to see an order"
    assert observed_order(method, problem, steps) == pytest.approx(method.order, abs=0.5)


@pytest.mark.parametrize("name", [n for n in integrate.names() if n.startswith("scipy:")])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_scipy_methods_reach_their_tolerance(name: str, problem: Problem) -> None:
    method = integrate.get(name, rtol=1e-7, atol=1e-10)
    after, residual = method.step(problem.f, problem.start, problem.duration)
    assert after == pytest.approx(problem.end, abs=1e-5)
    assert residual == 0.0
    assert method.adaptive


def test_scipy_tolerance_is_used() -> None:
    problem = PROBLEMS[0]
    errors = []
    for rtol in (1e-3, 1e-6, 1e-9):
        after, _ = integrate.get("scipy:RK45", rtol=rtol, atol=1e-12).step(
            problem.f, problem.start, problem.duration
        )
        errors.append(abs(after[0] - problem.end[0]))
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


@pytest.mark.slow_cases("Radau")
@pytest.mark.parametrize("method", METHODS)
def test_scipy_failure_is_an_error(method: str) -> None:
    # x' = x² from 1 has its pole at t = 1.
    with pytest.raises(StepNotConverged) as caught:
        ScipyMethod(method).solver().advance(lambda x: x * x, np.array([1.0]), 1.5, time=7.0)
    assert caught.value.time == 7.0
    assert method in str(caught.value)


def test_error_of_the_derivative_is_not_hidden() -> None:
    def derivative(x: Any) -> Any:
        raise InvalidValue("v_x = nan")

    with pytest.raises(InvalidValue, match="v_x"):
        ScipyMethod("RK45").solver().advance(derivative, np.array([1.0]), 0.1)


def test_scipy_cannot_be_traced() -> None:
    with pytest.raises(InvalidValue, match=r"runs on numbers .* got SX"):
        integrate.get("scipy:RK45").step(lambda x: x, (ca.SX.sym("x"),), 0.1)


def handwritten_rk4(f: Any, x: list[Any], h: Any) -> list[Any]:
    def moved(factor: Any, k: Any) -> list[Any]:
        return [a + factor * b for a, b in zip(x, k, strict=True)]

    k1 = f(x)
    k2 = f(moved(h / 2, k1))
    k3 = f(moved(h / 2, k2))
    k4 = f(moved(h, k3))
    columns = zip(x, k1, k2, k3, k4, strict=True)
    return [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in columns]


def test_rk4_is_as_short_as_by_hand() -> None:
    def f(x: Any) -> Any:
        return (x[1] * cos(x[0]), sin(x[2]) - atan(x[0]), x[0] * x[1] * x[2])

    x, h = [ca.SX.sym(f"x{i}") for i in range(3)], ca.SX.sym("h")
    inputs = [ca.vertcat(*x), h]
    ours, _ = integrate.get("rk4").step(f, tuple(x), h)
    theirs = handwritten_rk4(f, x, h)
    step, reference = (
        ca.Function("step", inputs, [ca.vertcat(*values)], {"cse": True})
        for values in (ours, theirs)
    )
    assert step.n_instructions() <= reference.n_instructions()
    at = np.array([0.3, -0.7, 1.1])
    assert np.array(step(at, 0.1)) == pytest.approx(np.array(reference(at, 0.1)), abs=1e-15)


def test_explicit_step_has_no_multiplication_by_one_or_zero() -> None:
    x, h = ca.SX.sym("x"), ca.SX.sym("h")
    (after,), residual = integrate.get("euler").step(lambda x: (sin(x[0]),), (x,), h)
    step = ca.Function("step", [x, h], [after])
    # sin, h * k, x + ...; the rest are two inputs and one output.
    assert step.n_instructions() == 3 + 3
    assert residual == 0.0


@pytest.mark.parametrize("name", ["euler", "heun", "rk4", "dopri5"])
def test_floats_arrays_and_symbols_agree(name: str) -> None:
    method, problem = integrate.get(name), PROBLEMS[2]
    step = traced(method, problem.f, 2)
    starts = np.array([[1.0, 0.5, -0.2], [0.0, 0.3, 0.9]])
    arrays, _ = method.step(problem.f, tuple(starts), 0.1)
    for k in range(3):
        floats, _ = method.step(problem.f, tuple(starts[:, k].tolist()), 0.1)
        assert [a[k] for a in arrays] == pytest.approx(floats, rel=1e-14)
        assert np.array(step(starts[:, k], 0.1)[0]).ravel() == pytest.approx(floats, rel=1e-14)


class Oscillator(NamedTuple):
    x: float
    v: float


class Nothing(NamedTuple):
    pass


def spring(x: Oscillator, u: Any, w: Any, p: Any) -> Oscillator:
    return Oscillator(x.v, -x.x)


SPRING = Model("spring", Oscillator, Nothing, Nothing, derivative=spring)


def test_semi_implicit_moves_velocity_first() -> None:
    update = integrate.discretise(SPRING, integrate.get("semi_implicit"))
    after, residual = update(Oscillator(1.0, 0.0), Nothing(), Nothing(), Nothing(), 0.1)
    # v = 0 - 0.1 * 1, then x = 1 + 0.1 * v.
    assert after == pytest.approx((0.99, -0.1), abs=1e-15)
    assert residual == 0.0


def test_semi_implicit_keeps_energy_bounded() -> None:
    energies = {}
    for name in ("semi_implicit", "euler"):
        update = integrate.discretise(SPRING, integrate.get(name))
        x = Oscillator(1.0, 0.0)
        for _ in range(1000):
            x, _ = update(x, Nothing(), Nothing(), Nothing(), 0.1)
        energies[name] = x.x**2 + x.v**2
    # x² + v² - dt x v is kept exactly, so x² + v² stays within 1 ± dt/2 of it.
    assert energies["semi_implicit"] == pytest.approx(1.0, abs=0.06)
    assert energies["euler"] > 1000.0


def test_semi_implicit_finds_the_pose_of_a_car() -> None:
    bound: Any = integrate.get("semi_implicit").bind(four_wheel().model)
    assert bound.positions == (0, 1, 2)


def test_semi_implicit_must_be_bound() -> None:
    with pytest.raises(InvalidValue, match="bind"):
        integrate.get("semi_implicit").step(lambda x: x, (1.0,), 0.1)


def test_held_input_is_sampled_once() -> None:
    def hold(x: Oscillator, u: Any, w: Any, p: Any) -> float:
        return x.x

    def derivative(x: Oscillator, held: float, w: Any, p: Any) -> Oscillator:
        return Oscillator(held, 0.0 * x.v)

    model = Model("sampled", Oscillator, Nothing, Nothing, derivative=derivative, hold=hold)
    update = integrate.discretise(model, integrate.get("rk4"))
    after, _ = update(Oscillator(2.0, 0.0), Nothing(), Nothing(), Nothing(), 0.5)
    assert after.x == 3.0


def test_discrete_model_keeps_its_update() -> None:
    def own(x: Oscillator, u: Any, w: Any, p: Any, dt: float) -> Oscillator:
        return Oscillator(x.x + dt, x.v)

    model = Model("discrete", Oscillator, Nothing, Nothing, update=own)
    update = integrate.discretise(model, integrate.get("radau"))
    after, residual = update(Oscillator(1.0, 2.0), Nothing(), Nothing(), Nothing(), 0.25)
    assert after == Oscillator(1.25, 2.0)
    assert residual == 0.0


def test_derivative_of_wrong_length_is_rejected() -> None:
    with pytest.raises(InvalidValue, match="2 states has 1"):
        integrate.get("rk4").step(lambda x: x[:1], (1.0, 2.0), 0.1)


def test_every_name_is_known() -> None:
    for name in integrate.names():
        method = integrate.get(name)
        assert method.name == ("radau" if name == "radau3" else name)
        assert integrate.get(method) is method


@pytest.mark.parametrize(
    ("name", "hint"), [("rk5", "'rk4'"), ("scipy:RK54", "'scipy:RK45'"), ("raddau", "'radau'")]
)
def test_unknown_name(name: str, hint: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        integrate.get(name)
    assert repr(name) in str(caught.value)
    assert f"did you mean {hint}" in str(caught.value)
    assert "semi_implicit" in str(caught.value)


def test_options_are_checked() -> None:
    with pytest.raises(InvalidValue, match="'iteration'; did you mean 'iterations'"):
        integrate.get("radau", iteration=3)
    with pytest.raises(InvalidValue, match=r"'rtol'\. Allowed are none"):
        integrate.get("rk4", rtol=1e-6)
    with pytest.raises(InvalidValue, match="is an Integrator object"):
        integrate.get(integrate.get("radau"), iterations=3)
    for value in (0, -1, 2.5):
        with pytest.raises(InvalidValue, match=f"iterations = {value}"):
            integrate.get("radau", iterations=value)
    with pytest.raises(InvalidValue, match="stages = 5"):
        integrate.radau.Radau(stages=5)
    for value in (0.0, -1e-6, float("nan"), float("inf")):
        with pytest.raises(InvalidValue, match="rtol"):
            integrate.get("scipy:RK45", rtol=value)
