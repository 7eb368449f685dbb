"""Measured logs on the proving ground: conversion to runs, and metrics of manoeuvres in them.

`drive_of_log` converts a log to a run with evenly spaced samples, and derives missing signals from
others. A log is a single run, whereas a manoeuvre may need many: `adapt` returns the single test
that the log contains. `measure_drive` computes the metrics of a manoeuvre with the code that
evaluates simulations, so that measured and simulated numbers mean the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass, replace
from itertools import chain, repeat
from warnings import catch_warnings, simplefilter

import numpy as np

from ...core.arrays import Array
from ...core.checks import positive
from ...errors import InvalidValue
from ...units import m, s
from ...units import one as measured_one
from ..logs.cleaning import stretches
from ..logs.consistency import check_columns
from ..logs.log import Channel, Log, unread_notes
from ..logs.preparation import LONGEST_GAP, STEPS, prepare
from ..logs.units import GRAVITY, how_to_name, same_unit
from .case import Case
from .case_run import (
    STARTED,
    CaseRun,
    Source,
    TimedDrive,
    cumulative_integral,
    first_time,
    from_columns,
)
from .evaluation import Reference, settings_of
from .manoeuvre import Findings, Manoeuvre
from .proving_ground import Result
from .subject import Subject

SIGNALS: Mapping[str, tuple[str, str]] = {
    "x": ("m", "x of the centre of mass in the world frame"),
    "y": ("m", "y of the centre of mass in the world frame"),
    "yaw": ("rad", "heading, counterclockwise"),
    "v_x": ("m/s", "velocity of the centre of mass along the vehicle"),
    "v_y": ("m/s", "velocity of the centre of mass to the left"),
    "omega": ("rad/s", "yaw rate, counterclockwise"),
    "speed": ("m/s", "magnitude of the velocity"),
    "sideslip": ("rad", "direction of the velocity minus the heading, positive to the left"),
    "a_x": ("m/s²", "acceleration along the vehicle"),
    "a_y": ("m/s²", "acceleration to the left, without gravity"),
    "steer": ("rad", "mean angle of the front wheels, positive to the left"),
    "roll": ("rad", "roll angle of the body, positive to the right"),
    "pitch": ("rad", "pitch angle of the body, positive with the nose down"),
    "heave": ("m", "vertical displacement of the body, positive upwards"),
    "a_z": ("m/s²", "acceleration of the body upwards, without gravity"),
    "progress": ("m", "distance along the path"),
}
"""Unit and meaning of each signal of a run.

