"""Ctrl-C finds a simulator before a step or after it; a run leaves it as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from run.simulator.interrupts import Interrupt, open_to_profiles
from skidpad.run import simulator

BICYCLE = sp.vehicles.kinematic_bicycle()
BUS = sp.vehicles.autoware(
    "DELAY_STEER_ACC_GEARED", {"wheel_base": 4.76, "steer_time_delay": 0.1, "acc_time_delay": 0.05}
)
KINDS: dict[str, Callable[[], sp.Simulator]] = {
    "compiled": lambda: sp.Simulator(BICYCLE, 1e-3),
    "float32": lambda: sp.Simulator(BICYCLE, 1e-3, precision="float32"),
    "delayed": lambda: sp.Simulator(BUS, 0.025),
    "scipy": lambda: sp.Simulator(BICYCLE, 1e-3, "scipy:RK23", rtol=1e-3, atol=1e-3),
}


def commands(sim: sp.Simulator, count: int) -> np.ndarray:
    rng = np.random.default_rng(2)
    rows = rng.uniform(-0.1, 0.1, (count, len(sim.vehicle.Input._fields)))
    if sim.vehicle is BUS:
        rows[:, -1] = 2.0
    return rows


def driven(kind: str) -> tuple[sp.Simulator, np.ndarray]:
    """A simulator on its way, and further commands."""
    sim = open_to_profiles(KINDS[kind]())
    rows = commands(sim, 40)
    sim.reset(v_x=5.0, time=0.5)
    for row in rows[:10]:
        sim.step(row)
    return sim, rows[10:]


def moment(sim: sp.Simulator) -> tuple[Any, ...]:
    """What a simulator shows, and what it will do: delayed commands are seen by what follows."""
    start = sim.snapshot()
    shown = (sim.state, sim.time, sim.input, sim.outputs())
    coming = [sim.step(row) for row in commands(sim, 8)]
    sim.restore(start)
    return *shown, *coming


@pytest.mark.parametrize("dt", [None, 2e-3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_made_or_not(kind: str, dt: float | None) -> None:
    sim, rows = driven(kind)
    before, start = moment(sim), sim.snapshot()
    sim.step(rows[0], dt=dt)
    after = moment(sim)
    outcomes = set[bool]()
    place = 0
    while True:
        sim.restore(start)
        interrupted = Interrupt(place).call(lambda: sim.step(rows[0], dt=dt))
        now = moment(sim)
        assert now in (before, after), place
        outcomes.add(now == after)
        if not interrupted:
            break
        place += 1
    assert place > 5
    assert outcomes == {False, True}


@pytest.mark.parametrize("controls", ["table", "held", "controller"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_made_or_not(kind: str, controls: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "STRIP", 2)
    sim, rows = driven(kind)
    before, start = moment(sim), sim.snapshot()
    given: Any = {"table": rows[:5], "held": rows[0], "controller": lambda t, x: rows[0]}[controls]
    wanted = sim.run(given, steps=5)
    after, place, trajectories = moment(sim), 0, list[Any]()
    while True:
        sim.restore(start)
        if not Interrupt(place).call(lambda: trajectories.append(sim.run(given, steps=5))):
            break
        # After it, where the interrupt came when all was done.
        assert moment(sim) in (before, after), place
        place += 7 if kind != "scipy" else 97
    assert place > 50
    assert trajectories[-1].states.tobytes() == wanted.states.tobytes()
    assert trajectories[-1].outputs.tobytes() == wanted.outputs.tobytes()


def test_what_a_controller_raises_leaves_the_simulator_as_it_was() -> None:
    sim, _ = driven("compiled")
    before = sim.snapshot()

    def controller(t: float, x: Any) -> Any:
        if t > 0.515:
            raise ZeroDivisionError
        return {"steer": 0.1}

    with pytest.raises(ZeroDivisionError):
        sim.run(controller, steps=20)
    assert sim.snapshot() == before
