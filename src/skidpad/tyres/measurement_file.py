"""Files of tyre measurements; what a file is, its content says, not its name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidValue
from ..files import bytes_of, path_of
from ..identify.table_file import Cells, read_csv, read_parquet
from ..trajectory.files import csv_rows, parquet_table
from .measurement_names import LABEL, RESPONSES, UNITS
from .measurement_rows import usable
from .measurement_table import Measurements
from .measurement_units import factor
from .ttc import is_ttc_text, read_ttc_mat, read_ttc_text
from .tydex import is_tydex, read_tydex

_LOOK = 4096
"""Bytes at the beginning of a file that say what it is."""


def measurements(path: str | os.PathLike[str]) -> Measurements:
    """The measurements in a file, in SI and with ISO signs, whatever the file has.

    Files are told apart by what they hold: our own CSV and Parquet (headings `F_z [N]`,
    `alpha [deg]`, ...; without a unit SI; cells separated by commas, semicolons or tabs, empty for
    what was not measured), those of the Tire Test Consortium (text `.dat` and `.mat` of version 5)
    and TYDEX 1.3. Errors name the file, the line and the column.
    """
    file = path_of(path)
    start = bytes_of(file)[:_LOOK]
    if start[:4] == b"PAR1":
        return _of_table(file, read_parquet(file), _parquet_labels(file))
    if start[124:128] in (b"\x00\x01IM", b"\x01\x00MI"):
        return read_ttc_mat(file)
    if start[:19] == b"MATLAB 7.3 MAT-file" or start[:8] == b"\x89HDF\r\n\x1a\n":
        raise InvalidValue(
            f"{file} is a MAT-file of version 7.3; write it as version 5 (save with '-v7')"
        )
    text = start.decode("latin-1")
    if is_tydex(text):
        return read_tydex(file)
    if is_ttc_text(text):
        return read_ttc_text(file)
    separator = _separator(text)
    cells = read_csv(file, separator)
    cells.pop("", None)  # numbers of rows, as pandas writes them
    return _of_table(file, cells, _csv_labels(file, separator))


def _separator(text: str) -> str:
    """What separates the names of the first line: comma, semicolon or tab."""
    heading = next((line for line in text.splitlines() if line.strip()), "")
    return max(",;\t", key=heading.count)


def _of_table(file: Path, cells: Mapping[str, Cells], labels: Any) -> Measurements:
    """A table with our own names of columns."""
    unknown = [name for name in cells if name not in UNITS and name != LABEL]
    if "F_z" not in cells or not any(name in cells for name in RESPONSES):
        single = "; cells are separated by commas, semicolons or tabs" * (len(cells) == 1)
        raise InvalidValue(
            f"{file} has no column F_z with loads and one of {', '.join(RESPONSES)}; it has "
            f"{', '.join(cells)}{single}. Columns of measurements are {', '.join(UNITS)} and "
            f"{LABEL}"
        )
    columns: dict[str, Any] = {}
    for name, cell in cells.items():
        if name not in UNITS:
            continue
        if cell.values is None:
            raise InvalidValue(f"{file}, column {name}: {cell.problem}")
        with np.errstate(over="ignore"):
            columns[name] = cell.values * factor(cell.unit, UNITS[name], f"{file}, column {name}")
    notes = (f"columns that are not known were left out: {', '.join(unknown)}",) if unknown else ()
    return usable(file, columns, labels, notes)


def _csv_labels(file: Path, separator: str) -> Any:
    header, *rows = [row for row in csv_rows(file, separator) if row]
    names = [text.strip() for text in header]
    if LABEL not in names:
        return file.stem
    place = names.index(LABEL)
    return np.array([row[place] for row in rows], dtype=str)


def _parquet_labels(file: Path) -> Any:
    table = parquet_table(file, f"Reading {file}")
    if LABEL not in table.column_names:
        return file.stem
    return np.array([str(text) for text in table.column(LABEL).to_pylist()], dtype=str)
