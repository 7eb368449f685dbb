"""Learning: tasks as pure functions, compiled with the vehicle into fast vectorised environments.

from skidpad.learn import Environments, tasks

environments = Environments(tasks.race(), 4096)
observation = environments.reset(seed=0)
for _ in range(1000):
    observation, reward, terminated, truncated, *_ = environments.step(policy(observation))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes
from . import registration

if TYPE_CHECKING:
    from . import tasks
    from .course import curvature_ahead, track_point
    from .environments import Environments
    from .forms import functional, task_policy
    from .gymnasium_envs import SkidpadEnv, SkidpadVectorEnv
    from .parallel_env import SkidpadParallelEnv
    from .registration import stable_baselines_env
    from .saved_task import load_task, save_task
    from .task import Lidar, Start, Task
    from .task_check import check_task, check_vector_env
    from .tasks.park import Room

__all__ = [
    "Environments", "Lidar", "Room", "SkidpadEnv", "SkidpadParallelEnv", "SkidpadVectorEnv",
    "Start", "Task", "check_task", "check_vector_env", "curvature_ahead", "functional", "load_task",
    "save_task", "stable_baselines_env", "task_policy", "tasks", "track_point",
]  # fmt: skip

__getattr__ = lazy_attributes(
    __name__,
    {
        ".course": ("curvature_ahead", "track_point"),
        ".environments": ("Environments",),
        ".gymnasium_envs": ("SkidpadEnv", "SkidpadVectorEnv"),
        ".parallel_env": ("SkidpadParallelEnv",),
        ".forms": ("functional", "task_policy"),
        ".saved_task": ("load_task", "save_task"),
        ".registration": ("stable_baselines_env",),
        ".task": ("Lidar", "Start", "Task"),
        ".task_check": ("check_task", "check_vector_env"),
        ".tasks.park": ("Room",),
    },
    modules={"tasks": ".tasks"},
    needs={".gymnasium_envs": "gymnasium", ".parallel_env": "pettingzoo"},
)

registration.register()
