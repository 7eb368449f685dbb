"""Protobuf messages as bytes with places to be filled in later.

A message whose numbers are doubles and whose texts do not change has the same length every time, so
it is made once, and the numbers of thousands of samples are put into copies of it together
(`block`). Times are the one thing that would change the length: `Timestamp` has varints. Here they
always take five bytes, the shorter ones padded; the encoding allows that and readers accept it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Source = Literal["row", "turn", "clock", "given", "stamp", "logged"]
"""What fills a slot: a channel of the stage, a number of a quaternion, the time in s, what came
with the message (ranges of a lidar), a `Timestamp`, or the two times of an MCAP message."""

STAMP_SIZE = 12
"""Bytes of a Timestamp: two varints of five bytes, each behind its tag."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TAGS = np.array([1 << 3, 2 << 3], np.uint8)
"""Of the seconds and the nanoseconds in a Timestamp."""
_SHIFTS = np.arange(0, 35, 7, dtype=np.uint64)
_MORE = np.array([0x80, 0x80, 0x80, 0x80, 0], np.uint64)
"""Each byte of a varint but the last says that there are more."""


class Slot(NamedTuple):
    """Bytes of a message that differ from sample to sample."""

    at: int
    """Where they begin."""
    source: Source
    column: int = 0
    """Which number of the source."""


class Piece(NamedTuple):
    """Part of a message."""

    data: bytes
    slots: tuple[Slot, ...] = ()


def varint(value: int) -> bytes:
    """A whole number of at least 0, seven bits a byte."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _tag(number: int, kind: int) -> bytes:
    return varint(number << 3 | kind)


def joined(pieces: Sequence[Piece]) -> Piece:
    """Pieces one behind the other."""
    begins = accumulate((len(piece.data) for piece in pieces), initial=0)
    slots = [
        slot._replace(at=slot.at + begin)
        for piece, begin in zip(pieces, begins, strict=False)
        for slot in piece.slots
    ]
    return Piece(b"".join(piece.data for piece in pieces), tuple(slots))


def nested(number: int, *pieces: Piece) -> Piece:
    """A field that is a message."""
    inner = joined(pieces)
    return joined([Piece(_tag(number, _BYTES) + varint(len(inner.data))), inner])


def text(number: int, value: str) -> Piece:
    """A field of text."""
    return raw(number, value.encode())


def raw(number: int, value: bytes) -> Piece:
    """A field of bytes."""
    return Piece(_tag(number, _BYTES) + varint(len(value)) + value)


def whole(number: int, value: int) -> Piece:
    """A field of a whole number, an enumeration or a truth value."""
    return Piece(_tag(number, _VARINT) + varint(value))


def fixed32(number: int, value: int) -> Piece:
    """A field of a whole number that always takes four bytes."""
    return Piece(_tag(number, _FIXED32) + struct.pack("<I", value))


def double(number: int, value: float) -> Piece:
    """A field of a number that stays as it is."""
    return Piece(_tag(number, _FIXED64) + struct.pack("<d", value))


def filled(number: int, source: Source, column: int) -> Piece:
    """A field of a number that is filled in."""
    tag = _tag(number, _FIXED64)
    return Piece(tag + bytes(8), (Slot(len(tag), source, column),))


def filled_list(number: int, count: int) -> Piece:
    """A packed list of numbers that come with the message."""
    head = _tag(number, _BYTES) + varint(8 * count)
    slots = [Slot(len(head) + 8 * k, "given", k) for k in range(count)]
    return Piece(head + bytes(8 * count), tuple(slots))


def stamp(number: int) -> Piece:
    """A field of the type Timestamp that is filled in."""
    head = _tag(number, _BYTES) + varint(STAMP_SIZE)
    return Piece(head + bytes(STAMP_SIZE), (Slot(len(head), "stamp"),))


def timestamps(ns: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Times in ns (T,) as the bytes of Timestamps (T, 12)."""
    values = np.stack(np.divmod(ns, 10**9), axis=1)
    found = np.empty((len(ns), 2, STAMP_SIZE // 2), np.uint8)
    found[:, :, 0] = _TAGS
    found[:, :, 1:] = values[:, :, None] >> _SHIFTS & 0x7F | _MORE
    return found.reshape(len(ns), STAMP_SIZE)
