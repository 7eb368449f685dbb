"""Tables over one or two coordinates as records, so that every number of a table is a parameter.

The record class of a table holds its size and units; an absent table is of the class `NoTable`.
Interpolation is linear in both coordinates, with edge values outside the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ...core import record
from ...core.record import made_once
from ...errors import InvalidValue
from ...ops import hats, maximum, ramps, weighted_sum
from ...units import one

Units = tuple[Any, Any, Any]
"""Units of row coordinates, column coordinates and values, as in record fields."""

PLAIN: Units = (one, one, one)


class NoTable(NamedTuple):
    """Placeholder for an omitted table."""


def table_type(rows: int, columns: int, units: Units = PLAIN) -> Any:
    """Return the record class (cached) of tables of this size with these units.

    Its fields are `row_0`, ..., `column_0`, ..., and the values row by row, `v_0_0`, `v_0_1`, ...
    """
    return _table_type(rows, columns, units)


@made_once
def _table_type(rows: int, columns: int, units: Units) -> Any:
    row, column, value = units
    hints: dict[str, Any] = {f"row_{i}": row for i in range(rows)}
    hints |= {f"column_{j}": column for j in range(columns)}
    hints |= {f"v_{i}_{j}": value for i in range(rows) for j in range(columns)}
    docs = {
        **{name: "Coordinate of a row; they increase." for name in list(hints)[:rows]},
        **{f"column_{j}": "Coordinate of a column; they increase." for j in range(columns)},
        **{f"v_{i}_{j}": "Value." for i in range(rows) for j in range(columns)},
    }
    doc = f"A table of {rows} rows and {columns} columns."
    kind = record.define(f"Table{rows}x{columns}", hints, docs=docs, doc=doc)
    kind.size = (rows, columns)
    return kind


def table(
    rows: Sequence[float],
    columns: Sequence[float],
    values: Sequence[Sequence[float]],
    units: Units = PLAIN,
) -> Any:
    """Return a table record; `values[i][j]` is the value at (`rows[i]`, `columns[j]`)."""
    kind = table_type(len(rows), len(columns), units)
    return kind(*rows, *columns, *(cell for line in values for cell in line))


def checked_table(name: str, numbers: Any, units: Units = PLAIN) -> Any:
    """Return a `table` after checking the user's (rows, columns, values); `name` is for errors."""
    rows, columns, values = numbers
    for what, knots in (("rows", rows), ("columns", columns)):
        if len(knots) < 2 or not all(a < b for a, b in pairwise(knots)):
            raise InvalidValue(
                f"{what} of {name} must be 2 or more numbers that increase, got {list(knots)}"
            )
    if len(values) != len(rows) or any(len(line) != len(columns) for line in values):
        raise InvalidValue(
            f"{name} has {len(rows)} rows and {len(columns)} columns, so it needs as many rows of "
            f"as many values; got rows of {[len(line) for line in values]} values"
        )
    return table(rows, columns, values, units)


class Curve(NamedTuple):
    """Piecewise linear function: a table at a fixed row coordinate."""

    knots: tuple[Any, ...]
    first: Any
    """Value at the first knot."""
    rises: tuple[Any, ...]
    """Difference of the value at each later knot from that at the knot before."""


def at_row(row: Any, table: Any) -> Curve:
    """Interpolate a table at a row coordinate; the result is a function of the column coordinate.

    After that each evaluation is only one sum over the columns.
    """
    rows, columns = type(table).size
    knots = table[rows : rows + columns]
    cells = table[rows + columns :]
    weights = hats(row, table[:rows])
    values = [weighted_sum(weights, cells[j::columns]) for j in range(columns)]
    return Curve(knots, values[0], tuple(b - a for a, b in pairwise(values)))


def at_column(column: Any, curve: Curve) -> Any:
    """Value of a curve at a column coordinate."""
    return curve.first + weighted_sum(ramps(column, curve.knots), curve.rises)


def curve_type(count: int, units: tuple[Any, Any] = (one, one)) -> Any:
    """Return the record class (cached) of curves: `knot_0`, ..., `value_0`, ..."""
    return _curve_type(count, units)


@made_once
def _curve_type(count: int, units: tuple[Any, Any]) -> Any:
    hints = {f"knot_{i}": units[0] for i in range(count)}
    hints |= {f"value_{i}": units[1] for i in range(count)}
    docs = {name: "Coordinate; they increase." for name in list(hints)[:count]}
    docs |= {f"value_{i}": "Value." for i in range(count)}
    kind = record.define(f"Curve{count}", hints, docs=docs, doc=f"A curve of {count} points.")
    kind.size = count
    return kind


def curve(
    knots: Sequence[float], values: Sequence[float], units: tuple[Any, Any] = (one, one)
) -> Any:
    """Return a piecewise linear curve, constant outside; `values[i]` is at `knots[i]`."""
    if len(knots) != len(values) or len(knots) < 2 or any(not a < b for a, b in pairwise(knots)):
        raise InvalidValue(
            f"a curve needs 2 or more increasing knots and as many values, got {list(knots)} and "
            f"{list(values)}"
        )
    return curve_type(len(knots), units)(*knots, *values)


def on_curve(x: Any, curve: Any) -> Any:
    """Value of a curve record at a coordinate."""
    count = type(curve).size
    rises = tuple(b - a for a, b in pairwise(curve[count:]))
    return at_column(x, Curve(curve[:count], curve[count], rises))


def curve_integral(x: Any, curve: Any) -> Any:
    """Exact integral of a curve record from its first knot to a coordinate."""
    count = type(curve).size
    knots, values = curve[:count], curve[count:]
    total: Any = values[0] * (x - knots[0])
    for (a, b), ramp, rise in zip(
        pairwise(knots), ramps(x, knots), (v - u for u, v in pairwise(values)), strict=True
    ):
        total = total + rise * (0.5 * (b - a) * (ramp * ramp) + maximum(x - b, 0.0))
    return total
