"""Episodes of tasks: driven at random, and by a law of what is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skidpad.learn import Environments, Task

Law = Callable[[dict[str, np.ndarray], int], Any]
"""Of what is seen, by name and in its unit, and the number of the period: one array (B,) for each
field of the action."""
PERIODS = 300


@dataclass
class Episodes:
    """What the first episode of each environment brought."""

    total: np.ndarray
    """Rewards, (B,)."""
    terminated: np.ndarray
    """Whether it was over for good, (B,)."""
    truncated: np.ndarray
    """Whether it was cut off, (B,)."""
    final: dict[str, np.ndarray]
    """What was seen at its end, by name, (B,)."""
    state: np.ndarray
    """Of the vehicles a period before its end, (B, n)."""
    largest: dict[str, np.ndarray]
    """Largest magnitude of what was seen in its second half, by name, (B,)."""


def in_units(task: Task, observation: np.ndarray) -> dict[str, np.ndarray]:
    """Observations by name, in the units of their fields."""
    low, high = np.array(task.lowest), np.array(task.highest)
    values = low + 0.5 * (observation.astype(float) + 1.0) * (high - low)
    return dict(zip(task.Observation._fields, values.T.copy(), strict=True))


def driven(environments: Environments, law: Law, seed: int = 0) -> Episodes:
    """The first episode of each environment, driven by a law."""
    task, count = environments.task, len(environments)
    seen = in_units(task, environments.reset(seed=seed))
    total, done = np.zeros(count), np.zeros(count, bool)
    ends = {"terminated": np.zeros(count, bool), "truncated": np.zeros(count, bool)}
    final, largest = dict(seen), {name: np.zeros(count) for name in seen}
    state = environments.state
    for k in range(task.limit):
        before = environments.state
        step = environments.step(np.column_stack(law(seen, k)))
        seen = in_units(task, step.observation)
        total += np.where(done, 0.0, step.reward)
        state = np.where(done[:, None], state, before)
        ends["terminated"] |= ~done & step.terminated
        ends["truncated"] |= ~done & step.truncated
        for name, values in seen.items():
            final[name] = np.where(done, final[name], values)
            if 2 * k > task.limit:
                peak = np.maximum(largest[name], np.abs(values))
                largest[name] = np.where(done, largest[name], peak)
        done |= step.terminated | step.truncated
        if done.all():
            break
    return Episodes(total, **ends, final=final, state=state, largest=largest)


def held_to_the_rules(task: Task, precision: str) -> int:
    """Drive at random: all is finite and within bounds, and an environment has the same bits alone.

    Returns how many episodes ended, of which each was followed by another.
    """
    some = Environments(task, 5, precision=precision, threads=1)
    alone = Environments(task, 1, precision=precision, threads=1)
    low, high = -1.2, 1.2
    actions = np.random.default_rng(3).uniform(low, high, (PERIODS, 5, len(task.Action._fields)))
    shown, lonely = some.reset(seed=20), alone.reset(seed=23)
    ended, begun = 0, 0
    for action in actions:
        assert np.isfinite(shown).all()
        assert (np.abs(shown) <= 1.0).all()
        assert np.array_equal(shown[3], lonely[0])
        step, one = some.step(action), alone.step(action[3:4])
        shown, lonely = step.observation, one.observation
        assert np.isfinite(step.reward).all()
        for of_some, of_one in zip(step[1:4], one[1:4], strict=True):
            assert of_some[3] == of_one[0]
        over = int((step.terminated | step.truncated).sum())
        ended, begun = ended + over, begun + len(step.ended)
    assert begun in (ended, ended - over)
    return ended
