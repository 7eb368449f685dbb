"""Episodes of tasks, driven by a law of what is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from learn.rollouts import in_units
from skidpad.learn import Environments, Task

Law = Callable[[dict[str, np.ndarray], int], Any]
"""Of what is seen, by name and in its unit, and the number of the period: one array (B,) for each
field of the action."""


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


def seen_by(task: Task, observation: np.ndarray) -> dict[str, np.ndarray]:
    """Observations by name, in the units of their fields."""
    columns = in_units(task, observation.astype(float)).T.copy()
    return dict(zip(task.Observation._fields, columns, strict=True))


def driven(environments: Environments, law: Law, seed: int = 0) -> Episodes:
    """The first episode of each environment, driven by a law."""
    task, count = environments.task, len(environments)
    seen = seen_by(task, environments.reset(seed=seed))
    total, done = np.zeros(count), np.zeros(count, bool)
    ends = {"terminated": np.zeros(count, bool), "truncated": np.zeros(count, bool)}
    final, largest = dict(seen), {name: np.zeros(count) for name in seen}
    state = environments.state
    for k in range(task.limit):
        before = environments.state
        step = environments.step(np.column_stack(law(seen, k)))
        seen = seen_by(task, step.observation)
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
