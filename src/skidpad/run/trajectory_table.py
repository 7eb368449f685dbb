"""Base table of a trajectory: named columns with units over strictly increasing time.

It also interpolates columns between their samples: states and outputs are linear, inputs and
disturbances are held, as they were during the run. A heading takes the shorter arc from sample to
sample, so that one that was wrapped to ±π does not turn all the way round between them. A column is
a heading if its unit is rad and a word of its name is one of `HEADING_WORDS`. Other angles, such as
that of a wheel, may turn by more than half a turn between samples and are left unchanged. A heading
sampled more coarsely than half a turn therefore appears to turn the other way.

The functions for Parquet, CSV and pandas are below; reading a file restores the same bits. pyarrow
and pandas are imported by the functions that need them, as they are slow to load.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar, cast, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import units as unit_aliases
from ..compile.portable import from_picklable, to_picklable
from ..core import record
from ..core.arrays import Array
from ..core.checks import whole
from ..core.files import (
    brief_repr,
    counted,
    first_repeated,
    listed,
    open_file,
    path_of,
    reading,
    replacing,
    shortened,
    text_of,
)
from ..errors import InvalidValue, SkidpadError, require
from ..units import Unit

if TYPE_CHECKING:
    from pandas import DataFrame

Role = Literal["state", "input", "output", "disturbance"]
ROLES: tuple[Role, ...] = get_args(Role)
PREFIXES: dict[Role, str] = {"state": "", "input": "u_", "output": "", "disturbance": "w_"}
"""Prefix of the column names of a role."""


class TrajectoryMode(StrEnum):
    """Kind of the points of a trajectory; a member equals its value: `mode == "state"`."""

    State = "state"
    Input = "input"
    Disturbance = "disturbance"


class Column(NamedTuple):
    """One recorded quantity, with its unit and role."""

    name: str
    unit: Unit
    role: Role
    values: Array
    """One value per sample, read-only. May contain NaN: a recording is not corrected."""

    __repr__ = brief_repr


class Sample(Mapping[str, float]):
    """The values of all columns at one time: `sample["v_x"]` or `sample.v_x`, and `sample.t`."""

    __slots__ = ("_values", "t")

    def __init__(self, t: float, values: Mapping[str, float]) -> None:
        self.t = t
        """Time in s."""
        self._values = dict(values)

    def __getitem__(self, name: str) -> float:
        if name not in self._values:
            raise InvalidValue(record.unknown_name("Sample", name, tuple(self._values), "column"))
        return self._values[name]

    def __getattr__(self, name: str) -> float:
        if name.startswith("__") or name in Sample.__slots__ or name not in self._values:
            raise AttributeError(f"Sample has no column {name!r}")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:g}" for name, value in self._values.items())
        return shortened(f"Sample(t={self.t:g}, {values})")


Group = tuple[type, ArrayLike]
"""A record class and its values (samples, fields)."""


def columns_of_records(count: int, groups: Mapping[Role, Group | None]) -> tuple[Column, ...]:
    """Columns from record classes and (samples, fields) arrays; prefixes as in `trajectory`."""
    columns: list[Column] = []
    for role, group in groups.items():
        if group is not None:
            taken = {column.name for column in columns} if role == "output" else set[str]()
            columns += [
                c._replace(name=f"out_{c.name}") if c.name in taken else c
                for c in _columns(role, *group, count)
            ]
    return tuple(columns)


def _columns(role: Role, kind: type, values: ArrayLike, count: int) -> list[Column]:
    leaves = record.fields(kind)
    try:
        # One contiguous row per column; copied, so that the caller's array stays the caller's.
        table = np.array(np.asarray(values, dtype=float).T, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"{role}s must be an array of numbers: {error}") from error
    if table.shape != (len(leaves), count):
        raise InvalidValue(
            f"{role}s must have shape (samples, fields) = ({count}, {len(leaves)}) for "
            f"{kind.__name__}, got {np.shape(values)}"
        )
    table.flags.writeable = False
    return [
        Column(PREFIXES[role] + leaf.name, leaf.unit, role, row)
        for leaf, row in zip(leaves, table, strict=True)
    ]


Part = tuple[Array, tuple[Column, ...]]
"""Times and columns of a part of a trajectory."""


def joined(first: Part, second: Part) -> Part:
    """Join two parts that follow each other; see `Trajectory.concat` for the rules."""
    for a, b in zip(first[1], second[1], strict=False):
        if a[:3] != b[:3]:
            raise InvalidValue(
                f"cannot join trajectories: column {a.name!r} ({a.role}, {a.unit}) "
                f"meets {b.name!r} ({b.role}, {b.unit})"
            )
    if len(first[1]) != len(second[1]):
        sizes = f"{len(first[1])} and {len(second[1])}"
        raise InvalidValue(f"cannot join trajectories of {sizes} columns")
    end, begin = first[0][-1], second[0][0]
    if begin < end:
        raise InvalidValue(
            f"cannot join trajectories: the second begins at {begin:g} s, before the first "
            f"ends at {end:g} s; `starting_at` shifts time"
        )
    keep = first[0].size
    if begin == end:
        for a, b in zip(first[1], second[1], strict=True):
            if a.role == "state" and a.values[-1] != b.values[0]:
                raise InvalidValue(
                    f"cannot join trajectories at {end:g} s: {a.name} jumps "
                    f"from {a.values[-1]:g} to {b.values[0]:g} {a.unit}"
                )
        keep -= 1
    columns = tuple(
        a._replace(values=np.concatenate([a.values[:keep], b.values]))
        for a, b in zip(first[1], second[1], strict=True)
    )
    return np.concatenate([first[0][:keep], second[0]]), columns


def frozen(name: str, values: ArrayLike) -> Array:
    """A read-only float array of one axis; shared if it is read-only already, else copied."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and _is_read_only(values):
        array = cast("Array", values)
    else:
        try:
            array = np.array(values, dtype=float)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidValue(f"trajectory column {name!r} must hold numbers: {error}") from error
        array.flags.writeable = False
    if array.ndim != 1:
        raise InvalidValue(
            f"trajectory column {name!r} must have one axis, got shape {array.shape}"
        )
    return array


