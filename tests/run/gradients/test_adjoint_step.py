"""The adjoint and the tangent of one step: against differences, JAX and each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest

import skidpad as sp
from compile.lanes_harness import runner
from run.gradients.evaluate import central_differences, evaluate
from skidpad import Vehicle, integrate, ops
from skidpad.compile.closed_loop import adjoint_program, tangent_program
from skidpad.compile.lower import lower
from skidpad.compile.pipeline import step_program
from skidpad.compile.program import Port, Program
from skidpad.compile.trace import trace
from skidpad.core import record
from skidpad.core.model import Model
from skidpad.core.policy import Cost
from skidpad.errors import InvalidValue
from skidpad.integrate.radau import Radau

VEHICLES = ("four_wheel", "formula_student", "kinematic_bicycle", "brains2")
METHODS = ("euler", "semi_implicit", "rk4", "radau")
LARGEST = ("formula_student", "radau")
LONG = (LARGEST, ("brains2", "radau"))
"""Cases that take longest; others have the same vehicles, and the same method."""
CASES = [
    pytest.param(*case, marks=pytest.mark.slow) if case in LONG else case
    for case in product(VEHICLES, METHODS)
]
DT = {"radau": 0.01}
"""Step in s; 1 ms for the explicit methods, whose actuators have lags of that size."""
POINTS = 6
SCALES = {"x": 10.0, "y": 10.0, "yaw": 1.0, "v_x": 10.0, "v_y": 1.0, "omega": 1.0, "steer": 0.3}
"""Typical size of a state or input; torques, in N·m, are not listed."""
TORQUE = 60.0
WHEELS = ("fl", "fr", "rl", "rr")
SCALES |= {f"{slip}_{w}": 0.05 for slip in ("kappa", "tan_alpha") for w in WHEELS}
SCALES |= {f"spin_{w}": 60.0 for w in WHEELS}


@dataclass(frozen=True)
class Points:
    """Where derivatives are compared: one row a point; and what makes them comparable."""

    x: np.ndarray
    u: np.ndarray
    w: np.ndarray
    p: np.ndarray
    lam: np.ndarray
    dt: float

    @property
    def ports(self) -> dict[str, Any]:
        """What a step takes."""
        return {
            "x": self.x,
            "u": self.u,
            "w": self.w,
            "p": self.p,
            "dt": np.full((len(self.x), 1), self.dt),
        }


def sizes(kind: type) -> np.ndarray:
    return np.array([SCALES.get(name, TORQUE) for name in record.names(kind)])


def parameter_sizes(vehicle: Vehicle) -> np.ndarray:
    values = np.abs(record.flatten(vehicle.params))
    return np.where(values > 0.0, values, 1.0)


def points(vehicle: Vehicle, method: str, seed: int = 7, *, at_rest: bool = False) -> Points:
    """Cars driven at 4 to 24 m/s with some slip, away from the corners of their limits."""
    rng = np.random.default_rng(seed)
    names = record.names(vehicle.State)
    nx, nu = len(names), record.size(vehicle.Input)
    x = rng.uniform(-0.5, 0.5, (POINTS, nx)) * sizes(vehicle.State)
    x[:, names.index("v_x")] = rng.uniform(4.0, 24.0, POINTS)
    # Wheels that turn: a locked one is in the bend of its brake, where differences are far off.
    for spin in (k for k, name in enumerate(names) if name.startswith("spin_")):
        rolling = x[:, names.index("v_x")] / vehicle.geometry.wheels[0].radius
        x[:, spin] = rolling * rng.uniform(0.9, 1.1, POINTS)
    u = rng.uniform(-0.5, 0.5, (POINTS, nu)) * sizes(vehicle.Input)
    if at_rest:
        x, u = 0.0 * x, 0.0 * u
    w = np.array([record.flatten(record.build(vehicle.model.Disturbance))] * POINTS)
    p = np.array([record.flatten(vehicle.params)] * POINTS)
    if not at_rest:
        p = p * rng.uniform(0.98, 1.02, p.shape)
    lam = rng.uniform(-1.0, 1.0, (POINTS, nx)) / sizes(vehicle.State)
    return Points(x, u, w, p, lam, DT.get(method, 0.001))


@cache
def vehicle_of(name: str) -> Vehicle:
    return getattr(sp.vehicles, name)()


@cache
def adjoint_of(name: str, method: str) -> Any:
    return adjoint_program(vehicle_of(name), method)


@cache
def tangent_of(name: str, method: str) -> Any:
    return tangent_program(vehicle_of(name), method)


def converged(method: str) -> Any:
    """The method with Newton run to its end, as differences need it."""
    return Radau(iterations=4) if method == "radau" else integrate.get(method)


def assert_close(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    """Equal up to a tolerance relative to the largest value in each column.

    Columns that are small beside the others, such as parameters with next to no influence, are held
    against a ten-thousandth of the largest one.
    """
    scale = np.abs(wanted).max(axis=0)
    bound = tolerance * np.maximum(scale, 1e-4 * scale.max()) * np.ones_like(wanted)
    assert (np.abs(found - wanted) <= bound).all(), np.abs(found - wanted) / bound


@pytest.mark.slow_cases("four_wheel-radau")
@pytest.mark.parametrize(("name", "method"), CASES)
def test_central_differences(name: str, method: str) -> None:
    vehicle = vehicle_of(name)
    at = points(vehicle, method)
    step = step_program(vehicle, converged(method))
    adjoint = adjoint_program(vehicle, converged(method))
    found = evaluate(adjoint, **at.ports, lam=at.lam)
    scales = {"x": sizes(vehicle.State), "u": sizes(vehicle.Input), "p": parameter_sizes(vehicle)}
    for port, scale in scales.items():

        def weighted(values: np.ndarray, port: str = port) -> np.ndarray:
            copies = len(values) // POINTS
            ports = {k: np.tile(v, (copies, 1)) for k, v in at.ports.items()}
            moved = ports | {port: values}
            start = moved["x"] if vehicle.model.hold else ()
            after = evaluate(step, **moved, start=start)["x"]
            return (np.tile(at.lam, (copies, 1)) * after).sum(axis=1)

        wanted = central_differences(weighted, at.ports[port], 3e-4 * scale)[:, :, 0]
        assert_close(found[port] * scale, wanted * scale, 1e-6)


@pytest.mark.parametrize("method", ["euler", pytest.param("rk4", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name",
    [n if n == "kinematic_bicycle" else pytest.param(n, marks=pytest.mark.slow) for n in VEHICLES],
)
def test_jax(name: str, method: str) -> None:
    """JAX's reverse mode of the same step function, in double precision."""
    jax = pytest.importorskip("jax")
    vehicle = vehicle_of(name)
    at = points(vehicle, method)
    model = vehicle.model
    step = integrate.discretise(model, integrate.get(method))
    w = record.build(model.Disturbance)

    def weighted(x: Any, u: Any, p: Any, lam: Any) -> Any:
        records = [
            record.unflatten(kind, tuple(values))
            for kind, values in ((model.State, x), (model.Input, u), (model.Params, p))
        ]
        after, _ = step(records[0], records[1], w, records[2], at.dt)
        return sum((weight * v).sum() for weight, v in zip(lam, record.flatten(after), strict=True))

    with jax.enable_x64(True):
        arguments = [list(jax.numpy.asarray(a.T)) for a in (at.x, at.u, at.p, at.lam)]
        gradients = jax.grad(weighted, argnums=(0, 1, 2))(*arguments)
    found = evaluate(adjoint_of(name, method), **at.ports, lam=at.lam)
    for port, gradient in zip("xup", gradients, strict=True):
        assert_close(found[port], np.array(gradient).T, 1e-10)


