"""Tyre measurements: rows of contact conditions, forces and moments in SI, and readers of files.

Signs and axes are those of `Contact` and `TyreForces` (ISO 8855 wheel axes, TYDEX W), whatever the
conventions of the file. Every method returns a new table; nothing is changed in place. A table
written as CSV or Parquet is read back bit for bit.

Loads, cambers and pressures are held in steps. A rig moves from one step to the next in ramps,
which belong to no step and are left out.

Formats of files are detected by content, not by name. TYDEX 1.3 has fixed columns, one file per
sweep, and constants as well as measured channels. Names are in columns 1 to 10, descriptions in 11
to 40, units in 41 to 50 and values from 51 on. Axes are W, those of the contact patch; forces in
other axes (`FYC`, `FZH`) are not used.

Files of the Formula SAE Tire Test Consortium are text or MAT-files of version 5. Their signs are
those of SAE J670 with z down: slip angle, lateral force, load and aligning moment are negated on
reading; longitudinal force, overturning moment and inclination are not. Of the two slip ratios `SL`
is used, which is 0 for a freely rolling wheel; `SR` is based on the loaded radius. In cornering
tests the spin is not measured (`N`, `RE`) and is left out.

MAT-files are parsed here because SciPy's reader trusts the lengths in a damaged file and can crash
the process: every length is checked before it is used. Layout: MathWorks, "MAT-File Format",
version 5.
"""

from __future__ import annotations

import csv
import math
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ...core.arrays import AnyArray, Array, Mask
from ...core.checks import positive
from ...core.files import (
    LARGEST_BLOCK,
    brief_repr,
    bytes_of,
    first_repeated,
    path_of,
    reading,
    replacing,
)
from ...core.record import check_names
from ...errors import InvalidValue, require
from ...run.trajectory_table import csv_rows, parquet_table
from ...study.logs.tables import Cells, read_csv, read_parquet

if TYPE_CHECKING:
    from pandas import DataFrame

UNITS: Mapping[str, str] = {
    "F_z": "N", "kappa": "1", "alpha": "rad", "gamma": "rad", "p": "Pa", "v_x": "m/s", "F_x": "N",
    "F_y": "N", "M_x": "N·m", "M_y": "N·m", "M_z": "N·m", "R_l": "m", "omega": "rad/s", "time": "s",
}  # fmt: skip
"""Numeric columns and their units."""
CONDITIONS = ("F_z", "kappa", "alpha", "gamma")
"""Columns that every row has; in all other columns NaN marks values that were not measured."""
RESPONSES = ("F_x", "F_y", "M_x", "M_y", "M_z")
LABEL = "label"
"""Text column: the test or run that a row belongs to."""

BINS: Mapping[str, float] = {"F_z": 150.0, "gamma": np.deg2rad(0.6), "p": 5000.0}
"""Largest distance of a value from the middle of its step, in N, rad, Pa."""
_LEAST_SHARE = 0.1
"""Smallest number of rows in a step relative to the largest; smaller ones are ramps."""
_REACH = 0.4
"""Fraction of the distance to the next step that still belongs to a step."""


def levels(values: Array, bin_: float) -> Array:
    """Steps of a quantity: the values around which most rows lie, in rising order."""
    known = np.sort(values[np.isfinite(values)])
    middles, most = list[float](), 0
    while known.size:
        # Find the densest interval as wide as `bin_`, the reach of a step to one side.
        counts = np.searchsorted(known, known + bin_, side="right") - np.arange(known.size)
        first = int(np.argmax(counts))
        count = int(counts[first])
        most = max(most, count)
        if count < _LEAST_SHARE * most:
            break
        middle = float(np.median(known[first : first + count]))
        if all(abs(middle - other) > bin_ for other in middles):
            middles.append(middle)
        known = np.delete(known, slice(first, first + count))
    return np.array(sorted(middles))


def step_of(values: Array, steps: Array, bin_: float) -> AnyArray:
    """Index of the step of each value; -1 between steps."""
    if not steps.size:
        return np.zeros(len(values), dtype=int)  # unknown: all rows are one step
    gaps = np.diff(steps, prepend=-np.inf, append=np.inf)
    reach = np.minimum(bin_, _REACH * np.minimum(gaps[:-1], gaps[1:]))
    distance = np.abs(values[:, None] - steps[None, :])
    nearest = np.argmin(np.where(np.isnan(distance), np.inf, distance), axis=1)
    away = distance[np.arange(len(values)), nearest]
    return np.where(away <= reach[nearest], nearest, -1)


