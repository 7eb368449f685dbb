"""A policy compiled into a fleet drives as the same function called in Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import skidpad as sp
from core.policy.drivers import CLOCK, FOLLOW, PASS_ON, Params, Reference
from run.fleet.driving import inputs, starts
from skidpad.control import speed
from skidpad.core import record
from skidpad.core.policy import Policy

BICYCLE = sp.vehicles.kinematic_bicycle()
CASES = [
    ("four_wheel", "rk4", 1e-3, 1, 300),
    pytest.param("four_wheel", "radau", 1e-2, 1, 300, marks=pytest.mark.slow),
    ("kinematic_bicycle", "radau", 1e-2, 1, 300),
    ("kinematic_bicycle", "rk4", 1e-2, 8, 300),
    ("brains2", "heun", 1e-2, 10, 200),  # samples its input at the start of a step
]


def lines(steps: int, count: int) -> np.ndarray:
    """References (steps, count, 2): speed and line, each with steps of its own."""
    rng = np.random.default_rng(7)
    held = rng.uniform((4.0, -1.0), (14.0, 1.0), (5, count, 2))
    return np.repeat(held, -(-steps // 5), axis=0)[:steps]


def by_hand(
    sim: sp.Simulator, policy: Policy, start: np.ndarray, references: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """States and memories of a loop closed in Python on floats, the start included."""
    x, memory = sim.reset(start), policy.Memory()
    states, memories = [tuple(x)], [tuple(memory)]
    for row in references.tolist():
        u, memory = policy.act(x, memory, Reference(*row), policy.params, sim.dt)
        x = sim.step(u)
        states.append(tuple(x))
        memories.append(tuple(memory))
    return np.array(states), np.array(memories)


def close(got: np.ndarray, wanted: np.ndarray) -> bool:
    """Within 1e-12 of each column's scale."""
    scale = np.maximum(np.abs(wanted).max(axis=0), 1e-3)
    return bool((np.abs(got - wanted) <= 1e-12 * scale).all())


@pytest.mark.parametrize(("name", "integrator", "dt", "substeps", "steps"), CASES)
def test_it_is_the_loop_closed_in_python(
    name: str, integrator: str, dt: float, substeps: int, steps: int
) -> None:
    car = sp.vehicles.get(name)()
    sim = sp.Simulator(car, dt, integrator, substeps=substeps)
    x0 = np.array([sim.reset(start) for start in starts(car, 3)])
    x0[:, 2] = 0.0
    references = lines(steps, 3)
    fleet = sp.Fleet(car, dt, integrator, substeps=substeps, threads=1)
    states, memories = fleet.rollout(x0, references, policy=FOLLOW, return_memory=True)
    assert states.shape == (steps + 1, 3, 11)
    assert memories.shape == (steps + 1, 3, 1)
    for k in range(3):
        wanted, remembered = by_hand(sim, FOLLOW, x0[k], references[:, k])
        assert close(states[:, k], wanted)
        assert close(memories[:, k], remembered)
    assert np.ptp(states[:, :, 3], axis=0).min() > 0.3, "the speed should follow its reference"


@pytest.mark.parametrize("substeps", [1, 4])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_policy_that_passes_its_reference_on_is_the_open_loop(
    precision: str, substeps: int
) -> None:
    fleet = sp.Fleet(BICYCLE, 2e-3, precision=precision, substeps=substeps, threads=1)
    x0, u = starts(BICYCLE, 9), inputs(BICYCLE, 20, 9)
    closed = fleet.rollout(x0, u, policy=PASS_ON, every=5)
    assert closed.tobytes() == fleet.rollout(x0, u, every=5).tobytes()


def test_the_policy_acts_once_per_step_whatever_the_sub_steps() -> None:
    dt, steps = 0.01, 30
    runs = []
    for substeps in (6, 30):
        fleet = sp.Fleet(BICYCLE, dt, "euler", substeps=substeps)
        states, memories = fleet.rollout(
            {"v_x": 5.0}, steps=steps, policy=CLOCK, return_memory=True, every=10
        )
        assert memories[:, 0, 0].tolist() == [0.0, 10.0, 20.0, 30.0]
        np.testing.assert_allclose(memories[:, 0, 1], [0.0, 0.1, 0.2, 0.3], rtol=1e-14)
        runs.append(states[-1, 0])
    # More sub-steps integrate better, under the very same commands.
    assert 0.0 < np.abs(runs[0] - runs[1]).max() < 0.02


