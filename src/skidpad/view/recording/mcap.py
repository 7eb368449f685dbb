"""MCAP files: writing them chunk by chunk, and reading what is whole, also of one cut off.

The records are those of the package `mcap`. Its writer, which takes messages one by one, is not
used, nor that of `foxglove-sdk`: `docs/recording.md` has the figures. So it is here that chunks are
compressed and indexed.

Each chunk reaches the operating system before the next one is begun, so a program that is killed
loses what was not yet handed over and nothing else. A file that is `always_ended` also has a footer
behind each, without a summary, which the next chunk overwrites: readers that insist on one, such as
`rosbags`, open what a program that was killed has left. It is not forced onto the disk: that takes
longer than all the rest together and would help only if the machine itself failed.

Chunks of messages have check sums by their format, everything before them has none: so the texts
that a recording says of itself and of its topics have their own.

Reading does not use the indexes: a file that was not closed has none at its end, they have no check
sum, and to go through the records without unpacking them takes no time worth mentioning. Nor does
it use the reader of the package `mcap`, which stops at the first thing that is not whole.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import struct
import zlib
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...core.files import LARGEST_BLOCK, open_file, unpacked
from ...errors import InvalidValue, MissingFile, SkidpadError, require

if TYPE_CHECKING:
    from mcap.records import Channel, Chunk, McapRecord, Schema, Statistics


class _Libraries:
    """The packages `mcap` and `zstandard`, loaded when a recording is first written or read."""

    def __getattr__(self, name: str) -> Any:
        package = name if name == "zstandard" else f"mcap.{name}"
        module = require(package, purpose="a recording")
        setattr(self, name, module)
        return module


libraries: Any = _Libraries()
MAGIC = b"\x89MCAP0\r\n"
"""At the beginning and at the end of a file."""
LARGEST_CHUNK = LARGEST_BLOCK
"""Bytes of messages in a chunk that is read: a few bytes may claim to be any number of them. What
is recorded has some megabytes, and as many as the occupancy grids of its stage."""
_LEVEL = -5
"""Level of the compression. Doubles that all change hardly get smaller: messages of 100 robots
shrink by 1.6 at 1 GB/s with this level, by 1.8 at 0.5 GB/s and 2.1 at 0.2 GB/s with the usual
levels 1 and 3."""
_MESSAGE_INDEX = 7
"""Opcode."""


class RecordingFailed(SkidpadError, OSError):
    """A recording could not be written; what had been written before can be read."""


class MessageIndexes(NamedTuple):
    """Where messages lie in a chunk that come together on some channels, at several times."""

    channels: NDArray[np.uint16]
    """(m,)."""
    times: NDArray[np.uint64]
    """(n,) in ns."""
    places: NDArray[np.uint64]
    """(m, n): where their records begin."""


class McapFile:
    """A file that messages are added to in chunks.

    Args:
        path: where; what is there is replaced.
        schemas, channels: those that are known; `add_channel` adds others.
        metadata: records at the beginning, by name.
        library: the program that writes it.
        profile: what its messages have in common, as MCAP registers it.
        always_ended: whether it has a footer at any time.
    """

    def __init__(
        self,
        path: Path,
        schemas: Sequence[Schema],
        channels: Sequence[Channel],
        metadata: Mapping[str, Mapping[str, str]],
        *,
        library: str,
        profile: str = "",
        always_ended: bool = False,
    ) -> None:
        self.path = path
        self._schemas, self._channels = [*schemas], [*channels]
        self._compressor = libraries.zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
        # As bytes: the indexes of a day are a hundred times as large as objects.
        self._chunk_indexes: list[bytes] = []
        self._metadata_indexes: list[bytes] = []
        self._counts: dict[int, int] = {}
        self._times: list[int] = []
        self._end = 0
        records = libraries.records
        footer = encode_records(records.DataEnd(0), records.Footer(0, 0, 0)) + MAGIC
        self._ending = footer if always_ended else b""
        """Behind what was written; the next part is written over it."""
        try:
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise RecordingFailed(_reason(path, error)) from error
        try:
            header = libraries.records.Header(profile, library)
            self._write(MAGIC, encode_records(header, *schemas, *channels))
            for name, values in metadata.items():
                self.add_metadata(name, values)
        except RecordingFailed:
            self.close()
            raise

    def add_channel(self, channel: Channel, schema: Schema | None = None) -> None:
        """A channel that messages may be on from now on, with its schema if that is new."""
        added = [schema] if schema is not None else []
        self._write(encode_records(*added, channel))
        self._schemas += added
        self._channels.append(channel)

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Texts by name."""
        record, begin = encode_records(libraries.records.Metadata(name, dict(values))), self._end
        self._write(record)
        index = libraries.records.MetadataIndex(begin, len(record), name)
        self._metadata_indexes.append(encode_records(index))

    def add_messages(self, data: memoryview, indexes: Sequence[MessageIndexes]) -> None:
        """Message records one after the other as a chunk, and where each of them is."""
        chunk = libraries.records.Chunk(
            compression="zstd",
            data=self._compressor.compress(data),
            message_start_time=min(int(index.times.min()) for index in indexes),
            message_end_time=max(int(index.times.max()) for index in indexes),
            # None. The compressed frame has a checksum of its own, at a tenth of the cost.
            uncompressed_crc=0,
            uncompressed_size=len(data),
        )
        self.add_chunk(chunk, indexes)

    def add_chunk(self, chunk: Chunk, indexes: Sequence[MessageIndexes]) -> None:
        """A chunk, and where its messages are."""
        head, begin = _chunk_head(chunk), self._end
        offsets: dict[int, int] = {}
        parts: list[memoryview] = []
        length = len(head) + len(chunk.data)
        at = begin + length
        for index in indexes:
            rows = _message_indexes(index)
            places = at + rows.itemsize * np.arange(len(rows))
            offsets.update(zip(index.channels.tolist(), places.tolist(), strict=True))
            parts.append(rows.view(np.uint8).data)
            at += rows.nbytes
        self._write(head, chunk.data, *parts)
        chunk_index = libraries.records.ChunkIndex(
            chunk_start_offset=begin,
            chunk_length=length,
            message_index_offsets=offsets,
            message_index_length=at - begin - length,
            message_start_time=chunk.message_start_time,
            message_end_time=chunk.message_end_time,
            compression=chunk.compression,
            compressed_size=len(chunk.data),
            uncompressed_size=chunk.uncompressed_size,
        )
        self._chunk_indexes.append(encode_records(chunk_index))
        for index in indexes:
            for channel in index.channels.tolist():
                self._counts[channel] = self._counts.get(channel, 0) + len(index.times)
        times = [*self._times, chunk.message_start_time, chunk.message_end_time]
        self._times = [min(times), max(times)]

    def finish(self) -> None:
        """Write the summary and close the file."""
        records = libraries.records
        start, end = self._times or (0, 0)
        statistics = records.Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=self._counts,
            chunk_count=len(self._chunk_indexes),
            message_count=sum(self._counts.values()),
            message_start_time=start,
            message_end_time=end,
            metadata_count=len(self._metadata_indexes),
            schema_count=len(self._schemas),
        )
        # Without a sum of the data: each chunk has its own.
        data_end = encode_records(records.DataEnd(0))
        begin = self._end + len(data_end)
        offsets: list[McapRecord] = []
        summary = b""
        for group in (
            encode_records(*self._schemas),
            encode_records(*self._channels),
            encode_records(statistics),
            b"".join(self._chunk_indexes),
            b"".join(self._metadata_indexes),
        ):
            if group:
                offsets.append(records.SummaryOffset(group[0], begin + len(summary), len(group)))
                summary += group
        places = begin + len(summary)
        summary += encode_records(*offsets)
        # The sum is that of everything from the summary up to itself.
        unsummed = encode_records(records.Footer(begin, places, 0))[:-4]
        footer = records.Footer(begin, places, zlib.crc32(summary + unsummed))
        self._ending = b""
        try:
            self._write(data_end, summary, encode_records(footer), MAGIC)
        finally:
            self.close()

    def close(self) -> None:
        """Close the file as it is, without a summary."""
        try:
            self._file.close()
        except OSError as error:
            raise RecordingFailed(_reason(self.path, error)) from error

    def _write(self, *parts: bytes | memoryview) -> None:
        """Write all of it, or leave the file as it was."""
        end = self._end + sum(memoryview(part).nbytes for part in parts)
        try:
            self._file.seek(self._end)
            for part in (*parts, self._ending):
                rest = memoryview(part)
                while rest:
                    rest = rest[self._file.write(rest) :]
        except BaseException as error:
            with contextlib.suppress(OSError):
                self._file.seek(self._end)
                self._file.truncate()
            if isinstance(error, OSError):
                raise RecordingFailed(_reason(self.path, error)) from error
            raise
        self._end = end


