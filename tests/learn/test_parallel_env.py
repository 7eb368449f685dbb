"""Several vehicles for PettingZoo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from learn.small_tasks import small_task
from skidpad.errors import InvalidValue
from skidpad.learn import Environments, Lidar, SkidpadParallelEnv, Task


@pytest.fixture(scope="module")
def task() -> Task:
    # A ray straight ahead sees the one in front.
    return small_task(agents=2, lidar=Lidar(3, range=20.0))


@pytest.fixture(scope="module")
def env(task: Task) -> SkidpadParallelEnv:
    return SkidpadParallelEnv(task)


def test_the_tests_of_pettingzoo_pass(env: SkidpadParallelEnv, task: Task) -> None:
    parallel_api_test(env, num_cycles=60)
    parallel_seed_test(lambda: SkidpadParallelEnv(task), num_cycles=20)


def test_it_answers_as_its_engine(env: SkidpadParallelEnv) -> None:
    engine = Environments(env.task, autoreset="disabled")
    seen, infos = env.reset(seed=3)
    assert list(seen) == list(infos) == ["car_0", "car_1"]
    assert np.array_equal(np.stack([*seen.values()]), engine.reset(seed=3))
    actions = {"car_1": np.array([0.2, 0.1]), "car_0": np.array([-0.3, 5.0])}
    seen, reward, terminated, truncated, _ = env.step(actions)
    expected = engine.step([actions["car_0"], actions["car_1"]])
    assert np.array_equal(np.stack([*seen.values()]), expected.observation)
    assert [*reward.values()] == expected.reward.tolist()
    assert [*terminated.values()] == expected.terminated.tolist()
    assert [*truncated.values()] == expected.truncated.tolist()
    assert np.array_equal(env.state(), engine.state.ravel())


def test_each_is_seen_by_the_others_lidar() -> None:
    """The second starts 4 m ahead of the first, less than 1.6 m long to either side."""
    straight = {"s": {"range": [0.0, 1.0]}, "yaw": 0.0}
    ahead = slice(3, 4)  # the middle one of three rays, behind two numbers
    for agents, seen in ((1, (0.2, 1.0)), (2, ((4.0 - 1.6) / 20.0, 4.0 / 20.0))):
        task = small_task(agents=agents, draws=straight, lidar=Lidar(3, range=20.0))
        first, _ = SkidpadParallelEnv(task).reset(seed=2)
        low, high = seen
        assert low < first["car_0"][ahead] < high
    assert first["car_1"][ahead] > 0.2


def test_all_stop_when_one_does(env: SkidpadParallelEnv) -> None:
    env.reset(seed=0)
    rest = {name: np.zeros(2) for name in env.possible_agents}
    while env.agents:
        *_, terminated, truncated, infos = env.step(rest)
        assert all(info["progress"] > 0.0 for info in infos.values())
    whole = env.environments.steps[0] >= env.task.limit
    for name, info in infos.items():
        cut = "duration" if whole else "others"
        assert info["end_reason"] == ("ended" if terminated[name] else cut)
    assert all(terminated[name] != truncated[name] for name in env.possible_agents)
    with pytest.raises(InvalidValue, match=r"the episode has ended: call reset\(\)"):
        env.step(rest)


def test_bad_input_is_named(task: Task) -> None:
    env = SkidpadParallelEnv(task, render_mode="rgb_array")

    def bad(message: str, actions: dict[str, Any]) -> None:
        with pytest.raises(InvalidValue, match=message):
            env.step(actions)

    still = {"car_0": np.zeros(2), "car_1": np.zeros(2)}
    bad(r"call reset\(\) before the first step", still)
    env.reset(seed=1)
    bad("given for car_0; needed are car_0, car_1", {"car_0": np.zeros(2)})
    bad("given for none", {})
    bad(r"the action of car_1 is array\(\[nan", {**still, "car_1": np.array([np.nan, 0.0])})
    bad("the action of car_0 .* 2 finite numbers", {**still, "car_0": np.zeros(3)})
    picture = env.render()
    assert picture is not None
    assert picture.shape[2] == 3
    env.close()
    env.close()
    bad("closed", still)
