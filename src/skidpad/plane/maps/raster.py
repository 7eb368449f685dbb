"""Between cells and segments: obstacles as cells, and the borders of cells as segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Mask
from ...units import m
from .grid import Grid, cell_counts
from .inputs import not_negative, positive

if TYPE_CHECKING:
    from .map import Map

_ROUNDING = 1e-9
"""In cells: what comes this near to a cell counts as touching it."""


def rasterised(map_: Map, resolution: m, margin: m) -> Grid:
    """The grid described at `Map.rasterised`."""
    resolution = positive("resolution", resolution, "m")
    margin = not_negative("margin", margin, "m")
    x0, y0, x1, y1 = map_.bounds
    shape = cell_counts(x1 - x0 + 2.0 * margin, y1 - y0 + 2.0 * margin, resolution)
    origin = (x0 - margin, y0 - margin, 0.0)
    grid = Grid(np.zeros(shape, dtype=np.bool_), resolution, origin)
    walls = np.concatenate([map_.segments, map_.border_segments])
    ends = grid.to_grid(walls.reshape(-1, 2)).reshape(-1, 4) / resolution
    occupied = cells_under(ends, shape)
    # A cell that no wall passes through is solid throughout or free throughout.
    rest = np.argwhere(~occupied)
    middles = resolution * (rest[:, ::-1].astype(np.float64) + 0.5)
    solid = map_.occupied(grid.to_world(middles))
    occupied[rest[solid, 0], rest[solid, 1]] = True
    return Grid(occupied, resolution, origin)


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


def border_segments(grid: Grid) -> Array:
    """Segments between occupied and free cells, in the world; straight runs are one segment.

    They run with the occupied side on their left. Beyond the grid all is free.
    """
    cells = np.pad(grid.occupied, 1).astype(np.int8)
    # +1 where going up or right leads from a free cell to an occupied one, -1 the other way.
    level = cells[1:, 1:-1] - cells[:-1, 1:-1]
    upright = cells[1:-1, 1:] - cells[1:-1, :-1]
    flat = _runs(level)
    steep = _runs(upright.T)
    ends = np.concatenate([flat, steep[:, [1, 0, 3, 2]]]).astype(np.float64)
    signs = np.concatenate([_signs(level, flat), -_signs(upright.T, steep)])
    ends[signs < 0] = ends[signs < 0][:, [2, 3, 0, 1]]
    return grid.to_world(ends.reshape(-1, 2) * grid.resolution).reshape(-1, 4)


def _runs(steps: NDArray[np.int8]) -> NDArray[np.int64]:
    """x0, y0, x1, y1 in cells of the stretches of equal steps other than 0 along each row."""
    nothing = np.zeros((len(steps), 1), dtype=np.int8)
    before, after = np.hstack([nothing, steps]), np.hstack([steps, nothing])
    changed = before != after
    rows, begins = np.nonzero(changed & (after != 0))
    _, ends = np.nonzero(changed & (before != 0))
    # Every run that begins also ends, and both are listed row by row from left to right.
    return np.stack([begins, rows, ends, rows], axis=1)


def _signs(steps: NDArray[np.int8], runs: NDArray[np.int64]) -> NDArray[Any]:
    return steps[runs[:, 1], runs[:, 0]]
