"""Roads in the coordinates of a reference line: heights over u along it and v to its left.

Heights are bilinear in u and v; outside they are those of the border. Columns of heights lie at
equal distances of v, or where a list says.

A curved line is points at equal steps of u. Between two of them a place lies in the wedge of the
cross sections through both, each at a right angle to the line through the neighbours of its point,
as OpenCRG has it; so u and v are continuous. Before the first and behind the last point the line
continues straight. A kernel cannot search, so a map of square cells has the segment nearest to
each; two steps along the line from there reach the segment of the place.

The records come first; `curved_line` and `line_road` make them from points and heights.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..core.arrays import Array, shared_array
from ..errors import InvalidValue
from ..geometry.pose import turned_back
from ..ops import clip, cos, floor, logical_or, maximum, read, sin, sloped_value, sqrt, where
from ..units import m, one, per_m, positive, rad
from .records import ColumnGrid, HeightGrid, SurfacePoint, grid_of

_MOVES = 2
"""Steps from the segment in the map: from 5 m away on a radius of 50 m the first one leaves
2 cm, the second less than 1e-6 m."""
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
    """Position of its point in the world."""
    y: m = 0.0
    """Position of its point in the world."""
    yaw: rad = 0.0
    """Direction of the line, from the x axis of the world, positive to the left."""

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
    """Components of the segment."""
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


class Columns(NamedTuple):
    """Where columns of heights lie that are not at equal distances."""

    places: m
    """Number of the array of their v, increasing; see `shared_array`."""
    columns: one
    """How many there are."""
    before: one
    """Number of the array of the last column before each of many equal parts of v, none of which
    has two columns in it."""
    start: m
    """Where the first part begins."""
    parts_per_m: Annotated[per_m, positive]
    """One over the width of a part."""
    parts: one
    """How many parts there are."""

    def coordinate(self, v: m) -> tuple[one, per_m]:
        """Number of the column at v, with its fraction, and the derivative by v."""
        part = clip(floor((v - self.start) * self.parts_per_m), 0.0, floor(self.parts) - 1.0)
        column = read(self.before, part)
        last = floor(self.columns) - 2.0
        passed = where(v < read(self.places, column + 1.0), 0.0, 1.0)
        column = clip(column + passed, 0.0, last)
        left, right = read(self.places, column), read(self.places, column + 1.0)
        by_width = 1.0 / (right - left)
        t = (v - left) * by_width
        inside = where(logical_or(t < 0.0, t > 1.0), 0.0, by_width)
        return column + clip(t, 0.0, 1.0), inside


def _regular(road: Any, x: m, y: m) -> SurfacePoint:
    place = road.line.place(x, y)
    return _in_world(place, *sloped_value(road.heights, place.u, place.v))


def _listed(road: Any, x: m, y: m) -> SurfacePoint:
    place = road.line.place(x, y)
    column, by_v = road.columns.coordinate(place.v)
    z, z_u, z_column = sloped_value(road.heights, place.u, column)
    return _in_world(place, z, z_u, z_column * by_v)


def _in_world(place: LinePlace, z: m, z_u: one, z_v: one) -> SurfacePoint:
    z_x = z_u * place.u_x + z_v * place.v_x
    return SurfacePoint(z, z_x, z_u * place.u_y + z_v * place.v_y)


class StripRoad(NamedTuple):
    """Heights along and across a straight line."""

    line: StraightLine
    """The reference line."""
    heights: HeightGrid
    """Over u and v."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        return _regular(self, x, y)


class ListedStripRoad(NamedTuple):
    """Heights along and across a straight line, in columns where a list says."""

    line: StraightLine
    """The reference line."""
    columns: Columns
    """Where the columns are."""
    heights: ColumnGrid
    """Over u and the number of the column."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        return _listed(self, x, y)


class CurvedRoad(NamedTuple):
    """Heights along and across a curved line."""

    line: CurvedLine
    """The reference line."""
    heights: HeightGrid
    """Over u and v."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        return _regular(self, x, y)


