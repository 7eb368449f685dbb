"""Tables: text files of any logger with columns, and Parquet of any origin, and their times.

A table is read as `Cells` by the name of each column, before it is known which column is the time.
`read_csv` expects a heading in the first line and refuses damaged rows. `read_text_table` is for
logs: it finds the heading and the delimiter, and leaves out damaged rows with a note.

`channels_of` finds the columns with times, and which other columns change with each of them. A row
has one time, but its cells may be older: a logger that writes a row whenever a camera sends a
position repeats the last values of slower sensors, with their own, repeated stamp.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.files import bytes_of, counted, first_repeated, reading
from ...errors import InvalidValue, require
from ...run.trajectory_table import csv_rows, parquet_table
from .cleaning import repair_stamps
from .units import TIME, how_to_name, rank_of, same_quantity, to_si, unit_in_name

EMPTY = frozenset({"", "na", "n/a", "#n/a", "null", "none", "-"})
"""Text of cells without a value, in small letters, in addition to those that `float` reads as
NaN."""


class Cells(NamedTuple):
    """One column of a table."""

    values: Array | None
    """Values, NaN where a cell is empty; None if the column is not numeric."""
    unit: str = ""
    """Unit; empty if the table does not state it."""
    problem: str = ""
    """Why there are no values."""
    start: float | None = None
    """Unix time in s of the value 0, for dates; None for other values."""


class TextTable(NamedTuple):
    """The columns of a text table and what was left out."""

    columns: dict[str, Cells]
    notes: list[str]


def read_csv(path: Path, separator: str = ",") -> dict[str, Cells]:
    """The columns of a text table with headings `name` or `name [unit]`; an empty cell is NaN."""
    header, *rows = [row for row in csv_rows(path, separator) if row] or [[]]
    if not header:
        raise InvalidValue(f"{path} is empty: a heading with names of columns is expected")
    for line, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InvalidValue(f"{path}, line {line}: {len(row)} values for {len(header)} columns")
    heads = [_heading(text) for text in header]
    _check_names(path, [name for name, _ in heads])
    texts = zip(*rows, strict=True) if rows else [()] * len(header)
    lines = range(2, len(rows) + 2)
    return {
        name: parsed_cells(cells, u, lines) for (name, u), cells in zip(heads, texts, strict=True)
    }


def _heading(text: str) -> tuple[str, str]:
    """Name and unit of a heading `name [unit]`."""
    name, bracket, unit = text.strip().rpartition("[")
    has_unit = bracket and unit.endswith("]") and "]" not in unit[:-1]
    return (name.strip(), unit[:-1].strip()) if has_unit else (text.strip(), "")


def name_and_unit(text: str) -> tuple[str, str]:
    """Name and unit of a column `name [unit]` or `name (unit)` with a known unit; else the text."""
    match = re.fullmatch(r"(.+?)\s*[\[(]([^][()]+)[])]", text.strip())
    if match is None or match[2].strip().isdigit() or to_si(match[2]) is None:
        return text, ""
    return match[1], match[2].strip()


def _check_names(path: Path, names: Sequence[str]) -> None:
    twice = first_repeated(names)
    if twice is not None:
        raise InvalidValue(f"{path}: column {twice!r} appears twice; names must differ")


MOST_PREAMBLE = 400
"""Number of lines among which the heading is looked for."""
MOST_DAMAGED = 0.05
"""Largest share of rows with a wrong number of cells, and of cells of a column that are text."""
DELIMITERS = ",;\t|"
Rows = list[tuple[int, list[str]]]
"""Rows with the numbers of their lines."""


def read_text_table(path: Path) -> TextTable:
    """The columns of a text table of any logger.

    The delimiter is found (comma, semicolon, tab, bar or spaces), and so are decimal commas. Lines
    above the heading are skipped. Units stand in the heading, as `speed [km/h]`, `speed (km/h)` or
    `speed_kmh`, or in a line below. Rows with a wrong number of cells are left out with a note; a
    table with many of them raises InvalidValue.
    """
    text = decoded_text(path)
    rows = _split(path, text)
    if not rows:
        raise InvalidValue(f"{path} is empty: a heading with names of columns is expected")
    # Lines above the heading may hold numbers too, so the second half of the file counts.
    width = Counter(len(row) for _, row in rows[len(rows) // 2 :] if any(map(_is_value, row)))
    usual = max(width, key=lambda n: (width[n], n)) if width else len(rows[0][1])
    first = _first_data(path, rows, usual)
    top = first - 1
    while top > 0:  # names, and units below them
        (line, upper), (next_line, lower) = rows[top - 1 : top + 1]
        if next_line != line + 1 or len(upper) != len(lower) or any(map(_is_value, upper)):
            break
        top -= 1
    heading, *others = [row for _, row in rows[top:first]]
    heads = _headings(heading, others)
    data, notes = intact_rows(path, rows[first:], len(heading), heading)
    some = [cell.strip() for _, row in data[:200] for cell in row]
    commas = any(map(_COMMA.fullmatch, some)) and not any(map(re.compile(r"\d\.\d").search, some))
    lines = [line for line, _ in data]
    columns: dict[str, Cells] = {}
    _check_names(path, [name for name, _ in heads if name])
    for k, (name, unit) in enumerate(heads):
        cells = tuple(row[k] for _, row in data)
        if not name and not any(cell.strip() for cell in cells):
            continue  # what follows a delimiter at the end of each line
        if not name and _counts_rows(cells):
            notes.append(f"column {k + 1}, which has no name and numbers the rows, left out")
            continue
        name = name or f"column {k + 1}"
        if commas:
            cells = tuple(cell.replace(",", ".") for cell in cells)
        columns[name] = parsed_cells(cells, unit, lines, lenient=True)
        if columns[name].values is not None and columns[name].problem:
            notes.append(f"{name}: {columns[name].problem}; left empty")
    return TextTable(columns, notes)


def _counts_rows(cells: Sequence[str]) -> bool:
    """Whether cells are the numbers of the rows, as pandas writes them."""
    try:
        numbers = np.array([int(cell) for cell in cells])
    except ValueError:
        return False
    return len(numbers) > 2 and bool((np.diff(numbers) == 1).all()) and numbers[0] in (0, 1)


def decoded_text(path: Path) -> str:
    """Text of a file in UTF-8, UTF-16 with its mark, or Latin-1; raises for binary files."""
    data = bytes_of(path)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = data.decode("utf-16", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("latin-1")  # ° and ² of programs on Windows
    if "\0" in text:
        raise InvalidValue(f"{path} is not a text table: it contains zero bytes")
    return text


def _split(path: Path, text: str) -> Rows:
    """Rows of cells by the delimiter whose cells are numbers most often; no comments."""

    def rows_of(text: str, delimiter: str) -> Rows:
        if delimiter == " ":
            parts = ((k, line.split()) for k, line in enumerate(text.splitlines(), start=1))
            return [(k, row) for k, row in parts if row]
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            return [(reader.line_num, row) for row in reader if any(c.strip() for c in row)]
        except csv.Error as error:
            raise InvalidValue(f"{path}, line {reader.line_num}: not CSV: {error}") from error

    sample = "\n".join(text[: 1 << 18].splitlines()[:MOST_PREAMBLE])

    def merit(delimiter: str) -> float:
        widths = Counter[int]()
        values = Counter[int]()
        for _, row in rows_of(sample, delimiter):
            count = sum(map(_is_value if delimiter == "," else _is_value_or_comma, row))
            widths[len(row)] += 1 if count else 0
            values[len(row)] += count
        width, rows = max(widths.items(), key=lambda item: item[1] * (item[0] > 1), default=(1, 0))
        return values[width] / (width * rows) if width > 1 and rows else 0.0

    best = max(DELIMITERS, key=merit)
    if merit(best) == 0.0:
        best = " " if merit(" ") > 0.0 else ","
    rows = rows_of(text, best)
    # The heading of some programs is a comment; other comments are left out.
    plain: Rows = []
    for k, (line, row) in enumerate(rows):
        if row[0].lstrip().startswith("#"):
            after = next((r for _, r in rows[k + 1 :] if not r[0].lstrip().startswith("#")), [])
            row = [row[0].lstrip().lstrip("#").strip(), *row[1:]]
            row = row[1:] if best == " " and not row[0] else row
            if plain or len(row) != len(after) or any(map(_is_value, row)):
                continue
        plain.append((line, row))
    return plain


_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[+-]\d\d:?\d\d))?)?")
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{1,2}(?:[.,]\d+)?)")
_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


def _is_value(cell: str) -> bool:
    """Whether a cell is a number, a date or a time."""
    try:
        float(cell)
    except ValueError:
        text = cell.strip()
        return bool(_DATE.fullmatch(text) or _CLOCK.fullmatch(text))
    return True


def _is_value_or_comma(cell: str) -> bool:
    return _is_value(cell) or _COMMA.fullmatch(cell.strip()) is not None


def _first_data(path: Path, rows: Rows, width: int) -> int:
    """Index of the first row of numbers below a heading."""

    def is_data(k: int) -> bool:
        row = rows[k][1]
        return len(row) == width and any(map(_is_value_or_comma, row))

    def is_heading(k: int) -> bool:
        row = rows[k][1]
        texts = sum(bool(cell.strip()) for cell in row)
        return 2 * texts >= len(row) and not any(map(_is_value_or_comma, row))

    for k in range(min(len(rows), MOST_PREAMBLE)):
        length = len(rows[k][1])
        if length not in (width, width - 1) or not is_heading(k):
            continue
        first = next((i for i in range(k + 1, min(k + 5, len(rows))) if is_data(i)), 0)
        # A delimiter at the end of the rows of numbers makes them longer by an empty cell.
        longer = first > 0 and not rows[first][1][-1].strip()
        alike = all(len(row) == length for _, row in rows[k:first])
        if first and alike and (length == width or longer):
            return first
    if not any(is_data(k) for k in range(len(rows))):
        return 1  # a heading without rows
    line = next(rows[k][0] for k in range(len(rows)) if is_data(k))
    raise InvalidValue(
        f"{path} has no heading: a line with the names of the {width} columns is expected above "
        f"the numbers in line {line}"
    )


def _headings(heading: Sequence[str], others: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Names and units of the columns, from the heading and the lines below it."""
    units: Sequence[str] = ()
    for row in others:
        texts = [cell.strip() for cell in row if cell.strip()]
        if not units and 2 * sum(to_si(text) is not None for text in texts) >= len(texts) > 0:
            units = row
    sources = next((row for row in reversed(others) if row is not units), ())
    heads: list[tuple[str, str]] = []
    for k, text in enumerate(heading):
        name, unit = _heading(text)
        if not unit:
            # RaceChrono ends names with the source of a value.
            name, unit = name_and_unit(re.sub(r" \*\w+$", "", name))
        if not unit and k < len(units):
            unit = units[k].strip()
        heads.append((name, unit))
    count = Counter(name for name, _ in heads)
    for k, (name, unit) in enumerate(heads):
        source = sources[k].strip() if k < len(sources) else ""
        if count[name] > 1 and source:
            heads[k] = f"{name} ({source})", unit
    return heads


