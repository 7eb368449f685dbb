"""Metrics of a manoeuvre from a measured drive: by the functions that judge simulated drives, so
that both numbers mean the same.

A log is one drive, and a manoeuvre may be many: `adapted` makes of it the test that the log is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass, replace
from itertools import chain, repeat
from warnings import catch_warnings, simplefilter

import numpy as np

from ..arrays import Array
from ..checks import positive
from ..errors import InvalidValue
from ..units import m, one, s
from .case import Case
from .case_run import CaseRun
from .document import settings_of
from .evaluation import Reference
from .how_driven import STARTED, slowing_of, started_at
from .logged_drive import OF_WHEELS
from .metric import Curve, Findings
from .proving_ground import Manoeuvre, Result
from .step_response import first_time
from .subject import Subject

__all__ = ["adapted", "measured", "measured_reference"]

LEAST_OF_CASE = 8
"""Samples of the part of a log that stands for a case."""
MOST_ROUNDS = 8
"""Times that a manoeuvre may ask for more drives: a search has no end when all are the same."""
LENGTHS = {"wheel_base": "wheelbase", "l_r": "distance from the rear axle to the centre of mass"}
"""Lengths of a subject that metrics of a log may need."""
SHOWN: one = 1e-3
"""Least share by which a metric has to change with 10 % of a length for a note to name it."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "v_y or sideslip": ("v_y", "sideslip"),
    "steer": ("steer",),
    "omega or yaw": ("omega", "yaw", "a_y", "x", "y"),
}
"""Alternative columns that a log may lack, and the signals that follow from any of them."""
SAME: one = 0.1
"""Share by which a setting of a log may differ from that of the test."""


def adapted(manoeuvre: Manoeuvre, drive: CaseRun) -> Manoeuvre:
    """The manoeuvre as a log was driven: with its speed, its deceleration, its side.

    One that has no method `adapted_to(drive)` stays as it is. Raises InvalidValue where the log
    does not tell how it was driven.
    """
    method = getattr(manoeuvre, "adapted_to", None)
    return manoeuvre if method is None else method(drive)


def adapted_settings(before: Manoeuvre, after: Manoeuvre) -> str:
    """What `adapted` changed, as text; empty if nothing."""
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
            of_result = measured(
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


def measured(
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
    says that they differ in side or driver alone: `adapted` tells which of them the log is.

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
        (drive[n] for n in ("omega", "steer") if not _lacks(drive, [n])),
        np.sin(drive.t)[:, None],
    )
    missing = {name: 0.1 * shape for name in names if _lacks(drive, [name])}
    steady = frozenset[str]() if "v_y" in names else drive.source.steady
    source = drive.source._replace(steady=steady)
    return CaseRun(drive.label, drive.t, {**drive.signals, **missing}, source=source)


def _check_settings(manoeuvre: Manoeuvre, drive: CaseRun) -> None:
    """Raise if a log was driven otherwise than the test."""
    as_driven = adapted(manoeuvre, drive)
    if not is_dataclass(as_driven):
        return
    for name in (field.name for field in fields(as_driven)):
        test, log = getattr(manoeuvre, name), getattr(as_driven, name)
        if not isinstance(test, int | float) or not isinstance(log, int | float):
            continue
        if abs(test - log) > SAME * max(abs(test), abs(log)):
            raise InvalidValue(
                f"{drive.label} was driven with {name} {log:.4g}, {manoeuvre.name} with "
                f"{test:.4g}: both must be the same; `adapted` makes the test for a log"
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
    """When numbers first reach half of their largest; NaN if they are none."""
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
