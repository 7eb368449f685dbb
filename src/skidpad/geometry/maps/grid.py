"""Occupancy grids: square cells that are occupied or free, at any pose in the world."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array, Mask
from ...core.checks import positive
from ...core.files import shown
from ...errors import InvalidValue
from ...units import m, rad
from ..polygon import FARTHEST, frozen, points_of
from ..pose import points_to_body, points_to_world

MOST_CELLS = 100_000_000
"""Largest number of cells of a grid: 100 MB."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Occupancy grid of square cells; the outside of the grid is free.

    Row 0 is lowest in y of the grid's own frame and column 0 lowest in x, so that the cell in row
    r and column c covers `[c, c + 1) x [r, r + 1)` times the resolution. Images have their first
    row on top: the loaders flip them.
    """

    occupied: Mask
    """True where a cell is an obstacle, shape (rows, columns), read-only."""
    resolution: m
    """Edge of a cell in m, above 0."""
    origin: tuple[m, m, rad] = (0.0, 0.0, 0.0)
    """Pose (x, y, yaw) in the world of the lower left corner of the lower left cell."""
    unknown: Mask | None = None
    """True in unknown cells, same shape; `occupied` says whether they count as obstacles."""

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "resolution", positive("resolution", self.resolution, "m"))
        x, y, yaw = origin = pose_of("origin", self.origin)
        if not (abs(x) <= FARTHEST and abs(y) <= FARTHEST and math.isfinite(yaw)):
            raise InvalidValue(f"origin = {origin} must be finite and within {FARTHEST:g} m")
        set_field(self, "origin", origin)
        set_field(self, "occupied", _cells("occupied", self.occupied))
        if self.unknown is not None:
            unknown = _cells("unknown", self.unknown)
            if unknown.shape != self.shape:
                raise InvalidValue(
                    f"unknown has shape {unknown.shape}, but occupied has {self.shape}"
                )
            set_field(self, "unknown", unknown)

    @classmethod
    def over(cls, bounds: tuple[m, m, m, m], resolution: m, margin: m) -> Grid:
        """Free grid over a box (least x and y, largest x and y) and a margin around it; raises if
        it has too many cells."""
        x0, y0, x1, y1 = bounds
        width, height = x1 - x0 + 2.0 * margin, y1 - y0 + 2.0 * margin
        rows, columns = (max(1, math.ceil(length / resolution)) for length in (height, width))
        if rows * columns > MOST_CELLS:
            raise InvalidValue(
                f"resolution = {resolution:g} m makes {rows} x {columns} cells of an area of "
                f"{width:g} m x {height:g} m; allowed are {MOST_CELLS}"
            )
        free = np.zeros((rows, columns), dtype=np.bool_)
        return cls(free, resolution, (x0 - margin, y0 - margin, 0.0))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        rows, columns = self.occupied.shape
        return rows, columns

    @property
    def size(self) -> tuple[m, m]:
        """Width and height in m, along the grid's own x and y."""
        rows, columns = self.shape
        return columns * self.resolution, rows * self.resolution

    @property
    def corners(self) -> Array:
        """The four corners in the world, counter-clockwise from the origin, shape (4, 2)."""
        width, height = self.size
        return self.to_world(np.array([[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]]))

    @property
    def bounds(self) -> tuple[m, m, m, m]:
        """Least x and y, largest x and y in the world."""
        corners = self.corners
        (x0, y0), (x1, y1) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
        return x0, y0, x1, y1

    def to_world(self, points: Array) -> Array:
        """World coordinates of points (n, 2) in m along the grid's axes from its origin."""
        return points_to_world(self.origin, points)

    def to_grid(self, points: Array) -> Array:
        """Coordinates of world points (n, 2), in m along the grid's axes from its origin."""
        return points_to_body(self.origin, points)

    def cell_of(self, points: Any) -> NDArray[np.int64]:
        """Row and column of world points, shape (N, 2); they are out of range outside of the
        grid."""
        local = self.to_grid(points_of("points", points))
        return np.floor(local[:, ::-1] / self.resolution).astype(np.int64)

    def at(self, points: Any) -> Mask:
        """Whether world points (n, 2) lie in an occupied cell; False outside of the grid."""
        return self._looked_up(self.occupied, points)

    def unknown_at(self, points: Any) -> Mask:
        """Whether world points (n, 2) lie in an unknown cell."""
        if self.unknown is None:
            return np.zeros(len(points_of("points", points)), dtype=np.bool_)
        return self._looked_up(self.unknown, points)

    def centres(self) -> Array:
        """Centres of all cells in the world, shape (rows, columns, 2)."""
        rows, columns = self.shape
        x, y = np.meshgrid(np.arange(columns) + 0.5, np.arange(rows) + 0.5)
        return self.to_world(self.resolution * np.stack([x, y], axis=-1, dtype=np.float64))

    def mirrored(self) -> Grid:
        """The grid reflected about the world's x axis: y becomes -y."""
        _, height = self.size
        x, y = self.to_world(np.array([[0.0, height]]))[0].tolist()
        unknown = None if self.unknown is None else self.unknown[::-1]
        return Grid(self.occupied[::-1], self.resolution, (x, -y, -self.origin[2]), unknown)

    def _looked_up(self, mask: Mask, points: Any) -> Mask:
        row, column = self.cell_of(points).T
        rows, columns = self.shape
        within = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        return within & mask[np.clip(row, 0, rows - 1), np.clip(column, 0, columns - 1)]

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"Grid({rows} x {columns} cells of {self.resolution:g} m, origin {self.origin})"


def pose_of(name: str, values: Any) -> tuple[m, m, rad]:
    """Pose x, y, yaw as floats; raises for anything else."""
    try:
        x, y, yaw = (float(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} = {shown(values)} must be three numbers: x, y, yaw") from None
    return x, y, yaw


def _cells(name: str, values: Any) -> Mask:
    cells = np.array(values)
    if cells.ndim != 2 or cells.size == 0:
        raise InvalidValue(f"{name} has shape {cells.shape}; allowed are rows and columns of cells")
    if cells.dtype != np.bool_:
        if not np.isin(cells, (0, 1)).all():
            raise InvalidValue(f"{name} must be true or false, or 1 or 0, in each cell")
        cells = cells.astype(np.bool_)
    return frozen(cells)
