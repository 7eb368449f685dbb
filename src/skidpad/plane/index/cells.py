"""Which items lie near a place: a table of square cells, each with a list of items.

Compiled loops over plain arrays. Whatever overlaps a box is found in the cells under that box; the
same item may be listed in several of them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...compile.loops import loop

_FINEST = 1024
"""Most cells along one side."""
_SLACK = 1e-9
"""A segment this near to a cell, in cells, is listed in it."""


class Cells(NamedTuple):
    """The table; cell (row, column) holds `items[start[k]:start[k + 1]]`, k counting along rows."""

    x: float
    """Lower left corner in m."""
    y: float
    size: float
    """Edge of a cell in m."""
    columns: int
    rows: int
    start: NDArray[np.int64]
    items: NDArray[np.int64]


def cells_of_segments(segments: Array) -> Cells:
    """The table of segments x0, y0, x1, y1."""
    low = np.minimum(segments[:, :2], segments[:, 2:])
    high = np.maximum(segments[:, :2], segments[:, 2:])
    return _table(np.hstack([low, high]), segments)


def cells_of_boxes(boxes: Array) -> Cells:
    """The table of boxes x_low, y_low, x_high, y_high."""
    return _table(boxes, boxes[:0])


def _table(boxes: Array, segments: Array) -> Cells:
    if not len(boxes):
        none = np.zeros(0, dtype=np.int64)
        return Cells(0.0, 0.0, 1.0, 1, 1, np.zeros(2, dtype=np.int64), none)
    x, y = boxes[:, :2].min(axis=0).tolist()
    width, height = (boxes[:, 2:].max(axis=0) - [x, y]).tolist()
    size = _edge(width, height, len(boxes), max(abs(x), abs(y)))
    columns, rows = int(width / size) + 1, int(height / size) + 1
    counts = np.zeros(rows * columns, dtype=np.int64)
    list_items(boxes, segments, x, y, size, columns, counts, counts[:0], False)
    start = np.concatenate([[0], np.cumsum(counts)])
    items = np.empty(start[-1], dtype=np.int64)
    list_items(boxes, segments, x, y, size, columns, start[:-1].copy(), items, True)
    return Cells(x, y, size, columns, rows, start, items)


def _edge(width: float, height: float, count: int, far: float) -> float:
    """About two cells for each item, and not so small that coordinates cannot tell them apart."""
    even = math.sqrt(width * height / (2.0 * count))
    return max(even, width / _FINEST, height / _FINEST, 1e-9 * far, 1e-6)


@loop
def list_items(
    boxes: Any,
    segments: Any,
    x: float,
    y: float,
    size: float,
    columns: int,
    place: Any,
    items: Any,
    write: bool,
) -> None:
    """Count the items of each cell in `place`, or write them from there on."""
    exact = len(segments) > 0
    for k in range(len(boxes)):
        left = int((boxes[k, 0] - x) / size)
        right = int((boxes[k, 2] - x) / size)
        bottom = int((boxes[k, 1] - y) / size)
        top = int((boxes[k, 3] - y) / size)
        # Along the normal of the segment, which the box around it does not look at.
        n_x = n_y = offset = reach = 0.0
        if exact:
            n_x = -(segments[k, 3] - segments[k, 1])
            n_y = segments[k, 2] - segments[k, 0]
            offset = n_x * segments[k, 0] + n_y * segments[k, 1]
            reach = (0.5 + _SLACK) * size * (abs(n_x) + abs(n_y))
        for row in range(bottom, top + 1):
            for column in range(left, right + 1):
                if exact and right > left and top > bottom:
                    middle_x = x + (column + 0.5) * size
                    middle_y = y + (row + 0.5) * size
                    if abs(n_x * middle_x + n_y * middle_y - offset) > reach:
                        continue
                cell = row * columns + column
                if write:
                    items[place[cell]] = k
                place[cell] += 1
