"""Vehicles, lines and recordings that the tests of controllers share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import skidpad as sp
from skidpad.control.reference import Reference

RECORDED = np.load(Path(__file__).parents[1] / "data" / "commonroad" / "control.npz")
"""What commonroad-control answered; its README is beside the original."""

KINEMATIC = sp.vehicles.commonroad_kinematic_bicycle()
DYNAMIC = sp.vehicles.commonroad_dynamic_bicycle()


def circle(radius: float, v: float, angle: float = 5.0, points: int = 101) -> Reference:
    """From the origin round (0, radius): to the left, or to the right if negative."""
    theta = np.linspace(0.0, angle, points)
    line = np.column_stack([abs(radius) * np.sin(theta), radius * (1.0 - np.cos(theta))])
    return Reference.along(line, v)


def straight(length: float, v: float) -> Reference:
    """Along the x axis."""
    return Reference.along([[0.0, 0.0], [length, 0.0]], v)


def lane_change(v: float, *, width: float = 3.5, begin: float = 30.0, over: float = 50.0) -> Any:
    """To the left by a lane."""
    x = np.linspace(0.0, 200.0, 401)
    t = np.clip((x - begin) / over, 0.0, 1.0)
    return Reference.along(np.column_stack([x, width * t**3 * (10.0 - 15.0 * t + 6.0 * t**2)]), v)
