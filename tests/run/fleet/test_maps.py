"""Vehicles that read maps: everything that carries parameters carries their arrays."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from run.fleet.mapped import MODEL, State, block, derivative, driver, maps, outputs, pushes, starts
from skidpad.compile import native
from skidpad.core import record
from skidpad.core.arrays import alive
from skidpad.errors import InvalidValue, SimulationDiverged
from skidpad.ops import grid, shared_array
from skidpad.world.motion import Group

DT, STEPS, COUNT = 0.01, 60, 21
X0, U = starts(COUNT), pushes(STEPS, COUNT)


@pytest.fixture(scope="module")
def car() -> sp.Vehicle:
    return block()


@pytest.fixture(scope="module")
def fleet(car: sp.Vehicle) -> sp.Fleet:
    return sp.Fleet(car, DT, "rk4")


@pytest.fixture(scope="module")
def states(fleet: sp.Fleet) -> np.ndarray:
    return fleet.rollout(X0, U)


def test_a_rollout_is_runge_kutta_with_the_same_function_in_numpy(
    car: sp.Vehicle, states: np.ndarray
) -> None:
    x, p = X0, car.params

    def rate(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        u = type(record.build(MODEL.Input))(*u.T)
        return np.stack(derivative(State(*x.T), u, None, p), axis=1)

    for k in range(STEPS):
        k1 = rate(x, U[k])
        k2 = rate(x + 0.5 * DT * k1, U[k])
        k3 = rate(x + 0.5 * DT * k2, U[k])
        k4 = rate(x + DT * k3, U[k])
        x = x + DT / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    assert np.allclose(states[-1], x, rtol=0.0, atol=1e-11)


@pytest.mark.slow_cases("float32")
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_lanes_threads_and_simulators_have_the_same_bits(car: sp.Vehicle, precision: str) -> None:
    wanted = sp.Fleet(car, DT, "rk4", precision=precision, lanes=1, threads=1).rollout(X0, U)
    for lanes, threads in ((4, 2), (8, 1), (16, 2)):
        options: dict[str, Any] = {"precision": precision, "lanes": lanes, "threads": threads}
        found = sp.Fleet(car, DT, "rk4", **options).rollout(X0, U)
        assert found.tobytes() == wanted.tobytes(), lanes
    one = sp.Simulator(car, DT, "rk4", precision=precision)
    one.reset(X0[3])
    assert one.run(U[:, 3]).states.astype(precision).tobytes() == wanted[:, 3].tobytes()


def test_vehicles_of_one_fleet_read_different_maps(fleet: sp.Fleet, car: sp.Vehicle) -> None:
    other = block(2)
    names = ("height.values", "friction.values")
    own, theirs = (
        [
            dict(zip(record.names(MODEL.Params), record.flatten(v.params), strict=True))[n]
            for n in names
        ]
        for v in (car, other)
    )
    mixed = {n: [a, b] * 10 + [a] for n, a, b in zip(names, own, theirs, strict=True)}
    found = fleet.rollout(X0, U, params=mixed)
    first, second = fleet.rollout(X0, U), sp.Fleet(other, DT, "rk4").rollout(X0, U)
    assert found[:, ::2].tobytes() == first[:, ::2].tobytes()
    assert found[:, 1::2].tobytes() == second[:, 1::2].tobytes()
    assert not np.array_equal(first, second)


def test_another_map_compiles_nothing(fleet: sp.Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("compiled")

    fleet.rollout(X0, U)
    other = block(3)
    monkeypatch.setattr(native, "object_code", refuse)
    again = sp.Fleet(other, DT, "rk4")
    assert again.plant.step.digest == fleet.plant.step.digest
    assert not np.array_equal(again.rollout(X0, U), fleet.rollout(X0, U))


def test_a_vehicle_keeps_its_maps_and_a_dropped_one_ends_a_rollout(fleet: sp.Fleet) -> None:
    kept = block(4)
    gc.collect()
    number = kept.params.friction.values
    assert int(number) in alive()
    plain = float(number)
    fleet.rollout(X0, U, params={"friction.values": plain})
    del kept, number
    gc.collect()
    with pytest.raises(SimulationDiverged):
        fleet.rollout(X0, U, params={"friction.values": plain})


@pytest.mark.slow
def test_ten_million_values_in_a_fleet(car: sp.Vehicle) -> None:
    """A line of 10⁷ values: the height is the place itself."""
    size, step = (5000, 2000), (0.01, 0.01)
    x = step[0] * np.arange(size[0])
    ramp = grid(np.repeat(x[:, None], size[1], axis=1), step=step)
    wide = sp.Fleet(car.with_params(height=ramp, g=1e-9), DT, "rk4", threads=2)
    x0 = np.random.default_rng(1).uniform((0.0, 0.0, 0.0, 0.0), (40.0, 20.0, 1.0, 0.0), (3000, 4))
    last = wide.rollout(x0, np.zeros((5, 3000, 2)))[-1]
    heights = wide.outputs(last, np.zeros((3000, 2)))[:, 0]
    assert np.allclose(heights, last[:, 0], rtol=0.0, atol=1e-9)
    assert np.allclose(last[:, 0], x0[:, 0] + 5 * DT * x0[:, 2], atol=1e-5)


def cost(x: State, u: Any) -> Any:
    return x.x * x.v_y + u.a_x * x.y


def test_gradients_are_those_of_differences(fleet: sp.Fleet, car: sp.Vehicle) -> None:
    """Of the cubic map everywhere; the linear one has corners, which few steps meet."""
    smooth = car.with_params(
        height=grid(np.full((30, 20), 0.3), start=(-5.0, -4.0), step=(0.5, 0.4))
    )
    one = sp.Fleet(smooth, DT, "rk4")
    x0, u = X0[5:6], U[:20, 5:6]
    value, gradient = one.gradient(x0, u, cost)

    def total(x: np.ndarray, params: Any = None) -> float:
        states = one.rollout(x, u, params=params)[:-1, 0]
        return float(np.sum(states[:, 0] * states[:, 3] + u[:, 0, 0] * states[:, 1]))

    assert total(x0) == pytest.approx(float(value[0]), rel=1e-12)
    h = 1e-6
    for k in range(4):
        d = np.eye(4)[k : k + 1] * h
        wanted = (total(x0 + d) - total(x0 - d)) / (2 * h)
        assert gradient.x0[0, k] == pytest.approx(wanted, rel=1e-6, abs=1e-7)
    names = record.names(MODEL.Params)
    own = dict(zip(names, record.flatten(smooth.params), strict=True))
    for name in ("friction.start_0", "friction.step_1", "g"):
        sides = [total(x0, {name: [own[name] + s * h]}) for s in (1.0, -1.0)]
        wanted = (sides[0] - sides[1]) / (2 * h)
        assert gradient.params[0, names.index(name)] == pytest.approx(wanted, rel=1e-6, abs=1e-7)
    still = [names.index(f"friction.{n}") for n in ("values", "count_0", "count_1")]
    assert gradient.params[0, still].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.slow
def test_linearisation_agrees_with_casadi_and_jax(car: sp.Vehicle) -> None:
    import jax

    x, u = X0[4], U[0, 4]
    found = car.linearise(x, u, DT, "euler")
    model = car.casadi("euler")
    assert np.allclose(np.array(model.step(x, u, DT)).ravel(), found.x_next, rtol=0, atol=1e-12)
    step = model.functions["f_disc"]
    jacobian = np.array(step.jacobian()(x, u, [], model.p_values, DT, 0, 0)[0])
    assert np.allclose(jacobian, found.A, rtol=0.0, atol=1e-10)
    with jax.enable_x64(True):
        other = car.jax("euler")
        after = jax.jit(other.step)(x, u, DT)
        slopes = jax.jit(jax.jacobian(other.step))(jax.numpy.asarray(x), u, DT)
    assert np.allclose(after, found.x_next, rtol=0.0, atol=1e-12)
    assert np.allclose(slopes, found.A, rtol=0.0, atol=1e-10)


def test_ipopt_brakes_on_a_map(car: sp.Vehicle) -> None:
    """Through CasADi's own derivatives: the state after a step is where it is wanted."""
    import casadi as ca

    model, opti = car.casadi("rk4"), ca.Opti()
    u = opti.variable(2)
    x = model.step([0.0, 0.0, 4.0, 1.0], u, 0.1)
    opti.minimize(ca.sumsqr(u))
    opti.subject_to(x[2] == 4.0)
    opti.subject_to(x[3] == 1.1)
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
    found = opti.solve().value(u)
    after = sp.Fleet(car, 0.1, "rk4").rollout([[0.0, 0.0, 4.0, 1.0]], found[None, None])[-1, 0]
    assert after[2:] == pytest.approx([4.0, 1.1], abs=1e-6)


