"""The records of an MCAP file, to and from bytes; the format is at https://mcap.dev/spec.

A record is an opcode, the length of what follows, and that. Everything is little endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x89MCAP0\r\n"
"""At the beginning and at the end of a file."""
HEAD = 9
"""Bytes of a record before its content."""
FOOTER_SIZE = HEAD + 20


class Op(IntEnum):
    """Opcodes."""

    HEADER = 1
    FOOTER = 2
    SCHEMA = 3
    CHANNEL = 4
    MESSAGE = 5
    CHUNK = 6
    MESSAGE_INDEX = 7
    CHUNK_INDEX = 8
    STATISTICS = 11
    METADATA = 12
    METADATA_INDEX = 13
    SUMMARY_OFFSET = 14
    DATA_END = 15


class Schema(NamedTuple):
    """A message type."""

    id: int
    name: str
    encoding: str
    data: bytes


class Channel(NamedTuple):
    """A topic."""

    id: int
    schema: int
    topic: str
    encoding: str
    metadata: Mapping[str, str]


class ChunkHead(NamedTuple):
    """What a chunk says of itself before its messages."""

    start: int
    """Earliest time of a message in ns."""
    end: int
    size: int
    """Bytes of the messages before compression."""
    crc: int
    """Of these bytes; 0 if it was not taken."""
    compression: str


class ChunkIndex(NamedTuple):
    """Where a chunk is."""

    head: ChunkHead
    offset: int
    length: int
    """Of the whole record."""
    indexes: Mapping[int, int]
    """Where the message indexes of its channels are."""
    index_length: int
    compressed: int


def record(op: Op, content: bytes) -> bytes:
    """A record from its content."""
    return struct.pack("<BQ", op, len(content)) + content


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def _texts(pairs: Mapping[str, str]) -> bytes:
    data = b"".join(_text(key) + _text(value) for key, value in pairs.items())
    return struct.pack("<I", len(data)) + data


def header(profile: str, library: str) -> bytes:
    """The first record of a file."""
    return record(Op.HEADER, _text(profile) + _text(library))


def schema(s: Schema) -> bytes:
    """A schema record."""
    head = struct.pack("<H", s.id) + _text(s.name) + _text(s.encoding)
    return record(Op.SCHEMA, head + struct.pack("<I", len(s.data)) + s.data)


def channel(c: Channel) -> bytes:
    """A channel record."""
    head = struct.pack("<HH", c.id, c.schema) + _text(c.topic) + _text(c.encoding)
    return record(Op.CHANNEL, head + _texts(c.metadata))


def metadata(name: str, values: Mapping[str, str]) -> bytes:
    """A metadata record."""
    return record(Op.METADATA, _text(name) + _texts(values))


def metadata_index(name: str, offset: int, length: int) -> bytes:
    """Where a metadata record is."""
    return record(Op.METADATA_INDEX, struct.pack("<QQ", offset, length) + _text(name))


def chunk_head(head: ChunkHead, compressed: int) -> bytes:
    """A chunk record up to its compressed messages, which follow."""
    content = struct.pack("<QQQI", head.start, head.end, head.size, head.crc)
    content += _text(head.compression) + struct.pack("<Q", compressed)
    return struct.pack("<BQ", Op.CHUNK, len(content) + compressed) + content


class Indexed(NamedTuple):
    """Messages of some channels in a chunk that come together, at several times."""

    channels: NDArray[np.uint16]
    offsets: NDArray[np.uint64]
    """Where the messages of the channels begin in what comes together."""
    times: NDArray[np.uint64]
    """(T,) in ns."""
    begins: NDArray[np.uint64]
    """(T,): where what comes together begins in the chunk."""


def message_indexes(these: Indexed) -> NDArray[np.uint8]:
    """Message index records (channels, bytes)."""
    count, size = len(these.times), 16 * len(these.times)
    head = [("op", "u1"), ("length", "<u8"), ("channel", "<u2"), ("size", "<u4")]
    kind = np.dtype([*head, ("entries", "<u8", (count, 2))])
    made = np.empty(len(these.channels), kind)
    made["op"], made["length"], made["size"] = Op.MESSAGE_INDEX, 6 + size, size
    made["channel"] = these.channels
    entries = made["entries"]
    entries[:, :, 0] = these.times
    np.add(these.offsets[:, None], these.begins, out=entries[:, :, 1])
    return made.view(np.uint8).reshape(len(made), kind.itemsize)


def chunk_index(c: ChunkIndex) -> bytes:
    """A chunk index record."""
    pairs = np.empty(len(c.indexes), [("channel", "<u2"), ("offset", "<u8")])
    pairs["channel"], pairs["offset"] = list(c.indexes), list(c.indexes.values())
    content = struct.pack("<QQQQI", c.head.start, c.head.end, c.offset, c.length, pairs.nbytes)
    content += pairs.tobytes() + struct.pack("<Q", c.index_length) + _text(c.head.compression)
    return record(Op.CHUNK_INDEX, content + struct.pack("<QQ", c.compressed, c.head.size))


class Statistics(NamedTuple):
    """What a whole file holds."""

    schemas: int
    channels: int
    metadata: int
    chunks: int
    start: int
    end: int
    counts: Mapping[int, int]
    """Messages by channel."""


def statistics(s: Statistics) -> bytes:
    """A statistics record."""
    pairs = b"".join(struct.pack("<HQ", *pair) for pair in s.counts.items())
    numbers = (sum(s.counts.values()), s.schemas, s.channels, 0, s.metadata, s.chunks)
    content = struct.pack("<QHIIII", *numbers) + struct.pack("<QQI", s.start, s.end, len(pairs))
    return record(Op.STATISTICS, content + pairs)


def summary_offset(op: Op, start: int, length: int) -> bytes:
    """Where the records of one kind are in the summary."""
    return record(Op.SUMMARY_OFFSET, struct.pack("<BQQ", op, start, length))


def data_end() -> bytes:
    """The end of the data; its sum is not taken, as each chunk has its own."""
    return record(Op.DATA_END, struct.pack("<I", 0))


class Reader:
    """Takes values from the content of a record, one after the other.

    Raises `struct.error` or `ValueError` where the content ends too early.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        self.data, self.at = data, 0

    def numbers(self, layout: str) -> tuple[int, ...]:
        """Whole numbers by the codes of `struct`."""
        found = struct.unpack_from(f"<{layout}", self.data, self.at)
        self.at += struct.calcsize(f"<{layout}")
        return found

    def raw(self, size: int) -> bytes:
        """So many bytes."""
        if self.at + size > len(self.data):
            raise ValueError("a record ends too early")
        self.at += size
        return bytes(self.data[self.at - size : self.at])

    def text(self) -> str:
        """A text behind its length."""
        return self.raw(*self.numbers("I")).decode()

    def texts(self) -> dict[str, str]:
        """Texts by name."""
        (size,) = self.numbers("I")
        end, found = self.at + size, dict[str, str]()
        while self.at < end:
            key = self.text()
            found[key] = self.text()
        return found


