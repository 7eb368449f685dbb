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


@pytest.fixture(scope="module")
def simulator() -> sp.Simulator:
    return sp.Simulator(sp.vehicles.brains2(), DT, "radau4")


def recorded(run: str) -> dict[str, Any]:
    data = np.load(FILE)
    return {name: data[f"{run}/{name}"] for name in ("u_cmd", "x_upstream", "a_upstream")}


@pytest.mark.parametrize("run", RUNS)
def test_a_whole_run(simulator: sp.Simulator, run: str) -> None:
    """States free-running from the recorded start, and the accelerations published with them."""
    data = recorded(run)
    simulator.reset(data["x_upstream"][0])
    trajectory = simulator.run(data["u_cmd"])
    assert trajectory.error is None
    np.testing.assert_allclose(trajectory.states, data["x_upstream"], rtol=1e-6, atol=1e-6)
    published = np.stack([trajectory["a_x"], trajectory["a_y"]], axis=1)[1:]
    np.testing.assert_allclose(published, data["a_upstream"], rtol=1e-5, atol=1e-5)


def test_outputs_use_what_was_held_in_the_last_step(simulator: sp.Simulator) -> None:
    """The step over the switching speed still publishes with the model chosen before it."""
    simulator.reset(v_x=0.099)
    state = simulator.step(tau_rl=200.0, tau_rr=200.0)
    assert state.v_x > 0.1
    assert simulator.outputs().dynamic == 0.0
    simulator.step()
    assert simulator.outputs().dynamic == 1.0
