"""What a policy commands is computed once a step, not in every sub-step; the bits stay."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import skidpad as sp
from compile import cuda_harness
from skidpad.compile import cuda
from skidpad.compile.cpu import RolloutArrays
from skidpad.compile.gpu import RolloutLaunch
from skidpad.compile.lower import lower
from skidpad.compile.passes import step_values
from skidpad.ops import tanh, where
from skidpad.units import m_s, one

DT, SUBSTEPS, STEPS = 0.3, 3, 12


class Speed(NamedTuple):
    v: m_s = 1.0


class Command(NamedTuple):
    a: one = 0.0


class Empty(NamedTuple):
    pass


def rate(x: Speed, u: Command, w: Empty, p: Empty) -> Speed:
    """Which way it goes is decided by the command alone: a truth that all sub-steps need."""
    return Speed(where(u.a > 0.0, -x.v, 0.5 * x.v + u.a))


CART = sp.Vehicle(sp.Model("cart", Speed, Command, Empty, derivative=rate), Empty())
DRIVER = sp.Policy(lambda x: Command(tanh(2.0 * x.v - 1.0)), name="driver")
STARTS = np.linspace(-1.0, 2.0, 11)[:, None]


def closed(lanes: int | None = None) -> sp.Fleet:
    fleet = sp.Fleet(CART, DT, "heun", substeps=SUBSTEPS, threads=1, lanes=lanes)
    return fleet.closed_loop(DRIVER)


def by_hand(v: float) -> list[float]:
    """Heun's method with the command of the start of each step."""
    states, h = [v], DT / SUBSTEPS
    for _ in range(STEPS):
        a = math.tanh(2.0 * v - 1.0)

        def f(v: float, a: float = a) -> float:
            return -v if a > 0.0 else 0.5 * v + a

        for _ in range(SUBSTEPS):
            v += 0.5 * h * (f(v) + f(v + h * f(v)))
        states.append(v)
    return states


def test_a_policy_belongs_to_the_start_of_a_step() -> None:
    program = closed().plant.step
    values = step_values(program)
    policy = {k for k, i in enumerate(program.code) if i.op == "tanh"}
    assert policy
    assert policy <= values.at_start
    assert len(values.kept) < len(values.at_start)
    alone = sp.Fleet(CART, DT, "heun", substeps=SUBSTEPS).plant.step
    rest = set(range(len(program.code))) - values.before - values.at_start
    assert len(rest) <= len(alone.code), "each sub-step has the vehicle's operations alone"


def test_all_sub_steps_have_the_command_of_their_start() -> None:
    states = closed().rollout(STARTS, steps=STEPS)
    expected = np.transpose([by_hand(float(v)) for v in STARTS[:, 0]])
    np.testing.assert_allclose(states[..., 0], expected, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_bits_do_not_depend_on_the_lanes(lanes: int) -> None:
    wanted = closed().rollout(STARTS, steps=STEPS)
    assert closed(lanes).rollout(STARTS, steps=STEPS).tobytes() == wanted.tobytes()


def test_the_cuda_text_has_the_bits_of_the_lanes(tmp_path: Path) -> None:
    loop = closed()
    text = cuda.emit(lower(loop.plant.step, "float64"), "float64")
    assert "bool kept" in text
    launch = cuda_harness.kernel(text, "rollout", tmp_path)
    wanted = loop.rollout(STARTS, steps=STEPS)
    out = np.full_like(wanted, np.nan)
    out[0] = STARTS
    nothing = np.zeros((1, 1, 0))
    numbers = {"dt": np.float64(DT / SUBSTEPS), "tolerance": np.float64(1.0)}
    arrays = RolloutArrays(STARTS[None], nothing, nothing, nothing)
    pieces = RolloutLaunch(launch, np, arrays, out, 1, substeps=SUBSTEPS, **numbers)
    pieces(0, 5)
    pieces(5, STEPS)
    assert out.tobytes() == wanted.tobytes()
