"""Lines of tracks as people keep them: TUM's race tracks, and points x, y alone.

TUM's files (github.com/TUMFTM/racetrack-database) have x_m, y_m, w_tr_right_m, w_tr_left_m, in m,
with the names in a comment. The line of the map is in the middle between the two borders.
"""

from __future__ import annotations

import math
import os

import numpy as np

from ...arrays import Array
from ...checks import positive
from ...errors import InvalidValue
from ...files import path_of
from ...units import m
from ..line import Line, arc_length, directions, lengths
from ..polygon import line_edges
from .map import Map
from .tables import Table, read_table

TUM_HEADER = ("x_m", "y_m", "w_tr_right_m", "w_tr_left_m")
POINT_HEADER = ("x", "y")
HALF_WIDTH: m = 1.5
"""Of a line that does not say how wide its track is."""
_SAME: m = 1e-6
"""Points nearer than this are one."""
_STEPS = 1.5
"""A line whose ends are not farther apart than so many of its longest steps is closed."""


def read_tum(path: str | os.PathLike[str], *, walls: bool = False) -> Map:
    """The race track in a file of TUM's; with `walls` also walls at its borders."""
    file = path_of(path)
    table = read_table(file)
    x, y, right, left = (np.array(table.numbers(name)) for name in TUM_HEADER)
    for name, widths in (("w_tr_right_m", right), ("w_tr_left_m", left)):
        bad = np.flatnonzero(~(widths >= 0.0))
        if len(bad):
            line, value = table.lines[bad[0]], widths[bad[0]]
            raise InvalidValue(f"{file}, line {line}: {name} = {value:g} must be at least 0 m")
    rows = line_rows(line_points(table, x, y), np.maximum(0.5 * (left + right), _SAME)[: len(x)])
    count = min(len(rows), len(x))
    sideways = 0.5 * (left - right)[:count]
    if np.any(sideways != 0.0):
        middle = Line(*rows[:count].T[:5]).beside(sideways)
        rows = line_rows(middle, rows[:count, 5])
    return _with_walls(rows, walls, file.stem)


def read_points(
    path: str | os.PathLike[str], *, half_width: m = HALF_WIDTH, walls: bool = False
) -> Map:
    """A line through points x, y, with half the width of its track; with `walls` also borders."""
    file = path_of(path)
    table = read_table(file)
    points = line_points(table, *(np.array(table.numbers(name)) for name in POINT_HEADER))
    half = positive("half_width", half_width, "m")
    return _with_walls(line_rows(points, np.full(len(points), half)), walls, file.stem)


def line_rows(points: Array, half_widths: Array) -> Array:
    """Rows s, x, y, phi, kappa, w of the line through points (n, 2).

    One that comes back to its beginning is closed: the first point is its last row again.
    """
    if len(points) > 2 and math.dist(points[0], points[-1]) <= _SAME:
        points, half_widths = points[:-1], half_widths[: len(points) - 1]
    closed = comes_back(points)
    heading, curvature = directions(points, closed=closed)
    if closed:
        points = np.vstack([points, points[:1]])
        half_widths = np.append(half_widths, half_widths[0])
    return np.column_stack([arc_length(points), points, heading, curvature, half_widths])


def comes_back(points: Array) -> bool:
    """Whether the last of points (n, 2) is about a step away from the first."""
    gap = math.dist(points[0], points[-1])
    return len(points) > 2 and gap <= _STEPS * float(lengths(points).max())


def line_points(table: Table, x: Array, y: Array) -> Array:
    """Points of a table, of which no two in a row are the same."""
    points = np.column_stack([x, y])
    if len(points) < 2:
        raise InvalidValue(f"{table.file} has {len(points)} points; a line needs at least 2")
    same = np.flatnonzero(lengths(points) <= _SAME)
    if len(same):
        raise InvalidValue(
            f"{table.file}, line {table.lines[same[0] + 1]}: the point repeats the one before it"
        )
    return points


def _with_walls(rows: Array, walls: bool, name: str) -> Map:
    line, width = Line(*rows.T[:5]), rows[:, 5]
    sides = [line_edges(line.beside(d)) for d in (width, -width)] if walls else []
    return Map(segments=np.concatenate([np.empty((0, 4)), *sides]), centre_line=rows, name=name)
