"""Coordinates along and across a reference line: u on it, v to the left of it.

A curved line is points at equal steps of u. Between two of them a place lies in the wedge of the
cross sections through both, each at a right angle to the line through the neighbours of its point,
as OpenCRG has it; so u and v are continuous. Before the first and behind the last point the line
goes straight on.

A kernel cannot search, so a map of square cells tells the segment nearest to each; two steps along
the line from there reach the segment of the place.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ..ops import clip, cos, floor, maximum, read, sin, sqrt
from ..plane.pose import turned_back
from ..units import m, one, per_m, positive, rad

__all__ = ["CurvedLine", "LinePlace", "StraightLine"]

_MOVES = 2
"""Steps from the segment that the map tells: from 5 m beside a place on a radius of 50 m the first
one leaves 2 cm, the second less than 1e-6 m."""
_LEAST_WIDTH: one = 1e-3
"""Least width of a wedge over that on the line; at the centre of a curve all sections meet."""


class LinePlace(NamedTuple):
    """A place in the coordinates of a line, with their derivatives by x and y of the world."""

    u: m
    """Way along the line."""
    v: m
    """Distance from the line, positive to the left."""
    u_x: one
    u_y: one
    v_x: one
    v_y: one


class StraightLine(NamedTuple):
    """A line through a point in a direction."""

    u: m = 0.0
    """Coordinate of its point."""
    x: m = 0.0
    """Its point in the world."""
    y: m = 0.0
    """Its point in the world."""
    yaw: rad = 0.0
    """Its direction, from the x axis of the world, positive to the left."""

    def place(self, x: m, y: m) -> LinePlace:
        """Where a place of the world is."""
        c, s = cos(self.yaw), sin(self.yaw)
        along, across = turned_back(c, s, x - self.x, y - self.y)
        return LinePlace(self.u + along, across, c, s, -s, c)


class CurvedLine(NamedTuple):
    """Points at equal steps, two more at each end, and the map to find the nearest segment with."""

    xs: m
    """Number of the array of the points' x; see `shared_array`."""
    ys: m
    """Number of the array of the points' y."""
    points: one
    """How many points there are, with the two more at each end."""
    start: m
    """Coordinate u of the first one."""
    step: Annotated[m, positive]
    """Coordinate between neighbours."""
    nearest: one
    """Number of the array of the nearest segments: one for each cell, y running fastest."""
    map_x: m
    """Corner of the map in the world."""
    map_y: m
    """Corner of the map in the world."""
    cells_per_m: Annotated[per_m, positive]
    """One over the side of a cell."""
    rows: one
    """Cells along x."""
    columns: one
    """Cells along y."""

    def place(self, x: m, y: m) -> LinePlace:
        """Where a place of the world is."""
        row = _cell((x - self.map_x) * self.cells_per_m, self.rows)
        column = _cell((y - self.map_y) * self.cells_per_m, self.columns)
        segment = read(self.nearest, row * floor(self.columns) + column)
        for _ in range(_MOVES):
            wedge = _wedge(self, segment, x, y)
            segment = clip(floor(segment + wedge.t), 1.0, floor(self.points) - 3.0)
        return _in_wedge(self, segment, _wedge(self, segment, x, y))


def _cell(place: Any, count: Any) -> Any:
    return clip(floor(place), 0.0, floor(count) - 1.0)


class _Wedge(NamedTuple):
    """A place between the cross sections through the ends of a segment."""

    t: one
    """Way from the first to the second, 0 to 1."""
    v: m
    dx: m
    """Of the segment."""
    dy: m
    a: tuple[per_m, per_m]
    """Gradient of the distance behind the first cross section."""
    b: tuple[per_m, per_m]
    """Gradient of the distance before the second one."""
    width: one


def _wedge(line: Any, segment: Any, x: m, y: m) -> _Wedge:
    (x0, x1, x2, x3), (y0, y1, y2, y3) = (
        [read(points, segment + (k - 1.0)) for k in range(4)] for points in (line.xs, line.ys)
    )
    dx, dy = x2 - x1, y2 - y1
    by_a = 1.0 / ((x2 - x0) * dx + (y2 - y0) * dy)
    by_b = 1.0 / ((x3 - x1) * dx + (y3 - y1) * dy)
    a = (x2 - x0) * by_a, (y2 - y0) * by_a
    b = (x3 - x1) * by_b, (y3 - y1) * by_b
    behind = a[0] * (x - x1) + a[1] * (y - y1)
    before = b[0] * (x2 - x) + b[1] * (y2 - y)
    width = maximum(behind + before, _LEAST_WIDTH)
    v = (dx * (y - y1) - dy * (x - x1)) / sqrt(dx * dx + dy * dy)
    return _Wedge(behind / width, v, dx, dy, a, b, width)


def _in_wedge(line: Any, segment: Any, wedge: _Wedge) -> LinePlace:
    t, dx, dy, (a_x, a_y), (b_x, b_y) = wedge.t, wedge.dx, wedge.dy, wedge.a, wedge.b
    by_width = line.step / wedge.width
    by_length = 1.0 / sqrt(dx * dx + dy * dy)
    return LinePlace(
        line.start + (segment + t) * line.step,
        wedge.v,
        ((1.0 - t) * a_x + t * b_x) * by_width,
        ((1.0 - t) * a_y + t * b_y) * by_width,
        -dy * by_length,
        dx * by_length,
    )
