"""A run and a study for all figures; drawn without a display."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

import skidpad as sp
from view.plots.laps import lap

matplotlib.use("Agg")


@pytest.fixture
def run() -> sp.Trajectory:
    return lap()


@pytest.fixture(scope="session")
def study() -> sp.run.monte_carlo.MonteCarlo:
    """A bicycle in gusts, few enough runs to be quick."""
    car = sp.vehicles.commonroad_dynamic_bicycle()
    wind = sp.random.Gaussian(mean=np.zeros(7), std=[0, 0, 0.5, 0.3, 0, 0.025, 0])
    return sp.Fleet(car, dt=0.1, substeps=5).monte_carlo(
        {"v_x": 15.0},
        {"a": 0.0},
        runs=40,
        disturbance=wind,
        duration=1.0,
        seed=3,
        quantities={"y": "y", "yaw": "yaw", "twice": lambda x: 2.0 * x.y},
        events={"left <the> lane": lambda x: abs(x.y) > 0.005},
    )