Each wheel has `F_x`, `F_y`, `F_z` in N and `spin` in rad/s as well, with its name appended, as
in `F_z_fl`.
"""
OPTIONAL = ("roll", "pitch", "heave", "a_z", "progress")
"""Signals that many vehicles do not have."""
OF_WHEELS = {"F_x": "N", "F_y": "N", "F_z": "N", "spin": "rad/s"}
LEAST_SAMPLES = 20
STEADY_A_Y = (
    "a_y is v_x times omega, as the log has no v_y: right in a steady turn, so metrics of how a_y "
    "changes (rise time, overshoot, bandwidth, phase) are missing"
)


def drive_of_log(log: Log, at: s | None = None) -> tuple[CaseRun, list[str]]:
    """Convert a log to a run with evenly spaced samples; also return notes on what it lacks.

    `at` is the time of the log at which the test begins; it becomes zero, and the speed at that
    time is the one that `adapt` uses for the test. Missing signals are derived from others where
    possible: yaw rate from heading, lateral acceleration from speed and yaw rate, and so on.
    Columns that contradict each other raise InvalidValue, which names the one that is likely wrong.
    """
    series = _series(log)
    lost = [*log.notes, *unread_notes(log, SIGNALS)]
    if "a_z" in series and abs(float(np.nanmean(series["a_z"].values)) - GRAVITY) < 1.0:
        one = series["a_z"]
        series["a_z"] = one._replace(values=one.values - GRAVITY)
        lost.append("a_z: gravity taken out, as its mean is that of an accelerometer at rest")
    if "v_x" not in series and "speed" in series:
        series["v_x"] = series["speed"]
        lost.append("v_x is the speed, as the log has no v_x: right while the car hardly slides")
    if "v_x" not in series:
        there = tuple(log.channels)
        why = "".join(f". {note}" for note in lost if note.startswith("v_x "))
        raise InvalidValue(
            f"{log.name} has no column v_x (velocity along the vehicle, m/s){why}. It has "
            f"{', '.join(there) or 'none'}; {how_to_name('v_x', there)}"
        )
    t, columns, notes = _known_together(Log(log.name, series))
    lost += notes
    if at is not None and not t[0] <= at < t[-1]:
        raise InvalidValue(
            f"{log.name} has samples from {t[0]:.9g} to {t[-1]:.9g} s: the test cannot begin at "
            f"{at:g} s"
        )
    notes = lost + check_columns(log.name, t, columns)
    # Without the lateral velocity its derivative is missing in the acceleration, and the velocity
    # itself in the path: both are then valid in a steady state only.
    turns = bool({"omega", "yaw"} & columns.keys())
    known = bool({"v_y", "sideslip"} & columns.keys())
    steady = frozenset({"a_y", "y"} - columns.keys() if turns and not known else ())
    notes += [STEADY_A_Y] if "a_y" in steady else []
    unused = (name for name in log.channels if name.removeprefix("out_") not in series)
    source = Source(steady, tuple(unused))
    notes += _complete(t, columns, source)
    drive = from_columns(log.name, t if at is None else t - at, columns, source)
    if at is None:
        return drive, notes
    return TimedDrive(log.name, drive.t, drive.signals, source=source), notes


def _series(log: Log) -> dict[str, Channel]:
    """Signals of a run among the columns of a log; recorded outputs (`out_...`) take precedence."""
    units = {name: unit for name, (unit, _) in SIGNALS.items()}
    for plain in (name.removeprefix("out_") for name in log.channels):
        kinds = (unit for kind, unit in OF_WHEELS.items() if plain.startswith(f"{kind}_"))
        if unit := next(kinds, ""):
            units[plain] = unit
    signals: dict[str, Channel] = {}
    for name, unit in units.items():
        column = f"out_{name}" if f"out_{name}" in log else name
        if column not in log:
            continue
        one = log.channels[column]
        if one.unit not in ("", "1") and not same_unit(one.unit, unit):
            raise InvalidValue(f"{log.name}: {column} is in {one.unit}; it must be in {unit}")
        signals[name] = one
    return signals


def _known_together(log: Log) -> tuple[Array, dict[str, Array], list[str]]:
    """Signals at even times at which all are known, and notes; those with a long gap are left out.

    A log with a long gap in `v_x` is refused.
    """
    every = [name for name in STEPS if name not in ("stamps", "gaps", "spikes")]
    steps = np.diff(np.unique(log["v_x"].t))
    period = float(np.median(steps)) if len(steps) else 1.0
    ready = prepare(log, period=period, without=every)
    notes = [f"{line.channel} has {line.text}" if line.step == "gaps" else f"{line}"
             for line in ready.lines if line.step != "grid"]  # fmt: skip
    known = {name: np.isfinite(values) for name, values in ready.channels.items()}
    for name, rows in known.items():
        inside = stretches(rows)
        if len(inside) < 2:
            continue
        (_, end), (begin, _) = inside[0], inside[1]
        gap = f"{name} has no value from t = {ready.t[end - 1]:.6g} to {ready.t[begin]:.6g}"
        allowed = f"gaps up to {LONGEST_GAP:g} s are interpolated"
        if name == "v_x":
            raise InvalidValue(f"{log.name}: {gap} s; {allowed}: cut the log before or after it")
        notes = [note for note in notes if not note.startswith(f"{name} has ")]
        notes.append(f"{name} is left out: {gap} s; {allowed}")
    known = {name: rows for name, rows in known.items() if len(stretches(rows)) == 1}
    together = np.logical_and.reduce(list(known.values()))
    count = int(together.sum())
    if count < LEAST_SAMPLES:
        raise InvalidValue(
            f"{log.name} has {count} samples at which all columns are known; at least "
            f"{LEAST_SAMPLES} are needed"
        )
    t = ready.t[together]
    first = {name: float(ready.t[rows][0]) for name, rows in known.items()}
    last = {name: float(ready.t[rows][-1]) for name, rows in known.items()}
    if t[0] - first["v_x"] > LONGEST_GAP or last["v_x"] - t[-1] > LONGEST_GAP:
        late, early = max(first, key=first.__getitem__), min(last, key=last.__getitem__)
        notes.append(
            f"the log is used from t = {t[0]:.6g} to {t[-1]:.6g} s, where all its columns have "
            f"values: {late} begins last, {early} ends first"
        )
    return t, {name: ready[name][together] for name in known}, notes


def _complete(t: Array, columns: dict[str, Array], source: Source) -> list[str]:
    """Add signals that follow from the columns present, and NaN for the others; return notes on
    both."""
    in_log = set(columns)
    unknown = np.full(t.shape, np.nan)
    v_x = columns["v_x"]
    if "omega" not in columns and "yaw" in columns:
        columns["omega"] = np.gradient(columns["yaw"], t)
    if "v_y" not in columns and "sideslip" in columns:
        columns["v_y"] = v_x * np.tan(columns["sideslip"])

    def integral(rate: Array) -> Array:
        return cumulative_integral(t, rate[:, None])[:, 0]

    omega, v_y = columns.get("omega", unknown), columns.get("v_y", unknown)
    across = np.where(np.isfinite(v_y), v_y, 0.0)
    computed = {
        "omega": omega,
        "v_y": v_y,
        "speed": np.hypot(v_x, across),
        "sideslip": np.arctan2(v_y, v_x),
        "a_x": np.gradient(v_x, t) - across * np.nan_to_num(omega),
        "a_y": np.gradient(across, t) + v_x * omega,
        "yaw": integral(omega),
        "steer": unknown,
    }
    columns |= {name: values for name, values in computed.items() if name not in columns}
    c, s = np.cos(columns["yaw"]), np.sin(columns["yaw"])
    columns.setdefault("x", integral(v_x * c - across * s))
    columns.setdefault("y", integral(v_x * s + across * c))
    new = [name for name in SIGNALS if name not in in_log and name not in OPTIONAL]
    lacking = [name for name in new if not np.isfinite(columns[name]).all()]
    derived = [name for name in new if name not in lacking]
    notes = [f"not in the log, from its other columns: {', '.join(derived)}"] if derived else []
    if lacking:
        notes.append(f"not in the log, and metrics that need it are missing: {', '.join(lacking)}")
        notes += [f"columns of the log that are not used: {source.listed}"] if source.unused else []
    return notes


LEAST_OF_CASE = 8
"""Least number of samples of the part of a log that corresponds to a case."""
MOST_ROUNDS = 8
"""Largest number of rounds a manoeuvre may ask for: with identical runs a search would not
end."""
LENGTHS = {"wheel_base": "wheelbase", "l_r": "distance from the rear axle to the centre of mass"}
"""Lengths of a vehicle that metrics of a log may need, with their meaning."""
SHOWN: measured_one = 1e-3
"""Least relative change of a metric with 10 % of a length for a note to mention it."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "v_y or sideslip": ("v_y", "sideslip"),
    "steer": ("steer",),
    "omega or yaw": ("omega", "yaw", "a_y", "x", "y"),
}
"""Alternative columns that a log may lack, and the signals that follow from any of them."""
SAME: measured_one = 0.1
"""Largest relative difference of a setting of a log from that of the test."""


