"""`Fleet.vjp` and `Fleet.jacobian`: against the forward mode; and checkpoints along the way."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from run.gradients.evaluate import evaluate
from run.gradients.rollouts import (
    COST,
    DT,
    Drive,
    assert_close,
    drive,
    fleet_of,
    parameter_sizes,
    sizes,
    vehicle_of,
)
from skidpad import Cost
from skidpad.compile.closed_loop import tangent_program
from skidpad.core import record
from skidpad.run import gradient
from skidpad.run.runner import Runner
from skidpad.units import one

CASES = [
    ("kinematic_bicycle", "rk4"),
    ("four_wheel", "rk4"),
    ("kinematic_bicycle", "radau"),
    pytest.param("four_wheel_with_brakes", "rk4", marks=pytest.mark.slow),
    pytest.param("four_wheel", "radau", marks=pytest.mark.slow),
]
PARTS = ("x0", "controls", "params")


@cache
def tangent_of(name: str, method: str) -> Any:
    return tangent_program(vehicle_of(name), fleet_of(name, method).plant.method)


def moved_states(
    name: str, method: str, at: Drive, states: np.ndarray, move: dict[str, np.ndarray]
) -> np.ndarray:
    """Changes of the states (T + 1, B, nx) for changes of x0, controls and parameters.

    The forward mode, step after step, evaluated in NumPy.
    """
    program = tangent_of(name, method)
    w = record.flatten(record.build(vehicle_of(name).model.Disturbance, at.disturbances))
    changes = [move["x0"]]
    for x, u, du in zip(states[:-1], at.controls, move["controls"], strict=True):
        ports = {"x": x, "u": u, "w": w, "p": at.params, "dt": [DT[method]]}
        step = evaluate(program, **ports, dx=changes[-1], du=du, dp=move["params"])
        changes.append(step["dx"])
    return np.array(changes)


@pytest.mark.slow_cases("1-kinematic_bicycle-radau", "4-kinematic_bicycle-radau")
@pytest.mark.parametrize(("name", "method"), CASES)
@pytest.mark.parametrize("every", [1, 4])
def test_dot_products_with_the_forward_mode(name: str, method: str, every: int) -> None:
    fleet, at = fleet_of(name, method), drive(name, 8)
    vehicle = fleet.vehicle
    rng = np.random.default_rng(5)
    scales = {
        "x0": sizes(vehicle.State),
        "controls": sizes(vehicle.Input),
        "params": parameter_sizes(vehicle),
    }
    move = {k: rng.uniform(-1.0, 1.0, at.given[k].shape) * s for k, s in scales.items()}
    states = fleet.rollout(**at.given)
    changes = moved_states(name, method, at, states, move)[::every]
    weights = rng.uniform(-1.0, 1.0, changes.shape) / scales["x0"]
    found = fleet.vjp(**at.given, cotangents=weights, every=every)
    forwards = (weights * changes).sum(axis=(0, 2))
    per_step = (found.controls * move["controls"]).sum(axis=(0, 2))
    ends = (found.x0 * move["x0"]).sum(axis=1) + (found.params * move["params"]).sum(axis=1)
    size = np.abs(weights * changes).sum(axis=(0, 2))
    assert (np.abs(forwards - per_step - ends) <= 1e-11 * size).all()
    assert (np.abs(forwards) > 1e-3 * size).all()


class Weights(NamedTuple):
    """A weight for each field of a car's state."""

    x: one = 0.0
    y: one = 0.0
    yaw: one = 0.0
    v_x: one = 0.0
    v_y: one = 0.0
    omega: one = 0.0
    steer: one = 0.0
    tau_fl: one = 0.0
    tau_fr: one = 0.0
    tau_rl: one = 0.0
    tau_rr: one = 0.0


def weighed(x: Any, r: Any) -> Any:
    return sum(a * b for a, b in zip(x, r, strict=True))


@pytest.mark.parametrize("held", [False, True])
def test_cotangents_are_the_weights_of_a_linear_cost(held: bool) -> None:
    fleet, at = fleet_of("kinematic_bicycle"), drive("kinematic_bicycle", 12)
    given = at.given | ({"controls": at.controls[0], "steps": 12} if held else {})
    weights = np.zeros((13, 3, 11))
    weights[::3] = np.random.default_rng(2).uniform(-1.0, 1.0, (5, 3, 11))
    cost = Cost(stage=lambda x, u, r: weighed(x, r), terminal=weighed, Reference=Weights)
    _, wanted = fleet.gradient(**given, cost=cost, references=weights)
    found = fleet.vjp(**given, cotangents=weights[::3], every=3)
    for part in PARTS:
        assert_close(getattr(found, part), getattr(wanted, part), 1e-12)


def test_only_what_is_asked_for() -> None:
    fleet, at = fleet_of("kinematic_bicycle"), drive("kinematic_bicycle", 4)
    weights = np.ones((5, 3, 11))
    whole = fleet.vjp(**at.given, cotangents=weights)
    some = fleet.vjp(**at.given, cotangents=weights, wrt="controls")
    assert some.x0 is None
    assert some.params is None
    assert_close(some.controls, whole.controls, 1e-12)


