"""Tables read backwards: the row coordinate at which a column of a table has a given value."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike

from ...errors import InvalidValue
from ...vehicles.autoware.map_file import Table

MapSource = Table | str | PathLike[str]
"""A table, or the path of the CSV file that holds it."""
Row = tuple[float, ...]


@dataclass(frozen=True)
class InverseTable:
    """A table whose columns all rise or all fall, prepared to be searched by value.

    It is linear between columns and between rows. A column coordinate outside the table counts as
    the nearest one inside.
    """

    columns: Row
    """Column coordinates, rising."""
    rows: Row
    """Row coordinates, in the order in which the values rise."""
    values: tuple[Row, ...]
    """One line per row coordinate."""
    below: float
    """Answer for a value below those of the table: where not said otherwise, the edge row."""
    above: float
    """Answer for a value above those of the table."""

    def row_of(self, value: float, column: float) -> float:
        """The row coordinate that gives `value` at a column coordinate."""
        at = self._interpolation(column)
        # Only the lines that the search visits are interpolated.
        upper = bisect_left(self.values, value, key=at)
        if upper == len(self.values):
            return self.above
        high = at(self.values[upper])
        if value == high:
            return self.rows[upper]
        if upper == 0:
            return self.below
        low = at(self.values[upper - 1])
        start, end = self.rows[upper - 1], self.rows[upper]
        return start + (end - start) * ((value - low) / (high - low))

    def lowest(self, column: float) -> float:
        """The lowest value at a column coordinate."""
        return self._interpolation(column)(self.values[0])

    def _interpolation(self, column: float) -> Callable[[Row], float]:
        """From a line of the table to its value at a column coordinate."""
        right = min(max(bisect_left(self.columns, column), 1), len(self.columns) - 1)
        left = right - 1
        start, end = self.columns[left], self.columns[right]
        share = min(max((column - start) / (end - start), 0.0), 1.0)
        return lambda line: line[left] + (line[right] - line[left]) * share


def rising(source: MapSource, name: str) -> InverseTable:
    """The inverse of a table whose columns rise with the row coordinate, as of a throttle.

    `name` is what an error calls it.
    """
    table = Table.of(source)
    _check_direction(name, table, "rise")
    return InverseTable(table.columns, table.rows, table.values, table.rows[0], table.rows[-1])


def falling(source: MapSource, name: str) -> InverseTable:
    """The inverse of a table whose columns fall with the row coordinate, as of a brake."""
    table = Table.of(source)
    _check_direction(name, table, "fall")
    rows, values = table.rows[::-1], table.values[::-1]
    return InverseTable(table.columns, rows, values, table.rows[-1], table.rows[0])


def _check_direction(name: str, table: Table, direction: str) -> None:
    sign = 1.0 if direction == "rise" else -1.0
    for k, column in enumerate(table.columns):
        values = [line[k] for line in table.values]
        for (first, before), (second, after) in pairwise(zip(table.rows, values, strict=True)):
            if not sign * (after - before) > 0.0:
                raise InvalidValue(
                    f"{name} cannot be inverted: column {column:g} must {direction} with every "
                    f"row, but has {before:g} at row {first:g} and {after:g} at row {second:g}"
                )
