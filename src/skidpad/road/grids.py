"""Grids of heights and of grip: those of `skidpad.ops`, with units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops import Grid1, Grid2, grid, grid_type
from ..units import m, one

__all__ = ["ColumnGrid", "GripValues", "HeightGrid", "HeightProfile", "SmoothGrid", "SmoothProfile"]

if TYPE_CHECKING:
    HeightProfile = Grid1
    SmoothProfile = Grid1
    HeightGrid = Grid2
    SmoothGrid = Grid2
    ColumnGrid = Grid2
    GripValues = Grid2
else:
    HeightProfile = grid_type(1, "linear", (m, m))
    """Heights along a line, with straight lines between them."""
    SmoothProfile = grid_type(1, "cubic", (m, m))
    """Heights along a line, with a smooth curve through them."""
    HeightGrid = grid_type(2, "linear", (m, m, m))
    """Heights over two coordinates, bilinear between them."""
    SmoothGrid = grid_type(2, "cubic", (m, m, m))
    """Heights over two coordinates, with a smooth surface through them."""
    ColumnGrid = grid_type(2, "linear", (m, m, one))
    """Heights over a coordinate and the number of a column, bilinear between them."""
    GripValues = grid_type(2, "linear", (one, m, m))
    """Grip over two coordinates, bilinear between them."""


def grid_of(kind: Any, values: Any, start: Any, step: Any) -> Any:
    """The grid of a class with these values; see `skidpad.ops.grid`."""
    return kind(*grid(values, start=start, step=step))
