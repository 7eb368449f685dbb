"""MCAP files: writing them chunk by chunk, and reading the intact part, also of a truncated file.

The records are those of the package `mcap`. Its writer, which takes messages one by one, is not
used, nor that of `foxglove-sdk`, because of their speed (figures in `docs/recording.md`). So chunks
are compressed and indexed here.

Each chunk is passed to the operating system before the next one is begun, so a killed program loses
only what was not yet passed on. A file that is `always_ended` also has a footer without a summary
behind each chunk, which the next chunk overwrites: readers that require one, such as `rosbags`, can
open the file of a killed program. Files are not synced to disk: that takes longer than all the rest
together and would help only against a failure of the machine itself.

In MCAP, chunks of messages have checksums and everything before them has none, so the metadata
records of a recording and of its topics have their own.

Reading does not use the indexes: a file that was not closed has no summary, indexes have no
checksum, and scanning the records without decompressing them takes negligible time. Nor does
it use the reader of the package `mcap`, which stops at the first damaged record.
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
    """The packages `mcap` and `zstandard`, imported when a recording is first written or read."""

    def __getattr__(self, name: str) -> Any:
        package = name if name == "zstandard" else f"mcap.{name}"
        module = require(package, purpose="a recording")
        setattr(self, name, module)
        return module


libraries: Any = _Libraries()
MAGIC = b"\x89MCAP0\r\n"
LARGEST_CHUNK = LARGEST_BLOCK
"""Largest uncompressed size of a chunk that is read, in bytes, since a damaged size could claim
any number. Recorded chunks have some megabytes, plus the occupancy grids of the stage."""
_LEVEL = -5
"""Compression level. Doubles that all change hardly compress: messages of 100 robots shrink by
1.6 at 1 GB/s with this level, by 1.8 at 0.5 GB/s and 2.1 at 0.2 GB/s with the usual levels 1
and 3."""
_MESSAGE_INDEX = 7
"""Opcode of a message index record."""


class RecordingFailed(SkidpadError, OSError):
    """Error: a recording could not be written; what was written before remains readable."""


class MessageIndexes(NamedTuple):
    """Message offsets of several channels whose messages always come together, at several times in
    a chunk."""

    channels: NDArray[np.uint16]
    """Channel numbers, (m,)."""
    times: NDArray[np.uint64]
    """Times in ns, (n,)."""
    places: NDArray[np.uint64]
    """Offsets of the message records, (m, n)."""


class McapFile:
    """An MCAP file that is written in chunks.

    Args:
        path: file to write; an existing one is replaced.
        schemas, channels: initial ones; `add_channel` adds others.
        metadata: records at the beginning, by name.
        library: name of the writing program.
        profile: profile of the messages, as registered by MCAP.
        always_ended: whether the file has a footer at any time.
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
        # Stored as bytes: as objects, the indexes of a day would take a hundred times the memory.
        self._chunk_indexes: list[bytes] = []
        self._metadata_indexes: list[bytes] = []
        self._counts: dict[int, int] = {}
        self._times: list[int] = []
        self._end = 0
        records = libraries.records
        footer = encode_records(records.DataEnd(0), records.Footer(0, 0, 0)) + MAGIC
        self._ending = footer if always_ended else b""
        """Footer behind the last part; the next part overwrites it."""
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
        """Add a channel, with its schema if that is new."""
        added = [schema] if schema is not None else []
        self._write(encode_records(*added, channel))
        self._schemas += added
        self._channels.append(channel)

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        record, begin = encode_records(libraries.records.Metadata(name, dict(values))), self._end
        self._write(record)
        index = libraries.records.MetadataIndex(begin, len(record), name)
        self._metadata_indexes.append(encode_records(index))

    def add_messages(self, data: memoryview, indexes: Sequence[MessageIndexes]) -> None:
        """Add consecutive message records as a chunk, with the index of each."""
        chunk = libraries.records.Chunk(
            compression="zstd",
            data=self._compressor.compress(data),
            message_start_time=min(int(index.times.min()) for index in indexes),
            message_end_time=max(int(index.times.max()) for index in indexes),
            # No checksum here: the compressed frame has one, at a tenth of the cost.
            uncompressed_crc=0,
            uncompressed_size=len(data),
        )
        self.add_chunk(chunk, indexes)

    def add_chunk(self, chunk: Chunk, indexes: Sequence[MessageIndexes]) -> None:
        packed = bytearray(encode_records(replace(chunk, data=b"")))
        struct.pack_into("<Q", packed, 1, len(packed) - 9 + len(chunk.data))
        struct.pack_into("<Q", packed, len(packed) - 8, len(chunk.data))
        head, begin = bytes(packed), self._end
        offsets: dict[int, int] = {}
        parts: list[memoryview] = []
        length = len(head) + len(chunk.data)
        at = begin + length
        for index in indexes:
            # A table of records takes 0.1 µs per message; the package takes 1 µs.
            count = len(index.times)
            fields = [("op", "u1"), ("length", "<u8"), ("channel", "<u2"), ("size", "<u4")]
            entries = ("entries", "<u8", (count, 2))
            rows = np.empty(len(index.channels), np.dtype([*fields, entries]))
            rows["op"], rows["length"], rows["size"] = _MESSAGE_INDEX, 6 + 16 * count, 16 * count
            rows["channel"] = index.channels
            rows["entries"][:, :, 0] = index.times
            rows["entries"][:, :, 1] = index.places
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
        # No checksum of the data section: each chunk has its own.
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
        """Write all parts, or leave the file unchanged."""
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
    """Bytes of consecutive records."""
    builder = libraries.data_stream.RecordBuilder()
    for record in records:
        record.write(builder)
    return builder.end()


