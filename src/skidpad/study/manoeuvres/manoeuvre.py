"""What a manoeuvre is: its contract, and the base of those of this package.

A manoeuvre is a generator: it asks for cases, is handed what was driven, asks for more or ends with
its findings. One that depends on the result of another drive is thus written straight down, and all
manoeuvres that ask at the same time share rollouts (`proving_ground`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import numpy as np

from ...core.arrays import Array
from ...units import m_s, s
from .case import Case
from .case_run import CaseRun, all_done
from .metric import Findings, Metric
from .subject import Requirement, Subject
from .theory import LinearCar

Rounds = Generator[Sequence[Case], Sequence[CaseRun], Any]
"""Part of a manoeuvre that drives on its own: `result = yield from rounds`."""
Performing = Generator[Sequence[Case], Sequence[CaseRun], Findings]
"""What a manoeuvre does: `runs = yield cases`, as often as it needs, and at last its findings."""


class Manoeuvre(Protocol):
    """A test that any vehicle that fits can be put to; a frozen dataclass of its settings."""

    name: ClassVar[str]
    """Snake case, such as "step_steer"."""
    title: ClassVar[str]
    """In words."""
    source: ClassVar[str]
    """The standard and its number, or where the test comes from."""

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it, a sentence; empty if it can."""
        ...

    def perform(self, car: Subject) -> Performing:
        """Drive it."""
        ...


ENTRY = re.compile(r"^(\w+(?:\.\w+)*) \[(.*?)\]: ", re.M)


class StandardManoeuvre(Manoeuvre):
    """Base of the manoeuvres of this package, whose requirements and metrics are data.

    `METRICS` has an entry "name [unit]: definition" for each metric, which may go over several
    lines. A definition may name settings, as in "{test.speed:g} m/s". What follows after " | " is
    the reason why the metric has no derivative (`Metric.rough`).
    """

    needs: ClassVar[tuple[Requirement, ...]] = ()
    """Requirements on the vehicle, in the order in which they are looked at."""
    METRICS: ClassVar[str] = ""
    rough: ClassVar[str] = ""
    """Why no metric of the manoeuvre has a derivative; empty if those without a reason have."""
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
        """Why a vehicle cannot do it, a sentence; empty if it can."""
        return next(filter(None, (need(car, self) for need in self.needs)), "")

    def metrics(
        self,
        values: Mapping[str, Any],
        theory: Mapping[str, Any] | None = None,
        rough: Mapping[str, str] | None = None,
    ) -> list[Metric]:
        """Metrics with values (V,) by name, and theory and reasons against a derivative where there
        are any."""
        metrics: list[Metric] = []
        for name, value in values.items():
            unit, definition, *reason = self._table[name]
            why = (rough or {}).get(name, reason[0] if reason else self.rough)
            text = definition.format(test=self)
            metrics.append(Metric(name, value, unit, text, (theory or {}).get(name), why))
        return metrics


def beside_theory(
    runs: Sequence[CaseRun], driven: Sequence[Metric], linear: Sequence[Metric]
) -> list[Metric]:
    """Metrics of drives, NaN for variants that did not come through all of them, with those of
    linear theory."""
    done = all_done(runs)
    return [
        replace(metric, value=np.where(done, metric.value, np.nan), theory=theory.value)
        for metric, theory in zip(driven, linear, strict=True)
    ]


def linear_drive(
    car: Subject, v: m_s, angle: Array, period: s, response: Callable[[LinearCar], dict[str, Array]]
) -> CaseRun:
    """The drive of linear theory at a speed: the response of each variant, sampled with a period,
    times its angle, (V,). Variants whose theory is not computed are NaN; see `with_theory`."""
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
