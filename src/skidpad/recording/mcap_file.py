"""An MCAP file being written: chunks go to disk one after the other, the summary at the end.

The records are those of the package `mcap`. Its writer, which takes messages one by one, is not
used, nor that of `foxglove-sdk`: `docs/recording.md` has the figures. So it is here that chunks are
compressed and indexed.

Each chunk reaches the operating system before the next one is begun, so a program that is killed
loses what was not yet handed over and nothing else. A file that is `always_ended` also has a footer
behind each, without a summary, which the next chunk overwrites: readers that insist on one, such as
`rosbags`, open what a program that was killed has left. It is not forced onto the disk: that takes
longer than all the rest together and would help only if the machine itself failed.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import SkidpadError
from ..files import LARGEST_BLOCK
from . import libraries

if TYPE_CHECKING:
    from mcap.records import Channel, Chunk, McapRecord, Schema

MAGIC = b"\x89MCAP0\r\n"
"""At the beginning and at the end of a file."""
LARGEST_CHUNK = LARGEST_BLOCK
"""Bytes of messages in a chunk that is read: a few bytes may claim to be any number of them. What
is recorded has some megabytes, and as many as the occupancy grids of its stage."""
_LEVEL = -5
"""Of the compression. Doubles that all change hardly get smaller: messages of 100 robots shrink by
1.6 at 1 GB/s with this level, by 1.8 at 0.5 GB/s and 2.1 at 0.2 GB/s with the usual levels 1 and
3."""
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
        footer = encoded(libraries.records.DataEnd(0), libraries.records.Footer(0, 0, 0)) + MAGIC
        self._ending = footer if always_ended else b""
        """Behind what was written; the next part is written over it."""
        try:
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise RecordingFailed(_reason(path, error)) from error
        try:
            header = libraries.records.Header(profile, library)
            self._write(MAGIC, encoded(header, *schemas, *channels))
            for name, values in metadata.items():
                self.add_metadata(name, values)
        except RecordingFailed:
            self.close()
            raise

    def add_channel(self, channel: Channel, schema: Schema | None = None) -> None:
        """A channel that messages may be on from now on, with its schema if that is new."""
        added = [schema] if schema is not None else []
        self._write(encoded(*added, channel))
        self._schemas += added
        self._channels.append(channel)

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Texts by name."""
        record, begin = encoded(libraries.records.Metadata(name, dict(values))), self._end
        self._write(record)
        index = libraries.records.MetadataIndex(begin, len(record), name)
        self._metadata_indexes.append(encoded(index))

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
        self._chunk_indexes.append(encoded(chunk_index))
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
        data_end = encoded(records.DataEnd(0))
        begin = self._end + len(data_end)
        offsets: list[McapRecord] = []
        summary = b""
        for group in (
            encoded(*self._schemas),
            encoded(*self._channels),
            encoded(statistics),
            b"".join(self._chunk_indexes),
            b"".join(self._metadata_indexes),
        ):
            if group:
                offsets.append(records.SummaryOffset(group[0], begin + len(summary), len(group)))
                summary += group
        places = begin + len(summary)
        summary += encoded(*offsets)
        # The sum is that of everything from the summary up to itself.
        unsummed = encoded(records.Footer(begin, places, 0))[:-4]
        footer = records.Footer(begin, places, zlib.crc32(summary + unsummed))
        self._ending = b""
        try:
            self._write(data_end, summary, encoded(footer), MAGIC)
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


def encoded(*records: McapRecord) -> bytes:
    """Records one after the other."""
    builder = libraries.data_stream.RecordBuilder()
    for record in records:
        record.write(builder)
    return builder.end()


def _chunk_head(chunk: Chunk) -> bytes:
    """A chunk record up to its data, which the package would copy."""
    head = bytearray(encoded(replace(chunk, data=b"")))
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
