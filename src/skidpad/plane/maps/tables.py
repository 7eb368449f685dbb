"""CSV files with a header: columns by name, errors by file, line and cell."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import NamedTuple

from ...errors import InvalidValue
from ...files import text_of


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


def read_table(file: Path) -> Table:
    """The table in a file."""
    # `strict` makes the reader refuse what it would otherwise guess at, such as an open quote.
    reader = csv.reader(text_of(file).splitlines(), skipinitialspace=True, strict=True)
    try:
        rows = [(reader.line_num, tuple(row)) for row in reader if any(c.strip() for c in row)]
    except csv.Error as error:
        raise InvalidValue(f"{file}, line {reader.line_num}: not CSV: {error}") from error
    if not rows:
        raise InvalidValue(f"{file} is empty: the first line must name the columns")
    (_, names), *body = rows
    header = tuple(name.strip().lower() for name in names)
    for line, row in body:
        if len(row) != len(header):
            raise InvalidValue(
                f"{file}, line {line}: {len(row)} cells, but the header has {len(header)}"
            )
    return Table(file, header, tuple(row for _, row in body), tuple(line for line, _ in body))
