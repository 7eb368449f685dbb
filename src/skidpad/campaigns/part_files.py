"""Parts as Parquet files: written rows after rows, and checked when they are read.

Pages have checksums, columns have digests, and the numbers of the runs are known beforehand: a file
that was cut off or changed is noticed, whoever wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EIO
from hashlib import sha256
from typing import Any, BinaryIO

import numpy as np

from ..arrays import AnyArray
from ..errors import InvalidValue, SkidpadError
from ..extras import require
from .experiment import RUN, Column
from .parts import RUNS, ColumnDigest, Part, UnreadablePart, checked_columns, part_name, range_of
from .places import Place

FORMAT = 1
"""Of what a part says of itself; newer ones are not read."""
GROUP_ROWS = 1 << 16
"""Runs that are read and written at a time."""
_KEY = b"skidpad"
_TAIL = 8
"""Bytes after the footer of a Parquet file: its length, and who it is."""


def arrow_module(name: str) -> Any:
    """A module of Arrow; who lacks it lacks what the extra of campaigns brings."""
    return require(name, purpose="A campaign", extra="campaigns")


def write_part(
    place: Place,
    begin: int,
    end: int,
    columns: Sequence[Column],
    values: Mapping[str, AnyArray],
) -> Part:
    """Write a part, whole or not at all."""
    with place.writing(f"{RUNS}/{part_name(begin, end)}") as file:
        writer = PartFile(file, begin, end, columns, 1)
        with writer:
            writer.add(values)
        return writer.part


@dataclass(frozen=True)
class PartWriter:
    """Writes parts of a campaign from processes that do not hold its folder."""

    place: Place
    columns: tuple[Column, ...]

    def write_part(self, begin: int, end: int, columns: Mapping[str, AnyArray]) -> None:
        """As `Folder.write_part`, without comparing with what is there."""
        values = checked_columns(self.columns, columns, end - begin)
        write_part(self.place, begin, end, self.columns, values)


class PartFile:
    """A part that is being written, rows after rows; `part` says what it is at the end."""

    def __init__(
        self, file: BinaryIO, begin: int, end: int, columns: Sequence[Column], pieces: int
    ) -> None:
        self._arrow = arrow_module("pyarrow")
        parquet = arrow_module("pyarrow.parquet")
        self._file, self._begin, self._end, self._pieces = file, begin, end, pieces
        self._columns = (Column(RUN, "", "number of the run", "count"), *columns)
        self._digests = {column.name: ColumnDigest() for column in columns}
        self._waiting: list[dict[str, AnyArray]] = []
        self._next = begin
        self._schema = self._arrow.schema([self._field(column) for column in self._columns])
        self._writer: Any = parquet.ParquetWriter(
            file,
            self._schema,
            compression="zstd",
            use_dictionary=False,  # measured numbers hardly repeat
            column_encoding={RUN: "DELTA_BINARY_PACKED"},
            write_page_checksum=True,
        )
        self.part: Part

    def __enter__(self) -> PartFile:
        return self

    def add(self, values: Mapping[str, AnyArray]) -> None:
        """The next rows."""
        rows = 0
        for name, digest in self._digests.items():
            digest.add(values[name])
            rows = len(values[name])
        runs = np.arange(self._next, self._next + rows, dtype=np.int64)
        self._next += rows
        self._waiting.append({RUN: runs, **{name: values[name] for name in self._digests}})
        waiting = sum(len(rows[RUN]) for rows in self._waiting)
        if waiting >= GROUP_ROWS:
            self._write(waiting - waiting % GROUP_ROWS)

    def _write(self, count: int | None = None) -> None:
        """Write so many of the rows that wait, in whole groups; all if None."""
        names = [column.name for column in self._columns]
        joined = {name: np.concatenate([rows[name] for rows in self._waiting]) for name in names}
        table = self._arrow.table([joined[name][:count] for name in names], schema=self._schema)
        self._writer.write_table(table, row_group_size=GROUP_ROWS)
        rest = {name: joined[name][count:] for name in names} if count is not None else {}
        self._waiting = [rest] if rest and len(rest[RUN]) else []

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            with suppress(Exception):
                self._writer.close()
            self._writer.is_open = False  # else it tries again when it is freed
            return
        try:
            self._finish()
        finally:
            self._writer.is_open = False

    def _finish(self) -> None:
        assert self._next == self._end, "a part has all runs of its range"
        if self._waiting:
            self._write()
        about = {
            "format": FORMAT,
            "begin": self._begin,
            "end": self._end,
            "pieces": self._pieces,
            "digests": {name: digest.text() for name, digest in self._digests.items()},
        }
        self._writer.add_key_value_metadata({_KEY: json.dumps(about).encode()})
        self._writer.close()
        size, footer = _footer(self._file)
        names = frozenset(self._digests)
        self.part = Part(self._begin, self._end, names, self._pieces, size, footer)

    def _field(self, column: Column) -> Any:
        arrow = self._arrow
        types = {"truth": arrow.bool_(), "count": arrow.int64(), "number": arrow.float64()}
        notes = {"unit": column.unit, "meaning": column.meaning}
        return arrow.field(column.name, types[column.kind], nullable=False, metadata=notes)


def inspect_part(place: Place, name: str) -> Part:
    """What a file in the folder of parts is; raises `UnreadablePart` if it is none."""
    begin, end = range_of(name) or (0, 0)
    with _opened(place, f"{RUNS}/{name}") as (file, parquet):
        size, footer = _footer(file)
        about = _about(parquet, begin, end)
        return Part(begin, end, frozenset(about["digests"]), int(about["pieces"]), size, footer)


def read_part(
    place: Place, part: Part, names: Sequence[str], begin: int, end: int
) -> Iterator[dict[str, AnyArray]]:
    """Columns of a part's runs from `begin` to `end`, some at a time, always with `run`.

    What is read is checked: pages by their checksums, the numbers of the runs one by one, and
    columns by their digests where they are read from first to last. Of a part of one group nothing
    is given away before all of it is known to be right.
    """
    wanted = [name for name in names if name != RUN]
    whole = begin <= part.begin and end >= part.end
    digests = {name: ColumnDigest() for name in wanted} if whole else {}
    with _opened(place, part.file) as (file, parquet):
        if _footer(file) != (part.size, part.footer):
            raise UnreadablePart(f"{place.shown(part.file)} is not the file that was written")
        about = _about(parquet, part.begin, part.end)
        first = part.begin
        waiting: dict[str, AnyArray] | None = None
        for group in range(parquet.num_row_groups):
            last = first + parquet.metadata.row_group(group).num_rows
            if first < end and last > begin:
                rows = _rows(parquet, group, wanted, first)
                for name, digest in digests.items():
                    digest.add(rows[name])
                if waiting is not None:
                    yield waiting
                waiting = _cut(rows, max(begin - first, 0), end - first)
            first = last
        for name, digest in digests.items():
            if digest.text() != about["digests"].get(name):
                raise ValueError(f"column {name} has other numbers than were written")
        if waiting is not None:
            yield waiting


def _cut(rows: dict[str, AnyArray], low: int, high: int) -> dict[str, AnyArray]:
    return {name: values[low:high] for name, values in rows.items()}


def _rows(parquet: Any, group: int, names: Sequence[str], first: int) -> dict[str, AnyArray]:
    table = parquet.read_row_group(group, columns=[RUN, *names], use_threads=False)
    rows = {name: _array(table, name) for name in (RUN, *names)}
    if not np.array_equal(rows[RUN], np.arange(first, first + table.num_rows)):
        raise ValueError("it has other runs than its name says")
    return rows


def _array(table: Any, name: str) -> AnyArray:
    column = table.column(name)
    if column.null_count:
        raise ValueError(f"column {name} has rows without a value")
    return column.to_numpy()


def _about(parquet: Any, begin: int, end: int) -> dict[str, Any]:
    """What a part says of itself, if it is the part of this range."""
    notes = (parquet.metadata.metadata or {}).get(_KEY)
    if notes is None:
        raise ValueError("it is not a part of a campaign")
    about = json.loads(notes)
    if about["format"] > FORMAT:
        raise InvalidValue(f"it was written by a newer skidpad (format {about['format']})")
    rows = parquet.metadata.num_rows
    if (about["begin"], about["end"]) != (begin, end) or rows != end - begin:
        raise ValueError(
            f"it has {rows} runs from {about['begin']} to {about['end'] - 1}, not those of its name"
        )
    if {RUN, *about["digests"]} != set(parquet.schema_arrow.names):
        raise ValueError("it has other columns than were written")
    return about


def _footer(file: BinaryIO) -> tuple[int, str]:
    """Size of a Parquet file and digest of its end."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    length = int.from_bytes(tail[:4], "little") + _TAIL
    if tail[4:] != b"PAR1" or length > size:
        raise ValueError("it is cut off")
    file.seek(size - length)
    return size, sha256(file.read(length)).hexdigest()[:32]


