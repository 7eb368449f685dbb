"""Reading recordings back, to the bit."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import InvalidValue
from ..stage import Stage
from ..stage.film import ScanAt
from . import messages
from .block import RECORD_HEAD
from .plan import BODY, NUMBER, channels_of
from .recorder import FORMAT, NOTES, RECORDING
from .recording import ImuLog, Recording
from .records import Channel
from .walk import Bytes, ChunkAt, Contents, Damaged, opened, places, scanned, unpacked

_CLOCK_AT = RECORD_HEAD + 1
"""Where the time is in the record of a state."""
_FIRST_AT = RECORD_HEAD + 9 + 2
"""Where the first number of a body is."""
_STRIDE = 10
"""From one number to the next: two bytes of tag, eight of number."""


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
        rate: at most so many samples per second of recorded time, in Hz; scans are all kept.
    """
    if rate is not None and not (np.isfinite(rate) and rate > 0.0):
        raise InvalidValue(f"rate = {rate} Hz must be finite and greater than 0")
    low = 0.0 if start is None else start
    high = float("inf") if end is None else end
    file = Path(path)
    with opened(file) as contents:
        stage = stage_of(file, contents)
        taken = _Taken(contents, stage, low, high, rate)
        for chunk in contents.chunks:
            if chunk.head.end >= low * 1e9 and chunk.head.start <= high * 1e9:
                taken.add(chunk)
        return Recording(
            stage=stage,
            times=np.concatenate([np.empty(0), *taken.times]),
            rows=np.concatenate([np.empty((0, len(stage.channels))), *taken.rows]),
            scans=tuple(sorted(taken.scans, key=lambda scan: scan.time)),
            imus=taken.logs(),
            meta=notes_of(contents),
            complete=contents.complete,
            path=file,
        )


def stage_of(file: Path, contents: Contents) -> Stage:
    """The stage of a recording; raises if it is none, or a newer one."""
    about = next((values for name, values in contents.metadata if name == RECORDING), None)
    if about is None:
        torn = "" if contents.complete else ", or was cut off before it said so"
        raise InvalidValue(f"{file} is an MCAP file, but not a recording of skidpad{torn}")
    version = about.get("format", "")
    if not version.isdecimal() or int(version) > FORMAT:
        raise InvalidValue(
            f"{file} was recorded by a newer skidpad ({about.get('program', 'unknown')}, format "
            f"{version or 'unknown'}); this one reads up to format {FORMAT}: install a newer one"
        )
    try:
        return Stage.from_json(json.loads(about["stage"]))
    except (KeyError, ValueError) as error:
        raise InvalidValue(f"{file}: {error}") from error


def notes_of(contents: Contents) -> dict[str, Any]:
    """What was noted about the run, the later over the earlier."""
    found: dict[str, Any] = {}
    for name, values in contents.metadata:
        if name == NOTES:
            found.update(json.loads(values.get("notes", "{}")))
    return found


class _Body(NamedTuple):
    """How the numbers of a body lie in its messages."""

    channel: int
    columns: Sequence[int]
    template: Bytes
    """A record as it was made."""
    fixed: NDArray[np.bool_]
    """Which of its bytes never change."""


