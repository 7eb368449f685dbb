"""Reading of recordings, bit-exact: stage, rows of channel values, sensor readings, notes.

A `Recording` can also be exported as Parquet for analysis. One table for all bodies suits a fleet:
`frame.groupby("body")` splits it. Bodies of different models share the columns that they have
in common; the others are empty where they do not apply.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.arrays import Array, Mask
from ...core.checks import finite, number, positive
from ...core.files import counted, path_of, replacing
from ...core.record import unknown_name
from ...errors import InvalidValue, require
from ...run.trajectory import Trajectory
from ...run.trajectory_table import (
    FORMAT,
    ROLES,
    SECOND,
    Column,
    Role,
    column_notes,
    known_units,
    to_parquet,
)
from ...units import Unit
from ..film import Film, ScanAt
from ..stage import Channel, Scan, Stage
from . import messages, topics
from .mcap import ChunkPlace, Contents, Damaged, MessagePlaces, open_mcap
from .messages import MESSAGE_HEAD, Bytes, MessageDecoder

if TYPE_CHECKING:
    from ...world.contact.solids import ContactEvent

_PURPOSE = "A recording as Parquet"


def write_sensors(
    folder: Path,
    lidars: Sequence[Scan],
    scans: Sequence[ScanAt],
    sensors: Sequence[topics.SensorLog],
    contacts: Sequence[ContactEvent],
) -> None:
    """Write a Parquet file per sensor in a folder per body, and one of the contacts."""
    arrow = require("pyarrow", purpose=_PURPOSE)
    by_lidar: list[list[ScanAt]] = [[] for _ in lidars]
    for scan in scans:
        by_lidar[scan.index].append(scan)
    owned = [(lidar.body, lidar.name, lidar, by_lidar[k]) for k, lidar in enumerate(lidars)]
    owned += [(log.mount.body, log.mount.name, log, []) for log in sensors]
    bodies = dict.fromkeys(body for body, *_ in owned)
    for name, body in zip(_file_names(bodies), bodies, strict=True):
        own = [it for it in owned if it[0] == body]
        (folder / name).mkdir(parents=True, exist_ok=True)
        for file, (_, sensor, one, its) in zip(
            _file_names([s for _, s, *_ in own]), own, strict=True
        ):
            # Kind, name, and mounting pose in m and rad.
            about: dict[str, Any] = {"kind": "lidar", "body": body, "name": sensor}
            if isinstance(one, topics.SensorLog):
                about |= {"kind": one.mount.kind, **one.mount._asdict()}
                values = one.values != 0.0 if one.mount.kind == "bumper" else one.values
                columns: Columns = {"t": (arrow.array(one.times), {"unit": "s"})}
                for (column, unit), numbers in zip(one.columns, values.T, strict=True):
                    columns[column] = (arrow.array(numbers), {"unit": unit})
            else:
                about |= {"x": one.x, "y": one.y, "yaw": one.yaw}
                # The angles of the rays are in the metadata of the ranges.
                angles = (one.first_angle + one.step * np.arange(one.count)).tolist()
                notes = {"unit": "m", "angles": json.dumps(angles), "angle_unit": "rad"}
                notes["max_range"] = json.dumps(one.max_range)
                flat = arrow.array(np.array([scan.ranges for scan in its], np.float32).ravel())
                ranges = arrow.FixedSizeListArray.from_arrays(flat, one.count)
                times = arrow.array([scan.time for scan in its], arrow.float64())
                columns = {"t": (times, {"unit": "s"}), "ranges": (ranges, notes)}
            _write(folder / name / f"{file}.parquet", columns, {"sensor": json.dumps(about)})
    if contacts:
        folder.mkdir(parents=True, exist_ok=True)
        values = dict(zip(contacts[0]._fields, zip(*contacts, strict=True), strict=True))
        texts = {
            name: (arrow.array(values[name], arrow.string()), None) for name in ("kind", "a", "b")
        }
        numbers = {
            name: (
                arrow.array(values["time" if name == "t" else name], arrow.float64()),
                {"unit": unit},
            )
            for name, unit in _CONTACT_UNITS.items()
        }
        _write(folder / "contacts.parquet", {"t": numbers.pop("t"), **texts, **numbers})


def _file_names(names: Iterable[str]) -> list[str]:
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
    """Write one table with a row per body and time; the runs have the same times and notes."""
    arrow = require("pyarrow", purpose=_PURPOSE)
    parquet = require("pyarrow.parquet", purpose=_PURPOSE)
    first = next(iter(runs.values()))
    columns: dict[str, Column] = {}
    for body, run in runs.items():
        for column in run.columns:
            known = columns.setdefault(column.name, column)
            if known.unit != column.unit:
                raise InvalidValue(
                    f"{body}.{column.name} is in {column.unit}, that of another body in "
                    f"{known.unit}: they cannot share a table; write to a folder instead"
                )
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


def _field(column: Column) -> Any:
    arrow = require("pyarrow", purpose=_PURPOSE)
    return arrow.field(column.name, arrow.float64(), metadata=column_notes(column))


Columns = dict[str, tuple[Any, Mapping[str, str] | None]]
"""Arrow arrays and their metadata, by name."""


_CONTACT_UNITS = {
    "t": "s",
    "x": "m",
    "y": "m",
    "normal_x": "1",
    "normal_y": "1",
    "normal_impulse": "N·s",
    "tangential_impulse": "N·s",
    "since": "s",
}


def _write(path: Path, columns: Columns, notes: Mapping[str, str] | None = None) -> None:
    arrow, parquet = (require(name, purpose=_PURPOSE) for name in ("pyarrow", "pyarrow.parquet"))
    fields = [arrow.field(n, v.type, metadata=about) for n, (v, about) in columns.items()]
    schema = arrow.schema(fields, metadata=notes)
    with replacing(path) as temporary:
        table = arrow.table([values for values, _ in columns.values()], schema=schema)
        parquet.write_table(table, temporary, compression="zstd")


def _notes(title: str, meta: Mapping[str, Any]) -> str:
    return json.dumps({"format": FORMAT, "name": title, "meta": dict(meta), "error": ""})


@dataclass(frozen=True, eq=False)
class Recording:
    """A recorded run, as returned by `read`."""

    stage: Stage
    times: Array
    """Sample times (T,) in s, increasing."""
    rows: Array
    """Values (T, channels) in the order of `stage.channels`, bit-exact."""
    scans: tuple[ScanAt, ...]
    """Lidar scans in order of their times; `inf` where nothing is within range."""
    sensors: tuple[topics.SensorLog, ...]
    """Readings of inertial units, satellite receivers, wheel odometry and bumpers; see `sensor`."""
    contacts: tuple[ContactEvent, ...]
    """Beginnings and ends of contacts, in order of their times."""
    meta: Mapping[str, Any]
    """Notes on the run; "error" is the error that ended it."""
    complete: bool
    """False if the file was not closed, or notes lost samples (`meta["lost_samples"]`): the
    contents are valid but incomplete."""
    path: Path

    def __repr__(self) -> str:
        bodies = counted(len(self.stage.bodies), "body", "bodies")
        samples = f"{bodies}, {counted(self.times.size, 'sample')}"
        span = f" from {self.times[0]:g} to {self.times[-1]:g} s" if self.times.size else ""
        state = "complete" if self.complete else "not complete"
        return f"Recording({str(self.path)!r}: {samples}{span}, {state})"

    @property
    def duration(self) -> float:
        """Time from the first sample to the last, in s."""
        return float(self.times[-1] - self.times[0]) if self.times.size else 0.0

    def column(self, body: str, name: str) -> Array:
        """Values (T,) of a channel of a body."""
        places = self._places(body)
        if name not in places:
            raise InvalidValue(unknown_name(body, name, list(places), "channel"))
        return self.rows[:, places[name]]

    def sensor(self, body: str, name: str) -> topics.SensorLog:
        """Readings of a sensor of a body; lidars are in `scans`."""
        known = {log.mount.name: log for log in self.sensors if log.mount.body == body}
        if name not in known:
            raise InvalidValue(unknown_name(body, name, list(known), "sensor"))
        return known[name]

    def film(self, fps: float | None = None) -> Film:
        """Film for the replay page, with at most `fps` pictures per second of recorded time if
        given.

        Rays without a hit end at the maximum range of their lidar.
        """
        far = [scan.max_range for scan in self.stage.scans]
        scans = [
            scan._replace(
                ranges=np.nan_to_num(
                    scan.ranges, nan=far[scan.index], posinf=far[scan.index], neginf=0.0
                ).astype(np.float32)
            )
            for scan in self.scans
        ]
        film = Film(self.stage, self.times, self.rows.astype(np.float32), tuple(scans))
        return film if fps is None else film.thinned(fps)

    def show(self, *, height: int = 560, limit_mb: float = 5.0) -> Any:
        """The replay page for a notebook, as the last value of a cell; see `Film.show`."""
        return self.film().show(height=height, limit_mb=limit_mb)

    def _repr_html_(self) -> str | None:
        return self.show()._repr_html_() if self.times.size else None

    def trajectory(self, body: str) -> Trajectory:
        """Trajectory of one body, with its channels as columns."""
        columns = [
            _column(self.stage.channels[place], self.rows[:, place])
            for place in self._places(body).values()
        ]
        return Trajectory(self.times, tuple(columns), name=body, meta=dict(self.meta))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write Parquet for analysis: a single table if the path ends in `.parquet`, else a folder.

        The table has a row per body and time with columns `t`, `body` and every channel, empty
        where a body has none of that name; it has no sensor readings.

        The folder has a file per body, which `Trajectory.from_parquet` reads; for each sensor a
        file `sensors/BODY/NAME.parquet` with `t` and the numbers of a reading, for lidars the list
        `ranges`, with the angles of the rays in its metadata; and `sensors/contacts.parquet` if
        there were contacts. Units are in the metadata of the columns, the mounting pose of a sensor
        in that of the file.
        """
        if not self.times.size:
            raise InvalidValue(f"{self.path} has no samples to write to {path}")
        bodies = dict.fromkeys(channel.body for channel in self.stage.channels)
        runs = {body: self.trajectory(body) for body in bodies}
        if Path(path).suffix == ".parquet":
            write_table(Path(path), self.stage.title, runs)
        else:
            require("pyarrow", purpose=_PURPOSE)  # before a folder is made
            folder = Path(path)
            folder.mkdir(parents=True, exist_ok=True)
            for name, run in zip(_file_names(runs), runs.values(), strict=True):
                to_parquet(run, folder / f"{name}.parquet")
            write_sensors(
                folder / "sensors", self.stage.scans, self.scans, self.sensors, self.contacts
            )

    def between(self, start: float, end: float) -> Recording:
        """The part with start <= t <= end, in s."""
        inside = (self.times >= start) & (self.times <= end)
        scans = tuple(scan for scan in self.scans if start <= scan.time <= end)
        sensors = tuple(
            log._replace(times=log.times[chosen], values=log.values[chosen])
            for log in self.sensors
            for chosen in [(log.times >= start) & (log.times <= end)]
        )
        contacts = tuple(event for event in self.contacts if start <= event.time <= end)
        times, rows = self.times[inside], self.rows[inside]
        return replace(
            self, times=times, rows=rows, scans=scans, sensors=sensors, contacts=contacts
        )

    def _places(self, body: str) -> dict[str, int]:
        places = topics.channels_by_body(self.stage).get(body)
        if places is None:
            places = [self.stage.body(body).x]  # raises for an unknown name
        return {self.stage.channels[k].name: k for k in places}