def adapt(manoeuvre: Manoeuvre, drive: CaseRun) -> Manoeuvre:
    """Return the manoeuvre with the settings of a log: its speed, its deceleration, its side.

    A manoeuvre without a method `adapted_to(drive)` is returned unchanged. Raises InvalidValue if
    the settings cannot be determined from the log.
    """
    method = getattr(manoeuvre, "adapted_to", None)
    return manoeuvre if method is None else method(drive)


def adapted_settings(before: Manoeuvre, after: Manoeuvre) -> str:
    """Settings changed by `adapt`, as text; empty if unchanged."""
    old = settings_of(before)
    new = {name: value for name, value in settings_of(after).items() if value != old.get(name)}
    texts = (f"{v:.4g}" if isinstance(v, float) else v for v in new.values())
    return ", ".join(f"{name} {text}" for name, text in zip(new, texts, strict=True))


def measured_reference(
    drive: CaseRun,
    results: Sequence[Result],
    *,
    notes: Sequence[str] = (),
    aligned: bool = True,
    wheel_base: m | None = None,
) -> Reference:
    """Reference made of a measured run, to compare results with.

    `notes` are those of `drive_of_log`, for the reader. `wheel_base` is that of the measured
    vehicle.
    """
    findings: dict[tuple[str, str], Findings] = {}
    missing: dict[str, str] = {}
    for result in results:
        name, tried = result.manoeuvre.name, (result.manoeuvre, result.car, drive, result.runs)
        try:
            of_result = measure_drive(*tried, aligned=aligned, wheel_base=wheel_base)
        except InvalidValue as error:
            missing[name] = str(error)
            continue
        own = set[str]() if result.findings is None else _known(result.findings)
        if _known(of_result) & own:
            findings[result.car.name, name] = of_result
        else:
            why = "; ".join(of_result.notes) or "no metric has a value for both"
            missing[name] = f"nothing can be compared with {drive.label}: {why}"
    own_notes = [f"{name}: {note}" for (_, name), one in findings.items() for note in one.notes]
    return Reference(drive.label, findings, missing, [*notes, *dict.fromkeys(own_notes)])


