"""One environment for Gymnasium."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from small_tasks import small_task

from skidpad.errors import InvalidValue
from skidpad.learn import Environments, SkidpadEnv


@pytest.fixture(scope="module")
def env() -> SkidpadEnv:
    return SkidpadEnv(small_task())


def test_it_answers_as_its_engine(env: SkidpadEnv) -> None:
    engine = Environments(env.task, autoreset="disabled")
    assert np.array_equal(env.reset(seed=4)[0], engine.reset(seed=4)[0])
    for _ in range(3):
        observation, reward, terminated, truncated, info = env.step(np.array([0.1, 0.2]))
        expected = engine.step([[0.1, 0.2]])
        assert np.array_equal(observation, expected.observation[0])
        assert (reward, terminated, truncated) == (expected.reward[0], False, False)
        assert info == {}


def test_actions_beyond_the_bounds_are_cut_off(env: SkidpadEnv) -> None:
    env.reset(seed=1)
    far = env.step(np.array([5.0, -7.0]))
    env.reset(seed=1)
    near = env.step(np.array([1.0, -1.0]))
    assert np.array_equal(far[0], near[0])


def test_what_was_returned_stays(env: SkidpadEnv) -> None:
    first, _ = env.reset(seed=2)
    kept = first.copy()
    env.step(np.zeros(2))
    assert np.array_equal(first, kept)
