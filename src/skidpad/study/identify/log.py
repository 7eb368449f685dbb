"""A recorded run: named series over time, from tables, MCAP files, bags of ROS 2 or a Trajectory.

Commands are `u_` and the name of the model's input (`u_steer`), as in a Trajectory; measurements
have plain names (`v_x`, `steer`). A mapping renames the columns of a log that has others. Tables
may be CSV with or without units in the heading, or Parquet of any writer.

Units are compared, never converted: `m/s^2`, `m/s2`, `m/s**2` and `m s-2` are all m/s², since a
text is split into powers of names, while km/h and deg/s stay other units than m/s and rad/s.

`check_columns` tests whether the columns of a log agree with each other, which reveals reversed
signs and units that no heading names. Each check compares a column with what follows from others by
a straight line through zero. The slope should be one; a slope that a reversed sign or a usual unit
explains is refused with the column that explains it, and so is a correlation that is clearly
negative. What need not be wrong is a note: a car that slides is steered against its turn, and a
banked road tilts a sensor.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import log
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.files import brief_repr, first_repeated, path_of, reading
from ...errors import InvalidValue, SkidpadError, require
from ...run.trajectory import Trajectory
from ...run.trajectory_files import csv_rows, parquet_table
from ...units import s
from .bags import SUFFIXES, read_bag

EMPTY = frozenset({"", "na", "n/a", "#n/a", "null", "none", "-"})
"""Cells without a value, in small letters, besides those that `float` reads as NaN."""


class Cells(NamedTuple):
    """One column of a table."""

    values: Array | None
    """NaN where a cell is empty. None: not numbers."""
    unit: str = ""
    """Empty: the table does not say."""
    problem: str = ""
    """Why there are no values."""


def read_csv(path: Path, separator: str = ",") -> dict[str, Cells]:
    """The columns of a text table with headings `name` or `name [unit]`; an empty cell is NaN."""
    header, *rows = [row for row in csv_rows(path, separator) if row] or [[]]
    if not header:
        raise InvalidValue(f"{path} is empty: a heading with names of columns is expected")
    for line, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InvalidValue(f"{path}, line {line}: {len(row)} values for {len(header)} columns")
    heads: list[tuple[str, str]] = []
    for text in header:
        name, bracket, unit = text.strip().rpartition("[")
        has_unit = bracket and unit.endswith("]") and "]" not in unit[:-1]
        heads.append((name.strip(), unit[:-1].strip()) if has_unit else (text.strip(), ""))
    names = [name for name, _ in heads]
    twice = first_repeated(names)
    if twice is not None:
        raise InvalidValue(f"{path}: column {twice!r} appears twice; names must differ")
    texts = zip(*rows, strict=True) if rows else [()] * len(header)
    return {name: _parse(cells, unit) for (name, unit), cells in zip(heads, texts, strict=True)}


def _parse(cells: tuple[str, ...], unit: str) -> Cells:
    values = np.empty(len(cells))
    for k, cell in enumerate(cells):
        try:
            values[k] = float(cell)
        except ValueError:
            if cell.strip().lower() not in EMPTY:
                return Cells(None, unit, f"line {k + 2} has {cell!r}, which is no number")
            values[k] = np.nan
    return Cells(values, unit)


def read_parquet(path: Path) -> dict[str, Cells]:
    """The columns of a Parquet file, NaN where a value is null; moments in time become s."""
    arrow = require("pyarrow", purpose=f"Reading {path}")
    with reading(path, "is not a readable Parquet file"):
        table = parquet_table(path, f"Reading {path}")
        return {part.name: _of_arrow(part, table.column(part.name), arrow) for part in table.schema}


def _of_arrow(part: Any, column: Any, arrow: Any) -> Cells:
    unit = (part.metadata or {}).get(b"unit", b"").decode()
    kind = part.type
    if arrow.types.is_timestamp(kind) or arrow.types.is_duration(kind):
        ticks = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[kind.unit]
        # Relative to the first: seconds since 1970 leave no room for microseconds.
        counts = column.cast(arrow.int64()).to_numpy()
        return Cells((counts - counts[:1].sum()) * ticks, "s")
    numeric = arrow.types.is_integer(kind) or arrow.types.is_floating(kind)
    if not (numeric or arrow.types.is_boolean(kind)):
        return Cells(None, unit, f"it holds {kind}, not numbers")
    return Cells(column.to_numpy().astype(float), unit)


RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
WORDS: Mapping[str, Mapping[str, int]] = {
    **{word: {"s": 1} for word in ("sec", "secs", "second", "seconds")},
    **{word: {"m": 1} for word in ("meter", "meters", "metre", "metres")},
    **{word: {"rad": 1} for word in ("rads", "radian", "radians")},
    **{word: {"N": 1} for word in ("newton", "newtons")},
    "Nm": {"N": 1, "m": 1},
    "mps": {"m": 1, "s": -1},
    "radps": {"rad": 1, "s": -1},
    "1": {},
}
"""Names that stand for others, and for how much of them."""
WHOLE = {"mps2": "m/s2", "mps^2": "m/s2", "mpss": "m/s2", "-": "1"}
"""Texts that their parts do not tell."""
FACTOR = re.compile(r"([^\W\d_]+|1)\^?([-+]?\d+)?")


def same_unit(one: str, other: str) -> bool:
    """Whether two texts mean the same unit; those that are no products of powers have to be the
    same letters."""
    if one == other:
        return True
    powers = _powers(one)
    return powers is not None and powers == _powers(other)


def _powers(text: str) -> dict[str, int] | None:
    """Exponents by name; None for a text that is no product of powers."""
    plain = text.strip().translate(RAISED).replace("**", "^").replace(" per ", "/")
    powers: dict[str, int] = {}
    for factor, sign in _factors(WHOLE.get(plain, plain)):
        match = FACTOR.fullmatch(factor)
        if match is None:
            return None
        times = sign * int(match[2] or 1)
        for name, power in WORDS.get(match[1], {match[1]: 1}).items():
            powers[name] = powers.get(name, 0) + times * power
    return {name: power for name, power in powers.items() if power}


def _factors(text: str) -> Iterator[tuple[str, int]]:
    """Each with 1, or with -1 if it divides: the first behind a slash, or all in its brackets."""
    for k, part in enumerate(re.split(r"\s*/\s*", text)):
        bracket = part.startswith("(") and part.endswith(")")
        for n, factor in enumerate(re.split(r"\s*[·⋅*]\s*|\s+|\.", part.strip("()"))):
            yield factor, -1 if k > 0 and (bracket or n == 0) else 1


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
"""Names of columns in other programs, in small letters."""
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
    """The series of a recorded run."""

    name: str
    """File or run, for messages and titles."""
    series: Mapping[str, Series]
    unread: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names that could not be read, each with the reason; of one that is also in `series`, only a
    part."""

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
        from ...view.recording.reading import recorded_runs

        runs = recorded_runs(path)
        if runs is not None:
            # With one vehicle by their own names, with several the vehicle's before them.
            prefixes = {body: f"{body}." if len(runs) > 1 else "" for body in runs}
            parts = (_of_run(run, prefixes[body]) for body, run in runs.items())
            return _renamed(
                Log(path.name, {k: v for p in parts for k, v in p.items()}), names or {}
            )
    readers = {".parquet": read_parquet, ".csv": read_csv}
    try:
        if path.suffix.lower() in readers:
            return _of_table(path.name, readers[path.suffix.lower()](path), names or {})
        if path.suffix.lower() in SUFFIXES or path.is_dir():
            signals, unread = read_bag(path)
            series = {name: Series(t, values) for name, (t, values) in signals.items()}
            return _renamed(Log(path.name, series, unread), names or {})
    except SkidpadError:
        raise
    except OSError as error:
        raise InvalidValue(f"{path} cannot be read: {error.strerror or error}") from error
    raise InvalidValue(
        f"{path}: a log must be a .parquet, .csv, .mcap or .db3 file, or the folder of a bag"
    )