def _is_read_only(array: NDArray[Any]) -> bool:
    base = array.base
    return not array.flags.writeable and (
        base is None or (isinstance(base, np.ndarray) and not base.flags.writeable)
    )


def checked(column: Column, count: int) -> Column:
    """Return the column with read-only values; raises unless there is one value per time."""
    if column.role not in ROLES:
        raise InvalidValue(
            f"trajectory column {column.name!r} has role {column.role!r}; "
            f"allowed are {', '.join(ROLES)}"
        )
    values = frozen(column.name, column.values)
    if values.size != count:
        raise InvalidValue(
            f"trajectory column {column.name!r} has {values.size} values for {count} times"
        )
    return column._replace(values=values)


def check_time(t: Array) -> None:
    """Raise unless time is finite, strictly increasing and not empty."""
    if t.size == 0:
        raise InvalidValue("a trajectory needs at least one sample, got none")
    bad = np.flatnonzero(~np.isfinite(t))
    if bad.size:
        raise InvalidValue(f"time t[{bad[0]}] = {t[bad[0]]} s must be finite")
    back = np.flatnonzero(np.diff(t) <= 0)
    if back.size:
        i = int(back[0])
        raise InvalidValue(
            f"time must increase from sample to sample: t[{i}] = {t[i]:g} s, "
            f"then t[{i + 1}] = {t[i + 1]:g} s"
        )


def span(t: Array) -> str:
    """Format the first and the last time for messages."""
    return f"{t[0]:g} to {t[-1]:g} s"


SECOND = Unit("s", time=1)