def _reason(path: Path, error: OSError) -> str:
    return f"cannot record to {os.fspath(path)}: {error.strerror or error}"


_KEY = "crc32"


class Damaged(ValueError):
    """Error: bytes that are damaged or malformed."""


def with_checksum(name: str, values: Mapping[str, str]) -> dict[str, str]:
    """Values with their checksum added."""
    return {**values, _KEY: _checksum(name, values)}


def intact(name: str, values: Mapping[str, str]) -> bool:
    """Whether values match their checksum; recordings of the first version have none."""
    written = {key: value for key, value in values.items() if key != _KEY}
    return values.get(_KEY) in (None, _checksum(name, written))


def _checksum(name: str, values: Mapping[str, str]) -> str:
    # In the order of the names: programs that copy recordings may put them in another.
    texts = [name, *(text for pair in sorted(values.items()) for text in pair)]
    return f"{zlib.crc32(chr(0).join(texts).encode()):08x}"


_HEAD = 9
"""Length of a record's opcode and length fields, in bytes."""


class ChunkPlace(NamedTuple):
    """Position and time range of a chunk."""

    offset: int
    end: int
    start_time: int
    """Earliest message time in ns."""
    end_time: int
    size: int
    """Uncompressed size of its messages in bytes, as recorded."""
    compression: str


class MessagePlaces(NamedTuple):
    """Times and positions of a channel's messages in a chunk."""

    times: NDArray[np.uint64]
    """Times in ns, (n,)."""
    begins: NDArray[np.int64]
    """First byte of their records, (n,)."""
    ends: NDArray[np.int64]