def test_implicit_steps_converge_to_small_explicit_ones(car: sp.Vehicle) -> None:
    far = sp.Fleet(car, DT, "radau").rollout(X0, U)[-1]
    fine = sp.Fleet(car, DT, "rk4", substeps=20).rollout(X0, U)[-1]
    assert np.allclose(far, fine, rtol=0.0, atol=2e-3)


def test_plant_files_have_the_values(fleet: sp.Fleet, states: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "mapped.plant"
    fleet.save(path, cost=cost)
    loaded = sp.Fleet.load(path)
    assert loaded.rollout(X0, U).tobytes() == states.tobytes()
    wanted = fleet.gradient(X0, U, cost)
    assert loaded.gradient(X0, U)[1].x0.tobytes() == wanted[1].x0.tobytes()
    again = pickle.loads(pickle.dumps(loaded))
    assert again.rollout(X0, U).tobytes() == states.tobytes()


@pytest.mark.parametrize("text", ["AAA", "%%%%", "", 3, "AAAA"])
def test_damaged_values_in_a_plant_file_are_named(
    fleet: sp.Fleet, tmp_path: Path, text: Any
) -> None:
    import json

    path = tmp_path / "mapped.plant"
    fleet.save(path)
    document = json.loads(path.read_text())
    document["arrays"]["height.values"] = text
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidValue, match=r"mapped\.plant"):
        sp.Fleet.load(path)


