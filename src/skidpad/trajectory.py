"""Trajectory: what a run recorded, as named columns with units over time.

Column names follow from the records of the vehicle:

* a state keeps its name: `v_x`, `steer`;
* an input always gets the prefix `u_`: `u_steer` is the target, `steer` the state that follows it;
* an output keeps its name (`a_y`), or gets the prefix `out_` where that name is already taken.

Row i holds the state and the outputs at `t[i]`, and the input applied from `t[i]` to `t[i + 1]`.
Between samples, states and outputs are therefore linear and inputs are held. Yaw is continuous in a
simulation (never wrapped), so it is linear between samples too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from . import record
from .columns import (
    ROLES,
    Array,
    Column,
    Role,
    Sample,
    check_time,
    checked,
    columns_of_records,
    frozen,
    joined,
    span,
)
from .errors import InvalidValue
from .units import Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

SECOND = Unit("s", time=1)


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Named columns with units over strictly increasing time. Immutable; arrays are read-only.

    `traj["v_x"]` and `traj.v_x` are the column; `traj[10:20:2]` a part by samples, `traj[-1]` one
    sample, `traj.between(1.0, 2.0)` a part by time. Iterating gives samples. A column whose name is
    also an attribute of this class (`name`, `plot`, ...) is reached with brackets.
    """

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

    def __post_init__(self) -> None:
        t = frozen("t", self.t)
        check_time(t)
        columns = tuple(checked(column, len(t)) for column in self.columns)
        names = [column.name for column in columns]
        twice = next((name for name in names if names.count(name) > 1 or name == "t"), None)
        if twice is not None:
            raise InvalidValue(f"trajectory column {twice!r} appears twice; names must differ")
        object.__setattr__(self, "t", t)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "meta", dict(self.meta))
        object.__setattr__(self, "_index", {column.name: column for column in columns})

    @classmethod
    def from_arrays(
        cls,
        t: ArrayLike,
        states: tuple[type, ArrayLike],
        inputs: tuple[type, ArrayLike] | None = None,
        outputs: tuple[type, ArrayLike] | None = None,
        *,
        name: str = "",
        meta: Mapping[str, Any] | None = None,
        error: Exception | None = None,
    ) -> Trajectory:
        """From record classes and (samples, fields) arrays; names as in the module text."""
        time = frozen("t", t)
        columns = columns_of_records(time.size, states, inputs, outputs)
        return cls(time, columns, name, meta or {}, error, states[0])

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

    @property
    def states(self) -> Array:
        """The state columns as one (samples, fields) array."""
        return self._matrix("state")

    @property
    def inputs(self) -> Array:
        """The input columns as one (samples, fields) array."""
        return self._matrix("input")

    @property
    def outputs(self) -> Array:
        """The output columns as one (samples, fields) array."""
        return self._matrix("output")

    def column(self, name: str) -> Column:
        """A column with its unit and role."""
        index = cast("dict[str, Column]", self.__dict__["_index"])
        if name not in index:
            raise InvalidValue(record.unknown_name("trajectory", name, self.names, "column"))
        return index[name]

    def unit(self, name: str) -> Unit:
        """Unit of a column, or of `t`."""
        return SECOND if name == "t" else self.column(name).unit

    @overload
    def __getitem__(self, key: str) -> Array: ...
    @overload
    def __getitem__(self, key: slice) -> Trajectory: ...
    @overload
    def __getitem__(self, key: int) -> Sample: ...
    def __getitem__(self, key: str | slice | int) -> Array | Trajectory | Sample:
        if isinstance(key, str):
            return self.t if key == "t" else self.column(key).values
        if isinstance(key, slice):
            return self._sliced(key)
        i = self._position(key)
        return Sample(float(self.t[i]), {c.name: float(c.values[i]) for c in self.columns})

    def __getattr__(self, name: str) -> Array:
        # Copying and unpickling ask for attributes before `_index` exists.
        index = self.__dict__.get("_index", {})
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
        return (
            Trajectory,
            (self.t, self.columns, self.name, self.meta, self.error, self.State),
        )

    def __repr__(self) -> str:
        lines = [f"{self.name or 'Trajectory'}: {len(self)} samples, {span(self.t)}"]
        for role in ROLES:
            shown = [f"{c.name} [{c.unit}]" for c in self.columns if c.role == role]
            if shown:
                lines.append(f"{role}s: {', '.join(shown)}")
        if self.error is not None:
            lines.append(f"ended early: {type(self.error).__name__}: {self.error}")
        return f"<{'; '.join(lines)}>"

    def state(self, i: int, State: type | None = None) -> Any:
        """The state record at sample i. After reading from a file, say which record class."""
        kind = State or self.State
        if kind is None:
            raise InvalidValue(
                "this trajectory does not know its state record (files keep names and units only); "
                "give it: state(i, State=vehicle.State)"
            )
        row = self._position(i)
        return record.unflatten(
            kind, [float(self.column(leaf).values[row]) for leaf in record.names(kind)]
        )

    def between(self, t0: float, t1: float) -> Trajectory:
        """The samples with t0 <= t <= t1, in s; both ends included, also when off by rounding."""
        slack = self._slack()
        inside = (self.t >= t0 - slack) & (self.t <= t1 + slack)
        if not inside.any():
            raise InvalidValue(f"no sample between {t0:g} and {t1:g} s; there are {span(self.t)}")
        first = int(inside.argmax())
        return self[first : first + int(inside.sum())]

    def at(self, t: float) -> Sample:
        """All columns at one time in s: states and outputs interpolated, inputs as held."""
        moments = self._inside([t])
        values = {c.name: float(self._interpolated(c, moments)[0]) for c in self.columns}
        return Sample(float(moments[0]), values)

    def resample(self, times: ArrayLike | None = None, *, dt: float | None = None) -> Trajectory:
        """The same motion at other times, given as an array or as a spacing dt, in s.

        States and outputs are interpolated linearly, inputs held. Times outside raise InvalidValue.
        """
        if (times is None) == (dt is None):
            raise InvalidValue("resample takes either times or dt")
        moments = self._inside(self._every(dt) if dt is not None else times)
        columns = tuple(c._replace(values=self._interpolated(c, moments)) for c in self.columns)
        return replace(self, t=moments, columns=columns)

    def starting_at(self, t0: float) -> Trajectory:
        """The same samples with time shifted so that the first one is at t0, in s."""
        return replace(self, t=self.t - self.t[0] + t0)

    def __add__(self, other: Trajectory) -> Trajectory:
        return Trajectory.concat([self, other])

    @staticmethod
    def concat(parts: Sequence[Trajectory]) -> Trajectory:
        """Runs one after the other as one trajectory.

        The parts need the same columns, and time must go on. A part may begin at the very time the
        one before it ended if the state is the same there: two runs of one simulator. That sample
        is kept once, with the input that was applied after it.
        """
        if not parts:
            raise InvalidValue("concat needs at least one trajectory, got none")
        first, *others = parts
        t, columns, meta, error = first.t, first.columns, dict(first.meta), first.error
        for part in others:
            t, columns = joined((t, columns), (part.t, part.columns))
            meta.update(part.meta)
            error = part.error or error
        return replace(first, t=t, columns=columns, meta=meta, error=error)

    def same_data(self, other: Trajectory) -> bool:
        """Whether time, names, units, roles and every bit of every value agree."""
        return (
            self.t.tobytes() == other.t.tobytes()
            and [column[:3] for column in self.columns] == [column[:3] for column in other.columns]
            and all(
                a.values.tobytes() == b.values.tobytes()
                for a, b in zip(self.columns, other.columns, strict=True)
            )
        )

    def to_pandas(self) -> DataFrame:
        """A DataFrame indexed by `t` in s; `frame.attrs["units"]` has the unit symbols."""
        from .record_io import tables

        return tables.to_pandas(self)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write one Parquet file; units, roles, name and notes are in its metadata."""
        from .record_io import tables

        tables.to_parquet(self, path)

    @staticmethod
    def from_parquet(path: str | os.PathLike[str]) -> Trajectory:
        """Read what `to_parquet` wrote, bit for bit."""
        from .record_io import tables

        return tables.from_parquet(path)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a text table with a header of `name [unit]`; every float is written exactly."""
        from .record_io import tables

        tables.to_csv(self, path)

    @staticmethod
    def from_csv(
        path: str | os.PathLike[str], *, units: Mapping[str, Unit] | None = None
    ) -> Trajectory:
        """Read what `to_csv` wrote. Columns `u_...` are inputs, all others states.

        `units` gives the unit of columns whose symbol is not one of `skidpad.units`.
        """
        from .record_io import tables

        return tables.from_csv(path, units or {})

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Figure:
        """A figure of the run: path, speeds, accelerations, steering, yaw rate, torques.

        Only what was recorded is drawn; `columns` draws these instead, one panel per unit. With
        `path` the figure is written as PNG, SVG or PDF by its suffix. Angles are in degrees.
        """
        from .viewer import plot

        figure = plot.figure(self, title=title, columns=columns)
        if path is not None:
            plot.save(figure, path)
        return figure

    def _matrix(self, role: Role) -> Array:
        values = [column.values for column in self.columns if column.role == role]
        matrix = np.column_stack(values) if values else np.empty((len(self), 0))
        matrix.flags.writeable = False
        return matrix

    def _position(self, i: int) -> int:
        if not -len(self) <= i < len(self):
            raise InvalidValue(f"sample {i} does not exist; there are {len(self)} samples")
        return i % len(self)

    def _sliced(self, part: slice) -> Trajectory:
        if part.step is not None and part.step < 0:
            raise InvalidValue(f"slice step {part.step} is not allowed: time must increase")
        if not range(*part.indices(len(self))):
            raise InvalidValue(
                f"slice {part.start}:{part.stop} takes none of the {len(self)} samples; "
                "a trajectory has at least one"
            )
        columns = tuple(c._replace(values=c.values[part]) for c in self.columns)
        return replace(self, t=self.t[part], columns=columns)

    def _slack(self) -> float:
        """Rounding of a time that was added up from steps, in s."""
        return 8.0 * float(np.spacing(np.abs(self.t).max()))

    def _inside(self, times: Any) -> Array:
        moments = np.atleast_1d(np.asarray(times, dtype=float))
        outside = ~(
            (moments >= self.t[0] - self._slack()) & (moments <= self.t[-1] + self._slack())
        )
        if outside.any():
            raise InvalidValue(
                f"time {moments[outside][0]:g} s is outside the trajectory, {span(self.t)}"
            )
        return np.clip(moments, self.t[0], self.t[-1])

    def _every(self, dt: float) -> Array:
        if not (np.isfinite(dt) and dt > 0):
            raise InvalidValue(f"dt = {dt} s must be finite and greater than 0")
        count = int(np.floor((self.duration + self._slack()) / dt))
        return self.t[0] + dt * np.arange(count + 1)

    def _interpolated(self, column: Column, moments: Array) -> Array:
        if column.role == "input":
            return column.values[np.searchsorted(self.t, moments, side="right") - 1]
        return np.interp(moments, self.t, column.values)