@dataclass
class Contents:
    """Index of the intact contents of an MCAP file."""

    path: Path
    data: mmap.mmap
    """Bytes of the file, while it is open."""
    profile: str = ""
    """Profile of the file: "ros2" for a bag."""
    library: str = ""
    """Name of the writing program."""
    schemas: dict[int, Schema] = field(default_factory=dict[int, Any])
    channels: dict[int, Channel] = field(default_factory=dict[int, Any])
    metadata: list[tuple[str, dict[str, str]]] = field(
        default_factory=list[tuple[str, dict[str, str]]]
    )
    chunks: list[ChunkPlace] = field(default_factory=list[ChunkPlace])
    loose: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Ranges of messages outside of chunks, begin and end, as some programs write them."""
    statistics: Statistics | None = None
    """Statistics of the summary; None if the file was not closed properly."""
    complete: bool = False
    """Whether the file was closed properly."""
    missing: int = 0
    """Number of chunks in the summary that are missing from the file."""
    end: int = 0
    """Offset up to which the file could be read."""

    def check(self) -> None:
        """Raise if a record that all others depend on is damaged."""
        texts = [*self.metadata, *((c.topic, c.metadata) for c in self.channels.values())]
        for name, values in texts:
            if not intact(name, values):
                raise InvalidValue(f"{self.path} is damaged: {name} differs from what was written")

    def by_role(self, role: str) -> list[Channel]:
        return [c for c in self.channels.values() if c.metadata.get("role") == role]

    def chunk(self, place: ChunkPlace) -> Chunk:
        return libraries.records.Chunk.read(self._content(place.offset + _HEAD, place.end))

    def messages(self, place: ChunkPlace) -> NDArray[np.uint8]:
        """Uncompressed messages of a chunk; raises `Damaged` if the checksum differs."""
        chunk = self.chunk(place)
        try:
            data = unpacked(chunk.data, chunk.compression, chunk.uncompressed_size)
        except Exception as error:  # each library has errors of its own
            raise Damaged(
                f"the chunk at byte {place.offset} cannot be unpacked: {error}"
            ) from error
        crc = chunk.uncompressed_crc
        if len(data) != chunk.uncompressed_size or (crc and zlib.crc32(data) != crc):
            raise Damaged(f"the chunk at byte {place.offset} differs from what was written")
        return np.frombuffer(data, np.uint8)

    def places(self, data: NDArray[np.uint8]) -> dict[int, MessagePlaces]:
        """Positions of the messages in a chunk by channel; channels that the chunk defines are
        added."""
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
        """Scan the file and index all intact records."""
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
            # Parse the head of the chunk here, since the package would read the whole chunk.
            start, last, size, _, length = struct.unpack_from("<QQQII", self.data, at + _HEAD)
            name = self.data[at + _HEAD + 32 : min(at + _HEAD + 32 + length, end)].decode()
            self.chunks.append(ChunkPlace(at, end, start, last, size, name))
            return
        if op == opcodes.MESSAGE_INDEX:
            (size,) = struct.unpack_from("<I", self.data, at + _HEAD + 2)
            if previous not in (opcodes.CHUNK, op) or at + _HEAD + 6 + size != end:
                raise Damaged("an index refers to no chunk, so a chunk is damaged")
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
        """Handle the footer; raises if the summary before it is damaged."""
        footer = libraries.records.Footer.read(self._content(at + _HEAD, end))
        if self.data[end:] != MAGIC:
            raise Damaged("its end is not where the index says")
        if footer.summary_crc not in (0, zlib.crc32(self.data[footer.summary_start : end - 4])):
            raise Damaged("its summary differs from what was written")
        if self.statistics is not None:
            self.missing = self.statistics.chunk_count - len(self.chunks)
        self.complete = not self.missing


class _Content(io.BytesIO):
    """Stream over the content of a record that raises if the content is too short."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read `size` bytes."""
        if size is not None and size > self.getbuffer().nbytes - self.tell():
            raise Damaged("a record ends too early")
        return super().read(size)


@contextmanager
def open_mcap(path: Path) -> Generator[Contents]:
    """Contents of an MCAP file, open within a block; malformed bytes raise there."""
    with _map_file(path) as data:
        if data[: len(MAGIC)] != MAGIC:
            raise InvalidValue(f"{path} is not a recording: it is not an MCAP file")
        try:
            contents = Contents(path, data)
            contents.follow()
            yield contents
        except (SkidpadError, OSError):
            raise
        except Exception as error:  # from the format, from JSON, or from decoding either
            raise InvalidValue(
                f"{path} is damaged: {error}; `skidpad recover` saves what is intact"
            ) from error


def _map_file(path: Path) -> mmap.mmap:
    try:
        with open_file(path) as file:
            size = file.seek(0, 2)
            if size < len(MAGIC):
                raise InvalidValue(f"{path} is not a recording: it has only {size} bytes")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except SkidpadError:
        raise
    except OSError as error:
        kind = MissingFile if isinstance(error, FileNotFoundError) else InvalidValue
        raise kind(f"cannot read {path}: {error.strerror or error}") from error
