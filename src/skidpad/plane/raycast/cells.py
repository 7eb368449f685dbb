"""Segments sorted into square cells, for single rays that go from one to the next."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .blocks import in_blocks

PER_CELL = 4.0
"""Segments per cell to aim at."""
MOST_CELLS = 1 << 20
SPREAD = 1e-9
"""A segment is also in the cells that it misses by this part of a cell, so that rounding on the
way through the cells never passes it by; by more where coordinates are large."""
ROUNDING = 4e-15
"""Bound of the rounding error of a place on the way, as a part of its coordinates."""


class Cells(NamedTuple):
    """Segments, cell by cell, in blocks of eight."""

    frame: NDArray[np.float64]
    """x and y of the lower left corner, size of a cell in m, columns, lines, and how far from the
    corner a ray may start for its way through the cells to be exact enough."""
    starts: NDArray[np.int64]
    """First block of each cell, line by line, and the number of blocks."""
    table: NDArray[np.float64]
    """Blocks of eight segments; see `blocks.FIELDS`. The last of a cell fills up its last one."""


def sorted_into_cells(rows: NDArray[np.float64]) -> Cells:
    """Segments, as rows of `blocks.FIELDS`, in cells."""
    frame, per, owner = _sorted(rows, SPREAD)
    blocks = -(-per // 8)
    starts = np.concatenate([[0], np.cumsum(blocks)]).astype(np.int64)
    # Where each place of the blocks finds its segment: the last of a cell is repeated.
    which, step = _expanded(8 * blocks)
    chosen = owner[(np.cumsum(per) - per)[which] + np.minimum(step, per[which] - 1)]
    return Cells(frame, starts, in_blocks(rows, chosen))


def single_rows(
    rows: NDArray[np.float64], spread: float = SPREAD
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """The same without blocks: the frame, the first row of each cell and the end, the rows."""
    frame, per, owner = _sorted(rows, spread)
    starts = np.concatenate([[0], np.cumsum(per)]).astype(np.int64)
    return frame, starts, rows[owner]


def _sorted(
    rows: NDArray[np.float64], spread: float
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """The frame; how many segments are in each cell; which ones, cell by cell."""
    segments = rows[:, :4]
    frame = _frame(segments, spread)
    owner, cell = _places(segments, frame)
    order = np.lexsort((owner, cell))
    return frame, np.bincount(cell, minlength=int(frame[3] * frame[4])), owner[order]


def _frame(segments: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    if len(segments) == 0:
        return np.array([0.0, 0.0, 1.0, 1.0, 1.0, np.inf])
    points = segments.reshape(-1, 2)
    low, high = points.min(axis=0), points.max(axis=0)
    width, height = (high - low).tolist()
    cells = min(max(len(segments) / PER_CELL, 1.0), MOST_CELLS / 4)
    # A long thin map has cells no smaller than its length divided by their number.
    size = max(math.sqrt(width * height / cells), max(width, height) / cells)
    farthest = float(np.abs(points).max())
    size = max(size, 1e-9 * farthest, 1e-9)
    spread = max(spread, 2.0 * ROUNDING * farthest / size)
    # Rounding must not put the last point outside of the last cell.
    columns, lines = (math.floor(side / size) + 1 for side in (width, height))
    reach = 0.5 * spread * size / ROUNDING
    return np.array([low[0], low[1], size, columns, lines, reach])


def _places(
    segments: NDArray[np.float64], frame: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of a segment and a cell that it runs through, or nearly so."""
    x_low, y_low, size = frame[:3]
    columns, lines = int(frame[3]), int(frame[4])
    spread = 2.0 * frame[5] * ROUNDING / size
    ends = (segments.reshape(-1, 2, 2) - np.array([x_low, y_low])) / size
    left, right = ends[:, 0], ends[:, 1]
    swap = left[:, 0] > right[:, 0]
    left[swap], right[swap] = right[swap], left[swap].copy()
    first = _clipped(left[:, 0] - spread, columns)
    number = _clipped(right[:, 0] + spread, columns) - first + 1
    owner, step = _expanded(number)
    column = first[owner] + step
    # Heights of the segment at both sides of its column, a little outside.
    run = right[owner, 0] - left[owner, 0]
    rise = right[owner, 1] - left[owner, 1]
    slope = np.divide(rise, run, out=np.zeros_like(run), where=run > 0.0)
    part = np.stack([column - spread, column + 1.0 + spread]) - left[owner, 0]
    heights = left[owner, 1] + np.clip(part, 0.0, run) * slope
    steep = run <= 0.0
    heights[:, steep] = np.stack([left[owner[steep], 1], right[owner[steep], 1]])
    low = np.minimum(heights[0], heights[1]) - spread
    high = np.maximum(heights[0], heights[1]) + spread
    bottom = _clipped(low, lines)
    which, up = _expanded(_clipped(high, lines) - bottom + 1)
    return owner[which], (bottom[which] + up) * columns + column[which]


def _clipped(value: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    return np.clip(np.floor(value), 0, count - 1).astype(np.int64)


def _expanded(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each of `counts`, so many rows: which one it is, and the number within it."""
    owner = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    return owner, np.arange(len(owner)) - np.repeat(ends - counts, counts)