class _Taken:
    """What is read, chunk by chunk."""

    def __init__(
        self, contents: Contents, stage: Stage, low: float, high: float, rate: float | None
    ) -> None:
        self._contents, self._stage = contents, stage
        self._low, self._high, self._rate = low, high, rate
        self._tick = -1.0
        of = channels_of(stage)
        self._bodies = [
            _body(c, of[c.metadata[BODY]])
            for c in contents.by_role("state")
            if c.metadata.get(BODY) in of
        ]
        missing = of.keys() - {c.metadata.get(BODY) for c in contents.by_role("state")}
        if missing:
            raise Damaged(f"it has no states of {', '.join(sorted(missing))}")
        self._lidars = [(c.id, int(c.metadata[NUMBER])) for c in contents.by_role("scan")]
        self._units = contents.by_role("imu")
        self._read: dict[int, list[tuple[Array, Array]]] = {unit.id: [] for unit in self._units}
        self.times: list[Array] = []
        self.rows: list[Array] = []
        self.scans: list[ScanAt] = []

    def add(self, chunk: ChunkAt) -> None:
        """What a chunk has."""
        data = unpacked(self._contents, chunk)
        if not all(body.channel in chunk.indexes for body in self._bodies):
            # The file ended within its indexes, or the chunk has readings only.
            found = {k: at.astype(np.int64) for k, (_, at) in scanned(data).items()}
        else:
            found = {k: places(self._contents, chunk, data, k) for k in chunk.indexes}
        self._add_states(data, found)
        nothing = np.empty(0, np.int64)
        for channel, index in self._lidars:
            self._add_scans(data, found.get(channel, nothing), index)
        for unit in self._units:
            self._add_readings(data, found.get(unit.id, nothing), unit.id)

    def _add_states(self, data: Bytes, found: dict[int, NDArray[np.int64]]) -> None:
        first = found.get(self._bodies[0].channel)
        if first is None or not len(first):
            return
        rows = np.empty((len(first), len(self._stage.channels)))
        times = np.empty(0)
        for body in self._bodies:
            times, numbers = _numbers(body, data, found.get(body.channel, first[:0]))
            if len(times) != len(rows):
                raise Damaged("the bodies of a chunk have different numbers of samples")
            rows[:, body.columns] = numbers
        wanted = self._wanted(times)
        self.times.append(times[wanted])
        self.rows.append(rows[wanted])

    def _wanted(self, times: Array) -> NDArray[np.bool_]:
        inside = (times >= self._low) & (times <= self._high)
        if self._rate is None:
            return inside
        ticks = np.floor(times * self._rate + 1e-6)
        due = np.diff(ticks, prepend=self._tick) > 0.0
        self._tick = float(ticks[-1])
        return inside & due

    def _add_scans(self, data: Bytes, at: NDArray[np.int64], index: int) -> None:
        if not len(at):
            return
        count = self._stage.scans[index].count
        times, found = _tails(data, at, 8 * count)
        ranges = found.view("<f8").astype(np.float32)
        self.scans += [
            ScanAt(index, time, one)
            for time, one in zip(times.tolist(), ranges, strict=True)
            if self._low <= time <= self._high
        ]

    def _add_readings(self, data: Bytes, at: NDArray[np.int64], channel: int) -> None:
        if not len(at):
            return
        times, found = _tails(data, at, messages.IMU_TAIL_SIZE)
        parts = [np.ascontiguousarray(found[:, k : k + 8]).view("<f8") for k in messages.IMU_TAIL]
        inside = (times >= self._low) & (times <= self._high)
        self._read[channel].append((times[inside], np.concatenate(parts, axis=1)[inside]))

    def logs(self) -> tuple[ImuLog, ...]:
        """Readings of inertial units."""
        found: list[ImuLog] = []
        for unit in self._units:
            parts = self._read[unit.id]
            times = np.concatenate([np.empty(0), *(times for times, _ in parts)])
            values = np.concatenate([np.empty((0, 6)), *(values for _, values in parts)])
            notes = unit.metadata
            found.append(ImuLog(notes.get("name", ""), notes.get(BODY, ""), times, values))
        return tuple(found)


def _body(channel: Channel, columns: Sequence[int]) -> _Body:
    piece = messages.state(columns)
    head = struct.pack("<BQH", 5, RECORD_HEAD - 9 + len(piece.data), channel.id)
    template = np.frombuffer(head.ljust(RECORD_HEAD, b"\0") + piece.data, np.uint8)
    fixed = np.ones(len(template), bool)
    fixed[len(head) : RECORD_HEAD] = False
    for slot in piece.slots:
        fixed[RECORD_HEAD + slot.at : RECORD_HEAD + slot.at + 8] = False
    return _Body(channel.id, columns, template, fixed)


def _numbers(body: _Body, data: Bytes, at: NDArray[np.int64]) -> tuple[Array, Array]:
    """Times (T,) and numbers (T, channels) of a body from records that begin at places."""
    size, count = len(body.template), len(body.columns)
    if len(at) and at.max() + size > len(data):
        raise Damaged("a message is longer than its chunk")
    found = sliding_window_view(data, size)[at]
    if not (found[:, body.fixed] == body.template[body.fixed]).all():
        raise Damaged("a message of states is not laid out as it was written")
    times = np.ndarray((len(at),), "<f8", found.data, _CLOCK_AT, (size,))
    shape, strides = (len(at), count), (size, _STRIDE)
    if not count:
        return times.copy(), np.empty(shape)
    return times.copy(), np.ndarray(shape, "<f8", found.data, _FIRST_AT, strides)


def _tails(data: Bytes, at: NDArray[np.int64], size: int) -> tuple[Array, Bytes]:
    """Log times in s and the last bytes (n, size) of records of one length."""
    lengths = sliding_window_view(data, 8)[at + 1].view("<u8").ravel().astype(np.int64)
    ends = at + 9 + lengths
    if (ends > len(data)).any() or (lengths < 22 + size).any():
        raise Damaged("a message has a wrong length")
    ns = sliding_window_view(data, 8)[at + 15].view("<u8").ravel()
    return ns / 1e9, np.ascontiguousarray(sliding_window_view(data, size)[ends - size])
