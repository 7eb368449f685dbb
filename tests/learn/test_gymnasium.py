"""One environment for Gymnasium."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import registry
from gymnasium.utils.env_checker import check_env

from learn.small_tasks import Seen, lapping_task, small_task
from skidpad.errors import InvalidValue, SimulationDiverged
from skidpad.learn import Environments, SkidpadEnv, Task
from skidpad.view.live.server import EpisodePage


@pytest.fixture(scope="module")
def task() -> Task:
    return small_task()


@pytest.fixture(scope="module")
def env(task: Task) -> SkidpadEnv:
    return SkidpadEnv(task)


def test_it_answers_as_its_engine(env: SkidpadEnv) -> None:
    engine = Environments(env.task, autoreset="disabled")
    assert np.array_equal(env.reset(seed=4)[0], engine.reset(seed=4)[0])
    for _ in range(3):
        observation, reward, terminated, truncated, info = env.step(np.array([0.1, 0.2]))
        expected = engine.step([[0.1, 0.2]])
        assert np.array_equal(observation, expected.observation[0])
        assert (reward, terminated, truncated) == (expected.reward[0], False, False)
        assert info == {"progress": engine.progress[0], "lap": 0}


def test_the_checker_of_gymnasium_passes_with_all_render_modes(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its warnings are errors here. With a spec it makes the environment once per render mode."""
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setenv("DISPLAY", ":0")
    gymnasium.register(
        "skidpad-test/Ring-v0", "skidpad.learn.gymnasium_envs:SkidpadEnv", kwargs={"task": task}
    )
    try:
        check_env(gymnasium.make("skidpad-test/Ring-v0").unwrapped)
    finally:
        del registry["skidpad-test/Ring-v0"]
    assert [url.partition("1:")[0] for url in opened] == ["http://127.0.0."]


def test_frames_come_in_real_time(task: Task) -> None:
    now, slept = [100.0], list[float]()

    def sleep(duration: float) -> None:
        slept.append(duration)
        now[0] += duration

    env = SkidpadEnv(task, render_mode="human")
    page = EpisodePage(task, clock=lambda: now[0], sleep=sleep)
    env._rendering._page = page  # pyright: ignore[reportPrivateUsage]
    try:
        for _ in range(2):
            env.reset(seed=3)
            slept.clear()
            for _ in range(3):
                now[0] += 0.001
                env.step(np.zeros(2))
            assert np.allclose(slept, task.dt - 0.001)
    finally:
        env.close()


def test_a_picture_shows_the_vehicle_on_its_track(task: Task) -> None:
    env = SkidpadEnv(task, render_mode="rgb_array")
    with pytest.raises(InvalidValue, match=r"call reset\(\) before render"):
        env.render()
    env.reset(seed=3)
    first = env.render()
    assert first is not None
    assert (first.dtype, first.ndim, first.shape[2]) == (np.uint8, 3, 3)
    env.step(np.array([1.0, 1.0]))
    assert not np.array_equal(first, env.render())
    assert env.metadata["render_fps"] == pytest.approx(1.0 / task.dt)


def test_actions_beyond_the_bounds_are_cut_off(env: SkidpadEnv) -> None:
    env.reset(seed=1)
    far = env.step(np.array([5.0, -7.0]))
    env.reset(seed=1)
    near = env.step(np.array([1.0, -1.0]))
    assert np.array_equal(far[0], near[0])
    assert far[1:] == near[1:]


def test_episodes_are_truncated_once_and_by_the_task(env: SkidpadEnv) -> None:
    for seed in range(20):
        env.reset(seed=seed)
        for k in range(env.task.limit):
            _, _, terminated, truncated, _ = env.step(np.zeros(2))
            assert truncated == (k + 1 == env.task.limit)
            if terminated or truncated:
                break
        with pytest.raises(InvalidValue, match=r"^the episode has ended: call reset\(\)[^,]*$"):
            env.step(np.zeros(2))
        if truncated and not terminated:
            return
    raise AssertionError("no episode lasted")


def test_info_tells_progress_laps_and_the_end() -> None:
    """Beside angles about the middle of a ring of 20 m, a line with 80 corners."""
    length = 80 * 2.0 * 20.0 * np.sin(np.pi / 80)
    env = SkidpadEnv(lapping_task(gate=False))
    observation, info = env.reset(seed=1)
    assert info == {"progress": 0.0, "lap": 0}
    x, y = env.environments.state[0, :2]
    angles, over = [np.arctan2(y, x)], False
    while not over:
        observation, _, terminated, truncated, info = env.step(np.zeros(2))
        assert env.observation_space.contains(observation)
        over = terminated or truncated
        x, y = env.environments.state[0, :2]
        angles.append(np.arctan2(y, x))
        turned = np.unwrap(angles) - angles[0]
        assert info["progress"] == pytest.approx(length / (2.0 * np.pi) * turned[-1], abs=0.02)
        assert info["lap"] == (turned[-1] >= 2.0 * np.pi)
        assert ("lap_time" in info) == (info["lap"] > 0)
        assert ("end_reason" in info) == over
    assert info["end_reason"] == "duration"
    assert info["is_success"] is True
    at = np.interp(2.0 * np.pi, turned, env.task.dt * np.arange(len(turned)))
    assert info["lap_time"] == pytest.approx(at, abs=1e-3)
    assert 0.01 < at % env.task.dt < env.task.dt - 0.01, "between two periods"


