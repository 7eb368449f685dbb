"""Roads in the coordinates of a reference line: heights over u along it and v to its left.

Heights are bilinear in u and v; outside they are those of the border. Columns of heights are
equidistant in v, or at listed positions.

A curved line is points at equal steps of u. A position between two of them lies in the wedge of the
cross sections through both, each at a right angle to the line through the neighbours of its point,
as in OpenCRG; so u and v are continuous. Before the first and after the last point the line
continues straight. A kernel cannot search, so a map of square cells has the segment nearest to
each; two steps along the line from there reach the segment of the position.

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
"""Steps from the segment in the map: from 5 m away on a radius of 50 m the error is 2 cm after
the first step and less than 1e-6 m after the second."""
_LEAST_WIDTH: one = 1e-3
"""Least width of a wedge relative to that on the line; at the centre of a curve all sections
meet."""


class LinePlace(NamedTuple):
    """Position in the coordinates of a line, with its derivatives by x and y of the world."""

    u: m
    """Coordinate along the line."""
    v: m
    """Offset from the line, positive to the left."""
    u_x: one
    u_y: one
    v_x: one
    v_y: one


class StraightLine(NamedTuple):
    """A line through a point in a direction."""

    u: m = 0.0
    """Coordinate u of its point."""
    x: m = 0.0
    """x coordinate of its point in the world."""
    y: m = 0.0
    """y coordinate of its point in the world."""
    yaw: rad = 0.0
    """Direction of the line, from the x axis of the world, positive to the left."""

    def place(self, x: m, y: m) -> LinePlace:
        """Line coordinates of a position in the world."""
        c, s = cos(self.yaw), sin(self.yaw)
        along, across = turned_back(c, s, x - self.x, y - self.y)
        return LinePlace(self.u + along, across, c, s, -s, c)


class CurvedLine(NamedTuple):
    """Curved reference line: points at equal steps, two extra points at each end, and a map that
    finds the nearest segment.
    """

    xs: m
    """Number of the shared array of the points' x; see `shared_array`."""
    ys: m
    """Number of the shared array of the points' y."""
    points: one
    """Number of points, including the extra ones at the ends."""
    start: m
    """Coordinate u of the first point."""
    step: Annotated[m, positive]
    """Step of u between neighbouring points."""
    nearest: one
    """Number of the shared array of nearest segments: one per cell, y running fastest."""
    map_x: m
    """x of the map's corner in the world."""
    map_y: m
    """y of the map's corner in the world."""
    cells_per_m: Annotated[per_m, positive]
    """Inverse of the edge of a cell."""
    rows: one
    """Number of cells along x."""
    columns: one
    """Number of cells along y."""

    def place(self, x: m, y: m) -> LinePlace:
        """Line coordinates of a position in the world."""
        row = _cell((x - self.map_x) * self.cells_per_m, self.rows)
        column = _cell((y - self.map_y) * self.cells_per_m, self.columns)
        segment = read(self.nearest, row * floor(self.columns) + column)
        for _ in range(_MOVES):
            wedge = _wedge(self, segment, x, y)
            segment = clip(floor(segment + wedge.t), 1.0, floor(self.points) - 3.0)
        wedge = _wedge(self, segment, x, y)
        t, dx, dy, (a_x, a_y), (b_x, b_y) = wedge.t, wedge.dx, wedge.dy, wedge.a, wedge.b
        by_width = self.step / wedge.width
        by_length = 1.0 / sqrt(dx * dx + dy * dy)
        return LinePlace(
            self.start + (segment + t) * self.step,
            wedge.v,
            ((1.0 - t) * a_x + t * b_x) * by_width,
            ((1.0 - t) * a_y + t * b_y) * by_width,
            -dy * by_length,
            dx * by_length,
        )


def _cell(place: Any, count: Any) -> Any:
    return clip(floor(place), 0.0, floor(count) - 1.0)


class _Wedge(NamedTuple):
    """A position between the cross sections through the ends of a segment."""

    t: one
    """Position between the two cross sections, as a fraction from 0 (first) to 1 (second)."""
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


class Columns(NamedTuple):
    """Positions of height columns that are not equidistant."""

    places: m
    """Number of the shared array of the columns' v, increasing; see `shared_array`."""
    columns: one
    """Number of columns."""
    before: one
    """Number of the shared array of the last column before each of many equal intervals of v,
    none of which contains two columns."""
    start: m
    """Start of the first interval."""
    parts_per_m: Annotated[per_m, positive]
    """Inverse of the width of an interval."""
    parts: one
    """Number of intervals."""

    def coordinate(self, v: m) -> tuple[one, per_m]:
        """Fractional column index at v, and its derivative by v."""
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
    """Height and slopes at a position (x, y) of the world in m; see `Surface`."""
    place = road.line.place(x, y)
    return _in_world(place, *sloped_value(road.heights, place.u, place.v))