def _column(channel: Channel, values: Array) -> Column:
    unit = known_units().get(channel.unit) or Unit(channel.unit)
    role: Role = channel.role if channel.role in ROLES else "output"
    return Column(channel.name, unit, role, values)


def read(
    path: str | os.PathLike[str],
    *,
    start: float | None = None,
    end: float | None = None,
    rate: float | None = None,
) -> Recording:
    """Read a recording; a truncated file is read as far as it was written.

    Args:
        path: file of the recording.
        start, end: limits of the times that are read, in s.
        rate: largest number of samples per second of recorded time, in Hz; all readings of sensors
            and contacts are returned.
    """
    if rate is not None:
        rate = positive("rate", rate, "Hz")
    low = 0.0 if start is None else finite("start", start, "s")
    high = float("inf") if end is None else number("end", end, "s")
    if not low <= high:
        raise InvalidValue(f"start = {low:g} s must not be after end = {high:g} s")
    file = path_of(path)
    with open_mcap(file) as contents:
        stage = stage_of(contents)
        if contents.missing:
            raise Damaged("some of its chunks are missing")
        reader = _Reader(contents, stage, low, high, rate)
        for chunk in contents.chunks:
            if chunk.end_time >= low * 1e9 and chunk.start_time <= high * 1e9:
                reader.add(chunk)
        notes = notes_of(contents)
        return Recording(
            stage=stage,
            times=np.concatenate([np.empty(0), *reader.times]),
            rows=np.concatenate([np.empty((0, len(stage.channels))), *reader.rows]),
            scans=tuple(sorted(reader.scans, key=lambda scan: scan.time)),
            sensors=reader.sensor_logs(),
            contacts=tuple(sorted(reader.contacts, key=lambda event: event.time)),
            meta=notes,
            complete=contents.complete and topics.LOST not in notes,
            path=file,
        )