def intact_rows(path: Path, rows: Rows, width: int, heading: list[str]) -> tuple[Rows, list[str]]:
    """Rows with the right number of cells, and notes on the others."""
    kept: Rows = []
    damaged: list[tuple[int, int]] = []
    repeated = 0
    for line, row in rows:
        if len(row) > width and not any(cell.strip() for cell in row[width:]):
            row = row[:width]
        if row == heading:
            repeated += 1
        elif len(row) == width:
            kept.append((line, row))
        else:
            damaged.append((line, len(row)))
    notes = [f"{counted(repeated, 'repeated heading')} left out"] if repeated else []
    cut = bool(damaged) and damaged[-1][0] == rows[-1][0]
    if len(damaged) - cut > MOST_DAMAGED * len(rows):
        line, cells = damaged[0]
        raise InvalidValue(
            f"{path}, line {line}: {cells} values for {width} columns, and so are "
            f"{len(damaged) - 1} other lines"
        )
    if cut:
        line, cells = damaged.pop()
        notes.append(f"the last line, {line}, was cut off ({cells} of {width} cells) and left out")
    if damaged:
        notes.append(
            f"{counted(len(damaged), 'row')} with a wrong number of cells left out, the first in "
            f"line {damaged[0][0]}"
        )
    return kept, notes


