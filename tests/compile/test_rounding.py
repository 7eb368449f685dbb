"""Kernels have the same bits however their caller rounds, and leave it as it was."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import skidpad as sp

LIBM = ctypes.CDLL(ctypes.util.find_library("m") or None)
MODES = {
    "x86_64": {"down": 0x400, "up": 0x800, "to zero": 0xC00},
    "aarch64": {"up": 0x400000, "down": 0x800000, "to zero": 0xC00000},
}.get(platform.machine(), {})
"""Numbers of `fesetround` in <fenv.h>; to nearest is 0 everywhere."""

pytestmark = pytest.mark.skipif(not MODES, reason="how this processor rounds is not known here")


CAR = sp.vehicles.kinematic_bicycle()
DT = 2.0**-10
INPUT = {"steer": 0.125, "tau_rl": 3.0}
START = {"v_x": 7.0, "yaw": 0.25}
"""Numbers that single precision has exactly: else the caller would round them itself."""


@contextmanager
def rounding(mode: int) -> Iterator[None]:
    """A caller that rounds in another way, and finds it so afterwards."""
    assert LIBM.fesetround(mode) == 0
    try:
        yield
        assert LIBM.fegetround() == mode
    finally:
        LIBM.fesetround(0)


def stepping(precision: str) -> Callable[[], Any]:
    sim = sp.Simulator(CAR, DT, precision=precision)

    def work() -> Any:
        sim.reset(START)
        for k in range(30):
            sim.step(INPUT, dt=DT if k % 2 else None)
        return np.array(sim.state)

    return work


def running(precision: str) -> Callable[[], Any]:
    sim = sp.Simulator(CAR, DT, precision=precision)

    def work() -> Any:
        sim.reset(START)
        run = sim.run(INPUT, steps=30)
        return np.hstack([run.states, run.outputs])

    return work


def rolling(precision: str) -> Callable[[], Any]:
    fleet = sp.Fleet(CAR, DT, precision=precision, threads=1)
    return lambda: fleet.rollout(START, INPUT, steps=30)


def differentiating(precision: str) -> Callable[[], Any]:
    fleet = sp.Fleet(CAR, DT, precision=precision, threads=1)
    held = np.array([[0.125, 3.0, 0.0, 0.0, 0.0]])
    cost = sp.Cost(lambda x, u: x.y * x.y + x.yaw)

    def work() -> Any:
        value, gradient = fleet.gradient(START, held, cost, steps=30)
        return np.concatenate([value, gradient.x0.ravel(), gradient.params.ravel()])

    return work


@pytest.mark.slow_cases(
    "differentiating-float32-down", "differentiating-float32-to zero", "differentiating-float32-up"
)
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("prepare", [stepping, running, rolling, differentiating])
def test_the_callers_rounding_changes_no_bits(
    prepare: Callable[[str], Callable[[], Any]], precision: str, mode: int
) -> None:
    work = prepare(precision)
    usual = work()
    with rounding(mode):
        other = work()
    assert other.tobytes() == usual.tobytes()


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_the_mode_matters_where_it_is_not_set(mode: int) -> None:
    """Else the test above would show nothing."""
    a, b = np.linspace(0.1, 0.9, 50), np.linspace(-0.7, 0.7, 50)
    usual = a * b
    with rounding(mode):
        other = a * b
    assert (other != usual).any()