def _of_run(run: Trajectory, before: str = "") -> dict[str, Series]:
    return {before + c.name: Series(run.t, c.values, c.unit.symbol) for c in run.columns}


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
    period = float(np.median(np.diff(time.values))) if len(time.values) > 1 else 0.0
    if period > SLOWEST:  # so far apart that they cannot be those of a drive, in s
        raise InvalidValue(
            f"{name}: the rows are {period:g} s apart, by their time {TIME!r}, which is in s: "
            f"is it in ms? A log has rows at most {SLOWEST:g} s apart"
        )
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
    for old, new in names.items():
        column = columns[old]
        if old in reversed_ and column.values is not None:
            column = cast("T", column._replace(values=-column.values))
        kept[new] = column
    return kept


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


ALIKE, ROUGHLY_ALIKE = 0.8, 0.95
"""Correlation from which on two columns are the same but for a factor; where not all that the check
needs is known it has to be higher, as columns may differ without being wrong."""
OPPOSITE = -0.5
"""Correlation below which two columns have opposite signs. Vehicles that spin come down to 0.4 for
accelerations, and to -0.4 for the angle of the front wheels over the yaw rate."""
WEAK, ROUGHLY_WEAK, WEAK_SIGNS = 0.8, 0.5, 0.3
"""Correlation below which a note says that two columns hardly agree: where all is known, where
something is not, and where the signs alone have to be the same."""
OFFSET = 2.0
"""Offset that a sensor may have, over `_Check.least`: smaller values have no sign."""
GENTLE = 4.0
"""Lateral acceleration in m/s², and twice the one along the road, below which a car is steered into
its turn: not against a slide, nor against brakes that pull to a side."""
GENTLE_SHARE = 0.2
"""Of the samples, that must be gentle to tell."""
PLACES: s = 0.5
"""Over which places are averaged before speed is made of them, for their noise."""
NEAR, ROUGHLY_NEAR = 0.25, 0.15
"""Logarithm by which a slope may miss the one of an explanation, likewise."""
LONG: s = 1.0
"""Mean in which a sideways velocity that is not known hardly counts."""
FAIR = 0.5
"""Logarithm by which a slope may miss one: the road tilts, and sensors sit away from the centre."""
LARGEST_A_Y = 80.0
"""Lateral acceleration in m/s² that no ground vehicle keeps up."""
LARGEST_ANGLES = {"sideslip": 3.2, "roll": 3.2, "pitch": 3.2, "steer": 2.0}
"""In rad."""
DEGREE = 180.0 / np.pi
SI = {"v_x": "m/s", "omega": "rad/s", "yaw": "rad", "a_y": "m/s²", "a_x": "m/s²"}
UNITS: Mapping[str, tuple[tuple[float, str], ...]] = {
    "v_x": ((3.6, "km/h"),),
    "omega": ((DEGREE, "deg/s"),),
    "yaw": ((DEGREE, "deg"),),
    "a_y": ((1.0 / 9.80665, "g"),),
    "a_x": ((1.0 / 9.80665, "g"),),
}
"""Units that a column may be in instead of SI, with the number of them in one of SI."""