@pytest.mark.slow_cases("four_wheel-radau")
@pytest.mark.parametrize(("name", "method"), CASES)
def test_adjoint_and_tangent_are_transposed(name: str, method: str) -> None:
    """λ · (F_x dx + F_u du + F_p dp) is the same number from both sides."""
    vehicle = vehicle_of(name)
    at = points(vehicle, method)
    rng = np.random.default_rng(11)
    scales = {"x": sizes(vehicle.State), "u": sizes(vehicle.Input), "p": parameter_sizes(vehicle)}
    moves = {k: rng.uniform(-1.0, 1.0, (POINTS, len(s))) * s for k, s in scales.items()}
    changes = {f"d{port}": move for port, move in moves.items()}
    moved = evaluate(tangent_of(name, method), **at.ports, **changes)["dx"]
    gradient = evaluate(adjoint_of(name, method), **at.ports, lam=at.lam)
    forwards = at.lam * moved
    backwards = np.concatenate([gradient[port] * moves[port] for port in scales], axis=1)
    size = np.abs(forwards).sum(axis=1) + np.abs(backwards).sum(axis=1)
    assert (np.abs(forwards.sum(axis=1) - backwards.sum(axis=1)) <= 1e-12 * size).all()
    assert (np.abs(forwards).sum(axis=1) > 1e-3).all()