def numbers_of_steps(
    columns: Mapping[str, Array], bins: Mapping[str, float] | None = None
) -> AnyArray:
    """Indices of the steps of every row, one column per quantity of `bins`; -1 between steps."""
    widths = dict(BINS if bins is None else bins)
    for name, width in widths.items():
        if name not in BINS:
            raise InvalidValue(f"bins: {name!r} is unknown; allowed are {', '.join(BINS)}")
        if not width > 0.0:
            raise InvalidValue(f"bins: {name} = {width!r} must be greater than 0")
    if not widths:
        return np.zeros((len(columns["F_z"]), 1), dtype=int)
    return np.column_stack(
        [step_of(columns[n], levels(columns[n], w), w) for n, w in widths.items()]
    )


def means(values: Array, group: AnyArray, count: int) -> Array:
    """Mean of the known values in each group; NaN for a group without known values."""
    known = np.isfinite(values)
    total = np.bincount(group, np.where(known, values, 0.0), count)
    number = np.bincount(group, known, count)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


_INCH, _POUND = 0.0254, 4.4482216152605
_DEGREE = math.pi / 180.0
_FACTORS: Mapping[str, Mapping[str, float]] = {
    "N": {"n": 1.0, "kn": 1e3, "lb": _POUND, "lbf": _POUND, "lbs": _POUND},
    "N·m": {
        "n·m": 1.0, "nm": 1.0, "n-m": 1.0, "n*m": 1.0, "kn·m": 1e3, "knm": 1e3,
        "ft-lb": 12.0 * _INCH * _POUND, "lb-ft": 12.0 * _INCH * _POUND, "in-lb": _INCH * _POUND,
    },
    "rad": {"rad": 1.0, "deg": _DEGREE, "degree": _DEGREE, "degrees": _DEGREE, "°": _DEGREE},
    "1": {"1": 1.0, "-": 1.0, "none": 1.0, "%": 0.01, "percent": 0.01},
    "Pa": {"pa": 1.0, "hpa": 1e2, "kpa": 1e3, "bar": 1e5, "psi": _POUND / _INCH**2},
    "m/s": {
        "m/s": 1.0, "mps": 1.0, "km/h": 1.0 / 3.6, "kph": 1.0 / 3.6, "kmh": 1.0 / 3.6,
        "mph": 0.44704,
    },
    "m": {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "in": _INCH, "inch": _INCH, "ft": 12.0 * _INCH},
    "rad/s": {
        "rad/s": 1.0, "1/s": 2.0 * math.pi, "rpm": math.pi / 30.0, "1/min": math.pi / 30.0,
        "deg/s": _DEGREE, "°/s": _DEGREE,
    },
    "s": {"s": 1.0, "sec": 1.0, "ms": 1e-3},
}  # fmt: skip
"""Conversion factors to each SI unit, by the other unit; spelling is case-insensitive."""


def factor(unit: str, si: str, where: str) -> float:
    """Factor from a unit to its SI unit; 1 for an empty unit. The error message begins with
    `where`."""
    known = _FACTORS[si]
    text = unit.strip().lower()
    if not text:
        return 1.0
    if text not in known:
        raise InvalidValue(
            f"{where} is in {unit.strip()!r}; a column in {si} may be in {', '.join(known)}"
        )
    return known[text]


