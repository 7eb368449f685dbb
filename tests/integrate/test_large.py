"""Blocks too large to be unrolled: the same solutions, accuracy on stiff systems, derivatives, and
what happens where a step cannot be solved."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import skidpad as sp
from compile.lanes_harness import PRECISIONS, canonical, runner
from integrate.chain import Input, Params, chain
from integrate.problems import PROBLEMS, Problem, observed_order, traced
from integrate.test_radau import collocation_defect, pade
from skidpad import Model, Vehicle
from skidpad.compile import pipeline
from skidpad.compile.c import compile_shared, emit
from skidpad.compile.closed_loop import adjoint_program, tangent_program
from skidpad.compile.lower import lower
from skidpad.core import record
from skidpad.errors import StepNotConverged
from skidpad.integrate.derivatives import column
from skidpad.integrate.elimination import find_blocks
from skidpad.integrate.radau import Radau
from skidpad.ops import sign
from skidpad.units import one

STAGES = (2, 3, 4)
NOTHING = np.zeros((1, 0))
MASSES = pytest.mark.parametrize("masses", [4, pytest.param(12, marks=pytest.mark.slow)])
"""Chains of 9 states, which are as much one large block, and of 25, which take long to compile."""


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block is taken for a large one."""
    monkeypatch.setattr("skidpad.integrate.elimination.UNROLLED", 0)


@pytest.fixture
def to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Iterations go on until rounding stops them, so that what is seen is the method's error."""
    monkeypatch.setattr("skidpad.integrate.stages.CONVERGED", (1e-15, 1e-5))


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("z", [-0.1, -1.0, -10.0, -1e3, 0.5])
@pytest.mark.parametrize("stages", STAGES)
def test_stability_function(stages: int, z: float) -> None:
    step = traced(Radau(stages), lambda x: (z * x[0],), 1)
    after, residual = (float(v) for v in step(1.0, 1.0))
    assert after == pytest.approx(pade(stages, z), rel=1e-10, abs=1e-13)
    assert residual < 1e-10


@pytest.mark.usefixtures("all_large", "to_the_end")
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize(("stages", "steps"), [(2, 24), (3, 8), (4, 6)])
def test_order(stages: int, steps: int, problem: Problem) -> None:
    method = Radau(stages)
    assert observed_order(method, problem, steps) == pytest.approx(method.order, abs=0.5)


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("target", [-0.5, -0.03, 0.0, 0.021, 0.026, 0.035, 0.5])
def test_corners(target: float) -> None:
    """A rate limit inside the step: the equations of the stages hold, corners or not."""

    def f(x: Any) -> Any:
        return sp.ops.clip((target - x) * 50.0, -1.0, 1.0)

    after, residual = (float(v) for v in traced(Radau(), lambda x: (f(x[0]),), 1)(0.0, 0.01))
    assert residual < 1e-9
    assert collocation_defect(3, f, 0.0, 0.01, after) < 1e-9


def van_der_pol(x: Any) -> Any:
    return (x[1], 1e3 * (1.0 - x[0] * x[0]) * x[1] - x[0])


def robertson(x: Any) -> Any:
    slow, fast, join = 0.04 * x[0], 3e7 * x[1] * x[1], 1e4 * x[1] * x[2]
    return (-slow + join, slow - join - fast, fast)


def reference(f: Callable[..., Any], start: Any, duration: float) -> np.ndarray:
    """The end of a stiff problem, by an adaptive method of another kind."""
    x = ca.SX.sym("x", len(start))
    rates = ca.vertcat(*f(ca.vertsplit(x)))
    rate = ca.Function("rate", [x], [rates])
    slopes = ca.Function("slopes", [x], [ca.jacobian(rates, x)])
    solution = solve_ivp(
        lambda t, y: np.array(rate(y)).ravel(),
        (0.0, duration),
        start,
        method="LSODA",
        jac=lambda t, y: slopes(y).full(),
        rtol=1e-12,
        atol=1e-15,
    )
    return solution.y[:, -1]


def stepped(step: Any, start: Any, duration: float, count: int) -> np.ndarray:
    x = np.array(start)
    for _ in range(count):
        after, residual = step(x, duration / count)
        assert float(residual) < 1e-9
        x = np.array(after).ravel()
    return x


