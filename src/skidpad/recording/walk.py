"""Going through a recording from its beginning, also one that was cut off.

The indexes at the end are not used: a file that was not closed has none, and going through the
records without unpacking them takes no time worth mentioning.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidValue, SkidpadError
from . import records
from .records import Channel, ChunkHead, Op, Schema

Bytes = NDArray[np.uint8]


class Damaged(ValueError):
    """Bytes that are not what they should be."""


class ChunkAt(NamedTuple):
    """A chunk of a file."""

    head: ChunkHead
    offset: int
    """Where its record begins."""
    begin: int
    """Where its messages begin, compressed."""
    end: int
    """Where they end."""
    indexes: dict[int, tuple[int, int]]
    """By channel: where the entries of its message index are, and how many."""


@dataclass
class Contents:
    """What a file holds."""

    data: mmap.mmap
    """Its bytes, while it is open."""
    library: str = ""
    """The program that wrote it."""
    schemas: dict[int, Schema] = field(default_factory=dict[int, Schema])
    channels: dict[int, Channel] = field(default_factory=dict[int, Channel])
    metadata: list[tuple[str, dict[str, str]]] = field(
        default_factory=list[tuple[str, dict[str, str]]]
    )
    chunks: list[ChunkAt] = field(default_factory=list[ChunkAt])
    complete: bool = False
    """Whether it was closed properly."""
    end: int = 0
    """How far it could be followed."""

    def by_role(self, role: str) -> list[Channel]:
        """Channels that say that they are this."""
        return [c for c in self.channels.values() if c.metadata.get("role") == role]


@contextmanager
def opened(path: Path) -> Generator[Contents]:
    """What a file holds, as long as the block lasts; bytes that make no sense raise there."""
    with _mapped(path) as data:
        try:
            yield _walked(path, data)
        except SkidpadError:
            raise
        except (struct.error, LookupError, ValueError) as error:
            raise InvalidValue(
                f"{path} is damaged: {error}; `skidpad recover` keeps what is whole"
            ) from error


def _mapped(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size < len(records.MAGIC):
                raise InvalidValue(f"{path} is not a recording: it has {size} bytes")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise InvalidValue(f"cannot read {path}: {error.strerror or error}") from error


def _walked(path: Path, data: mmap.mmap) -> Contents:
    if data[: len(records.MAGIC)] != records.MAGIC:
        raise InvalidValue(f"{path} is not a recording: it is no MCAP file")
    found = Contents(data)
    at, summary = len(records.MAGIC), False
    while at + records.HEAD <= len(data):
        op, length = struct.unpack_from("<BQ", data, at)
        begin, end = at + records.HEAD, at + records.HEAD + length
        if op == 0 or end > len(data):
            break
        if op == Op.FOOTER:
            found.complete = data[end:] == records.MAGIC
            at = end + len(records.MAGIC) if found.complete else at
            break
        summary = summary or op == Op.DATA_END
        # Programs that rewrite files put schemas and channels into chunks; the summary has them.
        if not summary or op in (Op.SCHEMA, Op.CHANNEL):
            try:
                _note(found, op, at, begin, end)
            except (struct.error, ValueError):
                break
        at = end
    if not summary and found.chunks:
        # Some of its indexes may be missing.
        found.chunks[-1].indexes.clear()
    found.end = at
    return found


def _note(found: Contents, op: int, at: int, begin: int, end: int) -> None:
    data = found.data
    if op == Op.HEADER:
        reader = records.Reader(data[begin:end])
        reader.text()
        found.library = reader.text()
    elif op == Op.SCHEMA:
        schema = records.read_schema(data[begin:end])
        found.schemas[schema.id] = schema
    elif op == Op.CHANNEL:
        channel = records.read_channel(data[begin:end])
        found.channels[channel.id] = channel
    elif op == Op.METADATA:
        found.metadata.append(records.read_metadata(data[begin:end]))
    elif op == Op.CHUNK:
        # Of a chunk only what stands before its messages; the longest name of a compression is 4.
        head, first = records.read_chunk(data[begin : min(begin + 64, end)], end - begin)
        found.chunks.append(ChunkAt(head, at, begin + first, end, {}))
    elif op == Op.MESSAGE_INDEX and found.chunks:
        number, size = struct.unpack_from("<HI", data, begin)
        if 6 + size != end - begin:
            raise Damaged("a message index has a wrong length")
        found.chunks[-1].indexes[number] = begin + 6, size // 16


def stored(contents: Contents, chunk: ChunkAt) -> bytes:
    """The messages of a chunk, compressed."""
    return contents.data[chunk.begin : chunk.end]


def unpacked(contents: Contents, chunk: ChunkAt) -> Bytes:
    """The messages of a chunk; raises `Damaged` if they are not what they were."""
    head = chunk.head
    try:
        data = _decompressed(head, stored(contents, chunk))
    except Exception as error:  # each library has errors of its own
        raise Damaged(f"the chunk at byte {chunk.offset} cannot be unpacked: {error}") from error
    if len(data) != head.size or (head.crc and zlib.crc32(data) != head.crc):
        raise Damaged(f"the chunk at byte {chunk.offset} is not what was written")
    return np.frombuffer(data, np.uint8)


def _decompressed(head: ChunkHead, data: bytes) -> bytes:
    if head.compression == "zstd":
        import zstandard

        return zstandard.ZstdDecompressor().decompress(data, max_output_size=head.size)
    if head.compression == "lz4":
        import lz4.frame

        lz4_frame: Any = lz4.frame
        return lz4_frame.decompress(data)
    if head.compression:
        raise Damaged(f"its compression {head.compression!r} is unknown")
    return data


def places(contents: Contents, chunk: ChunkAt, data: Bytes, channel: int) -> NDArray[np.int64]:
    """Where the records of a channel begin in the messages of a chunk."""
    at, count = chunk.indexes.get(channel, (0, 0))
    entries = np.frombuffer(contents.data[at : at + 16 * count], "<u8").reshape(-1, 2)
    found = entries[:, 1].astype(np.int64)
    if len(found) and not (found.min() >= 0 and found.max() + records.HEAD <= len(data)):
        raise Damaged(f"the index of the chunk at byte {chunk.offset} points beyond it")
    return found


def scanned(data: Bytes) -> dict[int, tuple[NDArray[np.uint64], NDArray[np.uint64]]]:
    """By channel: times in ns and places of the messages of a chunk, found one by one."""
    found: dict[int, list[tuple[int, int]]] = {}
    at, view = 0, data.data
    while at + records.HEAD <= len(data):
        op, length = struct.unpack_from("<BQ", view, at)
        if at + records.HEAD + length > len(data):
            raise Damaged("a message is longer than its chunk")
        if op == Op.MESSAGE:
            channel, _, time = struct.unpack_from("<HIQ", view, at + records.HEAD)
            found.setdefault(channel, []).append((time, at))
        at += records.HEAD + length
    return {
        channel: (np.array(pairs, np.uint64)[:, 0], np.array(pairs, np.uint64)[:, 1])
        for channel, pairs in found.items()
    }
