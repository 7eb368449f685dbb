"""Interpolation on regular grids, from a handful of reads of a shared array.

The index of a cell is a whole number and has no derivative; the weights of its corners have.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import record
from ..errors import InvalidValue
from .functions import clip, floor, maximum, minimum, read, where

__all__ = ["interpolate"]


class _Axis(NamedTuple):
    """The points along one axis that count at a coordinate."""

    places: list[Any]
    """Their indices."""
    weights: list[Any]
    """Their weights, which sum to one."""
    count: Any
    """How many points the axis has."""


def interpolate(grid: Any, *coordinates: Any) -> Any:
    """The value of a grid (see `grid`) at a coordinate for each of its axes.

    A linear grid is linear between neighbouring values along every axis. A cubic one is the
    Catmull-Rom spline: it passes through the values, its slope there is that of the line through
    the neighbours on both sides, and is continuous; at an edge it is that of the last two values.
    Outside the value is that of the nearest point of the edge and the slope is zero.
    Differentiable with respect to coordinates, start and step, not to the values.
    """
    axes = (len(type(grid)._fields) - 1) // 3
    if len(coordinates) != axes:
        raise InvalidValue(
            f"{type(grid).__name__} takes {axes} coordinates, got {len(coordinates)}"
        )
    along = _cubic if record.interpolation(type(grid)) == "cubic" else _linear
    places = [grid[1 + 3 * k : 4 + 3 * k] for k in range(axes)]
    found = [along(x, *place) for x, place in zip(coordinates, places, strict=True)]
    return _sum(grid.values, found, None)


def _sum(number: Any, axes: list[_Axis], row: Any) -> Any:
    """The weighted values over some axes; `row` counts the points of the axes before."""
    axis, *rest = axes
    base = None if row is None else row * axis.count
    total: Any = None
    for place, weight in zip(axis.places, axis.weights, strict=True):
        index = place if base is None else base + place
        value = _sum(number, rest, index) if rest else read(number, index)
        total = weight * value if total is None else total + weight * value
    return total


def _cell(x: Any, start: Any, step: Any, count: Any) -> tuple[Any, Any, Any]:
    """Index of the cell, place within it from 0 to 1, and index of the last cell."""
    # A whole number without a derivative, whatever is made of the count.
    last = floor(count) - 1.0
    t = clip((x - start) / step, 0.0, last)
    cell = minimum(floor(t), last - 1.0)
    return cell, t - cell, last - 1.0


def _linear(x: Any, start: Any, step: Any, count: Any) -> _Axis:
    cell, f, _ = _cell(x, start, step, count)
    return _Axis([cell, cell + 1.0], [1.0 - f, f], count)


def _cubic(x: Any, start: Any, step: Any, count: Any) -> _Axis:
    """Catmull and Rom (1974), with a point beyond each edge in line with the last two."""
    cell, f, last = _cell(x, start, step, count)
    before = f * (f * (1.0 - 0.5 * f) - 0.5)
    behind = f * f * (0.5 * f - 0.5)
    here = f * f * (1.5 * f - 2.5) + 1.0
    there = f * (f * (2.0 - 1.5 * f) + 0.5)
    missing_before = where(cell < 1.0, before, 0.0)
    missing_behind = where(cell < last, 0.0, behind)
    weights = [
        where(cell < 1.0, 0.0, before),
        here + 2.0 * missing_before - missing_behind,
        there + 2.0 * missing_behind - missing_before,
        where(cell < last, behind, 0.0),
    ]
    places = [maximum(cell - 1.0, 0.0), cell, cell + 1.0, minimum(cell + 2.0, last + 1.0)]
    return _Axis(places, weights, count)