@pytest.mark.usefixtures("all_large", "to_the_end")
@pytest.mark.parametrize(
    ("f", "start", "settled", "duration", "count", "limit"),
    [
        (van_der_pol, (2.0, 0.0), 1.0, 400.0, 6, 1e-6),
        (robertson, (1.0, 0.0, 0.0), 1.0, 39.0, 20, 1e-6),
    ],
    ids=["van_der_pol", "robertson"],
)
def test_stiff_problems(
    f: Any, start: Any, settled: float, duration: float, count: int, limit: float
) -> None:
    """Long steps along the slow solution; the fast part has decayed before the first."""
    begun = reference(f, start, settled)
    end = reference(f, begun, duration)
    step = traced(Radau(), f, len(start))
    errors = [
        np.abs(stepped(step, begun, duration, n) / end - 1.0).max() for n in (count, 2 * count)
    ]
    assert errors[0] < limit
    assert errors[1] < errors[0] / 8.0


@pytest.mark.usefixtures("all_large")
def test_a_car_moves_as_when_it_is_unrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    car = sp.vehicles.four_wheel()
    x = record.unflatten(car.State, [ca.SX.sym(n) for n in record.names(car.State)])
    u, w = car.Input(steer=0.2, tau_rl=150.0, tau_rr=90.0), record.build(car.model.Disturbance)
    steps = []
    for unrolled in (0, 8):
        monkeypatch.setattr("skidpad.integrate.elimination.UNROLLED", unrolled)
        update = sp.integrate.discretise(car.model, Radau(iterations=4))
        after, residual = update(x, u, w, car.params, ca.SX(0.01))
        steps.append(ca.Function("step", [column(x)], [column(after), residual]))
    large, small = (np.array([0, 0, 0, 8.0, 0.1, 0.2, 0, 0, 0, 0, 0]) for _ in range(2))
    for _ in range(20):
        after, residual = steps[0](large)
        assert float(residual) < 1e-9
        large, small = np.array(after).ravel(), np.array(steps[1](small)[0]).ravel()
        assert large == pytest.approx(small, abs=1e-8)


def stiff_matrix(size: int = 15) -> np.ndarray:
    """A random matrix with 69 entries whose eigenvalues go from -1 to -1e5, some in pairs."""
    rng = np.random.default_rng(12)
    decay = np.logspace(0.0, 5.0, size)
    matrix = -np.diag(decay)
    for offset in (1, 2):
        for i in range(size - offset):
            both = 0.4 * rng.normal(size=2) * math.sqrt(decay[i] * decay[i + offset])
            matrix[i, i + offset], matrix[i + offset, i] = both
    order = rng.permutation(size)
    return matrix[np.ix_(order, order)]


def linear_step(matrix: np.ndarray, stages: int = 3) -> Any:
    return traced(
        Radau(stages),
        lambda x: tuple(sum(float(row[j]) * x[j] for j in np.flatnonzero(row)) for row in matrix),
        len(matrix),
    )


def rational(stages: int, z: np.ndarray) -> np.ndarray:
    """The stability function of Radau IIA at a matrix, by its partial results: the stages solve
    (I - z A) k = 1, and the last stage is the result."""
    from skidpad.integrate.collocation import radau_tableau

    a = np.array(radau_tableau(stages).a, dtype=float)
    size = len(z)
    system = np.eye(stages * size) - np.kron(a, z)
    return np.linalg.solve(system, np.kron(np.ones((stages, 1)), np.eye(size)))[-size:]


@pytest.mark.slow_cases("4")
@pytest.mark.parametrize("stages", STAGES)
def test_linear_step_is_the_rational_function(stages: int) -> None:
    matrix = stiff_matrix()
    start = np.random.default_rng(1).normal(size=len(matrix))
    after, residual = linear_step(matrix, stages)(start, 0.01)
    expected = rational(stages, 0.01 * matrix) @ start
    assert np.array(after).ravel() == pytest.approx(expected, abs=1e-9)
    assert float(residual) < 1e-9


@pytest.mark.slow
def test_linear_system_converges_to_the_exponential() -> None:
    matrix = stiff_matrix()
    start = np.random.default_rng(2).normal(size=len(matrix))
    exact = expm(2.0 * matrix) @ start
    step = linear_step(matrix)
    errors = []
    for count in (8, 16, 32):
        x = start
        for _ in range(count):
            x = np.array(step(x, 2.0 / count)[0]).ravel()
        errors.append(np.abs(x - exact).max())
    orders = [math.log2(a / b) for a, b in pairwise(errors)]
    assert errors[-1] < 1e-7
    assert orders == pytest.approx([5.0, 5.0], abs=0.5)


