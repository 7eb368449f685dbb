"""Spatial index of square cells: items in boxes, and the nearest of many segments.

Compiled loops over plain arrays. All items that overlap a box are listed in the cells under that
box; the same item may be listed in several cells. `Nearby` searches rings of cells around each
point, from the inside out.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.loops import loop
from ..core.arrays import Array

_FINEST = 1024
"""Most cells along one side."""
_SLACK = 1e-9
"""Distance in cells within which a segment is also listed in a neighbouring cell."""


class Cells(NamedTuple):
    """Index of cells; cell (row, column) holds `items[start[k]:start[k + 1]]`, with k in row-major
    order."""

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
    """Index of segments x0, y0, x1, y1."""
    low = np.minimum(segments[:, :2], segments[:, 2:])
    high = np.maximum(segments[:, :2], segments[:, 2:])
    return _table(np.hstack([low, high]), segments)


def cells_of_boxes(boxes: Array) -> Cells:
    """Index of boxes x_low, y_low, x_high, y_high."""
    return _table(boxes, boxes[:0])


def _table(boxes: Array, segments: Array) -> Cells:
    if not len(boxes):
        none = np.zeros(0, dtype=np.int64)
        return Cells(0.0, 0.0, 1.0, 1, 1, np.zeros(2, dtype=np.int64), none)
    x, y = boxes[:, :2].min(axis=0).tolist()
    width, height = (boxes[:, 2:].max(axis=0) - [x, y]).tolist()
    even = math.sqrt(width * height / (2.0 * len(boxes)))
    size = max(even, width / _FINEST, height / _FINEST, 1e-9 * max(abs(x), abs(y)), 1e-6)
    columns, rows = int(width / size) + 1, int(height / size) + 1
    counts, frame = np.zeros(rows * columns, dtype=np.int64), (x, y, size, columns)
    list_items(boxes, segments, frame, counts, counts[:0], False)
    start = np.concatenate([[0], np.cumsum(counts)])
    items = np.empty(start[-1], dtype=np.int64)
    list_items(boxes, segments, frame, start[:-1].copy(), items, True)
    return Cells(x, y, size, columns, rows, start, items)


@loop
def list_items(boxes: Any, segments: Any, frame: Any, place: Any, items: Any, write: bool) -> None:
    """Count the items of each cell in `place`, or write them from there."""
    x, y, size, columns = frame
    exact = len(segments) > 0
    for k in range(len(boxes)):
        left = int((boxes[k, 0] - x) / size)
        right = int((boxes[k, 2] - x) / size)
        bottom = int((boxes[k, 1] - y) / size)
        top = int((boxes[k, 3] - y) / size)
        # Also test the distance along the segment's normal, which the bounding box does not limit.
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


class Nearby:
    """Segments with an index for nearest-segment queries."""

    def __init__(self, segments: Array) -> None:
        self.segments = np.array(segments, dtype=np.float64)
        """Segments x0, y0, x1, y1 in m, at least one."""
        self.cells = cells_of_segments(self.segments)

    def search(self, points: Array) -> tuple[Array, NDArray[np.int64], Array]:
        """Distance, index of the segment and nearest point, for each point."""
        count = len(points)
        distance, foot = np.empty(count), np.empty((count, 2))
        which = np.empty(count, dtype=np.int64)
        search(self.segments, self.cells, np.array(points), distance, which, foot)
        return distance, which, foot


@loop
def search(segments: Any, cells: Any, points: Any, distance: Any, which: Any, foot: Any) -> None:
    """Write distance, segment and nearest point for each point."""
    for k in range(len(points)):
        x, y = points[k, 0], points[k, 1]
        column = min(max(int((x - cells.x) / cells.size), 0), cells.columns - 1)
        row = min(max(int((y - cells.y) / cells.size), 0), cells.rows - 1)
        best = np.inf
        item = -1
        foot_x = foot_y = 0.0
        # Segments in or beyond a ring are at least ring - 1 cells away from the point or, if it
        # lies outside of the table, from the nearest point of the table.
        for ring in range(max(cells.rows, cells.columns)):
            if (ring - 1) * cells.size > best:
                break
            low, high = row - ring, row + ring
            left, right = column - ring, column + ring
            for r in range(max(low, 0), min(high, cells.rows - 1) + 1):
                step = 1 if r in (low, high) else max(right - left, 1)
                for c in range(left, right + 1, step):
                    if c < 0 or c >= cells.columns:
                        continue
                    cell = r * cells.columns + c
                    for entry in range(cells.start[cell], cells.start[cell + 1]):
                        i = cells.items[entry]
                        ax, ay = segments[i, 0], segments[i, 1]
                        dx, dy = segments[i, 2] - ax, segments[i, 3] - ay
                        square = dx * dx + dy * dy
                        along = 0.0
                        if square > 0.0:
                            along = ((x - ax) * dx + (y - ay) * dy) / square
                            along = min(max(along, 0.0), 1.0)
                        # Use the far end itself, since a sum may differ from it in the last digit.
                        fx = ax + along * dx if along < 1.0 else segments[i, 2]
                        fy = ay + along * dy if along < 1.0 else segments[i, 3]
                        away = np.hypot(x - fx, y - fy)
                        if away < best or (away == best and i < item):
                            best, item, foot_x, foot_y = away, i, fx, fy
        distance[k] = best
        which[k] = item
        foot[k, 0], foot[k, 1] = foot_x, foot_y
