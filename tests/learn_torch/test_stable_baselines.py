"""Environments for Stable-Baselines3."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from learn.small_tasks import small_task
from skidpad.errors import InvalidValue
from skidpad.learn import SkidpadEnv, Task, stable_baselines_env


@pytest.fixture(scope="module")
def task() -> Task:
    return small_task()


def test_their_checker_passes(task: Task) -> None:
    check_env(SkidpadEnv(task), skip_render_check=True)


def test_it_answers_as_their_own_vector_of_single_environments(task: Task) -> None:
    ours, theirs = stable_baselines_env(task, 3), DummyVecEnv([lambda: SkidpadEnv(task)] * 3)
    assert ours.seed(5) == theirs.seed(5)
    assert np.array_equal(ours.reset(), theirs.reset())
    rng, ends, cut = np.random.default_rng(0), 0, 0
    for _ in range(40):
        actions = rng.uniform(-1.0, 1.0, (3, 2)).astype(np.float32)
        ours_now, theirs_now = ours.step(actions), theirs.step(actions)
        for mine, right in zip(ours_now[:3], theirs_now[:3], strict=True):
            assert np.array_equal(mine, right)
            assert mine.dtype == right.dtype
        for mine, right in zip(ours_now[3], theirs_now[3], strict=True):
            assert mine.keys() == right.keys()
            assert mine["TimeLimit.truncated"] is right["TimeLimit.truncated"]
            if "terminal_observation" in right:
                ends += 1
                cut += right["TimeLimit.truncated"]
                assert np.array_equal(mine["terminal_observation"], right["terminal_observation"])
    assert 0 < cut < ends


def test_ppo_learns_on_it(task: Task) -> None:
    torch.set_num_threads(1)
    monitored = VecMonitor(stable_baselines_env(task, 8))
    model = PPO("MlpPolicy", monitored, n_steps=64, batch_size=128, seed=0, device="cpu")
    model.learn(2000)
    assert model.num_timesteps >= 2000
    assert len(model.ep_info_buffer) > 0
    mean, _ = evaluate_policy(model, VecMonitor(stable_baselines_env(task, 4)), n_eval_episodes=4)
    assert np.isfinite(mean)


def test_attributes_and_bad_input(task: Task) -> None:
    vec = stable_baselines_env(task, 3, render_mode="rgb_array")
    assert vec.get_attr("render_mode", [0, 2]) == ["rgb_array"] * 2
    assert vec.get_attr("task", 1) == [task]
    assert not vec.has_attr("nothing_like_it")
    assert vec.env_is_wrapped(VecMonitor) == [False] * 3
    with pytest.raises(InvalidValue, match="step_async comes before"):
        vec.step_wait()
    vec.reset()
    picture = vec.render()
    assert picture is not None
    assert picture.ndim == 3
    assert len(vec.env_method("render", indices=[1])) == 1
    with pytest.raises(AttributeError, match="no method 'compute_reward'"):
        vec.env_method("compute_reward")
    with pytest.raises(InvalidValue, match="render_mode cannot be set"):
        vec.set_attr("render_mode", None)
    with pytest.raises(InvalidValue, match="no option autoreset_mode"):
        stable_baselines_env(task, 3, autoreset_mode="disabled")
    vec.close()
    with pytest.raises(InvalidValue, match="closed"):
        vec.step(np.zeros((3, 2)))