@pytest.mark.parametrize(("name", "method"), CASES[:2] + CASES[3:4])
def test_jacobian_against_the_forward_mode(name: str, method: str) -> None:
    """Each column of a Jacobian is where one unit change ends."""
    fleet, at = fleet_of(name, method), drive(name, 4)
    states = fleet.rollout(**at.given)
    found = fleet.jacobian(**at.given)
    count, n_p = at.params.shape
    assert found.x0.shape == (3, 11, 11)
    assert found.controls.shape == (3, 11, 4, 5)
    assert found.params.shape == (3, 11, n_p)
    still = {part: np.zeros_like(at.given[part]) for part in PARTS}
    for part, index in (("x0", 3), ("x0", 5), ("controls", (1, 0)), ("controls", (3, 4))):
        move = {k: v.copy() for k, v in still.items()}
        place = (slice(None), index) if part == "x0" else (index[0], slice(None), index[1])
        move[part][place] = 1.0
        wanted = moved_states(name, method, at, states, move)[-1]
        column = (found.x0 if part == "x0" else found.controls)[:, :, *np.atleast_1d(index)]
        np.testing.assert_allclose(column, wanted, rtol=1e-10, atol=1e-13)
    for k in range(0, n_p, 4):
        move = {**still, "params": np.eye(n_p)[[k] * count]}
        wanted = moved_states(name, method, at, states, move)[-1]
        np.testing.assert_allclose(found.params[:, :, k], wanted, rtol=1e-9, atol=1e-13)


def test_jacobian_of_one_vehicle_and_of_held_controls() -> None:
    fleet, at = fleet_of("kinematic_bicycle"), drive("kinematic_bicycle", 4)
    whole = fleet.jacobian(**at.given)
    for k in range(3):
        alone = fleet.jacobian(**at.of(slice(k, k + 1)).given)
        for part, of_all in zip(alone, whole, strict=True):
            assert part.tobytes() == of_all[k : k + 1].tobytes()
    row = {"controls": np.repeat(at.controls[:1], 4, axis=0)}
    streamed = fleet.jacobian(**at.given | row)
    held = fleet.jacobian(**at.given | {"controls": at.controls[0]}, steps=4)
    assert held.controls.shape == (3, 11, 5)
    np.testing.assert_allclose(held.controls, streamed.controls.sum(axis=2), rtol=1e-12, atol=1e-15)


def test_jacobian_predicts_a_small_change() -> None:
    fleet, at = fleet_of("four_wheel"), drive("four_wheel", 30)
    slopes = fleet.jacobian(**at.given)
    small = 1e-3 * sizes(fleet.vehicle.State)
    ends = [fleet.rollout(**at.given | {"x0": at.x0 + s * small})[-1] for s in (-1.0, 1.0)]
    np.testing.assert_allclose(
        slopes.x0 @ (2.0 * small), ends[1] - ends[0], rtol=1e-4, atol=1e-6 * small.max()
    )


@pytest.fixture
def advances(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Gradients of the bicycle go by checkpoints; the number of states each of its runs keeps."""
    monkeypatch.setattr(gradient, "_MOST_NUMBERS", 100)
    samples, runs = Runner.samples, list[int]()

    def noted(
        self: Runner, arguments: Any, steps: int, every: int, *rest: Any, **names: Any
    ) -> Any:
        runs.append(steps // every)
        return samples(self, arguments, steps, every, *rest, **names)

    monkeypatch.setattr(Runner, "samples", noted)
    return runs


@pytest.mark.parametrize("steps", [4, 23, 25])
@pytest.mark.parametrize("held", [False, True])
def test_checkpoints_of_a_cost(
    steps: int, held: bool, advances: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, at = fleet_of("kinematic_bicycle"), drive("kinematic_bicycle", steps)
    given = at.given | ({"controls": at.controls[0], "steps": steps} if held else {})
    options = {"cost": COST, "references": at.references}
    found_value, found = fleet.gradient(**given, **options)
    assert len(advances) > 2
    assert max(advances) <= 6
    monkeypatch.undo()
    value, wanted = fleet.gradient(**given, **options)
    np.testing.assert_allclose(found_value, value, rtol=1e-14)
    assert found.x0.tobytes() == wanted.x0.tobytes()
    assert_close(found.controls, wanted.controls, 1e-13 if held else 0.0)
    assert_close(found.params, wanted.params, 1e-13)


def test_checkpoints_of_cotangents(advances: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, at = fleet_of("kinematic_bicycle"), drive("kinematic_bicycle", 24)
    weights = np.random.default_rng(4).uniform(-1.0, 1.0, (9, 3, 11))
    found = fleet.vjp(**at.given, cotangents=weights, every=3)
    assert len(advances) > 2
    monkeypatch.undo()
    wanted = fleet.vjp(**at.given, cotangents=weights, every=3)
    assert found.x0.tobytes() == wanted.x0.tobytes()
    assert found.controls.tobytes() == wanted.controls.tobytes()
    assert_close(found.params, wanted.params, 1e-13)
