"""A recorded run: named series over time, from tables, MCAP files, bags of ROS 2 or a Trajectory.

Commands are `u_` and the name of the model's input (`u_steer`), as in a Trajectory; what was
measured has plain names (`v_x`, `steer`). Other names are given by a mapping from the log's.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar, cast

import numpy as np

from ..arrays import Array
from ..brief import brief_repr
from ..errors import InvalidValue, SkidpadError
from ..files import path_of
from ..trajectory.trajectory import Trajectory
from .bag import SUFFIXES, read_bag
from .table_file import Cells, read_csv, read_parquet
from .unit_spelling import same_unit

TIME = "t"
"""The column with the time of a row in s."""
USUAL = {
    TIME: ("time", "timestamp", "stamp", "seconds", "sec"),
    "v_x": ("speed", "velocity", "spd", "vel"),
    "omega": ("yawrate", "yawvelocity"),
    "yaw": ("heading", "psi"),
    "a_y": ("latacc", "lateralacc", "accy", "accely"),
    "steer": ("delta", "steering", "swa"),
}
"""What columns are called elsewhere, in small letters."""
_NO_VALUE = "it has no value in any sample"
SLOWEST = 2.0
"""Longest period of the rows of a table, in s: motors and steering need tenths of a second."""


class Series(NamedTuple):
    """One quantity over its own times."""

    t: Array
    """In s, strictly increasing."""
    values: Array
    """NaN where the log has none; `known_samples` leaves these samples out."""
    unit: str = ""
    """Unit as the log gives it; empty if it does not."""

    __repr__ = brief_repr


T = TypeVar("T", Cells, Series)


@dataclass(frozen=True)
class Log:
    """What a run recorded."""

    name: str
    """File or run, for messages and titles."""
    series: Mapping[str, Series]
    unread: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the log holds and could not be read, each with the reason. Of a name that is in `series`
    as well, a part could."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        empty = {
            k: _NO_VALUE
            for k, one in self.series.items()
            if one.values.size and np.isnan(one.values).all()
        }
        if empty:
            series = {k: one for k, one in self.series.items() if k not in empty}
            object.__setattr__(self, "series", series)
            object.__setattr__(self, "unread", {**self.unread, **empty})

    def __contains__(self, name: object) -> bool:
        return name in self.series


def read_log(
    source: str | os.PathLike[str] | Trajectory | Log, names: Mapping[str, str] | None = None
) -> Log:
    """The log in a file (.parquet, .csv or .mcap), a bag of ROS 2 (a folder, or one .mcap or .db3
    of it) or a Trajectory.

    `names` maps columns of the log to the names used here: `{"steer_cmd": "u_steer"}`; with a minus
    sign, as in `{"acc_y": "-a_y"}`, the sign of the values is reversed. A table has its time in s
    in a column `t`; MCAP files and bags have their own. Of a recording of skidpad with several
    vehicles, columns are called `vehicle.column`.
    """
    if isinstance(source, Log):
        return _renamed(source, names or {})
    if isinstance(source, Trajectory):
        return _renamed(Log(source.name or "trajectory", _of_run(source)), names or {})
    path = path_of(source, "log")
    if path.suffix.lower() == ".mcap" and path.is_file():
        from ..recording.runs import recorded_runs

        runs = recorded_runs(path)
        if runs is not None:
            return _renamed(Log(path.name, _of_runs(runs)), names or {})
    readers = {".parquet": read_parquet, ".csv": read_csv}
    try:
        if path.suffix.lower() in readers:
            return _of_table(path.name, readers[path.suffix.lower()](path), names or {})
        if path.suffix.lower() in SUFFIXES or path.is_dir():
            signals, unread = read_bag(path)
            return _renamed(Log(path.name, _of_signals(signals), unread), names or {})
    except SkidpadError:
        raise
    except OSError as error:
        raise InvalidValue(f"{path} cannot be read: {error.strerror or error}") from error
    raise InvalidValue(
        f"{path}: a log must be a .parquet, .csv, .mcap or .db3 file, or the folder of a bag"
    )


def _of_run(run: Trajectory, before: str = "") -> dict[str, Series]:
    return {before + c.name: Series(run.t, c.values, c.unit.symbol) for c in run.columns}


def _of_runs(runs: Mapping[str, Trajectory]) -> dict[str, Series]:
    """Of one vehicle by their own names, of several with the vehicle's before them."""
    if len(runs) == 1:
        return _of_run(next(iter(runs.values())))
    return {k: one for body, run in runs.items() for k, one in _of_run(run, f"{body}.").items()}


def _of_signals(signals: Mapping[str, tuple[Array, Array]]) -> dict[str, Series]:
    return {name: Series(t, values) for name, (t, values) in signals.items()}


def _of_table(name: str, cells: Mapping[str, Cells], names: Mapping[str, str]) -> Log:
    """A table whose columns share the column of time."""
    renamed = _rename(name, dict(cells), names)
    time = renamed.pop(TIME, None)
    if time is None:
        raise InvalidValue(
            f"{name} has no column {TIME!r} with the time in s. It has {', '.join(cells) or 'none'}"
            f"; {how_to_name(TIME, tuple(cells), {key: c.unit for key, c in cells.items()}, 's')}"
        )
    if time.values is None:
        raise InvalidValue(f"{name}: the time {TIME!r} is not a number: {time.problem}")
    if time.unit and not same_unit(time.unit, "s"):
        raise InvalidValue(f"{name}: the time {TIME!r} is in {time.unit}; it must be in s")
    _check_time(name, time.values)
    _check_period(name, time.values)
    series = {
        key: Series(time.values, c.values, c.unit)
        for key, c in renamed.items()
        if c.values is not None
    }
    return Log(name, series, {key: c.problem for key, c in renamed.items() if c.values is None})


