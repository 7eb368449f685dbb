"""Maps from two coordinates to a number, and the CSV files in which Autoware keeps them.

The first line of a file holds a label and the column coordinates; every other line a row coordinate
and its values. Rows are what is commanded (acceleration, pedal, steering); columns are velocities
(m/s), in a steering map steering angles (rad).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ...errors import InvalidValue
from ...files import path_of, text_of
from ...ops import lookup2
from ...record import unknown_name

__all__ = ["Table", "read_table"]

Place = Callable[[int], str]
"""How to name a line of a table in an error; line 0 holds the column coordinates."""


class NoTableInFile(InvalidValue):
    """A file that cannot be read or holds no rectangle of cells; its cells were not looked at."""


@dataclass(frozen=True)
class Table:
    """Values over a grid: at least 2 rows and 2 columns, rising coordinates, all finite."""

    rows: tuple[float, ...]
    """Row coordinates, rising."""
    columns: tuple[float, ...]
    """Column coordinates, rising."""
    values: tuple[tuple[float, ...], ...]
    """One tuple per row, each with one value per column."""

    def __post_init__(self) -> None:
        if len(self.values) != len(self.rows):
            raise InvalidValue(
                f"table has {len(self.rows)} row coordinates and {len(self.values)} rows of values"
            )
        grid = [
            (0.0, *self.columns),
            *((row, *line) for row, line in zip(self.rows, self.values, strict=True)),
        ]
        _check(grid, _line_of_table)

    @classmethod
    def of(cls, source: Any) -> Table:
        """A table from whatever describes one.

        That is a table, the path of a CSV file, a mapping with `rows`, `columns` and `values`, or
        lines as in a CSV file: `[[label, c0, c1], [r0, v00, v01], [r1, v10, v11]]`.
        """
        if isinstance(source, cls):
            return source
        if isinstance(source, (str, os.PathLike)):
            return read_table(source)
        if isinstance(source, Mapping):
            return _from_mapping(source)
        try:
            lines = [list(line) for line in source]
        except TypeError:
            raise InvalidValue(
                f"a table cannot be made of {source!r}; allowed are a Table, a path, a mapping "
                "with rows, columns and values, or lines of numbers"
            ) from None
        return _from_lines(lines, _line_of_table)

    def value(self, row: float, column: float) -> float:
        """The value at these coordinates: bilinear, with edge values outside the grid."""
        return float(lookup2(row, column, self.rows, self.columns, self.values))


def read_table(path: str | os.PathLike[str]) -> Table:
    """The table in a CSV file of Autoware. Spaces, blank lines and CRLF are allowed.

    Raises `NoTableInFile` where upstream's reader finds no table, and `InvalidValue` for what it
    reads and cannot use.
    """
    file = path_of(path)
    try:
        text = text_of(file)
    except InvalidValue as error:
        raise NoTableInFile(str(error)) from error
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    cells = [_cells(line) for _, line in lines]

    def place(line: int) -> str:
        return f"{file}, line {lines[line][0]}" if line < len(lines) else f"{file}"

    _check_rectangle(cells, place)
    return _from_lines(cells, place)


def _check_rectangle(cells: Sequence[Sequence[str]], place: Place) -> None:
    if not cells:
        raise NoTableInFile(f"{place(0)}: 0 rows; the file is empty")
    width = len(cells[0])
    if width < 2:
        raise NoTableInFile(f"{place(0)}: no column coordinates; a table has at least 2")
    for number, line in enumerate(cells):
        if len(line) != width:
            raise NoTableInFile(_ragged(place(number), len(line), width))


def _ragged(place: str, cells: int, width: int) -> str:
    return f"{place}: {cells} cells, but the first line has {width}"


def _cells(line: str) -> list[str]:
    cells = [cell.strip() for cell in line.split(",")]
    # Upstream reads up to each comma, so that one at the end of a line starts no further cell.
    return cells[:-1] if cells[-1] == "" else cells


def _from_mapping(mapping: Mapping[str, Any]) -> Table:
    parts = ("rows", "columns", "values")
    for name in mapping:
        if name not in parts:
            raise InvalidValue(unknown_name("a table", name, parts, "part"))
    missing = [name for name in parts if name not in mapping]
    if missing:
        raise InvalidValue(f"a table needs {', '.join(missing)} too; got {', '.join(mapping)}")
    rows, values = list(mapping["rows"]), list(mapping["values"])
    if len(rows) != len(values):
        raise InvalidValue(
            f"table has {len(rows)} row coordinates and {len(values)} rows of values"
        )
    lines = [[row, *line] for row, line in zip(rows, values, strict=True)]
    return _from_lines([["", *mapping["columns"]], *lines], _line_of_table)


def _from_lines(lines: Sequence[Sequence[Any]], place: Place) -> Table:
    """The table in these lines of cells; the first cell is a label and can be anything."""
    grid: list[tuple[float, ...]] = []
    for number, line in enumerate(lines):
        numbers = [_number(cell, place(number), k) for k, cell in enumerate(line[1:], start=2)]
        first = 0.0 if number == 0 or not line else _number(line[0], place(number), 1)
        grid.append((first, *numbers))
    _check(grid, place)
    (_, *columns), *body = grid
    return Table(tuple(line[0] for line in body), tuple(columns), tuple(line[1:] for line in body))


def _number(cell: Any, place: str, position: int) -> float:
    try:
        if isinstance(cell, bool) or (isinstance(cell, str) and "_" in cell):
            raise TypeError("not a number as such files have them")
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{place}, cell {position}: {cell!r} is no number") from None


def _check(grid: Sequence[Sequence[float]], place: Place) -> None:
    """Raise unless the lines, the first with the column coordinates, make a table."""
    if len(grid) < 3:
        raise InvalidValue(
            f"{place(len(grid))}: {max(len(grid) - 1, 0)} rows below the line of column "
            "coordinates; a table has at least 2"
        )
    width = len(grid[0])
    if width < 3:
        raise InvalidValue(f"{place(0)}: {width - 1} column coordinates; a table has at least 2")
    for number, line in enumerate(grid):
        if len(line) != width:
            raise InvalidValue(_ragged(place(number), len(line), width))
        for k, value in enumerate(line, start=1):
            if not math.isfinite(value):
                raise InvalidValue(f"{place(number)}, cell {k}: {value} must be finite")
    for k, (before, after) in enumerate(pairwise(grid[0][1:]), start=3):
        if not before < after:
            raise InvalidValue(
                f"{place(0)}, cell {k}: column coordinate {after:g} must be above {before:g}"
            )
    for number, (before, after) in enumerate(pairwise(grid[1:]), start=2):
        if not before[0] < after[0]:
            raise InvalidValue(
                f"{place(number)}, cell 1: row coordinate {after[0]:g} must be above {before[0]:g}"
            )


def _line_of_table(line: int) -> str:
    return "table, column coordinates" if line == 0 else f"table, row {line}"