class _Check(NamedTuple):
    """Numbers that should be the same."""

    label: str
    """The first, for the reader."""
    follows: str
    """The second, for the reader."""
    first: Array
    second: Array
    least: float
    """Root mean square below which nothing happens."""
    above: tuple[str, ...]
    """Columns that the first is proportional to."""
    below: tuple[str, ...]
    """Columns that the second is proportional to."""
    signs_only: bool = False
    samples: int = 5
    """Over which a mean is taken, for noise of derivatives."""
    rough: bool = False
    """Whether something that it needs is not known."""
    gentle: NDArray[np.bool_] | None = None
    """The samples of which the signs tell, if not all do: see `GENTLE`."""

    @property
    def weak(self) -> float:
        """Correlation below which the two hardly agree."""
        return WEAK_SIGNS if self.signs_only else ROUGHLY_WEAK if self.rough else WEAK

    @property
    def alike(self) -> float:
        """Least correlation."""
        return ROUGHLY_ALIKE if self.rough else ALIKE

    @property
    def near(self) -> float:
        """Most that an explanation is missed by."""
        return ROUGHLY_NEAR if self.rough else NEAR


class _Explanation(NamedTuple):
    columns: frozenset[str]
    words: tuple[str, ...]


class _Contradiction(NamedTuple):
    check: _Check
    slope: float
    alike: float
    explanations: list[_Explanation]


_MAY_SLIDE = (
    ": as of a car that slides; otherwise steer has its sign reversed, and --map COLUMN=-steer "
    "turns it round"
)


