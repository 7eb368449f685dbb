"""Performs manoeuvres: the cases of many manoeuvres and vehicles together, in few rollouts.

Vehicles with many variants are driven in blocks, so that memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.checks import positive, steps_in
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...units import s
from .case import Case
from .case_run import CaseRun
from .kernels import Kernels
from .manoeuvre import Manoeuvre
from .metric import Findings, Metric
from .subject import Subject

FIRST = 64
"""Variants of the first block; vehicles with no more of them are driven at once."""
ROOM = 1e9
"""Bytes that the drives of a block may take."""
SIZES = (16, 256)
"""Smallest and largest number of variants of a block. Larger ones are not faster."""


def next_size(used: float, variants: int) -> int:
    """How many variants the next block may have, from the bytes that one with some took."""
    each = max(used / variants, 1.0)
    return int(np.clip(ROOM / each, *SIZES))


def bytes_of(runs: Sequence[CaseRun]) -> float:
    """Memory of drives."""
    arrays = [array for run in runs for array in (run.states, run.inputs, *run.signals.values())]
    return float(sum(array.nbytes for array in arrays if array is not None))


def alone(run: CaseRun) -> CaseRun:
    """The first variant without the others, whose memory is let go."""
    first = run.variant(0)
    return CaseRun(
        run.label,
        run.t,
        {name: values.copy() for name, values in first.signals.items()},
        None if first.states is None else first.states.copy(),
        None if first.inputs is None else first.inputs.copy(),
    )


def joined(parts: Sequence[tuple[Findings | None, int]]) -> Findings | None:
    """Findings of blocks with their numbers of variants, one behind the other; charts are those of
    the first. A block that found nothing has NaN."""
    blocks = [findings for findings, _ in parts if findings is not None]
    if not blocks:
        return None
    kinds = {metric.name: metric for findings in reversed(blocks) for metric in findings.metrics}
    names = dict.fromkeys(metric.name for findings in blocks for metric in findings.metrics)
    notes = dict.fromkeys(note for findings in blocks for note in findings.notes)
    return Findings([_whole(kinds[name], parts) for name in names], blocks[0].charts, list(notes))


def _whole(kind: Metric, parts: Sequence[tuple[Findings | None, int]]) -> Metric:
    """A metric of all blocks."""
    own: list[tuple[Array, Array | None]] = []
    for findings, count in parts:
        metrics = () if findings is None else findings.metrics
        metric = next((one for one in metrics if one.name == kind.name), None)
        unknown = np.full(count, np.nan), None
        own.append(unknown if metric is None else (metric.value, metric.theory))
    values = np.concatenate([value for value, _ in own])
    theories = [theory for _, theory in own]
    theory = None
    if any(one is not None for one in theories):
        theory = np.concatenate(
            [
                np.full(len(value), np.nan) if one is None else one
                for (value, _), one in zip(own, theories, strict=True)
            ]
        )
    reasons = (metric.rough for findings, _ in parts if findings for metric in findings.metrics
               if metric.name == kind.name)  # fmt: skip
    rough = next(filter(None, reasons), "")
    return Metric(kind.name, values, kind.unit, kind.definition, theory, rough)


@dataclass(frozen=True, eq=False)
class Result:
    """A manoeuvre of a vehicle."""

    manoeuvre: Manoeuvre
    car: Subject
    findings: Findings | None
    """None where the vehicle cannot do it."""
    runs: Sequence[CaseRun] = ()
    """All that was driven; of a vehicle with more than 64 variants by the first of them alone."""
    unfit: str = ""
    """Why the vehicle cannot do it; empty if it can."""
    last: Sequence[CaseRun] = ()
    """What was driven last: the test itself, where first drives only find its settings."""

    __repr__ = brief_repr

    def __getitem__(self, name: str) -> Any:
        """A metric by its name, (V,)."""
        if self.findings is None:
            raise KeyError(f"{self.manoeuvre.name}: {self.unfit}")
        return self.findings[name].value


def perform(
    manoeuvres: Sequence[Manoeuvre], cars: Sequence[Subject], kernels: Kernels | None = None
) -> list[Result]:
    """Every manoeuvre with every vehicle, in the order car by car.

    Vehicles with many variants drive in blocks, one manoeuvre after the other.
    """
    kernels = kernels or Kernels()
    for manoeuvre in manoeuvres:
        _check_duration(manoeuvre, kernels.dt * kernels.every)
    few = [car for car in cars if car.variants <= FIRST]
    pairs = [(manoeuvre, car) for car in few for manoeuvre in manoeuvres]
    together = iter(_together(pairs, kernels))
    return [
        next(together) if car.variants <= FIRST else _in_blocks(manoeuvre, car, kernels)
        for car in cars
        for manoeuvre in manoeuvres
    ]


def _check_duration(manoeuvre: Manoeuvre, sample: s) -> None:
    """Raise if the duration of a manoeuvre is not a multiple of the sample time."""
    duration = getattr(manoeuvre, "duration", None)
    if duration is not None:
        name = f"{manoeuvre.name}: duration"
        steps_in(positive(name, duration, "s"), sample, name)


def perform_each(
    pairs: Sequence[tuple[Manoeuvre, Subject]], kernels: Kernels | None = None
) -> list[Result]:
    """Perform manoeuvres with a vehicle each, side by side. Each result is bit for bit the one that
    the pair has alone; only the last drives are stored.

    Each pair needs a `Subject` of its own; those of one vehicle share rollouts.
    """
    kernels = kernels or Kernels()
    for manoeuvre, _ in pairs:
        _check_duration(manoeuvre, kernels.dt * kernels.every)
    return _together(pairs, kernels, keep=False)


def _together(
    pairs: Sequence[tuple[Manoeuvre, Subject]], kernels: Kernels, *, keep: bool = True
) -> list[Result]:
    plans = [_Plan(manoeuvre, car, keep) for manoeuvre, car in pairs]
    while waiting := [plan for plan in plans if plan.cases]:
        try:
            _drive(waiting, kernels)
        except InvalidValue:
            # One demands what its vehicle does not take: it fails alone, and the others continue.
            for plan in waiting:
                try:
                    _drive([plan], kernels)
                except InvalidValue as error:
                    plan.end_early(error)
    return [plan.result for plan in plans]


def _drive(plans: Sequence[_Plan], kernels: Kernels) -> None:
    runs = iter(kernels.drive([(plan.car, case) for plan in plans for case in plan.cases]))
    driven = [[next(runs) for _ in plan.cases] for plan in plans]
    for plan, own in zip(plans, driven, strict=True):
        plan.hand(own)


def _in_blocks(manoeuvre: Manoeuvre, car: Subject, kernels: Kernels) -> Result:
    parts: list[tuple[Findings | None, int]] = []
    runs: Sequence[CaseRun] = ()
    unfit, begin, size = "", 0, FIRST
    while begin < car.variants and not unfit:
        part = car.part(begin, size)
        (result,) = _together([(manoeuvre, part)], kernels)
        parts.append((result.findings, part.variants))
        if begin == 0:
            runs, unfit = tuple(alone(run) for run in result.runs), result.unfit
        begin, size = begin + part.variants, next_size(bytes_of(result.runs), part.variants)
        del result  # its drives, before there are others
    return Result(manoeuvre, car, joined(parts), runs, unfit)


class _Plan:
    """A manoeuvre that is under way."""

    def __init__(self, manoeuvre: Manoeuvre, car: Subject, keep: bool) -> None:
        self.manoeuvre, self.car, self._keep = manoeuvre, car, keep
        self.cases: Sequence[Case] = ()
        self.runs: list[CaseRun] = []
        self.last: list[CaseRun] = []
        self.findings: Findings | None = None
        self.unfit = manoeuvre.unfit(car)
        if not self.unfit:
            self._performing = manoeuvre.perform(car)
            self._advance(None)

    def hand(self, runs: list[CaseRun]) -> None:
        """Hand it what was driven of its cases."""
        self.last = runs
        if self._keep:
            self.runs += runs
        self._advance(runs)

    def end_early(self, error: InvalidValue) -> None:
        """Give up, for a reason."""
        self.cases, self.unfit = (), f"ended early: {error}"

    def _advance(self, runs: Any) -> None:
        self.cases = ()
        try:
            cases = self._performing.send(runs)
        except StopIteration as end:
            self.findings = end.value
        except InvalidValue as error:  # others continue
            self.end_early(error)
        else:
            self.unfit = _undrivable(self.car, cases)
            self.cases = () if self.unfit else cases

    @property
    def result(self) -> Result:
        """Result so far."""
        runs, last = tuple(self.runs), tuple(self.last)
        return Result(self.manoeuvre, self.car, self.findings, runs, self.unfit, last)


def _undrivable(car: Subject, cases: Sequence[Case]) -> str:
    """Why cases cannot be driven, a sentence; empty if they can."""
    if not cases:
        return f"{car.name} can drive no part of it within its limits"
    for case in cases:
        for what, value in (("angle", case.amplitude), ("speed", case.v)):
            if not np.isfinite(value).all():
                return (
                    f"linear theory of {car.name} gives no {what} to start from, for {case.label}"
                )
    return ""
