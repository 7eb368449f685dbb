"""A measured log as a drive, and the metrics of a manoeuvre from it: by the functions that judge
simulated drives, so that both numbers mean the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from ..identify.log import Log, how_to_name
from ..units import s
from .case import Case
from .case_run import CaseRun, from_columns
from .evaluation import Reference
from .metric import Curve, Findings
from .proving_ground import Manoeuvre, Result
from .step_response import first_time
from .subject import Subject

__all__ = ["SIGNALS", "drive_of_log", "measured", "measured_reference"]

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
    "progress": ("m", "distance along the path"),
}
"""Signals of a drive: unit and meaning. Each wheel has `F_x`, `F_y`, `F_z` in N and `spin` in rad/s
besides, with its name behind, as in `F_z_fl`."""
OPTIONAL = ("roll", "pitch", "heave", "progress")
"""Those that many vehicles do not have."""
OF_WHEELS = {"F_x": "N", "F_y": "N", "F_z": "N", "spin": "rad/s"}
LEAST_SAMPLES, LEAST_OF_CASE = 20, 8
"""Samples of a log, and of the part that stands for a case."""
MOST_ROUNDS = 8
"""Times that a manoeuvre may ask for more drives: a search has no end when all are the same."""


def drive_of_log(log: Log, at: s | None = None) -> tuple[CaseRun, list[str]]:
    """A log as a drive with even times, and notes on what was not in it.

    `at` is the time of the log that becomes zero. What the log lacks follows from the rest where it
    can: yaw rate from heading, lateral acceleration from speed and yaw rate, and so on.
    """
    series = _series(log)
    if "v_x" not in series:
        there = tuple(log.series)
        raise InvalidValue(
            f"{log.name} has no column v_x (velocity along the vehicle, m/s). It has "
            f"{', '.join(there) or 'none'}; {how_to_name('v_x', there)}"
        )
    begin = max(one.t[0] for one in series.values())
    end = min(one.t[-1] for one in series.values())
    period = float(np.median(np.diff(series["v_x"].t))) if len(series["v_x"].t) > 1 else 1.0
    count = int(np.floor((end - begin) / period + 1e-6)) + 1
    if count < LEAST_SAMPLES:
        raise InvalidValue(
            f"{log.name} has {max(count, 0)} samples at which all columns are known; at least "
            f"{LEAST_SAMPLES} are needed"
        )
    t: Array = begin + period * np.arange(count, dtype=float)
    columns = {
        name: np.interp(t, one.t, np.unwrap(one.values) if name == "yaw" else one.values)
        for name, one in series.items()
    }
    notes = _complete(t, columns)
    return from_columns(log.name, t - (at or 0.0), columns), notes


def _series(log: Log) -> dict[str, Any]:
    """Columns of the log that are signals; those that a recording reports come first."""
    units = {name: unit for name, (unit, _) in SIGNALS.items()}
    for name in log.series:
        plain = name.removeprefix("out_")
        kind = next((kind for kind in OF_WHEELS if plain.startswith(f"{kind}_")), None)
        if kind is not None:
            units[plain] = OF_WHEELS[kind]
    found: dict[str, Any] = {}
    for name, unit in units.items():
        column = f"out_{name}" if f"out_{name}" in log else name
        if column not in log:
            continue
        one = log.series[column]
        if one.unit not in ("", "1", unit):
            raise InvalidValue(f"{log.name}: {column} is in {one.unit}; it must be in {unit}")
        if not np.isfinite(one.values).all():
            raise InvalidValue(f"{log.name}: {column} has values that are not finite")
        found[name] = one
    return found


def _complete(t: Array, columns: dict[str, Array]) -> list[str]:
    """Add the signals that follow from others; what no column tells is NaN."""
    given = set(columns)
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
    new = [name for name in SIGNALS if name not in given and name not in OPTIONAL]
    lacking = [name for name in new if not np.isfinite(columns[name]).all()]
    derived = [name for name in new if name not in lacking]
    notes = [f"not in the log, from its other columns: {', '.join(derived)}"] if derived else []
    if lacking:
        notes.append(f"not in the log, and metrics that need it are missing: {', '.join(lacking)}")
    return notes


def _integral(t: Array, rate: Array) -> Array:
    steps = 0.5 * (rate[1:] + rate[:-1]) * np.diff(t)
    return np.concatenate([[0.0], np.cumsum(steps)])


def measured_reference(
    drive: CaseRun, results: Sequence[Result], *, notes: Sequence[str] = (), aligned: bool = True
) -> Reference:
    """What results are compared with when they are compared with a measured drive; `notes` are
    those of `drive_of_log`, for the reader."""
    found: dict[tuple[str, str], Findings] = {}
    missing: dict[str, str] = {}
    for result in results:
        name = result.manoeuvre.name
        try:
            findings = measured(result.manoeuvre, result.car, drive, result.runs, aligned=aligned)
        except InvalidValue as error:
            missing[name] = str(error)
        else:
            found[result.car.name, name] = findings
    return Reference(drive.label, found, missing, notes)


def measured(
    manoeuvre: Manoeuvre,
    car: Subject,
    drive: CaseRun,
    simulated: Sequence[CaseRun] = (),
    *,
    aligned: bool = True,
) -> Findings:
    """The findings of a manoeuvre from a measured drive of a vehicle of this shape.

    A manoeuvre that has a method `measure(car, drive)` is asked; for any other the drive stands for
    every case that the manoeuvre asks for. With `aligned` it is shifted so that the wheels reach
    half of their largest angle when they do in the case, where that says how to steer: by the
    simulated drive of the case if it is there, since wheels follow late, else by what is asked.
    """
    own = Subject(car.vehicle, name=car.name)
    lacks = manoeuvre.unfit(own)
    if lacks:
        raise InvalidValue(lacks)
    measure = getattr(manoeuvre, "measure", None)
    like = {run.label: run for run in simulated}
    try:
        with catch_warnings():
            simplefilter("ignore", RuntimeWarning)  # of means of what is unknown
            if measure is not None:
                findings = measure(own, drive)
            else:
                findings = _standing_in(manoeuvre, own, drive, like if aligned else None)
    except (ValueError, IndexError, ArithmeticError) as error:  # of functions that expect a test
        if isinstance(error, InvalidValue):
            raise
        raise InvalidValue(f"{drive.label} is no drive of {manoeuvre.name}: {error}") from error
    return _as_measured(findings)


def _standing_in(
    manoeuvre: Manoeuvre, car: Subject, drive: CaseRun, like: Mapping[str, CaseRun] | None
) -> Findings:
    performing = manoeuvre.perform(car)
    try:
        cases = next(performing)
        for _ in range(MOST_ROUNDS):
            cases = performing.send([_as_case(drive, case, like) for case in cases])
    except StopIteration as end:
        return end.value
    finally:
        performing.close()
    raise InvalidValue(
        f"{manoeuvre.name} looks for something in many drives: one log does not tell it"
    )


def _as_case(drive: CaseRun, case: Case, like: Mapping[str, CaseRun] | None) -> CaseRun:
    """The part of a drive that a case lasts."""
    shift = 0.0 if like is None else _shift(drive, case, like.get(case.label))
    moved = CaseRun(drive.label, drive.t - shift, drive.signals)
    part = moved.since(-case.run_in, case.duration)
    if len(part.t) < LEAST_OF_CASE or part.t[-1] < 0.5 * case.duration:
        raise InvalidValue(
            f"{drive.label} has {len(part.t)} samples from {moved.t[0]:.2f} to {moved.t[-1]:.2f} s "
            f"in the time of {case.label}, which is {case.duration:g} s from zero on"
        )
    return part


def _shift(drive: CaseRun, case: Case, simulated: CaseRun | None) -> s:
    """Time of the drive that is zero of the case; 0 where steering does not tell."""
    t: Array = np.arange(-case.run_in, case.duration, 0.001)
    asked = np.abs(case.over(case.steer, t))
    if np.ptp(asked) == 0.0:
        return 0.0
    if simulated is not None and "steer" in simulated:
        t, asked = simulated.t, np.abs(simulated["steer"][:, 0])
    times = [_half(t, asked), _half(drive.t, np.abs(drive["steer"][:, 0]))]
    return times[1] - times[0] if np.isfinite(times).all() else 0.0


def _half(t: Array, values: Array) -> s:
    """When numbers first reach half of their largest; NaN if they are none."""
    most = values.max()
    return float(first_time(t, values[:, None] / most, 0.5)[0]) if most > 0.0 else float("nan")


def _as_measured(findings: Findings) -> Findings:
    """Curves as those of a measurement, without theory, limits and cones."""
    charts = [
        type(chart)(
            chart.title,
            chart.x_label,
            chart.y_label,
            [
                Curve(curve.x, curve.y, curve.label, "measured")
                for curve in chart.curves
                if curve.kind == "run"
            ],
            chart.x_log,
            chart.equal,
        )
        for chart in findings.charts
    ]
    return Findings(findings.metrics, charts, findings.notes)
