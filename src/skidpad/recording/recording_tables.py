"""Recordings as Parquet, for analysis.

One table for all bodies suits a fleet: `frame.groupby("body")` takes it apart. Bodies of different
models share the columns that they have in common; the others are empty where they do not apply.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidValue
from ..files import replacing
from ..trajectory.columns import Column
from ..trajectory.files import FORMAT, column_notes, to_parquet
from ..trajectory.trajectory import SECOND

if TYPE_CHECKING:
    from .recording import Recording


def write(recording: Recording, path: Path) -> None:
    """See `Recording.to_parquet`."""
    if not recording.times.size:
        raise InvalidValue(f"{recording.path} has no samples to write to {path}")
    if path.suffix == ".parquet":
        _one_table(recording, path)
        return
    path.mkdir(parents=True, exist_ok=True)
    for body in _bodies(recording):
        to_parquet(recording.trajectory(body), path / f"{_file_name(body)}.parquet")
    if recording.scans:
        _scans(recording, path / "scans.parquet")


def _bodies(recording: Recording) -> list[str]:
    return list(dict.fromkeys(channel.body for channel in recording.stage.channels))


def _file_name(body: str) -> str:
    return "".join(c if c.isalnum() or c in "-_. " else "_" for c in body)


def _one_table(recording: Recording, path: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    runs = {body: recording.trajectory(body) for body in _bodies(recording)}
    columns: dict[str, Column] = {"t": Column("t", SECOND, "state", recording.times)}
    for body, run in runs.items():
        for column in run.columns:
            known = columns.setdefault(column.name, column)
            if known.unit != column.unit:
                raise InvalidValue(
                    f"{body}.{column.name} is in {column.unit}, that of another body in "
                    f"{known.unit}: they cannot share a table; write to a folder instead"
                )
    names = arrow.dictionary(arrow.int32(), arrow.string())
    fields = [arrow.field("t", arrow.float64(), metadata=column_notes(columns["t"]))]
    fields.append(arrow.field("body", names))
    others = [column for name, column in columns.items() if name != "t"]
    fields += [arrow.field(c.name, arrow.float64(), metadata=column_notes(c)) for c in others]
    schema = arrow.schema(fields, metadata={"skidpad": _notes(recording)})
    count = recording.times.size
    with (
        replacing(path) as temporary,
        parquet.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        for body, run in runs.items():
            which = arrow.DictionaryArray.from_arrays(np.zeros(count, np.int32), [body])
            have = {column.name: column.values for column in run.columns}
            empty = arrow.nulls(count, arrow.float64())
            values = [arrow.array(have[c.name]) if c.name in have else empty for c in others]
            table: Any = arrow.table([arrow.array(recording.times), which, *values], schema=schema)
            writer.write_table(table)


def _scans(recording: Recording, path: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    lidars = recording.stage.scans
    table = arrow.table(
        {
            "t": arrow.array([scan.time for scan in recording.scans]),
            "body": arrow.array([lidars[scan.index].body for scan in recording.scans]),
            "lidar": arrow.array([lidars[scan.index].name for scan in recording.scans]),
            "ranges": arrow.array(
                [scan.ranges for scan in recording.scans], arrow.list_(arrow.float32())
            ),
        }
    )
    with replacing(path) as temporary:
        parquet.write_table(table, temporary, compression="zstd")


def _notes(recording: Recording) -> str:
    meta = dict(recording.meta)
    return json.dumps({"format": FORMAT, "name": recording.stage.title, "meta": meta, "error": ""})
