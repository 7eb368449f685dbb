"""The value of a grid and its slopes along every axis, from the same reads of its array.

`ops.interpolate` gives the value alone. A road needs its slope as well, and reading is what costs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..ops import clip, floor, logical_or, maximum, minimum, read, where

__all__ = ["sloped_value"]


class _Axis(NamedTuple):
    """The points along one axis that count at a coordinate."""

    places: list[Any]
    """Their indices."""
    weights: list[Any]
    """Their weights, which sum to one."""
    slopes: list[Any]
    """Derivatives of the weights, which sum to zero; zero outside of the axis."""
    count: Any
    """How many points the axis has."""


def sloped_value(grid: Any, *coordinates: Any) -> tuple[Any, ...]:
    """The value of `ops.interpolate(grid, ...)`, then its derivative by each coordinate.

    A linear grid has the slope of the cell behind each line of points. Grids of 1 or 2 axes.
    """
    along = _cubic if getattr(type(grid), "cubic", False) else _linear
    places = [grid[1 + 3 * k : 4 + 3 * k] for k in range(len(coordinates))]
    axes = [along(x, *place) for x, place in zip(coordinates, places, strict=True)]
    if len(axes) == 1:
        values = [read(grid.values, place) for place in axes[0].places]
        return weighted(axes[0].weights, values), weighted(axes[0].slopes, values)
    rows, columns = axes
    lines = [
        [read(grid.values, row * columns.count + place) for place in columns.places]
        for row in rows.places
    ]
    across = [weighted(columns.weights, line) for line in lines]
    return (
        weighted(rows.weights, across),
        weighted(rows.slopes, across),
        weighted(rows.weights, [weighted(columns.slopes, line) for line in lines]),
    )


def weighted(weights: list[Any], values: list[Any]) -> Any:
    """The sum of the products."""
    total: Any = weights[0] * values[0]
    for weight, value in zip(weights[1:], values[1:], strict=True):
        total = total + weight * value
    return total


def _cell(x: Any, start: Any, step: Any, count: Any) -> tuple[Any, Any, Any, Any]:
    """Index of the cell, place within it from 0 to 1, index of the last one, cells per length."""
    last = floor(count) - 1.0
    t = (x - start) / step
    inside = clip(t, 0.0, last)
    cell = minimum(floor(inside), last - 1.0)
    density = where(logical_or(t < 0.0, t > last), 0.0, 1.0 / step)
    return cell, inside - cell, last - 1.0, density


def _linear(x: Any, start: Any, step: Any, count: Any) -> _Axis:
    cell, f, _, density = _cell(x, start, step, count)
    return _Axis([cell, cell + 1.0], [1.0 - f, f], [-density, density], count)


def _cubic(x: Any, start: Any, step: Any, count: Any) -> _Axis:
    """Catmull and Rom (1974), with a point beyond each edge in line with the last two."""
    cell, f, last, density = _cell(x, start, step, count)
    weights = [
        f * (f * (1.0 - 0.5 * f) - 0.5),
        f * f * (1.5 * f - 2.5) + 1.0,
        f * (f * (2.0 - 1.5 * f) + 0.5),
        f * f * (0.5 * f - 0.5),
    ]
    slopes = [
        (f * (2.0 - 1.5 * f) - 0.5) * density,
        (f * (4.5 * f - 5.0)) * density,
        (f * (4.0 - 4.5 * f) + 0.5) * density,
        (f * (1.5 * f - 1.0)) * density,
    ]
    places = [maximum(cell - 1.0, 0.0), cell, cell + 1.0, minimum(cell + 2.0, last + 1.0)]
    return _Axis(places, _folded(weights, cell, last), _folded(slopes, cell, last), count)


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
