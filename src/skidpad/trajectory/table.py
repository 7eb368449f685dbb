"""The table under a trajectory: named columns with units over strictly increasing time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, cast, overload

import numpy as np

from .. import record
from ..arrays import Array
from ..brief import counted, listed, shortened
from ..checks import whole
from ..compile.described import arrived, travelling
from ..errors import InvalidValue
from ..files import first_repeated
from ..units import Unit
from .columns import PREFIXES, ROLES, Column, Role, Sample, check_time, checked, frozen, span

SECOND = Unit("s", time=1)


class Layout(NamedTuple):
    """What trajectories of the points of one record have in common; see `Table.of_rows`."""

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
    """Columns over time, and what is known about them. Immutable; arrays are read-only."""

    t: Array
    """Time of each sample in s."""
    columns: tuple[Column, ...]
    name: str = ""
    """What was recorded, for titles and files; usually the name of the vehicle."""
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Notes kept with the recording; plain JSON values if it is to be written to Parquet."""
    error: Exception | None = None
    """Why the run ended early, such as `SimulationDiverged`; None for a complete run."""
    State: type | None = None
    """The state record class, where known; `state(i)` builds it."""
    Point: type | None = None
    """The record class of the points, where known: in a trajectory with states that of the state;
    see `mode`."""

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
        """From arrays of this package's own making, not checked and not copied.

        Nobody may write to `t` (samples,) and `rows` (samples, fields) again. The columns are made
        when they are first asked for: a simulation of a few steps takes less time than that.
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
        """The columns by name. Copying and unpickling ask for it before there are any."""
        if "_index" not in self.__dict__ and "_rows" in self.__dict__:
            self._unfold()
        return self.__dict__.get("_index", {})

    def _unfold(self) -> None:
        """Make the columns of a table that `of_rows` made."""
        rows: Array = np.ascontiguousarray(self.__dict__["_rows"].T)
        rows.flags.writeable = False
        heads = cast("Layout", self.__dict__["_layout"]).heads
        columns = tuple(Column(*head, row) for head, row in zip(heads, rows, strict=True))
        self.__dict__["columns"] = columns
        self.__dict__["_index"] = {column.name: column for column in columns}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, time not among them: states, then inputs, then outputs."""
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
        return _unpickled, (type(self), kept, travelling(self.State), travelling(self.Point))

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
        """Whether time, names, units, roles and every bit of every value agree."""
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
        # Whatever a part of a table could be refused for, the table would have been.
        taken = object.__new__(type(self))
        taken.__dict__.update(
            t=self.t[part],
            columns=columns,
            name=self.name,
            meta=dict(self.meta),
            error=self.error,
            State=self.State,
            Point=self.Point,
            _index={column.name: column for column in columns},
        )
        return taken


def _unpickled(kind: type[Table], kept: tuple[Any, ...], State: Any, Point: Any) -> Table:
    return kind(*kept, State=arrived(State), Point=arrived(Point))