def measure_drive(
    manoeuvre: Manoeuvre,
    car: Subject,
    drive: CaseRun,
    simulated: Sequence[CaseRun] = (),
    *,
    aligned: bool = True,
    wheel_base: m | None = None,
) -> Findings:
    """Metrics of a manoeuvre in a measured run.

    Args:
        manoeuvre: its method `measure(car, drive)` is called if it has one. Otherwise the run takes
            the place of the case that the manoeuvre asks for; a manoeuvre with several cases is
            refused, unless its `one_drive` says that they differ in side or driver alone.
        car: supplies the lengths that a log lacks.
        drive: the measured run, from `drive_of_log`.
        simulated: simulated runs of the same case, for the alignment.
        aligned: shift the run in time so that its wheels reach half of their largest angle, or the
            vehicle starts or slows down, at the same time as in the simulated run; without one, as
            in the reference input.
        wheel_base: in m, instead of that of `car`.

    Notes say which metrics depend on such a length and how much, and which cannot be computed
    because the log lacks a signal.
    """
    own = Subject(car.vehicle, name=car.name)
    lacks = manoeuvre.unfit(own)
    if lacks:
        raise InvalidValue(lacks)
    if wheel_base is not None:
        own = own.with_lengths(wheel_base=positive("wheel_base", wheel_base, "m"))

    measure = getattr(manoeuvre, "measure", None)

    def found(vehicle: Subject, of: CaseRun) -> Findings:
        try:
            as_driven = adapt(manoeuvre, of)
            settings = fields(as_driven) if is_dataclass(as_driven) else ()
            for name in (field.name for field in settings):
                test, log = getattr(manoeuvre, name), getattr(as_driven, name)
                numbers = isinstance(test, int | float) and isinstance(log, int | float)
                if numbers and abs(test - log) > SAME * max(abs(test), abs(log)):
                    raise InvalidValue(
                        f"{of.label} was driven with {name} {log:.4g}, {manoeuvre.name} with "
                        f"{test:.4g}: both must be the same; `adapt` makes the test for a log"
                    )
            with catch_warnings():
                simplefilter("ignore", RuntimeWarning)  # means of NaN columns
                if measure is not None:
                    return measure(vehicle, of)
                return _standing_in(manoeuvre, vehicle, of, simulated if aligned else None)
        except InvalidValue:
            raise
        except (ValueError, IndexError, ArithmeticError) as error:  # not a test of this kind
            text = f"{of.label} is not a drive of {manoeuvre.name}: {error}"
            raise InvalidValue(text) from error

    findings = found(own, drive)
    known = {"wheel_base"} if wheel_base is not None else set[str]()
    notes = _notes_on_lengths(own, findings, lambda vehicle: found(vehicle, drive), known)
    notes += _notes_on_signals(drive, findings, simulated, lambda of: found(own, of))
    # Curves of runs are marked as measured; theory, limits and cones are left out.
    charts = [
        replace(
            chart, curves=[replace(c, kind="measured") for c in chart.curves if c.kind == "run"]
        )
        for chart in findings.charts
    ]
    return replace(findings, charts=charts, notes=[*findings.notes, *notes])


