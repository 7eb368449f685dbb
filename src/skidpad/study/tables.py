"""The runs of a campaign as one table of Parquet parts.

A part is a file with all columns of a range of runs. Its name and its metadata state the range, and
it has a digest of every column, so the parts alone determine which runs are finished and whether
they are intact. Pages have checksums, columns have digests, and the run numbers are known: a file
that was truncated or changed is detected.

Parts may overlap if a chunk was executed twice, or if a merge was interrupted between writing the
merged part and deleting its sources. All contain the same values, so any of them may be read;
`covering` chooses. Small parts are merged level by level (`next_group`).

`Manifest` caches the properties of the files, so that they need not be opened, and has the notes.
Everything but the notes can be recovered from the files.

`RunTable` manages the parts: it lists, reads in order, merges, and sets aside damaged ones. Its
list of parts follows the files, since other processes may write parts, and parts appear and
disappear while the campaign runs.
"""

from __future__ import annotations

import json
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from errno import EIO
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ..core.arrays import AnyArray
from ..core.files import counted
from ..errors import InvalidValue, SkidpadError, require
from .experiment import RUN, Column
from .storage import Storage

RUNS = "runs"
_NAME = re.compile(r"part-(\d{12,18})-(\d{12,18})\.parquet")


class UnreadablePart(InvalidValue):
    """A file is not the expected part: it is truncated, changed, or something else."""


class Part(NamedTuple):
    """Description of a part without its contents."""

    begin: int
    end: int
    columns: frozenset[str]
    """Names of the columns, without the run number."""
    pieces: int
    """Number of original parts that were merged into it; 1 for a part that was written
    directly."""
    size: int
    """Size of the file in bytes."""
    footer: str
    """Digest of the file's footer, which contains the digests of all columns."""

    @property
    def file(self) -> str:
        """Path in the storage."""
        return f"{RUNS}/{part_name(self.begin, self.end)}"


def part_name(begin: int, end: int) -> str:
    return f"part-{begin:012d}-{end:012d}.parquet"