def parsed_cells(
    cells: tuple[str, ...], unit: str, lines: Sequence[int], *, lenient: bool = False
) -> Cells:
    """Numbers of a column. If lenient, a few texts become NaN, and dates and times become s."""
    try:
        return Cells(np.array(cells, dtype=str).astype(float), unit)
    except ValueError:
        pass
    values = np.full(len(cells), np.nan)
    texts: list[int] = []
    for k, cell in enumerate(cells):
        try:
            values[k] = float(cell)
        except ValueError:
            if cell.strip().lower() not in EMPTY:
                texts.append(k)
    if not texts:
        return Cells(values, unit)
    problem = f"line {lines[texts[0]]} has {cells[texts[0]]!r}, which is no number"
    if lenient and (times := _times(cells)) is not None:
        return times
    numbers = int(np.isfinite(values).sum())
    if not lenient or len(texts) > MOST_DAMAGED * (len(texts) + numbers):
        return Cells(None, unit, problem)
    more = f", and {counted(len(texts) - 1, 'other')}" if len(texts) > 1 else ""
    return Cells(values, unit, problem + more)


def _times(cells: Sequence[str]) -> Cells | None:
    """Seconds of dates (ISO 8601) or clock times; None for other texts."""
    texts = [cell.strip().replace(",", ".") for cell in cells]
    first = next((text for text in texts if text), "")
    if _DATE.fullmatch(first):
        try:
            dates = [datetime.fromisoformat(text) if text else None for text in texts]
        except ValueError:
            return None
        utc = [d and (d if d.tzinfo else d.replace(tzinfo=UTC)) for d in dates]
        origin = next(d for d in utc if d)
        values = np.array([(d - origin).total_seconds() if d else np.nan for d in utc])
        return Cells(values, "s", start=origin.timestamp())
    matches = [_CLOCK.fullmatch(text) for text in texts]
    if not _CLOCK.fullmatch(first) or any(t and not m for t, m in zip(texts, matches, strict=True)):
        return None
    values = np.array([
        60.0 * (60 * int(m[1] or 0) + int(m[2])) + float(m[3]) if m else np.nan for m in matches
    ])  # fmt: skip
    if first.count(":") == 2:
        known = np.flatnonzero(np.isfinite(values))
        midnights = np.cumsum(np.diff(values[known], prepend=values[known[:1]]) < -43200.0)
        values[known] += 86400.0 * midnights
    return Cells(values, "s")