@pytest.mark.slow_cases("4")
@pytest.mark.parametrize("stages", STAGES)
def test_a_pivot_that_vanishes_does_no_harm(stages: int) -> None:
    """The first pivot of the matrices that all stages share is zero, or nearly so: the linearised
    start is worthless then, and the iterations have to do without it."""
    from skidpad.integrate.collocation import radau_spectrum

    spectrum, size, h = radau_spectrum(stages), 10, 0.5
    matrix = -np.eye(size)
    matrix[range(size - 1), range(1, size)] = 0.3
    matrix[range(1, size), range(size - 1)] = -0.4
    # With 2 and 4 stages no eigenvalue is real; the pivot is small there, not zero.
    shift = spectrum.reals[0] if spectrum.reals else spectrum.pairs[0][0]
    start = np.arange(1.0, size + 1.0)
    for bent in (1.0, 1.0 + 1e-14, 1.0 - 1e-9):
        matrix[0, 0] = bent * shift / h
        after, residual = linear_step(matrix, stages)(start, h)
        assert float(residual) <= 1e-6
        expected = rational(stages, h * matrix) @ start
        assert np.array(after).ravel() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("masses", [4, 12])
def test_the_chain_is_one_large_block(masses: int) -> None:
    x, u, rates = chain_rates(masses)
    (block,) = find_blocks(rates, x, u)
    assert block.large
    assert block.size == 2 * masses + 1


def chain_rates(masses: int, **params: float) -> tuple[Any, Any, Any]:
    """Symbols of state and input, and the rates of change."""
    vehicle = chain(masses, **params)
    x, u = ca.SX.sym("x", record.size(vehicle.State)), ca.SX.sym("u", 2)
    records = vehicle.State(*ca.vertsplit(x)), Input(*ca.vertsplit(u))
    return x, u, column(vehicle.derivative(*records))