@dataclass(frozen=True, eq=False, repr=False)
class Measurements:
    """Rows of a tyre test, stored as arrays by column; a single number holds for all rows.

    Forces, moments, radii and times that were not measured are NaN, and so are unknown pressures
    and speeds.
    """

    F_z: Any
    """Load in N, positive when pressed on the road."""
    kappa: Any = 0.0
    """Longitudinal slip, 0 for a freely rolling wheel."""
    alpha: Any = 0.0
    """Slip angle in rad; a positive angle gives a negative F_y."""
    gamma: Any = 0.0
    """Camber in rad, positive when the top of the wheel leans to the right."""
    p: Any = np.nan
    """Inflation pressure in Pa."""
    v_x: Any = np.nan
    """Velocity along the wheel in m/s."""
    F_x: Any = np.nan
    """Force along the wheel in N, positive forward."""
    F_y: Any = np.nan
    """Force across the wheel in N, positive to the left."""
    M_x: Any = np.nan
    """Overturning moment about the x axis in N·m."""
    M_y: Any = np.nan
    """Rolling resistance moment in N·m; negative when it rolls forward."""
    M_z: Any = np.nan
    """Aligning moment in N·m, positive to the left."""
    R_l: Any = np.nan
    """Height of the wheel centre above the road in m."""
    omega: Any = np.nan
    """Spin in rad/s, positive when the wheel rolls forward."""
    time: Any = np.nan
    """Time in s."""
    label: Any = ""
    """Test or run that a row belongs to."""
    notes: tuple[str, ...] = ()
    """Notes on rows that were left out on reading, and why."""

    def __post_init__(self) -> None:
        numbers = {name: _column(name, getattr(self, name)) for name in UNITS}
        lengths = {name: len(c) for name, c in numbers.items() if c.ndim}
        labels = np.asarray(self.label)
        if labels.ndim:
            lengths["label"] = len(labels)
        if len(set(lengths.values())) > 1:
            raise InvalidValue(
                "columns of measurements must be equally long, got "
                + ", ".join(f"{name} {count}" for name, count in lengths.items())
            )
        rows = max(lengths.values(), default=1)
        for name, values in numbers.items():
            column = np.broadcast_to(values, (rows,)).copy()
            column.flags.writeable = False
            object.__setattr__(self, name, column)
        object.__setattr__(self, "label", np.broadcast_to(labels.astype(str), (rows,)).copy())
        object.__setattr__(self, "notes", tuple(self.notes))
        self._check()

    def _check(self) -> None:
        for name in UNITS:
            values = self[name]
            bad = ~np.isfinite(values) if name in CONDITIONS else np.isinf(values)
            if bad.any():
                row = int(np.argmax(bad))
                rule = "finite" if name in CONDITIONS else "finite, or NaN where there is none"
                value = f"{values[row]} {UNITS[name]}".removesuffix(" 1")
                raise InvalidValue(f"{name} of row {row} is {value}; it must be {rule}")
        for name in ("p", "R_l"):
            if (self[name] <= 0.0).any():
                row = int(np.argmax(self[name] <= 0.0))
                raise InvalidValue(
                    f"{name} of row {row} is {self[name][row]:g} {UNITS[name]}; it must be greater "
                    "than 0"
                )

    def __len__(self) -> int:
        return len(self.F_z)

    def __getitem__(self, name: str) -> Array:
        """Numeric column (rows,) by its name."""
        check_names("Measurements", [name], UNITS, "column")
        return getattr(self, name)

    __repr__ = brief_repr

    def __str__(self) -> str:
        runs = len(np.unique(self.label))
        loads = f"{self.F_z.min():.0f} to {self.F_z.max():.0f} N" if len(self) else "none"
        measured = ", ".join(name for name in RESPONSES if self.has(name)) or "no forces"
        return f"Measurements({len(self)} rows, {runs} labels, F_z {loads}, {measured})"

    def has(self, name: str) -> bool:
        """Whether any row has a value in this column."""
        return bool(np.isfinite(self[name]).any())

    def where(self, rows: ArrayLike | None = None, /, **ranges: Any) -> Self:
        """Rows of a mask or indices, and within ranges: `alpha=(-0.1, 0.1)`, `label="run 3"`."""
        mask = np.ones(len(self), dtype=bool)
        for name, allowed in ranges.items():
            mask &= self._within(name, allowed)
        if rows is None:
            return self._rows(np.flatnonzero(mask))
        chosen = np.asarray(rows)
        if chosen.dtype == bool:
            if chosen.shape != mask.shape:
                raise InvalidValue(
                    f"a mask for {len(self)} rows must have as many values, got {chosen.shape}"
                )
            return self._rows(np.flatnonzero(mask & chosen))
        try:
            return self._rows(chosen[mask[chosen]])
        except IndexError as error:
            raise InvalidValue(f"rows must be indices of {len(self)} rows: {error}") from error

    def _within(self, name: str, allowed: Any) -> Mask:
        if name == "label":
            return np.isin(self.label, np.atleast_1d(np.asarray(allowed, dtype=str)))
        values = self[name]
        try:
            low, high = (float(v) for v in allowed)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidValue(
                f"{name} = {allowed!r} must be a pair, lowest and highest"
            ) from error
        return (values >= low) & (values <= high)

    def _rows(self, chosen: Any) -> Self:
        columns = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "notes"}
        return type(self)(**{n: c[chosen] for n, c in columns.items()}, notes=self.notes)

    @classmethod
    def joined(cls, parts: Iterable[Measurements]) -> Self:
        """Concatenate several tables."""
        tables = list(parts)
        if not tables:
            raise InvalidValue("joined needs at least one table of measurements")
        stacked = {n: np.concatenate([t[n] for t in tables]) for n in UNITS}
        labels = np.concatenate([t.label for t in tables])
        return cls(**stacked, label=labels, notes=tuple(n for t in tables for n in t.notes))

    def in_steps(self, bins: Mapping[str, float] | None = None) -> Self:
        """Rows within steps of load, camber and pressure; rows between steps are left out.

        `bins` is the largest distance of a row from the middle of its step; by default
        `{"F_z": 150.0, "gamma": 0.0105, "p": 5000.0}`, in N, rad (0.6°) and Pa.
        """
        steps = numbers_of_steps({n: self[n] for n in UNITS}, bins)
        kept = self.where((steps >= 0).all(axis=1))
        if len(kept) == len(self):
            return kept
        dropped = len(self) - len(kept)
        note = f"{dropped} of {len(self)} rows lie between steps and were left out"
        return replace(kept, notes=(*kept.notes, note))

    def averaged(
        self,
        bins: Mapping[str, float] | None = None,
        *,
        alpha: float = 0.0044,
        kappa: float = 0.005,
    ) -> Self:
        """Means over rows of the same label, step and slip, for both sweep directions together.

        `alpha` in rad and `kappa` are the widths of the slip bins; `bins` is as in `in_steps`. A
        tyre shows hysteresis between rising and falling slip; the mean lies between the two.
        """
        for name, width in (("alpha", alpha), ("kappa", kappa)):
            positive(name, width, UNITS[name])
        steps = numbers_of_steps({n: self[n] for n in UNITS}, bins)
        inside = np.flatnonzero((steps >= 0).all(axis=1))
        slips = np.column_stack([np.round(self.alpha / alpha), np.round(self.kappa / kappa)])
        _, labels = np.unique(self.label, return_inverse=True)
        keys = np.column_stack([labels, steps, slips])[inside]
        _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        rows = {n: means(self[n][inside], group.reshape(-1), len(first)) for n in UNITS}
        return type(self)(**rows, label=self.label[inside][first], notes=self.notes)

    def mirrored(self) -> Self:
        """Mirror image of the rows, as for the other side of the car."""
        turned = {name: -self[name] for name in ("alpha", "gamma", "F_y", "M_x", "M_z")}
        return replace(self, **turned)

    def columns(self) -> Iterator[tuple[str, Array]]:
        """Names and values (rows,) of the columns that have any values."""
        return ((name, self[name]) for name in UNITS if name in CONDITIONS or self.has(name))

    def to_pandas(self) -> DataFrame:
        """DataFrame with one column per quantity and the label; units are in `attrs["units"]`."""
        pandas = require("pandas", purpose="Measurements.to_pandas")
        table = dict(self.columns())
        frame = pandas.DataFrame({**table, "label": self.label})
        frame.attrs["units"] = {name: UNITS[name] for name in table}
        return frame

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV file with headings `name [unit]`, which `measurements` can read."""
        columns = dict(self.columns())
        with replacing(path) as temporary, temporary.open("x", encoding="utf-8", newline="") as f:
            writer = csv.writer(f, lineterminator="\n")
            writer.writerow([*(f"{name} [{UNITS[name]}]" for name in columns), LABEL])
            # repr of a float is the shortest text that reads back as the same bits.
            texts = [map(repr, values.tolist()) for values in columns.values()]
            writer.writerows(zip(*texts, self.label.tolist(), strict=True))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file, which `measurements` can read."""
        arrow = require("pyarrow", purpose="Measurements.to_parquet")
        parquet = require("pyarrow.parquet", purpose="Measurements.to_parquet")
        columns = dict(self.columns())
        parts = [
            arrow.field(name, arrow.float64(), nullable=False, metadata={"unit": UNITS[name]})
            for name in columns
        ]
        schema = arrow.schema([*parts, arrow.field(LABEL, arrow.string(), nullable=False)])
        arrays = [arrow.array(values) for values in (*columns.values(), self.label.tolist())]
        with replacing(path) as temporary:
            parquet.write_table(arrow.table(arrays, schema=schema), temporary, compression="zstd")


