"""`run`: what it takes, what it records, and how it ends early."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue, SimulationDiverged, StepNotConverged
from unstable import unstable_simulator

BICYCLE = sp.vehicles.kinematic_bicycle()
DT = 0.001


@pytest.fixture
def sim() -> sp.Simulator:
    simulator = sp.Simulator(BICYCLE, DT, "heun")
    simulator.reset(v_x=4.0)
    return simulator


def test_what_is_recorded(sim: sp.Simulator) -> None:
    u = np.linspace(0.0, 0.1, 10)[:, None] * [1.0, 0.0, 0.0, 50.0, 50.0]
    moment = sim.snapshot()
    trajectory = sim.run(u)
    assert len(trajectory) == 11
    assert trajectory.name == "kinematic_bicycle"
    assert trajectory.error is None
    np.testing.assert_array_equal(trajectory.t, DT * np.arange(11))
    np.testing.assert_array_equal(trajectory.inputs[:-1], u)
    np.testing.assert_array_equal(trajectory.inputs[-1], u[-1])
    assert sim.time == trajectory.t[-1]
    assert tuple(sim.state) == tuple(trajectory.states[-1])
    # Outputs after each step are those a caller would have asked for.
    sim.restore(moment)
    for k, row in enumerate(u):
        sim.step(row)
        np.testing.assert_array_equal(trajectory.outputs[k + 1], tuple(sim.outputs()))


def test_the_first_outputs_have_the_coming_input(sim: sp.Simulator) -> None:
    car = sp.vehicles.four_wheel()
    simulator = sp.Simulator(car, DT, "euler")
    start = simulator.reset(v_x=9.0, steer=0.05)
    trajectory = simulator.run({"tau_rl": 10.0}, steps=2)
    wanted = car.outputs(start, car.Input(tau_rl=10.0))
    np.testing.assert_allclose(trajectory.outputs[0], wanted, rtol=1e-12, atol=1e-12)


def test_held_inputs(sim: sp.Simulator) -> None:
    moment = sim.snapshot()
    wanted = sim.run(np.tile([0.1, 0, 0, 5.0, 5.0], (20, 1)))
    held = {"steer": 0.1, "tau_rl": 5.0, "tau_rr": 5.0}
    for given in (held, BICYCLE.Input(**held), [0.1, 0, 0, 5.0, 5.0], lambda t, x: held):
        sim.restore(moment)
        trajectory = sim.run(given, duration=0.02)
        assert trajectory.states.tobytes() == wanted.states.tobytes()
        assert trajectory.outputs.tobytes() == wanted.outputs.tobytes()
    sim.restore(moment)
    assert (sim.run(steps=3).inputs == 0.0).all()


def test_a_controller_sees_time_and_state(sim: sp.Simulator) -> None:
    sim.reset(v_x=4.0, time=2.0)
    seen: list[tuple[float, Any]] = []

    def controller(t: float, x: Any) -> Any:
        seen.append((t, x))
        return {"steer": 0.01 * len(seen)}

    trajectory = sim.run(controller, steps=3)
    assert [t for t, _ in seen] == list(trajectory.t[:-1])
    assert [tuple(x) for _, x in seen] == [tuple(row) for row in trajectory.states[:-1]]
    np.testing.assert_allclose(trajectory["u_steer"], [0.01, 0.02, 0.03, 0.03])


def test_part_of_a_table(sim: sp.Simulator) -> None:
    u = np.full((10, 5), 0.01)
    assert len(sim.run(u, steps=4)) == 5
    with pytest.raises(InvalidValue, match=r"controls have shape \(10, 5\); expected \(11, 5\)"):
        sim.run(u, steps=11)


def test_no_steps(sim: sp.Simulator) -> None:
    before = sim.state
    trajectory = sim.run(steps=0)
    assert len(trajectory) == 1
    assert tuple(trajectory.states[0]) == tuple(before) == tuple(sim.state)
    assert len(sim.run(lambda t, x: {}, duration=0.0)) == 1


def test_runs_join(sim: sp.Simulator) -> None:
    moment = sim.snapshot()
    whole = sim.run({"steer": 0.1}, steps=30)
    sim.restore(moment)
    parts = [sim.run({"steer": 0.1}, steps=n) for n in (7, 13, 10)]
    joined = parts[0] + parts[1] + parts[2]
    assert len(joined) == len(whole)
    assert joined.states.tobytes() == whole.states.tobytes()
    np.testing.assert_allclose(joined.t, whole.t, rtol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "say how long to run"),
        ({"duration": 1.0, "steps": 3}, "duration or steps, not both"),
        ({"duration": -1.0}, "duration = -1.0 s must be finite and at least 0"),
        ({"duration": np.nan}, "duration = nan s"),
        ({"duration": np.inf}, "duration = inf s"),
        ({"steps": -1}, "steps = -1 must be not negative"),
        ({"steps": 1.5}, "steps = 1.5 must be a whole number"),
        ({"controls": np.zeros((4, 3))}, r"controls have shape \(4, 3\); expected \(4, 5\)"),
        ({"controls": np.full((4, 5), np.nan)}, "controls: steer of vehicle 0, step 0 is nan"),
        ({"controls": {"steeer": 1.0}, "steps": 2}, "did you mean 'steer'"),
        ({"controls": {"steer": np.inf}, "steps": 2}, r"Input\.steer = inf must be finite"),
        ({"controls": "left", "steps": 2}, "controls must be an array of numbers"),
    ],
)
def test_bad_arguments_change_nothing(
    sim: sp.Simulator, arguments: dict[str, Any], message: str
) -> None:
    before = sim.snapshot()
    with pytest.raises(InvalidValue, match=message):
        sim.run(**arguments)
    assert sim.snapshot() == before


def test_a_controller_that_returns_nonsense_changes_nothing(sim: sp.Simulator) -> None:
    before = sim.snapshot()
    with pytest.raises(InvalidValue, match=r"Input\.steer = nan must be finite"):
        sim.run(lambda t, x: {"steer": np.nan if t > 0.005 else 0.0}, steps=20)
    assert sim.snapshot() == before


def blown_up(integrator: str = "heun", **options: Any) -> sp.Simulator:
    """Torque lags of 1 ms in steps of 50 ms grow without bound."""
    simulator = unstable_simulator(BICYCLE, 0.05, integrator, **options)
    simulator.reset(v_x=4.0)
    return simulator


def test_divergence_stops_a_step() -> None:
    simulator = blown_up()
    reached = [simulator.state]

    def drive() -> None:
        for _ in range(400):
            reached.append(simulator.step(tau_rl=1.0))

    with pytest.raises(SimulationDiverged, match=r"NaN or infinite.*smaller dt") as caught:
        drive()
    assert simulator.state == reached[-1] == caught.value.last_state
    assert simulator.time == caught.value.time
    assert np.isfinite(tuple(simulator.state)).all()
    # What failed once fails again: nothing has moved.
    with pytest.raises(SimulationDiverged):
        simulator.step(tau_rl=1.0)
    assert simulator.state == reached[-1]


@pytest.mark.parametrize("kind", ["table", "held", "controller"])
def test_run_returns_what_it_had(kind: str) -> None:
    controls: dict[str, Any] = {
        "table": np.tile([0.0, 0.0, 0.0, 1.0, 0.0], (400, 1)),
        "held": {"tau_rl": 1.0},
        "controller": lambda t, x: {"tau_rl": 1.0},
    }
    simulator = blown_up(on_diverge="return")
    with pytest.warns(UserWarning, match="run ended at t = .*NaN or infinite"):
        trajectory = simulator.run(controls[kind], steps=400)
    assert isinstance(trajectory.error, SimulationDiverged)
    assert 2 < len(trajectory) < 400
    assert np.isfinite(trajectory.states).all()
    assert trajectory.t[-1] == pytest.approx(trajectory.error.time)
    assert tuple(trajectory.states[-1]) == tuple(trajectory.error.last_state)
    assert simulator.state == trajectory.error.last_state
    assert simulator.input == BICYCLE.Input(tau_rl=1.0)


def test_a_step_that_does_not_converge() -> None:
    car = sp.vehicles.four_wheel()
    simulator = sp.Simulator(car, 2.0, "radau2", on_diverge="return")
    simulator.reset(v_x=20.0, v_y=5.0)
    before = simulator.state, simulator.time, simulator.input
    with pytest.raises(
        StepNotConverged, match=r"Newton residual of .*; allowed is 1e-06"
    ) as caught:
        simulator.step(steer=0.4)
    assert (simulator.state, simulator.time, simulator.input) == before
    assert caught.value.time == 0.0
    assert not caught.value.residual <= 1e-6
    with pytest.warns(UserWarning, match="Newton residual"):
        trajectory = simulator.run({"steer": 0.4}, steps=3)
    assert len(trajectory) == 1
    assert isinstance(trajectory.error, StepNotConverged)
