"""Environments for Stable-Baselines3."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from learn.small_tasks import lapping_task, small_task
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
            assert mine["TimeLimit.truncated"] is right["TimeLimit.truncated"]
            if "terminal_observation" not in right:
                assert mine.keys() == {"TimeLimit.truncated"}, "no numbers on the way"
            if "terminal_observation" in right:
                ends += 1
                cut += right["TimeLimit.truncated"]
                assert np.array_equal(
                    mine.pop("terminal_observation"), right.pop("terminal_observation")
                )
                assert mine == right
                assert mine["end_reason"] in ("ended", "duration")
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


def test_successes_are_counted_in_training_and_evaluation(tmp_path: Path) -> None:
    """A gate that closes in one half of the episodes, whatever is done."""
    torch.set_num_threads(1)
    env = VecMonitor(stable_baselines_env(lapping_task(), 8))
    judge = EvalCallback(
        VecMonitor(stable_baselines_env(lapping_task(), 8)), n_eval_episodes=24, eval_freq=128,
        log_path=str(tmp_path), verbose=0,
    )  # fmt: skip
    model = PPO("MlpPolicy", env, n_steps=128, batch_size=256, n_epochs=1, seed=0, device="cpu")
    model.learn(1024, callback=judge)
    assert 0.1 < np.mean(model.ep_success_buffer) < 0.9
    with np.load(tmp_path / "evaluations.npz") as file:
        assert file["successes"].shape == (1, 24)
        assert np.array_equal(file["successes"], file["ep_lengths"] == 70)
        assert 0 < file["successes"].sum() < 24


def test_the_run_of_the_page_updates_often_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """PPO learns to race in some dozens of updates, not in one or two."""
    page = Path(__file__).parents[3] / "docs" / "learn.md"
    block = page.read_text("utf-8").partition("## Stable-Baselines3")[2]
    block = block.partition("```python no-run\n")[2].partition("```")[0]
    updates: list[float] = []

    def learn(model: PPO, total_timesteps: int) -> None:
        updates.append(total_timesteps / (model.n_envs * model.n_steps))

    monkeypatch.setattr(PPO, "learn", learn)
    exec(compile(block, str(page), "exec"), {})
    assert updates
    assert updates[0] >= 20.0


def test_attributes_and_bad_input(task: Task) -> None:
    vec = stable_baselines_env(task, 3, render_mode="rgb_array")
    assert vec.get_attr("render_mode", [0, 2]) == ["rgb_array"] * 2
    assert vec.get_attr("task", 1) == [task]
    assert not vec.has_attr("nothing_like_it")
    assert vec.env_is_wrapped(VecMonitor) == [False] * 3
    with pytest.raises(InvalidValue, match="call step_async before"):
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
