"""Stanley's law with its defaults holds the road with upstream's noise and disturbances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from control.roads import DYNAMIC, KINEMATIC, lane_change
from skidpad.control import stanley
from skidpad.ops import abs, clip
from skidpad.random import Gaussian

DT, STEPS, HALF_LANE = 0.1, 80, 1.75
NOISE = {"x": 0.075, "y": 0.075}
DISTURBANCE = {"v_x": 0.5, "v": 0.5, "v_y": 0.3, "omega": 0.025}
"""Deviations of commonroad-control's BMW: of what is measured in m, and of rates in SI units."""
IDEAL = sp.vehicles.autoware("IDEAL_STEER_ACC", wheel_base=2.578)
"""Its wheels turn at once, which bears the least damping."""


def offset(x: Any) -> Any:
    """How far left of the lane change of `roads.lane_change` a car is, nearly."""
    t = clip((x.x - 30.0) / 50.0, 0.0, 1.0)
    return x.y - 3.5 * t * t * t * (10.0 - 15.0 * t + 6.0 * t * t)


def gaussian(fields: tuple[str, ...], deviations: dict[str, float]) -> Gaussian:
    return Gaussian(np.zeros(len(fields)), [deviations.get(name, 0.0) for name in fields])


def share_that_left(car: sp.Vehicle, v: float, **gains: float) -> float:
    fleet = sp.Fleet(car, dt=DT, substeps=20 if car.model.continuous else 1, on_diverge="mask")
    disturbances = car.model.Disturbance._fields
    study = fleet.monte_carlo(
        {"v_x": v} if "v_x" in car.State._fields else {"v": v},
        lane_change(v).rows(STEPS, DT),
        policy=stanley.policy(car, **gains),
        runs=300,
        steps=STEPS,
        seed=3,
        noise=gaussian(car.State._fields, NOISE),
        disturbance=gaussian(disturbances, DISTURBANCE) if disturbances else None,
        events={"left the road": lambda x: abs(offset(x)) > HALF_LANE},
    )
    return study.probability("left the road").value


@pytest.mark.slow_cases(
    "commonroad_dynamic_bicycle-10.0",
    "commonroad_dynamic_bicycle-20.0",
    "commonroad_dynamic_bicycle-30.0",
)
@pytest.mark.parametrize("v", [10.0, 20.0, 30.0])
@pytest.mark.parametrize("car", [DYNAMIC, KINEMATIC, IDEAL], ids=lambda car: car.name)
def test_no_run_leaves_the_road(car: sp.Vehicle, v: float) -> None:
    assert share_that_left(car, v) == 0.0


@pytest.mark.slow
def test_the_published_gain_leaves_it() -> None:
    """So the test above is one."""
    assert share_that_left(DYNAMIC, 20.0, k=2.5, k_yaw=0.0) > 0.1
