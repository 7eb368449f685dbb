"""Whether a vehicle touches a wall, as a pure function: every place has a list of walls near it.

The ground is cut into cells. A cell has the list of all segments that a vehicle with its reference
point in the cell can reach, so a test looks at one list, whose longest length is fixed: nothing
branches, and lanes, GPU and plain Python find the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import hypot
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyArray, Array
from ..body import Pose
from ..calls import called
from ..errors import InvalidValue
from ..ops import clip, floor, logical_and, logical_or, maximum, minimum, read, where
from ..plane.maps.contour import border_segments
from ..plane.maps.grid import Grid
from ..plane.pose import to_body
from ..shared_arrays import shared_array
from ..units import m, one

MOST = 256
"""Walls of a list: each is looked at in every control period."""
_CELLS_PER_RADIUS = 3.0
_LEAST_CELLS, _MOST_CELLS = 0.05, 4.0
"""Edges of cells, in m."""


class Walls(NamedTuple):
    """The walls of a track, as leaves of a record."""

    lists: one
    """Number of the array with first wall and count of every cell, row by row."""
    segments: one
    """Number of the array of the lists: x0, y0, x1, y1 of each wall, in m from the corner."""
    x: m
    """Corner of the first cell."""
    y: m
    """Corner of the first cell."""
    edge: m
    """Of a cell."""
    columns: one
    """Cells along x."""
    rows: one
    """Cells along y."""


class WallLists(NamedTuple):
    """The walls of some tracks."""

    records: list[Walls]
    most: int
    """Length of the longest list."""


def walls_of(maps: Sequence[tuple[Array, Grid | None]], radius: m) -> WallLists:
    """The lists of maps, each of segments (k, 4) and perhaps a grid, for a vehicle that reaches
    `radius` in m from its reference point."""
    made = [_lists(_segments(*one), radius) for one in maps]
    return WallLists([walls for walls, _ in made], max(count for _, count in made))


def touches(walls: Walls, most: int, pose: Pose, parts: Sequence[Sequence[tuple[Any, Any]]]) -> Any:
    """Whether a vehicle at a pose has a point in common with a wall: 1.0 or 0.0.

    Args:
        walls: those of its track.
        most: length of the longest list.
        pose: of its reference point.
        parts: convex polygons fixed to it, counter-clockwise, in m from the reference point.
    """
    # From the corner of the map, so that float32 keeps its digits.
    here = Pose(pose.x - walls.x, pose.y - walls.y, pose.yaw)
    column = clip(floor(here.x / walls.edge), 0.0, walls.columns - 1.0)
    row = clip(floor(here.y / walls.edge), 0.0, walls.rows - 1.0)
    cell = 2.0 * (row * walls.columns + column)
    first, count = read(walls.lists, cell), read(walls.lists, cell + 1.0)
    # Of one wall, and called for each: many copies would take long to compile.
    meets = partial(_meets, parts)
    hit: Any = 0.0
    for k in range(most):
        at = 4.0 * (first + float(k))
        ends = [read(walls.segments, at + float(j)) for j in range(4)]
        begin, end = to_body(here, ends[0], ends[1]), to_body(here, ends[2], ends[3])
        hit = where(count > float(k), maximum(hit, called(meets, begin, end)), hit)
    return hit


def _meets(parts: Sequence[Sequence[tuple[Any, Any]]], begin: Any, end: Any) -> Any:
    """1.0 if a segment has a point in common with one of some convex polygons, else 0.0: no edge of
    it and not the segment itself has all of the other on its far side (separating axes)."""
    along_x, along_y = end[0] - begin[0], end[1] - begin[1]
    from_origin = along_x * begin[1] - along_y * begin[0]
    met: Any = False
    for corners in parts:
        # Above 0 to the left of the segment; above 0 within an edge.
        sides = [along_x * y - along_y * x - from_origin for x, y in corners]
        depths = [maximum(height(*begin), height(*end)) for height in _heights(corners)]
        across = logical_and(reduce(minimum, sides) <= 0.0, reduce(maximum, sides) >= 0.0)
        met = logical_or(met, logical_and(across, reduce(minimum, depths) >= 0.0))
    return where(met, 1.0, 0.0)


def _heights(corners: Sequence[tuple[Any, Any]]) -> list[Callable[[Any, Any], Any]]:
    """For each edge of a convex polygon, how far within it a point is, in m."""
    heights: list[Callable[[Any, Any], Any]] = []
    for (x0, y0), (x1, y1) in zip(corners, (*corners[1:], corners[0]), strict=True):
        length = hypot(x1 - x0, y1 - y0)
        n_x, n_y = (y0 - y1) / length, (x1 - x0) / length
        heights.append(partial(_height, n_x, n_y, n_x * x0 + n_y * y0))
    return heights


def _height(n_x: float, n_y: float, least: m, x: Any, y: Any) -> Any:
    return n_x * x + n_y * y - least


def _segments(segments: Array, grid: Grid | None) -> Array:
    if grid is None:
        return segments
    return np.concatenate([segments, border_segments(grid)])


def _lists(segments: Array, radius: m) -> tuple[Walls, int]:
    if not len(segments):
        nothing = shared_array([0.0, 0.0])
        return Walls(nothing, shared_array(np.zeros(4)), 0.0, 0.0, 1.0, 1.0, 1.0), 0
    ends = segments.reshape(-1, 2)
    edge = float(np.clip(radius / _CELLS_PER_RADIUS, _LEAST_CELLS, _MOST_CELLS))
    # A cell beyond the walls' box lists nothing that is not in reach of the cells at its edge.
    low = ends.min(axis=0) - radius - edge
    columns, rows = (np.ceil((ends.max(axis=0) + radius + edge - low) / edge)).astype(int).tolist()
    near = _near(segments, low, edge, (rows, columns), radius + edge * np.sqrt(0.5))
    counts = np.bincount(near[:, 0], minlength=rows * columns)
    most = int(counts.max())
    if most > MOST:
        x, y = low + edge * (np.array(divmod(int(counts.argmax()), columns))[::-1] + 0.5)
        raise InvalidValue(
            f"near ({x:.1f}, {y:.1f}) m there are {most} walls within {radius:.2f} m, the reach of "
            f"the vehicle; at most {MOST} can be told apart: use a coarser map"
        )
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    lists = np.column_stack([first, counts])
    listed = (segments - np.tile(low, 2))[near[:, 1]]
    x, y = low.tolist()
    numbers = shared_array(lists), shared_array(listed)
    return Walls(*numbers, x, y, edge, float(columns), float(rows)), most


def _near(segments: Array, low: Array, edge: m, shape: tuple[int, int], reach: m) -> AnyArray:
    """Pairs of a cell and a segment within reach of its middle, (n, 2), in order of the cells."""
    rows, columns = shape
    boxes = np.column_stack([
        np.minimum(segments[:, :2], segments[:, 2:]) - reach - low,
        np.maximum(segments[:, :2], segments[:, 2:]) + reach - low,
    ])  # fmt: skip
    bounds = np.floor(boxes / edge).astype(int)
    bounds = np.clip(bounds, 0, [columns - 1, rows - 1, columns - 1, rows - 1])
    # All cells of the boxes of all segments, one behind the other.
    wide, high = (bounds[:, k + 2] - bounds[:, k] + 1 for k in range(2))
    counts = wide * high
    number = np.repeat(np.arange(len(segments)), counts)
    within = np.arange(len(number)) - np.repeat(np.cumsum(counts) - counts, counts)
    up, across = np.divmod(within, wide[number])
    cells = np.column_stack([bounds[number, 0] + across, bounds[number, 1] + up])
    middles = low + edge * (cells + 0.5)
    chosen = _distances(middles, segments[number]) <= reach
    pairs = np.column_stack([cells[:, 1] * columns + cells[:, 0], number])[chosen]
    return pairs[np.argsort(pairs[:, 0], kind="stable")]


def _distances(points: Array, segments: Array) -> Array:
    """Of each point (n, 2) from the segment (n, 4) of the same number."""
    along, offset = segments[:, 2:] - segments[:, :2], points - segments[:, :2]
    squared = np.maximum((along * along).sum(axis=1), np.finfo(float).tiny)
    share = np.clip((offset * along).sum(axis=1) / squared, 0.0, 1.0)
    return np.hypot(*(offset - share[:, None] * along).T)