def check_columns(name: str, t: Array, columns: Mapping[str, Array]) -> list[str]:
    """Notes on columns that hardly agree; raises InvalidValue for those that contradict each other,
    or are out of what they can be in SI."""
    _check_sizes(name, columns)
    notes: list[str] = []
    contradictions: list[_Contradiction] = []
    trusted: set[str] = set()
    with np.errstate(over="ignore", invalid="ignore"):  # absurd values tell nothing here
        lines = [(check, *_line(check)) for check in _checks(t, columns)]
    for check, slope, alike in lines:
        if np.isnan(alike):
            continue
        same = abs(alike) >= check.alike and not check.signs_only
        if slope > 0.0 and (abs(log(slope)) < FAIR if same else check.signs_only):
            trusted |= {*check.above, *check.below} if alike >= check.weak else set()
        elif (slope > 0.0 and same) or (alike < OPPOSITE and _opposite(check)):
            judged = check if same else check._replace(signs_only=True)
            explanations = _explanations(judged, slope)
            if slope < 0.0 or explanations or not check.rough:
                contradictions.append(_Contradiction(judged, slope, alike, explanations))
            continue
        if alike < check.weak:
            notes.append(
                f"{check.label} and {check.follows} hardly agree in the log (correlation "
                f"{alike:.2f})" + (_MAY_SLIDE if alike < OPPOSITE and check.signs_only else "")
            )
    if contradictions:
        raise InvalidValue(_words(name, contradictions, trusted))
    return notes


def _words(name: str, contradictions: list[_Contradiction], trusted: set[str]) -> str:
    """Which column is likely wrong: the one that explains most, and of which nothing else is
    right."""
    check, slope, alike, own = contradictions[0]
    claims = [one for each in contradictions for one in each.explanations]
    sentence = f"{name}: {check.label} " + (
        f"has the sign opposite to {check.follows} (correlation {alike:.2f})"
        if check.signs_only
        else f"is {slope:.3g} times {check.follows} (correlation {alike:.2f}), and should be the "
        "same"
    )
    if not own:
        either = " or ".join(dict.fromkeys((*check.above, *check.below)))
        return f"{sentence}: the unit or the sign of {either} is wrong"

    def merit(one: _Explanation) -> tuple[int, int, int]:
        return claims.count(one), -len(one.columns & trusted), -len(one.columns)

    best = max(map(merit, own))
    likely = [one for one in own if merit(one) == best]
    return f"{sentence}: {' or '.join(' and '.join(one.words) for one in likely)}"


def _explanations(check: _Check, slope: float) -> list[_Explanation]:
    """Reversed signs and units of one or two columns that give a slope."""

    def explains(factor: float) -> bool:
        if factor * slope <= 0.0:
            return False
        return check.signs_only or abs(log(factor / slope)) < check.near

    single: list[tuple[str, float, str]] = []
    for names, power in ((check.above, 1), (check.below, -1)):
        for column in names:
            if slope < 0.0 and column != "v_x":  # every program takes ahead as positive
                ahead = "ahead" if column == "a_x" else "left and counterclockwise"
                single.append((column, -1.0, f"{column} likely has its sign reversed (ISO 8855: "
                               f"{ahead} {'is' if column == 'a_x' else 'are'} positive); --map "
                               f"COLUMN=-{column} turns it round"))  # fmt: skip
            if not check.signs_only:
                single += [
                    (column, factor**power, f"{column} is likely in {unit}, and must be in "
                     f"{SI[column]}")
                    for factor, unit in UNITS.get(column, ())
                ]  # fmt: skip
    for count in (1, 2, 3):
        fitting = [
            _Explanation(frozenset(c for c, _, _ in some), tuple(words for _, _, words in some))
            for some in combinations(single, count)
            if explains(float(np.prod([factor for _, factor, _ in some])))
        ]
        if fitting:
            return fitting
    return []


