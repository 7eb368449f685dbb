"""The border between the free and the occupied cells of a grid, as segments.

A ray meets the border of the first occupied cell in its way exactly where it meets one of these
segments, and whole scans are drawn from segments much faster than rays march through a grid.
Neighbouring cells in a line make one segment. Ends of segments are corners of cells, computed in
one way, so that segments that meet there have the same end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Mask
from .grid import Grid


def border_segments(grid: Grid) -> Array:
    """Segments (n, 4) in the world between occupied cells, on their left, and free ones.

    Beyond the grid all is free.
    """
    corners = contour(grid.occupied).reshape(-1, 2).astype(np.float64)
    return grid.to_world(corners * grid.resolution).reshape(-1, 4)


def contour(occupied: Mask) -> NDArray[np.int64]:
    """Segments (n, 4) of column, row, column, row with what is occupied on their left.

    The cell in row r and column c has corners (c, r) and (c + 1, r + 1); outside all is free.
    """
    solid = np.pad(occupied, 1).astype(np.int8)
    line, begin, end, above = _runs(solid[1:, 1:-1] - solid[:-1, 1:-1])
    # With occupied cells above, to the right; with occupied cells below, to the left.
    first, last = np.where(above, begin, end), np.where(above, end, begin)
    level = np.column_stack([first, line, last, line])
    line, begin, end, right = _runs((solid[1:-1, 1:] - solid[1:-1, :-1]).T)
    first, last = np.where(right, end, begin), np.where(right, begin, end)
    upright = np.column_stack([line, first, line, last])
    return np.concatenate([level, upright])


def _runs(change: NDArray[np.int8]) -> tuple[Any, Any, Any, Any]:
    """Along each line, runs of one and the same change: line, begin, end, whether it rises."""
    padded = np.pad(change, ((0, 0), (1, 1)))
    differs = padded[:, 1:] != padded[:, :-1]
    begins = np.nonzero(differs & (padded[:, 1:] != 0))
    ends = np.nonzero(differs & (padded[:, :-1] != 0))
    return begins[0], begins[1], ends[1], change[begins] > 0
