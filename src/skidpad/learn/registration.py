"""Tasks in other libraries: their ids in Gymnasium, and a vector environment for Stable-Baselines3.

Gymnasium does not search for plug-ins: `import skidpad` after it, or `import skidpad.learn` in any
order, registers the ids. Stable-Baselines3 is imported on the first call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import require

if TYPE_CHECKING:
    from .saved_task import SavedTask
    from .task import Task

IDS = {
    "skidpad/Race-v0": "race", "skidpad/Drift-v0": "drift", "skidpad/LaneChange-v0": "lane_change",
    "skidpad/Track-v0": "follow", "skidpad/Park-v0": "park", "skidpad/Navigate-v0": "navigate",
}  # fmt: skip
"""Gymnasium ids, with the names of their functions in `skidpad.learn.tasks`."""


def register() -> None:
    """Register the ids that Gymnasium does not know yet; does nothing without Gymnasium."""
    try:
        from gymnasium.envs import registration
        from gymnasium.vector import AutoresetMode as _  # noqa: F401
    except ImportError:
        return  # Not installed, or older than 1.1, which is not supported.
    for name, task in IDS.items():
        if name not in registration.registry:
            # Episodes have their own limit: a wrapper of Gymnasium's would count it again.
            registration.register(
                name,
                entry_point="skidpad.learn.gymnasium_envs:SkidpadEnv",
                vector_entry_point="skidpad.learn.gymnasium_envs:SkidpadVectorEnv",
                kwargs={"task": task},
            )


def stable_baselines_env(
    task: Task | SavedTask | str = "race", num_envs: int = 1, **options: Any
) -> Any:
    """Environments of a task as a `VecEnv` of Stable-Baselines3.

    Args:
        task: a `Task`, the result of `load_task`, or the name of a function of
            `skidpad.learn.tasks`.
        num_envs: number of environments.
        options: arguments of the task's function, if `task` is a name; also `render_mode`,
            `precision`, `threads` and `on_diverge`, as in `SkidpadVectorEnv`.
    """
    require("stable_baselines3", purpose="learn.stable_baselines_env")
    return import_module(f"{__package__}.sb3_env").SkidpadVecEnv(task, num_envs, **options)
