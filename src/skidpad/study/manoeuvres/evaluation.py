"""Results of manoeuvres compared with theory, a reference and limits: a row for each metric.

Limits, smallest and largest values of metrics, come from a file:

    two_track:sports:
      step_steer:
        yaw_rate_rise_time: {max: 0.25}
        yaw_rate_overshoot: {min: 0.0, max: 0.2}
    all:
      slow_ramp:
        max_lateral_acceleration: {min: 7.0}

`all` is every vehicle under test; limits under a vehicle's own name win over it. An evaluation is
written as JSON, and as the JUnit file that continuous integration reads.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from dataclasses import field as evaluation_field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from math import inf, isfinite, isnan
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from ... import vehicles
from ...core import record
from ...core.arrays import Array
from ...core.files import brief_repr, json_of, replacing, yaml_of
from ...core.record import unknown_name
from ...errors import InvalidValue
from ...vehicles.command_driven.records import NAMES
from .catalogue import names as manoeuvre_names
from .manoeuvre import Manoeuvre
from .metric import Findings, Metric
from .proving_ground import Result
from .subject import Subject

EVERY = "all"
"""The name in a file that stands for every vehicle."""


class Limit(NamedTuple):
    """The smallest and the largest value of a metric, in its unit."""

    low: float = -inf
    high: float = inf

    def __str__(self) -> str:
        if self.low == -inf:
            return f"≤ {self.high:.6g}"
        return f"≥ {self.low:.6g}" if self.high == inf else f"{self.low:.6g} to {self.high:.6g}"

    def broken_by(self, value: float) -> str:
        """Why a value breaks the limit, a clause; empty if it does not."""
        if isnan(value):
            return "there is no value"
        if value < self.low:
            return f"{value:.6g} is less than {self.low:.6g}"
        return f"{value:.6g} is more than {self.high:.6g}" if value > self.high else ""


@dataclass(frozen=True)
class Limits:
    """Limits by vehicle, manoeuvre and metric."""

    by_name: Mapping[str, Mapping[str, Mapping[str, Limit]]]
    source: str = "limits"
    """Name with which errors begin."""

    @classmethod
    def read(cls, file: str | os.PathLike[str]) -> Limits:
        """From a YAML file."""
        return cls.of(yaml_of(file), os.fspath(file))

    @classmethod
    def of(cls, tree: Any, source: str = "limits") -> Limits:
        """From nested mappings; names and numbers are checked, those of metrics once it is known
        which there are."""
        by_name: dict[str, dict[str, dict[str, Limit]]] = {}
        for car, its in _mapping(tree, source, "vehicles").items():
            known = [EVERY, *vehicles.names(), *NAMES]
            if car.partition(":")[0] not in known:
                raise InvalidValue(unknown_name(f"{source}: skidpad", car, known, "vehicle"))
            place = f"{source}, {car}"
            for manoeuvre, metrics in _mapping(its, place, "manoeuvres").items():
                inner = f"{place}, {manoeuvre}"
                pairs = _mapping(metrics, inner, "metrics").items()
                limits = {name: _limit(entry, f"{inner}, {name}") for name, entry in pairs}
                by_name.setdefault(car, {})[manoeuvre] = limits
        return cls(by_name, source)

    @property
    def summary(self) -> str:
        """Vehicles and manoeuvres with limits, such as "two_track (step_steer), all (bump)"."""
        return ", ".join(f"{car} ({', '.join(its)})" for car, its in self.by_name.items())

    def check_manoeuvres(self, known: Iterable[str]) -> None:
        """Raise for a manoeuvre that is neither of these nor in the catalogue."""
        allowed = list(dict.fromkeys([*known, *manoeuvre_names()]))
        for car, its in self.by_name.items():
            for name in its:
                if name not in allowed:
                    place = f"{self.source}, {car}: skidpad"
                    raise InvalidValue(unknown_name(place, name, allowed, "manoeuvre"))

    def check_metrics(self, names_by_drive: Mapping[tuple[str, str], Iterable[str]]) -> None:
        """Raise for a metric that a manoeuvre does not give, by names of metrics for each vehicle
        and manoeuvre that was driven."""
        for car, by_manoeuvre in self.by_name.items():
            for manoeuvre, metrics in by_manoeuvre.items():
                driven = [
                    names
                    for (other, name), names in names_by_drive.items()
                    if name == manoeuvre and car in (EVERY, other)
                ]
                allowed = list(dict.fromkeys(name for names in driven for name in names))
                wrong = next((name for name in metrics if name not in allowed), None)
                if driven and wrong is not None:
                    place = f"{self.source}, {car}: {manoeuvre}"
                    raise InvalidValue(unknown_name(place, wrong, allowed, "metric"))

    def of_car(self, car: str, manoeuvre: str) -> dict[str, Limit]:
        """Limits of a vehicle in a manoeuvre, by metric."""
        return {**self.own(EVERY, manoeuvre), **self.own(car, manoeuvre)}

    def own(self, car: str, manoeuvre: str) -> Mapping[str, Limit]:
        """Limits under the vehicle's own name, by metric."""
        return self.by_name.get(car, {}).get(manoeuvre, {})