class ListedCurvedRoad(NamedTuple):
    """Heights along and across a curved line, in columns where a list says."""

    line: CurvedLine
    """The reference line."""
    columns: Columns
    """Where the columns are."""
    heights: ColumnGrid
    """Over u and the number of the column."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        return _listed(self, x, y)


_MOST_CELLS = 400_000
"""Largest number of cells of the map of nearest segments."""
_MOST_PARTS = 1_000_000
"""Largest number of parts of the width of a road with listed columns."""
_EVEN = 1e-9
"""Share of the width by which columns at equal distances may be off."""


def line_road(line: StraightLine | CurvedLine, start: m, step: m, columns: Array, z: Array) -> Any:
    """The road with heights z, rows at `start + step * k` along the line, columns across it."""
    width = float(columns[-1] - columns[0])
    spacing = np.diff(columns)
    if np.ptp(spacing) <= _EVEN * width:
        steps = (step, width / (len(columns) - 1))
        heights = grid_of(HeightGrid, z, (start, columns[0]), steps)
        return (CurvedRoad if isinstance(line, CurvedLine) else StripRoad)(line, heights)  # type: ignore[arg-type]
    heights = grid_of(ColumnGrid, z, (start, 0.0), (step, 1.0))
    kind: Any = ListedCurvedRoad if isinstance(line, CurvedLine) else ListedStripRoad
    return kind(line, _listed_columns(columns), heights)


def _listed_columns(columns: Array) -> Columns:
    """The record of columns at listed places."""
    width = float(columns[-1] - columns[0])
    parts = math.ceil(width / float(np.min(np.diff(columns))) * (1.0 + 1e-9)) + 1
    if parts > _MOST_PARTS:
        raise InvalidValue(
            f"columns lie {np.min(np.diff(columns)):g} m apart on a width of {width:g} m; allowed "
            f"is one part in {_MOST_PARTS} of it"
        )
    begin = columns[0] + width * np.arange(parts) / parts
    before = np.clip(np.searchsorted(columns, begin, "right") - 1, 0, len(columns) - 2)
    return Columns(
        shared_array(columns),
        float(len(columns)),
        shared_array(before),
        float(columns[0]),
        parts / width,
        float(parts),
    )


def curved_line(x: Array, y: Array, start: m, step: m, reach: m) -> CurvedLine:
    """The record of a line through points at equal steps of u, of which the first is at `start`.

    `reach` is how far to its sides the road goes, in m: so far does the map go around the line.
    """
    xs, ys = _lengthened(x), _lengthened(y)
    low = np.array([xs.min(), ys.min()]) - reach
    extent = np.array([xs.max(), ys.max()]) + reach - low
    side = max(0.5 * reach, step, math.sqrt(float(extent[0] * extent[1]) / _MOST_CELLS))
    rows, columns = (math.ceil(e / side) for e in extent)
    centres = [low[0] + side * (np.arange(rows) + 0.5), low[1] + side * (np.arange(columns) + 0.5)]
    nearest = _nearest(xs, ys, *np.meshgrid(*centres, indexing="ij"))
    return CurvedLine(
        shared_array(xs),
        shared_array(ys),
        float(len(xs)),
        start - 2.0 * step,
        step,
        shared_array(nearest),
        float(low[0]),
        float(low[1]),
        1.0 / side,
        float(rows),
        float(columns),
    )


def _lengthened(points: Array) -> Array:
    """Two more points at each end, straight on."""
    first, last = points[1] - points[0], points[-1] - points[-2]
    before = points[0] - first * np.array([2.0, 1.0])
    return np.concatenate([before, points, points[-1] + last * np.array([1.0, 2.0])])


def _nearest(xs: Array, ys: Array, x: Array, y: Array) -> Array:
    """The segment, by its first point, whose middle is nearest to each place."""
    from scipy.spatial import KDTree

    middles = np.stack([0.5 * (xs[1:] + xs[:-1]), 0.5 * (ys[1:] + ys[:-1])], axis=-1)
    _, which = KDTree(middles).query(np.stack([x.ravel(), y.ravel()], axis=-1))
    return np.clip(which, 1, len(xs) - 3).astype(float)
