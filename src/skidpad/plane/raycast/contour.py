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


def contour(occupied: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Segments (n, 4) of column, row, column, row with what is occupied on their right.

    The cell in row r and column c has corners (c, r) and (c + 1, r + 1); outside all is free.
    """
    solid = np.pad(occupied, 1).astype(np.int8)
    line, begin, end, below = _runs(solid[1:, 1:-1] - solid[:-1, 1:-1])
    # With free cells above, to the right; with free cells below, to the left.
    first, last = np.where(below, begin, end), np.where(below, end, begin)
    level = np.column_stack([first, line, last, line])
    line, begin, end, below = _runs((solid[1:-1, 1:] - solid[1:-1, :-1]).T)
    first, last = np.where(below, end, begin), np.where(below, begin, end)
    upright = np.column_stack([line, first, line, last])
    return np.concatenate([level, upright])


def _runs(change: NDArray[np.int8]) -> tuple[Any, Any, Any, Any]:
    """Along each line, runs of one and the same change: line, begin, end, whether it falls."""
    padded = np.pad(change, ((0, 0), (1, 1)))
    differs = padded[:, 1:] != padded[:, :-1]
    begins = np.nonzero(differs & (padded[:, 1:] != 0))
    ends = np.nonzero(differs & (padded[:, :-1] != 0))
    return begins[0], begins[1], ends[1], change[begins] < 0