@pytest.mark.slow_cases("four_wheel")
@pytest.mark.parametrize(
    "name",
    [
        "four_wheel",
        "kinematic_bicycle",
        *(pytest.param(name, marks=pytest.mark.slow) for name, _ in LONG),
    ],
)
def test_two_newton_iterations_are_enough(name: str) -> None:
    """The adjoint at the stages of the step as it is simulated, beside that of the exact ones."""
    at = points(vehicle_of(name), "radau")
    usual = evaluate(adjoint_of(name, "radau"), **at.ports, lam=at.lam)
    exact = evaluate(adjoint_program(vehicle_of(name), converged("radau")), **at.ports, lam=at.lam)
    for port in "xup":
        assert_close(usual[port], exact[port], 1e-9)


@pytest.mark.slow_cases("four_wheel-radau")
@pytest.mark.parametrize(("name", "method"), CASES)
def test_finite_at_rest(name: str, method: str) -> None:
    vehicle = vehicle_of(name)
    at = points(vehicle, method, at_rest=True)
    for v_x in (0.0, 1e-9, -1e-3):
        at.x[:, record.names(vehicle.State).index("v_x")] = v_x
        found = evaluate(adjoint_of(name, method), **at.ports, lam=at.lam)
        assert all(np.isfinite(values).all() for values in found.values())
        # The car can be driven off: what a torque does to v_x is not lost at rest.
        assert np.abs(found["u"]).max() > 0.0
        changes = {f"d{port}": np.ones_like(at.ports[port]) for port in "xup"}
        moved = evaluate(tangent_of(name, method), **at.ports, **changes)["dx"]
        assert np.isfinite(moved).all()


class Target(NamedTuple):
    v_x: float
    y: float


def tracking(x: Any, u: Any, p: Any, r: Target) -> Any:
    """A cost with every argument, a corner and a selection."""
    slow = ops.maximum(r.v_x - x.v_x, 0.0)
    steering = ops.where(x.v_x > 10.0, u.steer * u.steer, ops.abs(u.steer))
    return p.m * slow * slow + ops.pow(x.y - r.y, 4.0) + 3.0 * steering + x.v_x * u.tau_rl


def tracking_gradient(x: Any, u: Any, p: Any, r: Target) -> dict[str, dict[str, Any]]:
    """The same by hand."""
    slow = np.maximum(r.v_x - x.v_x, 0.0)
    steering = np.where(x.v_x > 10.0, 2.0 * u.steer, np.sign(u.steer))
    return {
        "x": {"v_x": -2.0 * p.m * slow + u.tau_rl, "y": 4.0 * (x.y - r.y) ** 3},
        "u": {"steer": 3.0 * steering, "tau_rl": x.v_x},
        "p": {"m": slow**2},
    }


@pytest.mark.parametrize("method", ["rk4", "radau"])
def test_stage_cost_is_added(method: str) -> None:
    vehicle = vehicle_of("kinematic_bicycle")
    at = points(vehicle, method)
    reference = np.random.default_rng(3).uniform(5.0, 20.0, (POINTS, 2))
    program = adjoint_program(vehicle, method, Cost(stage=tracking, Reference=Target))
    assert [port.fields for port in program.inputs if port.name == "r"] == [("v_x", "y")]
    plain = evaluate(adjoint_of("kinematic_bicycle", method), **at.ports, lam=at.lam)
    found = evaluate(program, **at.ports, lam=at.lam, r=reference)
    kinds = {"x": vehicle.State, "u": vehicle.Input, "p": vehicle.model.Params}
    records = [record.unflatten(kind, at.ports[port].T) for port, kind in kinds.items()]
    target = Target(*reference.T)
    np.testing.assert_allclose(found["value"][:, 0], tracking(*records, target), rtol=1e-14)
    by_hand = tracking_gradient(*records, target)
    for port, kind in kinds.items():
        wanted = plain[port].copy()
        for field, values in by_hand[port].items():
            wanted[:, record.names(kind).index(field)] += values
        np.testing.assert_allclose(found[port], wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["four_wheel", "kinematic_bicycle"])
def test_compiled(name: str) -> None:
    """Lowered and in lanes it is the same function."""
    at = points(vehicle_of(name), "rk4")
    program = adjoint_of(name, "rk4")
    given = at.ports | {"r": np.zeros((POINTS, 0)), "lam": at.lam}
    results = runner(lower(program, "float64"), lanes=4)(*(given[p.name] for p in program.inputs))
    wanted = evaluate(program, **given)
    for port, found in zip(program.outputs[:3], results, strict=False):
        assert_close(found, wanted[port.name], 1e-12)


