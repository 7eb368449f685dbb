"""Many copies of a few messages, filled with the numbers of many samples at once.

A block has a row of bytes per sample: the MCAP records of all messages that come with every sample.
The rows are made once; what does not change stays in them from chunk to chunk, and everything that
does is written into all rows by a handful of array operations. For 100 robots with 26 numbers each
that takes 10 µs a sample. Adding the messages one by one with the writer of the package `mcap`
takes 330 µs, and making them with protobuf's classes several times that.

The operations are few for another reason too: each lets go of the interpreter lock and asks for it
again, and the simulation, which holds it, is held up by every such exchange.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .wire import Piece, Slot, Source, joined, timestamps

Bytes = NDArray[np.uint8]
Table = NDArray[np.float64]
Times = NDArray[np.uint64]

RECORD_HEAD = 31
"""Bytes of a message record before the message."""
_MESSAGE = 5
_TIMES_AT = 15
"""Where in the head of a record the two times are."""
_WORDS: Mapping[Source, tuple[str, int]] = {"stamp": ("<u4", 3), "logged": ("<u8", 2)}
"""Slots that hold no double: type and number of the words that they are written in."""


class _Patch(NamedTuple):
    """Slots of a source that lie evenly: `m` at equal distances, and that `n` times."""

    source: Source
    view: NDArray[np.generic]
    """(capacity, n, m) of doubles, or (capacity, n, m, words)."""
    columns: NDArray[np.intp]
    """(n, m)."""
    room: NDArray[np.float64]
    """(capacity, n, m), where the numbers are put in order."""


class Block:
    """Messages that always come together.

    Args:
        messages: numbers of their channels and what they look like.
        capacity: rows to begin with; it grows.
    """

    def __init__(self, messages: Sequence[tuple[int, Piece]], capacity: int = 1) -> None:
        records = [_record(channel, piece) for channel, piece in messages]
        self.channels = np.array([channel for channel, _ in messages], np.uint16)
        """Of the messages of a row, in order."""
        sizes = [len(record.data) for record in records]
        self.offsets = np.cumsum([0, *sizes[:-1]]).astype(np.uint64)
        """Where the messages begin in a row."""
        whole = joined(records)
        self._template = np.frombuffer(whole.data, np.uint8)
        self._slots: dict[Source, list[Slot]] = {}
        for slot in whole.slots:
            self._slots.setdefault(slot.source, []).append(slot)
        self._grow(capacity)

    @property
    def size(self) -> int:
        """Bytes of a row."""
        return self._template.size

    def filled(self, ns: Times, tables: Mapping[Source, Table]) -> Bytes:
        """Rows (T, size) for times in ns (T,) and tables (T, columns) by source.

        The rows are valid until the next call.
        """
        count = len(ns)
        if count > len(self._rows):
            self._grow(max(count, 2 * len(self._rows)))
        words: dict[Source, NDArray[np.generic]] = {"logged": ns[:, None, None, None]}
        if "stamp" in self._slots:
            words["stamp"] = timestamps(ns).view("<u4")[:, None, None, :]
        for source, view, columns, room in self._patches:
            given = words.get(source)
            if given is None:
                # "clip" as it needs no copy for the case that a column is out of range.
                given = tables[source].take(columns, 1, room[:count], "clip")
            view[:count] = given
        return self._rows[:count]

    def _grow(self, capacity: int) -> None:
        self._rows = np.tile(self._template, (capacity, 1))
        self._patches = [
            self._patch(source, even)
            for source, slots in self._slots.items()
            for even in _even(slots)
        ]

    def _patch(self, source: Source, slots: Sequence[Sequence[Slot]]) -> _Patch:
        first = slots[0]
        outer = slots[1][0].at - first[0].at if len(slots) > 1 else 0
        inner = first[1].at - first[0].at if len(first) > 1 else 0
        shape, strides = (len(self._rows), len(slots), len(first)), (self.size, outer, inner)
        kind, words = _WORDS.get(source, ("<f8", 0))
        room = np.empty((0, 0, 0) if words else shape)
        if words:
            shape, strides = (*shape, words), (*strides, np.dtype(kind).itemsize)
        view = np.ndarray(shape, kind, self._rows.data, first[0].at, strides)
        columns = np.array([[slot.column for slot in row] for row in slots])
        return _Patch(source, view, columns, room)


def _record(channel: int, piece: Piece) -> Piece:
    """A message behind the head of its MCAP record; the sequence number stays 0, unused."""
    head = struct.pack("<BQHIQQ", _MESSAGE, 22 + len(piece.data), channel, 0, 0, 0)
    return joined([Piece(head, (Slot(_TIMES_AT, "logged"),)), piece])


def _even(slots: Sequence[Slot]) -> Iterator[list[Sequence[Slot]]]:
    """Slots in groups of rows: equal distances in the rows, and between them.

    The numbers of a body are such a row, and bodies alike make a group of them.
    """
    at = [slot.at for slot in slots]
    begin = 0
    while begin < len(slots):
        end = begin + 1
        while end < len(slots) and at[end] - at[end - 1] == at[begin + 1] - at[begin]:
            end += 1
        width = end - begin
        row = [place - at[begin] for place in at[begin:end]]
        found = [slots[begin:end]]
        while [place - at[end] for place in at[end : end + width]] == row and (
            at[end] - at[end - width] == at[begin + width] - at[begin]
        ):
            found.append(slots[end : end + width])
            end += width
        yield found
        begin = end
