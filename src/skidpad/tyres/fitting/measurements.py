"""`Measurements`: rows of contact conditions, forces and moments of a tyre test, in SI.

Signs and axes are those of `Contact` and `TyreForces` (ISO 8855 wheel axes, TYDEX W), whatever the
conventions of the file. Every method returns a new table; nothing is changed in place. A table
written as CSV or Parquet is read back bit for bit.

Loads, cambers and pressures are held in steps. A rig moves from one step to the next in ramps,
which belong to no step and are left out.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...core.arrays import AnyArray, Array, Mask
from ...core.checks import positive
from ...core.files import brief_repr, reading, replacing
from ...core.record import check_names
from ...errors import InvalidValue, require

if TYPE_CHECKING:
    from pandas import DataFrame

UNITS: Mapping[str, str] = {
    "F_z": "N", "kappa": "1", "alpha": "rad", "gamma": "rad", "p": "Pa", "v_x": "m/s", "F_x": "N",
    "F_y": "N", "M_x": "N·m", "M_y": "N·m", "M_z": "N·m", "R_l": "m", "omega": "rad/s", "time": "s",
}  # fmt: skip
"""Numeric columns and their units."""
CONDITIONS = ("F_z", "kappa", "alpha", "gamma")
"""Columns that every row has; in the others NaN marks values that were not measured."""
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
        # The densest stretch as wide as a bin reaches to one side.
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
        return np.zeros(len(values), dtype=int)  # nowhere known: all rows alike
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
    """Mean of the known values in each group; NaN for a group without any."""
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
    """Factor from a unit to its SI unit; 1 for an empty unit. `where` begins the error message."""
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