def about(contents: Contents) -> dict[str, str]:
    """Metadata of a recording; raises for other files and for recordings of a newer version."""
    values = next((values for name, values in contents.metadata if name == topics.RECORDING), None)
    if values is None:
        torn = "" if contents.complete else ", or was cut off before it said so"
        raise InvalidValue(f"{contents.path} is an MCAP file, but not a recording of skidpad{torn}")
    version = values.get("format", "")
    if not version.isdecimal() or int(version) > topics.FORMAT:
        raise InvalidValue(
            f"{contents.path} was recorded by a newer skidpad ({values.get('program', 'unknown')}, "
            f"format {version or 'unknown'}); this one reads up to format {topics.FORMAT}: "
            "install a newer one"
        )
    return values


def stage_of(contents: Contents) -> Stage:
    """Stage of a recording; raises if the file is not a recording."""
    values = about(contents)
    contents.check()
    try:
        return Stage.from_json(json.loads(values["stage"]))
    except (KeyError, ValueError) as error:
        raise InvalidValue(f"{contents.path}: {error}") from error


def notes_of(contents: Contents) -> dict[str, Any]:
    """Notes on the run; later ones override earlier ones."""
    notes: dict[str, Any] = {}
    for name, values in contents.metadata:
        if name == topics.NOTES:
            notes.update(json.loads(values.get("notes", "{}")))
    return notes


