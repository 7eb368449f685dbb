"""Findings of a manoeuvre: metrics with units and definitions, charts and notes.

What a manoeuvre is: its contract, and the base class of the manoeuvres of this package.

A manoeuvre is a generator: it yields cases, receives their runs, yields more cases or returns its
findings. A case that depends on the result of another run is thus written in sequence, and all
manoeuvres that wait at the same time share rollouts (`proving_ground`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np

from ...core.arrays import Array
from ...core.checks import floats
from ...core.files import brief_repr
from ...units import m_s, s
from .case import Case
from .case_run import CaseRun, all_done
from .subject import LinearCar, Requirement, Subject


@dataclass(frozen=True, eq=False)
class Metric:
    """Metric: a number that a manoeuvre reports for each variant of a vehicle."""

    name: str
    """Name in snake case, unique within its manoeuvre, such as "understeer_gradient"."""
    value: Any
    """Values, (V,); NaN for variants without one."""
    unit: str
    """SI unit, such as "rad·s²/m"; empty for a ratio."""
    definition: str
    """One sentence that says how it is computed."""
    theory: Any = None
    """Value of linear theory or of a closed form, (V,) or a number; None without one."""
    rough: str = ""
    """Why the metric is not smooth in the vehicle's parameters, such as a search with a
    resolution.

    Empty if it is smooth. `sensitivity` refuses a metric with a reason.
    """

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", np.atleast_1d(floats("value", self.value)))
        if self.theory is not None:
            theory = np.broadcast_to(floats("theory", self.theory), self.value.shape)
            object.__setattr__(self, "theory", theory)


@dataclass(frozen=True, eq=False)
class Curve:
    """Curve of a chart."""

    x: Array
    y: Array
    label: str = ""
    kind: str = "run"
    """"run", "theory", "limit", "measured", "points" or "cones" (also drawn as points)."""

    __repr__ = brief_repr


def curve(run: CaseRun, x: str, y: str, label: str | None = None, kind: str = "run") -> Curve:
    """Curve of two signals of the first variant of a run, or of one over "t"."""
    across = run.t if x == "t" else run[x][:, 0]
    return Curve(across, run[y][:, 0], run.label if label is None else label, kind)


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart as data: drawn in the report, and possibly overlaid with that of another car."""

    title: str
    x_label: str
    """Label with the unit, such as "lateral acceleration in m/s²"."""
    y_label: str
    curves: Sequence[Curve]
    x_log: bool = False
    equal: bool = False
    """Whether both axes have the same scale."""

    __repr__ = brief_repr


LABELS = {
    "t": "time in s",
    "x": "x in m",
    "y": "y in m",
    "v_x": "speed in m/s",
    "omega": "yaw rate in rad/s",
    "a_y": "lateral acceleration in m/s²",
    "steer": "angle of the front wheels in rad",
}
"""Labels of signals on the axes of charts."""


def chart(title: str, x: str, y: str, *shown: CaseRun | Curve, equal: bool = False) -> Chart:
    """Chart of one signal over another, or over "t", of the first variant of runs."""
    curves = [one if isinstance(one, Curve) else curve(one, x, y) for one in shown]
    return Chart(title, LABELS[x], LABELS[y], curves, equal=equal)


@dataclass(frozen=True, eq=False)
class Findings:
    """Result of a manoeuvre: metrics, charts and notes."""

    metrics: Sequence[Metric]
    charts: Sequence[Chart] = field(default_factory=tuple[Chart, ...])
    notes: Sequence[str] = field(default_factory=tuple[str, ...])
    """Sentences for the reader, such as why a number is missing."""

    __repr__ = brief_repr

    @property
    def names(self) -> list[str]:
        """Names of the metrics."""
        return [metric.name for metric in self.metrics]

    def __getitem__(self, name: str) -> Metric:
        by_name = {metric.name: metric for metric in self.metrics}
        if name not in by_name:
            raise KeyError(f"there is no metric {name!r}; there are {', '.join(by_name)}")
        return by_name[name]