def _column(name: str, values: Any) -> Array:
    try:
        column = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"{name} must be numbers, got {values!r:.80}") from error
    if column.ndim > 1:
        raise InvalidValue(f"{name} must be one number per row, got shape {column.shape}")
    return column


def usable(
    file: Path, columns: Mapping[str, Any], label: Any, notes: tuple[str, ...] = ()
) -> Measurements:
    """Rows of a file with known load, slip and camber.

    Other problems raise an error that starts with the file.
    """
    with reading(file, "cannot be used"):
        arrays = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
        rows = max((a.size for a in arrays.values() if a.ndim), default=1)
        known = np.ones(rows, dtype=bool)
        for name in CONDITIONS:
            known &= ~np.isnan(arrays.get(name, np.zeros(1)))
        gaps = int(np.count_nonzero(~known))
        if gaps:
            notes = (*notes, f"{file.name}: {gaps} of {rows} rows lack load, slip or camber")
            arrays = {name: a[known] if a.ndim else a for name, a in arrays.items()}
            label = label[known] if np.ndim(label) else label
        return Measurements(**arrays, label=label, notes=notes)


_WIDTH = 10
"""Characters per number."""
_MOST_CHANNELS = 1000
"""Largest number of channels in a file; real files have some dozens."""
_COLUMNS = {
    "RUNTIME": "time", "LONGVEL": "v_x", "WHROTSPD": "omega", "SLIPANGL": "alpha",
    "LONGSLIP": "kappa", "INCLANGL": "gamma", "INFLPRES": "p", "FX": "F_x", "FXW": "F_x",
    "FYW": "F_y", "FZW": "F_z", "MXW": "M_x", "MYW": "M_y", "MZW": "M_z", "DSTGRWHC": "R_l",
}  # fmt: skip
"""Names of TYDEX channels and the corresponding columns."""
_SPEED = "TRAJVELW"
"""Speed over ground; its component along the wheel is used if there is no LONGVEL."""
_GAPS = frozenset({"NOTAVAIL", ""})


