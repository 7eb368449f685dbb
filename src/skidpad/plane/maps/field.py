"""Distance fields: how far every cell of a raster is from the nearest obstacle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ...arrays import Array
from ...brief import brief_repr
from ...units import m, rad
from ..polygon import frozen, points_of
from ..pose import points_to_body
from .grid import Grid

_ROWS = 200_000
"""Points looked at in one go."""


@dataclass(frozen=True, eq=False)
class DistanceField:
    """Distances in the middles of square cells; exact there up to rounding."""

    values: Array
    """In m, shape (rows, columns), row 0 lowest in y; negative inside of obstacles."""
    resolution: m
    """Edge of a cell in m."""
    origin: tuple[m, m, rad]
    """Pose (x, y, yaw) of the lower left corner of the lower left cell."""

    __repr__ = brief_repr

    def at(self, points: Any) -> Array:
        """Distances at points (x, y) in m, linear between the middles of cells; edge values beyond.

        Exact distances change by at most 1 m per m, so that these are off by less than a cell.
        """
        rows, columns = self.values.shape
        local = points_to_body(self.origin, points_of("points", points)) / self.resolution - 0.5
        column = np.clip(local[:, 0], 0.0, columns - 1.0)
        row = np.clip(local[:, 1], 0.0, rows - 1.0)
        c, r = column.astype(np.int64), row.astype(np.int64)
        c1, r1 = np.minimum(c + 1, columns - 1), np.minimum(r + 1, rows - 1)
        right, up = column - c, row - r
        low = self.values[r, c] * (1.0 - right) + self.values[r, c1] * right
        high = self.values[r1, c] * (1.0 - right) + self.values[r1, c1] * right
        return low * (1.0 - up) + high * up


def sampled_field(cells: Grid, distance: Callable[[Array], Array]) -> DistanceField:
    """The field of distances, a function of points (N, 2), in the middles of cells."""
    middles = cells.centres().reshape(-1, 2)
    starts = range(0, len(middles), _ROWS)
    values = np.concatenate([distance(middles[begin : begin + _ROWS]) for begin in starts])
    return DistanceField(frozen(values.reshape(cells.shape)), cells.resolution, cells.origin)


def field_of_cells(grid: Grid) -> DistanceField:
    """The field in the middles of a grid's own cells, to the border of what is occupied."""
    outside = distances_to_cells(grid.occupied)
    # Beyond its border the grid is free, which an occupied cell at the border is near to.
    inside = distances_to_cells(~np.pad(grid.occupied, 1))[1:-1, 1:-1]
    values = grid.resolution * np.where(grid.occupied, -inside, outside)
    return DistanceField(frozen(values), grid.resolution, grid.origin)


def distances_to_cells(cells: Any) -> Array:
    """Distances from all middles to the nearest of these closed cells, in cells.

    On a lattice of half the spacing a cell covers 3 x 3 points, and the point of it nearest to the
    middle of another cell is always one of them. So the distance to points is that to squares.
    """
    from scipy.ndimage import distance_transform_edt

    rows, columns = cells.shape
    lattice = np.ones((2 * rows + 1, 2 * columns + 1), dtype=np.bool_)
    for down in range(3):
        for across in range(3):
            covered = lattice[down : down + 2 * rows : 2, across : across + 2 * columns : 2]
            covered &= ~cells
    distances = cast("Array", distance_transform_edt(lattice))
    return distances[1::2, 1::2] / 2.0
