"""The ids: which imports register them, and what `make` does with its arguments."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.envs.registration import registry
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import skidpad
from learn.small_tasks import ring
from skidpad.errors import InvalidValue
from skidpad.learn import SkidpadEnv, SkidpadVectorEnv, registration, tasks
from skidpad.learn.saved_task import task_of

SOURCE = str(Path(skidpad.__file__).parents[1])
PAGE = (Path(__file__).parents[2] / "docs" / "learn.md").read_text("utf-8")


def test_every_id_has_a_task_and_is_registered_once() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Gymnasium warns of an id that is overridden
        registration.register()
    for name, task in registration.IDS.items():
        assert task in tasks.__all__
        assert f"| `{name}` | `tasks.{task}`:" in PAGE
        spec = registry[name]
        assert spec.kwargs == {"task": task}
        assert spec.max_episode_steps is None, "episodes have a limit of their own"


@pytest.mark.parametrize(
    ("program", "prefix"),
    [
        ("import gymnasium, skidpad", ""),
        ("import skidpad, gymnasium, skidpad.learn", ""),
        ("import skidpad.learn, gymnasium", ""),
        ("import gymnasium", "skidpad:"),
        ("import skidpad, gymnasium", "skidpad.learn:"),
    ],
)
def test_ids_are_known_after_an_import(program: str, prefix: str) -> None:
    code = f"""
import sys
{program}
spec = gymnasium.envs.registration._find_spec("{prefix}skidpad/Race-v0")
assert spec.kwargs == {{"task": "race"}}, spec
assert "skidpad.learn" in {program + prefix!r} or "casadi" not in sys.modules
"""
    path = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if task == "race" else pytest.mark.slow)
        for name, task in registration.IDS.items()
    ],
)
def test_every_id_passes_the_checker(name: str) -> None:
    """Warnings are errors here. Its pictures are drawn, too, with the marks of the task."""
    env = gymnasium.make(name, render_mode="rgb_array").unwrapped
    check_env(env, skip_render_check=True)
    env.reset(seed=0)
    picture: Any = env.render()
    assert picture.shape == (480, 640, 3)


def test_make_passes_its_arguments_on() -> None:
    made = gymnasium.make(
        "skidpad/Race-v0", tracks=ring(), lidar=12, duration=0.5, precision="float64"
    )
    env = made.unwrapped
    assert isinstance(env, SkidpadEnv)
    assert env.task.limit == 50
    assert env.observation_space.dtype == "float64"
    observation, _ = made.reset(seed=1)
    assert observation.shape == env.observation_space.shape
    assert made.spec is not None
    assert made.spec.make().unwrapped.task.limit == 50  # pyright: ignore[reportAttributeAccessIssue]


def test_a_task_by_name_is_made_once() -> None:
    """Nobody changes a task, and to make one and to trace it takes seconds."""
    first = task_of("drift", {"duration": 2})
    assert task_of("drift", {"duration": 2}) is first
    assert task_of("drift", {"duration": 3}).duration == 3.0
    assert task_of("drift", {"duration": 2.0}) is not first
    listed = task_of("race", {"tracks": [ring()]})  # a list has no hash
    assert len(listed.tracks) == 1


def test_make_vec_makes_the_native_vector() -> None:
    options = {"num_envs": 2, "autoreset_mode": AutoresetMode.SAME_STEP, "tracks": ring()}
    vector = gymnasium.make_vec("skidpad/Race-v0", **options)
    assert isinstance(vector, SkidpadVectorEnv)
    assert vector.num_envs == 2
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    with pytest.raises(InvalidValue, match="has no option 'max_episode_steps'"):
        gymnasium.make_vec("skidpad/Race-v0", max_episode_steps=3)