def test_ports() -> None:
    vehicle = vehicle_of("kinematic_bicycle")
    program = adjoint_of("kinematic_bicycle", "rk4")
    assert program.name == "kinematic_bicycle.adjoint.rk4"
    assert [port.name for port in program.inputs] == ["x", "u", "w", "p", "dt", "r", "lam"]
    assert [port.name for port in program.outputs] == ["x", "u", "p", "value"]
    states, inputs = record.names(vehicle.State), record.names(vehicle.Input)
    params = record.names(vehicle.model.Params)
    assert [port.fields for port in program.outputs] == [states, inputs, params, ()]


def test_parameters_may_be_left_out() -> None:
    at = points(vehicle_of("four_wheel"), "rk4")
    full = adjoint_of("four_wheel", "rk4")
    lean = adjoint_program(vehicle_of("four_wheel"), "rk4", params=False)
    assert lean.outputs[2].fields == ()
    assert lean.operations < 0.9 * full.operations
    found, wanted = (evaluate(program, **at.ports, lam=at.lam) for program in (lean, full))
    for port in "xu":
        np.testing.assert_array_equal(found[port], wanted[port])


def casadi_adjoint(vehicle: Vehicle, method: str) -> Program:
    """The same derivatives by CasADi's own reverse mode."""
    kinds = {"x": vehicle.State, "u": vehicle.Input, "w": vehicle.model.Disturbance}
    kinds |= {"p": vehicle.model.Params}
    ports = {name: Port(name, record.names(kind)) for name, kind in kinds.items()}
    step = integrate.discretise(vehicle.model, integrate.get(method))

    def function(*given: Any) -> Any:
        records = [record.unflatten(k, v) for k, v in zip(kinds.values(), given[:4], strict=True)]
        after, _ = step(*records, given[4][0])
        symbols = ca.vertcat(*given[0], *given[1], *given[3])
        product = ca.jtimes(
            ca.vertcat(*record.flatten(after)), symbols, ca.vertcat(*given[5]), True
        )
        return (ca.vertsplit(product),)

    inputs = (*ports.values(), Port("dt", ("dt",)), Port("lam", ports["x"].fields))
    fields = tuple(f"{name}.{field}" for name in "xup" for field in ports[name].fields)
    return trace("reverse", function, inputs, (Port("gradient", fields),))


# CasADi has no reverse mode of functions that are called, which the tyres of formula_student are.
@pytest.mark.parametrize("name", [name for name in VEHICLES if name != "formula_student"])
def test_fewer_operations_and_divisions_than_casadi(name: str) -> None:
    ours, theirs = adjoint_of(name, "rk4"), casadi_adjoint(vehicle_of(name), "rk4")
    assert ours.operations < theirs.operations
    divisions = [lower(program, "float64").counts["div"] for program in (ours, theirs)]
    assert divisions[0] < divisions[1]


class Cart(NamedTuple):
    """Position and speed of a cart that moves in leaps."""

    s: float = 0.0
    v: float = 0.0


class Push(NamedTuple):
    """The force on it."""

    F: float = 0.0


class Mass(NamedTuple):
    """Its parameters."""

    m: float = 2.0


def leap(x: Cart, u: Push, w: Any, p: Mass, dt: Any) -> Cart:
    v = x.v + dt * u.F / p.m
    return Cart(x.s + dt * v, v)


def test_discrete_model() -> None:
    model = Model(name="cart", State=Cart, Input=Push, Params=Mass, update=leap)
    program = adjoint_program(model)
    assert program.name == "cart.adjoint.update"
    x, u, p, dt, lam = [1.0, 2.0], [3.0], [4.0], 0.5, [5.0, 7.0]
    found = evaluate(program, x=x, u=u, p=p, dt=[dt], lam=lam)
    on_v = lam[1] + dt * lam[0]
    np.testing.assert_allclose(found["x"], [[lam[0], on_v]])
    np.testing.assert_allclose(found["u"], [[on_v * dt / p[0]]])
    np.testing.assert_allclose(found["p"], [[-on_v * dt * u[0] / p[0] ** 2]])


@pytest.mark.parametrize("make", [adjoint_program, tangent_program])
def test_methods_that_run_on_numbers_have_no_adjoint(make: Any) -> None:
    for method in ("scipy:RK45", "scipy:Radau"):
        with pytest.raises(InvalidValue, match=method):
            make(vehicle_of("kinematic_bicycle"), method)
