"""Files of the Formula SAE Tire Test Consortium: text and MAT-files of version 5.

Signs there are those of SAE J670 with z down: slip angle, lateral force, load and aligning moment
change theirs here; longitudinal force, overturning moment and inclination do not. Of the two slip
ratios `SL` counts, which is 0 for a wheel that rolls free; `SR` is built on the loaded radius. In
cornering tests nothing measures the spin (`N`, `RE`), which is then left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from ..files import bytes_of, first_repeated, reading
from .mat_file import variables
from .measurement_rows import usable
from .measurement_table import Measurements
from .measurement_units import factor


class _Channel(NamedTuple):
    column: str
    si: str
    sign: float = 1.0


_CHANNELS = {
    "ET": _Channel("time", "s"),
    "V": _Channel("v_x", "m/s"),
    "N": _Channel("omega", "rad/s"),
    "SA": _Channel("alpha", "rad", -1.0),
    "IA": _Channel("gamma", "rad"),
    "RL": _Channel("R_l", "m"),
    "P": _Channel("p", "Pa"),
    "FX": _Channel("F_x", "N"),
    "FY": _Channel("F_y", "N", -1.0),
    "FZ": _Channel("F_z", "N", -1.0),
    "MX": _Channel("M_x", "N·m"),
    "MY": _Channel("M_y", "N·m", -1.0),
    "MZ": _Channel("M_z", "N·m", -1.0),
    "SL": _Channel("kappa", "1"),
}
_NEEDED = ("SA", "IA", "FZ", "SL")
_SPINS_AS_SAID = 0.5
"""Part of the spin of a rolling wheel by which a measured one may differ from what slip says."""


def is_ttc_text(text: str) -> bool:
    """Whether a text has the channels of a test in its second line, or in its first where there is
    no title, separated by tabs."""
    return _heading_at(text.splitlines()) is not None


def _heading_at(lines: list[str]) -> int | None:
    """Which of the first lines has the names of the channels."""
    for k, line in enumerate(lines[:2]):
        if {"SA", "FZ"} <= {name.strip().upper() for name in line.split("\t")}:
            return k
    return None


def read_ttc_text(file: Path) -> Measurements:
    """A text: a title, names, units, then rows of numbers, all separated by tabs."""
    lines = bytes_of(file).decode("latin-1").splitlines()
    head = _heading_at(lines) or 0
    if len(lines) < head + 2:
        raise InvalidValue(f"{file} ends before the line of units (line {head + 2})")
    names = [name.strip().upper() for name in lines[head].split("\t")]
    units = [unit.strip() for unit in lines[head + 1].split("\t")]
    while names and not names[-1]:
        names.pop()  # a tab at the end of the line
    twice = first_repeated(names)
    if twice is not None:
        raise InvalidValue(f"{file}, line {head + 1}: channel {twice!r} appears twice")
    if len(units) < len(names):
        raise InvalidValue(f"{file}, line {head + 2}: {len(units)} units for {len(names)} channels")
    rows: list[list[float]] = []
    for number, line in enumerate(lines[head + 2 :], start=head + 3):
        if line.strip():
            rows.append(_numbers(file, number, line, names))
    if not rows:
        raise InvalidValue(f"{file} has no rows of numbers after line {head + 2}")
    table = np.array(rows, dtype=float).T
    channels = {
        name: (values, unit) for name, values, unit in zip(names, table, units, strict=False)
    }
    return _of_channels(file, channels, (lines[0].strip() if head else "") or file.stem)


def _numbers(file: Path, number: int, line: str, names: list[str]) -> list[float]:
    cells = line.rstrip("\t").split("\t")
    if len(cells) != len(names):
        raise InvalidValue(f"{file}, line {number}: {len(cells)} values for {len(names)} channels")
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        pass
    for name, cell in zip(names, cells, strict=True):
        try:
            float(cell)
        except ValueError as error:
            raise InvalidValue(
                f"{file}, line {number}, column {name}: {cell!r} is no number"
            ) from error
    raise AssertionError("one of the cells is no number")


def read_ttc_mat(file: Path) -> Measurements:
    """A MAT-file of version 5: a vector per channel, and `channel` with names and units."""
    with reading(file, "is not a readable MAT-file of version 5"):
        content = variables(bytes_of(file))
        units = _units(content.get("channel"))
        vectors = {name.upper(): value for name, value in content.items()}
        channels = {
            name: (_vector(name, vectors[name]), unit)
            for name, unit in units.items()
            if name in vectors and name in _CHANNELS
        }
    label = content.get("testid", "")
    title = label.strip()[:200] if isinstance(label, str) else ""
    return _of_channels(file, channels, title or file.stem)


def _units(about: Any) -> dict[str, str]:
    """Units by channel, of the structure `channel`."""
    lists: list[Any] = [about[part] for part in ("name", "units") if _has(about, part)]
    if len(lists) < 2:
        raise InvalidValue(
            "it has no structure 'channel' with the fields name and units, which say in what units "
            "the channels are"
        )
    names, units = lists
    if len(names) != len(units):
        raise InvalidValue(f"channel has {len(names)} names and {len(units)} units")
    return {str(n).strip().upper(): str(u).strip() for n, u in zip(names, units, strict=True)}


def _has(about: Any, part: str) -> bool:
    return isinstance(about, dict) and isinstance(about.get(part), list)


def _vector(name: str, values: Any) -> Array:
    if not isinstance(values, np.ndarray) or values.size != max(values.shape, default=0):
        raise InvalidValue(f"channel {name} is no vector of numbers")
    return values.ravel().astype(float)


def _of_channels(file: Path, channels: Mapping[str, tuple[Array, str]], label: str) -> Measurements:
    for name in _NEEDED:
        if name not in channels:
            hint = "; SR is built on the loaded radius and not used" * (name == "SL")
            raise InvalidValue(f"{file} has no channel {name}{hint}. It has {', '.join(channels)}")
    columns: dict[str, Any] = {}
    for name, (values, unit) in channels.items():
        if name in _CHANNELS:
            column, si, sign = _CHANNELS[name]
            # Overflow is infinite, and that is refused below.
            with np.errstate(over="ignore"):
                columns[column] = sign * factor(unit, si, f"{file}, channel {name}") * values
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidValue(f"{file}: channels differ in length: {lengths}")
    with np.errstate(all="ignore"):
        if "v_x" in columns:
            # The road's speed; along the wheel is what slip is a part of.
            columns["v_x"] = columns["v_x"] * np.cos(columns["alpha"])
        if "omega" in columns:
            columns["omega"] = _spin(columns)
    return usable(file, columns, label)


def _spin(columns: Mapping[str, Array]) -> Array:
    """The measured spin where it is one: about what speed, radius and slip say."""
    if not {"v_x", "R_l"} <= set(columns):
        return np.full_like(columns["omega"], np.nan)
    rolling = columns["v_x"] / columns["R_l"]
    said = rolling * (1.0 + columns["kappa"])
    near = np.abs(columns["omega"] - said) < _SPINS_AS_SAID * np.abs(rolling)
    return np.where(near, columns["omega"], np.nan)
