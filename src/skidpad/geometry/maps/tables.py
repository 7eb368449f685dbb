"""CSV files: columns by name, errors by file, line and cell.

The names stand in the first line, or in a comment (#) above the numbers. Numbers without names are
points x, y, or with four columns those of TUM's race tracks. Cells are parted by commas, or by
semicolons or tabs where the first line of numbers or names has some.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import NamedTuple

from ...core.files import text_of
from ...errors import InvalidValue


class Table(NamedTuple):
    """The rows of a CSV file; blank lines are left out."""

    file: Path
    header: tuple[str, ...]
    """Names of the columns in lower case."""
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    """Number of the line of each row, from 1."""

    def texts(self, name: str) -> list[str]:
        """The cells of a column."""
        column = self.header.index(name)
        return [row[column].strip() for row in self.rows]

    def numbers(self, name: str) -> list[float]:
        """The numbers of a column; raises for any other cell."""
        return [
            self._number(name, text, line)
            for text, line in zip(self.texts(name), self.lines, strict=True)
        ]

    def _number(self, name: str, text: str, line: int) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or "_" in text:
            raise InvalidValue(
                f"{self.file}, line {line}: {name} = {text!r} must be a finite number"
            )
        return number


UNNAMED = {2: ("x", "y"), 4: ("x_m", "y_m", "w_tr_right_m", "w_tr_left_m")}
"""Names of columns of files without names, by how many there are."""


def read_table(file: Path) -> Table:
    """The table in a file."""
    # `strict` makes the reader refuse what it would otherwise guess at, such as an open quote.
    lines = text_of(file).splitlines()
    reader = csv.reader(lines, delimiter=_delimiter(lines), skipinitialspace=True, strict=True)
    try:
        rows = [(reader.line_num, tuple(row)) for row in reader if any(c.strip() for c in row)]
    except csv.Error as error:
        raise InvalidValue(f"{file}, line {reader.line_num}: not CSV: {error}") from error
    comments = [row for row in rows if row[1][0].startswith("#")]
    rows = [row for row in rows if not row[1][0].startswith("#")]
    if not rows:
        raise InvalidValue(f"{file} is empty: the first line must name the columns")
    names, body = _named(rows, comments)
    header = tuple(name.strip().lower() for name in names)
    for line, row in body:
        if len(row) != len(header):
            raise InvalidValue(
                f"{file}, line {line}: {len(row)} cells, but the header has {len(header)}"
            )
    return Table(file, header, tuple(row for _, row in body), tuple(line for line, _ in body))


def _delimiter(lines: list[str]) -> str:
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    return next((mark for mark in ";\t" if mark in first), ",")


_Row = tuple[int, tuple[str, ...]]
"""Number of a line and its cells."""


def _named(rows: list[_Row], comments: list[_Row]) -> tuple[tuple[str, ...], list[_Row]]:
    """Names of the columns and the rows below them."""
    line, first = rows[0]
    if not all(_is_number(cell) for cell in first):
        return first, rows[1:]
    above = [cells for number, cells in comments if number < line and len(cells) == len(first)]
    if above:
        return (above[-1][0].lstrip("#"), *above[-1][1:]), rows
    return UNNAMED.get(len(first), first), rows


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
