"""A line on the ground as a record of grids over the distance along it, which a driver follows.

All paths have the same number of points, so that vehicles of one fleet, each on a path of its own,
share one kernel: the arrays are parameters.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..arrays import Array
from ..ops import Grid1, cos, grid, interpolate, sin, where
from ..plane.line import Line, LinePoint
from ..units import m, m_s

__all__ = ["POINTS", "Path", "path_along", "path_point", "straight"]

POINTS = 4096
"""Of each path."""


class Path(NamedTuple):
    """A line: where it is, how it turns and how fast to drive it, over the distance along it."""

    x: Grid1
    """Position in m."""
    y: Grid1
    """Position in m."""
    heading: Grid1
    """Direction in rad, not wrapped."""
    curvature: Grid1
    """In 1/m, positive in a left turn."""
    v: Grid1
    """Speed in m/s, beside the one that the driver is told."""

    @property
    def length(self) -> m:
        """From end to end."""
        return self.x.step_0 * (self.x.count_0 - 1.0)


def path_along(points: Any, v: Any = 0.0, *, closed: bool = False) -> Path:
    """The path through points (n, 2) in m, with a speed for all or one for each of them."""
    line = Line.through(points, closed=closed)
    s = np.linspace(0.0, line.length, POINTS)
    at = line.at(s)
    speeds = np.broadcast_to(np.asarray(v, dtype=float), len(np.asarray(points)))
    speeds = np.append(speeds, speeds[0]) if closed and len(line.s) > len(speeds) else speeds
    return _path(s, at.x, at.y, at.heading, at.curvature, np.interp(s, line.s, speeds))


@cache
def straight(length: m = 1.0e4) -> Path:
    """The x axis; kept, because arrays live as long as somebody holds the path."""
    s = np.linspace(0.0, length, POINTS)
    zero = np.zeros(POINTS)
    return _path(s, s, zero, zero, zero, zero)


def circle(radius: m, lead: m = 0.0, turns: float = 3.0, clothoid: m = 0.0) -> Path:
    """A straight of length `lead` from the origin along x, then a left turn of a radius.

    Over the length `clothoid` the curvature grows from zero. A negative radius turns right.
    """
    total = lead + clothoid + turns * 2.0 * np.pi * abs(radius)
    s = np.linspace(0.0, total, POINTS)
    begun = np.clip((s - lead) / max(clothoid, 1e-9), 0.0, 1.0)
    return path_of_curvature(s, begun / radius)


def path_of_curvature(s: Array, curvature: Array, v: Any = 0.0) -> Path:
    """The path from the origin along x whose curvature is known at distances in equal steps."""
    step = np.diff(s, prepend=s[0])
    before = np.concatenate([curvature[:1], curvature[:-1]])
    heading = np.cumsum(step * 0.5 * (curvature + before))
    middle = heading - 0.5 * step * 0.5 * (curvature + before)
    x, y = np.cumsum(step * np.cos(middle)), np.cumsum(step * np.sin(middle))
    return _path(s, x, y, heading, curvature, np.broadcast_to(v, s.shape))


def _path(s: Array, *columns: Any) -> Path:
    at = np.linspace(s[0], s[-1], POINTS)
    step = float(at[1] - at[0])
    return Path(*(grid(np.interp(at, s, column), start=s[0], step=step) for column in columns))


def path_point(path: Path, s: Any) -> tuple[LinePoint, m_s]:
    """The point of a path at a distance and its speed; beyond its ends it goes straight on."""
    end = path.x.step_0 * (path.x.count_0 - 1.0)
    inside = ops.clip(s, 0.0, end)
    beyond = s - inside
    x, y, heading, curvature, v = (interpolate(column, inside) for column in path)
    return (
        LinePoint(
            x + beyond * cos(heading),
            y + beyond * sin(heading),
            heading,
            where(beyond == 0.0, curvature, 0.0),
        ),
        v,
    )