def range_of(name: str) -> tuple[int, int] | None:
    """Range of runs from the file name of a part; None for any other name."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    begin, end = int(match[1]), int(match[2])
    return (begin, end) if begin < end and part_name(begin, end) == name else None


class ColumnDigest:
    """Digest of a sequence of numbers, however it is split; all NaN count as the same."""

    def __init__(self) -> None:
        self._hash = sha256()

    def add(self, values: AnyArray) -> None:
        if values.dtype == np.float64:
            values = np.where(np.isnan(values), np.nan, values)
        self._hash.update(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data)

    def text(self) -> str:
        return self._hash.hexdigest()


def checked_columns(
    columns: Sequence[Column], arrays: Mapping[str, Any], rows: int
) -> dict[str, AnyArray]:
    """Columns of a part in the types of the file; raises unless they match."""
    for name in arrays:
        if all(name != column.name for column in columns):
            raise InvalidValue(f"{name}: the campaign has no such column")
    checked: dict[str, AnyArray] = {}
    for name, _, _, kind in columns:
        if name not in arrays:
            raise InvalidValue(f"{name}: a part must have this column")
        values = np.asarray(arrays[name])
        kinds, contents = ("b", "true or false") if kind == "truth" else ("fiu", "real numbers")
        if values.shape != (rows,) or values.dtype.kind not in kinds:
            raise InvalidValue(
                f"{name}: {values.dtype} of shape {values.shape} must be {contents} of shape "
                f"({rows},)"
            )
        checked[name] = values if kind == "truth" else np.asarray(values, np.float64)
    return checked


FORMAT = 1
"""Version of the metadata of a part; newer versions are not read."""
GROUP_ROWS = 1 << 16
"""Number of runs that are read and written at a time."""
_KEY = b"skidpad"
_TAIL = 8
"""Bytes after the footer of a Parquet file: its length and the magic number."""


def arrow_module(name: str) -> Any:
    """Import a module of Arrow; the error message names the extra that installs it."""
    return require(name, purpose="A campaign", extra="campaigns")


def write_part(
    storage: Storage,
    begin: int,
    end: int,
    columns: Sequence[Column],
    values: Mapping[str, AnyArray],
) -> Part:
    """Write a part atomically."""
    with storage.writing(f"{RUNS}/{part_name(begin, end)}") as file:
        writer = PartFile(file, begin, end, columns, 1)
        with writer:
            writer.add(values)
        return writer.part


@dataclass(frozen=True)
class PartWriter:
    """Writes parts of a campaign from processes that do not have the lock of its folder."""

    storage: Storage
    columns: tuple[Column, ...]

    def write_part(self, begin: int, end: int, columns: Mapping[str, AnyArray]) -> None:
        """Write a part as `Folder.write_part` does, without comparing with existing runs."""
        values = checked_columns(self.columns, columns, end - begin)
        write_part(self.storage, begin, end, self.columns, values)


class PartFile:
    """A part that is being written group by group; `part` describes it at the end."""

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
        types = {
            "truth": self._arrow.bool_(),
            "count": self._arrow.int64(),
            "number": self._arrow.float64(),
        }
        self._schema = self._arrow.schema(
            self._arrow.field(
                one.name,
                types[one.kind],
                nullable=False,
                metadata={"unit": one.unit, "meaning": one.meaning},
            )
            for one in self._columns
        )
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
        """Write the first `count` of the buffered rows, in whole groups; all if None."""
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
            self._writer.is_open = False  # otherwise it would be closed again when it is freed
            return
        try:
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
        finally:
            self._writer.is_open = False


def inspect_part(storage: Storage, name: str) -> Part:
    """Read the description of a part; raises `UnreadablePart` if the file is not a part."""
    begin, end = range_of(name) or (0, 0)
    with _opened(storage, f"{RUNS}/{name}") as (file, parquet):
        size, footer = _footer(file)
        about = _metadata(parquet, begin, end)
        return Part(begin, end, frozenset(about["digests"]), int(about["pieces"]), size, footer)


def read_part(
    storage: Storage, part: Part, names: Sequence[str], begin: int, end: int
) -> Iterator[dict[str, AnyArray]]:
    """Iterate over columns of a part's runs from `begin` to `end - 1` in batches, always with
    `run`.

    All data are verified: pages by their checksums, run numbers one by one, and columns by their
    digests when they are read completely. The last group is yielded only after all of it is
    verified.
    """
    wanted = [name for name in names if name != RUN]
    whole = begin <= part.begin and end >= part.end
    digests = {name: ColumnDigest() for name in wanted} if whole else {}
    with _opened(storage, part.file) as (file, parquet):
        if _footer(file) != (part.size, part.footer):
            raise UnreadablePart(
                f"{storage.shown(part.file)} differs from the file that was written"
            )
        about = _metadata(parquet, part.begin, part.end)
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
                kept = slice(max(begin - first, 0), end - first)
                waiting = {name: values[kept] for name, values in rows.items()}
            first = last
        for name, digest in digests.items():
            if digest.text() != about["digests"].get(name):
                raise ValueError(f"column {name} has values that differ from those written")
        if waiting is not None:
            yield waiting


def _rows(parquet: Any, group: int, names: Sequence[str], first: int) -> dict[str, AnyArray]:
    table = parquet.read_row_group(group, columns=[RUN, *names], use_threads=False)
    rows: dict[str, AnyArray] = {}
    for name in (RUN, *names):
        column = table.column(name)
        if column.null_count:
            raise ValueError(f"column {name} has rows without a value")
        rows[name] = column.to_numpy()
    if not np.array_equal(rows[RUN], np.arange(first, first + table.num_rows)):
        raise ValueError("its runs differ from those in its name")
    return rows


def _metadata(parquet: Any, begin: int, end: int) -> dict[str, Any]:
    """Metadata of a part with this range; raises if the file contains something else."""
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
        raise ValueError("its columns differ from those written")
    return about


def _footer(file: BinaryIO) -> tuple[int, str]:
    """Size in bytes of a Parquet file, and digest of its footer."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    length = int.from_bytes(tail[:4], "little") + _TAIL
    if tail[4:] != b"PAR1" or length > size:
        raise ValueError("it is cut off")
    file.seek(size - length)
    return size, sha256(file.read(length)).hexdigest()[:32]


