"""Collocation: derivatives, order of accuracy, integrals and optimality against closed forms."""

import signal
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

from skidpad.control.optimal.solver import Evaluations, solve
from skidpad.control.optimal.transcription import (
    Equations,
    PointFunctions,
    PointProblem,
    Range,
    Transcription,
    Variable,
    mesh_of,
)
from skidpad.errors import InvalidValue
from skidpad.ops import exp, sin

V_START, A_MAX, LENGTH = 5.0, 3.0, 50.0


def sprint_equations(z: Any, d: Any, p: Any) -> Any:
    """A point mass on a straight: v' = a, with an energy integral of a²."""
    v, a = z
    return Equations((v,), (p[0] * a / v,), (), (), (1.0 / v, a * a / v))


def sprint(*, most: Any = np.inf) -> Any:
    return PointProblem(
        "sprint",
        (Variable("v", 0.1, scale=5.0), Variable("a", -A_MAX, A_MAX)),
        (),
        ("factor",),
        sprint_equations,
        ("v",),
        (5.0,),
        integrals=(Range("effort", 0.0, most),),
    )


def evaluations(
    problem: Any,
    count: Any,
    order: Any,
    *,
    closed: Any = False,
    data: Any = None,
    params: Any = (1.0,),
    free: Any = (),
) -> Any:
    nodes = np.linspace(0.0, LENGTH, count + 1)
    mesh = mesh_of(nodes[:-1] if closed else nodes, LENGTH, closed=closed, order=order)
    data = np.zeros((len(mesh.s), 0)) if data is None else data(mesh.s)
    functions = PointFunctions(problem, free)
    return Evaluations(Transcription(functions, mesh, data, np.ones(len(free))), np.array(params))


def fastest_sprint(count: Any, order: Any, **bounds: Any) -> Any:
    made = evaluations(sprint(**bounds), count, order)
    points = made.of.points
    low, high = np.tile([0.02, -A_MAX], (points, 1)), np.tile([1e3, A_MAX], (points, 1))
    low[0, 0] = high[0, 0] = V_START / 5.0
    start = np.tile([1.0, 1.0], (points, 1))
    found = solve(made, *(values.ravel() for values in (start, low, high)), progress=False)
    return made, found


def test_fastest_sprint_takes_the_time_of_constant_acceleration() -> None:
    v_end = np.sqrt(V_START**2 + 2.0 * A_MAX * LENGTH)
    exact = (v_end - V_START) / A_MAX
    errors = {}
    for order in (2, 4):
        for count in (10, 20):
            made, found = fastest_sprint(count, order)
            assert found.converged
            assert made.times(found.x)[-1] == pytest.approx(found.time, rel=1e-12)
            errors[order, count] = abs(found.time - exact)
    # A halved step divides the error by 2 to the power of the order.
    assert errors[2, 10] / errors[2, 20] == pytest.approx(4.0, rel=0.1)
    assert errors[4, 10] / errors[4, 20] == pytest.approx(16.0, rel=0.3)


def test_limit_of_an_integral_binds() -> None:
    free_made, free = fastest_sprint(40, 4)
    effort = float(free_made.rows(free.x)[-1])
    made, limited = fastest_sprint(40, 4, most=0.5 * effort)
    assert limited.converged
    assert made.rows(limited.x)[-1] == pytest.approx(0.5 * effort, rel=1e-6)
    assert limited.time > free.time + 0.05
    # Its multiplier is the change of the time with the limit.
    step = 1e-3 * effort
    _, more = fastest_sprint(40, 4, most=0.5 * effort + step)
    _, less = fastest_sprint(40, 4, most=0.5 * effort - step)
    slope = (more.time - less.time) / (2.0 * step)
    assert slope == pytest.approx(-limited.multipliers[-1], rel=1e-3)


