"""The simulator: reset, step, time, outputs, snapshots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.units import m, m_s, one

BICYCLE = sp.vehicles.kinematic_bicycle()
DT = 0.001


@pytest.fixture
def sim() -> sp.Simulator:
    simulator = sp.Simulator(BICYCLE, DT, "heun")
    simulator.reset(v_x=4.0, steer=0.1)
    return simulator


def test_it_starts_at_rest_at_zero() -> None:
    simulator = sp.Simulator(BICYCLE, DT, "heun")
    assert simulator.state == BICYCLE.State()
    assert simulator.time == 0.0
    assert simulator.input == BICYCLE.Input()
    assert isinstance(simulator.state, BICYCLE.State)


@pytest.mark.parametrize(
    "given",
    [
        {"v_x": 5.0, "yaw": 1.0},
        BICYCLE.State(v_x=5.0, yaw=1.0),
        [0.0, 0.0, 1.0, 5.0, 0, 0, 0, 0, 0, 0, 0],
        np.array([0.0, 0.0, 1.0, 5.0, 0, 0, 0, 0, 0, 0, 0]),
    ],
    ids=["mapping", "record", "list", "array"],
)
def test_reset(sim: sp.Simulator, given: Any) -> None:
    sim.step(tau_rl=3.0)
    assert sim.reset(given) == BICYCLE.State(v_x=5.0, yaw=1.0) == sim.state
    assert sim.time == 0.0
    assert sim.input == BICYCLE.Input()


def test_reset_by_keywords_and_at_a_time(sim: sp.Simulator) -> None:
    assert sim.reset({"x": 1.0}, v_x=2.0, time=7.0) == BICYCLE.State(x=1.0, v_x=2.0)
    sim.step()
    assert sim.time == 7.0 + DT


def test_reset_makes_dependent_fields_consistent(sim: sp.Simulator) -> None:
    """Without sideways slip the yaw rate follows from speed and steering angle."""
    p = BICYCLE.params
    state = sim.reset(v_x=3.0, steer=0.2, omega=99.0)
    assert state.omega == pytest.approx(3.0 * np.tan(0.2) / (p.l_f + p.l_r))


def test_step_is_one_step_of_the_integrator(sim: sp.Simulator) -> None:
    start = sim.state
    u = BICYCLE.Input(steer=0.2, tau_rl=10.0)

    def slope(state: Any) -> np.ndarray:
        return np.array(BICYCLE.derivative(state, u))

    first = slope(start)
    predicted = np.array(start) + DT * first
    second = slope(BICYCLE.State(*predicted))
    wanted = np.array(start) + DT / 2 * (first + second)
    np.testing.assert_allclose(sim.step(u), wanted, rtol=1e-13, atol=1e-15)
    assert sim.input == u


def test_time_counts_steps_and_does_not_drift(sim: sp.Simulator) -> None:
    for _ in range(1000):
        sim.step()
    assert sim.time == 1000 * DT


def test_the_returned_state_is_a_value(sim: sp.Simulator) -> None:
    first = sim.step(tau_rl=10.0)
    copy = tuple(first)
    sim.step(tau_rl=10.0)
    assert tuple(first) == copy
    assert sim.state != first


def test_simulators_are_apart() -> None:
    one, two = (sp.Simulator(BICYCLE, DT, "heun") for _ in range(2))
    one.reset(v_x=1.0)
    two.reset(v_x=2.0)
    one.step()
    assert two.state.v_x == 2.0
    assert two.time == 0.0


def test_snapshot_and_restore(sim: sp.Simulator) -> None:
    sim.step(tau_rl=5.0)
    before, time, held, outputs = sim.state, sim.time, sim.input, sim.outputs()
    moment = sim.snapshot()
    later = [sim.step(steer=0.1, tau_fl=k) for k in range(5)]
    sim.restore(moment)
    assert (sim.state, sim.time, sim.input, sim.outputs()) == (before, time, held, outputs)
    assert [sim.step(steer=0.1, tau_fl=k) for k in range(5)] == later
    sim.reset()
    sim.restore(moment)
    assert sim.state == before


@pytest.mark.parametrize(
    "other",
    [
        lambda: sp.Simulator(BICYCLE.with_params(m=300.0), DT, "heun"),
        lambda: sp.Simulator(BICYCLE, 2 * DT, "heun"),
        lambda: sp.Simulator(BICYCLE, DT, "heun", precision="float32"),
        lambda: sp.Simulator(BICYCLE, DT, "scipy:RK45"),
    ],
    ids=["parameters", "dt", "precision", "scipy"],
)
def test_a_snapshot_of_another_simulator_is_refused(sim: sp.Simulator, other: Any) -> None:
    before, other = sim.state, other()
    for simulator, foreign in ((sim, other), (other, sim)):
        with pytest.raises(sp.InvalidValue, match="not of this simulator"):
            simulator.restore(foreign.snapshot())
    with pytest.raises(sp.InvalidValue, match="not of this simulator"):
        sim.restore(None)
    assert sim.state == before


def test_outputs_belong_to_the_state_and_the_last_input() -> None:
    car = sp.vehicles.four_wheel()
    simulator = sp.Simulator(car, DT, "euler")
    simulator.reset(v_x=8.0, steer=0.05)
    u = car.Input(steer=0.1, tau_rl=20.0)
    state = simulator.step(u)
    outputs = simulator.outputs()
    assert isinstance(outputs, car.model.Outputs)
    np.testing.assert_allclose(outputs, car.outputs(state, u), rtol=1e-12, atol=1e-12)


def test_outputs_do_not_disturb_the_run() -> None:
    car = sp.vehicles.four_wheel()
    quiet, asked = (sp.Simulator(car, DT, "euler") for _ in range(2))
    for simulator in (quiet, asked):
        simulator.reset(v_x=8.0)
    for _ in range(5):
        one = quiet.step(steer=0.1)
        two = asked.step(steer=0.1)
        asked.outputs()
        assert one == two


def test_a_model_without_outputs() -> None:
    class Position(NamedTuple):
        p: m = 0.0

    class Speed(NamedTuple):
        v: m_s = 0.0

    class Scale(NamedTuple):
        k: one = 1.0

    model = sp.Model(
        "line", Position, Speed, Scale, derivative=lambda x, u, w, p: Position(p.k * u.v)
    )
    simulator = sp.Simulator(sp.Vehicle(model, Scale()), 0.5, "euler")
    assert simulator.step(v=3.0) == Position(1.5)
    assert tuple(simulator.outputs()) == ()


class Inner(NamedTuple):
    p: m = 0.0
    v: m_s = 0.0


class Pair(NamedTuple):
    left: Inner = Inner()
    right: Inner = Inner()


class Pull(NamedTuple):
    both: Inner = Inner()


class Rate(NamedTuple):
    k: one = 1.0


def _pair(x: Any, u: Any, w: Any, p: Any) -> Pair:
    return Pair(Inner(x.left.v, u.both.p), Inner(x.right.v, u.both.v - p.k * x.right.v))


PAIR = sp.Vehicle(sp.Model("pair", Pair, Pull, Rate, derivative=_pair), Rate())


def test_nested_records() -> None:
    simulator = sp.Simulator(PAIR, 0.5, "euler")
    start = simulator.reset({"left.v": 1.0}, right=Inner(2.0, 3.0))
    assert start == Pair(Inner(0.0, 1.0), Inner(2.0, 3.0))
    after = simulator.step(Pull(Inner(4.0, 5.0)))
    assert after == Pair(Inner(0.5, 3.0), Inner(3.5, 4.0))
    assert simulator.input == Pull(Inner(4.0, 5.0))
    simulator.reset(start)
    assert simulator.step({"both.p": 4.0, "both.v": 5.0}) == after
    simulator.reset(start)
    assert simulator.step([4.0, 5.0]) == after
    simulator.reset(start)
    assert simulator.step(Pull(Inner(4.0, 0.0)), **{"both.v": 5.0}) == after


def test_float32() -> None:
    simulator = sp.Simulator(BICYCLE, DT, "heun", precision="float32")
    simulator.reset(v_x=0.1)
    assert simulator.state.v_x == float(np.float32(0.1))
    state = simulator.step(tau_rl=1.0)
    assert all(float(np.float32(value)) == value for value in state)


def test_a_discrete_model_and_its_own_step() -> None:
    def update(x: Any, u: Any, w: Any, p: Any, dt: Any) -> Inner:
        return Inner(x.p + dt * x.v, x.v + u.v * p.k)

    class Kick(NamedTuple):
        v: m_s = 0.0

    vehicle = sp.Vehicle(sp.Model("hop", Inner, Kick, Rate, update=update), Rate(2.0))
    simulator = sp.Simulator(vehicle, 0.25)
    simulator.reset(v=1.0)
    assert simulator.step(v=3.0) == Inner(0.25, 7.0)
    with pytest.raises(sp.InvalidValue, match="'hop' is discrete"):
        sp.Simulator(vehicle, 0.25, "scipy:RK45")
