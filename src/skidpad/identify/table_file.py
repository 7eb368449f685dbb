"""Tables as users have them: CSV with or without units in the heading, Parquet of any writer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from ..extras import require
from ..files import first_repeated, reading
from ..trajectory.files import csv_rows, parquet_table

EMPTY = frozenset({"", "na", "n/a", "#n/a", "null", "none", "-"})
"""Cells without a value, in small letters, besides those that `float` reads as NaN."""


class Cells(NamedTuple):
    """One column of a table."""

    values: Array | None
    """NaN where a cell is empty. None: not numbers."""
    unit: str = ""
    """Empty: the table does not say."""
    problem: str = ""
    """Why there are no values."""


def read_csv(path: Path, separator: str = ",") -> dict[str, Cells]:
    """The columns of a text table with headings `name` or `name [unit]`; an empty cell is NaN."""
    header, *rows = [row for row in csv_rows(path, separator) if row] or [[]]
    if not header:
        raise InvalidValue(f"{path} is empty: a heading with names of columns is expected")
    for line, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InvalidValue(f"{path}, line {line}: {len(row)} values for {len(header)} columns")
    heads = [_heading(text) for text in header]
    names = [name for name, _ in heads]
    twice = first_repeated(names)
    if twice is not None:
        raise InvalidValue(f"{path}: column {twice!r} appears twice; names must differ")
    texts = zip(*rows, strict=True) if rows else [()] * len(header)
    return {name: _parsed(cells, unit) for (name, unit), cells in zip(heads, texts, strict=True)}


def _heading(text: str) -> tuple[str, str]:
    name, bracket, unit = text.strip().rpartition("[")
    if bracket and unit.endswith("]") and "]" not in unit[:-1]:
        return name.strip(), unit[:-1].strip()
    return text.strip(), ""


def _parsed(cells: tuple[str, ...], unit: str) -> Cells:
    values = np.empty(len(cells))
    for k, cell in enumerate(cells):
        try:
            values[k] = float(cell)
        except ValueError:
            if cell.strip().lower() not in EMPTY:
                return Cells(None, unit, f"line {k + 2} has {cell!r}, which is no number")
            values[k] = np.nan
    return Cells(values, unit)


def read_parquet(path: Path) -> dict[str, Cells]:
    """The columns of a Parquet file, NaN where a value is null; moments in time become s."""
    arrow = require("pyarrow", purpose=f"Reading {path}")
    with reading(path, "is not a readable Parquet file"):
        table = parquet_table(path, f"Reading {path}")
        return {part.name: _of_arrow(part, table.column(part.name), arrow) for part in table.schema}


def _of_arrow(part: Any, column: Any, arrow: Any) -> Cells:
    unit = (part.metadata or {}).get(b"unit", b"").decode()
    kind = part.type
    if arrow.types.is_timestamp(kind) or arrow.types.is_duration(kind):
        ticks = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[kind.unit]
        # Relative to the first: seconds since 1970 leave no room for microseconds.
        counts = column.cast(arrow.int64()).to_numpy()
        return Cells((counts - counts[:1].sum()) * ticks, "s")
    numeric = arrow.types.is_integer(kind) or arrow.types.is_floating(kind)
    if not (numeric or arrow.types.is_boolean(kind)):
        return Cells(None, unit, f"it holds {kind}, not numbers")
    return Cells(column.to_numpy().astype(float), unit)
