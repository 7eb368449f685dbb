"""A task and drivers for campaigns of learning tasks, where other processes find them."""

from __future__ import annotations

from typing import Any

import numpy as np

from learn.ring_tasks import task
from skidpad.learn import Task


def on_a_ring(duration: float = 1.0) -> Task:
    """A ring that is driven for some seconds at most."""
    return task(duration=duration)


def to_the_middle(seen: Any) -> Any:
    """Steers back to the middle of the ring, at the speed there is."""
    steer = 0.16 - 0.8 * seen[:, 1] - 1.5 * seen[:, 2]
    return np.stack([steer, np.zeros(len(seen))], axis=1)


def straight_on(seen: Any) -> Any:
    """Does nothing: the ring ends it."""
    return np.zeros((len(seen), 2))
