"""An evaluation as JSON, and as the JUnit file that continuous integration reads."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from typing import Any
from xml.etree import ElementTree

from .. import record
from ..errors import InvalidValue
from ..files import json_of, replacing
from .evaluation import FAIL, SKIPPED, Evaluation, Reference, Row
from .metric import Findings, Metric
from .proving_ground import Manoeuvre, Result
from .subject import Subject

__all__ = ["as_json", "earlier", "junit_xml", "settings_of", "write_json", "write_junit"]

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
    return {
        "format": FORMAT,
        "version": VERSION,
        "versions": {"python": platform.python_version(), **_versions()},
        "against": None if reference is None else reference.name,
        "passed": not evaluation.failed,
        "vehicles": [_vehicle(car) for car in _cars(evaluation)],
        "results": [_result(evaluation, result) for result in evaluation.results],
    }


def write_json(evaluation: Evaluation, path: str | os.PathLike[str]) -> None:
    """Write it to a file, which is whole or not there."""
    text = json.dumps(as_json(evaluation), indent=2, allow_nan=False, ensure_ascii=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", "utf-8")


def earlier(file: str | os.PathLike[str]) -> Reference:
    """What `write_json` wrote, to compare with. Of a single vehicle it is for all vehicles."""
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
                findings[key] = Findings([_metric(entry) for entry in result["metrics"]])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidValue(f"{name} is damaged: {reason}") from error
    return Reference(name, findings, missing)


def _metric(entry: Mapping[str, Any]) -> Metric:
    value = float("nan") if entry["value"] is None else float(entry["value"])
    return Metric(str(entry["name"]), value, str(entry["unit"]), str(entry["definition"]))


def _versions() -> dict[str, str]:
    known: dict[str, str] = {}
    for name in LIBRARIES:
        try:
            known[name] = version(name)
        except PackageNotFoundError:  # run from a folder, or without what compiles
            continue
    return known


def _cars(evaluation: Evaluation) -> list[Subject]:
    return list({result.car.name: result.car for result in evaluation.results}.values())


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
    """Its settings by name; those that are no numbers as texts. Long ones are left out, and those
    that say nothing."""
    if not is_dataclass(manoeuvre):
        return {}
    plain: dict[str, float | str] = {}
    for name in (field.name for field in fields(manoeuvre)):
        value = getattr(manoeuvre, name)
        if isinstance(value, int | float):
            plain[name] = float(value) if isfinite(value) else f"{value}"
        elif value is not None and 0 < len(text := _text(value)) <= LONGEST_SETTING:
            plain[name] = text
    return plain


def _text(value: Any) -> str:
    if not isinstance(value, tuple):
        return f"{value}"
    return ", ".join(f"{one:.6g}" if isinstance(one, int | float) else f"{one}" for one in value)


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