def drive(k: int) -> tuple[float, float]:
    """Force and drive: both jump."""
    return 3.0 * (-1.0) ** (k // 7), 9.0 * math.sin(0.4 * (k // 3))


@pytest.mark.slow_cases("4")
@MASSES
def test_chain_against_another_solver(masses: int) -> None:
    soft = {"sharpness": 5.0}  # a clutch whose grip is resolved by steps of 10 ms
    x, u, rates = chain_rates(masses, **soft)
    rate = ca.Function("rate", [x, u], [rates])
    slopes = ca.Function("slopes", [x, u], [ca.jacobian(rates, x)])
    errors = []
    for substeps in (1, 2):
        sim = sp.Simulator(chain(masses, **soft), dt=0.01, integrator="radau", substeps=substeps)
        sim.reset()
        exact, worst = np.zeros(2 * masses + 1), 0.0
        for k in range(15):
            u = np.array([3.0 * math.sin(0.1 * k), 4.0 * math.sin(0.07 * k)])
            x = np.array(sim.step(force=u[0], drive=u[1]))
            exact = solve_ivp(
                lambda t, y, u=u: np.array(rate(y, u)).ravel(),
                (0.0, 0.01),
                exact,
                method="Radau",
                jac=lambda t, y, u=u: slopes(y, u).full(),
                rtol=1e-9,
                atol=1e-11,
            ).y[:, -1]
            worst = max(worst, float(np.abs(x - exact).max()))
        errors.append(worst)
    assert errors[0] < 1e-3
    assert errors[1] < errors[0] / 16.0


def states(masses: int, count: int, precision: str = "float64") -> np.ndarray:
    """Chains at rest, moving a little, and torn about."""
    rng = np.random.default_rng(3)
    wild = np.array([0.0, 0.0, 1e-4, 1e-3, 2e-2])[np.arange(count) % 5, None]
    return (wild * rng.normal(size=(count, 2 * masses + 1))).astype(precision)


def ports(x: np.ndarray, dt: float = 0.01) -> list[np.ndarray]:
    count = len(x)
    u = np.tile([2.0, -4.0], (count, 1))
    p = np.tile(np.array(Params()), (count, 1))
    return [x, u, np.zeros((count, 0)), p, np.full((count, 1), dt), np.zeros((count, 0))]


@cache
def chain_step(masses: int) -> Any:
    return pipeline.step_program(chain(masses), "radau")


@pytest.mark.slow_cases("float64-4")
@MASSES
@pytest.mark.parametrize("precision", PRECISIONS)
def test_lanes_have_the_same_bits(precision: str, masses: int) -> None:
    """Neighbours in the lanes iterate more or less often than a vehicle itself."""
    program = lower(chain_step(masses), precision)
    arguments = ports(states(masses, 21, precision))
    alone = [canonical(out) for out in runner(program, 1)(*arguments)]
    for lanes in (4, 16):
        assert [canonical(out) for out in runner(program, lanes)(*arguments)] == alone


@MASSES
def test_iterations_end_as_the_precision_allows(masses: int) -> None:
    """One Program serves both precisions and finds out which it is."""
    step, arguments = chain_step(masses), ports(states(masses, 25))
    double, single = (runner(lower(step, p))(*arguments)[1].max() for p in PRECISIONS)
    assert double <= 1e-10 < single <= 1e-5


@MASSES
def test_c_has_the_same_bits(tmp_path: Path, masses: int) -> None:
    program = lower(chain_step(masses), "float64")
    arguments = [np.ascontiguousarray(a) for a in ports(states(masses, 6))]
    library = compile_shared(emit(program, "chain"), tmp_path)
    results = [np.empty((6, n)) for n in (2 * masses + 1, 1)]
    for k in range(6):
        library.chain(
            *(
                (ctypes.c_void_p * len(a))(*(port[k].ctypes.data for port in a))
                for a in (arguments, results)
            )
        )
    expected = runner(program, 1)(*arguments)
    assert [canonical(out) for out in results] == [canonical(out) for out in expected]


@pytest.mark.slow
@MASSES
def test_neighbours_do_not_matter_in_a_fleet(masses: int) -> None:
    fleet = sp.Fleet(chain(masses), dt=0.01, integrator="radau", threads=1)
    x = states(masses, 13)
    u = np.array([drive(k) for k in range(6)])[:, None, :].repeat(13, axis=1)
    together = fleet.rollout(x, u)
    assert np.isfinite(together).all()
    for k in (0, 4, 12):
        assert fleet.rollout(x[k : k + 1], u[:, k : k + 1])[:, 0].tobytes() == (
            together[:, k].tobytes()
        )


@pytest.mark.slow
@MASSES
def test_single_precision_follows_double(masses: int) -> None:
    x = states(masses, 10)
    u = np.array([drive(k) for k in range(20)])[:, None, :].repeat(10, axis=1)
    double, single = (
        sp.Fleet(chain(masses), dt=0.01, integrator="radau", precision=p).rollout(x, u)
        for p in PRECISIONS
    )
    assert single[-1] == pytest.approx(double[-1], abs=2e-3)


def jumping(size: int = 10) -> Vehicle:
    """A ring of states with a jump that no step can settle on one side of."""
    names = [f"s{i}" for i in range(size)]
    Ring = record.define("Ring", dict.fromkeys(names, one), dict.fromkeys(names, 0.0))

    def rates(x: Any, u: Any, w: Any, p: Any) -> Any:
        around = [0.1 * x[i - 1] - x[i] for i in range(size)]
        return Ring(around[0] - 50.0 * sign(x[0] - 0.01 * p.k), *around[1:])

    P = record.define("P", {"k": one}, {"k": 1.0})
    return Vehicle(Model(name="ring", State=Ring, Input=Input, Params=P, derivative=rates), P())


def test_a_step_without_solution_is_an_error() -> None:
    sim = sp.Simulator(jumping(), dt=0.01, integrator="radau")
    sim.reset(s0=0.2)
    with pytest.raises(StepNotConverged, match="Newton residual"):
        sim.step()
    assert sim.state.s0 == 0.2


@cache
def derivatives(masses: int) -> tuple[Any, Any, Any]:
    """Step, adjoint and tangent of the chain."""
    vehicle = chain(masses)
    adjoint, tangent = adjoint_program(vehicle, "radau"), tangent_program(vehicle, "radau")
    return tuple(runner(lower(p, "float64")) for p in (chain_step(masses), adjoint, tangent))


@pytest.mark.slow_cases("0.001-4")
@MASSES
@pytest.mark.parametrize("wild", [1e-3, 0.2])
def test_derivatives(wild: float, masses: int) -> None:
    """Backwards and forwards give the same number, and forwards that of a difference."""
    step, adjoint, tangent = derivatives(masses)
    rng = np.random.default_rng(8)
    size = 2 * masses + 1
    x, u, p = wild * rng.normal(size=size), np.array([2.0, -4.0]), np.array(Params())
    lam = rng.normal(size=size)
    dx, du = 0.1 * wild * rng.normal(size=size), rng.normal(size=2)
    dp = p * rng.uniform(-0.1, 0.1, p.size)
    dt = np.array([[0.01]])
    g_x, g_u, g_p, _ = adjoint(x[None], u[None], NOTHING, p[None], dt, NOTHING, lam[None])
    (change,) = tangent(x[None], u[None], NOTHING, p[None], dt, dx[None], du[None], dp[None])
    backwards = float(g_x[0] @ dx + g_u[0] @ du + g_p[0] @ dp)
    assert float(lam @ change[0]) == pytest.approx(backwards, rel=1e-11)

    def moved(part: float) -> np.ndarray:
        at = (x + part * dx, u + part * du)
        given = (at[0][None], at[1][None], NOTHING, (p + part * dp)[None], dt, NOTHING)
        return step(*given)[0][0]

    difference = (moved(1e-4) - moved(-1e-4)) / 2e-4
    scale = np.abs(difference).max()
    assert change[0] == pytest.approx(difference, rel=1e-4, abs=3e-6 * scale)


@MASSES
def test_gradient_of_a_fleet(masses: int) -> None:
    fleet = sp.Fleet(chain(masses), dt=0.01, integrator="radau")
    cost = sp.Cost(stage=lambda x, u: x.v0 * x.v0 + 0.01 * u.force**2, terminal=lambda x: x.spin)
    x, u = states(masses, 3), np.full((5, 3, 2), 2.0)
    _, gradient = fleet.gradient(x, u, cost)
    u_up, u_down = u.copy(), u.copy()
    u_up[2, 1, 1] += 1e-4
    u_down[2, 1, 1] -= 1e-4
    up, down = (fleet.gradient(x, v, cost)[0][1] for v in (u_up, u_down))
    assert gradient.controls[2, 1, 1] == pytest.approx((up - down) / 2e-4, rel=1e-5)


@pytest.mark.slow
def test_multi_body_car() -> None:
    """CommonRoad's car of 29 states at 10 ms, against another solver, and at 5 ms."""
    car = sp.vehicles.commonroad_mb()
    start = sp.Simulator(car, dt=0.001, integrator="rk4").reset(v_x=15.0)
    x, u = ca.SX.sym("x", 29), ca.SX.sym("u", 2)
    given = record.unflatten(car.State, ca.vertsplit(x)), car.Input(*ca.vertsplit(u))
    rates = column(car.derivative(*given))
    rate = ca.Function("rate", [x, u], [rates])
    slopes = ca.Function("slopes", [x, u], [ca.jacobian(rates, x)])
    update = sp.integrate.discretise(car.model, Radau())
    w, h = record.build(car.model.Disturbance), ca.SX.sym("h")
    after, residual = update(*given, w, car.params, h)
    step = ca.Function("step", [x, u, h], [column(after), residual])
    exact = np.array(record.flatten(start))
    coarse, fine = exact, exact
    errors = np.zeros((2, 29))
    for k in range(12):
        command = np.array([0.2 * math.sin(0.5 * k), 3.0 * math.cos(0.4 * k)])
        exact = solve_ivp(
            lambda t, y, u=command: np.array(rate(y, u)).ravel(),
            (0.0, 0.01),
            exact,
            method="Radau",
            jac=lambda t, y, u=command: slopes(y, u).full(),
            rtol=1e-9,
            atol=1e-11,
        ).y[:, -1]
        coarse, left = (np.array(v).ravel() for v in step(coarse, command, 0.01))
        assert left[0] < 1e-9
        for _ in range(2):
            fine = np.array(step(fine, command, 0.005)[0]).ravel()
        errors = np.maximum(errors, np.abs([coarse - exact, fine - exact]))
    wheels = slice(23, 27)
    assert errors[0, :23].max() < 1e-3
    assert errors[0, wheels].max() < 2e-2
    assert errors[1].max() < errors[0].max() / 8.0