def test_a_plain_end_has_a_plain_reason(task: Task) -> None:
    """A task that names no reasons says "ended", and nothing of success."""
    env = SkidpadEnv(task)
    for seed in range(20):
        env.reset(seed=seed)
        terminated = truncated = False
        while not (terminated or truncated):
            _, _, terminated, truncated, info = env.step(np.zeros(2))
        assert info["end_reason"] == ("ended" if terminated else "duration")
        assert "is_success" not in info
        if terminated:
            return
    raise AssertionError("no episode ended")


def test_what_diverged_says_so() -> None:
    light = {"params.m": 1e-30}
    task = small_task(randomised=light, ended=lambda place: place.n > 1e9)
    env = SkidpadEnv(task, on_diverge="end")
    env.reset(seed=1)
    terminated = False
    while not terminated:
        *_, terminated, _, info = env.step(np.zeros(2))
    assert info["end_reason"] == "diverged"


def test_reasons_that_cannot_be_are_named() -> None:
    def ending(**ended: float) -> Any:
        return lambda: SkidpadEnv(small_task(ended=lambda place: ended))

    bad(ending(duration=0.0), "ended gives the reason 'duration'; it must .* none of duration")
    misspelt = small_task(successes=("goals",), ended=lambda place: {"goal": place.n > 9.0})
    bad(lambda: SkidpadEnv(misspelt), "successes.*'goals'; did you mean 'goal'")


def test_a_task_that_reads_no_place_tells_no_progress() -> None:
    blind = small_task(
        observe=lambda velocity: Seen(velocity.v_x, 0.0),
        reward=lambda velocity: velocity.v_x,
        ended=lambda contact: {"contact": contact > 0.5},
    )
    assert SkidpadEnv(blind).reset(seed=0)[1] == {}


def bad(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        call()


def test_bad_input_is_named(task: Task) -> None:
    fresh = SkidpadEnv(task)
    bad(lambda: fresh.step(np.zeros(2)), r"call reset\(\) before the first step")
    before, _ = fresh.reset(seed=5)
    bad(lambda: fresh.step(np.array([np.nan, 0.0])), r"action steer of environment 0 is nan.*-1 to")
    bad(lambda: fresh.step(np.zeros(3)), r"shape \(1, 3\); expected \(1, 2\)")
    bad(lambda: fresh.reset(options={"mask": 1}), "no option mask")
    bad(lambda: SkidpadEnv(task, render_mode="ansi"), "render_mode = 'ansi'.*human, rgb_array")
    bad(lambda: SkidpadEnv("rave"), "has no task 'rave'; did you mean 'race'")
    bad(lambda: SkidpadEnv("race", lidars=3), "'race' has no option 'lidars'; did you mean 'lidar'")
    bad(lambda: SkidpadEnv("race", zzz=3), r"option 'zzz'\. There are 34: vehicle, tracks, lidar, ")
    bad(lambda: SkidpadEnv(task, lidar=3), "lidar: options need the name")
    bad(lambda: SkidpadEnv(small_task(agents=2)), "2 agents.*SkidpadParallelEnv")
    # What was refused changed nothing.
    assert np.array_equal(before, SkidpadEnv(task).reset(seed=5)[0])
    assert np.array_equal(fresh.step(np.zeros(2))[0], _stepped(task, 5))
    fresh.close()
    fresh.close()
    bad(lambda: fresh.step(np.zeros(2)), "closed")
    bad(fresh.reset, "closed")


def _stepped(task: Task, seed: int) -> Any:
    env = SkidpadEnv(task)
    env.reset(seed=seed)
    return env.step(np.zeros(2))[0]


def test_a_state_that_is_no_longer_finite_says_where_and_when(task: Task) -> None:
    """A car that weighs nothing."""
    light = {"params.m": 1e-30}
    endless = small_task(randomised=light, duration=60.0, ended=lambda place: place.n > 1e9)
    env = SkidpadEnv(endless)
    env.reset(seed=1)
    with pytest.raises(SimulationDiverged, match="environment 0") as raised:
        list(map(env.step, [np.zeros(2)] * 50))
    assert raised.value.time == 0.0
    assert raised.value.last_state.v_x == 6.0, "as it started"