def _mapping(value: Any, place: str, of: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        shown = "nothing" if value is None else repr(value)
        raise InvalidValue(f"{place}: expected a mapping by names of {of}, got {shown:.80}")
    return dict(value)


def _limit(entry: Any, place: str) -> Limit:
    ends = _mapping(entry, place, "its ends, min and max")
    for name, end in ends.items():
        if name not in ("min", "max"):
            raise InvalidValue(f"{place}: {name!r} is unknown; allowed are min, max")
        if isinstance(end, bool) or not isinstance(end, int | float) or not isfinite(end):
            raise InvalidValue(f"{place}: {name} = {end!r} must be a finite number")
    if not ends:
        raise InvalidValue(f"{place}: give min, max or both")
    limit = Limit(float(ends.get("min", -inf)), float(ends.get("max", inf)))
    if limit.low > limit.high:
        raise InvalidValue(f"{place}: min = {limit.low:g} is above max = {limit.high:g}")
    return limit


PASS, FAIL, SKIPPED = "pass", "FAIL", "skipped"
"""Verdicts."""
NONE = "–"
"""Text in place of a number."""
NOISE = 1e-12
"""In any unit of a metric, what rounding leaves of a zero."""
SHARES = (0.05, 0.95)
"""Quantiles at which an interval of variants begins and ends."""


class Row(NamedTuple):
    """A metric of a vehicle."""

    car: str
    manoeuvre: str
    name: str
    unit: str = ""
    definition: str = ""
    value: float = float("nan")
    """Value of the vehicle itself, its first variant; NaN without one."""
    interval: tuple[float, float] | None = None
    """5 and 95 % of the variants; None of a vehicle without variants."""
    lacking: int = 0
    """Variants without a value."""
    theory: float | None = None
    """None without one."""
    reference: float | None = None
    """Value of the reference; None without one."""
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
    """Findings to compare with: of another vehicle, a measurement, an earlier evaluation."""

    name: str
    findings: Mapping[tuple[str, str], Findings]
    """By vehicle and manoeuvre; with "" as the vehicle, of all of them."""
    missing: Mapping[str, str] = evaluation_field(default_factory=dict[str, str])
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
    """Results of tests with a reference and limits."""

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
        """Rows that broke their limit."""
        return [row for row in self.rows if row.verdict == FAIL]

    @property
    def judged(self) -> list[Row]:
        """Rows with a limit."""
        return [row for row in self.rows if row.verdict]

    @property
    def checked(self) -> list[Row]:
        """Rows that were held to their limit, without those that were skipped."""
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
        from ...view.pages.report import write_report

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
            limit = limits.get(metric.name)
            if limit is not None:
                # The whole interval of a vehicle with variants has to be within.
                ends = (row.value, *(row.interval or ()))
                reason = next(filter(None, map(limit.broken_by, ends)), "")
                verdict = FAIL if reason else PASS
                row = row._replace(limit=limit, verdict=verdict, reason=reason)
            yield row
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


FORMAT = "skidpad.proving_ground"
VERSION = 1
LIBRARIES = ("skidpad", "numpy", "casadi", "llvmlite")
"""Whose versions matter for the numbers."""
LONGEST_SETTING = 200
"""Characters."""


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """All metrics with units, theory, reference and limits, and what they were made with. Plain
    values; null where there is no number."""
    reference = evaluation.reference
    cars = {result.car.name: result.car for result in evaluation.results}
    return {
        "format": FORMAT,
        "version": VERSION,
        "versions": {"python": platform.python_version(), **_versions()},
        "against": None if reference is None else reference.name,
        "passed": not evaluation.failed,
        "vehicles": [_vehicle(car) for car in cars.values()],
        "results": [_result(evaluation, result) for result in evaluation.results],
    }


def write_json(evaluation: Evaluation, path: str | os.PathLike[str]) -> None:
    """Write it to a file, which is whole or not there."""
    text = json.dumps(as_json(evaluation), indent=2, allow_nan=False, ensure_ascii=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", "utf-8")


def earlier(file: str | os.PathLike[str]) -> Reference:
    """Results that `write_json` wrote, as a reference; those of a single vehicle are for all."""
    name = os.fspath(file)
    document = json_of(file)
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise InvalidValue(f"{name} is not a file of results: its format must be {FORMAT!r}")
    if not isinstance(document.get("version"), int) or document["version"] > VERSION:
        raise InvalidValue(
            f"{name} has version {document.get('version')!r}; this skidpad reads up to {VERSION}"
        )
    try:
        alone = len(document["vehicles"]) == 1
        findings: dict[tuple[str, str], Findings] = {}
        missing: dict[str, str] = {}
        for result in document["results"]:
            key = "" if alone else str(result["vehicle"]), str(result["manoeuvre"])
            if result["unfit"]:
                missing[key[1]] = str(result["unfit"])
            else:
                findings[key] = Findings(
                    [
                        Metric(
                            str(entry["name"]),
                            np.nan if entry["value"] is None else float(entry["value"]),
                            str(entry["unit"]),
                            str(entry["definition"]),
                        )
                        for entry in result["metrics"]
                    ]
                )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidValue(f"{name} is damaged: {reason}") from error
    return Reference(name, findings, missing)


def _versions() -> dict[str, str]:
    known: dict[str, str] = {}
    for name in LIBRARIES:
        try:
            known[name] = version(name)
        except PackageNotFoundError:  # run from a folder, or without what compiles
            continue
    return known


def _vehicle(car: Subject) -> dict[str, Any]:
    names = record.names(car.vehicle.model.Params)
    values = map(float, record.flatten(car.vehicle.params))
    return {
        "name": car.name,
        "model": car.vehicle.name,
        "variants": car.variants,
        "parameters": dict(zip(names, map(_plain, values), strict=True)),
        "spread": {name: [float(row.min()), float(row.max())] for name, row in car.params.items()},
    }


def _result(evaluation: Evaluation, result: Result) -> dict[str, Any]:
    manoeuvre, findings = result.manoeuvre, result.findings
    return {
        "vehicle": result.car.name,
        "manoeuvre": manoeuvre.name,
        "title": manoeuvre.title,
        "source": manoeuvre.source,
        "settings": settings_of(manoeuvre),
        "unfit": result.unfit,
        "notes": [] if findings is None else list(findings.notes),
        "metrics": [_entry(row) for row in evaluation.rows_of(result)],
    }


def settings_of(manoeuvre: Manoeuvre) -> dict[str, float | str]:
    """Settings of a manoeuvre by name: numbers, and texts of what is not a number. Long and empty
    texts are left out."""
    if not is_dataclass(manoeuvre):
        return {}
    plain: dict[str, float | str] = {}
    for name in (field.name for field in fields(manoeuvre)):
        value = getattr(manoeuvre, name)
        if isinstance(value, int | float):
            plain[name] = float(value) if isfinite(value) else f"{value}"
        elif value is not None:
            each = value if isinstance(value, tuple) else (str(value),)
            texts = (f"{v:.6g}" if isinstance(v, int | float) else f"{v}" for v in each)
            if 0 < len(text := ", ".join(texts)) <= LONGEST_SETTING:
                plain[name] = text
    return plain


def _entry(row: Row) -> dict[str, Any]:
    low, high = row.interval or (float("nan"), float("nan"))
    limit = None
    if row.limit is not None:
        limit = {"min": _plain(row.limit.low), "max": _plain(row.limit.high)}
    return {
        "name": row.name,
        "value": _plain(row.value),
        "unit": row.unit,
        "definition": row.definition,
        "rough": row.rough,
        "low": _plain(low),
        "high": _plain(high),
        "theory": _plain(row.theory),
        "reference": _plain(row.reference),
        "limit": limit,
        "verdict": row.verdict,
        "reason": row.reason,
    }


def _plain(value: float | None) -> float | None:
    return float(value) if value is not None and isfinite(value) else None


def junit_xml(evaluation: Evaluation) -> bytes:
    """A test suite for each vehicle, a test case for each metric that has a limit."""
    judged = evaluation.judged
    top = ElementTree.Element("testsuites", _counts(judged, name="skidpad test"))
    for car in evaluation.cars:
        own = [row for row in judged if row.car == car]
        suite = ElementTree.SubElement(top, "testsuite", _counts(own, name=car))
        for row in own:
            where = {"classname": f"{car}.{row.manoeuvre}", "name": row.name, "time": "0"}
            case = ElementTree.SubElement(suite, "testcase", where)
            message = f"{row.reason}; the limit is {row.limit} {row.unit}".rstrip()
            if row.verdict == FAIL:
                failure = ElementTree.SubElement(case, "failure", {"message": message})
                failure.text = row.definition
            elif row.verdict == SKIPPED:
                ElementTree.SubElement(case, "skipped", {"message": row.reason})
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)


def _counts(rows: list[Row], name: str) -> dict[str, str]:
    verdicts = [row.verdict for row in rows]
    return {
        "name": name,
        "tests": str(len(rows)),
        "failures": str(verdicts.count(FAIL)),
        "errors": "0",
        "skipped": str(verdicts.count(SKIPPED)),
        "time": "0",
    }


def write_junit(evaluation: Evaluation, path: str | os.PathLike[str]) -> None:
    """Write it to a file, which is whole or not there."""
    with replacing(path) as temporary:
        temporary.write_bytes(junit_xml(evaluation))
