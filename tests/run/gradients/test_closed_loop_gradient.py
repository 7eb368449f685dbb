"""Gradients through a policy in the loop: against differences, and against the open loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from core.policy.drivers import FOLLOW, PASS_ON, Reference
from skidpad.errors import InvalidValue

BICYCLE = sp.vehicles.kinematic_bicycle()
STEPS = 12
COST = sp.Cost(
    stage=lambda x, u: 0.1 * (x.v_x - 8.0) ** 2 + u.steer**2 + 1e-4 * u.tau_rl**2,
    terminal=lambda x: (x.y - 1.0) ** 2 + x.yaw**2,
)
REMEMBERED = sp.Cost(terminal=lambda x, p: x.memory.integral * p.policy.k_y + p.m * x.y)
"""Sees what the loop has beyond the vehicle."""
STARTS = np.zeros((2, 12))
STARTS[:, 1] = [0.3, -0.4]
STARTS[:, 3] = [6.0, 7.0]
STARTS[:, -1] = [2.0, -1.0]


@pytest.fixture(scope="module", params=["rk4", "radau"])
def closed(request: pytest.FixtureRequest) -> sp.Fleet:
    return sp.Fleet(BICYCLE, 2e-3, request.param, threads=1).closed_loop(FOLLOW)


def references() -> np.ndarray:
    rows = np.zeros((STEPS, 2, 2))
    rows[..., 0] = np.linspace(6.5, 8.0, STEPS)[:, None]
    rows[..., 1] = [0.5, -0.2]
    return rows


def difference(value: Any, at: np.ndarray, place: tuple[int, ...], h: float) -> np.ndarray:
    ends = []
    for sign in (1.0, -1.0):
        moved = at.copy()
        moved[place] += sign * h
        ends.append(value(moved))
    return (ends[0] - ends[1]) / (2.0 * h)


@pytest.mark.slow_cases("radau-of the loop", "radau-of the vehicle", "rk4-of the vehicle")
@pytest.mark.parametrize("cost", [COST, REMEMBERED], ids=["of the vehicle", "of the loop"])
def test_it_is_the_derivative_of_the_rollout(closed: sp.Fleet, cost: sp.Cost) -> None:
    told = references()
    params = np.tile(sp.core.record.flatten(closed.plant.params), (2, 1))

    def value(x: Any = STARTS, r: Any = told, p: Any = params) -> np.ndarray:
        return closed.gradient(x, r, cost, params=p, wrt=())[0]

    _, gradient = closed.gradient(STARTS, told, cost, params=params)
    for field in (0, 1, 2, 3, 11):
        slope = difference(lambda x: value(x=x), STARTS, np.s_[:, field], 1e-5)
        np.testing.assert_allclose(gradient.x0[:, field], slope, rtol=2e-6, atol=1e-8)
    for step, field in ((0, 0), (5, 1), (STEPS - 1, 1)):
        slope = difference(lambda r: value(r=r), told, np.s_[step, :, field], 1e-4)
        np.testing.assert_allclose(gradient.controls[step, :, field], slope, rtol=2e-5, atol=1e-8)
    names = sp.core.record.names(closed.plant.Params)
    for name in ("m", "policy.throttle.k_p", "policy.k_y", "policy.k_yaw"):
        column = names.index(name)
        h = 1e-5 * params[0, column]
        slope = difference(lambda p: value(p=p), params, np.s_[:, column], h)
        np.testing.assert_allclose(gradient.params[:, column], slope, rtol=2e-5, atol=1e-8)


def test_a_policy_that_passes_on_what_it_is_told_has_the_gradient_of_the_open_loop() -> None:
    fleet = sp.Fleet(BICYCLE, 2e-3, "heun", threads=1)
    controls = np.zeros((STEPS, 2, 5))
    controls[..., 0], controls[..., 3:] = 0.1, 30.0
    there = fleet.gradient(STARTS[:, :11], controls, COST)
    here = fleet.closed_loop(PASS_ON).gradient(STARTS[:, :11], controls, COST)
    np.testing.assert_allclose(here[0], there[0], rtol=1e-13)
    for a, b in zip(here[1], there[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12 * np.abs(b).max())


def test_pullbacks_and_jacobians_are_of_the_loop_too() -> None:
    closed = sp.Fleet(BICYCLE, 2e-3, "heun", threads=1).closed_loop(FOLLOW)
    told = references()
    slopes = closed.jacobian(STARTS, told)
    cotangents = np.zeros((STEPS + 1, 2, 12))
    cotangents[-1, :, 1] = 1.0
    pulled = closed.vjp(STARTS, told, cotangents)
    np.testing.assert_allclose(pulled.x0, slopes.x0[:, 1], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(pulled.params, slopes.params[:, 1], rtol=1e-12, atol=1e-15)


def test_bits_do_not_depend_on_the_batch_and_a_saved_loop_has_them_too(tmp_path: Path) -> None:
    closed = sp.Fleet(BICYCLE, 2e-3, "heun", threads=2).closed_loop(FOLLOW)
    many = np.tile(STARTS, (21, 1))
    value, gradient = closed.gradient(many, Reference(), COST, steps=STEPS)
    closed.save(tmp_path / "loop.plant", cost=COST)
    alone = sp.Fleet.load(tmp_path / "loop.plant", threads=1)
    again, same = alone.gradient(STARTS, Reference(), steps=STEPS)
    assert value[:2].tobytes() == again.tobytes()
    for a, b in zip(gradient, same, strict=True):
        assert np.ascontiguousarray(a[:2]).tobytes() == np.ascontiguousarray(b).tobytes()


def test_sub_steps_are_refused() -> None:
    closed = sp.Fleet(BICYCLE, 2e-3, "heun", substeps=2).closed_loop(FOLLOW)
    with pytest.raises(InvalidValue, match="gradients need substeps = 1, this fleet has 2"):
        closed.gradient(STARTS, Reference(), COST, steps=4)