def _listed(road: Any, x: m, y: m) -> SurfacePoint:
    """Height and slopes at a position (x, y) of the world in m; see `Surface`."""
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
    """Heights over u and v."""

    at = _regular


class ListedStripRoad(NamedTuple):
    """Heights along and across a straight line, in columns at listed positions."""

    line: StraightLine
    """The reference line."""
    columns: Columns
    """Positions of the columns."""
    heights: ColumnGrid
    """Heights over u and the column index."""

    at = _listed


class CurvedRoad(NamedTuple):
    """Heights along and across a curved line."""

    line: CurvedLine
    """The reference line."""
    heights: HeightGrid
    """Heights over u and v."""

    at = _regular


class ListedCurvedRoad(NamedTuple):
    """Heights along and across a curved line, in columns at listed positions."""

    line: CurvedLine
    """The reference line."""
    columns: Columns
    """Positions of the columns."""
    heights: ColumnGrid
    """Heights over u and the column index."""

    at = _listed


_MOST_CELLS = 400_000
"""Largest number of cells of the map of nearest segments."""
_MOST_PARTS = 1_000_000
"""Largest number of intervals across a road with listed columns."""
_EVEN = 1e-9
"""Tolerance of equidistant columns, as a share of the width."""


def line_road(line: StraightLine | CurvedLine, start: m, step: m, columns: Array, z: Array) -> Any:
    """Road with heights z, rows at `start + step * k` along the line, columns across it."""
    width = float(columns[-1] - columns[0])
    spacing = np.diff(columns)
    if np.ptp(spacing) <= _EVEN * width:
        steps = (step, width / (len(columns) - 1))
        heights = grid_of(HeightGrid, z, (start, columns[0]), steps)
        return (CurvedRoad if isinstance(line, CurvedLine) else StripRoad)(line, heights)  # type: ignore[arg-type]
    heights = grid_of(ColumnGrid, z, (start, 0.0), (step, 1.0))
    parts = math.ceil(width / float(np.min(spacing)) * (1.0 + 1e-9)) + 1
    if parts > _MOST_PARTS:
        raise InvalidValue(
            f"columns lie {np.min(spacing):g} m apart on a width of {width:g} m; allowed "
            f"is one part in {_MOST_PARTS} of it"
        )
    begin = columns[0] + width * np.arange(parts) / parts
    before = np.clip(np.searchsorted(columns, begin, "right") - 1, 0, len(columns) - 2)
    intervals = float(columns[0]), parts / width, float(parts)
    arrays = shared_array(columns), float(len(columns)), shared_array(before)
    kind: Any = ListedCurvedRoad if isinstance(line, CurvedLine) else ListedStripRoad
    return kind(line, Columns(*arrays, *intervals), heights)


def curved_line(x: Array, y: Array, start: m, step: m, reach: m) -> CurvedLine:
    """Record of a line through points at equal steps of u, the first at `start`.

    `reach` is the distance in m to which the road extends to its sides: the map covers that much
    around the line.
    """
    xs, ys = _lengthened(x), _lengthened(y)
    low = np.array([xs.min(), ys.min()]) - reach
    extent = np.array([xs.max(), ys.max()]) + reach - low
    side = max(0.5 * reach, step, math.sqrt(float(extent[0] * extent[1]) / _MOST_CELLS))
    rows, columns = (math.ceil(e / side) for e in extent)
    centres = [low[0] + side * (np.arange(rows) + 0.5), low[1] + side * (np.arange(columns) + 0.5)]
    nearest = _nearest(xs, ys, *np.meshgrid(*centres, indexing="ij"))
    points = shared_array(xs), shared_array(ys), float(len(xs)), start - 2.0 * step, step
    cells = float(low[0]), float(low[1]), 1.0 / side, float(rows), float(columns)
    return CurvedLine(*points, shared_array(nearest), *cells)


def _lengthened(points: Array) -> Array:
    """Extend a line by two points at each end, straight on."""
    first, last = points[1] - points[0], points[-1] - points[-2]
    before = points[0] - first * np.array([2.0, 1.0])
    return np.concatenate([before, points, points[-1] + last * np.array([1.0, 2.0])])


def _nearest(xs: Array, ys: Array, x: Array, y: Array) -> Array:
    """Index of the first point of the segment whose midpoint is nearest to each position."""
    from scipy.spatial import KDTree

    middles = np.stack([0.5 * (xs[1:] + xs[:-1]), 0.5 * (ys[1:] + ys[:-1])], axis=-1)
    _, which = KDTree(middles).query(np.stack([x.ravel(), y.ravel()], axis=-1))
    return np.clip(which, 1, len(xs) - 3).astype(float)