def encode_records(*records: McapRecord) -> bytes:
    """Records one after the other."""
    builder = libraries.data_stream.RecordBuilder()
    for record in records:
        record.write(builder)
    return builder.end()


def _chunk_head(chunk: Chunk) -> bytes:
    """A chunk record up to its data, which the package would copy."""
    head = bytearray(encode_records(replace(chunk, data=b"")))
    struct.pack_into("<Q", head, 1, len(head) - 9 + len(chunk.data))
    struct.pack_into("<Q", head, len(head) - 8, len(chunk.data))
    return bytes(head)


def _message_indexes(index: MessageIndexes) -> NDArray[np.void]:
    """Message index records (m,); the package's own take 1 µs a message, these 0.1."""
    count = len(index.times)
    head = [("op", "u1"), ("length", "<u8"), ("channel", "<u2"), ("size", "<u4")]
    rows = np.empty(len(index.channels), np.dtype([*head, ("entries", "<u8", (count, 2))]))
    rows["op"], rows["length"], rows["size"] = _MESSAGE_INDEX, 6 + 16 * count, 16 * count
    rows["channel"] = index.channels
    rows["entries"][:, :, 0] = index.times
    rows["entries"][:, :, 1] = index.places
    return rows


def _reason(path: Path, error: OSError) -> str:
    return f"cannot record to {os.fspath(path)}: {error.strerror or error}"


