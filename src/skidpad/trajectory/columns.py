"""The parts of a trajectory: columns, samples, and the checks on what they may hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import record
from ..arrays import Array
from ..brief import brief_repr, shortened
from ..errors import InvalidValue
from ..units import Unit

Role = Literal["state", "input", "output", "disturbance"]
ROLES: tuple[Role, ...] = get_args(Role)
PREFIXES: dict[Role, str] = {"state": "", "input": "u_", "output": "", "disturbance": "w_"}
"""What the columns of a role have before the name of their field."""


class TrajectoryMode(StrEnum):
    """What the points of a trajectory are; equal to its value: `mode == "state"`."""

    State = "state"
    Input = "input"
    Disturbance = "disturbance"


class Column(NamedTuple):
    """One recorded quantity."""

    name: str
    unit: Unit
    role: Role
    values: Array
    """One value per sample, read-only. May hold NaN: a recording keeps what happened."""

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
            columns += [_apart(column, taken) for column in _columns(role, *group, count)]
    return tuple(columns)


def _apart(column: Column, taken: set[str]) -> Column:
    """An output whose name a state has is told apart from it."""
    return column._replace(name=f"out_{column.name}") if column.name in taken else column


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
"""Time and columns."""


def joined(first: Part, second: Part) -> Part:
    """Two parts one after the other; see `Trajectory.concat` for the rules."""
    _check_same_columns(first[1], second[1])
    end, begin = first[0][-1], second[0][0]
    if begin < end:
        raise InvalidValue(
            f"cannot join trajectories: the second begins at {begin:g} s, before the first "
            f"ends at {end:g} s; `starting_at` shifts time"
        )
    keep = first[0].size
    if begin == end:
        _check_same_state(end, first[1], second[1])
        keep -= 1
    columns = tuple(
        a._replace(values=np.concatenate([a.values[:keep], b.values]))
        for a, b in zip(first[1], second[1], strict=True)
    )
    return np.concatenate([first[0][:keep], second[0]]), columns


def _check_same_columns(first: tuple[Column, ...], second: tuple[Column, ...]) -> None:
    for a, b in zip(first, second, strict=False):
        if a[:3] != b[:3]:
            raise InvalidValue(
                f"cannot join trajectories: column {a.name!r} ({a.role}, {a.unit}) "
                f"meets {b.name!r} ({b.role}, {b.unit})"
            )
    if len(first) != len(second):
        raise InvalidValue(f"cannot join trajectories of {len(first)} and {len(second)} columns")


def _check_same_state(t: float, first: tuple[Column, ...], second: tuple[Column, ...]) -> None:
    for a, b in zip(first, second, strict=True):
        if a.role == "state" and a.values[-1] != b.values[0]:
            raise InvalidValue(
                f"cannot join trajectories at {t:g} s: {a.name} jumps "
                f"from {a.values[-1]:g} to {b.values[0]:g} {a.unit}"
            )


def frozen(name: str, values: ArrayLike) -> Array:
    """A read-only float array of one axis; shared if nobody can write to it, else copied."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and _nobody_writes(values):
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


def _nobody_writes(array: NDArray[Any]) -> bool:
    base = array.base
    return not array.flags.writeable and (
        base is None or (isinstance(base, np.ndarray) and not base.flags.writeable)
    )


def checked(column: Column, count: int) -> Column:
    """A column whose values are frozen and as many as the times."""
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
    """First and last time, for messages."""
    return f"{t[0]:g} to {t[-1]:g} s"
