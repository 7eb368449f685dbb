"""What an MCAP file holds, from its beginning on, also of one that was cut off.

The indexes are not used: a file that was not closed has none at its end, none of them has a check
sum, and going through the records without unpacking them takes no time worth mentioning. Nor is the
reader of the package `mcap`, which stops at the first thing that is not whole.
"""

from __future__ import annotations

import io
import mmap
import struct
import zlib
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..errors import InvalidValue, MissingFile, SkidpadError
from ..files import open_file, unpacked
from . import libraries
from .checksums import Damaged, intact
from .mcap_file import MAGIC

if TYPE_CHECKING:
    from mcap.records import Channel, Chunk, Schema, Statistics

_HEAD = 9
"""Bytes of a record before its content: opcode and length."""


class ChunkPlace(NamedTuple):
    """Where a chunk is, and when."""

    offset: int
    """Where its record begins."""
    end: int
    start_time: int
    """Earliest time of a message in ns."""
    end_time: int
    size: int
    """Bytes of its messages, as it says itself."""
    compression: str


class MessagePlaces(NamedTuple):
    """Messages of a channel in a chunk."""

    times: NDArray[np.uint64]
    """(n,) in ns."""
    begins: NDArray[np.int64]
    """(n,): first byte of their records."""
    ends: NDArray[np.int64]


