"""The times of the columns of a table.

A row has one time, but its cells may be older: a logger that writes a row whenever a camera sends a
position repeats the last values of slower sensors, with their own, repeated stamp. `channels_of`
finds the columns with times, and which other columns change with each of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.files import counted
from ...errors import InvalidValue
from .cleaning import repair_stamps
from .names import TIME, how_to_name, rank_of
from .tables import Cells
from .units import same_quantity, to_si, unit_in_name

SLOWEST = 2.0
"""Longest period of the rows of a table, in s: motors and steering need tenths of a second."""
LIKELY = (1e-3, 0.5)
"""Shortest and longest period in s of which a time without a unit is taken to be in ms, µs or
ns."""
MOST_BACKWARD = 0.05
"""Largest share of rows in which a column that is a time may decrease."""
UNIX = (3e8, 4e9)
"""Range of times that are taken as seconds since 1970: from 1979 to 2096."""


class Timed(NamedTuple):
    """Columns of a file with their times."""

    columns: dict[str, tuple[Array, Array, str]]
    """Times in s, values and unit by name."""
    unread: dict[str, str]
    """Names of columns that could not be read, with the reason."""
    notes: list[str]
    start: float | None
    """Unix time in s of t = 0; None if unknown."""


class _Clock(NamedTuple):
    name: str
    t: Array
    """Time of each row in s; may repeat."""
    start: float | None


def channels_of(where: str, cells: Mapping[str, Cells]) -> Timed:
    """Columns of a table with times; raises InvalidValue if no column is a time.

    The time of the rows is the column `t`, else the one with the most different values among those
    that are called a time and never decrease. A column that only changes when another time does is
    timed by that one. The offset between two clocks is taken from the earliest arrival: the
    smallest delay of a value after its stamp counts as zero.
    """
    notes: list[str] = []
    cells = _with_pairs(dict(cells), notes)
    found = _clocks(where, cells, notes)
    if not found:
        there = [name for name, one in cells.items() if one.values is not None]
        units = {name: one.unit for name, one in cells.items()}
        raise InvalidValue(
            f"{where} has no column {TIME!r} with the time in s. It has "
            f"{', '.join(cells) or 'none'}; {how_to_name(TIME, tuple(there), units, 's')}"
        )
    rows = max(found, key=lambda clock: len(np.unique(clock.t)))
    if (np.diff(rows.t) < 0.0).any():
        stamps = repair_stamps(rows.t)
        for at, back in stamps.jumps:
            notes.append(f"{rows.name}: set back by {back:.6g} s at {at:.6g} s; it continues")
        if lost := len(rows.t) - len(stamps.rows):
            notes.append(f"{rows.name}: {counted(lost, 'row')} out of order or repeated left out")
        cells = {k: one if one.values is None else one._replace(values=one.values[stamps.rows])
                 for k, one in cells.items()}  # fmt: skip
        found = [clock._replace(t=clock.t[stamps.rows]) for clock in found if clock is not rows]
        rows = rows._replace(t=stamps.t)
        found.insert(0, rows)
    main = next((clock for clock in found if clock.name == TIME), rows)
    keep = np.arange(len(rows.t))
    if len(rows.t) > 1 and (np.diff(rows.t) == 0.0).any():
        keep = np.flatnonzero(np.append(np.diff(rows.t) != 0.0, True))
        notes.append(
            f"{counted(len(rows.t) - len(keep), 'row')} of {len(rows.t)} with the same time "
            f"{rows.name!r} as the next left out; of each column the last value counts"
        )
    others = [clock for clock in found if clock is not rows and _is_slower(clock)]
    offsets = {clock.name: _offset(clock, rows) for clock in others}
    shift = offsets.get(main.name, 0.0)
    columns: dict[str, tuple[Array, Array, str]] = {}
    unread: dict[str, str] = {}
    for name, one in cells.items():
        if one.values is None:
            unread[name] = one.problem
        if one.values is None or name in (rows.name, *offsets):
            continue
        own = next((clock for clock in others if _changes_with(one.values, clock)), None)
        if own is None:
            columns[name] = rows.t[keep] - shift, _last_known(one.values, keep), one.unit
            continue
        first = _first_rows(own, rows, offsets[own.name])
        columns[name] = own.t[first] + offsets[own.name] - shift, one.values[first], one.unit
    for clock in others:
        with_it = [name for name, one in cells.items()
                   if one.values is not None and name not in offsets
                   and _changes_with(one.values, clock)]  # fmt: skip
        if with_it:
            notes.append(
                f"{', '.join(with_it)}: timed by {clock.name!r}, with which they change; its zero "
                f"is t = {offsets[clock.name] - shift:.6g} s, by the value that arrived soonest"
            )
    return Timed(columns, unread, notes, main.start)


def increasing(t: Array, values: Array) -> tuple[Array, Array]:
    """Samples in the order of their times; of equal times the last counts."""
    if (np.diff(t) > 0.0).all():
        return t, values
    order = np.argsort(t, kind="stable")
    t, values = t[order], values[order]
    last = np.append(np.diff(t) > 0.0, True)[: len(t)]
    return t[last], values[last]


def _with_pairs(cells: dict[str, Cells], notes: list[str]) -> dict[str, Cells]:
    """Cells with columns of seconds and of nanoseconds joined into one time."""
    for name in list(cells):
        match = re.fullmatch(r"(.*?)(s|secs?|seconds)|()t", name)
        if match is None or name not in cells:
            continue
        prefix = match[1] or ""
        ends = ("ns", "nsec", "nsecs", "nanosec", "nanosecs", "nanoseconds")
        other = next((prefix + end for end in ends if prefix + end in cells), "")
        whole, part = cells[name].values, cells.get(other, Cells(None)).values
        if whole is None or part is None or not _are_seconds(whole, part):
            continue
        joined = prefix.rstrip("._ ") or TIME
        base = float(np.floor(whole[0])) if len(whole) else 0.0
        time = Cells((whole - base) + 1e-9 * part, "s", start=base if base > UNIX[0] else None)
        cells = {joined: time, **{k: v for k, v in cells.items() if k not in (name, other)}}
        notes.append(f"{joined}: seconds of {name!r} and nanoseconds of {other!r}")
    return cells


def _are_seconds(whole: Array, part: Array) -> bool:
    return bool(
        np.all(whole == np.floor(whole))
        and np.all((part >= 0.0) & (part < 1e9))
        and (not part.size or part.max() > 1e6)
    )


def _clocks(where: str, cells: Mapping[str, Cells], notes: list[str]) -> list[_Clock]:
    """Columns that are a time, in s, the most usual names first."""
    ranks = {name: rank for name, one in cells.items()
             if (rank := (-1, 0, 0) if name == TIME else _rank(name, one)) is not None}  # fmt: skip
    clocks: list[_Clock] = []
    for name in sorted(ranks, key=ranks.__getitem__):
        cell = cells[name]
        if name == TIME and cell.values is None:
            raise InvalidValue(f"{where}: the time {TIME!r} is not a number: {cell.problem}")
        values = cell.values
        if values is None or not np.isfinite(values).any():
            continue
        lost = ~np.isfinite(values)
        if lost.any() and not (lost[0] or lost[-1]):
            places = np.arange(len(values))
            values = np.interp(places, places[~lost], values[~lost])
            notes.append(f"{name}: {counted(int(lost.sum()), 'missing time')} interpolated")
        backward = float(np.mean(np.diff(values) < 0.0)) if len(values) > 1 else 0.0
        if name != TIME and (not np.isfinite(values).all() or backward > MOST_BACKWARD):
            continue
        clocks.append(_in_seconds(where, name, cell._replace(values=values), notes))
    return clocks


def _rank(name: str, cell: Cells) -> tuple[int, int, int] | None:
    rank = rank_of(name, TIME)
    if rank is None and (re.search(r"(?i)time|stamp", name) or same_quantity(cell.unit, "s")):
        rank = 2, 0, 0
    if cell.unit and to_si(cell.unit) is not None and not same_quantity(cell.unit, "s"):
        return None
    return rank


def _in_seconds(where: str, name: str, cell: Cells, notes: list[str]) -> _Clock:
    """A time in s; from the first row if it is a Unix time."""
    assert cell.values is not None
    t = cell.values
    unit = cell.unit or unit_in_name(name)[1]
    conversion = to_si(unit)
    if conversion is not None and not same_quantity(unit, "s"):
        raise InvalidValue(f"{where}: the time {name!r} is in {unit}, which is not a unit of time")
    if conversion is not None:
        t = conversion.of(t)
        if not conversion.changes_nothing:
            notes.append(f"{name}: converted from {unit} to s")
    period = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    if conversion is None and period > SLOWEST:  # so far apart that they are not in s
        for factor, unit in ((1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
            if LIKELY[0] <= factor * period <= LIKELY[1]:
                t = factor * t
                notes.append(
                    f"{name}: converted from {unit} to s, since rows {period:.4g} s apart are not "
                    f"those of a drive and rows {factor * period:.4g} s apart are"
                )
                break
    period = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    if period > SLOWEST:
        raise InvalidValue(
            f"{where}: the rows are {period:g} s apart, by their time {name!r}; a log has rows at "
            f"most {SLOWEST:g} s apart. A unit in the heading, as in '{name} [ms]', is converted"
        )
    start = cell.start
    if len(t) and UNIX[0] < t[0] < UNIX[1]:
        t, start = t - t[0], float(t[0])
    if start is not None and len(t) and (start != cell.start or name == TIME or cell.unit):
        date = datetime.fromtimestamp(start, UTC).isoformat(sep=" ", timespec="milliseconds")
        notes.append(f"{name}: seconds since {date.removesuffix('+00:00')} UTC")
    return _Clock(name, t, start)


def _is_slower(clock: _Clock) -> bool:
    """Whether a stamp repeats in rows that have new times."""
    return len(clock.t) > 2 and bool(np.mean(np.diff(clock.t) == 0.0) > 0.1)


def _changes_with(values: Array, clock: _Clock) -> bool:
    """Whether a column changes only where a clock does, and more than by chance."""
    changed = (np.diff(values) != 0.0) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    ticks = np.diff(clock.t) != 0.0
    return int(changed.sum()) > 2 and not (changed & ~ticks).any()


def _first_rows(clock: _Clock, rows: _Clock, offset: float) -> NDArray[np.intp]:
    """Rows with new stamps that are not older than the log, as before the first message."""
    new = np.flatnonzero(np.append(True, np.diff(clock.t) != 0.0))
    return new[clock.t[new] + offset > rows.t[0] - SLOWEST]


def _offset(clock: _Clock, rows: _Clock) -> float:
    """Time of the rows minus that of another clock, by the value that arrived soonest."""
    new = 1 + np.flatnonzero(np.diff(clock.t) != 0.0)
    return float(np.min(rows.t[new] - clock.t[new])) if new.size else 0.0


def _last_known(values: Array, keep: NDArray[np.intp]) -> Array:
    """The last known value of each group of rows that ends with one of `keep`."""
    if len(keep) == len(values):
        return values
    known = np.where(np.isnan(values), -1, np.arange(len(values)))
    starts = np.append(0, keep[:-1] + 1)
    last = np.maximum.reduceat(known, starts) if len(values) else known
    return np.where(last >= 0, values[np.maximum(last, 0)], np.nan)
