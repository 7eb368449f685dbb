"""Records and a short run to test trajectories with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from skidpad.run.trajectory import Trajectory
from skidpad.units import N, m, m_s, m_s2, rad, rad_s


class Pose(NamedTuple):
    x: m
    y: m
    yaw: rad


class State(NamedTuple):
    pose: Pose
    v_x: m_s
    steer: rad


class Input(NamedTuple):
    steer: rad
    F: N


class Outputs(NamedTuple):
    a_x: m_s2
    steer: rad
    omega: rad_s


def make(t: np.ndarray, **keywords: object) -> Trajectory:
    """Columns that are plain functions of time, so that tests know what to expect."""
    states = np.column_stack([3.0 * t, t**2, 0.1 * t, 3.0 + 2.0 * t, 0.2 * t])
    inputs = np.column_stack([np.floor(t), 100.0 - t])
    outputs = np.column_stack([np.full_like(t, 2.0), 0.5 * t, np.sin(t)])
    return Trajectory.from_arrays(
        t, (State, states), (Input, inputs), (Outputs, outputs), **keywords
    )


@pytest.fixture
def run() -> Trajectory:
    return make(np.linspace(0.0, 4.0, 9), name="toy")