@contextmanager
def _opened(storage: Storage, name: str) -> Generator[tuple[BinaryIO, Any]]:
    """Open a Parquet file; errors name it and say whether it is damaged or cannot be reached."""
    parquet = arrow_module("pyarrow.parquet")
    arrow = arrow_module("pyarrow")
    try:
        with storage.open(name) as file:
            _footer(file)
            with parquet.ParquetFile(
                file, page_checksum_verification=True, pre_buffer=False
            ) as opened:
                yield file, opened
    except SkidpadError as error:
        if type(error) is InvalidValue:
            raise InvalidValue(f"{storage.shown(name)} cannot be read: {error}") from error
        raise
    except MemoryError as error:
        raise InvalidValue(f"{storage.shown(name)} cannot be read: out of memory") from error
    except FileNotFoundError as error:
        raise UnreadablePart(f"{storage.shown(name)} no longer exists") from error
    except (ValueError, KeyError, TypeError, arrow.ArrowException) as error:
        raise UnreadablePart(f"{storage.shown(name)} is damaged: {_reason(error)}") from error
    except OSError as error:
        # Arrow's error for malformed bytes has no errno.
        if (type(error) is OSError and error.errno is None) or error.errno == EIO:
            raise UnreadablePart(f"{storage.shown(name)} is damaged: {_reason(error)}") from error
        raise InvalidValue(f"{storage.shown(name)} cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Text of an error on one line, as messages of Arrow have several lines."""
    return " ".join(f"{getattr(error, 'strerror', None) or error}".split())[:300]


LEVEL = 64
"""Number of parts that are merged into one; 64 merged parts are merged again, and so on."""
LARGEST = 128 << 20
"""Size in bytes above which a part is not merged any more."""


class Segment(NamedTuple):
    """Consecutive runs that are read from one part."""

    begin: int
    end: int
    part: Part


def covering(
    parts: Iterable[Part], names: Iterable[str], begin: int, end: int | None
) -> list[Segment]:
    """Segments, in order and without overlaps, that cover the runs with all columns in `names`."""
    wanted = frozenset(names)
    able = sorted(
        (part for part in parts if wanted <= part.columns), key=lambda part: (part.begin, -part.end)
    )
    segments: list[Segment] = []
    for part in able:
        low, high = max(begin, part.begin), part.end if end is None else min(end, part.end)
        if low < high:
            segments.append(Segment(low, high, part))
            begin = high
    return segments


def gaps(segments: Sequence[Segment], begin: int, end: int) -> list[tuple[int, int]]:
    """Ranges of runs that no segment covers."""
    missing: list[tuple[int, int]] = []
    for segment in segments:
        if segment.begin > begin:
            missing.append((begin, segment.begin))
        begin = segment.end
    if begin < end:
        missing.append((begin, end))
    return missing


def superseded(parts: Sequence[Part], names: Iterable[str]) -> list[Part]:
    """Redundant parts, whose runs other parts contain with all columns."""
    columns = frozenset(names)
    segments = covering(parts, columns, 0, None)
    used = {segment.part for segment in segments}

    def is_covered(part: Part) -> bool:
        first = bisect_right(segments, part.begin, key=lambda segment: segment.end)
        last = bisect_left(segments, part.end, key=lambda segment: segment.begin)
        return not gaps(segments[first:last], part.begin, part.end)

    return [part for part in parts if part not in used and is_covered(part)]


def next_group(segments: Sequence[Segment]) -> list[Segment]:
    """Adjacent segments to merge next; empty if there is nothing to merge.

    At each level, parts of less than 64, 64², ... pieces are merged when they have that number of
    pieces together, or are large. A piece is rewritten once per level.
    """
    total = sum(segment.part.pieces for segment in segments)
    fine = LEVEL
    while fine <= total or fine == LEVEL:
        group: list[Segment] = []
        pieces = size = 0
        for segment in segments:
            part = segment.part
            stays = part.pieces >= fine or part.size >= LARGEST
            if stays or (group and group[-1].end != segment.begin):
                group, pieces, size = [], 0, 0
            if stays:
                continue
            group.append(segment)
            pieces, size = pieces + part.pieces, size + part.size
            if len(group) > 1 and (pieces >= fine or size >= LARGEST):
                return group
        fine *= LEVEL
    return []


MANIFEST = "manifest.json"


@dataclass
class Manifest:
    parts: dict[str, Part] = field(default_factory=dict[str, Part])
    """Parts by file name."""
    damaged: dict[str, str] = field(default_factory=dict[str, str])
    """Reasons why files were set aside, by file name."""
    notes: dict[str, Any] = field(default_factory=dict[str, Any])
    """Plain values by name."""

    def to_bytes(self) -> bytes:
        sets = sorted({tuple(sorted(part.columns)) for part in self.parts.values()})
        numbers = {frozenset(names): k for k, names in enumerate(sets)}
        parts = [
            [part.begin, part.end, numbers[part.columns], part.pieces, part.size, part.footer]
            for part in sorted(self.parts.values())
        ]
        content = {"format": FORMAT, "notes": self.notes, "damaged": self.damaged}
        return plain_json(MANIFEST, content | {"columns": sets, "parts": parts}, indent=None)

    @classmethod
    def from_bytes(cls, data: bytes, source: str) -> Manifest:
        """Parse a manifest; raises a ValueError other than `InvalidValue` if it is malformed."""
        content = json.loads(data)
        if content["format"] > FORMAT:
            raise InvalidValue(
                f"{source} was written by a newer skidpad (format {content['format']}, known is "
                f"{FORMAT}): install that to read it"
            )
        sets = [frozenset[str](names) for names in content["columns"]]
        parts: dict[str, Part] = {}
        for begin, end, columns, pieces, size, footer in content["parts"]:
            name = part_name(begin, end)
            if range_of(name) is None:
                raise ValueError(f"{name} is not a part of a campaign")
            parts[name] = Part(begin, end, sets[columns], pieces, size, footer)
        return cls(parts, dict(content["damaged"]), dict(content["notes"]))


def plain_json(name: str, value: Any, indent: int | None = 1) -> bytes:
    """A value as JSON, NumPy scalars included; raises if it has no such form."""

    def convert(part: Any) -> Any:
        if isinstance(part, np.generic | np.ndarray):
            return part.tolist()
        if isinstance(part, Mapping):
            return dict(part)
        raise TypeError(f"a {type(part).__name__} has no JSON form")

    try:
        return json.dumps(value, indent=indent, default=convert).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValue(f"{name} must be plain values that JSON has: {error}") from error


TRAJECTORIES = "trajectories"
_TRAJECTORY_NAME = re.compile(r"run-(\d{12,18})\.parquet")


def trajectory_name(run: int) -> str:
    return f"run-{run:012d}.parquet"


def run_of(name: str) -> int | None:
    """Run number from the name of a trajectory file; None for any other name."""
    match = _TRAJECTORY_NAME.fullmatch(name)
    return int(match[1]) if match else None


DAMAGED = "damaged"
_LOOKS = 20
"""Number of attempts to list the files without changes by other processes in the meantime."""
_UNSAVED = 64
"""Largest number of parts missing from the manifest, which must be opened after a crash."""


class RunsDiffer(InvalidValue):
    """Repeated runs gave other values; nothing was changed."""


class DamagedPart(UserWarning):
    """A file of a campaign cannot be read; its runs count as missing."""


class RunTable:
    """Table of the runs in a storage, made of its parts.

    Args:
        storage: storage of the campaign.
        columns: the columns that every run should have.
        may_write: function that returns whether files may be changed at present.
    """

    def __init__(
        self, storage: Storage, columns: tuple[Column, ...], may_write: Callable[[], bool]
    ) -> None:
        self._storage, self._columns, self._may_write = storage, columns, may_write
        self._names = tuple(column.name for column in columns)
        self._unreadable: dict[str, tuple[int, str]] = {}
        """Sizes in bytes of damaged files that are still in place, and the reasons, by name."""
        self._manifest = self._read_manifest()
        self._parts = dict(self._manifest.parts)
        self.listed()
        if may_write():
            self._drop(superseded(list(self._parts.values()), self._names))

    def listed(self) -> list[Part]:
        for _ in range(_LOOKS):
            sizes = self._storage.sizes(RUNS)
            self._parts = self._known(sizes)
            # A concurrent merge may hide both the parts it made and those it removed, so list until
            # nothing moves. Only the process that holds the lock removes parts.
            if self._may_write() or self._storage.sizes(RUNS) == sizes:
                break
        return list(self._parts.values())

    def _known(self, sizes: Mapping[str, int]) -> dict[str, Part]:
        parts: dict[str, Part] = {}
        for name, size in sizes.items():
            if range_of(name) is None or self._unreadable.get(name, (-1, ""))[0] == size:
                continue
            part = self._parts.get(name)
            if part is None or part.size != size:
                part = self._inspected(name, size)
            if part is not None:
                parts[name] = part
        return parts

    def _inspected(self, name: str, size: int) -> Part | None:
        try:
            return inspect_part(self._storage, name)
        except UnreadablePart as error:
            if not _is_gone(error):  # merged meanwhile
                self.set_aside(RUNS, name, size, str(error))
            return None

    def batches(
        self, names: tuple[str, ...], begin: int, end: int | None
    ) -> Iterator[dict[str, AnyArray]]:
        """Iterate over columns of runs, in order.

        A reader skips a part that turns out to be damaged, unless some of it was yielded already. A
        writer raises, since the runs must be repeated first.
        """
        wanted = [name for name in names if name != RUN]
        self.listed()
        while True:
            segments = covering(self._parts.values(), wanted, begin, end)
            for segment in segments:
                try:
                    for rows in self._read(segment, wanted):
                        begin = int(rows[RUN][-1]) + 1
                        yield {name: rows[name] for name in names}
                except _Changed:
                    break
                except UnreadablePart:
                    if self._may_write() or begin > segment.begin:
                        raise
                    break
            else:
                return

    def _read(self, segment: Segment, names: Sequence[str]) -> Iterator[dict[str, AnyArray]]:
        """Rows of a part; raises `_Changed` if another process has replaced or merged it."""
        begin, end, part = segment
        try:
            yield from read_part(self._storage, part, names, begin, end)
        except UnreadablePart as error:
            name = part_name(part.begin, part.end)
            self._parts.pop(name, None)
            if not self._may_write() and self._is_another(part):
                self.listed()
                raise _Changed from error
            if not _is_gone(error):
                self.set_aside(RUNS, name, part.size, str(error))
            raise UnreadablePart(
                f"{error}. Its runs count as missing: run the campaign again to repeat them"
            ) from error

    def _is_another(self, part: Part) -> bool:
        """Whether the file of this part is missing or contains another intact part."""
        try:
            return inspect_part(self._storage, part_name(part.begin, part.end)) != part
        except UnreadablePart as error:
            return _is_gone(error)

    def write(self, begin: int, end: int, columns: Mapping[str, AnyArray]) -> None:
        values = checked_columns(self._columns, columns, end - begin)
        self._check_same(begin, end, values)
        name = part_name(begin, end)
        if name in self._manifest.parts:
            # The manifest must not describe the file that is replaced.
            del self._manifest.parts[name]
            self._write_manifest()
        self._parts[name] = write_part(self._storage, begin, end, self._columns, values)
        self._unreadable.pop(name, None)
        if len(self._parts.keys() - self._manifest.parts.keys()) >= _UNSAVED:
            self.save()

    def _check_same(self, begin: int, end: int, values: Mapping[str, AnyArray]) -> None:
        """Raise `RunsDiffer` if existing runs have other values."""
        for part in [p for p in self._parts.values() if p.begin < end and p.end > begin]:
            shared = [name for name in self._names if name in part.columns]
            low, high = max(begin, part.begin), min(end, part.end)
            try:
                for rows in self._read(Segment(low, high, part), shared):
                    self._compare(rows, values, shared, begin)
            except UnreadablePart:
                continue  # nothing is left to compare with

    def _compare(
        self,
        rows: Mapping[str, AnyArray],
        values: Mapping[str, AnyArray],
        names: Sequence[str],
        begin: int,
    ) -> None:
        runs = rows[RUN]
        for name in names:
            before, now = rows[name], values[name][runs[0] - begin : runs[-1] + 1 - begin]
            different = np.flatnonzero(_bits(before) != _bits(now))
            if len(different):
                k = int(different[0])
                raise RunsDiffer(
                    f"{self._storage.path}: run {runs[k]} has {name} = {before[k]!r} in the folder "
                    f"and {now[k]!r} now: what is run has changed, or depends on more than a run's "
                    "number, factors and seed"
                )

    def merge(self) -> None:
        """Merge small parts into large ones, and delete redundant parts."""
        self._drop(superseded(self.listed(), self._names))
        while group := next_group(covering(self._parts.values(), self._names, 0, None)):
            self._merge(group)
        self.save()

    def _merge(self, group: Sequence[Segment]) -> None:
        begin, end = group[0].begin, group[-1].end
        name, pieces = part_name(begin, end), sum(segment.part.pieces for segment in group)
        with self._storage.writing(f"{RUNS}/{name}") as file:
            writer = PartFile(file, begin, end, self._columns, pieces)
            with writer:
                for segment in group:
                    for rows in self._read(segment, self._names):
                        writer.add(rows)
        self._parts[name] = writer.part
        self._drop(superseded(list(self._parts.values()), self._names))

    def _drop(self, parts: Sequence[Part]) -> None:
        for part in parts:
            self._storage.remove(part.file)
            self._parts.pop(part_name(part.begin, part.end), None)

    def verify(self) -> None:
        """Read all parts to find damaged ones, which are recorded or set aside."""
        for part in self.listed():
            try:
                for _ in self._read(Segment(part.begin, part.end, part), sorted(part.columns)):
                    pass
            except (_Changed, UnreadablePart):
                continue

    def damage(self) -> list[str]:
        """One sentence for each file that could not be read."""
        aside = self._storage.sizes(DAMAGED)
        reasons = {name: reason for name, (_, reason) in self._unreadable.items()}
        known = self._manifest.damaged if self._may_write() else self._read_manifest().damaged
        reasons |= {name: known.get(name, f"{name} is damaged") for name in aside}
        parts = self.listed()
        return [f"{reason}{self._fate(name, parts)}" for name, reason in sorted(reasons.items())]

    def _fate(self, name: str, parts: Iterable[Part]) -> str:
        runs = range_of(name)
        if runs is None:
            if run_of(name) is None:
                return ""
            exists = name not in self._unreadable and self._storage.exists(f"{TRAJECTORIES}/{name}")
            return "; it has been made again" if exists else "; the next run makes it again"
        lost = gaps(covering(parts, self._names, *runs), *runs)
        count = sum(end - begin for begin, end in lost)
        if not count:
            return "; its runs have been done again"
        return f"; {counted(count, 'run')} of it {'counts' if count == 1 else 'count'} as missing"

    def set_aside(self, folder: str, name: str, size: int, reason: str) -> None:
        """Move a damaged file away, or ignore it if files must not be changed."""
        if self._may_write():
            self._storage.move(f"{folder}/{name}", f"{DAMAGED}/{name}")
            self._manifest.damaged[name] = reason
            self.save()
        else:
            self._unreadable[name] = size, reason
        others = [part for other, part in self._parts.items() if other != name]
        warnings.warn(f"{reason}{self._fate(name, others)}", DamagedPart, stacklevel=2)

    def note(self, name: str, value: Any) -> None:
        """Store a plain value under a name in the manifest."""
        before = dict(self._manifest.notes)
        self._manifest.notes[name] = json.loads(plain_json(f"note {name!r}", value))
        try:
            self.save()
        except BaseException:
            self._manifest.notes = before
            raise

    def notes(self) -> dict[str, Any]:
        """Notes by name; read again if another process may write to the folder."""
        return dict(self._manifest.notes if self._may_write() else self._read_manifest().notes)

    def forget_notes(self) -> None:
        """Delete all notes, which belong to another plan."""
        self._manifest.notes.clear()
        self._write_manifest()

    def save(self) -> None:
        self._manifest.parts = dict(self._parts)
        self._write_manifest()

    def _write_manifest(self) -> None:
        self._storage.write(MANIFEST, self._manifest.to_bytes())

    def _read_manifest(self) -> Manifest:
        """Read the manifest; a damaged one is set aside, as all but its notes can be recovered."""
        if not self._storage.exists(MANIFEST):
            return Manifest()
        source = self._storage.shown(MANIFEST)
        try:
            return Manifest.from_bytes(self._storage.read(MANIFEST), source)
        except InvalidValue:
            raise
        except (ValueError, KeyError, TypeError, IndexError) as error:
            reason = (
                f"{source} is damaged: {error}; all but its notes is made again by the next run"
            )
            if MANIFEST not in self._unreadable:
                warnings.warn(reason, DamagedPart, stacklevel=2)
            if not self._may_write():
                self._unreadable[MANIFEST] = -1, reason
                return Manifest()
            self._storage.move(MANIFEST, f"{DAMAGED}/{MANIFEST}")
            return Manifest(damaged={MANIFEST: reason})


class _Changed(Exception):
    """Another process replaced or merged a part before it was read."""


def _is_gone(error: UnreadablePart) -> bool:
    return isinstance(error.__cause__, FileNotFoundError)


def _bits(values: AnyArray) -> AnyArray:
    """Integers that are equal if the numbers have equal bits or are both NaN."""
    if values.dtype == np.bool_:
        return values
    return np.where(np.isnan(values), np.nan, values).view(np.int64)