class Layout(NamedTuple):
    """Columns shared by trajectories with points of one record; see `Table.of_rows`."""

    Point: type
    role: Role
    name: str
    heads: tuple[tuple[str, Unit, Role], ...]
    """Name, unit and role of each column."""

    @classmethod
    def of(cls, Point: type, role: Role, name: str) -> Layout:
        """The layout of a record class in this role."""
        heads: list[tuple[str, Unit, Role]] = [
            (PREFIXES[role] + leaf.name, leaf.unit, role) for leaf in record.fields(Point)
        ]
        return cls(Point, role, name, tuple(heads))


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Columns over time, with notes. Immutable; arrays are read-only."""

    t: Array
    """Time of each sample in s."""
    columns: tuple[Column, ...]
    name: str = ""
    """Title of the recording, also in files; usually the name of the vehicle."""
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Notes stored with the recording; plain JSON values if it is to be written to Parquet."""
    error: Exception | None = None
    """Error that ended the run early, such as `SimulationDiverged`; None for a complete run."""
    State: type | None = None
    """The state record class, if known; `state(i)` builds it."""
    Point: type | None = None
    """Record class of the points, if known; in a trajectory with states, the state record class.

    See `mode`.
    """

    def __post_init__(self) -> None:
        t = frozen("t", self.t)
        check_time(t)
        columns = tuple(checked(column, len(t)) for column in self.columns)
        names = [column.name for column in columns]
        twice = "t" if "t" in names else first_repeated(names)
        if twice is not None:
            raise InvalidValue(f"trajectory column {twice!r} appears twice; names must differ")
        object.__setattr__(self, "t", t)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "meta", dict(self.meta))
        object.__setattr__(self, "Point", self.Point or self.State)
        object.__setattr__(self, "_index", {column.name: column for column in columns})

    @classmethod
    def of_rows(cls, t: Array, rows: Array, layout: Layout, meta: dict[str, Any]) -> Self:
        """Build a table from arrays made by this package, neither checked nor copied.

        `t` (samples,) and `rows` (samples, fields) must not be changed afterwards. The columns are
        made on first use: a simulation of a few steps takes less time than that.
        """
        table = object.__new__(cls)
        table.__dict__.update(
            t=t,
            name=layout.name,
            meta=meta,
            error=None,
            State=layout.Point if layout.role == "state" else None,
            Point=layout.Point,
            _rows=rows,
            _layout=layout,
        )
        return table

    def _by_name(self) -> dict[str, Column]:
        """The columns by name; empty while a copy or an unpickled table is being made."""
        if "_index" not in self.__dict__ and "_rows" in self.__dict__:
            self._make_columns()
        return self.__dict__.get("_index", {})

    def _make_columns(self) -> None:
        """Build the columns of a table that `of_rows` created."""
        rows: Array = np.ascontiguousarray(self.__dict__["_rows"].T)
        rows.flags.writeable = False
        heads = cast("Layout", self.__dict__["_layout"]).heads
        columns = tuple(Column(*head, row) for head, row in zip(heads, rows, strict=True))
        self.__dict__["columns"] = columns
        self.__dict__["_index"] = {column.name: column for column in columns}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns without time: states, then inputs, then outputs."""
        return tuple(column.name for column in self.columns)

    @property
    def units(self) -> dict[str, Unit]:
        """Unit of each column."""
        return {column.name: column.unit for column in self.columns}

    @property
    def duration(self) -> float:
        """Time from the first to the last sample in s."""
        return float(self.t[-1] - self.t[0])

    def column(self, name: str) -> Column:
        """A column with its unit and role."""
        index = self._by_name()
        if name not in index:
            raise InvalidValue(record.unknown_name("trajectory", name, self.names, "column"))
        return index[name]

    def unit(self, name: str) -> Unit:
        """Unit of a column, or of `t`."""
        return SECOND if name == "t" else self.column(name).unit

    @overload
    def __getitem__(self, key: str) -> Array: ...
    @overload
    def __getitem__(self, key: slice) -> Self: ...
    @overload
    def __getitem__(self, key: int) -> Sample: ...
    def __getitem__(self, key: str | slice | int) -> Array | Self | Sample:
        if isinstance(key, str):
            return self.t if key == "t" else self.column(key).values
        if isinstance(key, slice):
            return self._sliced(key)
        i = self._position(key)
        return Sample(float(self.t[i]), {c.name: float(c.values[i]) for c in self.columns})

    def __getattr__(self, name: str) -> Array:
        index = self._by_name()
        if name == "columns" and name in self.__dict__:
            return self.__dict__[name]
        if name not in index:
            raise AttributeError(record.unknown_name("trajectory", name, tuple(index), "column"))
        return index[name].values

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.names]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __len__(self) -> int:
        return self.t.size

    def __iter__(self) -> Iterator[Sample]:
        return (self[i] for i in range(len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuilt by the constructor: NumPy does not pickle the read-only flag.
        kept = (self.t, self.columns, self.name, self.meta, self.error)
        return _unpickled, (type(self), kept, to_picklable(self.State), to_picklable(self.Point))

    def __repr__(self) -> str:
        count = counted(len(self), "sample")
        lines = [f"{self.name or 'Trajectory'}: {count}, {span(self.t)}"]
        if self.error is not None:
            lines.append(f"ended early: {type(self.error).__name__}: {self.error}")
        for role in ROLES:
            shown = [f"{c.name} [{c.unit}]" for c in self.columns if c.role == role]
            if shown:
                lines.append(f"{role}s: {listed(shown)}")
        return shortened(f"<{'; '.join(lines)}>")

    def same_data(self, other: Table) -> bool:
        """Whether time, names, units, roles and every bit of every value are equal."""
        return (
            self.t.tobytes() == other.t.tobytes()
            and [column[:3] for column in self.columns] == [column[:3] for column in other.columns]
            and all(
                a.values.tobytes() == b.values.tobytes()
                for a, b in zip(self.columns, other.columns, strict=True)
            )
        )

    def _matrix(self, role: Role) -> Array:
        """The columns of a role as one (samples, fields) array."""
        layout: Layout | None = self.__dict__.get("_layout")
        if layout is not None and layout.role == role:
            return self.__dict__["_rows"]
        values = [column.values for column in self.columns if column.role == role]
        matrix = np.column_stack(values) if values else np.empty((len(self), 0))
        matrix.flags.writeable = False
        return matrix

    def _position(self, i: int) -> int:
        i = whole("sample", i, least=None)
        if not -len(self) <= i < len(self):
            raise InvalidValue(f"sample {i} does not exist; there are {len(self)} samples")
        return i % len(self)

    def _sliced(self, part: slice) -> Self:
        if part.step is not None and part.step < 0:
            raise InvalidValue(f"slice step {part.step} is not allowed: time must increase")
        if not range(*part.indices(len(self))):
            raise InvalidValue(
                f"slice {part.start}:{part.stop} takes none of the {len(self)} samples; "
                "a trajectory has at least one"
            )
        columns = tuple(Column(*c[:3], c.values[part]) for c in self.columns)
        # Skip the checks: a part of a checked table is valid.
        taken = object.__new__(type(self))
        taken.__dict__.update(
            {name: getattr(self, name) for name in ("name", "error", "State", "Point")},
            t=self.t[part],
            columns=columns,
            meta=dict(self.meta),
            _index={column.name: column for column in columns},
        )
        return taken


def _unpickled(kind: type[Table], kept: tuple[Any, ...], State: Any, Point: Any) -> Table:
    return kind(*kept, State=from_picklable(State), Point=from_picklable(Point))


HEADING_WORDS = frozenset({"yaw", "heading", "psi", "orientation", "course"})
"""Words that make a column in rad a heading: `yaw`, `pose.yaw`, `trailer_heading`."""
HELD: frozenset[Role] = frozenset({"input", "disturbance"})
"""Roles whose values are constant from one sample to the next."""

_RELATIVE_SLACK = 1e-12
_LEAST_SLACK = 1e-15
_TURN = 2.0 * np.pi


class Places(NamedTuple):
    """Indices and fractions that locate times among the samples of a trajectory."""

    before: NDArray[np.int64]
    """Index of the last sample not after the time."""
    after: NDArray[np.int64]
    """Index of the first sample not before the time; equal to `before` at a sample."""
    weight: Array
    """Fraction of the way from the sample before to the sample after, from 0 to below 1."""


def is_heading(column: Column) -> bool:
    """Whether a column is an angle that may have been wrapped; see the module text."""
    words = re.split(r"[._]", column.name)
    return column.unit.symbol == "rad" and not HEADING_WORDS.isdisjoint(words)


def slack(t: Array) -> float:
    """Rounding tolerance in s for comparing times with sample times."""
    return max(_RELATIVE_SLACK * float(np.abs(t[[0, -1]]).max()), _LEAST_SLACK)


def snapped(t: Array, moments: Array) -> Array:
    """Move times within rounding of a sample to that sample."""
    after = np.clip(np.searchsorted(t, moments), 1, max(len(t) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(t) - 1)
    nearest = np.where(moments - t[before] <= t[after] - moments, t[before], t[after])
    return np.where(np.abs(moments - nearest) <= slack(t), nearest, moments)


def places(t: Array, moments: Array) -> Places:
    """Find the samples around times within the trajectory."""
    before = np.searchsorted(t, moments, side="right") - 1
    after = np.searchsorted(t, moments, side="left")
    width = np.where(after > before, t[after] - t[before], 1.0)
    return Places(before, after, (moments - t[before]) / width)


def interpolated(column: Column, t: Array, moments: Array, *, held: bool | None = None) -> Array:
    """Interpolate a column at other times; by default its role decides whether it is held."""
    if column.role in HELD if held is None else held:
        return column.values[places(t, moments).before]
    if is_heading(column):
        at = places(t, moments)
        start = column.values[at.before]
        with np.errstate(invalid="ignore"):  # a recording may hold infinite values
            turn = column.values[at.after] - start
            turn = np.where(np.abs(turn) > np.pi, turn - _TURN * np.rint(turn / _TURN), turn)
            return np.where(at.weight > 0.0, start + at.weight * turn, start)
    return np.interp(moments, t, column.values)


T = TypeVar("T", bound=Table)

MOST_VALUES = 500_000_000
"""Largest number of values of a table read from a Parquet file, however small the file is."""
FORMAT = 1
"""Version of the metadata layout in Parquet files."""


def to_pandas(trajectory: Table) -> DataFrame:
    """Convert a table to a DataFrame; see `Trajectory.to_pandas`."""
    pandas = require("pandas", purpose="Trajectory.to_pandas")
    frame = pandas.DataFrame(
        {column.name: column.values for column in trajectory.columns},
        index=pandas.Index(trajectory.t, name="t"),
    )
    frame.attrs["name"] = trajectory.name
    frame.attrs["units"] = {name: str(unit) for name, unit in trajectory.units.items()}
    return frame


def to_parquet(trajectory: Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a Parquet file; see `Trajectory.to_parquet`."""
    arrow = require("pyarrow", purpose="Trajectory.to_parquet")
    parquet = require("pyarrow.parquet", purpose="Trajectory.to_parquet")
    time = Column("t", SECOND, "state", trajectory.t)
    columns = (time, *trajectory.columns)
    schema = arrow.schema(
        [
            arrow.field(c.name, arrow.float64(), nullable=False, metadata=column_notes(c))
            for c in columns
        ],
        metadata={"skidpad": _notes(trajectory)},
    )
    table = arrow.table([arrow.array(c.values) for c in columns], schema=schema)
    with replacing(path) as temporary:
        parquet.write_table(table, temporary, compression="zstd")