def _known(findings: Findings) -> set[str]:
    """Names of the metrics that have a value."""
    return {each.name for each in findings.metrics if np.isfinite(each.value).any()}


def _notes_on_lengths(
    own: Subject, findings: Findings, again: Callable[[Subject], Findings], known: AbstractSet[str]
) -> list[str]:
    """Notes on metrics that depend on lengths of the vehicle, which come from the model."""
    notes: list[str] = []
    for name, words in LENGTHS.items():
        length = float(getattr(own, name)[0])
        if name in known or not np.isfinite(length):
            continue
        of_longer = again(own.with_lengths(**{name: 1.1 * length}))
        longer = {each.name: each.value[0] for each in of_longer.metrics}
        texts = [
            f"{each.name} {each.value[0]:.4g} (10 % more makes it {longer[each.name]:.4g})"
            for each in findings.metrics
            if np.isfinite([each.value[0], longer.get(each.name, np.nan)]).all()
            and abs(longer[each.name] - each.value[0]) > SHOWN * abs(each.value[0])
        ]
        if texts:
            option = "; --wheelbase gives another" if name == "wheel_base" else ""
            notes.append(
                f"the log has no {words}, so these are with that of {own.name}, {length:.4g} m: "
                f"{', '.join(texts)}{option}"
            )
    return notes


def _notes_on_signals(
    drive: CaseRun,
    findings: Findings,
    simulated: Sequence[CaseRun],
    again: Callable[[CaseRun], Findings],
) -> list[str]:
    """Notes on metrics that are missing because the log lacks signals.

    Found by giving these signals placeholder values and looking for metrics that then have a value.
    """
    there = _known(findings)
    groups = {words: names for words, names in GROUPS.items() if _lacks(drive, names[0])}
    more = {name for run in simulated for name in run.signals} - set(drive.signals)
    wheels = {f"{kind} of the wheels" for kind in OF_WHEELS}
    for name in sorted(more):
        kind = name.rpartition("_")[0]
        words = f"{kind} of the wheels" if f"{kind} of the wheels" in wheels else name
        groups[words] = (*groups.get(words, ()), name)
    if len(groups) > 1:
        groups[" and ".join(groups)] = tuple(name for names in groups.values() for name in names)
    notes: list[str] = []
    # Placeholders are proportional to the yaw rate or the angle of the log.
    shapes = (drive[name] for name in ("omega", "steer") if not _lacks(drive, name))
    placeholder = 0.1 * next(shapes, np.sin(drive.t)[:, None])
    for words, names in groups.items():
        signals = {name: placeholder for name in names if _lacks(drive, name)}
        steady = frozenset[str]() if "v_y" in names else drive.source.steady
        source = drive.source._replace(steady=steady)
        try:
            complete = replace(drive, signals={**drive.signals, **signals}, source=source)
            filled = _known(again(complete))
        except (InvalidValue, KeyError):
            continue
        if filled - there:
            notes.append(f"without {words} in the log: no {', '.join(sorted(filled - there))}")
        there |= filled
    return notes