class _TydexChannel(NamedTuple):
    name: str
    unit: str
    factor: float
    offset_measured: float
    offset_physical: float
    line: int


def read_tydex(file: Path) -> Measurements:
    """Read the measured data and the constants of a TYDEX file."""
    sections: dict[str, list[tuple[int, str]]] = {}
    for name, number, line in _lines(file):
        sections.setdefault(name, []).append((number, line))
    for needed in ("MEASURCHANNELS", "MEASURDATA"):
        if not sections.get(needed):
            raise InvalidValue(f"{file} has no section **{needed} with anything in it")
    if len(sections["MEASURCHANNELS"]) > _MOST_CHANNELS:
        count = len(sections["MEASURCHANNELS"])
        raise InvalidValue(f"{file} has {count} channels; at most {_MOST_CHANNELS} are allowed")
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
    """Section, line number and text of the non-empty lines, up to the end section."""
    section = ""
    for number, line in enumerate(bytes_of(file).decode("latin-1").splitlines(), start=1):
        if line.startswith("**"):
            section = (line[2:].split() or [""])[0].upper()  # some programs write a count after it
            if section == "END":
                return
        elif line.strip() and not line.lstrip().startswith("!"):
            if not section:
                raise InvalidValue(
                    f"{file}, line {number}: {line[:40]!r} comes before the first section"
                )
            yield section, number, line


def _channel(file: Path, number: int, line: str) -> _TydexChannel:
    name, unit = line[:10].strip(), line[40:50].strip()
    if not name:
        raise InvalidValue(f"{file}, line {number}: columns 1 to 10 must hold a channel's name")
    texts = (line[at : at + _WIDTH].strip() for at in range(50, 50 + 3 * _WIDTH, _WIDTH))
    usual = zip(texts, (1.0, 0.0, 0.0), strict=True)
    numbers = (_number(file, number, name, text) if text else value for text, value in usual)
    return _TydexChannel(name, unit, *numbers, line=number)


