"""Recordings as Parquet, for analysis.

One table for all bodies suits a fleet: `frame.groupby("body")` takes it apart. Bodies of different
models share the columns that they have in common; the others are empty where they do not apply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidValue
from ..extras import require
from ..files import replacing
from ..stage import Scan
from ..stage.film import ScanAt
from ..trajectory.columns import Column
from ..trajectory.files import FORMAT, column_notes, to_parquet
from ..trajectory.trajectory import SECOND, Trajectory

_PURPOSE = "A recording as Parquet"


def write_folder(
    path: Path, runs: Mapping[str, Trajectory], scans: Sequence[ScanAt], lidars: Sequence[Scan]
) -> None:
    """A file per body, and one of the scans if there are any."""
    require("pyarrow", purpose=_PURPOSE)  # before there is a folder
    path.mkdir(parents=True, exist_ok=True)
    for body, run in runs.items():
        name = "".join(c if c.isalnum() or c in "-_. " else "_" for c in body)
        to_parquet(run, path / f"{name}.parquet")
    if scans:
        _write_scans(path / "scans.parquet", scans, lidars)


def write_table(path: Path, title: str, runs: Mapping[str, Trajectory]) -> None:
    """One table with a row per body and time; the runs have the same times and notes."""
    arrow = require("pyarrow", purpose=_PURPOSE)
    parquet = require("pyarrow.parquet", purpose=_PURPOSE)
    first = next(iter(runs.values()))
    columns = _shared_columns(runs)
    schema = arrow.schema(
        [
            _field(Column("t", SECOND, "state", first.t)),
            arrow.field("body", arrow.dictionary(arrow.int32(), arrow.string())),
            *map(_field, columns.values()),
        ],
        metadata={"skidpad": _notes(title, first.meta)},
    )
    count = first.t.size
    empty = arrow.nulls(count, arrow.float64())
    with (
        replacing(path) as temporary,
        parquet.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        for body, run in runs.items():
            which = arrow.DictionaryArray.from_arrays(np.zeros(count, np.int32), [body])
            own = {column.name: arrow.array(column.values) for column in run.columns}
            values = [own.get(name, empty) for name in columns]
            table: Any = arrow.table([arrow.array(run.t), which, *values], schema=schema)
            writer.write_table(table)


def _shared_columns(runs: Mapping[str, Trajectory]) -> dict[str, Column]:
    """The columns of all bodies by name; raises where their units differ."""
    columns: dict[str, Column] = {}
    for body, run in runs.items():
        for column in run.columns:
            known = columns.setdefault(column.name, column)
            if known.unit != column.unit:
                raise InvalidValue(
                    f"{body}.{column.name} is in {column.unit}, that of another body in "
                    f"{known.unit}: they cannot share a table; write to a folder instead"
                )
    return columns


def _field(column: Column) -> Any:
    arrow = require("pyarrow", purpose=_PURPOSE)
    return arrow.field(column.name, arrow.float64(), metadata=column_notes(column))


def _write_scans(path: Path, scans: Sequence[ScanAt], lidars: Sequence[Scan]) -> None:
    arrow = require("pyarrow", purpose=_PURPOSE)
    parquet = require("pyarrow.parquet", purpose=_PURPOSE)
    table = arrow.table(
        {
            "t": arrow.array([scan.time for scan in scans]),
            "body": arrow.array([lidars[scan.index].body for scan in scans]),
            "lidar": arrow.array([lidars[scan.index].name for scan in scans]),
            "ranges": arrow.array([scan.ranges for scan in scans], arrow.list_(arrow.float32())),
        }
    )
    with replacing(path) as temporary:
        parquet.write_table(table, temporary, compression="zstd")


def _notes(title: str, meta: Mapping[str, Any]) -> str:
    return json.dumps({"format": FORMAT, "name": title, "meta": dict(meta), "error": ""})