def from_parquet(kind: type[T], path: str | os.PathLike[str]) -> T:
    """Read a Parquet file; columns without skidpad's metadata become dimensionless states. See
    `Trajectory.from_parquet`.
    """
    with reading(path_of(path), "is not a readable Parquet file"):
        return _of_table(kind, path, parquet_table(path, "Trajectory.from_parquet"))


def parquet_table(path: str | os.PathLike[str], purpose: str) -> Any:
    """The Arrow table of a Parquet file, if its numbers fit into memory."""
    parquet = require("pyarrow.parquet", purpose=purpose)
    with (
        reading(path_of(path), "is not a readable Parquet file"),
        open_file(path) as stream,
        parquet.ParquetFile(stream) as file,
    ):
        about = file.metadata
        groups = (about.row_group(k).num_rows for k in range(about.num_row_groups))
        values = max(about.num_rows, sum(groups)) * about.num_columns
        if values > MOST_VALUES:
            raise InvalidValue(
                f"{Path(path)} claims to have {values} values; at most {MOST_VALUES} are allowed"
            )
        return file.read()


def _of_table(kind: type[T], path: str | os.PathLike[str], table: Any) -> T:
    if "t" not in table.column_names:
        raise InvalidValue(
            f"{Path(path)} has no column 't' (time in s); it has {', '.join(table.column_names)}"
        )
    columns = tuple(
        Column(part.name, *_unit_and_role(part.metadata or {}), _numbers(part.name, table))
        for part in table.schema
        if part.name != "t"
    )
    notes = json.loads((table.schema.metadata or {}).get(b"skidpad", b"{}"))
    error = SkidpadError(notes["error"]) if notes.get("error") else None
    return kind(_numbers("t", table), columns, notes.get("name", ""), notes.get("meta", {}), error)