@contextmanager
def _opened(place: Place, name: str) -> Generator[tuple[BinaryIO, Any]]:
    """A Parquet file; errors name it, and say whether it is damaged or only out of reach."""
    parquet = arrow_module("pyarrow.parquet")
    arrow = arrow_module("pyarrow")
    try:
        with place.open(name) as file:
            _footer(file)
            with parquet.ParquetFile(
                file, page_checksum_verification=True, pre_buffer=False
            ) as opened:
                yield file, opened
    except SkidpadError as error:
        if type(error) is InvalidValue:
            raise InvalidValue(f"{place.shown(name)} cannot be read: {error}") from error
        raise
    except MemoryError as error:
        raise InvalidValue(f"{place.shown(name)} cannot be read: no memory") from error
    except FileNotFoundError as error:
        raise UnreadablePart(f"{place.shown(name)} is gone") from error
    except (ValueError, KeyError, TypeError, arrow.ArrowException) as error:
        raise UnreadablePart(f"{place.shown(name)} is damaged: {_reason(error)}") from error
    except OSError as error:
        # Arrow's word for bytes that make no sense has no number.
        if (type(error) is OSError and error.errno is None) or error.errno == EIO:
            raise UnreadablePart(f"{place.shown(name)} is damaged: {_reason(error)}") from error
        raise InvalidValue(f"{place.shown(name)} cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """In one line; Arrow has several."""
    return " ".join(f"{getattr(error, 'strerror', None) or error}".split())[:300]
