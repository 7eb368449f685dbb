"""Evaluation of manoeuvres: metrics compared with theory, a reference and limits, one row each.

Limits, the least and largest values of metrics, come from a file:

    two_track:sports:
      step_steer:
        yaw_rate_rise_time: {max: 0.25}
        yaw_rate_overshoot: {min: 0.0, max: 0.2}
    all:
      slow_ramp:
        max_lateral_acceleration: {min: 7.0}

`all` applies to every vehicle under test; limits under a vehicle's own name override it. An
evaluation is written as JSON, and as the JUnit file that continuous integration reads.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from dataclasses import field as evaluation_field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
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
from ...vehicles.registry import COMMAND_DRIVEN
from .manoeuvre import Findings, Manoeuvre, Metric
from .proving_ground import Result
from .proving_ground import names as manoeuvre_names
from .subject import Subject

EVERY = "all"
"""Name in a limits file that stands for every vehicle."""


class Limit(NamedTuple):
    """Least and largest value of a metric, in its unit."""

    low: float = -inf
    high: float = inf

    def __str__(self) -> str:
        if self.low == -inf:
            return f"≤ {self.high:.6g}"
        return f"≥ {self.low:.6g}" if self.high == inf else f"{self.low:.6g} to {self.high:.6g}"

    def broken_by(self, value: float) -> str:
        """Reason why a value breaks the limit, as a clause; empty if it does not."""
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
    """Name at the beginning of error messages."""

    @classmethod
    def read(cls, file: str | os.PathLike[str]) -> Limits:
        """Read limits from a YAML file."""
        return cls.of(yaml_of(file), os.fspath(file))

    @classmethod
    def of(cls, tree: Any, source: str = "limits") -> Limits:
        """Make limits from nested mappings; names and numbers are checked.

        Names of metrics are checked later, by `check_metrics`.
        """
        by_name: dict[str, dict[str, dict[str, Limit]]] = {}
        for car, its in _mapping(tree, source, "vehicles").items():
            known = [EVERY, *vehicles.names(), *COMMAND_DRIVEN]
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
        """Raise InvalidValue for a manoeuvre that is neither in `known` nor in the catalogue."""
        allowed = list(dict.fromkeys([*known, *manoeuvre_names()]))
        for car, its in self.by_name.items():
            for name in its:
                if name not in allowed:
                    place = f"{self.source}, {car}: skidpad"
                    raise InvalidValue(unknown_name(place, name, allowed, "manoeuvre"))

    def check_metrics(self, names_by_drive: Mapping[tuple[str, str], Iterable[str]]) -> None:
        """Raise InvalidValue for a metric that its manoeuvre does not have.

        `names_by_drive` maps (vehicle, manoeuvre) to the names of its metrics.
        """
        for car, its in self.by_name.items():
            for manoeuvre, metrics in its.items():
                pairs = names_by_drive.items()
                driven = [
                    own
                    for (other, name), own in pairs
                    if name == manoeuvre and car in (EVERY, other)
                ]
                allowed = list(dict.fromkeys(chain(*driven)))
                wrong = next((name for name in metrics if name not in allowed), None)
                if driven and wrong is not None:
                    place = f"{self.source}, {car}: {manoeuvre}"
                    raise InvalidValue(unknown_name(place, wrong, allowed, "metric"))

    def of_car(self, car: str, manoeuvre: str) -> dict[str, Limit]:
        """Limits of a vehicle in a manoeuvre, by metric, including those for all vehicles."""
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
NONE = "–"
"""Text in place of a missing number."""
NOISE = 1e-12
"""Rounding error of a value that should be zero, in the unit of any metric."""
SHARES = (0.05, 0.95)
"""Quantiles at the ends of an interval of variants."""


class Row(NamedTuple):
    """One metric of one vehicle, with theory, reference, limit and verdict."""

    car: str
    manoeuvre: str
    name: str
    unit: str = ""
    definition: str = ""
    value: float = float("nan")
    """Value of the vehicle itself, its first variant; NaN without a value."""
    interval: tuple[float, float] | None = None
    """5 % and 95 % quantiles of the variants; None for a vehicle without variants."""
    lacking: int = 0
    """Number of variants without a value."""
    theory: float | None = None
    """Theoretical value; None without theory."""
    reference: float | None = None
    """Value of the reference; None without one."""
    limit: Limit | None = None
    verdict: str = ""
    """Pass, fail or skipped; empty without a limit."""
    reason: str = ""
    """Why the metric failed or was skipped."""
    rough: str = ""
    """Why the metric has no derivative by vehicle parameters; empty if it has."""

    @property
    def from_theory(self) -> float | None:
        """Relative difference of the value from theory."""
        return _share(self.value, self.theory)

    @property
    def from_reference(self) -> float | None:
        """Relative difference of the value from the reference."""
        return _share(self.value, self.reference)


def _share(value: float, base: float | None) -> float | None:
    if not base or not np.isfinite([value, base]).all() or max(abs(value), abs(base)) < NOISE:
        return None
    return (value - base) / abs(base)


@dataclass(frozen=True, eq=False)
class Reference:
    """Reference findings for comparison, from another vehicle, a measurement or an earlier
    evaluation.
    """

    name: str
    findings: Mapping[tuple[str, str], Findings]
    """Findings by vehicle and manoeuvre; the vehicle "" stands for all vehicles."""
    missing: Mapping[str, str] = evaluation_field(default_factory=dict[str, str])
    """Why a manoeuvre has no reference, by its name."""
    notes: Sequence[str] = ()
    """Sentences for the reader, such as which signals a log lacks."""
    results: Sequence[Result] = ()
    """Results of another vehicle, for replays."""

    __repr__ = brief_repr

    @classmethod
    def of_results(cls, name: str, results: Sequence[Result]) -> Reference:
        """Reference from the results of another vehicle."""
        findings = {("", one.manoeuvre.name): one.findings for one in results if one.findings}
        missing = {one.manoeuvre.name: one.unfit for one in results if one.unfit}
        return cls(name, findings, missing, results=tuple(results))

    def of(self, car: str, manoeuvre: str) -> Findings | None:
        """Reference findings for a vehicle and a manoeuvre; None if they do not exist."""
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
            found = [(one, one.findings.names) for one in self.results if one.findings is not None]
            by_drive = {(one.car.name, one.manoeuvre.name): names for one, names in found}
            self.limits.check_metrics(by_drive)

    @property
    def cars(self) -> list[str]:
        """Names of the vehicles."""
        return list(dict.fromkeys(result.car.name for result in self.results))

    @cached_property
    def rows(self) -> list[Row]:
        """Rows of all metrics, and of limits whose manoeuvres were not driven."""
        return [row for result in self.results for row in self.rows_of(result)]

    @property
    def failed(self) -> list[Row]:
        """Rows whose value breaks its limit."""
        return [row for row in self.rows if row.verdict == FAIL]

    @property
    def judged(self) -> list[Row]:
        """Rows with a limit."""
        return [row for row in self.rows if row.verdict]

    @property
    def checked(self) -> list[Row]:
        """Rows checked against their limit, without skipped ones."""
        return [row for row in self.judged if row.verdict != SKIPPED]

    @property
    def compared(self) -> list[Row]:
        """Rows with both a value and a reference value."""
        known = [(row, row.reference) for row in self.rows if row.reference is not None]
        return [row for row, other in known if isfinite(row.value) and isfinite(other)]

    @property
    def not_compared(self) -> dict[str, str]:
        """Reasons why driven manoeuvres are not compared with the reference, by manoeuvre."""
        driven = {one.manoeuvre.name for one in self.results if one.findings is not None}
        missing = {} if self.reference is None else self.reference.missing
        return {name: reason for name, reason in missing.items() if name in driven}

    def to_html(self, path: str | os.PathLike[str], *, date: str = "", replay: bool = True) -> None:
        """Write the report: one page with key figures, tables, charts and, with `replay`, the runs.

        It opens from disk and without a network; `date` is printed below its title.
        """
        from ...view.pages.report import write_report

        write_report(self, path, date=date, replay=replay)

    def rows_of(self, result: Result) -> Iterator[Row]:
        """Rows of one manoeuvre of one vehicle."""
        car, name = result.car.name, result.manoeuvre.name
        limits = {} if self.limits is None else self.limits.of_car(car, name)
        if result.findings is None:
            own = {} if self.limits is None else self.limits.own(car, name)
            for metric, limit in limits.items():
                verdict = FAIL if metric in own else SKIPPED
                yield Row(car, name, metric, limit=limit, verdict=verdict, reason=result.unfit)
            return
        reference = None if self.reference is None else self.reference.of(car, name)
        others = {} if reference is None else {metric.name: metric for metric in reference.metrics}
        for metric in result.findings.metrics:
            row = _row(car, name, metric, others.get(metric.name))
            limit = limits.get(metric.name)
            if limit is not None:
                # The whole interval of values of a vehicle with variants must be within the limit.
                ends = (row.value, *(row.interval or ()))
                reason = next(filter(None, map(limit.broken_by, ends)), "")
                verdict = FAIL if reason else PASS
                row = row._replace(limit=limit, verdict=verdict, reason=reason)
            yield row
        reason = f"{car} has no such metric; {EVERY} have the limit"
        for metric in (one for one in limits if one not in result.findings.names):
            yield Row(car, name, metric, limit=limits[metric], verdict=SKIPPED, reason=reason)


def _row(car: str, manoeuvre: str, metric: Metric, other: Metric | None) -> Row:
    values: Array = metric.value
    known = values[np.isfinite(values)]
    interval = None
    if len(values) > 1 and len(known):
        low, high = np.quantile(known, SHARES)
        interval = float(low), float(high)
    theory = None if metric.theory is None else float(metric.theory[0])
    reference = None if other is None else float(other.value[0])
    name = car, manoeuvre, metric.name, metric.unit, metric.definition
    of_value = float(values[0]), interval, len(values) - len(known)
    return Row(*name, *of_value, theory, reference, rough=metric.rough)


def number_text(value: float | None) -> str:
    """Text of a number with four digits; a dash for None."""
    if value is None or not np.isfinite(value):
        return NONE
    return f"{value if abs(value) >= NOISE else 0.0:.4g}".replace("-", "−")


def difference_text(value: float, base: float | None, unit: str = "") -> str:
    """Signed difference of a value from `base`, in per cent.

    In the unit instead where the difference is as large as the base, since per cent of a value near
    zero say nothing.
    """
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
"""Packages whose versions affect the numbers."""
LONGEST_SETTING = 200
"""Longest text of a setting, in characters."""


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """JSON document of an evaluation: metrics with units, theory, reference, limits, versions,
    settings.

    Plain values for JSON; None where there is no number.
    """
    reference = evaluation.reference
    cars = {result.car.name: result.car for result in evaluation.results}
    versions = {"python": platform.python_version()}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):  # run from a folder, or without compiler
            versions[name] = version(name)
    return {
        "format": FORMAT,
        "version": VERSION,
        "versions": versions,
        "against": None if reference is None else reference.name,
        "passed": not evaluation.failed,
        "vehicles": [_vehicle(car) for car in cars.values()],
        "results": [_result(evaluation, result) for result in evaluation.results],
    }


def write_json(evaluation: Evaluation, path: str | os.PathLike[str]) -> None:
    """Write an evaluation as JSON, atomically: the file is complete or absent."""
    text = json.dumps(as_json(evaluation), indent=2, allow_nan=False, ensure_ascii=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", "utf-8")


def earlier(file: str | os.PathLike[str]) -> Reference:
    """Read a file written by `write_json` as a reference.

    Results of a single vehicle apply to all vehicles.
    """
    name = os.fspath(file)
    document = json_of(file)
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise InvalidValue(f"{name} is not a file of results: its format must be {FORMAT!r}")
    if not isinstance(document.get("version"), int) or document["version"] > VERSION:
        raise InvalidValue(
            f"{name} has version {document.get('version')!r}; this skidpad reads up to {VERSION}"
        )
    findings: dict[tuple[str, str], Findings] = {}
    missing: dict[str, str] = {}

    def metric(entry: Any) -> Metric:
        name, unit, definition = (str(entry[key]) for key in ("name", "unit", "definition"))
        value = np.nan if entry["value"] is None else float(entry["value"])
        return Metric(name, value, unit, definition)

    try:
        alone = len(document["vehicles"]) == 1
        for result in document["results"]:
            key = "" if alone else str(result["vehicle"]), str(result["manoeuvre"])
            if result["unfit"]:
                missing[key[1]] = str(result["unfit"])
            else:
                findings[key] = Findings([metric(entry) for entry in result["metrics"]])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidValue(f"{name} is damaged: {reason}") from error
    return Reference(name, findings, missing)


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
    """Settings of a manoeuvre by name: numbers as they are, other values as text.

    Long and empty texts are left out.
    """
    if not is_dataclass(manoeuvre):
        return {}
    plain: dict[str, float | str] = {}
    for field in fields(manoeuvre):
        name, value = field.name, getattr(manoeuvre, field.name)
        if isinstance(value, int | float):
            plain[name] = float(value) if isfinite(value) else f"{value}"
        elif value is not None:
            each = value if isinstance(value, tuple) else (str(value),)
            texts = (f"{v:.6g}" if isinstance(v, int | float) else f"{v}" for v in each)
            if 0 < len(text := ", ".join(texts)) <= LONGEST_SETTING:
                plain[name] = text
    return plain


def _entry(row: Row) -> dict[str, Any]:
    low, high = row.interval or (None, None)
    ends = None if row.limit is None else map(_plain, row.limit)
    return {
        "name": row.name,
        "value": _plain(row.value),
        **{key: getattr(row, key) for key in ("unit", "definition", "rough")},
        **{"low": _plain(low), "high": _plain(high)},
        **{"theory": _plain(row.theory), "reference": _plain(row.reference)},
        "limit": None if ends is None else dict(zip(("min", "max"), ends, strict=True)),
        **{"verdict": row.verdict, "reason": row.reason},
    }


def _plain(value: float | None) -> float | None:
    return float(value) if value is not None and isfinite(value) else None


def junit_xml(evaluation: Evaluation) -> bytes:
    """JUnit XML with a test suite for each vehicle and a test case for each metric that has a
    limit."""
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
    failures, skipped = ([r.verdict for r in rows].count(one) for one in (FAIL, SKIPPED))
    counts = {"tests": len(rows), "failures": failures, "errors": 0, "skipped": skipped, "time": 0}
    return {"name": name} | {key: str(count) for key, count in counts.items()}


def write_junit(evaluation: Evaluation, path: str | os.PathLike[str]) -> None:
    """Write an evaluation as JUnit XML, atomically: the file is complete or absent."""
    with replacing(path) as temporary:
        temporary.write_bytes(junit_xml(evaluation))
