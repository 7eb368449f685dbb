"""TYDEX 1.3: fixed columns, one file per sweep, constants beside the measured channels.

Names stand in columns 1 to 10, what they mean in 11 to 40, units in 41 to 50 and values from 51 on.
Axes are W, those of the contact patch; forces in other axes (`FYC`, `FZH`) are not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from ..files import bytes_of, first_repeated
from .measurement_names import UNITS
from .measurement_rows import usable
from .measurement_table import Measurements
from .measurement_units import factor

_WIDTH = 10
"""Characters of a number."""
_MOST_CHANNELS = 1000
"""Channels of a file: real ones have some dozens, and every row has a value for each."""
_COLUMNS = {
    "RUNTIME": "time",
    "LONGVEL": "v_x",
    "WHROTSPD": "omega",
    "SLIPANGL": "alpha",
    "LONGSLIP": "kappa",
    "INCLANGL": "gamma",
    "INFLPRES": "p",
    "FX": "F_x",
    "FXW": "F_x",
    "FYW": "F_y",
    "FZW": "F_z",
    "MXW": "M_x",
    "MYW": "M_y",
    "MZW": "M_z",
    "DSTGRWHC": "R_l",
}
"""Names of TYDEX and ours."""
_SPEED = "TRAJVELW"
"""Speed over ground, of which the part along the wheel is taken where there is no LONGVEL."""
_GAPS = frozenset({"NOTAVAIL", ""})


class _Channel(NamedTuple):
    """A channel of measured data."""

    name: str
    unit: str
    factor: float
    offset_measured: float
    offset_physical: float
    line: int


def is_tydex(text: str) -> bool:
    """Whether a text begins with a section of TYDEX."""
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("!"))
    return next(lines, "").startswith("**")


def read_tydex(file: Path) -> Measurements:
    """The measured data of a TYDEX file and its constants."""
    sections: dict[str, list[tuple[int, str]]] = {}
    for name, number, line in _lines(file):
        sections.setdefault(name, []).append((number, line))
    for needed in ("MEASURCHANNELS", "MEASURDATA"):
        if not sections.get(needed):
            raise InvalidValue(f"{file} has no section **{needed} with anything in it")
    if len(sections["MEASURCHANNELS"]) > _MOST_CHANNELS:
        count = len(sections["MEASURCHANNELS"])
        raise InvalidValue(f"{file} has {count} channels; allowed are {_MOST_CHANNELS}")
    channels = [_channel(file, number, line) for number, line in sections["MEASURCHANNELS"]]
    twice = first_repeated(channel.name for channel in channels)
    if twice is not None:
        line = next(c.line for c in reversed(channels) if c.name == twice)
        raise InvalidValue(f"{file}, line {line}: channel {twice!r} appears twice")
    rows = [_row(file, number, line, channels) for number, line in sections["MEASURDATA"]]
    table = np.array(rows, dtype=float).reshape(len(rows), len(channels)).T
    columns: dict[str, Any] = {}
    for number, line in sections.get("CONSTANTS", []):
        name, unit, text = line[:10].strip(), line[40:50].strip(), line[50:].strip()
        if name in _COLUMNS or name == _SPEED:
            value = _number(file, number, name, text)
            columns[_ours(name)] = _in_si(f"{file}, line {number}, {name}", name, unit, value)
    for channel, raw in zip(channels, table, strict=True):
        if channel.name in _COLUMNS or channel.name == _SPEED:
            with np.errstate(all="ignore"):  # what overflows is refused below
                physical = channel.factor * (raw - channel.offset_measured)
                physical = physical + channel.offset_physical
            where = f"{file}, line {channel.line}, {channel.name}"
            columns[_ours(channel.name)] = _in_si(where, channel.name, channel.unit, physical)
    return _of_columns(file, columns, sections)


def _of_columns(file: Path, columns: dict[str, Any], sections: Any) -> Measurements:
    if "F_z" not in columns:
        raise InvalidValue(
            f"{file} has no FZW, neither among its channels nor among its constants; loads in "
            "other axes (FZC, FZH) are not used"
        )
    speed = columns.pop(_SPEED, None)
    if speed is not None and "v_x" not in columns:
        with np.errstate(all="ignore"):
            columns["v_x"] = speed * np.cos(columns.get("alpha", 0.0))
    named = (line[50:].strip() for _, line in sections.get("HEADER", []) if line[:6] == "MEASID")
    return usable(file, columns, next(named, "") or file.stem)


def _lines(file: Path) -> Iterator[tuple[str, int, str]]:
    """Section, number and text of the lines that say something, up to the end."""
    section = ""
    for number, line in enumerate(bytes_of(file).decode("latin-1").splitlines(), start=1):
        if line.startswith("**"):
            section = (line[2:].split() or [""])[0].upper()  # some write a count behind it
            if section == "END":
                return
        elif line.strip() and not line.lstrip().startswith("!"):
            if not section:
                raise InvalidValue(f"{file}, line {number}: {line[:40]!r} stands before a section")
            yield section, number, line


def _channel(file: Path, number: int, line: str) -> _Channel:
    name, unit = line[:10].strip(), line[40:50].strip()
    if not name:
        raise InvalidValue(f"{file}, line {number}: columns 1 to 10 must hold a channel's name")
    numbers = [1.0, 0.0, 0.0]
    for k in range(3):
        text = line[50 + k * _WIDTH : 50 + (k + 1) * _WIDTH].strip()
        if text:
            numbers[k] = _number(file, number, name, text)
    scale, offset_measured, offset_physical = numbers
    return _Channel(name, unit, scale, offset_measured, offset_physical, number)


def _row(file: Path, number: int, line: str, channels: list[_Channel]) -> list[float]:
    """Numbers in columns of 10; of a line that is longer, what blanks separate."""
    count = len(channels)
    cells = [line[k * _WIDTH : (k + 1) * _WIDTH].strip() for k in range(count)]
    apart = line.split()
    if len(line.rstrip()) > count * _WIDTH or any(" " in cell for cell in cells):
        if len(apart) != count:
            raise InvalidValue(f"{file}, line {number}: {len(apart)} values for {count} channels")
        cells = apart
    return [_number(file, number, c.name, t) for c, t in zip(channels, cells, strict=True)]


def _number(file: Path, number: int, name: str, text: str) -> float:
    if text.upper() in _GAPS:
        return float("nan")
    try:
        return float(text)
    except ValueError as error:
        raise InvalidValue(
            f"{file}, line {number}, column {name}: {text[:40]!r} is no number"
        ) from error


def _ours(name: str) -> str:
    return _COLUMNS.get(name, name)


def _in_si(where: str, name: str, unit: str, values: Array | float) -> Any:
    si = "m/s" if name == _SPEED else UNITS[_COLUMNS[name]]
    with np.errstate(over="ignore"):
        return values * factor(unit, si, where)
