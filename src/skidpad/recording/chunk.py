"""Samples and readings of a while as one chunk of messages in the order of their times."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import AnyArray, Array, Mask
from .mcap_file import MessageIndexes
from .message_rows import Bytes, Message, MessageRows, Times
from .protobuf import Source
from .topics import Topics
from .writer_thread import Event, Reading

SHOWN_RATE = 120.0
"""At most so many poses and transforms per second of recorded time, in Hz: what screens can show.
The states come with every sample."""
STILL_PERIOD = 60.0
"""How often what does not change is repeated, in s of recorded time."""
_NS = 1e9


class _Part(NamedTuple):
    """Rows of messages, each row at its own time."""

    messages: MessageRows
    times: Times
    """(n,), not decreasing."""
    rows: Bytes
    """(n, bytes)."""


class ChunkEncoder:
    """Makes chunks of what was sampled, one after the other."""

    def __init__(self, topics: Topics) -> None:
        self._rotations, self._still = topics.rotations, topics.still
        self._states = MessageRows(topics.states)
        self._motion = MessageRows(topics.motion)
        self._sensors = [MessageRows(messages) for messages in topics.sensors]
        self._last_shown = -1
        self._last_still = -1
        self._buffer = io.BytesIO()

    @property
    def sample_size(self) -> int:
        """Bytes of a sample that is shown."""
        return self._states.size + self._motion.size

    @property
    def still_size(self) -> int:
        """Bytes of what does not change."""
        return sum(len(template.data) for _, template in self._still)

    def chunk(
        self,
        times: Array,
        rows: Array,
        readings: Sequence[Reading] = (),
        events: Sequence[Event] = (),
    ) -> tuple[memoryview, list[MessageIndexes]]:
        """Message records of samples at times (T,) in s with rows (T, channels), of readings and of
        events, and where each of them is; there is at least one. Forget them before the next
        call."""
        single = [_single(one.message, int(nanoseconds(np.array(one.time)))) for one in events]
        parts = [*self._samples(times, rows), *self._readings(readings), *single]
        start = min(int(part.times[0]) for part in parts)
        return self._merged([*self._repeated(start), *parts])

    def _samples(self, times: Array, rows: Array) -> list[_Part]:
        if not len(times):
            return []
        ns, clock = nanoseconds(times), times[:, None]
        states = self._states.encoded(ns, {"row": rows, "time": clock})
        parts = [_Part(self._states, ns, states)]
        shown = self._shown(times)
        if self._motion.size and shown.any():
            if not shown.all():
                ns, rows = ns[shown], rows[shown]
            rotations = self._rotations.of(rows)
            motion = self._motion.encoded(ns, {"row": rows, "rotation": rotations})
            parts.append(_Part(self._motion, ns, motion))
        return parts

    def _shown(self, times: Array) -> Mask:
        ticks = np.floor(times * SHOWN_RATE + 1e-6).astype(np.int64)
        shown = np.diff(ticks, prepend=self._last_shown) > 0
        self._last_shown = int(ticks[-1])
        return shown

    def _readings(self, readings: Sequence[Reading]) -> list[_Part]:
        by_sensor: dict[int, list[Reading]] = {}
        for reading in readings:
            by_sensor.setdefault(reading.sensor, []).append(reading)
        parts: list[_Part] = []
        for sensor, alike in by_sensor.items():
            ns = nanoseconds(np.array([reading.time for reading in alike]))
            table = np.array([reading.values for reading in alike], np.float64)
            messages = self._sensors[sensor]
            tables: dict[Source, AnyArray] = {"reading": table, "flag": table != 0.0}
            parts.append(_Part(messages, ns, messages.encoded(ns, tables)))
        return parts

    def _repeated(self, now: int) -> list[_Part]:
        """What does not change, if it is due."""
        tick = int(now / (STILL_PERIOD * _NS))
        if tick <= self._last_still:
            return []
        self._last_still = tick
        return [_single(message, now) for message in self._still]

    def _merged(self, parts: Sequence[_Part]) -> tuple[memoryview, list[MessageIndexes]]:
        """All rows in the order of time, and where their messages are."""
        counts = [len(part.times) for part in parts]
        sizes = np.repeat([part.rows.shape[1] for part in parts], counts)
        order = np.argsort(np.concatenate([part.times for part in parts]), kind="stable")
        ends = np.cumsum(sizes[order])
        begins = np.empty(len(order), np.uint64)
        begins[order] = ends - sizes[order]
        rows = [row for part in parts for row in part.rows]
        indexes = [
            MessageIndexes(part.messages.channels, part.times, part.messages.offsets[:, None] + own)
            for part, own in zip(parts, np.split(begins, np.cumsum(counts)[:-1]), strict=True)
        ]
        return joined(self._buffer, [rows[k] for k in order.tolist()]), indexes


def joined(buffer: io.BytesIO, arrays: Sequence[AnyArray]) -> memoryview:
    """Arrays one behind the other, in a buffer that is kept.

    Memory that is new takes longer to get than to fill, and np.concatenate lets go of the
    interpreter lock and takes it again array by array.
    """
    buffer.seek(0)
    buffer.writelines(array.data for array in arrays)
    return buffer.getbuffer()[: buffer.tell()]


def nanoseconds(times: Array) -> Times:
    """Times in s as MCAP has them."""
    return np.rint(times * _NS).astype(np.uint64)


def _single(message: Message, ns: int) -> _Part:
    messages, when = MessageRows([message]), np.array([ns], np.uint64)
    return _Part(messages, when, messages.encoded(when, {}))