ELSEWHERE = """
import pickle, sys
import numpy as np
import skidpad as sp
from skidpad.ops import shared_array
taken = [shared_array([float(k)]) for k in range(5)]  # other numbers than where it was pickled
with open(sys.argv[1], "rb") as file:
    vehicle, fleet, simulator, loop, x0, u = pickle.load(file)
again = sp.Fleet.load(sys.argv[2])
assert vehicle.params.height.values > 5
state = simulator.step(u[0, 0])
with open(sys.argv[3], "wb") as file:
    pickle.dump([
        sp.Fleet(vehicle, fleet.dt, "rk4").rollout(x0, u), fleet.rollout(x0, u),
        again.rollout(x0, u), loop.rollout(x0, np.zeros((len(u), len(x0), 0))), tuple(state),
        np.array(vehicle.derivative(vehicle.State(*x0[0]), vehicle.Input(1.0, 2.0))),
    ], file)
"""


@pytest.mark.slow_cases("False")
@pytest.mark.parametrize("hidden", [False, True])
def test_another_process_gets_the_values(
    fleet: sp.Fleet, car: sp.Vehicle, tmp_path: Path, hidden: bool
) -> None:
    """As a model that it can import, and as one of functions that it cannot."""
    if hidden:
        from dataclasses import replace

        model = replace(MODEL, derivative=lambda *a: derivative(*a), outputs=lambda *a: outputs(*a))
        car = sp.Vehicle(model, car.params)
        fleet = sp.Fleet(car, DT, "rk4")
    simulator = sp.Simulator(car, DT, "rk4")
    simulator.reset(X0[0])
    simulator.step(U[1, 0])
    loop = fleet.closed_loop(driver())
    pickled, plant, answer = (tmp_path / name for name in ("in", "plant", "out"))
    pickled.write_bytes(pickle.dumps((car, fleet, simulator, loop, X0, U)))
    fleet.save(plant)
    paths = f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}\n"
    command = [sys.executable, "-c", paths + ELSEWHERE, *map(str, (pickled, plant, answer))]
    subprocess.run(command, check=True, timeout=300)
    first, second, third, driven, state, rates = pickle.loads(answer.read_bytes())
    wanted = fleet.rollout(X0, U).tobytes()
    assert first.tobytes() == second.tobytes() == third.tobytes() == wanted
    assert driven.tobytes() == loop.rollout(X0, np.zeros((STEPS, COUNT, 0))).tobytes()
    assert state == tuple(simulator.step(U[0, 0]))
    at = car.derivative(car.State(*X0[0]), car.Input(1.0, 2.0))
    assert np.allclose(rates, at, rtol=0.0, atol=1e-12)


