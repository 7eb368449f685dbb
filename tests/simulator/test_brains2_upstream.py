"""The brains2 simulator against runs recorded from the upstream program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp

FILE = Path(__file__).parents[1] / "data" / "brains2" / "sim_upstream.npz"
RUNS = sorted({key.partition("/")[0] for key in np.load(FILE).files})
DT = 0.01


SMOOTH = ("slalom_zoh", "step_steer_8_rate_limited")
"""Runs without jumps of the torque targets. The program takes ten steps of Radau IIA where one has
to do here; over ten time constants of the torque actuators that shows after a jump."""


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


@pytest.mark.parametrize("run", SMOOTH)
def test_runs_in_one_step_of_radau(simulator: sp.Simulator, run: str) -> None:
    check(simulator, run)


def test_outputs_use_what_was_held_in_the_last_step(simulator: sp.Simulator) -> None:
    """The step over the switching speed still publishes with the model chosen before it."""
    simulator.reset(v_x=0.099)
    state = simulator.step(tau_rl=200.0, tau_rr=200.0)
    assert state.v_x > 0.1
    assert simulator.outputs().dynamic == 0.0
    simulator.step()
    assert simulator.outputs().dynamic == 1.0