Rounds = Generator[Sequence[Case], Sequence[CaseRun], Any]
"""Generator for a part of a manoeuvre: `result = yield from rounds`."""
Performing = Generator[Sequence[Case], Sequence[CaseRun], Findings]
"""Generator of a manoeuvre: `runs = yield cases`, as often as needed, then returns its
findings."""


class Manoeuvre(Protocol):
    """A test for any vehicle that meets its requirements; a frozen dataclass of its settings."""

    name: ClassVar[str]
    """Name in snake case, such as "step_steer"."""
    title: ClassVar[str]
    """Title in words."""
    source: ClassVar[str]
    """Standard with its number, or other origin of the test."""

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do the manoeuvre, as a sentence; empty if it can."""
        ...

    def perform(self, car: Subject) -> Performing:
        """Generator that yields cases, receives their runs and returns the findings."""
        ...


ENTRY = re.compile(r"^(\w+(?:\.\w+)*) \[(.*?)\]: ", re.M)


class StandardManoeuvre(Manoeuvre):
    """Base class of the manoeuvres of this package, with requirements and metrics as data.

    `METRICS` has an entry "name [unit]: definition" for each metric, which may span several lines.
    A definition may refer to settings, as in "{test.speed:g} m/s". Text after " | " is the reason
    why the metric has no derivative (`Metric.rough`).
    """

    needs: ClassVar[tuple[Requirement, ...]] = ()
    """Requirements on the vehicle, in the order in which they are checked."""
    METRICS: ClassVar[str] = ""
    rough: ClassVar[str] = ""
    """Why no metric of the manoeuvre has a derivative; if empty, metrics without a reason have
    one."""
    _table: ClassVar[dict[str, list[str]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _, *parts = ENTRY.split(re.sub(r"^\s+", "", cls.METRICS, flags=re.M))
        names, units, texts = parts[::3], parts[1::3], parts[2::3]
        cls._table = {
            name: [unit, *" ".join(text.split()).split(" | ")]
            for name, unit, text in zip(names, units, texts, strict=True)
        }

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do the manoeuvre, as a sentence; empty if it can."""
        return next(filter(None, (need(car, self) for need in self.needs)), "")

    def metrics(
        self,
        values: Mapping[str, Any] = MappingProxyType({}),
        theory: Mapping[str, Any] | None = None,
        rough: Mapping[str, str] | None = None,
        **named: Any,
    ) -> list[Metric]:
        """Make metrics from values (V,) by name, given as a mapping or as arguments.

        `theory` and `rough` (reasons against a derivative) are optional for each name.
        """
        metrics: list[Metric] = []
        for name, value in {**values, **named}.items():
            unit, definition, *reason = self._table[name]
            why = (rough or {}).get(name, reason[0] if reason else self.rough)
            text = definition.format(test=self)
            metrics.append(Metric(name, value, unit, text, (theory or {}).get(name), why))
        return metrics


def compare_with_theory(
    runs: Sequence[CaseRun], driven: Sequence[Metric], linear: Sequence[Metric]
) -> list[Metric]:
    """Combine metrics of runs with those of linear theory.

    NaN for variants that did not complete all runs.
    """
    done = all_done(runs)
    return [
        replace(metric, value=np.where(done, metric.value, np.nan), theory=theory.value)
        for metric, theory in zip(driven, linear, strict=True)
    ]


def linear_drive(
    car: Subject, v: m_s, angle: Array, period: s, response: Callable[[LinearCar], dict[str, Array]]
) -> CaseRun:
    """Run of linear theory: the response of each variant, times its angle, (V,).

    Sampled with `period`. NaN for variants whose theory is not computed; see `with_theory`.
    """
    few = car.with_theory()
    responses = [response(theory) for theory in few.theories(v)]
    columns: dict[str, Array] = {}
    for name, first in responses[0].items():
        columns[name] = np.full((len(first), car.variants), np.nan)
        columns[name][:, : few.variants] = np.stack([one[name] for one in responses], axis=1)
        columns[name] *= angle
    columns["sideslip"] = columns["v_y"] / v
    t: Array = period * np.arange(len(columns["sideslip"]), dtype=float)
    return CaseRun("linear theory", t, columns)
