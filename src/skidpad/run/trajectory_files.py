"""Trajectories as Parquet, CSV and pandas; reading restores the same bits.

pyarrow and pandas are imported by the functions that need them, as they are slow to load.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from .. import units as unit_aliases
from ..core.arrays import Array
from ..core.files import open_file, path_of, reading, replacing, text_of
from ..errors import InvalidValue, SkidpadError, require
from ..units import Unit
from .trajectory_table import SECOND, Column, Role, Table

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T", bound=Table)

MOST_VALUES = 500_000_000
"""Largest number of values of a table read from a Parquet file, however small the file is."""
FORMAT = 1
"""Version of the metadata layout in Parquet files."""


def to_pandas(trajectory: Table) -> DataFrame:
    """See `Trajectory.to_pandas`."""
    pandas = require("pandas", purpose="Trajectory.to_pandas")
    frame = pandas.DataFrame(
        {column.name: column.values for column in trajectory.columns},
        index=pandas.Index(trajectory.t, name="t"),
    )
    frame.attrs["name"] = trajectory.name
    frame.attrs["units"] = {name: str(unit) for name, unit in trajectory.units.items()}
    return frame


def to_parquet(trajectory: Table, path: str | os.PathLike[str]) -> None:
    """See `Trajectory.to_parquet`."""
    arrow = require("pyarrow", purpose="Trajectory.to_parquet")
    parquet = require("pyarrow.parquet", purpose="Trajectory.to_parquet")
    time = Column("t", SECOND, "state", trajectory.t)
    columns = (time, *trajectory.columns)
    schema = arrow.schema(
        [
            arrow.field(c.name, arrow.float64(), nullable=False, metadata=column_notes(c))
            for c in columns
        ],
        metadata={"skidpad": _notes(trajectory)},
    )
    table = arrow.table([arrow.array(c.values) for c in columns], schema=schema)
    with replacing(path) as temporary:
        parquet.write_table(table, temporary, compression="zstd")


def from_parquet(kind: type[T], path: str | os.PathLike[str]) -> T:
    """See `Trajectory.from_parquet`; columns without our metadata become dimensionless states."""
    with reading(path_of(path), "is not a readable Parquet file"):
        return _of_table(kind, path, parquet_table(path, "Trajectory.from_parquet"))


def parquet_table(path: str | os.PathLike[str], purpose: str) -> Any:
    """The Arrow table of a Parquet file, if its numbers fit into memory."""
    parquet = require("pyarrow.parquet", purpose=purpose)
    with (
        reading(path_of(path), "is not a readable Parquet file"),
        open_file(path) as stream,
        parquet.ParquetFile(stream) as file,
    ):
        about = file.metadata
        groups = (about.row_group(k).num_rows for k in range(about.num_row_groups))
        values = max(about.num_rows, sum(groups)) * about.num_columns
        if values > MOST_VALUES:
            raise InvalidValue(
                f"{Path(path)} says it has {values} values; allowed are {MOST_VALUES}"
            )
        return file.read()


def _of_table(kind: type[T], path: str | os.PathLike[str], table: Any) -> T:
    if "t" not in table.column_names:
        raise InvalidValue(
            f"{Path(path)} has no column 't' (time in s); it has {', '.join(table.column_names)}"
        )
    columns = tuple(
        Column(part.name, *_unit_and_role(part.metadata or {}), _numbers(part.name, table))
        for part in table.schema
        if part.name != "t"
    )
    notes = json.loads((table.schema.metadata or {}).get(b"skidpad", b"{}"))
    error = SkidpadError(notes["error"]) if notes.get("error") else None
    return kind(_numbers("t", table), columns, notes.get("name", ""), notes.get("meta", {}), error)


def to_csv(trajectory: Table, path: str | os.PathLike[str]) -> None:
    """See `Trajectory.to_csv`."""
    columns = (Column("t", SECOND, "state", trajectory.t), *trajectory.columns)
    with replacing(path) as temporary, temporary.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(f"{column.name} [{column.unit}]" for column in columns)
        # repr of a float is the shortest text that reads back as the same bits.
        texts = [map(repr, column.values.tolist()) for column in columns]
        writer.writerows(zip(*texts, strict=True))


def from_csv(kind: type[T], path: str | os.PathLike[str], units: Mapping[str, Unit]) -> T:
    """See `Trajectory.from_csv`."""
    source = path_of(path)
    text = text_of(source, "a text table")
    if text and not text.endswith(("\n", "\r")):
        # What is left of the last number would be read as another one.
        raise InvalidValue(
            f"{source}, line {len(text.splitlines()) or 1}: the last line does not end with a "
            "newline, so the file may be truncated; end the line, or remove it"
        )
    header, *rows = csv_rows(source) or [[]]
    heads = [_heading(source, text, units) for text in header]
    names = [name for name, _ in heads]
    if names[:1] != ["t"]:
        raise InvalidValue(
            f"{source} must have 't [s]' as its first column, got {header[:1] or 'nothing'}"
        )
    table = [_row(source, line, row, names) for line, row in enumerate(rows, start=2)]
    values: Array = np.array(table, dtype=float).reshape(len(table), len(names)).T
    columns = tuple(
        Column(name, unit, "input" if name.startswith("u_") else "state", column)
        for (name, unit), column in zip(heads[1:], values[1:], strict=True)
    )
    return kind(values[0], columns, name=source.stem)


def csv_rows(file: Path, separator: str = ",") -> list[list[str]]:
    """The rows of a CSV file, empty ones included."""
    text = io.StringIO(text_of(file, "a text table"), newline="")
    reader = csv.reader(text, delimiter=separator)
    try:
        return list(reader)
    except csv.Error as error:
        raise InvalidValue(f"{file}, line {reader.line_num}: not CSV: {error}") from error


def column_notes(column: Column) -> dict[str, str]:
    """Metadata of a column in a Parquet file."""
    return {
        "unit": str(column.unit),
        "dimension": json.dumps(column.unit.dimension),
        "role": column.role,
    }


def _unit_and_role(notes: Mapping[bytes, bytes]) -> tuple[Unit, Role]:
    symbol = notes.get(b"unit", b"1").decode()
    exponents = json.loads(notes.get(b"dimension", b"[0.0, 0.0, 0.0]"))
    return Unit(symbol, *exponents), cast("Role", notes.get(b"role", b"state").decode())


def _notes(trajectory: Table) -> str:
    error = trajectory.error
    notes = {
        "format": FORMAT,
        "name": trajectory.name,
        "meta": dict(trajectory.meta),
        "error": f"{type(error).__name__}: {error}" if error is not None else "",
    }
    try:
        return json.dumps(notes)
    except (TypeError, ValueError, OverflowError) as problem:
        raise InvalidValue(f"trajectory meta must hold plain JSON values: {problem}") from problem


def _numbers(name: str, table: Any) -> Array:
    try:
        return np.asarray(table.column(name).to_numpy(), dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"trajectory column {name!r} must hold numbers: {error}") from error


def _heading(source: Path, text: str, units: Mapping[str, Unit]) -> tuple[str, Unit]:
    match = re.fullmatch(r"(?P<name>[^\[\]]+)\[(?P<unit>[^\[\]]*)\]", text.strip())
    if match is None or not match["name"].strip():
        raise InvalidValue(f"{source}: column heading {text!r} must be of the form 'name [unit]'")
    name, symbol = match["name"].strip(), match["unit"].strip()
    if name in units:
        return name, units[name]
    known = known_units()
    if symbol not in known:
        raise InvalidValue(
            f"{source}: column {name!r} has the unknown unit {symbol!r}; known are "
            f"{', '.join(known)}; others are given by from_csv(path, units={{{name!r}: Unit(...)}})"
        )
    return name, known[symbol]


@cache
def known_units() -> dict[str, Unit]:
    """The units of `skidpad.units` by their symbols."""
    marks = (getattr(alias, "__metadata__", ()) for alias in vars(unit_aliases).values())
    return {unit.symbol: unit for mark in marks for unit in mark if isinstance(unit, Unit)}


def _row(source: Path, line: int, row: list[str], names: list[str]) -> list[float]:
    if len(row) != len(names):
        raise InvalidValue(f"{source}, line {line}: {len(row)} values for {len(names)} columns")
    numbers: list[float] = []
    for name, text in zip(names, row, strict=True):
        try:
            numbers.append(float(text))
        except ValueError as error:
            raise InvalidValue(f"{source}, line {line}: {name} = {text!r} is no number") from error
    return numbers
