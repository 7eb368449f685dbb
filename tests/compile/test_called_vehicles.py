"""A vehicle that calls its tyre is the vehicle that copies it, for all users of Programs."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import skidpad as sp
from compile.called_cars import Input, Rolling, Spinning, called, car, copied, policy
from compile.lanes_harness import runner
from skidpad import Vehicle
from skidpad.compile import c, cuda, pipeline, portable
from skidpad.compile.closed_loop import adjoint_program, closed_loop, tangent_program
from skidpad.compile.lower import lower
from skidpad.compile.portable import evaluate
from skidpad.compile.program import Port, Program
from skidpad.compile.trace import trace
from skidpad.core import record
from skidpad.core.policy import Cost
from skidpad.integrate import get
from skidpad.integrate.derivatives import column, symbols_besides
from skidpad.integrate.elimination import find_blocks
from skidpad.run.linearisation import derivative_function

METHODS = ("euler", "semi_implicit", "heun", "rk4", "dopri5", "radau2", "radau")
STATES = [Rolling, pytest.param(Spinning, marks=pytest.mark.slow)]
made = cache(car)


def names(program: Program) -> list[str]:
    return [f.name for f in program.functions]


def values(program: Program, count: int = 7) -> list[np.ndarray]:
    """Rows for every port: driving states, small inputs, parameters around the defaults."""
    rng = np.random.default_rng(3)
    rows: list[np.ndarray] = []
    for port in program.inputs:
        shape = (count, len(port.fields))
        noise = rng.normal(0.0, 0.1, shape)
        if port.name in ("x", "start"):
            noise = _driving(shape)
        elif port.name == "p":
            noise = _around(shape) * (1.0 + 0.5 * noise)
        elif port.name == "dt":
            noise = np.full(shape, 2e-3)
        rows.append(noise)
    return rows


def _around(shape: tuple[int, int]) -> np.ndarray:
    return np.tile(record.flatten(made().params), (shape[0], 1))


def _driving(shape: tuple[int, int]) -> np.ndarray:
    if not shape[1]:
        return np.empty(shape)
    rng = np.random.default_rng(1)
    states = np.tile(record.flatten((Rolling if shape[1] == 7 else Spinning)()), (shape[0], 1))
    moved = rng.normal(0.0, 0.1, shape)
    return states * (1.0 + moved) + moved


def interpreted(program: Program, rows: list[np.ndarray]) -> list[np.ndarray]:
    """The output ports by NumPy: copies of a tyre are what takes longest to compile."""
    results = evaluate(program, [tuple(row.T) for row in rows])
    shapes = [(len(rows[0]), len(port.fields)) for port in program.outputs]
    return [
        np.array([np.broadcast_to(v, shape[0]) for v in port]).reshape(shape[::-1]).T
        for port, shape in zip(results, shapes, strict=True)
    ]


def same(program: Program, reference: Program, rtol: float = 1e-12) -> None:
    """A compiled Program gives the numbers of the reference but for rounding."""
    rows = values(program)
    compiled = runner(lower(program, "float64"))(*rows)
    for ours, theirs in zip(compiled, interpreted(reference, rows), strict=True):
        assert np.isfinite(theirs).all()
        scale = np.abs(theirs).max(axis=0, initial=1e-3)
        assert (np.abs(ours - theirs) <= rtol * scale).all()


@pytest.mark.slow_cases("radau2", "dopri5", "radau")
@pytest.mark.parametrize("method", METHODS)
def test_steps(method: str) -> None:
    program = pipeline.step_program(made(), method)
    assert {"tyre", "limited"} <= set(names(program))
    # Newton's last corrections differ by rounding times the slopes.
    same(
        program, pipeline.step_program(made(copied), method), 1e-10 if "radau" in method else 1e-12
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk4", "radau"])
def test_steps_with_a_large_block(method: str) -> None:
    ours, theirs = (made(call, Spinning) for call in (called, copied))
    program = pipeline.step_program(ours, method)
    if method == "radau":
        assert {"tyre", "tyre_slopes", "slopes"} <= set(names(program))
    # The iterations of a large block end at an error of 1e-10.
    rtol = 1e-9 if method == "radau" else 1e-12
    same(program, pipeline.step_program(theirs, method), rtol)


def test_sixteen_copies_are_one_function() -> None:
    """Four wheels at four stages of an RK4 step."""
    program, reference = (pipeline.step_program(made(call)) for call in (called, copied))
    assert names(program).count("tyre") == 1
    assert program.counts["atan"] == 1
    assert reference.counts["atan"] == 16
    kernel = program.functions[names(program).index("tyre")].operations
    # Copied, stages and wheels share what depends on parameters alone.
    assert reference.operations - program.operations > 12 * kernel


def test_the_blocks_of_an_implicit_step_are_those_of_the_copies() -> None:
    """A call depends on what its body says: the steering and the pose are solved alone."""
    found: list[Any] = []
    model = made(hold=False).model
    kinds = (model.State, model.Input, model.Params)

    def seen(*ports: tuple[Any, ...]) -> Any:
        x, u, p = map(record.unflatten, kinds, ports)
        assert model.derivative is not None
        rates = column(record.flatten(model.derivative(x, u, None, p)))
        states = column(ports[0])
        found.extend(find_blocks(rates, states, symbols_besides(rates, states)))
        return ()

    trace("seen", seen, [Port(k.__name__, record.names(k)) for k in kinds], ())
    assert [block.states for block in found] == [(6,), (3, 4, 5), (2,), (0,), (1,)]


@pytest.mark.slow_cases("Rolling-radau2", "Rolling-rk4")
@pytest.mark.parametrize("method", ["rk4", "semi_implicit", "radau2"])
@pytest.mark.parametrize("State", STATES)
def test_derivatives_of_steps(method: str, State: type) -> None:
    ours, theirs = (made(call, State) for call in (called, copied))
    rtol = 1e-7 if method == "radau2" else 1e-10
    program = adjoint_program(ours, method)
    assert names(program).count("tyre_pullback") == 1
    same(program, adjoint_program(theirs, method), rtol)
    program = tangent_program(ours, method)
    assert names(program).count("tyre_pushforward") == 1
    same(program, tangent_program(theirs, method), rtol)


def test_gradients_of_a_cost_that_calls() -> None:
    def off(y: Any, v_x: Any) -> Any:
        return y * y + 0.01 * (v_x - 12.0) * (v_x - 12.0)

    def cost(call: Any) -> Cost:
        return Cost(stage=lambda x: call(off, x.y, x.v_x), terminal=lambda x: call(off, x.y, x.v_x))

    found = []
    for call in (called, copied):
        fleet = sp.Fleet(made(call), 5e-3, "rk4", threads=1)
        inputs = np.tile([0.05, 40.0], (40, 1, 1))
        found.append(fleet.gradient({"v_x": 10.0}, inputs, cost(call)))
    (value, gradient), (expected, reference) = found
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    for ours, theirs in zip(record.flatten(gradient), record.flatten(reference), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-12)


@pytest.mark.slow_cases("radau2")
@pytest.mark.parametrize("method", ["rk4", "radau2", pytest.param("radau", marks=pytest.mark.slow)])
def test_linearisation(method: str) -> None:
    x, u = Rolling(v_y=0.3, omega=0.1, steer=0.02), Input(0.03, 20.0)
    ours, theirs = (sp.linearise(made(call), x, u, 0.01, method) for call in (called, copied))
    np.testing.assert_allclose(ours.A, theirs.A, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.B, theirs.B, rtol=1e-9, atol=1e-12)


def test_a_linearisation_differentiates_a_kernel_once() -> None:
    step: Any = derivative_function(made(), "step", get("rk4"))
    reference: Any = derivative_function(made(copied), "step", get("rk4"))
    assert step.operations < 0.8 * reference.operations


@pytest.mark.parametrize("method", ["rk4", "radau"])
def test_expressions_for_users_have_no_calls(method: str) -> None:
    model = made().casadi(integrator=method)
    for function in model.functions.values():
        operations = {function.instruction_id(k) for k in range(function.n_instructions())}
        assert ca.OP_CALL not in operations
    reference = made(copied).casadi(integrator=method)
    assert str(model.f_expl) == str(reference.f_expl)


@pytest.mark.slow_cases("radau")
@pytest.mark.parametrize("method", ["rk4", "radau"])
def test_every_way_to_run_has_the_same_bits(method: str) -> None:
    vehicle, steps = made(), 60
    rng = np.random.default_rng(4)
    inputs = rng.normal(0.0, [0.1, 30.0], (steps, 5, 2))
    params = {"front.mu": np.linspace(0.6, 1.0, 5)}
    rollouts = [
        sp.Fleet(vehicle, 5e-3, method, threads=1, lanes=lanes).rollout(
            {"v_x": 12.0}, inputs, params=params
        )
        for lanes in (1, 4, 8)
    ]
    for other in rollouts[1:]:
        assert np.asarray(other).tobytes() == np.asarray(rollouts[0]).tobytes()
    for k in (0, 3):
        tuned = sp.VehicleFactory(vehicle.model)(**{"front.mu": params["front.mu"][k]})
        sim = sp.Simulator(tuned, 5e-3, method)
        sim.reset({"v_x": 12.0})
        states = [tuple(sim.step(tuple(row))) for row in inputs[:, k].tolist()]
        assert np.array(states).tobytes() == np.asarray(rollouts[0])[1:, k].tobytes()


def test_closed_loops() -> None:
    for method in ("rk4", "radau"):
        plants = [
            closed_loop(made(call), get(method), policy(call), 1) for call in (called, copied)
        ]
        assert {"law", "tyre", "limited"} <= set(names(plants[0].step))
        same(plants[0].step, plants[1].step, 1e-9 if method == "radau" else 1e-12)
        same(plants[0].outputs, plants[1].outputs)


def test_outputs() -> None:
    program = pipeline.outputs_program(made())
    assert set(names(program)) == {"tyre", "limited"}
    same(program, pipeline.outputs_program(made(copied)))


def test_programs_evaluated_and_traced_again_are_the_same() -> None:
    """A vehicle in another process has the bits of the original, functions included."""
    vehicle = made()
    program = pipeline.derivative_program(vehicle)
    rows = [row[0].tolist() for row in values(program)]
    (ours,), (theirs,) = (
        evaluate(program, rows),
        runner(lower(program, "float64"))(*(np.array([row]) for row in rows)),
    )
    np.testing.assert_allclose(ours, theirs[0], rtol=1e-12, atol=1e-12)
    _, (payload,) = portable.portable(vehicle.model)
    elsewhere = payload._replace(mark="another process")
    again = portable.unpacked(pickle.loads(pickle.dumps(elsewhere)))
    assert pipeline.step_program(again).digest == pipeline.step_program(vehicle).digest
    assert pipeline.outputs_program(again).digest == pipeline.outputs_program(vehicle).digest


def test_plants_hold_functions(tmp_path: Path) -> None:
    fleet = sp.Fleet(made(), 5e-3, "rk4", threads=1)
    fleet.save(tmp_path / "car.plant")
    loaded = sp.Fleet.load(tmp_path / "car.plant")
    assert loaded.plant.step.digest == fleet.plant.step.digest
    inputs = np.tile([0.05, 40.0], (30, 1, 1))
    ours, theirs = (np.asarray(f.rollout({"v_x": 9.0}, inputs)) for f in (fleet, loaded))
    assert ours.tobytes() == theirs.tobytes()


def test_texts_compute_held_parts_before_the_loop() -> None:
    program = pipeline.step_program(made(), "rk4", "float64")
    assert names(program) == ["limited", "tyre"]
    source = cuda.emit(program, "float64")
    kernel = source[source.index("__global__") :]
    before, loop = kernel.split("for (long long sample")
    # Functions 0 and 2 are the held parts, of the limiter and of the tyres front and rear.
    assert [before.count(f"function_{k}(") for k in range(4)] == [1, 0, 2, 0]
    assert [loop.count(f"function_{k}(") for k in range(4)] == [0, 1, 0, 16]
    assert c.emit(program, "car").count("static void car_") == 4


def test_vehicles_are_as_they_were() -> None:
    """What is called and what is copied is the same function of numbers."""
    x, u = Rolling(v_y=0.2), Input(0.1, 10.0)
    ours, theirs = (vehicle_rates(made(call), x, u) for call in (called, copied))
    assert ours == theirs


def vehicle_rates(vehicle: Vehicle, x: Rolling, u: Input) -> Any:
    return vehicle.derivative(x, u)
