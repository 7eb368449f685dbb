"""Reading recordings back, to the bit."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, Mask
from ..checks import finite, number, positive
from ..errors import InvalidValue
from ..files import path_of
from ..stage import Stage
from ..stage.film import ScanAt
from . import messages
from .checksums import Damaged
from .contents import ChunkPlace, Contents, MessagePlaces, opened
from .message_rows import MESSAGE_HEAD, Bytes, MessageDecoder
from .recording import Recording
from .sensors import KINDS, SensorLog, SensorMount
from .topics import (
    BODY,
    FORMAT,
    LOST,
    NOTES,
    NUMBER,
    RECORDING,
    SENSOR,
    channels_by_body,
)

if TYPE_CHECKING:
    from ..world.contact.touches import ContactEvent


def read(
    path: str | os.PathLike[str],
    *,
    start: float | None = None,
    end: float | None = None,
    rate: float | None = None,
) -> Recording:
    """A recording from its file, whole or as far as it was written.

    Args:
        path: of the file.
        start, end: only what lies between these times, in s.
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
    with opened(file) as contents:
        stage = stage_of(contents)
        if contents.missing:
            raise Damaged("not all of its chunks can be found")
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
            complete=contents.complete and LOST not in notes,
            path=file,
        )


def about(contents: Contents) -> dict[str, str]:
    """What a file says of itself; raises if it is no recording, or a newer one."""
    values = next((values for name, values in contents.metadata if name == RECORDING), None)
    if values is None:
        torn = "" if contents.complete else ", or was cut off before it said so"
        raise InvalidValue(f"{contents.path} is an MCAP file, but not a recording of skidpad{torn}")
    version = values.get("format", "")
    if not version.isdecimal() or int(version) > FORMAT:
        raise InvalidValue(
            f"{contents.path} was recorded by a newer skidpad ({values.get('program', 'unknown')}, "
            f"format {version or 'unknown'}); this one reads up to format {FORMAT}: install a newer"
            " one"
        )
    return values


def stage_of(contents: Contents) -> Stage:
    """The stage of a recording; raises if it is none."""
    values = about(contents)
    contents.check()
    try:
        return Stage.from_json(json.loads(values["stage"]))
    except (KeyError, ValueError) as error:
        raise InvalidValue(f"{contents.path}: {error}") from error


def notes_of(contents: Contents) -> dict[str, Any]:
    """What was noted about the run, the later over the earlier."""
    notes: dict[str, Any] = {}
    for name, values in contents.metadata:
        if name == NOTES:
            notes.update(json.loads(values.get("notes", "{}")))
    return notes


class _Sensor:
    """A sensor besides lidars, and what was read of it."""

    def __init__(self, notes: Mapping[str, str]) -> None:
        if SENSOR in notes:
            self._mount = SensorMount(**json.loads(notes[SENSOR]))
        else:  # the first recordings had inertial units only, and did not say where they sit
            self._mount = SensorMount(notes["name"], notes[BODY])
        mount, template = self._mount, messages.bumper_flag()
        if mount.kind == "imu":
            template = messages.imu_numbers(mount.oriented)
        elif mount.kind == "gnss":
            template = messages.location_numbers()
        elif mount.kind == "odometry":
            template = messages.odometry_numbers(0)
        self._decoder = MessageDecoder(template)
        self.tables: list[Array] = []
        """Times in s and numbers, chunk by chunk."""

    def values(self, data: Bytes, places: MessagePlaces) -> Array:
        """Numbers (n, columns) of the messages of a chunk."""
        tables = self._decoder.tables(data, places.ends)
        return tables["flag" if self._mount.kind == "bumper" else "reading"]

    def log(self) -> SensorLog:
        """All that was read."""
        width = 1 + len(self._mount.columns)
        table = np.concatenate([np.empty((0, width)), *self.tables])
        # A reading that comes out late may lie in a later chunk than what was taken after it.
        table = table[np.argsort(table[:, 0], kind="stable")]
        mount = self._mount._replace(deviations=tuple(self._mount.deviations))
        return SensorLog(mount, table[:, 0], table[:, 1:])


class _Reader:
    """What is read between two times, chunk by chunk."""

    def __init__(
        self, contents: Contents, stage: Stage, low: float, high: float, rate: float | None
    ) -> None:
        self._contents, self._stage = contents, stage
        self._low, self._high, self._rate = low, high, rate
        self._tick = -1.0
        columns = channels_by_body(stage)
        states = {c.metadata.get(BODY): c.id for c in contents.by_role("state")}
        missing = columns.keys() - states.keys()
        if missing:
            raise Damaged(f"it has no states of {', '.join(sorted(missing))}")
        self._bodies = [
            (states[body], places, MessageDecoder(messages.state(range(len(places)))))
            for body, places in columns.items()
        ]
        self._lidars = [(c.id, int(c.metadata[NUMBER])) for c in contents.by_role("scan")]
        channels = [c for kind in KINDS for c in contents.by_role(kind)]
        channels.sort(key=lambda channel: int(channel.metadata[NUMBER]))
        self._sensors = {channel.id: _Sensor(channel.metadata) for channel in channels}
        self._contacts = [channel.id for channel in contents.by_role("contacts")]
        self.contacts: list[ContactEvent] = []
        self.times: list[Array] = []
        self.rows: list[Array] = []
        self.scans: list[ScanAt] = []

    def add(self, chunk: ChunkPlace) -> None:
        """What a chunk has."""
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

    def sensor_logs(self) -> tuple[SensorLog, ...]:
        """Readings of the sensors besides lidars, in the order of their times."""
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
