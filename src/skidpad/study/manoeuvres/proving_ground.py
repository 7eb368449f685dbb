"""All standard manoeuvres, and `perform`, which drives many of them in few rollouts.

Vehicles with many variants are driven in blocks, so that memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.checks import positive, steps_in
from ...core.files import brief_repr
from ...core.record import unknown_name
from ...errors import InvalidValue
from ...units import s
from .case import Case
from .case_run import CaseRun
from .command_response import CommandSteps, SpinInPlace, SquarePath, StopFromSpeed, StraightAndArc
from .cone_courses import Autocross, DoubleLaneChange, LongSlalom, ObstacleAvoidance, Slalom
from .events import FormulaAcceleration, FormulaSkidpad
from .kernels import Kernels
from .linear_handling import RandomSteer, SineSweep, Transition, Weave
from .longitudinal import Acceleration, BrakingInTurn, CoastDown, SplitBraking, StraightBraking
from .manoeuvre import Findings, Manoeuvre, Metric
from .roads import Bump, HillHold, HillStart, RoughRoad
from .steady_state import ConstantRadius, ConstantSpeed, ConstantSteer, SlowRamp, TurningCircle
from .subject import Subject
from .transient_response import SineWithDwell, SingleSine, StepSteer

STANDARD: tuple[Manoeuvre, ...] = (
    *(ConstantRadius(), ConstantSpeed(), ConstantSteer(), SlowRamp()),
    *(StepSteer(), SingleSine(), SineSweep(), RandomSteer(), Weave(), Transition()),
    *(SineWithDwell(), DoubleLaneChange(), ObstacleAvoidance()),
    *(StraightBraking(), BrakingInTurn(), SplitBraking(), Acceleration(), CoastDown()),
    *(TurningCircle(), Slalom(), LongSlalom(), FormulaSkidpad(), FormulaAcceleration()),
    *(Autocross(), HillHold(), HillStart(), RoughRoad(), Bump(), CommandSteps()),
    *(StopFromSpeed(), SpinInPlace(), StraightAndArc(), SquarePath()),
)
"""All standard manoeuvres, in the order of tables and reports."""


def names() -> list[str]:
    """Names of all standard manoeuvres, in the order of `STANDARD`."""
    return [manoeuvre.name for manoeuvre in STANDARD]


def select(wanted: Iterable[str] | None = None) -> tuple[Manoeuvre, ...]:
    """Return the standard manoeuvres with these names; all of them for None."""
    if wanted is None:
        return STANDARD
    by_name = {manoeuvre.name: manoeuvre for manoeuvre in STANDARD}
    for name in (picked := list(wanted)):
        if name not in by_name:
            raise InvalidValue(unknown_name("skidpad", name, names(), "manoeuvre"))
    return tuple(by_name[name] for name in picked)


FIRST = 64
"""Number of variants of the first block; vehicles with no more are driven in one block."""
ROOM = 1e9
"""Memory in bytes for the runs of a block."""
SIZES = (16, 256)
"""Least and largest number of variants of a block; larger blocks are not faster."""


def next_size(used: float, variants: int) -> int:
    """Number of variants of the next block, from the bytes that a block of `variants` used."""
    each = max(used / variants, 1.0)
    return int(np.clip(ROOM / each, *SIZES))


def bytes_of(runs: Sequence[CaseRun]) -> float:
    arrays = [array for run in runs for array in (run.states, run.inputs, *run.signals.values())]
    return float(sum(array.nbytes for array in arrays if array is not None))


def first_variant_of(run: CaseRun) -> CaseRun:
    """Copy of a run reduced to its first variant, so that the memory of the others can be freed."""
    first = run.variant(0)
    signals = {name: values.copy() for name, values in first.signals.items()}
    both = first.states, first.inputs
    states, inputs = (None if rows is None else rows.copy() for rows in both)
    return CaseRun(run.label, run.t, signals, states, inputs)


def join_blocks(parts: Sequence[tuple[Findings | None, int]]) -> Findings | None:
    """Findings of blocks, given with their numbers of variants, concatenated.

    Charts are those of the first block. A block without findings becomes NaN.
    """
    blocks = [findings for findings, _ in parts if findings is not None]
    if not blocks:
        return None
    own: dict[str, list[Metric | None]] = {}
    for k, (findings, _) in enumerate(parts):
        for metric in () if findings is None else findings.metrics:
            own.setdefault(metric.name, [None] * len(parts))[k] = metric
    notes = dict.fromkeys(note for findings in blocks for note in findings.notes)
    counts = [count for _, count in parts]
    metrics = [_whole(metrics, counts) for metrics in own.values()]
    return Findings(metrics, blocks[0].charts, list(notes))


def _whole(metrics: Sequence[Metric | None], counts: Sequence[int]) -> Metric:
    """Metric of all blocks; NaN in blocks without it."""
    known = [metric for metric in metrics if metric is not None]
    pairs = list(zip(metrics, counts, strict=True))

    def rows(name: str) -> Array:
        each = ((None if one is None else getattr(one, name), count) for one, count in pairs)
        return np.concatenate([np.full(n, np.nan) if row is None else row for row, n in each])

    theory = rows("theory") if any(metric.theory is not None for metric in known) else None
    rough = next(filter(None, (metric.rough for metric in known)), "")
    return replace(known[0], value=rows("value"), theory=theory, rough=rough)


@dataclass(frozen=True, eq=False)
class Result:
    """Result of a manoeuvre with a vehicle."""

    manoeuvre: Manoeuvre
    car: Subject
    findings: Findings | None
    """Findings; None if the vehicle cannot do the manoeuvre."""
    runs: Sequence[CaseRun] = ()
    """All runs; for a vehicle with more than 64 variants, those of the first variant alone."""
    unfit: str = ""
    """Why the vehicle cannot do the manoeuvre; empty if it can."""
    last: Sequence[CaseRun] = ()
    """Runs of the last round: the test itself, without the first runs that only find its
    settings."""

    __repr__ = brief_repr

    def __getitem__(self, name: str) -> Any:
        """Values of the metric with this name, (V,)."""
        if self.findings is None:
            raise KeyError(f"{self.manoeuvre.name}: {self.unfit}")
        return self.findings[name].value


def perform(
    manoeuvres: Sequence[Manoeuvre], cars: Sequence[Subject], kernels: Kernels | None = None
) -> list[Result]:
    """Perform every manoeuvre with every vehicle; results are ordered by vehicle.

    Vehicles with many variants drive in blocks, one manoeuvre after the other.
    """
    kernels = kernels or _usual_kernels()
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


@cache
def _usual_kernels() -> Kernels:
    """Kernels with default settings, which keep the vehicles compiled from one call to the next."""
    return Kernels()


def _check_duration(manoeuvre: Manoeuvre, sample: s) -> None:
    """Raise InvalidValue if the duration of a manoeuvre is not a multiple of the sample time."""
    duration = getattr(manoeuvre, "duration", None)
    if duration is not None:
        name = f"{manoeuvre.name}: duration"
        steps_in(positive(name, duration, "s"), sample, name)


def perform_each(
    pairs: Sequence[tuple[Manoeuvre, Subject]], kernels: Kernels | None = None
) -> list[Result]:
    """Perform each manoeuvre with its vehicle, all at once.

    Each result is bit for bit the same as if the pair were performed alone; only the runs of the
    last round are stored. Each pair needs its own `Subject`; subjects of the same vehicle share
    rollouts.
    """
    kernels = kernels or _usual_kernels()
    for manoeuvre, _ in pairs:
        _check_duration(manoeuvre, kernels.dt * kernels.every)
    return _together(pairs, kernels, keep=False)


def _together(
    pairs: Sequence[tuple[Manoeuvre, Subject]], kernels: Kernels, *, keep: bool = True
) -> list[Result]:
    plans = [_Plan(*pair, keep) for pair in pairs]
    while waiting := [plan for plan in plans if plan.cases]:
        try:
            _drive(waiting, kernels)
        except InvalidValue:
            # A demand that its vehicle cannot take ends one manoeuvre; the others continue.
            for plan in waiting:
                try:
                    _drive([plan], kernels)
                except InvalidValue as error:
                    plan.end_early(error)
    return [plan.result for plan in plans]


def _drive(plans: Sequence[_Plan], kernels: Kernels) -> None:
    runs = iter(kernels.drive([(plan.car, case) for plan in plans for case in plan.cases]))
    for plan in plans:
        plan.receive([next(runs) for _ in plan.cases])


def _in_blocks(manoeuvre: Manoeuvre, car: Subject, kernels: Kernels) -> Result:
    parts: list[tuple[Findings | None, int]] = []
    runs: Sequence[CaseRun] = ()
    unfit, begin, size = "", 0, FIRST
    while begin < car.variants and not unfit:
        part = car.part(begin, size)
        (result,) = _together([(manoeuvre, part)], kernels)
        parts.append((result.findings, part.variants))
        if begin == 0:
            runs, unfit = tuple(first_variant_of(run) for run in result.runs), result.unfit
        begin, size = begin + part.variants, next_size(bytes_of(result.runs), part.variants)
        del result  # frees its runs before those of the next block
    return Result(manoeuvre, car, join_blocks(parts), runs, unfit)


class _Plan:
    """A manoeuvre in progress."""

    def __init__(self, manoeuvre: Manoeuvre, car: Subject, keep: bool) -> None:
        self.manoeuvre, self.car, self._keep = manoeuvre, car, keep
        self.cases: Sequence[Case] = ()
        self.runs, self.last = list[CaseRun](), list[CaseRun]()
        self.findings: Findings | None = None
        self.unfit = manoeuvre.unfit(car)
        if not self.unfit:
            self._performing = manoeuvre.perform(car)
            self._advance(None)

    def receive(self, runs: list[CaseRun]) -> None:
        """Pass the runs of the requested cases to the manoeuvre."""
        self.last = runs
        if self._keep:
            self.runs += runs
        self._advance(runs)

    def end_early(self, error: InvalidValue) -> None:
        """End the manoeuvre because of an error."""
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
            if not cases:
                self.unfit = f"{self.car.name} can drive no part of it within its limits"
            for case in cases:
                for what, value in (("angle", case.amplitude), ("speed", case.v)):
                    if not (self.unfit or np.isfinite(value).all()):
                        start = f"gives no {what} to start from, for {case.label}"
                        self.unfit = f"linear theory of {self.car.name} {start}"
            self.cases = () if self.unfit else cases

    @property
    def result(self) -> Result:
        runs, last = tuple(self.runs), tuple(self.last)
        return Result(self.manoeuvre, self.car, self.findings, runs, self.unfit, last)
