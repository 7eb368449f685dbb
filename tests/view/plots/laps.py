"""Runs that the figures are made of; all of them have closed forms."""

from __future__ import annotations

import numpy as np

import skidpad as sp
from skidpad.vehicles.formula import Input, Outputs, State


def lap(samples: int = 201, speed: float = 5.0, rate: float = 0.5, **names) -> sp.Trajectory:
    """A car on a circle of radius speed / rate whose speed grows by 0.1 m/s each second."""
    t = 0.05 * np.arange(samples)
    v = speed + 0.1 * t
    states = np.zeros((samples, 11))
    states[:, 0] = speed / rate * np.sin(rate * t)
    states[:, 1] = speed / rate * (1.0 - np.cos(rate * t))
    states[:, 2], states[:, 3], states[:, 5], states[:, 6] = rate * t, v, rate, 0.1
    inputs = np.zeros((samples, 5))
    inputs[:, 0] = 0.1 + 0.01 * np.sign(np.sin(t))
    outputs = np.zeros((samples, len(Outputs._fields)))
    outputs[:, 0], outputs[:, 1] = 0.1, v * rate
    return sp.Trajectory.from_arrays(
        t, (State, states), (Input, inputs), (Outputs, outputs), **{"name": "lap", **names}
    )
