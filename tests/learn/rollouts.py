"""What every task that is shipped is held to, driven at random."""

from __future__ import annotations

import numpy as np

from skidpad.learn import Environments, Task

PERIODS = 300


def random_actions(task: Task, rows: int) -> np.ndarray:
    width = len(task.Action._fields)
    return np.random.default_rng(8).uniform(-1.2, 1.2, (PERIODS, rows, width))


def held_to_the_rules(task: Task, precision: str = "float32") -> int:
    """Numbers are finite and within bounds, and an environment has the same bits alone; returns the
    number of episodes that ended."""
    some, alone = (Environments(task, count, precision=precision, threads=1) for count in (5, 1))
    agents = task.agents
    own = slice(3 * agents, 4 * agents)
    shown, lonely = some.reset(seed=20), alone.reset(seed=23)
    rays = 0 if task.lidar is None else task.lidar.rays
    low = np.concatenate([-np.ones(shown.shape[1] - rays), np.zeros(rays)])
    ended = 0
    for actions in random_actions(task, 5 * agents):
        assert np.isfinite(shown).all()
        assert (shown >= low).all()
        assert (shown <= 1.0).all()
        assert np.array_equal(shown[own], lonely)
        stepped, one = some.step(actions), alone.step(actions[own])
        shown, lonely = stepped.observation, one.observation
        assert np.isfinite(stepped.reward).all()
        for of_some, of_one in zip(stepped[1:4], one[1:4], strict=True):
            assert np.array_equal(of_some[own], of_one)
        ended += int((stepped.terminated | stepped.truncated).sum())
    return ended


def in_units(task: Task, observation: np.ndarray) -> np.ndarray:
    """Observations in the units of their fields, (B, n), without rays."""
    low, high = np.array(task.lowest), np.array(task.highest)
    return low + 0.5 * (observation[:, : len(low)] + 1.0) * (high - low)
