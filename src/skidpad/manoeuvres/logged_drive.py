"""A measured log as a drive: signals with even times, completed by what follows from others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from ..identify.log import Log, Series, how_to_name, known_samples, unread_notes
from ..identify.log_consistency import check_columns
from ..identify.unit_spelling import same_unit
from ..units import s
from .case_run import CaseRun, Source, from_columns
from .how_driven import TimedDrive

__all__ = ["SIGNALS", "drive_of_log"]

SIGNALS: Mapping[str, tuple[str, str]] = {
    "x": ("m", "position of the centre of mass"),
    "y": ("m", "position of the centre of mass"),
    "yaw": ("rad", "heading, counterclockwise"),
    "v_x": ("m/s", "velocity of the centre of mass along the vehicle"),
    "v_y": ("m/s", "velocity of the centre of mass to the left"),
    "omega": ("rad/s", "yaw rate, counterclockwise"),
    "speed": ("m/s", "magnitude of the velocity"),
    "sideslip": ("rad", "direction of the velocity less the heading, positive to the left"),
    "a_x": ("m/s²", "acceleration along the vehicle"),
    "a_y": ("m/s²", "acceleration to the left, without gravity"),
    "steer": ("rad", "mean angle of the front wheels, positive to the left"),
    "roll": ("rad", "positive when it leans to the right"),
    "pitch": ("rad", "positive when it dives"),
    "heave": ("m", "of the body, upwards"),
    "a_z": ("m/s²", "acceleration of the body upwards, without gravity"),
    "progress": ("m", "distance along the path"),
}
"""Signals of a drive: unit and meaning. Each wheel has `F_x`, `F_y`, `F_z` in N and `spin` in rad/s
besides, with its name behind, as in `F_z_fl`."""
OPTIONAL = ("roll", "pitch", "heave", "a_z", "progress")
"""Those that many vehicles do not have."""
OF_WHEELS = {"F_x": "N", "F_y": "N", "F_z": "N", "spin": "rad/s"}
LEAST_SAMPLES = 20
"""Of a log."""
LONGEST_GAP: s = 0.5
"""Longest stretch without a value that is interpolated, unless samples are rarer."""
GAP = 5.0
"""Periods of a signal up to which a stretch without a value is no gap."""
STEADY_A_Y = (
    "a_y is v_x times omega, as the log has no v_y: right in a steady turn, so metrics of how a_y "
    "changes (rise time, overshoot, bandwidth, phase) are missing"
)


def drive_of_log(log: Log, at: s | None = None) -> tuple[CaseRun, list[str]]:
    """A log as a drive with even times, and notes on what was not in it.

    `at` is the time of the log at which the test begins; it becomes zero, and the speed there is
    the one that `adapted` gives the test. What the log lacks follows from the rest where it
    can: yaw rate from heading, lateral acceleration from speed and yaw rate, and so on. Columns
    that contradict each other raise InvalidValue, with the one that is likely wrong.
    """
    series, lost = _without_holes(log.name, _series(log))
    lost = unread_notes(log, SIGNALS) + lost
    if "v_x" not in series:
        there = tuple(log.series)
        why = "".join(f". {note}" for note in lost if note.startswith("v_x "))
        raise InvalidValue(
            f"{log.name} has no column v_x (velocity along the vehicle, m/s){why}. It has "
            f"{', '.join(there) or 'none'}; {how_to_name('v_x', there)}"
        )
    begin = max(one.t[0] for one in series.values())
    end = min(one.t[-1] for one in series.values())
    lost += _cut(series, begin, end)
    period = float(np.median(np.diff(series["v_x"].t))) if len(series["v_x"].t) > 1 else 1.0
    count = int(np.floor((end - begin) / period + 1e-6)) + 1
    if count < LEAST_SAMPLES:
        raise InvalidValue(
            f"{log.name} has {max(count, 0)} samples at which all columns are known; at least "
            f"{LEAST_SAMPLES} are needed"
        )
    if at is not None and not begin <= at < end:
        raise InvalidValue(
            f"{log.name} has samples from {begin:.9g} to {end:.9g} s: the test cannot begin at "
            f"{at:g} s"
        )
    t: Array = begin + period * np.arange(count, dtype=float)
    columns = {
        name: np.interp(t, one.t, np.unwrap(one.values) if name == "yaw" else one.values)
        for name, one in series.items()
    }
    notes = lost + check_columns(log.name, t, columns)
    steady = _right_when_steady(columns)
    notes += [STEADY_A_Y] if "a_y" in steady else []
    source = Source(steady, tuple(c for c in log.series if c.removeprefix("out_") not in series))
    notes += _complete(t, columns, source)
    drive = from_columns(log.name, t if at is None else t - at, columns, source)
    if at is None:
        return drive, notes
    return TimedDrive(log.name, drive.t, drive.signals, source=source), notes


def _series(log: Log) -> dict[str, Series]:
    """Columns of the log that are signals; those that a recording reports come first."""
    units = {name: unit for name, (unit, _) in SIGNALS.items()}
    for name in log.series:
        plain = name.removeprefix("out_")
        kind = next((kind for kind in OF_WHEELS if plain.startswith(f"{kind}_")), None)
        if kind is not None:
            units[plain] = OF_WHEELS[kind]
    signals: dict[str, Series] = {}
    for name, unit in units.items():
        column = f"out_{name}" if f"out_{name}" in log else name
        if column not in log:
            continue
        one = log.series[column]
        if one.unit not in ("", "1") and not same_unit(one.unit, unit):
            raise InvalidValue(f"{log.name}: {column} is in {one.unit}; it must be in {unit}")
        signals[name] = one
    return signals


def _without_holes(where: str, series: Mapping[str, Series]) -> tuple[dict[str, Series], list[str]]:
    """Signals without their missing samples, and notes; those with a long gap are left out."""
    kept: dict[str, Series] = {}
    notes: list[str] = []
    for name, one in series.items():
        known, note = known_samples(where, name, one)
        steps = np.diff(known.t)
        widest = int(steps.argmax()) if len(steps) else 0
        if len(steps) and steps[widest] > max(LONGEST_GAP, GAP * float(np.median(steps))):
            gap = f"{name} has no value from t = {known.t[widest]:.6g} to {known.t[widest + 1]:.6g}"
            allowed = f"gaps up to {LONGEST_GAP:g} s are interpolated"
            if name == "v_x":
                raise InvalidValue(f"{where}: {gap} s; {allowed}: cut the log before or behind it")
            notes.append(f"{name} is left out: {gap} s; {allowed}")
            continue
        kept[name] = known
        notes += [note] * bool(note)
    return kept, notes


def _cut(series: Mapping[str, Series], begin: s, end: s) -> list[str]:
    """A note where one signal is much shorter than the velocity, and the drive with it."""
    v_x = series["v_x"]
    if begin - v_x.t[0] < LONGEST_GAP and v_x.t[-1] - end < LONGEST_GAP:
        return []
    late = max(series, key=lambda name: float(series[name].t[0]))
    early = min(series, key=lambda name: float(series[name].t[-1]))
    return [
        f"the log is used from t = {begin:.6g} to {end:.6g} s, where all its columns have values: "
        f"{late} begins last, {early} ends first"
    ]


def _right_when_steady(columns: Mapping[str, Array]) -> frozenset[str]:
    """Signals that follow from the columns in a steady state alone, where the velocity to the left
    is not known: its change is a part of the acceleration, and itself one of the path."""
    turns = bool({"omega", "yaw"} & columns.keys())
    told = bool({"v_y", "sideslip"} & columns.keys())
    return frozenset({"a_y", "y"} - columns.keys()) if turns and not told else frozenset()


def _complete(t: Array, columns: dict[str, Array], source: Source) -> list[str]:
    """Add the signals that follow from others; what no column tells is NaN."""
    in_log = set(columns)
    unknown = np.full(t.shape, np.nan)
    v_x = columns["v_x"]
    if "omega" not in columns and "yaw" in columns:
        columns["omega"] = np.gradient(columns["yaw"], t)
    if "v_y" not in columns and "sideslip" in columns:
        columns["v_y"] = v_x * np.tan(columns["sideslip"])
    omega, v_y = columns.get("omega", unknown), columns.get("v_y", unknown)
    across = np.where(np.isfinite(v_y), v_y, 0.0)
    computed = {
        "omega": omega,
        "v_y": v_y,
        "speed": np.hypot(v_x, across),
        "sideslip": np.arctan2(v_y, v_x),
        "a_x": np.gradient(v_x, t) - across * np.nan_to_num(omega),
        "a_y": np.gradient(across, t) + v_x * omega,
        "yaw": _integral(t, omega),
        "steer": unknown,
    }
    columns |= {name: values for name, values in computed.items() if name not in columns}
    c, s = np.cos(columns["yaw"]), np.sin(columns["yaw"])
    columns.setdefault("x", _integral(t, v_x * c - across * s))
    columns.setdefault("y", _integral(t, v_x * s + across * c))
    new = [name for name in SIGNALS if name not in in_log and name not in OPTIONAL]
    lacking = [name for name in new if not np.isfinite(columns[name]).all()]
    derived = [name for name in new if name not in lacking]
    notes = [f"not in the log, from its other columns: {', '.join(derived)}"] if derived else []
    if lacking:
        notes.append(f"not in the log, and metrics that need it are missing: {', '.join(lacking)}")
        notes += [f"columns of the log that are not used: {source.listed}"] if source.unused else []
    return notes


def _integral(t: Array, rate: Array) -> Array:
    steps = 0.5 * (rate[1:] + rate[:-1]) * np.diff(t)
    return np.concatenate([[0.0], np.cumsum(steps)])
