"""One simulator is for one thread at a time; two threads may step two."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import skidpad as sp
from skidpad.errors import SimulatorInUse

BICYCLE = sp.vehicles.kinematic_bicycle()


def raised_elsewhere(function: Callable[[], Any]) -> BaseException | None:
    """What a function raises in another thread."""
    errors: list[BaseException] = []

    def call() -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return errors[0] if errors else None


@pytest.mark.parametrize(
    "call",
    [
        lambda sim: sim.step(),
        lambda sim: sim.run(steps=2),
        lambda sim: sim.reset(v_x=1.0),
        lambda sim: sim.restore(sim.snapshot()),
        lambda sim: sim.disturb(),
    ],
    ids=["step", "run", "reset", "restore", "disturb"],
)
def test_a_call_while_another_thread_runs_it_is_refused(
    call: Callable[[sp.Simulator], Any],
) -> None:
    sim, alone = (sp.Simulator(BICYCLE, 1e-3) for _ in range(2))
    errors: list[BaseException | None] = []

    def controller(t: float, x: Any) -> Any:
        errors.append(raised_elsewhere(lambda: call(sim)))
        return {"steer": 0.1}

    trajectory = sim.run(controller, steps=3)
    assert [type(error) for error in errors] == [SimulatorInUse] * 3
    assert "one simulator for each thread" in str(errors[0])
    assert trajectory.states.tobytes() == alone.run({"steer": 0.1}, steps=3).states.tobytes()
    assert raised_elsewhere(lambda: call(sim)) is None


def test_a_call_within_a_step_is_refused() -> None:
    sim = sp.Simulator(BICYCLE, 1e-3)
    errors: list[BaseException | None] = []

    class Slow:
        """A number that somebody else uses the simulator for."""

        def __float__(self) -> float:
            errors.append(raised_elsewhere(lambda: sim.step()))
            return 0.1

    sim.step({"steer": Slow()})
    assert [type(error) for error in errors] == [SimulatorInUse]
    assert sim.time == 1e-3
    sim.step()


def test_a_controller_may_use_its_own_simulator() -> None:
    """It is one thread: what a controller does to it is its own affair."""
    sim = sp.Simulator(BICYCLE, 1e-3)
    sim.run(lambda t, x: sim.step(steer=0.1) and {}, steps=2)
    assert sim.time == pytest.approx(4e-3)


def test_two_threads_with_two_simulators() -> None:
    wanted = sp.Simulator(BICYCLE, 1e-3).run({"steer": 0.1, "tau_rl": 5.0}, steps=500)
    results: list[Any] = [None, None]

    def drive(k: int) -> None:
        sim = sp.Simulator(BICYCLE, 1e-3)
        results[k] = [sim.step(steer=0.1, tau_rl=5.0) for _ in range(500)]

    threads = [threading.Thread(target=drive, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for states in results:
        assert [tuple(x) for x in states] == [tuple(row) for row in wanted.states[1:]]