def _row(file: Path, number: int, line: str, channels: list[_TydexChannel]) -> list[float]:
    """Numbers in columns of 10 characters; in longer lines they are separated by blanks."""
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
            f"{file}, line {number}, column {name}: {text[:40]!r} is not a number"
        ) from error


def _ours(name: str) -> str:
    return _COLUMNS.get(name, name)


def _in_si(where: str, name: str, unit: str, values: Array | float) -> Any:
    si = "m/s" if name == _SPEED else UNITS[_COLUMNS[name]]
    with np.errstate(over="ignore"):
        return values * factor(unit, si, where)


_HEADER = 128
_NUMBERS = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
_TEXTS = {16: "utf-8", 17: "utf-16", 18: "utf-32"}
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _TEXT = 1, 2, 4
_NUMERIC = range(6, 16)
"""Class codes of numeric arrays."""
MOST_VARIABLES = 10_000


class _Element(NamedTuple):
    kind: int
    data: memoryview


def variables(content: bytes) -> dict[str, Any]:
    """Variables of a MAT-file by name: numeric arrays, text, lists of cells, dicts of structures.

    Other kinds are left out. Raises ValueError if the content violates the format.
    """
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        raise ValueError("it does not state the byte order")
    values: dict[str, Any] = {}
    for element in _elements(memoryview(content)[_HEADER:], order):
        inner = _unpacked(element, order) if element.kind == _COMPRESSED else element
        if inner.kind == _MATRIX:
            name, value = _matrix(inner.data, order)
            if value is not None:
                values[name] = value
        if len(values) > MOST_VARIABLES:
            raise ValueError(f"it has more than {MOST_VARIABLES} variables")
    return values


def _elements(data: memoryview, order: str) -> Iterator[_Element]:
    """Iterate over data elements, using the length stored in each."""
    at = 0
    while len(data) - at >= 8:
        first, size = struct.unpack_from(f"{order}II", data, at)
        start = at + 8
        if first >> 16:  # a small one holds its data within the 8 bytes
            kind, size, start = first & 0xFFFF, first >> 16, at + 4
            if size > 4:
                raise ValueError(f"a small element claims {size} bytes, but has 4")
            at += 8
        else:
            kind, at = first, start + size
            if kind != _COMPRESSED:
                at += -at % 8
        if start + size > len(data):
            raise ValueError(f"an element claims {size} bytes, but {len(data) - start} are left")
        yield _Element(kind, data[start : start + size])


def _unpacked(element: _Element, order: str) -> _Element:
    data = zlib.decompressobj().decompress(element.data, LARGEST_BLOCK)
    return next(_elements(memoryview(data), order), _Element(0, memoryview(b"")))


def _matrix(data: memoryview, order: str) -> tuple[str, Any]:
    """Name and value of an array; the value is None for kinds that are not read."""
    parts = list(_elements(data, order))
    if len(parts) < 3:
        return "", None  # an empty cell
    flags = _mat_file_numbers(parts[0], order)
    if not flags.size:
        raise ValueError("an array does not state its class")
    shape = tuple(int(n) for n in _mat_file_numbers(parts[1], order))
    name, rest, class_ = bytes(parts[2].data).decode("latin-1"), parts[3:], int(flags[0]) & 0xFF
    if class_ in _NUMERIC:
        values = _mat_file_numbers(rest[0], order) if rest else np.empty(0)
        if values.size != np.prod(shape, dtype=float):
            raise ValueError(f"{name or 'an array'} has {values.size} numbers for shape {shape}")
        return name, values.reshape(shape, order="F")
    if class_ == _TEXT:
        return name, _text(rest[0], order) if rest else ""
    if class_ == _CELL:
        return name, [_matrix(part.data, order)[1] for part in rest]
    if class_ == _STRUCT:
        return name, _structure(rest, order)
    return name, None


