"""Bodies of a stage where they are at one moment: outlines and wheels in world coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ...model import Vehicle
from ...plane.pose import points_to_world
from ...stage import Body, BodyShape, Stage, Wheel
from ...stage.trajectory_stage import trajectory_stage
from ...trajectory.trajectory import Trajectory


class Placed(NamedTuple):
    """A body at a moment."""

    body: Body
    outlines: tuple[Array, ...]
    """Each (n, 2), in m."""
    wheels: tuple[Array, ...]
    """Corners (4, 2) of each wheel."""


def placed(stage: Stage, row: Array) -> list[Placed]:
    """The bodies of a stage at the numbers of a row; those whose place is unknown are left out."""
    bodies: list[Placed] = []
    for body in stage.bodies:
        x, y, yaw = (float(row[k]) for k in (body.x, body.y, body.yaw))
        if not np.isfinite([x, y, yaw]).all():
            continue
        bodies.append(
            Placed(
                body,
                tuple(moved(np.asarray(outline), x, y, yaw) for outline in body.outlines),
                tuple(moved(_wheel(wheel, row), x, y, yaw) for wheel in body.wheels),
            )
        )
    return bodies


def placed_along(run: Trajectory, vehicle: Vehicle | BodyShape, times: Array) -> list[Placed]:
    """A vehicle and its trailer at some times of a run, in s."""
    if not len(times):
        return []
    stage, _, rows = trajectory_stage({"car": run.resample(times)}, vehicle)
    return [body for row in rows for body in placed(stage, row)]


def moved(points: Array, x: float, y: float, yaw: float) -> Array:
    """Points (n, 2) of a body in the world, turned to the left by `yaw` and then shifted."""
    return points_to_world((x, y, yaw), points)


def box_corners(length: float, width: float) -> Array:
    """Corners (4, 2) of a rectangle about the origin."""
    return 0.5 * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]]) * [length, width]


def _wheel(wheel: Wheel, row: Array) -> Array:
    """Corners (4, 2) of a wheel on its body, turned as it is steered."""
    steer = 0.0 if wheel.steer is None else float(np.nan_to_num(row[wheel.steer]))
    corners = box_corners(wheel.length, wheel.width)
    return moved(corners, wheel.x, wheel.y, wheel.yaw + steer)
