"""What tests came to: a row for each metric, beside theory, a reference and its limit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..brief import brief_repr
from .limits import EVERY, Limit, Limits
from .metric import Findings, Metric
from .proving_ground import Result

__all__ = [
    "FAIL",
    "NONE",
    "PASS",
    "SKIPPED",
    "Evaluation",
    "Reference",
    "Row",
    "difference_text",
    "number_text",
]

PASS, FAIL, SKIPPED = "pass", "FAIL", "skipped"
"""Verdicts."""
NONE = "–"
"""Where there is no number."""
NOISE = 1e-12
"""In any unit of a metric, what rounding leaves of a zero."""
SHARES = (0.05, 0.95)
"""Between which an interval of variants lies."""


class Row(NamedTuple):
    """A metric of a vehicle."""

    car: str
    manoeuvre: str
    name: str
    unit: str = ""
    definition: str = ""
    value: float = float("nan")
    """Of the vehicle itself, its first variant; NaN where there is none."""
    interval: tuple[float, float] | None = None
    """5 and 95 % of the variants; None of a vehicle without variants."""
    lacking: int = 0
    """Variants without a value."""
    theory: float | None = None
    """None where there is none."""
    reference: float | None = None
    """Value of what it is compared with; None where there is none."""
    limit: Limit | None = None
    verdict: str = ""
    """Empty without a limit."""
    reason: str = ""
    """Why it failed or was skipped."""
    rough: str = ""
    """Why the metric has no derivative by parameters of the vehicle; empty if it has."""

    @property
    def from_theory(self) -> float | None:
        """Difference from theory as a share of it."""
        return _share(self.value, self.theory)

    @property
    def from_reference(self) -> float | None:
        """Difference from the reference as a share of it."""
        return _share(self.value, self.reference)


def _share(value: float, base: float | None) -> float | None:
    if base is None or not base or not np.isfinite([value, base]).all():
        return None
    if max(abs(value), abs(base)) < NOISE:
        return None
    return (value - base) / abs(base)


@dataclass(frozen=True, eq=False)
class Reference:
    """What vehicles are compared with: another vehicle, a measurement, an earlier evaluation."""

    name: str
    findings: Mapping[tuple[str, str], Findings]
    """By vehicle and manoeuvre; with "" as the vehicle, of all of them."""
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why a manoeuvre has none, by its name."""
    notes: Sequence[str] = ()
    """Sentences for the reader, such as what a log did not have."""
    results: Sequence[Result] = ()
    """Of another vehicle: what was driven, for replays."""

    __repr__ = brief_repr

    @classmethod
    def of_results(cls, name: str, results: Sequence[Result]) -> Reference:
        """Another vehicle."""
        findings = {("", one.manoeuvre.name): one.findings for one in results if one.findings}
        missing = {one.manoeuvre.name: one.unfit for one in results if one.unfit}
        return cls(name, findings, missing, results=tuple(results))

    def of(self, car: str, manoeuvre: str) -> Findings | None:
        """What a vehicle's manoeuvre is compared with."""
        return self.findings.get((car, manoeuvre)) or self.findings.get(("", manoeuvre))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Results of tests, and what they are held against."""

    results: Sequence[Result]
    reference: Reference | None = None
    limits: Limits | None = None

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if self.limits is not None:
            self.limits.check_manoeuvres(result.manoeuvre.name for result in self.results)
            self.limits.check_metrics(
                {
                    (one.car.name, one.manoeuvre.name): [m.name for m in one.findings.metrics]
                    for one in self.results
                    if one.findings is not None
                }
            )

    @property
    def cars(self) -> list[str]:
        """Names of the vehicles."""
        return list(dict.fromkeys(result.car.name for result in self.results))

    @cached_property
    def rows(self) -> list[Row]:
        """All metrics, and the limits of manoeuvres that were not driven."""
        return [row for result in self.results for row in self.rows_of(result)]

    @property
    def failed(self) -> list[Row]:
        """What broke its limit."""
        return [row for row in self.rows if row.verdict == FAIL]

    @property
    def judged(self) -> list[Row]:
        """What has a limit."""
        return [row for row in self.rows if row.verdict]

    @property
    def checked(self) -> list[Row]:
        """What was held to its limit: not those that were skipped."""
        return [row for row in self.judged if row.verdict != SKIPPED]

    @property
    def compared(self) -> list[Row]:
        """Metrics that have a value and one of the reference."""
        return [
            row
            for row in self.rows
            if row.reference is not None and np.isfinite([row.value, row.reference]).all()
        ]

    @property
    def not_compared(self) -> dict[str, str]:
        """Why manoeuvres that were driven are not compared, by name."""
        driven = {one.manoeuvre.name for one in self.results if one.findings is not None}
        missing = {} if self.reference is None else self.reference.missing
        return {name: reason for name, reason in missing.items() if name in driven}

    def to_html(self, path: str | os.PathLike[str], *, date: str = "", replay: bool = True) -> None:
        """Write the report: one page with key figures, tables, charts and, with `replay`, the
        drives. It opens from disk and without a network; `date` is printed below its title."""
        from ..viewer.report.page import write_report

        write_report(self, path, date=date, replay=replay)

    def rows_of(self, result: Result) -> Iterator[Row]:
        """The rows of one manoeuvre of one vehicle."""
        car, name = result.car.name, result.manoeuvre.name
        limits = {} if self.limits is None else self.limits.of_car(car, name)
        if result.findings is None:
            own = {} if self.limits is None else self.limits.own(car, name)
            for metric, limit in limits.items():
                verdict = FAIL if metric in own else SKIPPED
                blank = Row(car, name, metric, limit=limit, verdict=verdict)
                yield blank._replace(reason=result.unfit)
            return
        reference = None if self.reference is None else self.reference.of(car, name)
        others = {} if reference is None else {metric.name: metric for metric in reference.metrics}
        for metric in result.findings.metrics:
            row = _row(car, name, metric, others.get(metric.name))
            yield _judged(row, limits.get(metric.name))
        present = {metric.name for metric in result.findings.metrics}
        for metric, limit in limits.items():
            if metric not in present:
                reason = f"{car} has no such metric; {EVERY} have the limit"
                yield Row(car, name, metric, limit=limit, verdict=SKIPPED, reason=reason)


def _row(car: str, manoeuvre: str, metric: Metric, other: Metric | None) -> Row:
    values: Array = metric.value
    known = values[np.isfinite(values)]
    interval = None
    if len(values) > 1 and len(known):
        low, high = np.quantile(known, SHARES)
        interval = float(low), float(high)
    return Row(
        car,
        manoeuvre,
        metric.name,
        metric.unit,
        metric.definition,
        float(values[0]),
        interval,
        len(values) - len(known),
        None if metric.theory is None else float(metric.theory[0]),
        None if other is None else float(other.value[0]),
        rough=metric.rough,
    )


def _judged(row: Row, limit: Limit | None) -> Row:
    """With its verdict: of a vehicle with variants, the whole interval has to be within."""
    if limit is None:
        return row
    values = (row.value, *(row.interval or ()))
    reason = next(filter(None, map(limit.broken_by, values)), "")
    return row._replace(limit=limit, verdict=FAIL if reason else PASS, reason=reason)


def number_text(value: float | None) -> str:
    """Four digits, or a dash."""
    if value is None or not np.isfinite(value):
        return NONE
    return f"{value if abs(value) >= NOISE else 0.0:.4g}".replace("-", "−")


def difference_text(value: float, base: float | None, unit: str = "") -> str:
    """A difference with its sign: in percent, and in the unit where it is as large as what it is
    from, of which percent say nothing when that is next to zero."""
    share = _share(value, base)
    if share is not None and abs(share) < 1.0:
        text = f"{100.0 * share:+.2f} %" if abs(share) >= 5e-5 else "0.00 %"
        return text.replace("-", "−")
    if base is None or not np.isfinite([value, base]).all() or abs(value - base) < NOISE:
        return NONE
    return f"{value - base:+.3g} {unit}".rstrip().replace("-", "−")
