"""Random driving: start states and inputs of cars that all move in their own way."""

from __future__ import annotations

import numpy as np

import skidpad as sp
from skidpad.core import record


def starts(vehicle: sp.Vehicle, count: int, seed: int = 0) -> np.ndarray:
    """Start states (count, nx) at 2 to 20 m/s."""
    rng = np.random.default_rng(seed)
    x = np.zeros((count, record.size(vehicle.State)))
    names = record.names(vehicle.State)
    x[:, names.index("v_x")] = rng.uniform(2.0, 20.0, count)
    x[:, names.index("yaw")] = rng.uniform(-3.0, 3.0, count)
    x[:, names.index("steer")] = rng.uniform(-0.1, 0.1, count)
    return x


def inputs(vehicle: sp.Vehicle, steps: int, count: int, seed: int = 1) -> np.ndarray:
    """Inputs (steps, count, nu): steering within 0.15 rad, torques within 60 N·m."""
    rng = np.random.default_rng(seed)
    size = record.size(vehicle.Input)
    scale = np.array([0.15 if n == "steer" else 60.0 for n in record.names(vehicle.Input)])
    return rng.uniform(-1.0, 1.0, (steps, count, size)) * scale