class _Sensor:
    """Decoder and readings of a sensor other than a lidar."""

    def __init__(self, notes: Mapping[str, str]) -> None:
        if topics.SENSOR in notes:
            self._mount = topics.SensorMount(**json.loads(notes[topics.SENSOR]))
        else:  # the first recordings had inertial units only, and did not say where they sit
            self._mount = topics.SensorMount(notes["name"], notes[topics.BODY])
        self._decoder = MessageDecoder(topics.sensor_numbers(self._mount))
        self.tables: list[Array] = []
        """Tables of time in s and numbers, chunk by chunk."""

    def values(self, data: Bytes, places: MessagePlaces) -> Array:
        """Numbers (n, columns) of a sensor's messages in a chunk."""
        tables = self._decoder.tables(data, places.ends)
        return tables["flag" if self._mount.kind == "bumper" else "reading"]

    def log(self) -> topics.SensorLog:
        """All readings in order of time."""
        width = 1 + len(self._mount.columns)
        table = np.concatenate([np.empty((0, width)), *self.tables])
        # A reading with a long delay may lie in a later chunk than readings taken after it.
        table = table[np.argsort(table[:, 0], kind="stable")]
        mount = self._mount._replace(deviations=tuple(self._mount.deviations))
        return topics.SensorLog(mount, table[:, 0], table[:, 1:])


