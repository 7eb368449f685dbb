"""Bookkeeping of episodes: the rules, and their Programs on the CPU and in CUDA's text."""

from __future__ import annotations

import shutil
from functools import partial
from itertools import product

import numpy as np
import pytest

from learn import host_device
from learn.small_tasks import CAR, small_task
from skidpad.core import record
from skidpad.errors import SimulationDiverged
from skidpad.learn import Environments
from skidpad.learn.episodes import (
    BOOKKEEPING,
    DIVERGED,
    OBSERVATION,
    Books,
    Rules,
    advance,
    conclude,
    trace_bookkeeping,
)
from skidpad.ops import where

SPEED = record.names(CAR.model.State).index("v_x")
RULES = [
    Rules(*modes, raises, 10.0, 0.1)
    for modes in ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0))
    for raises in (0.0, 1.0)
]


def cases(count):
    return np.array(list(product((0.0, 1.0), repeat=count))).T


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("agents", [1, 2])
def test_programs_decide_as_the_functions(rules, few, agents):
    ended, failed, renewed, sound, late, over, healthy = (
        np.ascontiguousarray(row) for row in cases(7)
    )
    steps = 8.0 + 2.0 * late
    books = Books(trace_bookkeeping(agents), len(steps), rules, 1, few=few)
    inputs = {"over": over, "healthy": healthy, "steps": steps}
    for name, values in inputs.items():
        books.of[name][:] = values
    books.advance()
    wanted = advance(over, healthy, steps, rules)
    for name, values in zip(BOOKKEEPING["advance"][1], wanted, strict=True):
        assert (books.of[name] == values).all(), name
    inputs = {
        "ended": ended, "failed": failed, "renewed": renewed, "sound": sound, "steps": steps,
    }  # fmt: skip
    for name, values in inputs.items():
        books.of[name][:] = values
    books.conclude()
    worlds = [values.reshape(-1, agents).T for values in inputs.values()]
    results = conclude(*worlds, rules=rules)
    for name, rows in zip(BOOKKEEPING["conclude"][1], results, strict=True):
        assert (np.stack(rows) == books.of[name].reshape(-1, agents).T).all(), name


@pytest.mark.parametrize("rules", RULES)
def test_a_row_ends_restarts_or_reports_an_error(rules):
    def row(ended=0.0, failed=0.0, renewed=0.0, sound=1.0, steps=1.0):
        groups = conclude([ended], [failed], [renewed], [sound], [steps], rules)
        return [values[0] for values in groups]

    waits, again = 1.0 - rules.same_step, rules.same_step
    assert row() == [0, 0, 0, 0, 0]
    assert row(ended=2.0) == [1, 0, waits, again, 0]
    assert row(failed=1.0) == [1, 0, waits, again, 0]
    assert row(steps=10.0) == [0, 1, waits, again, 0]
    assert row(sound=0.0) == [1, 0, waits, again, OBSERVATION * rules.raises]
    assert row(ended=1.0, renewed=1.0, sound=0.0, steps=10.0) == [0, 0, 0, 1, 0]
    assert advance(0.0, 0.0, 4.0, rules) == (1, 0, 5, 5 * 0.1, DIVERGED * rules.raises)
    renewed = rules.next_step
    fault = (1 - renewed) * DIVERGED * rules.raises
    assert advance(1.0, 0.0, 4.0, rules) == (1 - renewed, renewed, 5, 5 * 0.1, fault)


def test_vehicles_of_a_world_end_together():
    rules = Rules(0.0, 1.0, 0.0, 10.0, 0.1)
    nothing, fine, steps = [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [3.0, 3.0, 3.0]
    ends = conclude([0.0, 1.0, 0.0], nothing, nothing, fine, steps, rules)
    assert ends == ((0, 1, 0), (1, 0, 1), (0, 0, 0), (1, 1, 1), (0, 0, 0))
    late = conclude(nothing, nothing, nothing, fine, [10.0, 10.0, 10.0], rules)
    assert late[:2] == ((0, 0, 0), (1, 1, 1))


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("rule", ["raise", "end"])
def test_a_reward_that_is_not_finite_is_the_same_on_every_device(monkeypatch, tmp_path, rule):
    def reward(place, velocity):
        return place.gained / where(velocity.v_x < 2.0, 0.0, 1.0)

    host_device.install(monkeypatch, tmp_path)
    task = small_task(reward=reward)
    stepped = []
    for device in ("cpu", "cuda"):
        environments = Environments(task, 3, device=device, on_diverge=rule)
        environments.reset(seed=3)
        environments.engine.x[0, 1, SPEED] = 1.0
        if rule == "raise":
            call = partial(environments.step, np.zeros((3, 2)))
            if device == "cuda":
                call()
                call = environments.check
            with pytest.raises(SimulationDiverged, match="environment 1: the reward after 1 per"):
                call()
            continue
        stepped.append(environments.step(np.zeros((3, 2))))
    for name in ("observation", "reward", "terminated", "truncated"):
        assert len({getattr(each, name).tobytes() for each in stepped}) <= 1, name
    assert all(each.reward[1] == 0.0 and each.terminated[1] for each in stepped)