def winding(z: Any, d: Any, p: Any) -> Any:
    a, b, c = z
    x, y = a * b + d[0], exp(0.1 * c) * p[0]
    return Equations(
        (x, b), (sin(a) * y, a * c * p[1]), (a * a - c + p[1],), (x * c,), (1.0 + a * a * y, b * c)
    )


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("free", [(), ("q",)])
def test_derivatives_equal_differences(order: Any, closed: Any, free: Any) -> None:
    problem = PointProblem(
        "winding",
        (Variable("a", scale=2.0, roughness=0.3), Variable("b"), Variable("c", scale=0.5)),
        ("offset",),
        ("r", "q"),
        winding,
        ("x", "b"),
        (1.0, 3.0),
        ("circle",),
        (Range("product", -1.0, 1.0),),
        (Range("moment"),),
    )
    made = evaluations(
        problem,
        7,
        order,
        closed=closed,
        data=lambda s: s[:, None] / LENGTH,
        params=(1.3, 0.7),
        free=free,
    )
    rng = np.random.default_rng(0)
    x, along = rng.normal(size=(2, made.size))
    multipliers = rng.normal(size=made.row_count)

    def matrix(made_of: Any, entries: Any) -> Any:
        pattern = made_of.pattern
        return sparse.csc_matrix((entries, pattern.indices, pattern.indptr), shape=pattern.shape)

    def slope(function: Any) -> Any:
        step = 1e-5
        return (function(x + step * along) - function(x - step * along)) / (2.0 * step)

    jacobian = matrix(made.of.jacobian, made.jacobian(x))
    assert made.gradient(x) @ along == pytest.approx(slope(made.cost), rel=1e-8)
    np.testing.assert_allclose(jacobian @ along, slope(made.rows), rtol=1e-7, atol=1e-7)

    def lagrangian_gradient(at: Any) -> Any:
        return made.gradient(at) + matrix(made.of.jacobian, made.jacobian(at)).T @ multipliers

    upper = matrix(made.of.hessian, made.hessian(x, 1.0, multipliers))
    hessian = upper + sparse.triu(upper, 1).T
    np.testing.assert_allclose(hessian @ along, slope(lagrangian_gradient), rtol=1e-6, atol=1e-6)
    assert len(made.of.row_names) == made.row_count == len(made.of.row_bounds[0])


def test_equations_of_another_size_are_refused() -> None:
    problem = sprint()
    wrong = PointProblem(
        "wrong", problem.variables, (), ("factor",), sprint_equations, ("v",), (5.0,)
    )
    with pytest.raises(InvalidValue, match=r"equations returned 2 integrands, expected 1"):
        PointFunctions(wrong)


def test_an_error_in_an_evaluation_reaches_the_caller(monkeypatch: Any) -> None:
    made = evaluations(sprint(), 10, 2)

    def fails(x: Any) -> None:
        raise ZeroDivisionError("in the evaluation")

    monkeypatch.setattr(made, "gradient", fails)
    size = made.size
    with pytest.raises(ZeroDivisionError, match="in the evaluation"):
        solve(made, np.ones(size), np.full(size, 0.1), np.full(size, 1e3), progress=False)


def test_a_signal_ends_the_solution_and_its_handler_comes_back(monkeypatch: Any) -> None:
    made = evaluations(sprint(), 40, 2)
    before, whole = signal.getsignal(signal.SIGINT), made.hessian

    def interrupted(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return whole(*arguments)

    monkeypatch.setattr(made, "hessian", interrupted)
    start = np.tile([1.0, 0.1], made.of.points)
    low, high = np.tile([0.02, -A_MAX], made.of.points), np.tile([1e3, A_MAX], made.of.points)
    found = solve(made, start, low, high, progress=False)
    assert found.status == "Stopped_By_User"
    assert found.iterations < 5
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_returns_the_best_iterate(monkeypatch: Any) -> None:
    made = evaluations(sprint(), 40, 2)
    count, whole = [0], made.gradient

    def interrupted(x: Any) -> Any:
        count[0] += 1
        if count[0] == 3:
            raise KeyboardInterrupt
        return whole(x)

    monkeypatch.setattr(made, "gradient", interrupted)
    start = np.tile([1.0, 0.1], made.of.points)
    low, high = np.tile([0.02, -A_MAX], made.of.points), np.tile([1e3, A_MAX], made.of.points)
    found = solve(made, start, low, high, progress=False)
    assert not found.converged
    assert found.status == "Stopped_By_User"
    assert np.isfinite(found.x).all()
    assert found.iterations < 10
