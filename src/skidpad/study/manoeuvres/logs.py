"""Measured logs on the proving ground: drives, and metrics by the functions that judge simulations.

`drive_of_log` makes a drive of a log: signals with even times, completed by what follows from
others. A log is one drive, and a manoeuvre may be many: `adapt` makes of it the test that the log
is. `measure_drive` finds the metrics of a manoeuvre in a drive, so that measured and simulated
numbers mean the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from ..identify.log import (
    Log,
    Series,
    check_columns,
    how_to_name,
    known_samples,
    same_unit,
    unread_notes,
)
from .case import Case
from .case_run import (
    STARTED,
    CaseRun,
    Source,
    TimedDrive,
    first_time,
    from_columns,
    slowing_of,
    started_at,
)
from .evaluation import Reference, settings_of
from .manoeuvre import Manoeuvre
from .metric import Curve, Findings
from .proving_ground import Result
from .subject import Subject

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
    the one that `adapt` gives the test. What the log lacks follows from the rest where it
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
    """Add the signals that can be computed from the columns present, and NaN for the others;
    returns notes on both."""
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


LEAST_OF_CASE = 8
"""Samples of the part of a log that stands for a case."""
MOST_ROUNDS = 8
"""Times that a manoeuvre may ask for more drives: a search has no end when all are the same."""
LENGTHS = {"wheel_base": "wheelbase", "l_r": "distance from the rear axle to the centre of mass"}
"""Lengths of a subject that metrics of a log may need."""
SHOWN: measured_one = 1e-3
"""Least share by which a metric has to change with 10 % of a length for a note to name it."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "v_y or sideslip": ("v_y", "sideslip"),
    "steer": ("steer",),
    "omega or yaw": ("omega", "yaw", "a_y", "x", "y"),
}
"""Alternative columns that a log may lack, and the signals that follow from any of them."""
SAME: measured_one = 0.1
"""Share by which a setting of a log may differ from that of the test."""


def adapt(manoeuvre: Manoeuvre, drive: CaseRun) -> Manoeuvre:
    """The manoeuvre as a log was driven: with its speed, its deceleration, its side.

    One that has no method `adapted_to(drive)` stays as it is. Raises InvalidValue where the log
    does not tell how it was driven.
    """
    method = getattr(manoeuvre, "adapted_to", None)
    return manoeuvre if method is None else method(drive)


def adapted_settings(before: Manoeuvre, after: Manoeuvre) -> str:
    """What `adapt` changed, as text; empty if nothing."""
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
    """What results are compared with when they are compared with a measured drive; `notes` are
    those of `drive_of_log`, for the reader. `wheel_base` is that of the measured vehicle."""
    findings: dict[tuple[str, str], Findings] = {}
    missing: dict[str, str] = {}
    for result in results:
        name = result.manoeuvre.name
        try:
            of_result = measure_drive(
                result.manoeuvre,
                result.car,
                drive,
                result.runs,
                aligned=aligned,
                wheel_base=wheel_base,
            )
        except InvalidValue as error:
            missing[name] = str(error)
            continue
        own = () if result.findings is None else result.findings.metrics
        if _known(of_result) & {each.name for each in own if np.isfinite(each.value).any()}:
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
    """The findings of a manoeuvre from a measured drive of a vehicle of this shape.

    A manoeuvre that has a method `measure(car, drive)` is asked; for any other the drive stands for
    the case that the manoeuvre asks for. One with several cases is refused, unless its `one_drive`
    says that they differ in side or driver alone: `adapt` tells which of them the log is.

    With `aligned` the drive is shifted so that its wheels reach half of their largest angle when
    they do in the case, or so that it starts or slows down when it does there: by the simulated
    drive of the case if it is there, since vehicles follow late, else by what is asked.

    What no log has, lengths of the vehicle, is that of `car`, but for a `wheel_base` in m that is
    given. Notes say which metrics depend on such a length and how much, and which the log does not
    tell for want of a signal.
    """
    own = Subject(car.vehicle, name=car.name)
    lacks = manoeuvre.unfit(own)
    if lacks:
        raise InvalidValue(lacks)
    if wheel_base is not None:
        own = own.with_lengths(wheel_base=positive("wheel_base", wheel_base, "m"))

    def found(vehicle: Subject, of: CaseRun) -> Findings:
        return _found(manoeuvre, vehicle, of, simulated, aligned=aligned)

    findings = found(own, drive)
    known = {"wheel_base"} if wheel_base is not None else set[str]()
    notes = _notes_on_lengths(own, findings, lambda vehicle: found(vehicle, drive), known)
    notes += _notes_on_signals(drive, findings, simulated, lambda of: found(own, of))
    return _as_measured(replace(findings, notes=[*findings.notes, *notes]))


