"""The nearest of many segments, for many points: rings of cells around each point, inside out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...compile.loops import loop
from .cells import cells_of_segments


class Nearby:
    """Segments, and the table of cells to find the nearest of them with."""

    def __init__(self, segments: Array) -> None:
        self.segments = np.array(segments, dtype=np.float64)
        """x0, y0, x1, y1 in m, at least one."""
        self.cells = cells_of_segments(self.segments)

    def search(self, points: Array) -> tuple[Array, NDArray[np.int64], Array]:
        """Distance, row of the segment and nearest point, for each point."""
        count = len(points)
        distance, foot = np.empty(count), np.empty((count, 2))
        which = np.empty(count, dtype=np.int64)
        search(self.segments, self.cells, np.array(points), distance, which, foot)
        return distance, which, foot


@loop
def search(segments: Any, cells: Any, points: Any, distance: Any, which: Any, foot: Any) -> None:
    """Fill in what is nearest to each point."""
    for k in range(len(points)):
        x, y = points[k, 0], points[k, 1]
        column = min(max(int((x - cells.x) / cells.size), 0), cells.columns - 1)
        row = min(max(int((y - cells.y) / cells.size), 0), cells.rows - 1)
        best = np.inf
        item = -1
        foot_x = foot_y = 0.0
        # What lies in a ring, or beyond it, is at least ring - 1 cells away from the point, or from
        # the nearest point of the table for one outside of it.
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
                        # The far end itself, not a sum that may miss its last digit.
                        fx = ax + along * dx if along < 1.0 else segments[i, 2]
                        fy = ay + along * dy if along < 1.0 else segments[i, 3]
                        away = np.hypot(x - fx, y - fy)
                        if away < best or (away == best and i < item):
                            best, item, foot_x, foot_y = away, i, fx, fy
        distance[k] = best
        which[k] = item
        foot[k, 0], foot[k, 1] = foot_x, foot_y
