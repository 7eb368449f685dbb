"""A recording being written: chunks go to disk one after the other, the summary at the end.

Each chunk reaches the operating system before the next one is begun, so a program that is killed
loses what was not yet handed over and nothing else. It is not forced onto the disk: that takes
longer than all the rest together and would help only if the machine itself failed.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import SkidpadError
from . import records
from .records import Channel, ChunkHead, ChunkIndex, Indexed, Op, Schema, Statistics

COMPRESSION = "zstd"
_LEVEL = -5
"""Of the compression. Doubles that all change hardly get smaller: messages of 100 robots shrink by
1.6 at 1 GB/s with this level, by 1.8 at 0.5 GB/s and 2.1 at 0.2 GB/s with the usual levels 1 and
3."""


class RecordingFailed(SkidpadError, OSError):
    """A recording could not be written; what had been written before can be read."""


class RecordingFile:
    """A file that messages are added to in chunks.

    Args:
        path: where; what is there is replaced.
        schemas, channels: all that there will be.
        metadata: records at the beginning, by name.
    """

    def __init__(
        self,
        path: Path,
        schemas: Sequence[Schema],
        channels: Sequence[Channel],
        metadata: Mapping[str, Mapping[str, str]],
        *,
        library: str,
    ) -> None:
        import zstandard

        self.path = path
        self._schemas, self._channels = schemas, channels
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
        self._chunks: list[bytes] = []
        self._metadata: list[bytes] = []
        self._counts: dict[int, int] = {}
        self._span: tuple[int, int] | None = None
        try:
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise RecordingFailed(_reason(path, error)) from error
        self._end = 0
        try:
            self._put(
                records.MAGIC,
                records.header("", library),
                *(records.schema(s) for s in schemas),
                *(records.channel(c) for c in channels),
            )
            for name, values in metadata.items():
                self.add_metadata(name, values)
        except RecordingFailed:
            self.close()
            raise

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Texts by name."""
        made = records.metadata(name, values)
        self._metadata.append(records.metadata_index(name, self._end, len(made)))
        self._put(made)

    def add_chunk(self, data: NDArray[np.uint8], parts: Sequence[Indexed]) -> None:
        """Message records one after the other, and where each of them is."""
        stored = self._compressor.compress(data.data)
        start = min(int(part.times.min()) for part in parts)
        end = max(int(part.times.max()) for part in parts)
        # 0: none. The compressed frame has a checksum of its own, at a tenth of the cost.
        head = ChunkHead(start, end, data.size, 0, COMPRESSION)
        self.add_stored(head, stored, parts)

    def add_stored(self, head: ChunkHead, stored: bytes, parts: Sequence[Indexed]) -> None:
        """A chunk whose messages are compressed already."""
        opening = records.chunk_head(head, len(stored))
        begin, length = self._end, len(opening) + len(stored)
        at, indexes = begin + length, dict[int, int]()
        made: list[NDArray[np.uint8]] = []
        for part in parts:
            rows = records.message_indexes(part)
            made.append(rows.reshape(-1))
            places = at + np.arange(len(rows)) * rows.shape[1]
            indexes.update(zip(part.channels.tolist(), places.tolist(), strict=True))
            at += rows.size
        self._put(opening, stored, *(rows.data for rows in made))
        index = ChunkIndex(head, begin, length, indexes, at - begin - length, len(stored))
        self._chunks.append(records.chunk_index(index))
        for part in parts:
            for number in part.channels.tolist():
                self._counts[number] = self._counts.get(number, 0) + len(part.times)
        span = self._span or (head.start, head.end)
        self._span = min(span[0], head.start), max(span[1], head.end)

    def finish(self) -> None:
        """Write the summary and close the file."""
        start, end = self._span or (0, 0)
        stats = Statistics(
            len(self._schemas),
            len(self._channels),
            len(self._metadata),
            len(self._chunks),
            start,
            end,
            self._counts,
        )
        data_end = records.data_end()
        begin = self._end + len(data_end)
        summary, places = records.grouped(
            [
                (Op.SCHEMA, [records.schema(s) for s in self._schemas]),
                (Op.CHANNEL, [records.channel(c) for c in self._channels]),
                (Op.STATISTICS, [records.statistics(stats)]),
                (Op.CHUNK_INDEX, self._chunks),
                (Op.METADATA_INDEX, self._metadata),
            ],
            begin,
        )
        footer = struct.pack("<BQQQ", Op.FOOTER, 20, begin, begin + len(summary))
        crc = zlib.crc32(footer, zlib.crc32(places, zlib.crc32(summary)))
        self._put(data_end, summary, places, footer, struct.pack("<I", crc), records.MAGIC)
        self.close()

    def close(self) -> None:
        """Close the file as it is, without a summary."""
        try:
            self._file.close()
        except OSError as error:
            raise RecordingFailed(_reason(self.path, error)) from error

    @property
    def closed(self) -> bool:
        """Whether nothing more can be written."""
        return self._file.closed

    def _put(self, *parts: bytes | memoryview) -> None:
        """Write all of it, or leave the file as it was."""
        try:
            for part in parts:
                left = memoryview(part).cast("B")
                while left:
                    left = left[self._file.write(left) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.seek(self._end)
                self._file.truncate()
            raise RecordingFailed(_reason(self.path, error)) from error
        self._end = self._file.tell()


def _reason(path: Path, error: OSError) -> str:
    return f"cannot record to {os.fspath(path)}: {error.strerror or error}"
