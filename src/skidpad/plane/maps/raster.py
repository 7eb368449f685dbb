"""Obstacles as the cells that they touch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array, Mask
from .grid import Grid

_ROUNDING = 1e-9
"""In cells: what comes this near to a cell counts as touching it."""


def rasterised(cells: Grid, walls: Array, occupied: Callable[[Array], Mask]) -> Grid:
    """The cells that walls (n, 4) touch or that are solid, which `occupied` says of points."""
    ends = cells.to_grid(walls.reshape(-1, 2)).reshape(-1, 4) / cells.resolution
    touched = cells_under(ends, cells.shape)
    # A cell that no wall passes through is solid throughout or free throughout.
    rest = np.argwhere(~touched)
    middles = cells.resolution * (rest[:, ::-1].astype(np.float64) + 0.5)
    solid = occupied(cells.to_world(middles))
    touched[rest[solid, 0], rest[solid, 1]] = True
    return Grid(touched, cells.resolution, cells.origin)


def cells_under(segments: Array, shape: tuple[int, int]) -> Mask:
    """The cells that segments touch, given in cells from the lower left corner of the grid.

    Row by row a segment covers an interval of x, and with it all cells from one end to the other.
    """
    rows, columns = shape
    # Changes of the number of segments that cover a cell, summed up along each row at the end.
    steps = np.zeros((rows, columns + 1), dtype=np.int32)
    for x0, y0, x1, y1 in segments:
        first = max(0, int(np.floor(min(y0, y1) - _ROUNDING)))
        last = min(rows - 1, int(np.floor(max(y0, y1) + _ROUNDING)))
        row = np.arange(first, last + 1)
        slope = (x1 - x0) / (y1 - y0) if y1 != y0 else 0.0
        low, high = min(x0, x1), max(x0, x1)
        if y1 != y0:
            ends = x0 + slope * (np.stack([row, row + 1]) - y0)
            left, right = ends.min(axis=0).clip(low, high), ends.max(axis=0).clip(low, high)
        else:
            left, right = np.full(row.size, low), np.full(row.size, high)
        begin = np.floor(left - _ROUNDING).astype(np.int64).clip(0, columns)
        end = (np.floor(right + _ROUNDING).astype(np.int64) + 1).clip(0, columns)
        np.add.at(steps, (row, begin), 1)
        np.add.at(steps, (row, np.maximum(begin, end)), -1)
    return np.cumsum(steps, axis=1)[:, :-1] > 0