def _structure(parts: list[_Element], order: str) -> dict[str, Any]:
    """Fields of the first structure in an array of structures."""
    if len(parts) < 2:
        raise ValueError("a structure does not name its fields")
    lengths = _mat_file_numbers(parts[0], order)
    length = int(lengths[0]) if lengths.size else 0
    if not 0 < length <= 1024:
        raise ValueError(f"names of fields are {length} characters long")
    text = bytes(parts[1].data)
    cuts = range(0, len(text), length)
    names = [text[k : k + length].split(b"\0")[0].decode("latin-1") for k in cuts]
    values = [_matrix(part.data, order)[1] for part in parts[2 : 2 + len(names)]]
    return dict(zip(names, values, strict=False))


def _mat_file_numbers(element: _Element, order: str) -> Any:
    if element.kind not in _NUMBERS:
        raise ValueError(f"numbers are of the unknown type {element.kind}")
    kind = np.dtype(order + _NUMBERS[element.kind])
    return np.frombuffer(element.data, kind, len(element.data) // kind.itemsize)


def _text(element: _Element, order: str) -> str:
    if element.kind in _TEXTS:
        suffix = "" if element.kind == 16 else ("-le" if order == "<" else "-be")
        return bytes(element.data).decode(_TEXTS[element.kind] + suffix, "replace")
    codes = _mat_file_numbers(element, order)
    if codes.dtype.kind == "f":
        raise ValueError("a text has numbers that are not character codes")
    return "".join(map(chr, codes[codes < 0xD800].tolist())) if (codes >= 0).all() else ""


class _Channel(NamedTuple):
    column: str
    si: str
    sign: float = 1.0


_CHANNELS = {
    "ET": _Channel("time", "s"), "V": _Channel("v_x", "m/s"), "N": _Channel("omega", "rad/s"),
    "SA": _Channel("alpha", "rad", -1.0), "IA": _Channel("gamma", "rad"),
    "RL": _Channel("R_l", "m"), "P": _Channel("p", "Pa"), "FX": _Channel("F_x", "N"),
    "FY": _Channel("F_y", "N", -1.0), "FZ": _Channel("F_z", "N", -1.0),
    "MX": _Channel("M_x", "N·m"), "MY": _Channel("M_y", "N·m", -1.0),
    "MZ": _Channel("M_z", "N·m", -1.0), "SL": _Channel("kappa", "1"),
}  # fmt: skip
_NEEDED = ("SA", "IA", "FZ", "SL")
_SPINS_AS_SAID = 0.5
"""Largest relative deviation of a measured spin from the value implied by speed, radius and
slip."""


def _heading_at(lines: list[str]) -> int | None:
    """Index of the line with the channel names among the first lines, or None."""
    for k, line in enumerate(lines[:2]):
        if {"SA", "FZ"} <= {name.strip().upper() for name in line.split("\t")}:
            return k
    return None


def read_ttc_text(file: Path) -> Measurements:
    """Read a TTC text file: a title, names, units, then rows of numbers, all separated by tabs."""
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
                f"{file}, line {number}, column {name}: {cell!r} is not a number"
            ) from error
    raise AssertionError("one of the cells is not a number")


def read_ttc_mat(file: Path) -> Measurements:
    """Read a TTC MAT-file of version 5: a vector per channel; `channel` has names and units."""
    with reading(file, "is not a readable MAT-file of version 5"):
        content = variables(bytes_of(file))
        units = _units(content.get("channel"))
        vectors = {name.upper(): value for name, value in content.items()}
        channels = {
            name: (vectors[name], unit)
            for name, unit in units.items()
            if name in vectors and name in _CHANNELS
        }
        for name, (values, unit) in channels.items():
            if not isinstance(values, np.ndarray) or values.size != max(values.shape, default=0):
                raise InvalidValue(f"channel {name} is not a vector of numbers")
            channels[name] = values.ravel().astype(float), unit
    label = content.get("testid", "")
    title = label.strip()[:200] if isinstance(label, str) else ""
    return _of_channels(file, channels, title or file.stem)


def _units(about: Any) -> dict[str, str]:
    parts = [about.get(part) for part in ("name", "units")] if isinstance(about, dict) else []
    lists: list[Any] = [part for part in parts if isinstance(part, list)]
    if len(lists) < 2:
        raise InvalidValue(
            "it has no structure 'channel' with the fields name and units, which say in what units "
            "the channels are"
        )
    names, units = lists
    if len(names) != len(units):
        raise InvalidValue(f"channel has {len(names)} names and {len(units)} units")
    return {str(n).strip().upper(): str(u).strip() for n, u in zip(names, units, strict=True)}


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
            # The channel is the speed of the road; slip refers to its component along the wheel.
            columns["v_x"] = columns["v_x"] * np.cos(columns["alpha"])
        if "omega" in columns:
            columns["omega"] = _spin(columns)
    return usable(file, columns, label)


