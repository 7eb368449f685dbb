"""Learning: tasks as pure functions, compiled with the vehicle into environments at fleet speed.

from skidpad.learn import Environments, tasks

environments = Environments(tasks.race(), 4096)
observation = environments.reset(seed=0)
for _ in range(1000):
    observation, reward, terminated, truncated, *_ = environments.step(policy(observation))
"""

from __future__ import annotations

from . import tasks
from .actions import Drive, drive_of
from .course import Course, Place, curvature_ahead, point_at, track_point
from .environments import Environments, Stepped
from .lidar import Lidar
from .saved_task import load_task, save_task
from .task import Other, Start, Task

__all__ = [
    "Course",
    "Drive",
    "Environments",
    "Lidar",
    "Other",
    "Place",
    "Start",
    "Stepped",
    "Task",
    "curvature_ahead",
    "drive_of",
    "load_task",
    "point_at",
    "save_task",
    "tasks",
    "track_point",
]