def to_csv(trajectory: Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a CSV file; see `Trajectory.to_csv`."""
    columns = (Column("t", SECOND, "state", trajectory.t), *trajectory.columns)
    with replacing(path) as temporary, temporary.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(f"{column.name} [{column.unit}]" for column in columns)
        # repr of a float is the shortest text that reads back as the same bits.
        texts = [map(repr, column.values.tolist()) for column in columns]
        writer.writerows(zip(*texts, strict=True))


def from_csv(kind: type[T], path: str | os.PathLike[str], units: Mapping[str, Unit]) -> T:
    """Read a table from a CSV file; see `Trajectory.from_csv`."""
    source = path_of(path)
    text = text_of(source, "a text table")
    if text and not text.endswith(("\n", "\r")):
        # Raise for a truncated last line, whose last number would be read as a different one.
        raise InvalidValue(
            f"{source}, line {len(text.splitlines()) or 1}: the last line does not end with a "
            "newline, so the file may be truncated; end the line, or remove it"
        )
    header, *rows = csv_rows(source) or [[]]
    heads = [_heading(source, text, units) for text in header]
    names = [name for name, _ in heads]
    if names[:1] != ["t"]:
        raise InvalidValue(
            f"{source} must have 't [s]' as its first column, got {header[:1] or 'nothing'}"
        )
    table = [_row(source, line, row, names) for line, row in enumerate(rows, start=2)]
    values: Array = np.array(table, dtype=float).reshape(len(table), len(names)).T
    columns = tuple(
        Column(name, unit, "input" if name.startswith("u_") else "state", column)
        for (name, unit), column in zip(heads[1:], values[1:], strict=True)
    )
    return kind(values[0], columns, name=source.stem)


def csv_rows(file: Path, separator: str = ",") -> list[list[str]]:
    """Read all rows of a CSV file, including empty rows."""
    text = io.StringIO(text_of(file, "a text table"), newline="")
    reader = csv.reader(text, delimiter=separator)
    try:
        return list(reader)
    except csv.Error as error:
        raise InvalidValue(f"{file}, line {reader.line_num}: not CSV: {error}") from error


def column_notes(column: Column) -> dict[str, str]:
    """Metadata of a column in a Parquet file."""
    return {
        "unit": str(column.unit),
        "dimension": json.dumps(column.unit.dimension),
        "role": column.role,
    }


def _unit_and_role(notes: Mapping[bytes, bytes]) -> tuple[Unit, Role]:
    symbol = notes.get(b"unit", b"1").decode()
    exponents = json.loads(notes.get(b"dimension", b"[0.0, 0.0, 0.0]"))
    return Unit(symbol, *exponents), cast("Role", notes.get(b"role", b"state").decode())


def _notes(trajectory: Table) -> str:
    error = trajectory.error
    notes = {
        "format": FORMAT,
        "name": trajectory.name,
        "meta": dict(trajectory.meta),
        "error": f"{type(error).__name__}: {error}" if error is not None else "",
    }
    try:
        return json.dumps(notes)
    except (TypeError, ValueError, OverflowError) as problem:
        raise InvalidValue(f"trajectory meta must hold plain JSON values: {problem}") from problem


def _numbers(name: str, table: Any) -> Array:
    try:
        return np.asarray(table.column(name).to_numpy(), dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"trajectory column {name!r} must hold numbers: {error}") from error


def _heading(source: Path, text: str, units: Mapping[str, Unit]) -> tuple[str, Unit]:
    match = re.fullmatch(r"(?P<name>[^\[\]]+)\[(?P<unit>[^\[\]]*)\]", text.strip())
    if match is None or not match["name"].strip():
        raise InvalidValue(f"{source}: column heading {text!r} must be of the form 'name [unit]'")
    name, symbol = match["name"].strip(), match["unit"].strip()
    if name in units:
        return name, units[name]
    known = known_units()
    if symbol not in known:
        raise InvalidValue(
            f"{source}: column {name!r} has the unknown unit {symbol!r}; known are "
            f"{', '.join(known)}; others are given by from_csv(path, units={{{name!r}: Unit(...)}})"
        )
    return name, known[symbol]


@cache
def known_units() -> dict[str, Unit]:
    """The units of `skidpad.units` by their symbols."""
    marks = (getattr(alias, "__metadata__", ()) for alias in vars(unit_aliases).values())
    return {unit.symbol: unit for mark in marks for unit in mark if isinstance(unit, Unit)}


def _row(source: Path, line: int, row: list[str], names: list[str]) -> list[float]:
    if len(row) != len(names):
        raise InvalidValue(f"{source}, line {line}: {len(row)} values for {len(names)} columns")
    numbers: list[float] = []
    for name, text in zip(names, row, strict=True):
        try:
            numbers.append(float(text))
        except ValueError as error:
            raise InvalidValue(
                f"{source}, line {line}: {name} = {text!r} is not a number"
            ) from error
    return numbers