def _spin(columns: Mapping[str, Array]) -> Array:
    """Measured spin, where it is close to the value that speed, radius and slip imply."""
    if not {"v_x", "R_l"} <= set(columns):
        return np.full_like(columns["omega"], np.nan)
    rolling = columns["v_x"] / columns["R_l"]
    said = rolling * (1.0 + columns["kappa"])
    near = np.abs(columns["omega"] - said) < _SPINS_AS_SAID * np.abs(rolling)
    return np.where(near, columns["omega"], np.nan)


_LOOK = 4096
"""Bytes at the beginning of a file that are used to detect its format."""


def measurements(path: str | os.PathLike[str]) -> Measurements:
    """Read tyre measurements from a file, converted to SI units and ISO signs.

    The format is detected from the content: our own CSV and Parquet (headings `F_z [N]`, `alpha
    [deg]`, ...; SI if there is no unit; cells separated by commas, semicolons or tabs, empty where
    nothing was measured), files of the Tire Test Consortium (text `.dat` and `.mat` of version 5)
    and TYDEX 1.3. Errors name the file, the line and the column.
    """
    file = path_of(path)
    start = bytes_of(file)[:_LOOK]
    if start[:4] == b"PAR1":
        return _of_table(file, read_parquet(file), _parquet_labels(file))
    if start[124:128] in (b"\x00\x01IM", b"\x01\x00MI"):
        return read_ttc_mat(file)
    if start[:19] == b"MATLAB 7.3 MAT-file" or start[:8] == b"\x89HDF\r\n\x1a\n":
        raise InvalidValue(
            f"{file} is a MAT-file of version 7.3; write it as version 5 (save with '-v7')"
        )
    text = start.decode("latin-1")
    lines = [line for line in text.splitlines() if line.strip()]
    if next((line for line in lines if not line.startswith("!")), "").startswith("**"):
        return read_tydex(file)
    if _heading_at(text.splitlines()) is not None:
        return read_ttc_text(file)
    # Of the names in the first line: comma, semicolon or tab.
    separator = max(",;\t", key="".join(lines[:1]).count)
    cells = read_csv(file, separator)
    cells.pop("", None)  # numbers of rows, as pandas writes them
    return _of_table(file, cells, _csv_labels(file, separator))


def _of_table(file: Path, cells: Mapping[str, Cells], labels: Any) -> Measurements:
    """Table from cells with our own column names."""
    unknown = [name for name in cells if name not in UNITS and name != LABEL]
    if "F_z" not in cells or not any(name in cells for name in RESPONSES):
        single = "; cells are separated by commas, semicolons or tabs" * (len(cells) == 1)
        raise InvalidValue(
            f"{file} has no column F_z with loads and one of {', '.join(RESPONSES)}; it has "
            f"{', '.join(cells)}{single}. Columns of measurements are {', '.join(UNITS)} and "
            f"{LABEL}"
        )
    columns: dict[str, Any] = {}
    for name, cell in cells.items():
        if name not in UNITS:
            continue
        if cell.values is None:
            raise InvalidValue(f"{file}, column {name}: {cell.problem}")
        with np.errstate(over="ignore"):
            columns[name] = cell.values * factor(cell.unit, UNITS[name], f"{file}, column {name}")
    notes = (f"columns that are not known were left out: {', '.join(unknown)}",) if unknown else ()
    return usable(file, columns, labels, notes)


def _csv_labels(file: Path, separator: str) -> Any:
    header, *rows = [row for row in csv_rows(file, separator) if row]
    names = [text.strip() for text in header]
    if LABEL not in names:
        return file.stem
    place = names.index(LABEL)
    return np.array([row[place] for row in rows], dtype=str)


def _parquet_labels(file: Path) -> Any:
    table = parquet_table(file, f"Reading {file}")
    if LABEL not in table.column_names:
        return file.stem
    return np.array([str(text) for text in table.column(LABEL).to_pylist()], dtype=str)
