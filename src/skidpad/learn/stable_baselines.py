"""The way to Stable-Baselines3, which is loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import require
from .saved_task import SavedTask
from .task import Task


def stable_baselines_env(
    task: Task | SavedTask | str = "race", num_envs: int = 1, **options: Any
) -> Any:
    """Environments of a task as a `VecEnv` of Stable-Baselines3.

    Args:
        task: a `Task`, one of `load_task`, or the name of a function of `skidpad.learn.tasks`.
        num_envs: how many.
        options: of the task, if it is a name; also `render_mode`, `precision`, `threads` and
            `on_diverge`, as of `SkidpadVectorEnv`.
    """
    require("stable_baselines3", purpose="learn.stable_baselines_env")
    return import_module(f"{__package__}.sb3_env").SkidpadVecEnv(task, num_envs, **options)