class _Reader:
    """Reader of the data between two times, chunk by chunk."""

    def __init__(
        self, contents: Contents, stage: Stage, low: float, high: float, rate: float | None
    ) -> None:
        self._contents, self._stage = contents, stage
        self._low, self._high, self._rate = low, high, rate
        self._tick = -1.0
        columns = topics.channels_by_body(stage)
        states = {c.metadata.get(topics.BODY): c.id for c in contents.by_role("state")}
        missing = columns.keys() - states.keys()
        if missing:
            raise Damaged(f"it has no states of {', '.join(sorted(missing))}")
        self._bodies = [
            (states[body], places, MessageDecoder(messages.state(range(len(places)))))
            for body, places in columns.items()
        ]
        self._lidars = [(c.id, int(c.metadata[topics.NUMBER])) for c in contents.by_role("scan")]
        channels = [c for kind in topics.KINDS for c in contents.by_role(kind)]
        channels.sort(key=lambda channel: int(channel.metadata[topics.NUMBER]))
        self._sensors = {channel.id: _Sensor(channel.metadata) for channel in channels}
        self._contacts = [channel.id for channel in contents.by_role("contacts")]
        self.contacts: list[ContactEvent] = []
        self.times: list[Array] = []
        self.rows: list[Array] = []
        self.scans: list[ScanAt] = []

    def add(self, chunk: ChunkPlace) -> None:
        data = self._contents.messages(chunk)
        places = self._contents.places(data)
        if self._bodies[0][0] in places:
            self._add_states(data, places)
        for channel, lidar in self._lidars:
            if channel in places:
                self._add_scans(data, places[channel], lidar)
        for channel, sensor in self._sensors.items():
            if channel in places:
                times = places[channel].times / 1e9
                inside = self._inside(times)
                values = sensor.values(data, places[channel])
                sensor.tables.append(np.column_stack([times, values])[inside])
        for channel in self._contacts:
            if channel in places:
                self._add_contacts(data, places[channel])

    def sensor_logs(self) -> tuple[topics.SensorLog, ...]:
        """Readings of the sensors other than lidars, in order of time."""
        return tuple(sensor.log() for sensor in self._sensors.values())

    def _add_contacts(self, data: Bytes, places: MessagePlaces) -> None:
        times = places.times / 1e9
        for k in np.flatnonzero(self._inside(times)):
            message = data[places.begins[k] + MESSAGE_HEAD : places.ends[k]]
            self.contacts.append(messages.contact_event(message.tobytes(), float(times[k])))

    def _add_states(self, data: Bytes, places: dict[int, MessagePlaces]) -> None:
        count = len(places[self._bodies[0][0]].ends)
        rows = np.empty((count, len(self._stage.channels)))
        times = np.empty(0)
        for channel, columns, decoder in self._bodies:
            if channel not in places or len(places[channel].ends) != count:
                raise Damaged("the bodies of a chunk have different numbers of samples")
            tables = decoder.tables(data, places[channel].ends)
            times = tables["time"][:, 0]
            if columns:
                rows[:, columns] = tables["row"]
        kept = self._inside(times) & self._due(times)
        self.times.append(times[kept])
        self.rows.append(rows[kept])

    def _inside(self, times: Array) -> Mask:
        return (times >= self._low) & (times <= self._high)

    def _due(self, times: Array) -> Mask:
        if self._rate is None:
            return np.ones(len(times), bool)
        ticks = np.floor(times * self._rate + 1e-6)
        due = np.diff(ticks, prepend=self._tick) > 0.0
        self._tick = float(ticks[-1])
        return due

    def _add_scans(self, data: Bytes, places: MessagePlaces, lidar: int) -> None:
        decoder = MessageDecoder(messages.laser_ranges(self._stage.scans[lidar].count))
        ranges = decoder.tables(data, places.ends)["reading"].astype(np.float32)
        times = places.times / 1e9
        inside = self._inside(times)
        self.scans += [
            ScanAt(lidar, time, scan)
            for time, scan in zip(times[inside].tolist(), ranges[inside], strict=True)
        ]


def recorded_runs(path: Path) -> dict[str, Trajectory] | None:
    """Trajectory of each body of a recording; None for an MCAP file of another program."""
    try:
        with open_mcap(path) as contents:
            own = any(name == topics.RECORDING for name, _ in contents.metadata)
    except InvalidValue:  # reported by the readers of other programs' files
        return None
    if not own:
        return None
    recording = read(path)
    bodies = dict.fromkeys(channel.body for channel in recording.stage.channels)
    return {body: recording.trajectory(body) for body in bodies}