def read_parquet(path: Path) -> dict[str, Cells]:
    """Columns of a Parquet file, NaN where a value is null; timestamps become seconds."""
    arrow = require("pyarrow", purpose=f"Reading {path}")
    with reading(path, "is not a readable Parquet file"):
        table = parquet_table(path, f"Reading {path}")
        numeric = ("is_integer", "is_floating", "is_boolean")
        columns: dict[str, Cells] = {}
        for part in table.schema:
            unit = (part.metadata or {}).get(b"unit", b"").decode()
            kind, values = part.type, table.column(part.name)
            is_date = arrow.types.is_timestamp(kind)
            if is_date or arrow.types.is_duration(kind):
                ticks = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[kind.unit]
                # Relative to the first: seconds since 1970 leave no room for microseconds.
                counts = values.cast(arrow.int64()).to_numpy()
                begin = counts[:1].sum()
                start = float(begin * ticks) if is_date else None
                columns[part.name] = Cells((counts - begin) * ticks, "s", start=start)
            elif any(getattr(arrow.types, test)(kind) for test in numeric):
                columns[part.name] = Cells(values.to_numpy().astype(float), unit)
            else:
                columns[part.name] = Cells(None, unit, f"it holds {kind}, not numbers")
        return columns


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
    cells = _with_pairs(_with_units(cells), notes)
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
    others: list[_Clock] = []
    offsets: dict[str, float] = {}
    for clock in found:
        # Stamps of a slower clock repeat in rows that have new times.
        if clock is not rows and len(clock.t) > 2 and np.mean(np.diff(clock.t) == 0.0) > 0.1:
            others.append(clock)
            new = 1 + np.flatnonzero(np.diff(clock.t) != 0.0)
            offsets[clock.name] = float(np.min(rows.t[new] - clock.t[new])) if new.size else 0.0
    shift = offsets.get(main.name, 0.0)
    columns: dict[str, tuple[Array, Array, str]] = {}
    unread: dict[str, str] = {}
    timed: dict[str, list[str]] = {}
    for name, one in cells.items():
        if one.values is None:
            unread[name] = one.problem
        if one.values is None or name in (rows.name, *offsets):
            continue
        own = next((clock for clock in others if _changes_with(one.values, clock)), None)
        if own is None:
            values = one.values
            if len(keep) < len(values):  # the last known value of rows with the same time
                known = np.where(np.isnan(values), -1, np.arange(len(values)))
                last = np.maximum.reduceat(known, np.append(0, keep[:-1] + 1))
                values = np.where(last >= 0, values[np.maximum(last, 0)], np.nan)
            columns[name] = rows.t[keep] - shift, values, one.unit
            continue
        timed.setdefault(own.name, []).append(name)
        new = np.flatnonzero(np.append(True, np.diff(own.t) != 0.0))
        # A stamp that is older than the log was there before the first message.
        new = new[own.t[new] + offsets[own.name] > rows.t[0] - SLOWEST]
        columns[name] = own.t[new] + offsets[own.name] - shift, one.values[new], one.unit
    for clock_name, names in timed.items():
        notes.append(
            f"{', '.join(names)}: timed by {clock_name!r}, with which they change; its zero "
            f"is t = {offsets[clock_name] - shift:.6g} s, by the value that arrived soonest"
        )
    return Timed(columns, unread, notes, main.start)


