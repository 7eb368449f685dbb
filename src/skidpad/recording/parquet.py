"""Recordings as Parquet, for analysis.

One table for all bodies suits a fleet: `frame.groupby("body")` takes it apart. Bodies of different
models share the columns that they have in common; the others are empty where they do not apply.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidValue
from ..extras import require
from ..files import replacing
from ..stage import Scan
from ..stage.film import ScanAt
from ..trajectory.columns import Column
from ..trajectory.files import FORMAT, column_notes, to_parquet
from ..trajectory.trajectory import SECOND, Trajectory
from .sensors import SensorLog

if TYPE_CHECKING:
    from ..world.contact.touches import ContactEvent

_PURPOSE = "A recording as Parquet"


def write_folder(path: Path, runs: Mapping[str, Trajectory]) -> None:
    """A file per body."""
    require("pyarrow", purpose=_PURPOSE)  # before there is a folder
    path.mkdir(parents=True, exist_ok=True)
    for name, run in zip(_file_names(runs), runs.values(), strict=True):
        to_parquet(run, path / f"{name}.parquet")


def write_sensors(
    folder: Path,
    lidars: Sequence[Scan],
    scans: Sequence[ScanAt],
    sensors: Sequence[SensorLog],
    contacts: Sequence[ContactEvent],
) -> None:
    """A file per sensor in a folder per body, and one of the contacts."""
    by_lidar: list[list[ScanAt]] = [[] for _ in lidars]
    for scan in scans:
        by_lidar[scan.index].append(scan)
    owned = [
        *((lidar.body, lidar.name, partial(_scan_table, lidar, by_lidar[k]))
          for k, lidar in enumerate(lidars)),
        *((log.mount.body, log.mount.name, partial(_sensor_table, log)) for log in sensors),
    ]  # fmt: skip
    bodies = dict.fromkeys(body for body, _, _ in owned)
    for name, body in zip(_file_names(bodies), bodies, strict=True):
        own = [(sensor, table) for owner, sensor, table in owned if owner == body]
        (folder / name).mkdir(parents=True, exist_ok=True)
        for file, (_, table) in zip(_file_names([s for s, _ in own]), own, strict=True):
            _write(folder / name / f"{file}.parquet", table())
    if contacts:
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / "contacts.parquet", _contact_table(contacts))


def _file_names(names: Iterable[str]) -> list[str]:
    """File names for names, all different."""
    chosen: list[str] = []
    taken = set[str]()
    for name in names:
        plain = "".join(c if c.isalnum() or c in "-_. " else "_" for c in name)
        candidate, count = plain, 2
        # Some file systems do not distinguish upper and lower case.
        while candidate.casefold() in taken:
            candidate, count = f"{plain}_{count}", count + 1
        taken.add(candidate.casefold())
        chosen.append(candidate)
    return chosen


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


def _scan_table(lidar: Scan, scans: Sequence[ScanAt]) -> Any:
    """Scans of a lidar; the metadata of the ranges has the angles of the rays."""
    arrow = require("pyarrow", purpose=_PURPOSE)
    angles = (lidar.first_angle + lidar.step * np.arange(lidar.count)).tolist()
    notes = {
        "unit": "m",
        "angles": json.dumps(angles),
        "angle_unit": "rad",
        "max_range": json.dumps(lidar.max_range),
    }
    kind = arrow.list_(arrow.float32(), lidar.count)
    schema = arrow.schema(
        [_time_field(), arrow.field("ranges", kind, metadata=notes)],
        metadata=_sensor_notes(
            "lidar", lidar.body, lidar.name, x=lidar.x, y=lidar.y, yaw=lidar.yaw
        ),
    )
    ranges = np.array([scan.ranges for scan in scans], np.float32).ravel()
    times = [scan.time for scan in scans]
    columns = [arrow.array(times, arrow.float64()), arrow.FixedSizeListArray.from_arrays(
        arrow.array(ranges), lidar.count)]  # fmt: skip
    return arrow.table(columns, schema=schema)


def _sensor_table(log: SensorLog) -> Any:
    """Readings of another sensor."""
    arrow = require("pyarrow", purpose=_PURPOSE)
    about = log.mount._asdict()
    first = (about.pop("kind"), about.pop("body"), about.pop("name"))
    switch = log.mount.kind == "bumper"
    kind = arrow.bool_() if switch else arrow.float64()
    values = log.values != 0.0 if switch else log.values
    schema = arrow.schema(
        [_time_field(), *(arrow.field(n, kind, metadata={"unit": u}) for n, u in log.columns)],
        metadata=_sensor_notes(*first, **about),
    )
    return arrow.table([arrow.array(log.times), *map(arrow.array, values.T)], schema=schema)


def _contact_table(contacts: Sequence[ContactEvent]) -> Any:
    """Beginnings and ends of contacts."""
    arrow = require("pyarrow", purpose=_PURPOSE)
    columns = list(zip(*contacts, strict=True))
    places = {name: k for k, name in enumerate(contacts[0]._fields)}
    text = arrow.string()
    fields = [
        (_time_field(), "time"),
        *((arrow.field(name, text), name) for name in ("kind", "a", "b")),
        *(
            (arrow.field(name, arrow.float64(), metadata={"unit": unit}), name)
            for name, unit in _CONTACT_UNITS.items()
        ),
    ]
    schema = arrow.schema([field for field, _ in fields])
    return arrow.table(
        [arrow.array(columns[places[name]], field.type) for field, name in fields], schema=schema
    )


_CONTACT_UNITS = {
    "x": "m",
    "y": "m",
    "normal_x": "1",
    "normal_y": "1",
    "normal_impulse": "N·s",
    "tangential_impulse": "N·s",
    "since": "s",
}


def _time_field() -> Any:
    arrow = require("pyarrow", purpose=_PURPOSE)
    return arrow.field("t", arrow.float64(), metadata={"unit": "s"})


def _sensor_notes(kind: str, body: str, name: str, **place: Any) -> dict[str, str]:
    """What the metadata of a sensor's file says: what it is, and where it sits in m and rad."""
    return {"sensor": json.dumps({"kind": kind, "body": body, "name": name, **place})}


def _write(path: Path, table: Any) -> None:
    parquet = require("pyarrow.parquet", purpose=_PURPOSE)
    with replacing(path) as temporary:
        parquet.write_table(table, temporary, compression="zstd")


def _notes(title: str, meta: Mapping[str, Any]) -> str:
    return json.dumps({"format": FORMAT, "name": title, "meta": dict(meta), "error": ""})