def test_policies_read_maps(fleet: sp.Fleet) -> None:
    first, second = driver(1), driver(2)
    none = np.zeros((STEPS, COUNT, 0))
    found = [fleet.rollout(X0, none, policy=p) for p in (first, second)]
    assert not np.array_equal(*found)
    numbers = {
        "demand.values": [first.params.demand.values, second.params.demand.values] * 10
        + [first.params.demand.values]
    }
    mixed = fleet.rollout(X0, none, policy=first, policy_params=numbers)
    assert mixed[:, ::2].tobytes() == found[0][:, ::2].tobytes()
    assert mixed[:, 1::2].tobytes() == found[1][:, 1::2].tobytes()


def test_monte_carlo_over_maps(fleet: sp.Fleet) -> None:
    roads = [maps(k)["friction"].values for k in range(5)]
    study = fleet.monte_carlo(
        {"x": 0.0, "v_x": 4.0}, runs=5, steps=30, params={"friction.values": np.array(roads)}
    )
    for k, road in enumerate(roads):
        alone = fleet.rollout(
            [[0.0, 0.0, 4.0, 1.0]], np.zeros((30, 1, 2)), params={"friction.values": [road]}
        )
        assert np.array_equal(study.final[k], alone[-1, 0])


def test_vehicles_of_a_world_have_maps_of_their_own() -> None:
    cars = [block(1), block(2)]
    group = Group(["a", "b"], cars, DT)
    for _ in range(10):
        group.step()
    for row, car in enumerate(cars):
        alone = Group(["a"], [car], DT)
        for _ in range(10):
            alone.step()
        assert group.state[row].tobytes() == alone.state[0].tobytes()
        assert group.outputs(row).z == pytest.approx(alone.outputs(0).z)
    assert not np.array_equal(*group.state)


def test_rollouts_while_other_threads_make_and_drop_arrays(
    fleet: sp.Fleet, states: np.ndarray
) -> None:
    """The table never moves and nothing is freed under a kernel, not even what nobody holds."""
    stop, results = threading.Event(), list[bytes]()
    doomed = [shared_array(np.full(600, float(k))) for k in range(200)]
    numbers = [float(n) for n in doomed]

    def churn() -> None:
        while doomed and not stop.is_set():
            doomed.pop()
            shared_array(np.random.default_rng().normal(size=3))

    def roll() -> None:
        for _ in range(10):
            results.append(fleet.rollout(X0, U).tobytes())

    threads = [threading.Thread(target=f) for f in (churn, roll, roll)]
    for thread in threads:
        thread.start()
    loose = sp.Fleet(block(), DT, "rk4", on_diverge="mask")
    for number in reversed(numbers):
        loose.rollout(X0[:8], U[:5, :8], params={"friction.values": number})
    for thread in threads[1:]:
        thread.join()
    stop.set()
    threads[0].join()
    assert set(results) == {states.tobytes()}


def test_the_checks_of_a_vehicle_hold(car: sp.Vehicle) -> None:
    report = sp.testing.check(car, ["purity", "gradients", "dimensions"])
    report.raise_if_failed()


def test_what_is_no_number_of_an_array_is_refused(car: sp.Vehicle) -> None:
    with pytest.raises(InvalidValue, match=r"height\.values"):
        car.with_params({"height.values": np.zeros((30, 20))})
    with pytest.raises(InvalidValue, match=r"height\.values"):
        car.with_params({"height.values": 1.5})
    with pytest.raises(InvalidValue, match=r"friction needs cubic .* got a Grid2, whose .* linear"):
        car.with_params(friction=maps(1)["height"])
    with pytest.raises(InvalidValue, match=r"height\.count_0"):
        car.with_params({"height.count_0": 1.0})