def _found(
    manoeuvre: Manoeuvre,
    own: Subject,
    drive: CaseRun,
    simulated: Sequence[CaseRun],
    *,
    aligned: bool,
) -> Findings:
    measure = getattr(manoeuvre, "measure", None)
    try:
        _check_settings(manoeuvre, drive)
        with catch_warnings():
            simplefilter("ignore", RuntimeWarning)  # of means of what is unknown
            if measure is not None:
                return measure(own, drive)
            return _standing_in(manoeuvre, own, drive, simulated if aligned else None)
    except (ValueError, IndexError, ArithmeticError) as error:  # of functions that expect a test
        if isinstance(error, InvalidValue):
            raise
        raise InvalidValue(f"{drive.label} is no drive of {manoeuvre.name}: {error}") from error


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
    """Notes on metrics that are missing for want of signals: those that get a value as soon as the
    log has some numbers for these signals."""
    there = _known(findings)
    groups = {words: names for words, names in GROUPS.items() if _lacks(drive, names)}
    more = {name for run in simulated for name in run.signals} - set(drive.signals)
    wheels = {f"{kind} of the wheels" for kind in OF_WHEELS}
    for name in sorted(more):
        kind = name.rpartition("_")[0]
        words = f"{kind} of the wheels" if f"{kind} of the wheels" in wheels else name
        groups[words] = (*groups.get(words, ()), name)
    if len(groups) > 1:
        groups[" and ".join(groups)] = tuple(name for names in groups.values() for name in names)
    notes: list[str] = []
    for words, names in groups.items():
        try:
            filled = _known(again(_with_numbers(drive, names)))
        except (InvalidValue, KeyError):
            continue
        if filled - there:
            notes.append(f"without {words} in the log: no {', '.join(sorted(filled - there))}")
        there |= filled
    return notes


def _lacks(drive: CaseRun, names: Sequence[str]) -> bool:
    first = names[0]
    return first not in drive or not np.isfinite(drive[first]).all()


def _with_numbers(drive: CaseRun, names: Sequence[str]) -> CaseRun:
    """A log with placeholders for signals that it lacks, in proportion to its yaw rate or angle."""
    shape = next(
        (drive[n] for n in ("omega", "steer") if not _lacks(drive, [n])), np.sin(drive.t)[:, None]
    )
    missing = {name: 0.1 * shape for name in names if _lacks(drive, [name])}
    steady = frozenset[str]() if "v_y" in names else drive.source.steady
    source = drive.source._replace(steady=steady)
    return CaseRun(drive.label, drive.t, {**drive.signals, **missing}, source=source)


def _check_settings(manoeuvre: Manoeuvre, drive: CaseRun) -> None:
    """Raise if a log was driven otherwise than the test."""
    as_driven = adapt(manoeuvre, drive)
    if not is_dataclass(as_driven):
        return
    for name in (field.name for field in fields(as_driven)):
        test, log = getattr(manoeuvre, name), getattr(as_driven, name)
        if not isinstance(test, int | float) or not isinstance(log, int | float):
            continue
        if abs(test - log) > SAME * max(abs(test), abs(log)):
            raise InvalidValue(
                f"{drive.label} was driven with {name} {log:.4g}, {manoeuvre.name} with "
                f"{test:.4g}: both must be the same; `adapt` makes the test for a log"
            )


def _standing_in(
    manoeuvre: Manoeuvre, car: Subject, drive: CaseRun, simulated: Sequence[CaseRun] | None
) -> Findings:
    performing = manoeuvre.perform(car)
    # The same manoeuvre asks for the same cases in the same order.
    like = None if simulated is None else chain(simulated, repeat(None))
    alike = bool(getattr(manoeuvre, "one_drive", False))
    try:
        cases = next(performing)
        for _ in range(MOST_ROUNDS):
            if len(cases) > 1 and not alike:
                raise InvalidValue(
                    f"{manoeuvre.name} has {len(cases)} drives side by side ({cases[0].label}, "
                    f"{cases[1].label}, ...): one log does not tell what all of them do"
                )
            cases = performing.send([_as_case(drive, case, like) for case in cases])
    except StopIteration as end:
        return end.value
    finally:
        performing.close()
    raise InvalidValue(
        f"{manoeuvre.name} looks for something in many drives: one log does not tell it"
    )


def _as_case(drive: CaseRun, case: Case, like: Iterator[CaseRun | None] | None) -> CaseRun:
    """The part of a drive that a case lasts; `like` are the simulated drives from this one on."""
    shift = 0.0 if like is None else _shift(drive, case, next(like))
    moved = CaseRun(drive.label, drive.t - shift, drive.signals, source=drive.source)
    part = moved.since(-case.run_in, case.duration)
    if len(part.t) < LEAST_OF_CASE or part.t[-1] < 0.5 * case.duration:
        raise InvalidValue(
            f"{drive.label} has {len(part.t)} samples from {moved.t[0]:.2f} to {moved.t[-1]:.2f} s "
            f"in the time of {case.label}, which is {case.duration:g} s from zero on"
        )
    return _from_origin(part)


def _from_origin(part: CaseRun) -> CaseRun:
    """Seen from where it begins: as cases do, at the origin along x."""
    x, y, yaw = (part[name] - part[name][0] for name in ("x", "y", "yaw"))
    c, s = np.cos(part["yaw"][0]), np.sin(part["yaw"][0])
    moved = {"x": c * x + s * y, "y": c * y - s * x, "yaw": yaw}
    return CaseRun(part.label, part.t, {**part.signals, **moved}, source=part.source)


def _shift(drive: CaseRun, case: Case, simulated: CaseRun | None) -> s:
    """Time of the drive that is zero of the case: by what the case changes at zero, and where it
    changes nothing, so that both begin together."""
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
    """When numbers first reach half of their largest; NaN if all are zero."""
    most = values.max()
    return float(first_time(t, values[:, None] / most, 0.5)[0]) if most > 0.0 else float("nan")


def _changed(drive: CaseRun, case: Case) -> s:
    """When it starts, if the case does, or slows down."""
    return started_at(drive) if np.max(case.v) < STARTED else slowing_of(drive).when


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
