"""The brains2 simulator against runs recorded from the upstream program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp

FILE = Path(__file__).parents[2] / "data" / "brains2" / "sim_upstream.npz"
RUNS = sorted({key.partition("/")[0] for key in np.load(FILE).files})
DT = 0.01


@pytest.fixture(scope="module")
def simulator() -> sp.Simulator:
    return sp.Simulator(sp.vehicles.brains2(), DT, "radau4")


@pytest.fixture(scope="module")
def adaptive() -> sp.Simulator:
    return sp.Simulator(sp.vehicles.brains2(), DT, "scipy:LSODA", rtol=1e-10, atol=1e-10)


def recorded(run: str) -> dict[str, Any]:
    data = np.load(FILE)
    return {name: data[f"{run}/{name}"] for name in ("u_cmd", "x_upstream", "a_upstream")}


def check(simulator: sp.Simulator, run: str) -> None:
    """States free-running from the recorded start, and the accelerations published with them."""
    data = recorded(run)
    simulator.reset(data["x_upstream"][0])
    trajectory = simulator.run(data["u_cmd"])
    assert trajectory.error is None
    np.testing.assert_allclose(trajectory.states, data["x_upstream"], rtol=1e-6, atol=1e-6)
    published = np.stack([trajectory["a_x"], trajectory["a_y"]], axis=1)[1:]
    np.testing.assert_allclose(published, data["a_upstream"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("run", RUNS)
def test_every_run_with_an_adaptive_method(adaptive: sp.Simulator, run: str) -> None:
    check(adaptive, run)


@pytest.mark.parametrize("run", RUNS)
def test_every_run_with_the_method_and_sub_steps_of_upstream(
    simulator: sp.Simulator, run: str
) -> None:
    check(simulator, run)


def test_sub_steps_are_needed_after_a_jump_of_torque() -> None:
    """With one step of Radau over ten time constants of a motor, the recordings are missed."""
    data = recorded("random_overlimit")
    single = sp.Simulator(sp.vehicles.brains2(), DT, "radau4", substeps=1)
    single.reset(data["x_upstream"][0])
    states = single.run(data["u_cmd"]).states
    assert np.abs(states - data["x_upstream"]).max() > 1e-3


def test_a_fleet_takes_the_same_sub_steps(simulator: sp.Simulator) -> None:
    data = recorded("launch_turn_brake_stop")
    fleet = sp.Fleet(sp.vehicles.brains2(), DT, "radau4")
    controls = np.repeat(data["u_cmd"][:200, None], 3, axis=1)
    states = fleet.rollout(data["x_upstream"][0], controls, every=10)
    simulator.reset(data["x_upstream"][0])
    alone = simulator.run(data["u_cmd"][:200]).states[::10]
    assert np.ascontiguousarray(states[:, 2]).tobytes() == np.ascontiguousarray(alone).tobytes()


def test_outputs_use_what_was_held_in_the_last_step(simulator: sp.Simulator) -> None:
    """The step over the switching speed still publishes with the model chosen before it."""
    simulator.reset(v_x=0.099)
    state = simulator.step(tau_rl=200.0, tau_rr=200.0)
    assert state.v_x > 0.1
    assert simulator.outputs().dynamic == 0.0
    simulator.step()
    assert simulator.outputs().dynamic == 1.0
