"""Numbers of many samples into messages, and out of them again.

Messages that always come together, as MCAP records, make a row of bytes. What does not change in
the rows stays in them from chunk to chunk, and everything that does is written into all of them by
a few array operations: 7 µs a sample for 100 robots with 26 numbers each, on one core of an AMD
EPYC. Adding the messages one by one takes 330 µs with the package `mcap`.

The operations are few for another reason too: each lets go of the interpreter lock and asks for it
again, and the simulation, which holds it, is held up by every such exchange.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..arrays import AnyArray, Array
from .checksums import Damaged
from .protobuf import WORDS, Slot, Source, Template, joined, timestamps

Bytes = NDArray[np.uint8]
Times = NDArray[np.uint64]
"""In ns."""
Message = tuple[int, Template]
"""Number of its channel, and what it looks like."""

_MESSAGE = 5
"""Opcode of a message record."""
MESSAGE_HEAD = 31
"""Bytes of a message record before the message."""


class _Words(NamedTuple):
    """Slots of a source whose offsets have the same remainder by the size of their words."""

    source: Source
    remainder: int
    places: NDArray[np.intp]
    """Offsets in words, from the remainder on."""
    columns: NDArray[np.intp]

    def of(self, rows: Bytes) -> AnyArray:
        """Rows (n, size) as rows of words."""
        size, kind = rows.shape[1], np.dtype(WORDS[self.source])
        shape = (len(rows), (size - self.remainder) // kind.itemsize)
        return np.ndarray(shape, kind, rows.data, self.remainder, (size, kind.itemsize))


class MessageRows:
    """Messages that always come together, in rows of one time each.

    Args:
        messages: what comes together.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        records = [message_record(channel, template) for channel, template in messages]
        self.channels = np.array([channel for channel, _ in messages], np.uint16)
        """Of the messages of a row, in order."""
        sizes = [len(record.data) for record in records]
        self.offsets = np.cumsum([0, *sizes])[:-1].astype(np.uint64)
        """Where the messages begin in a row."""
        row = joined(records)
        self._words = _by_word(row.slots)
        self._rows = np.frombuffer(bytearray(row.data), np.uint8)[None]

    @property
    def size(self) -> int:
        """Bytes of a row."""
        return self._rows.shape[1]

    def encoded(self, ns: Times, tables: Mapping[Source, AnyArray]) -> Bytes:
        """Rows (T, size) for times (T,) and tables (T, columns), valid until the next call."""
        count = len(ns)
        if count > len(self._rows):
            self._rows = np.tile(self._rows[0], (max(count, 2 * len(self._rows)), 1))
        times = {"log_time": ns[:, None], "timestamp": timestamps(ns).view("<u4")}
        for words in self._words:
            table = times.get(words.source)
            if table is None:
                table = tables[words.source]
            words.of(self._rows)[:count, words.places] = table[:, words.columns]
        return self._rows[:count]


class MessageDecoder:
    """Takes numbers out of messages that all end alike.

    Args:
        template: what they end with, with doubles in its slots.
    """

    def __init__(self, template: Template) -> None:
        self._template = np.frombuffer(template.data, np.uint8)
        self._words = _by_word(template.slots)
        self._fixed = np.ones(len(template.data), bool)
        self._widths: dict[Source, int] = {}
        for slot in template.slots:
            size = np.dtype(WORDS[slot.source]).itemsize
            self._fixed[slot.offset : slot.offset + size] = False
            self._widths[slot.source] = max(slot.column + 1, self._widths.get(slot.source, 0))

    def tables(self, data: Bytes, ends: NDArray[np.int64]) -> dict[Source, Array]:
        """Tables (n, columns) of messages that end at places (n,), at least one."""
        begins = ends - self._template.size
        if begins.min() < 0 or ends.max() > len(data):
            raise Damaged("a message lies outside of its chunk")
        rows = sliding_window_view(data, self._template.size)[begins]
        if not (rows[:, self._fixed] == self._template[self._fixed]).all():
            raise Damaged("a message is not laid out as it was written")
        tables: dict[Source, Array] = {}
        for source, width in self._widths.items():
            tables[source] = np.empty((len(rows), width))
        for words in self._words:
            tables[words.source][:, words.columns] = words.of(rows)[:, words.places]
        return tables


def message_record(channel: int, template: Template) -> Template:
    """A message behind the head of its MCAP record; the sequence number stays 0, unused."""
    head = struct.pack("<BQHIQQ", _MESSAGE, 22 + len(template.data), channel, 0, 0, 0)
    log_time, publish_time = Slot(15, "log_time", 0), Slot(23, "log_time", 0)
    return joined([Template(head, (log_time, publish_time)), template])


def _by_word(slots: Sequence[Slot]) -> list[_Words]:
    groups: dict[tuple[Source, int], list[Slot]] = {}
    for slot in slots:
        size = np.dtype(WORDS[slot.source]).itemsize
        groups.setdefault((slot.source, slot.offset % size), []).append(slot)
    return [
        _Words(
            source,
            remainder,
            np.array([slot.offset // np.dtype(WORDS[source]).itemsize for slot in alike]),
            np.array([slot.column for slot in alike]),
        )
        for (source, remainder), alike in groups.items()
    ]
