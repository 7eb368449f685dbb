"""Grids of heights and of grip: those of `skidpad.ops`, with units, each a class of its own."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ..ops import grid
from ..shared_arrays import MOST_ARRAYS
from ..units import Allowed, m, one, positive

__all__ = ["ColumnGrid", "GripValues", "HeightGrid", "HeightProfile", "SmoothGrid", "SmoothProfile"]

_array = Allowed(1.0, MOST_ARRAYS - 1.0, whole=True)
_points = Allowed(2.0, 2.0**53, whole=True)


class HeightProfile(NamedTuple):
    """Heights along a line, with straight lines between them."""

    values: Annotated[m, _array]
    """Number of the array of the heights; see `shared_array`."""
    start_0: m
    """Place of the first one."""
    step_0: Annotated[m, positive]
    """Distance of neighbours."""
    count_0: Annotated[one, _points]
    """How many there are."""


class SmoothProfile(NamedTuple):
    """Heights along a line, with a smooth curve through them."""

    values: Annotated[m, _array]
    """Number of the array of the heights; see `shared_array`."""
    start_0: m
    """Place of the first one."""
    step_0: Annotated[m, positive]
    """Distance of neighbours."""
    count_0: Annotated[one, _points]
    """How many there are."""

    cubic = True


class HeightGrid(NamedTuple):
    """Heights over two coordinates, the second one running fastest, bilinear between them."""

    values: Annotated[m, _array]
    """Number of the array of the heights; see `shared_array`."""
    start_0: m
    """First coordinate of the first row."""
    step_0: Annotated[m, positive]
    """Distance of rows."""
    count_0: Annotated[one, _points]
    """How many rows there are."""
    start_1: m
    """Second coordinate of the first column."""
    step_1: Annotated[m, positive]
    """Distance of columns."""
    count_1: Annotated[one, _points]
    """How many columns there are."""


class SmoothGrid(NamedTuple):
    """Heights over two coordinates, with a smooth surface through them."""

    values: Annotated[m, _array]
    """Number of the array of the heights; see `shared_array`."""
    start_0: m
    """First coordinate of the first row."""
    step_0: Annotated[m, positive]
    """Distance of rows."""
    count_0: Annotated[one, _points]
    """How many rows there are."""
    start_1: m
    """Second coordinate of the first column."""
    step_1: Annotated[m, positive]
    """Distance of columns."""
    count_1: Annotated[one, _points]
    """How many columns there are."""

    cubic = True


class ColumnGrid(NamedTuple):
    """Heights over a coordinate and the number of a column, bilinear between them."""

    values: Annotated[m, _array]
    """Number of the array of the heights; see `shared_array`."""
    start_0: m
    """Coordinate of the first row."""
    step_0: Annotated[m, positive]
    """Distance of rows."""
    count_0: Annotated[one, _points]
    """How many rows there are."""
    start_1: one
    """Number of the first column."""
    step_1: Annotated[one, positive]
    """Difference of the numbers of columns."""
    count_1: Annotated[one, _points]
    """How many columns there are."""


class GripValues(NamedTuple):
    """Grip over two coordinates, the second one running fastest, bilinear between them."""

    values: Annotated[one, _array]
    """Number of the array of the values; see `shared_array`."""
    start_0: m
    """First coordinate of the first row."""
    step_0: Annotated[m, positive]
    """Distance of rows."""
    count_0: Annotated[one, _points]
    """How many rows there are."""
    start_1: m
    """Second coordinate of the first column."""
    step_1: Annotated[m, positive]
    """Distance of columns."""
    count_1: Annotated[one, _points]
    """How many columns there are."""


def grid_of(kind: Any, values: Any, start: Any, step: Any) -> Any:
    """The grid of a class with these values; see `skidpad.ops.grid`."""
    return kind(*grid(values, start=start, step=step))
