"""Logs of Racelogic VBOX, files `.vbo`.

The format is described in Racelogic's support centre (VBO File Format). A file is text in sections:
`[header]` names the channels in full and often with a unit, `[channel units]` gives the units of
the last ones, `[column names]` names them briefly, and `[data]` has rows separated by spaces. Time
is UTC as HHMMSS.SS, latitude and longitude are in minutes of arc, and longitude is positive to the
west. Without satellites both are zero.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from ...core.files import counted, first_repeated
from ...errors import InvalidValue
from .clocks import Timed, increasing
from .tables import decoded_text, intact_rows, parsed_cells
from .units import to_si

_UNITS = {"heading": "deg", "true_head": "deg", "height": "m", "velocity": "km/h",
          "slip_angle": "deg", "yaw_rate": "deg/s", "lateral acceleration": "g",
          "longitudinal acceleration": "g"}  # fmt: skip
"""Units of channels whose names do not tell them."""
_MIDNIGHT = 43200.0


def read_vbox(path: Path) -> Timed:
    """Channels of a file `.vbo`, latitude and longitude in degrees, east and north positive."""
    sections = _sections(decoded_text(path))
    if "data" not in sections or not {"header", "column names"} & sections.keys():
        raise InvalidValue(f"{path} is not a VBOX log: it lacks the sections [header] and [data]")
    rows = [(k, line.replace(",", ".").split()) for k, line in sections["data"] if line.strip()]
    short = " ".join(line for _, line in sections.get("column names", [])).split()
    full = [line.strip() for _, line in sections.get("header", []) if line.strip()]
    names = full if len(full) == len(short) or not short else short
    twice = first_repeated(names)
    if twice is not None:
        raise InvalidValue(f"{path}: channel {twice!r} appears twice; names must differ")
    plain = [(short if len(short) == len(names) else names)[k].lower() for k in range(len(names))]
    if "time" not in plain:
        raise InvalidValue(f"{path} has no channel 'time'; it has {', '.join(names)}")
    units = [line.strip() for _, line in sections.get("channel units", [])]
    units = ([""] * (len(names) - len(units)) + units)[-len(names) :]
    rows, notes = intact_rows(path, rows, len(names), names)
    lines = [line for line, _ in rows]
    cells = [
        parsed_cells(tuple(row[k] for _, row in rows), "", lines, lenient=True)
        for k in range(len(names))
    ]
    clock = cells[plain.index("time")].values
    if clock is None or not np.isfinite(clock).any():
        raise InvalidValue(f"{path}: the channel 'time' is not a number in the form HHMMSS.SS")
    known = np.isfinite(clock)
    hours, minutes = clock // 10000.0, clock // 100.0 % 100.0
    t = (3600.0 * hours + 60.0 * minutes + clock % 100.0)[known]
    t += 86400.0 * np.cumsum(np.diff(t, prepend=t[:1]) < -_MIDNIGHT)
    begin = float(t[0])
    columns: dict[str, tuple[np.ndarray, np.ndarray, str]] = {}
    unread: dict[str, str] = {}
    for name, key, unit, cell in zip(names, plain, units, cells, strict=True):
        if key == "time":
            continue
        if cell.values is None:
            unread[name] = cell.problem
            continue
        values, stem = cell.values[known], name
        match = re.fullmatch(r"(.+?)[ _](kmh|km/h|knots|mph|m/s|g|deg|deg/s)", name)
        if not unit and match and to_si(match[2]):
            stem, unit = match[1], match[2]
        if key in ("lat", "latitude"):
            stem, values, unit = "latitude", values / 60.0, "deg"
        elif key in ("long", "longitude"):
            stem, values, unit = "longitude", -values / 60.0, "deg"
        elif key == "heading":
            stem = "GPS heading"  # of the velocity, clockwise from north
        unit = unit or _UNITS.get(name.lower(), _UNITS.get(key, ""))
        times, values = increasing(t - begin, values)
        columns[stem if stem not in columns else name] = times, values, unit
    if {"latitude", "longitude"} <= columns.keys():
        times, north, unit = columns["latitude"]
        east = columns["longitude"][1]
        lost = (north == 0.0) & (east == 0.0)
        if lost.any():
            columns["latitude"] = times, np.where(lost, np.nan, north), unit
            columns["longitude"] = times, np.where(lost, np.nan, east), unit
            notes.append(f"latitude, longitude: {counted(int(lost.sum()), 'sample')} of {len(lost)}"
                         " without satellites left empty")  # fmt: skip
    created = re.search(r"created on (\d\d?)/(\d\d?)/(\d{4})", sections[""][0][1]) if (
        sections.get("")
    ) else None  # fmt: skip
    return Timed(columns, unread, notes, None if created is None else _start(created, begin))


def _start(created: re.Match[str], begin: float) -> float | None:
    day, month, year = map(int, created.groups())
    try:
        return datetime(year, month, day, tzinfo=UTC).timestamp() + begin
    except ValueError:
        return None


def _sections(text: str) -> dict[str, list[tuple[int, str]]]:
    """Lines with their numbers by the name of the section; those before the first under ""."""
    sections: dict[str, list[tuple[int, str]]] = {}
    name = ""
    for k, line in enumerate(text.splitlines(), start=1):
        match = re.fullmatch(r"\s*\[([^\]]+)\]\s*", line)
        if match:
            name = match[1].strip().lower()
            sections.setdefault(name, [])
        elif line.strip() or name == "channel units":
            sections.setdefault(name, []).append((k, line))
    units = sections.get("channel units", [])
    if units and not units[-1][1].strip():
        units.pop()  # the blank line between sections
    return sections
