"""Interpolation on regular grids, from a handful of reads of a shared array.

The index of a cell is a whole number and has no derivative; the weights of its corners have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import record
from ..errors import InvalidValue
from .functions import clip, floor, logical_or, maximum, minimum, read, weighted_sum, where

__all__ = ["interpolate", "sloped_value"]


class _Axis(NamedTuple):
    """The points along one axis that count at a coordinate."""

    places: list[Any]
    """Their indices."""
    weights: list[Any]
    """Their weights, which sum to one."""
    slopes: list[Any]
    """Derivatives of the weights, which sum to zero; zero outside of the axis. Empty where nobody
    asked for them."""
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
    axes = _axes(grid, coordinates, sloped=False)
    return _value(axes, _read(grid.values, axes, None))


def sloped_value(grid: Any, *coordinates: Any) -> tuple[Any, ...]:
    """The value of `interpolate(grid, ...)`, then its derivative by each coordinate.

    All come from the same reads, which are what costs. A linear grid has the slope of the cell
    behind each line of points.
    """
    axes = _axes(grid, coordinates, sloped=True)
    return tuple(_sloped(axes, _read(grid.values, axes, None)))


def _axes(grid: Any, coordinates: Sequence[Any], *, sloped: bool) -> list[_Axis]:
    axes = (len(type(grid)._fields) - 1) // 3
    if len(coordinates) != axes:
        raise InvalidValue(
            f"{type(grid).__name__} takes {axes} coordinates, got {len(coordinates)}"
        )
    along = _cubic if record.interpolation(type(grid)) == "cubic" else _linear
    places = [grid[1 + 3 * k : 4 + 3 * k] for k in range(axes)]
    return [along(x, place, sloped) for x, place in zip(coordinates, places, strict=True)]


def _read(number: Any, axes: list[_Axis], row: Any) -> list[Any]:
    """The values at the points of some axes, in lists of lists; `row` counts the points of the
    axes before."""
    axis, *rest = axes
    base = None if row is None else row * axis.count
    indices = [place if base is None else base + place for place in axis.places]
    return [_read(number, rest, index) if rest else read(number, index) for index in indices]


def _value(axes: list[_Axis], values: list[Any]) -> Any:
    """The weighted sum over all axes."""
    axis, *rest = axes
    return weighted_sum(axis.weights, [_value(rest, line) for line in values] if rest else values)


def _sloped(axes: list[_Axis], values: list[Any]) -> list[Any]:
    """The weighted sum over all axes and its derivative by the coordinate of each."""
    axis, *rest = axes
    below = [_sloped(rest, line) for line in values] if rest else [[value] for value in values]
    across, *slopes = (list(column) for column in zip(*below, strict=True))
    return [
        weighted_sum(axis.weights, across),
        weighted_sum(axis.slopes, across),
        *(weighted_sum(axis.weights, slope) for slope in slopes),
    ]


class _Cell(NamedTuple):
    """The cell of an axis that a coordinate is in."""

    index: Any
    f: Any
    """Place within it, from 0 to 1."""
    last: Any
    """Index of the last cell."""
    density: Any
    """Derivative of `f`: cells per length, zero outside of the axis; None where nobody asked."""


def _cell(x: Any, place: Any, sloped: bool) -> _Cell:
    start, step, count = place
    # A whole number without a derivative, whatever is made of the count.
    last = floor(count) - 1.0
    t = (x - start) / step
    inside = clip(t, 0.0, last)
    index = minimum(floor(inside), last - 1.0)
    density = where(logical_or(t < 0.0, t > last), 0.0, 1.0 / step) if sloped else None
    return _Cell(index, inside - index, last - 1.0, density)


def _linear(x: Any, place: Any, sloped: bool) -> _Axis:
    cell, f, _, density = _cell(x, place, sloped)
    slopes = [-density, density] if sloped else []
    return _Axis([cell, cell + 1.0], [1.0 - f, f], slopes, place[2])


def _cubic(x: Any, place: Any, sloped: bool) -> _Axis:
    """Catmull and Rom (1974), with a point beyond each edge in line with the last two."""
    cell, f, last, density = _cell(x, place, sloped)
    weights = [
        f * (f * (1.0 - 0.5 * f) - 0.5),
        f * f * (1.5 * f - 2.5) + 1.0,
        f * (f * (2.0 - 1.5 * f) + 0.5),
        f * f * (0.5 * f - 0.5),
    ]
    by_f = [
        f * (2.0 - 1.5 * f) - 0.5,
        f * (4.5 * f - 5.0),
        f * (4.0 - 4.5 * f) + 0.5,
        f * (1.5 * f - 1.0),
    ]
    slopes = _folded([slope * density for slope in by_f], cell, last) if sloped else []
    places = [maximum(cell - 1.0, 0.0), cell, cell + 1.0, minimum(cell + 2.0, last + 1.0)]
    return _Axis(places, _folded(weights, cell, last), slopes, place[2])


def _folded(four: list[Any], cell: Any, last: Any) -> list[Any]:
    """What belongs to a point beyond an edge goes to the last two, with which it is in line."""
    before, here, there, behind = four
    missing_before = where(cell < 1.0, before, 0.0)
    missing_behind = where(cell < last, 0.0, behind)
    return [
        where(cell < 1.0, 0.0, before),
        here + 2.0 * missing_before - missing_behind,
        there + 2.0 * missing_behind - missing_before,
        where(cell < last, behind, 0.0),
    ]
