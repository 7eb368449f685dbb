"""Learning: tasks as pure functions, compiled with the vehicle into environments at fleet speed.

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
    from .course import Course, Place, curvature_ahead, point_at, track_point
    from .environments import Environments, Stepped
    from .gymnasium_envs import SkidpadEnv, SkidpadVectorEnv
    from .jax_form import functional
    from .parallel_env import SkidpadParallelEnv
    from .policies import task_policy
    from .saved_task import load_task, save_task
    from .stable_baselines import stable_baselines_env
    from .task import Drive, Lidar, Other, Pace, Start, Task, drive_of, pace_of
    from .task_check import check_task, check_vector_env
    from .tasks.navigate import Room

__all__ = [
    "Course",
    "Drive",
    "Environments",
    "Lidar",
    "Other",
    "Pace",
    "Place",
    "Room",
    "SkidpadEnv",
    "SkidpadParallelEnv",
    "SkidpadVectorEnv",
    "Start",
    "Stepped",
    "Task",
    "check_task",
    "check_vector_env",
    "curvature_ahead",
    "drive_of",
    "functional",
    "load_task",
    "pace_of",
    "point_at",
    "save_task",
    "stable_baselines_env",
    "task_policy",
    "tasks",
    "track_point",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        ".course": ("Course", "Place", "curvature_ahead", "point_at", "track_point"),
        ".environments": ("Environments", "Stepped"),
        ".gymnasium_envs": ("SkidpadEnv", "SkidpadVectorEnv"),
        ".jax_form": ("functional",),
        ".parallel_env": ("SkidpadParallelEnv",),
        ".policies": ("task_policy",),
        ".saved_task": ("load_task", "save_task"),
        ".stable_baselines": ("stable_baselines_env",),
        ".task": ("Drive", "Lidar", "Other", "Pace", "Start", "Task", "drive_of", "pace_of"),
        ".task_check": ("check_task", "check_vector_env"),
        ".tasks.navigate": ("Room",),
    },
    modules={"tasks": ".tasks"},
    needs={".gymnasium_envs": "gymnasium", ".parallel_env": "pettingzoo"},
)

registration.register()