_KEY = "crc32"


class Damaged(ValueError):
    """Bytes that are not what they should be."""


def with_checksum(name: str, values: Mapping[str, str]) -> dict[str, str]:
    """Values with their check sum among them."""
    return {**values, _KEY: _checksum(name, values)}


def intact(name: str, values: Mapping[str, str]) -> bool:
    """Whether values are those that were written; the first recordings have no sum."""
    written = {key: value for key, value in values.items() if key != _KEY}
    return values.get(_KEY) in (None, _checksum(name, written))


def _checksum(name: str, values: Mapping[str, str]) -> str:
    # In the order of the names: programs that copy recordings may put them in another.
    texts = [name, *(text for pair in sorted(values.items()) for text in pair)]
    return f"{zlib.crc32(chr(0).join(texts).encode()):08x}"


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
    """Contents of an MCAP file."""

    path: Path
    data: mmap.mmap
    """Its bytes, while it is open."""
    profile: str = ""
    """Profile of the file: "ros2" for a bag."""
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
    """Statistics of the summary, if it was closed properly."""
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
def open_mcap(path: Path) -> Generator[Contents]:
    """Contents of an MCAP file within a block; bytes that make no sense raise there."""
    with _map_file(path) as data:
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


def _map_file(path: Path) -> mmap.mmap:
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
