"""Learning: tasks as pure functions, compiled with the vehicle into environments at fleet speed.

from skidpad.learn import Environments, tasks

environments = Environments(tasks.race(), 4096)
observation = environments.reset(seed=0)
for _ in range(1000):
    observation, reward, terminated, truncated, *_ = environments.step(policy(observation))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import gymnasium_ids, record
from ..extras import require
from . import tasks
from .actions import Drive, drive_of
from .course import Course, Place, curvature_ahead, point_at, track_point
from .environments import Environments, Stepped
from .jax_form import functional
from .lidar import Lidar
from .pace import Pace, pace_of
from .saved_task import load_task, save_task
from .stable_baselines import stable_baselines_env
from .task import Other, Start, Task
from .task_check import check_task
from .task_policy import task_policy
from .tasks.rooms import Room
from .vector_check import check_vector_env

if TYPE_CHECKING:
    from .gymnasium_env import SkidpadEnv
    from .gymnasium_vector import SkidpadVectorEnv
    from .parallel_env import SkidpadParallelEnv

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

_ADAPTERS = {
    "SkidpadEnv": ("gymnasium", "gymnasium_env"),
    "SkidpadParallelEnv": ("pettingzoo", "parallel_env"),
    "SkidpadVectorEnv": ("gymnasium", "gymnasium_vector"),
}
"""Classes that derive from those of another package, which they need to be there at all."""


gymnasium_ids.register()


def __getattr__(name: str) -> Any:
    if name not in _ADAPTERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    package, module = _ADAPTERS[name]
    require(package, purpose=f"learn.{name}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


record.document_all()