def _with_units(cells: Mapping[str, Cells]) -> dict[str, Cells]:
    """Cells with the units that stand in the names of columns; names stay different."""
    split = {name: name_and_unit(name) for name, one in cells.items() if not one.unit}
    count = Counter([*(stem for stem, _ in split.values()), *(cells.keys() - split.keys())])
    result: dict[str, Cells] = {}
    for name, one in cells.items():
        stem, unit = split.get(name, (name, ""))
        if unit and count[stem] == 1:
            result[stem] = one._replace(unit=unit)
        else:
            result[name] = one
    return result


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
        if whole is None or part is None or (part.size and not part.max() > 1e6):
            continue
        if not ((whole == np.floor(whole)) & (part >= 0.0) & (part < 1e9)).all():
            continue
        joined = prefix.rstrip("._ ") or TIME
        base = float(np.floor(whole[0])) if len(whole) else 0.0
        time = Cells((whole - base) + 1e-9 * part, "s", start=base if base > UNIX[0] else None)
        cells = {joined: time, **{k: v for k, v in cells.items() if k not in (name, other)}}
        notes.append(f"{joined}: seconds of {name!r} and nanoseconds of {other!r}")
    return cells


def _clocks(where: str, cells: Mapping[str, Cells], notes: list[str]) -> list[_Clock]:
    """Columns that are a time, in s, the most usual names first."""
    ranks: dict[str, tuple[int, int, int]] = {}
    for name, one in cells.items():
        is_time = same_quantity(one.unit, "s")
        rank = (-1, 0, 0) if name == TIME else rank_of(name, TIME)
        if rank is None and (re.search(r"(?i)time|stamp", name) or is_time):
            rank = 2, 0, 0
        if rank is not None and (name == TIME or is_time or to_si(one.unit) is None):
            ranks[name] = rank
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


def _changes_with(values: Array, clock: _Clock) -> bool:
    """Whether a column changes only where a clock does, and more than by chance."""
    changed = (np.diff(values) != 0.0) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    ticks = np.diff(clock.t) != 0.0
    return int(changed.sum()) > 2 and not (changed & ~ticks).any()
