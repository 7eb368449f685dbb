"""`brains2` against runs of the upstream program with its limiter, switch and published values."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad import vehicles
from skidpad.core import record
from skidpad.vehicles.brains2_sim import MODEL as BRAINS2_MODEL
from skidpad.vehicles.brains2_sim import Held
from validation.reference import columns, compiled, flow, load, table

RUNS = sorted({key.partition("/")[0] for key in load("sim_upstream")})
DT = 0.01


def recorded(run: str) -> dict[str, np.ndarray]:
    data = load("sim_upstream")
    return {key.partition("/")[2]: data[key] for key in data if key.startswith(f"{run}/")}


@pytest.mark.parametrize("run", RUNS)
def test_limiter_and_model_choice_at_every_step(run: str) -> None:
    data = recorded(run)
    car = vehicles.brains2()
    x = columns(car.State, data["x_upstream"][:-1])
    held = table(BRAINS2_MODEL.hold(x, columns(car.Input, data["u_cmd"]), None, car.params))
    np.testing.assert_allclose(held[:, :5], data["u_applied"], rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(held[:, 5], data["mode_dyn"])


def test_runs_use_both_models_and_the_limiter() -> None:
    modes = np.concatenate([recorded(run)["mode_dyn"] for run in RUNS])
    assert set(modes) == {0, 1}
    limited = [
        not np.array_equal(recorded(run)["u_cmd"], recorded(run)["u_applied"]) for run in RUNS
    ]
    assert any(limited)


@pytest.mark.parametrize("run", RUNS)
def test_published_accelerations(run: str) -> None:
    """The model chosen at the start of a step, evaluated at the state at its end."""
    data = recorded(run)
    car = vehicles.brains2()
    start = columns(car.State, data["x_upstream"][:-1])
    end = columns(car.State, data["x_upstream"][1:])
    held = BRAINS2_MODEL.hold(start, columns(car.Input, data["u_cmd"]), None, car.params)
    out = BRAINS2_MODEL.outputs(end, held, None, car.params)
    np.testing.assert_allclose(
        np.stack([out.a_x, out.a_y], axis=1), data["a_upstream"], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("run", RUNS)
def test_whole_run(run: str) -> None:
    data = recorded(run)
    car = vehicles.brains2()
    derivative = compiled(BRAINS2_MODEL.derivative, car.State, Held, car.params, None)
    hold = compiled(BRAINS2_MODEL.hold, car.State, car.Input, car.params, None)
    x = data["x_upstream"][0]
    for i, command in enumerate(data["u_cmd"]):
        held = hold(x, command).full().ravel()
        x = flow(derivative, x, held, np.array([0.0, DT]))[-1]
        np.testing.assert_allclose(x, data["x_upstream"][i + 1], rtol=1e-6, atol=1e-6)


def test_direct_call_samples_the_input_at_the_given_state() -> None:
    car = vehicles.brains2()
    slow = record.build(car.State, v_x=0.09)
    fast = record.build(car.State, v_x=0.11)
    command = record.build(car.Input, steer=1.0)
    assert car.outputs(slow, command).dynamic == 0.0
    assert car.outputs(fast, command).dynamic == 1.0
    # Reach 0.02 rad over 0.02 s: 1 rad/s at the start of the step, less later.
    assert car.derivative(fast, command).steer == pytest.approx(1.0)