def _lacks(drive: CaseRun, name: str) -> bool:
    return name not in drive or not np.isfinite(drive[name]).all()


def _standing_in(
    manoeuvre: Manoeuvre, car: Subject, drive: CaseRun, simulated: Sequence[CaseRun] | None
) -> Findings:
    performing = manoeuvre.perform(car)
    # Repeated calls of a manoeuvre yield the same cases in the same order.
    like = None if simulated is None else chain(simulated, repeat(None))
    alike = bool(getattr(manoeuvre, "one_drive", False))

    def part_of_case(case: Case) -> CaseRun:
        """Part of the log with the duration of a case, in axes at its first sample."""
        shift = 0.0 if like is None else _shift(drive, case, next(like))
        moved = CaseRun(drive.label, drive.t - shift, drive.signals, source=drive.source)
        part = moved.since(-case.run_in, case.duration)
        if len(part.t) < LEAST_OF_CASE or part.t[-1] < 0.5 * case.duration:
            raise InvalidValue(
                f"{drive.label} has {len(part.t)} samples from {moved.t[0]:.2f} to "
                f"{moved.t[-1]:.2f} s within {case.label}, which lasts {case.duration:g} s from "
                "time 0"
            )
        x, y, yaw = (part[name] - part[name][0] for name in ("x", "y", "yaw"))
        c, s = np.cos(part["yaw"][0]), np.sin(part["yaw"][0])
        pose = {"x": c * x + s * y, "y": c * y - s * x, "yaw": yaw}
        return replace(part, signals={**part.signals, **pose})

    try:
        cases = next(performing)
        for _ in range(MOST_ROUNDS):
            if len(cases) > 1 and not alike:
                raise InvalidValue(
                    f"{manoeuvre.name} has {len(cases)} parallel drives ({cases[0].label}, "
                    f"{cases[1].label}, ...): a single log cannot show all of them"
                )
            cases = performing.send([part_of_case(case) for case in cases])
    except StopIteration as end:
        return end.value
    finally:
        performing.close()
    raise InvalidValue(
        f"{manoeuvre.name} searches over many drives: a single log cannot determine it"
    )


def _shift(drive: CaseRun, case: Case, simulated: CaseRun | None) -> s:
    """Time of the measured run that corresponds to time zero of the case.

    The alignment uses the signal that the case changes at zero; if there is none, both runs begin
    together.
    """
    t: Array = np.arange(-case.run_in, case.duration, 0.001)
    asked = np.abs(case.over(case.steer, t))
    if np.ptp(asked) > 0.0:
        if simulated is not None and "steer" in simulated:
            t, asked = simulated.t, np.abs(simulated["steer"][:, 0])
        times = _half(drive.t, np.abs(drive["steer"][:, 0])), _half(t, asked)
    elif any(np.ptp(case.over(told, t)) > 0.0 for told in (case.a, case.coast, case.speed)):
        times = _changed(drive, case), 0.0 if simulated is None else _changed(simulated, case)
    else:
        times = float(drive.t[0]), -case.run_in
    return times[0] - times[1] if np.isfinite(times).all() else 0.0


def _half(t: Array, values: Array) -> s:
    """Time at which a signal first reaches half of its maximum; NaN if that is not positive."""
    most = values.max()
    return float(first_time(t, values[:, None] / most, 0.5)[0]) if most > 0.0 else float("nan")


def _changed(drive: CaseRun, case: Case) -> s:
    """Time at which the vehicle starts, if the case starts from rest, or slows down."""
    return drive.start_time() if np.max(case.v) < STARTED else drive.slowdown().when