def _renamed(log: Log, names: Mapping[str, str]) -> Log:
    for old in names:
        if old in log.unread and old not in log:
            raise InvalidValue(f"{log.name}: {old} cannot be used: {log.unread[old]}")
    series = _rename(log.name, dict(log.series), names)
    for key, one in series.items():
        _check_time(f"{log.name}, {key}", one.t)
    # Of a topic, under the names of its quantities.
    partly = {
        names.get(old, old).removeprefix("-"): reason
        for topic, reason in log.unread.items()
        for old in log.series
        if old.startswith(f"{topic}.")
    }
    return Log(log.name, series, {**log.unread, **partly})


def _rename(where: str, columns: dict[str, T], names: Mapping[str, str]) -> dict[str, T]:
    """The columns under their new names, which win over columns that had these names before; a
    minus sign before a name reverses the sign of the values."""
    reversed_ = {old for old, new in names.items() if new.startswith("-")}
    names = {old: new.removeprefix("-") for old, new in names.items()}
    for old in names:
        if old not in columns:
            near = difflib.get_close_matches(old, columns, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise InvalidValue(
                f"{where} has no column {old!r}{hint} It has {', '.join(columns) or 'none'}"
            )
    if len(set(names.values())) < len(names):
        twice = next(n for n in names.values() if list(names.values()).count(n) > 1)
        raise InvalidValue(f"two columns of {where} are both to be {twice!r}; give one")
    kept = {k: v for k, v in columns.items() if k not in names and k not in names.values()}
    return kept | {
        new: _negative(columns[old]) if old in reversed_ else columns[old]
        for old, new in names.items()
    }


def _negative(column: T) -> T:
    return column if column.values is None else cast("T", column._replace(values=-column.values))


def known_samples(where: str, name: str, one: Series, *, held: bool = False) -> tuple[Series, str]:
    """A series without the samples that have no value, and a note on them; empty if all have one.

    `held` says that it is a command, which holds until the next; callers interpolate all else
    linearly. Raises InvalidValue for an infinite value.
    """
    infinite = np.flatnonzero(np.isinf(one.values))
    if infinite.size:
        i = int(infinite[0])
        raise InvalidValue(
            f"{where}: {name} is {one.values[i]} in row {i} (t = {one.t[i]:.9g} s) and "
            f"{infinite.size - 1} others; every value must be finite"
        )
    lost = np.isnan(one.values)
    if not lost.any():
        return one, ""
    kept = one._replace(t=one.t[~lost], values=one.values[~lost])
    first, count = int(lost.argmax()), int(lost.sum())
    note = (
        f"{name} has no value in {count} of {len(lost)} samples, the first at t = "
        f"{one.t[first]:.6g} s: {'the last value is held' if held else 'interpolated'}"
    )
    if len(kept.t) > 1:
        note += f", over {np.diff(kept.t).max():.3g} s at most"
    ends = [f"before {kept.t[0]:.6g} s"] * bool(lost[0]) + [f"after {kept.t[-1]:.6g} s"] * bool(
        lost[-1]
    )
    return kept, note + (f"; it has none {' and '.join(ends)}" if ends else "")


def unread_notes(log: Log, names: Iterable[str]) -> list[str]:
    """Notes on columns, of those named, whose numbers in the log could not be read."""
    return [
        f"{name}: a part of it could not be read: {log.unread[name]}"
        if name in log
        else f"{name} is in the log and not used: {log.unread[name]}"
        for name in names
        if name in log.unread
    ]


def how_to_name(
    name: str, there: tuple[str, ...], units: Mapping[str, str] | None = None, unit: str = ""
) -> str:
    """How to say which column is the wanted one, with the nearest by its name, and if there is
    none, the one whose unit it has."""
    example = nearest(name, there, units, unit) or "COLUMN"
    return f"say which one it is with --map {example}={name} (names={{{example!r}: {name!r}}})"


def nearest(
    name: str, there: tuple[str, ...], units: Mapping[str, str] | None = None, unit: str = ""
) -> str:
    """The column that is likely meant by a name; empty if none is."""
    stem = _letters(name.removeprefix("u_"))
    plain = {_letters(column): column for column in reversed(there)}
    usual = [stem, *USUAL.get(name.removeprefix("u_"), ())]
    near = [plain[one] for one in usual if one in plain]
    near += [plain[key] for one in usual[1:] for key in plain if one in key]
    near += [plain[key] for key in difflib.get_close_matches(stem, plain, n=1, cutoff=0.5)]
    near += [column for column in there if unit and same_unit((units or {}).get(column, ""), unit)]
    return near[0] if near else ""


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _check_period(where: str, t: Array) -> None:
    """Raise where rows are so far apart that they cannot be those of a drive, in s."""
    period = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    if period > SLOWEST:
        raise InvalidValue(
            f"{where}: the rows are {period:g} s apart, by their time {TIME!r}, which is in s: "
            f"is it in ms? A log has rows at most {SLOWEST:g} s apart"
        )


def _check_time(where: str, t: Array) -> None:
    bad = np.flatnonzero(~np.isfinite(t))
    if bad.size:
        raise InvalidValue(f"{where}: the time of row {bad[0]} is {t[bad[0]]}; it must be finite")
    back = np.flatnonzero(np.diff(t) <= 0.0)
    if back.size:
        i = int(back[0])
        raise InvalidValue(
            f"{where}: time does not increase from row {i} ({t[i]:.9g} s) to row {i + 1} "
            f"({t[i + 1]:.9g} s)"
        )