@dataclass
class Contents:
    """What a file holds."""

    path: Path
    data: mmap.mmap
    """Its bytes, while it is open."""
    profile: str = ""
    """What its messages have in common: "ros2" of a bag."""
    library: str = ""
    """The program that wrote it."""
    schemas: dict[int, Schema] = field(default_factory=dict[int, Any])
    channels: dict[int, Channel] = field(default_factory=dict[int, Any])
    metadata: list[tuple[str, dict[str, str]]] = field(
        default_factory=list[tuple[str, dict[str, str]]]
    )
    chunks: list[ChunkPlace] = field(default_factory=list[ChunkPlace])
    loose: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Where messages outside of chunks begin and end, as some programs write them."""
    statistics: Statistics | None = None
    """Of the summary, if it was closed properly."""
    complete: bool = False
    """Whether it was closed properly."""
    missing: int = 0
    """Chunks that its summary counts and that are not there."""
    end: int = 0
    """How far it could be followed."""

    def check(self) -> None:
        """Raise if something that everything else relies on is not what was written."""
        texts = [*self.metadata, *((c.topic, c.metadata) for c in self.channels.values())]
        for name, values in texts:
            if not intact(name, values):
                raise InvalidValue(f"{self.path} is damaged: {name} is not what was written")

    def by_role(self, role: str) -> list[Channel]:
        """Channels that say that they are this."""
        return [c for c in self.channels.values() if c.metadata.get("role") == role]

    def chunk(self, place: ChunkPlace) -> Chunk:
        """A chunk as it was written."""
        return libraries.records.Chunk.read(self._content(place.offset + _HEAD, place.end))

    def messages(self, place: ChunkPlace) -> NDArray[np.uint8]:
        """The messages of a chunk; raises `Damaged` if they are not what they were."""
        chunk = self.chunk(place)
        try:
            data = unpacked(chunk.data, chunk.compression, chunk.uncompressed_size)
        except Exception as error:  # each library has errors of its own
            raise Damaged(
                f"the chunk at byte {place.offset} cannot be unpacked: {error}"
            ) from error
        crc = chunk.uncompressed_crc
        if len(data) != chunk.uncompressed_size or (crc and zlib.crc32(data) != crc):
            raise Damaged(f"the chunk at byte {place.offset} is not what was written")
        return np.frombuffer(data, np.uint8)

    def places(self, data: NDArray[np.uint8]) -> dict[int, MessagePlaces]:
        """Where the messages of a chunk are, by channel; channels that it defines are noted."""
        by_channel: defaultdict[int, list[int]] = defaultdict(list)
        message = int(libraries.opcode.Opcode.MESSAGE)
        head, view, at = struct.Struct("<BQH"), data.data, 0
        while at + head.size <= len(data):
            op, length, channel = head.unpack_from(view, at)
            if op == message:
                by_channel[channel].append(at)
            elif op in (libraries.opcode.Opcode.SCHEMA, libraries.opcode.Opcode.CHANNEL):
                content = _Content(view[at + _HEAD : at + _HEAD + length])
                self._note_record(op, libraries.data_stream.ReadDataStream(content))
            at += _HEAD + length
        if at != len(data):
            raise Damaged("a message is longer than its chunk")
        if not by_channel.keys() <= self.channels.keys():
            raise Damaged("a message belongs to no channel")
        words = sliding_window_view(data, 8)
        places: dict[int, MessagePlaces] = {}
        for channel, offsets in by_channel.items():
            begins = np.array(offsets)
            lengths = words[begins + 1].view("<i8").ravel()
            times = words[begins + 15].view("<u8").ravel()
            places[channel] = MessagePlaces(times, begins, begins + _HEAD + lengths)
        return places

    def follow(self) -> None:
        """Note everything that is whole, record by record."""
        opcodes = libraries.opcode.Opcode
        at, previous, summary = len(MAGIC), 0, False
        while at + _HEAD <= len(self.data):
            op, length = struct.unpack_from("<BQ", self.data, at)
            end = at + _HEAD + length
            if op == 0 or end > len(self.data):
                break
            summary = summary or op == opcodes.DATA_END
            try:
                # Programs that rewrite files put channels into chunks, and into the summary too.
                if not summary or op in (opcodes.SCHEMA, opcodes.CHANNEL, opcodes.STATISTICS):
                    self._note(op, previous, at, end)
                elif op == opcodes.FOOTER:
                    self._end(at, end)
                    end += len(MAGIC)
            except (struct.error, ValueError):
                break
            at, previous = end, op
        self.end = at

    def _note(self, op: int, previous: int, at: int, end: int) -> None:
        opcodes = libraries.opcode.Opcode
        if op == opcodes.CHUNK:
            # Not by the package: what it reads of a chunk is the whole of it.
            start, last, size, _, length = struct.unpack_from("<QQQII", self.data, at + _HEAD)
            name = self.data[at + _HEAD + 32 : min(at + _HEAD + 32 + length, end)].decode()
            self.chunks.append(ChunkPlace(at, end, start, last, size, name))
            return
        if op == opcodes.MESSAGE_INDEX:
            (size,) = struct.unpack_from("<I", self.data, at + _HEAD + 2)
            if previous not in (opcodes.CHUNK, op) or at + _HEAD + 6 + size != end:
                raise Damaged("an index has no chunk: a chunk is not what it was")
            return
        if op == opcodes.MESSAGE:
            self.loose.append((at, end))
            return
        self._note_record(op, self._content(at + _HEAD, end))

    def _note_record(self, op: int, content: Any) -> None:
        records, opcodes = libraries.records, libraries.opcode.Opcode
        if op == opcodes.HEADER:
            header = records.Header.read(content)
            self.profile, self.library = header.profile, header.library
        elif op == opcodes.SCHEMA:
            schema = records.Schema.read(content)
            self.schemas.setdefault(schema.id, schema)
        elif op == opcodes.CHANNEL:
            channel = records.Channel.read(content)
            first = self.channels.setdefault(channel.id, channel)
            if not intact(first.topic, first.metadata):
                self.channels[channel.id] = channel
        elif op == opcodes.METADATA:
            metadata = records.Metadata.read(content)
            self.metadata.append((metadata.name, metadata.metadata))
        elif op == opcodes.STATISTICS:
            self.statistics = records.Statistics.read(content)

    def _content(self, begin: int, end: int) -> Any:
        return libraries.data_stream.ReadDataStream(_Content(self.data[begin:end]))

    def _end(self, at: int, end: int) -> None:
        """The footer: raises unless the summary before it is what was written."""
        footer = libraries.records.Footer.read(self._content(at + _HEAD, end))
        if self.data[end:] != MAGIC:
            raise Damaged("it ends too early or too late")
        if footer.summary_crc not in (0, zlib.crc32(self.data[footer.summary_start : end - 4])):
            raise Damaged("its summary is not what was written")
        if self.statistics is not None:
            self.missing = self.statistics.chunk_count - len(self.chunks)
        self.complete = not self.missing


class _Content(io.BytesIO):
    """The content of a record, which must have what it says that it has."""

    def read(self, size: int | None = -1, /) -> bytes:
        """So many bytes."""
        if size is not None and size > self.getbuffer().nbytes - self.tell():
            raise Damaged("a record ends too early")
        return super().read(size)


@contextmanager
def opened(path: Path) -> Generator[Contents]:
    """What a file holds, as long as the block lasts; bytes that make no sense raise there."""
    with _mapped(path) as data:
        if data[: len(MAGIC)] != MAGIC:
            raise InvalidValue(f"{path} is not a recording: it is no MCAP file")
        try:
            contents = Contents(path, data)
            contents.follow()
            yield contents
        except (SkidpadError, OSError):
            raise
        except Exception as error:  # of the format, of JSON, or of what is made of either
            raise InvalidValue(
                f"{path} is damaged: {error}; `skidpad recover` keeps what is whole"
            ) from error


def _mapped(path: Path) -> mmap.mmap:
    try:
        with open_file(path) as file:
            size = file.seek(0, 2)
            if size < len(MAGIC):
                raise InvalidValue(f"{path} is not a recording: it has {size} bytes")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except SkidpadError:
        raise
    except OSError as error:
        kind = MissingFile if isinstance(error, FileNotFoundError) else InvalidValue
        raise kind(f"cannot read {path}: {error.strerror or error}") from error
