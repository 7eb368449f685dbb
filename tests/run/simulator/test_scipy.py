"""Simulators on SciPy's methods agree with compiled ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import SimulationDiverged, StepNotConverged
from skidpad.units import one

CAR = sp.vehicles.four_wheel()


def drive(simulator: sp.Simulator, steps: int) -> np.ndarray:
    simulator.reset(v_x=8.0)
    for k in range(steps):
        simulator.step(steer=0.05 if k < steps // 2 else -0.02, tau_rl=20.0)
    return np.array(simulator.state)


@pytest.fixture(scope="module")
def reference() -> np.ndarray:
    return drive(sp.Simulator(CAR, 1e-4, "rk4"), 500)


@pytest.mark.parametrize("method", ["scipy:RK45", "scipy:DOP853", "scipy:Radau", "scipy:LSODA"])
def test_agreement(reference: np.ndarray, method: str) -> None:
    simulator = sp.Simulator(CAR, 5e-3, method, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(drive(simulator, 10), reference, rtol=1e-6, atol=1e-6)


def test_the_tolerance_matters(reference: np.ndarray) -> None:
    errors = [
        np.abs(drive(sp.Simulator(CAR, 5e-3, "scipy:RK45", rtol=r, atol=r), 10) - reference).max()
        for r in (1e-3, 1e-9)
    ]
    assert errors[1] < 0.1 * errors[0]


def test_run_and_outputs() -> None:
    simulator = sp.Simulator(CAR, 5e-3, "scipy:DOP853", rtol=1e-9, atol=1e-10)
    simulator.reset(v_x=8.0)
    trajectory = simulator.run({"steer": 0.05}, steps=4)
    assert len(trajectory) == 5
    np.testing.assert_allclose(
        simulator.outputs(),
        CAR.outputs(simulator.state, CAR.Input(steer=0.05)),
        rtol=1e-12,
        atol=1e-12,
    )


def test_what_is_held_is_held() -> None:
    """The brains2 limiter samples the state at the start of a step, also between SciPy's stages."""
    vehicle = sp.vehicles.brains2()
    compiled = sp.Simulator(vehicle, 0.01, "radau4")
    scipy = sp.Simulator(vehicle, 0.01, "scipy:Radau", rtol=1e-10, atol=1e-11)
    for simulator in (compiled, scipy):
        simulator.reset(v_x=5.0)
    for _ in range(10):
        np.testing.assert_allclose(
            compiled.step(steer=1.0), scipy.step(steer=1.0), rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("method", ["scipy:RK45", "scipy:LSODA"])
def test_failure_leaves_the_simulator_as_it_was(method: str) -> None:
    """A speed whose square overflows has no derivative."""
    simulator = sp.Simulator(CAR, 1.0, method, on_diverge="return")
    simulator.reset(v_x=1e200, time=3.0)
    before = simulator.state, simulator.time, simulator.input
    with pytest.raises(SimulationDiverged) as caught:
        simulator.step(steer=0.1)
    assert caught.value.time == 3.0
    assert caught.value.last_state == before[0]
    assert (simulator.state, simulator.time, simulator.input) == before
    with pytest.warns(UserWarning, match="run ended at t = 3 s"):
        trajectory = simulator.run(steps=3)
    assert len(trajectory) == 1


def test_a_solver_that_gives_up_is_an_error_of_that_step() -> None:
    """The solution 1/(1 - t) reaches infinity within the step, so no step size is small enough."""

    class Growth(NamedTuple):
        y: one = 1.0

    class Nothing(NamedTuple):
        u: one = 0.0

    model = sp.Model(
        "growth", Growth, Nothing, Nothing, derivative=lambda x, u, w, p: Growth(x.y * x.y)
    )
    simulator = sp.Simulator(sp.Vehicle(model, Nothing()), 0.75, "scipy:RK45")
    assert simulator.step().y == pytest.approx(4.0, rel=1e-2)
    with pytest.raises((SimulationDiverged, StepNotConverged)) as caught:
        simulator.step()
    assert caught.value.time == 0.75
    assert simulator.time == 0.75
