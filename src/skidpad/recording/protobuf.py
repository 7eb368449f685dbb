"""Protobuf messages as templates: bytes with slots for the numbers that change.

A message whose numbers are doubles and whose texts do not change has the same length every time, so
it is made once, and the numbers of thousands of samples are put into copies of it together
(`message_rows`). Times are the one thing that would change the length: `Timestamp` has varints.
Here they always take five bytes, the shorter ones padded; the encoding allows that and readers
accept it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Source = Literal["row", "rotation", "time", "reading", "flag", "timestamp", "log_time"]
"""Table that fills a slot: channels of the stage, quaternions, the time in s, what a sensor gave as
numbers or as truth values, words of a `Timestamp`, or the log time of an MCAP message."""
WORDS: Mapping[Source, str] = {
    "row": "<f8",
    "rotation": "<f8",
    "time": "<f8",
    "reading": "<f8",
    "flag": "u1",
    "timestamp": "<u4",
    "log_time": "<u8",
}
"""Types of the numbers of the tables, as they lie in a message."""

TIMESTAMP_SIZE = 12
"""Bytes of a Timestamp: two varints of five bytes, each behind its tag."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TAGS = np.array([1 << 3, 2 << 3], np.uint8)
"""Of the seconds and the nanoseconds in a Timestamp."""
_SHIFTS = np.arange(0, 35, 7, dtype=np.uint64)
_MORE = np.array([0x80, 0x80, 0x80, 0x80, 0], np.uint64)
"""Each byte of a varint but the last says that there are more."""


class Slot(NamedTuple):
    """A number of a message that differs from sample to sample."""

    offset: int
    """Of its first byte."""
    source: Source
    column: int
    """Of the table of the source."""


class Template(NamedTuple):
    """A message, or a part of one."""

    data: bytes
    slots: tuple[Slot, ...] = ()


def joined(parts: Sequence[Template]) -> Template:
    """Parts one behind the other."""
    offsets = accumulate((len(part.data) for part in parts), initial=0)
    slots = [
        slot._replace(offset=slot.offset + offset)
        for part, offset in zip(parts, offsets, strict=False)
        for slot in part.slots
    ]
    return Template(b"".join(part.data for part in parts), tuple(slots))


def varint(value: int) -> bytes:
    """A whole number of at least 0, seven bits a byte."""
    octets = bytearray()
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def _tag(number: int, kind: int) -> bytes:
    return varint(number << 3 | kind)


def message(number: int, *parts: Template) -> Template:
    """A field that is a message."""
    content = joined(parts)
    return joined([Template(_tag(number, _BYTES) + varint(len(content.data))), content])


def octets(number: int, value: bytes) -> Template:
    """A field of bytes."""
    return Template(_tag(number, _BYTES) + varint(len(value)) + value)


def string(number: int, value: str) -> Template:
    """A field of text."""
    return octets(number, value.encode())


def integer(number: int, value: int) -> Template:
    """A field of a whole number, an enumeration or a truth value."""
    return Template(_tag(number, _VARINT) + varint(value))


def fixed32(number: int, value: int) -> Template:
    """A field of a whole number that always takes four bytes."""
    return Template(_tag(number, _FIXED32) + struct.pack("<I", value))


def double(number: int, value: float) -> Template:
    """A field of a number that stays as it is."""
    return Template(_tag(number, _FIXED64) + struct.pack("<d", value))


def variable(number: int, source: Source, column: int) -> Template:
    """A field of a number that changes."""
    tag = _tag(number, _FIXED64)
    return Template(tag + bytes(8), (Slot(len(tag), source, column),))


def flag(number: int, column: int) -> Template:
    """A field of a truth value that a sensor gives."""
    tag = _tag(number, _VARINT)
    return Template(tag + bytes(1), (Slot(len(tag), "flag", column),))


def fields(data: bytes) -> dict[int, list[int | bytes]]:
    """The fields of a message by number: whole numbers, or the bytes of everything else."""
    found: dict[int, list[int | bytes]] = {}
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            found.setdefault(tag >> 3, []).append(value)
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
        if size is None:
            if kind != _BYTES:
                raise ValueError(f"a field of a message has the unknown type {kind}")
            size, at = _read_varint(data, at)
        if at + size > len(data):
            raise ValueError("a field is longer than its message")
        found.setdefault(tag >> 3, []).append(data[at : at + size])
        at += size
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        octet, at = data[at], at + 1
        value |= (octet & 0x7F) << shift
        if octet < 0x80:
            return value, at
    raise ValueError("a number of a message has no end")


def variables(number: int, count: int) -> Template:
    """A packed list of numbers that a sensor gives."""
    head = _tag(number, _BYTES) + varint(8 * count)
    slots = [Slot(len(head) + 8 * k, "reading", k) for k in range(count)]
    return Template(head + bytes(8 * count), tuple(slots))


def timestamp(number: int) -> Template:
    """A field of the type Timestamp that changes."""
    head = _tag(number, _BYTES) + varint(TIMESTAMP_SIZE)
    slots = [Slot(len(head) + 4 * k, "timestamp", k) for k in range(TIMESTAMP_SIZE // 4)]
    return Template(head + bytes(TIMESTAMP_SIZE), tuple(slots))


def timestamps(ns: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Times in ns (T,) as the bytes of Timestamps (T, 12)."""
    values = np.stack(np.divmod(ns, 10**9), axis=1)
    table = np.empty((len(ns), 2, TIMESTAMP_SIZE // 2), np.uint8)
    table[:, :, 0] = _TAGS
    table[:, :, 1:] = values[:, :, None] >> _SHIFTS & 0x7F | _MORE
    return table.reshape(len(ns), TIMESTAMP_SIZE)
