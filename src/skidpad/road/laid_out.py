"""From the points of a reference line and the heights beside it to the record of a road."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from ..ops import shared_array
from ..units import m
from .curved import Columns, CurvedRoad, ListedCurvedRoad, ListedStripRoad, StripRoad
from .grids import ColumnGrid, HeightGrid, grid_of
from .reference_line import CurvedLine, StraightLine

_MOST_CELLS = 400_000
"""Of the map of nearest segments."""
_MOST_PARTS = 1_000_000
"""Of the width of a road with listed columns."""
_EVEN = 1e-9
"""Share of the width by which columns at equal distances may be off."""


def laid_out(line: StraightLine | CurvedLine, start: m, step: m, columns: Array, z: Array) -> Any:
    """The road with heights z, rows at `start + step * k` along the line, columns across it."""
    width = float(columns[-1] - columns[0])
    spacing = np.diff(columns)
    if np.ptp(spacing) <= _EVEN * width:
        steps = (step, width / (len(columns) - 1))
        heights = grid_of(HeightGrid, z, (start, columns[0]), steps)
        return (CurvedRoad if isinstance(line, CurvedLine) else StripRoad)(line, heights)  # type: ignore[arg-type]
    heights = grid_of(ColumnGrid, z, (start, 0.0), (step, 1.0))
    kind: Any = ListedCurvedRoad if isinstance(line, CurvedLine) else ListedStripRoad
    return kind(line, listed_columns(columns), heights)


def listed_columns(columns: Array) -> Columns:
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
