"""Where a fit of the Magic Formula begins: peaks, slopes and shapes read off the measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from .measurement_steps import BINS, levels
from .measurement_table import Measurements

SHAPES: Mapping[str, Mapping[str, float]] = {
    "pure M_z": {"QBZ1": 8.0, "QBZ9": 20.0, "QCZ1": 1.1, "QDZ1": 0.1, "QEZ1": -1.0},
    "combined F_x": {"RBX1": 15.0, "RBX2": 10.0, "RCX1": 1.0},
    "combined F_y": {"RBY1": 10.0, "RBY2": 8.0, "RCY1": 1.0, "RVY4": 20.0, "RVY5": 1.9,
                     "RVY6": 20.0},
    "M_x": {"QSX4": 5.0, "QSX5": 1.0, "QSX6": 10.0, "QSX7": 1.0, "QSX9": 0.4,
            "QSX11": 5.0},
    "M_y": {"QSY1": 0.01, "QSY7": 0.85, "QSY8": -0.4},
}  # fmt: skip
"""Starts of what is not read off the rows: those that programs use for tyres with little data."""
USUAL: Mapping[str, Mapping[str, float]] = {
    "combined F_x": {"RBX1": 20.0, "RBX2": 15.0, "RCX1": 1.0},
    "combined F_y": {"RBY1": 10.0, "RBY2": 10.0, "RCY1": 1.0},
}
"""How slips combine in programs of MF 6 where nothing is known of a tyre."""
_SMALL = {"kappa": 0.03, "alpha": 0.02}
"""Slip up to which forces count as linear."""
_SPEED = 16.7
"""Reference speed in m/s of a test that does not say how fast it was."""
_STIFFNESS = 2e5
"""Vertical stiffness in N/m where no loaded radius was measured."""


def frame_of(table: Measurements, known: Mapping[str, float]) -> dict[str, float]:
    """Nominal load, radius, pressure, speed and stiffness of a tyre, as far as not known."""
    values = dict(known)
    loads = levels(table.F_z, BINS["F_z"])
    if "FNOMIN" not in values:
        # A load that was tested, at or above the middle of all.
        values["FNOMIN"] = float(min(loads[loads >= np.median(loads)], default=table.F_z.max()))
    stiffness, radius = _vertical(table)
    if "UNLOADED_RADIUS" not in values:
        if radius is None:
            raise InvalidValue(
                "the measurements have no loaded radius R_l at two loads; say how large the tyre "
                "is: start={'UNLOADED_RADIUS': 0.31}, in m"
            )
        values["UNLOADED_RADIUS"] = radius
    values.setdefault("VERTICAL_STIFFNESS", stiffness)
    pressures = table.p[np.isfinite(table.p)]
    if pressures.size:
        values.setdefault("NOMPRES", _commonest(pressures))
        values.setdefault("INFLPRES", values["NOMPRES"])
    speeds = table.v_x[np.isfinite(table.v_x)]
    values.setdefault("LONGVL", float(np.median(speeds)) if speeds.size else _SPEED)
    return values


def _commonest(pressures: Array) -> float:
    """The step of pressure with most rows; of several alike the middle one."""
    steps = levels(pressures, BINS["p"])
    counts = np.array([np.sum(np.abs(pressures - step) <= BINS["p"]) for step in steps])
    most = steps[counts >= 0.95 * counts.max()]
    return float(most[len(most) // 2])


def _vertical(table: Measurements) -> tuple[float, float | None]:
    """Stiffness and free radius from loaded radii at several loads."""
    known = np.isfinite(table.R_l)
    if known.sum() < 2 or np.ptp(table.F_z[known]) < BINS["F_z"]:
        return _STIFFNESS, None
    softness, radius = np.polyfit(table.F_z[known], table.R_l[known], 1)
    stiffness = -1.0 / softness if softness < 0.0 else _STIFFNESS
    return float(stiffness), float(radius)


def start_of(stage: str, rows: Measurements, tyre: Any) -> dict[str, float]:
    """Starts of the coefficients of a stage."""
    values = dict(SHAPES.get(stage, {}))
    if stage == "pure F_x":
        values |= _longitudinal(rows, tyre.vertical.FNOMIN)
    elif stage == "pure F_y":
        values |= _lateral(rows, tyre.vertical.FNOMIN)
    return values


def _longitudinal(rows: Measurements, nominal: float) -> dict[str, float]:
    dfz, peaks, slopes, ends = _by_load(rows, "kappa", "F_x", nominal)
    peak, change = _line(dfz, peaks)
    slope, steeper = _line(dfz, slopes)
    shape = _shape(ends, peaks)
    return {"PDX1": peak, "PDX2": change, "PKX1": max(slope, 1.0), "PKX2": steeper, "PCX1": shape}


def _lateral(rows: Measurements, nominal: float) -> dict[str, float]:
    dfz, peaks, slopes, ends = _by_load(rows, "alpha", "F_y", nominal)
    peak, change = _line(dfz, peaks)
    load = 1.0 + dfz
    stiffness = slopes * load  # over nominal load; negative
    best = (np.inf, -20.0, 2.0)
    for at_peak in np.geomspace(0.5, 8.0, 25):
        wave = np.sin(2.0 * np.arctan(load / at_peak))
        most = float(wave @ stiffness / (wave @ wave))
        error = float(np.sum((most * wave - stiffness) ** 2))
        best = min(best, (error, most, float(at_peak)))
    _, most, at_peak = best
    shape = _shape(ends, peaks)
    return {"PDY1": peak, "PDY2": change, "PKY1": most, "PKY2": at_peak, "PCY1": shape}


def _by_load(
    rows: Measurements, slip: str, force: str, nominal: float
) -> tuple[Array, Array, Array, Array]:
    """Per step of load: its change over the nominal one, peak friction, slope and friction at the
    largest slip, each over load."""
    by_step: list[tuple[float, float, float, float]] = []
    steps = levels(rows.F_z, BINS["F_z"])
    for step in steps:
        part = rows.where(F_z=(step - BINS["F_z"], step + BINS["F_z"]))
        x, y = part[slip], part[force] / part.F_z
        small = np.abs(x) < _SMALL[slip]
        if small.sum() < 2 or np.ptp(x[small]) == 0.0:
            small = np.abs(x) <= np.sort(np.abs(x))[min(len(x) - 1, 4)]
        slope = float(np.polyfit(x[small], y[small], 1)[0]) if np.ptp(x[small]) > 0.0 else 0.0
        far = np.abs(x) >= 0.9 * np.abs(x).max()
        peak = float(np.percentile(np.abs(y), 97.0))
        by_step.append((step / nominal - 1.0, peak, slope, float(np.median(np.abs(y[far])))))
    columns = np.array(by_step).reshape(-1, 4).T
    return columns[0], columns[1], columns[2], columns[3]


def _line(x: Array, y: Array) -> tuple[float, float]:
    """Value at 0 and slope; of a single point the value."""
    if len(x) < 2:
        return float(y.mean()) if len(y) else 1.0, 0.0
    slope, value = np.polyfit(x, y, 1)
    return float(value), float(slope)


def _shape(ends: Array, peaks: Array) -> float:
    """Shape factor from the friction at large slip over the peak, eq. 4.50."""
    ratio = float(np.clip(np.median(ends / np.maximum(peaks, 1e-9)), 0.05, 0.999))
    return float(np.clip(2.0 - 2.0 / np.pi * np.arcsin(ratio), 1.05, 1.9))
