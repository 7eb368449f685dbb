"""Bodies of a stage where they are at one moment: outlines and wheels in world coordinates."""

from __future__ import annotations

from math import cos, sin
from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ...stage import Body, Stage, Wheel


class Placed(NamedTuple):
    """A body at a moment."""

    body: Body
    outlines: tuple[Array, ...]
    """Each (n, 2), in m."""
    wheels: tuple[Array, ...]
    """Corners (4, 2) of each wheel."""


def placed(stage: Stage, row: Array) -> list[Placed]:
    """The bodies of a stage at the numbers of a row; those whose place is unknown are left out."""
    found: list[Placed] = []
    for body in stage.bodies:
        x, y, yaw = (float(row[k]) for k in (body.x, body.y, body.yaw))
        if not np.isfinite([x, y, yaw]).all():
            continue
        found.append(
            Placed(
                body,
                tuple(moved(np.asarray(outline), x, y, yaw) for outline in body.outlines),
                tuple(moved(_wheel(wheel, row), x, y, yaw) for wheel in body.wheels),
            )
        )
    return found


def moved(points: Array, x: float, y: float, yaw: float) -> Array:
    """Points (n, 2) of a body in the world, turned to the left by `yaw` and then shifted."""
    c, s = cos(yaw), sin(yaw)
    return points @ np.array([[c, s], [-s, c]]) + [x, y]


def _wheel(wheel: Wheel, row: Array) -> Array:
    """Corners of a wheel on its body, turned as it is steered."""
    steer = 0.0 if wheel.steer is None else float(row[wheel.steer])
    half = 0.5 * np.array([wheel.length, wheel.width])
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]]) * half
    return moved(corners, wheel.x, wheel.y, wheel.yaw + (steer if np.isfinite(steer) else 0.0))
