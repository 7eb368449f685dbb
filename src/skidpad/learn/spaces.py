"""Spaces of Gymnasium with the bounds of a task."""

from __future__ import annotations

import numpy as np
from gymnasium.spaces import Box

from .. import record
from .task import Task


def observation_space(task: Task, precision: str) -> Box:
    """Shares of the bounds of the observation, from -1 to 1, then of the lidar's range."""
    fields = record.size(task.Observation)
    rays = 0 if task.lidar is None else task.lidar.rays
    low = np.concatenate([np.full(fields, -1.0), np.zeros(rays)])
    dtype = np.dtype(precision).type
    return Box(low.astype(dtype), np.ones(fields + rays, dtype), dtype=dtype)


def action_space(task: Task, precision: str) -> Box:
    """The bounds of the fields of the action."""
    dtype = np.dtype(precision).type
    allowed = [leaf.allowed for leaf in record.fields(task.Action)]
    low = np.array([-np.inf if one is None else one.low for one in allowed], dtype)
    high = np.array([np.inf if one is None else one.high for one in allowed], dtype)
    return Box(low, high, dtype=dtype)