def read_schema(content: bytes | memoryview) -> Schema:
    """A schema from its record."""
    r = Reader(content)
    (number,) = r.numbers("H")
    name, encoding = r.text(), r.text()
    return Schema(number, name, encoding, r.raw(*r.numbers("I")))


def read_channel(content: bytes | memoryview) -> Channel:
    """A channel from its record."""
    r = Reader(content)
    number, of = r.numbers("HH")
    return Channel(number, of, r.text(), r.text(), r.texts())


def read_metadata(content: bytes | memoryview) -> tuple[str, dict[str, str]]:
    """Name and values of a metadata record."""
    r = Reader(content)
    return r.text(), r.texts()


def read_chunk(opening: bytes | memoryview, length: int) -> tuple[ChunkHead, int]:
    """What a chunk says of itself, and where in its content of some length its messages begin."""
    r = Reader(opening)
    start, end, size, crc = r.numbers("QQQI")
    compression = r.text()
    (stored,) = r.numbers("Q")
    if r.at + stored != length:
        raise ValueError("a chunk has a wrong length")
    return ChunkHead(start, end, size, crc, compression), r.at


def grouped(records: Sequence[tuple[Op, Iterable[bytes]]], begin: int) -> tuple[bytes, bytes]:
    """Records of a summary that begins at an offset, and where each kind lies in it."""
    made, places = b"", b""
    for op, alike in records:
        data = b"".join(alike)
        if data:
            places += summary_offset(op, begin + len(made), len(data))
        made += data
    return made, places