def test_the_memory_is_the_integral_of_the_error() -> None:
    dt = 0.01
    fleet = sp.Fleet(BICYCLE, dt, "rk4", substeps=10)
    gentle = replace(FOLLOW, params={"throttle.k_p": 3.0, "throttle.k_i": 2.0})
    states, memories = fleet.rollout(
        {"v_x": 5.0}, Reference(v=6.0), steps=200, policy=gentle, return_memory=True
    )
    gathered = 2.0 * dt * np.cumsum(6.0 - states[:-1, 0, 3])
    np.testing.assert_allclose(memories[1:, 0, 0], gathered, rtol=1e-12)
    assert abs(memories[-1, 0, 0]) > 1.0


@pytest.mark.parametrize("precision", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
def test_lanes_threads_and_batches_change_no_bits(precision: str) -> None:
    x0, references = starts(BICYCLE, 37), lines(40, 37)
    wanted = None
    for lanes, threads in ((1, 1), (4, 2), (8, 1), (16, 2)):
        fleet = sp.Fleet(BICYCLE, 1e-3, precision=precision, lanes=lanes, threads=threads)
        out = fleet.rollout(x0, references, policy=FOLLOW)
        wanted = out if wanted is None else wanted
        assert out.tobytes() == wanted.tobytes(), f"{lanes} lanes"
        for count in (1, 5):
            few = fleet.rollout(x0[:count], references[:, :count], policy=FOLLOW)
            assert few.tobytes() == np.ascontiguousarray(wanted[:, :count]).tobytes()


def test_gains_per_vehicle_are_those_of_its_own_policy() -> None:
    fleet = sp.Fleet(BICYCLE, 2e-3)
    gains = {"throttle.k_p": np.array([5.0, 20.0, 60.0]), "k_y": np.array([0.01, 0.05, 0.1])}
    start = starts(BICYCLE, 1)
    together = fleet.rollout(start, Reference(8.0), steps=100, policy=FOLLOW, policy_params=gains)
    assert together.shape == (101, 3, 11)
    assert len({together[-1, k].tobytes() for k in range(3)}) == 3
    for k in range(3):
        own = replace(FOLLOW, params={name: values[k] for name, values in gains.items()})
        alone = fleet.rollout(start, Reference(8.0), steps=100, policy=own)
        assert alone.tobytes() == np.ascontiguousarray(together[:, k : k + 1]).tobytes()
        assert fleet.closed_loop(own).plant.step is fleet.closed_loop(FOLLOW).plant.step, (
            "compiled again for other gains"
        )


def test_parameters_of_vehicle_and_policy_go_together() -> None:
    fleet = sp.Fleet(BICYCLE, 2e-3)
    table = np.tile(record.flatten(Params()), (2, 1))
    table[1, 0] = 5.0
    masses = np.array([200.0, 300.0])
    given = {"steps": 50, "policy": FOLLOW, "params": {"m": masses}}
    start = starts(BICYCLE, 1)
    both = fleet.rollout(start, Reference(30.0), policy_params=table, **given)
    named = fleet.rollout(
        start, Reference(30.0), policy_params={"throttle.k_p": [40.0, 5.0]}, **given
    )
    assert both.tobytes() == named.tobytes()
    assert both[-1, 0, 3] > both[-1, 1, 3]


def test_a_rollout_can_be_continued_from_states_and_memory() -> None:
    fleet = sp.Fleet(BICYCLE, 2e-3)
    x0, references = starts(BICYCLE, 6), lines(60, 6)
    whole, kept = fleet.rollout(x0, references, policy=FOLLOW, return_memory=True, every=20)
    x, memory = x0, None
    for part in range(3):
        rows = references[20 * part : 20 * part + 20]
        out, remembered = fleet.rollout(
            x, rows, policy=FOLLOW, memory=memory, return_memory=True, every=20
        )
        x, memory = out[-1], remembered[-1]
        assert x.tobytes() == whole[part + 1].tobytes()
        assert memory.tobytes() == kept[part + 1].tobytes()


def test_the_layout_with_the_vehicle_last() -> None:
    fleet = sp.Fleet(BICYCLE, 2e-3)
    x0, references = starts(BICYCLE, 6), lines(20, 6)
    memory = np.linspace(-5.0, 5.0, 6)[:, None]
    given = {"policy": FOLLOW, "return_memory": True, "every": 10}
    wanted = fleet.rollout(x0, references, memory=memory, **given)
    got = fleet.rollout(x0.T, references.swapaxes(1, 2), memory=memory.T, layout="soa", **given)
    for a, b in zip(got, wanted, strict=True):
        assert np.array_equal(a.swapaxes(1, 2), b)


def test_memory_as_record_and_mapping() -> None:
    fleet = sp.Fleet(BICYCLE, 2e-3)
    ends = [
        fleet.rollout({"v_x": 5.0}, Reference(6.0), steps=5, policy=FOLLOW, memory=memory)
        for memory in (speed.Memory(7.0), {"integral": 7.0}, [7.0], np.array([[7.0]]))
    ]
    assert len({end.tobytes() for end in ends}) == 1
    cold = fleet.rollout({"v_x": 5.0}, Reference(6.0), steps=5, policy=FOLLOW)
    assert cold.tobytes() != ends[0].tobytes()


def test_disturbances_act_and_the_policy_fights_them() -> None:
    car = sp.vehicles.four_wheel()
    fleet = sp.Fleet(car, 1e-3, threads=1)
    gust = np.zeros((1000, 2, 4))
    gust[..., 3] = 1.0  # mu_scale
    gust[:, 1, 1] = 600.0  # F_y on the second car
    states = fleet.rollout({"v_x": 10.0}, Reference(10.0), policy=FOLLOW, disturbances=gust)
    assert np.abs(states[:, 0, 1]).max() < 1e-12
    assert states[-1, 1, 1] > 0.02
    assert states[-1, 1, 6] < 0.0, "it should steer against the gust"


def test_a_policy_in_a_simulator() -> None:
    sim = sp.Simulator(BICYCLE, 2e-3)
    sim.reset(v_x=5.0)
    controller = FOLLOW.controller(sim.dt, reference=lambda t: {"v": 6.0 + t}, params={"k_y": 0.1})
    path = sim.run(controller, steps=100)
    references = np.array([[6.0 + 2e-3 * k, 0.0] for k in range(100)])[:, None]
    states, memories = sp.Fleet(BICYCLE, 2e-3).rollout(
        {"v_x": 5.0}, references, policy=FOLLOW, policy_params={"k_y": 0.1}, return_memory=True
    )
    assert close(states[:, 0], path.states)
    assert controller.memory.integral == pytest.approx(memories[-1, 0, 0], rel=1e-12)


def test_a_policy_runs_in_a_simulator_as_it_is() -> None:
    runs = []
    for controls in (FOLLOW, FOLLOW.controller(2e-3)):
        sim = sp.Simulator(BICYCLE, 2e-3)
        sim.reset(v_x=5.0)
        runs.append(sim.run(controls, steps=50))
    assert runs[0].same_data(runs[1])
    assert runs[0].v_x[-1] != 5.0


def test_outputs_of_a_closed_loop_include_the_commands() -> None:
    fleet = sp.Fleet(sp.vehicles.four_wheel(), 1e-3, threads=1)
    closed = fleet.closed_loop(FOLLOW)
    x0 = np.hstack([starts(fleet.vehicle, 4), np.full((4, 1), 3.0)])
    references = lines(30, 4)
    states = closed.rollout(x0, references)
    y = closed.outputs(states[:-1], references)
    names = record.names(closed.plant.Outputs)
    assert names[-5:] == tuple(f"command.{n}" for n in record.names(fleet.vehicle.Input))
    for k in (0, 17, 29):
        x = fleet.vehicle.State(*states[k, 2, :11].tolist())
        memory = speed.Memory(float(states[k, 2, 11]))
        u, _ = FOLLOW.act(x, memory, Reference(*references[k, 2].tolist()), FOLLOW.params, 1e-3)
        np.testing.assert_allclose(y[k, 2, -5:], u, rtol=1e-12)
    alone = fleet.outputs(states[:-1, :, :11], y[..., -5:])
    np.testing.assert_allclose(y[..., :-5], alone, rtol=1e-9, atol=1e-9)


def test_the_memory_of_a_policy_without_one_can_be_passed_on() -> None:
    car = sp.vehicles.four_wheel()
    coast = sp.Policy(lambda x: car.Input(steer=0.01 * x.v_y))
    fleet = sp.Fleet(car, dt=0.001)
    first, memory = fleet.rollout(
        {"v_x": 5.0}, steps=3, policy=coast, return_memory=True, params={"m": [200.0, 240.0]}
    )
    assert memory.shape == (4, 2, 0)
    again = fleet.rollout(
        first[0], steps=3, policy=coast, memory=memory[0], params={"m": [200.0, 240.0]}
    )
    assert np.array_equal(again, first)