def _checks(t: Array, columns: Mapping[str, Array]) -> Iterator[_Check]:
    """All that the columns of a log allow for, the most certain first."""
    v_x, a_y, steer = columns["v_x"], columns.get("a_y"), columns.get("steer")
    turning = columns.get("omega")
    rate, by = "omega", ("omega",)
    if "yaw" in columns:
        from_yaw = np.gradient(columns["yaw"], t)
        if turning is not None:
            yield _Check("the rate of yaw", "omega", from_yaw, turning, 0.02, ("yaw",), by)
        else:
            turning, rate, by = from_yaw, "the rate of yaw", ("yaw",)
    if {"x", "y"} <= columns.keys():
        over = _odd(PLACES, t)
        way = np.hypot(*(np.gradient(_calm(columns[axis], over), t) for axis in ("x", "y")))
        yield _Check("the speed along x and y", "v_x", way, np.abs(v_x), 1.0, (), ("v_x",))
    v_y = columns.get("v_y")
    if v_y is None and "sideslip" in columns:
        v_y = v_x * np.tan(columns["sideslip"])
    long = _odd(LONG, t)
    if turning is not None and a_y is not None:
        sideways = 0.0 if v_y is None else np.gradient(v_y, t)
        one = _Check(
            "a_y", f"v_x times {rate}", a_y - sideways, v_x * turning, 0.3, ("a_y",), ("v_x", *by)
        )
        yield one if v_y is not None else one._replace(samples=long, rough=True)
    if "a_x" in columns:
        told, change = columns["a_x"], np.gradient(v_x, t)
        one = _Check("a_x", "the change of v_x", told, change, 0.3, ("a_x",), ("v_x",))
        if turning is not None and v_y is not None:
            yield one._replace(second=change - v_y * turning)
        else:
            yield one._replace(samples=long, rough=True)
    if steer is not None and (turning is not None or a_y is not None):
        moving = np.sign(v_x) * (np.abs(v_x) > 1.0)
        if turning is not None:
            steer = np.where(moving == 0.0, 0.0, steer)
            one = _Check("steer", rate, steer, moving * turning, 0.02, ("steer",), by)
            across = v_x * turning
        else:
            across = a_y if a_y is not None else steer
            ahead = np.where(moving > 0.0, steer, 0.0)
            one = _Check("steer", "a_y", ahead, across, 0.3, ("steer",), ("a_y",))
        along = 2.0 * _calm(np.gradient(v_x, t), long)
        yield one._replace(signs_only=True, gentle=np.hypot(across, along) < GENTLE)


def _opposite(check: _Check) -> bool:
    """Whether two columns that correlate negatively have opposite signs for sure: beyond what an
    offset of a sensor explains, and where a car does not slide."""
    first, second = _calm(check.first, check.samples), _calm(check.second, check.samples)
    if check.gentle is not None:
        if check.gentle.mean() < GENTLE_SHARE:
            return False
        first, second = first[check.gentle], second[check.gentle]
    # By how much the second is beyond an offset; 0 within it.
    second = np.sign(second) * np.maximum(np.abs(second) - OFFSET * check.least, 0.0)
    a, b = np.sqrt(np.mean(first**2)), np.sqrt(np.mean(second**2))
    return a * b > 0.0 and float(np.mean(first * second)) < OPPOSITE * a * b


def _odd(over: s, t: Array) -> int:
    """Samples of a moving mean over a time."""
    return min(int(over / (t[1] - t[0])), len(t) // 2) | 1


def _line(check: _Check) -> tuple[float, float]:
    """Slope of the first over the second, and how alike they are; NaN where nothing happens."""
    first, second = _calm(check.first, check.samples), _calm(check.second, check.samples)
    a, b = np.sqrt(np.mean(first**2)), np.sqrt(np.mean(second**2))
    if b < check.least or a < 1e-3 * check.least:
        return np.nan, np.nan
    alike = float(np.mean(first * second) / (a * b))
    return float(np.copysign(a / b, alike)), alike


def _calm(values: Array, samples: int) -> Array:
    """Moving mean over an odd number of samples."""
    padded = np.pad(values, samples // 2, mode="edge")
    return np.convolve(padded, np.full(samples, 1.0 / samples), mode="valid")


def _check_sizes(name: str, columns: Mapping[str, Array]) -> None:
    """Raise for angles and yaw rates that can only be in degrees."""
    for column, most in LARGEST_ANGLES.items():
        if column in columns and np.abs(columns[column]).max() > most:
            other = ", or the angle of the steering wheel?" if column == "steer" else "?"
            raise InvalidValue(
                f"{name}: {column} reaches {np.abs(columns[column]).max():.4g} rad: is it in deg"
                f"{other}"
            )
    if "omega" in columns and "a_y" not in columns and "yaw" not in columns:
        across = float(np.quantile(np.abs(columns["v_x"] * columns["omega"]), 0.95))
        if across > LARGEST_A_Y:
            raise InvalidValue(
                f"{name}: v_x times omega reaches {across:.4g} m/s²: omega is likely in deg/s, "
                f"and must be in rad/s"
            )
