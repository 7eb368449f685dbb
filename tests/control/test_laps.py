"""Followers on a closed line go on where it begins again."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.control import Reference, pure_pursuit, stanley

ANGLE = np.linspace(0.0, 2.0 * np.pi, 80, endpoint=False)
OVAL = np.column_stack([40.0 * np.sin(ANGLE), 25.0 * (1.0 - np.cos(ANGLE))])


@pytest.mark.slow_cases("pure_pursuit")
@pytest.mark.parametrize("law", [pure_pursuit, stanley], ids=["pure_pursuit", "stanley"])
def test_an_oval_is_driven_beyond_its_end(law: object) -> None:
    road = Reference.along(OVAL, v=6.0, closed=True)
    vehicle = sp.vehicles.commonroad_kinematic_bicycle()
    policy = law.policy(vehicle, road, knots=48)  # type: ignore[attr-defined]
    sim = sp.Simulator(vehicle, dt=0.05)
    sim.reset(v=6.0)
    run = sim.run(policy, steps=round(1.4 * road.duration / sim.dt))
    offsets = np.abs(np.asarray(road.offset(run["x"], run["y"])))
    assert offsets.max() < 1.0
    assert run["yaw"][-1] > 2.0 * np.pi
