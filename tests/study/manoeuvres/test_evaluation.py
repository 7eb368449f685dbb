"""Limits, verdicts, files of results: what a team's continuous integration relies on."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from skidpad.errors import InvalidValue, MissingFile
from skidpad.study.manoeuvres import Evaluation, Findings, Limits, Metric, write_json
from skidpad.study.manoeuvres.evaluation import (
    Limit,
    as_json,
    difference_text,
    earlier,
    junit_xml,
    number_text,
    write_junit,
)
from study.manoeuvres.fakes import car, evaluated, metric


def held(metric_limits: Any, who: str = "single_track") -> Any:
    return {who: {"step_steer": metric_limits}}


def verdicts(evaluation: Evaluation) -> list[str]:
    return [row.verdict for row in evaluation.rows]


@pytest.mark.parametrize(
    ("values", "limit", "verdict"),
    [
        ([1.0], {"max": 1.0}, "pass"),
        ([1.0], {"min": 1.0}, "pass"),
        ([1.1], {"max": 1.0}, "FAIL"),
        ([0.9], {"min": 1.0, "max": 2.0}, "FAIL"),
        ([nan], {"max": 1.0}, "FAIL"),
        # All of the interval of variants has to be within, not only the vehicle itself.
        ([0.5, *np.linspace(0.0, 2.0, 21)], {"max": 1.0}, "FAIL"),
        ([0.5, *np.linspace(0.4, 0.6, 21)], {"max": 1.0}, "pass"),
    ],
)
def test_a_value_outside_its_limit_fails(
    values: list[float], limit: dict[str, float], verdict: str
) -> None:
    evaluation = evaluated(metric("a", *values), metric("b", 3.0), limits=held({"a": limit}))
    assert verdicts(evaluation) == [verdict, ""]
    assert bool(evaluation.failed) == (verdict == "FAIL")


def test_a_limit_that_cannot_be_checked_does_not_pass() -> None:
    """Under the vehicle's own name it fails; one for all vehicles is skipped with the reason."""
    names = ("single_track", "two_track")
    limits = held({"a": {"max": 2.0}}, "single_track") | held({"a": {"max": 2.0}}, "all")
    evaluation = evaluated(metric("a", 1.0), limits=limits, names=names, only="nobody")
    assert verdicts(evaluation) == ["FAIL", "skipped"]
    assert all("is not nobody" in row.reason for row in evaluation.rows)


def test_its_own_limit_wins_over_that_for_all() -> None:
    limits = held({"a": {"max": 0.5}}, "all") | held({"a": {"max": 2.0}})
    evaluation = evaluated(metric("a", 1.0), limits=limits, names=("single_track", "two_track"))
    assert verdicts(evaluation) == ["pass", "FAIL"]


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        ({"single_trak": {}}, "no vehicle 'single_trak'; did you mean 'single_track'?"),
        ({"all": {"step_ster": {}}}, "no manoeuvre 'step_ster'; did you mean 'step_steer'?"),
        (held({"b": {"max": 1.0}}), "no metric 'b'"),
        (held({"b": {"max": 1.0}}, "all"), "Allowed are a"),
        (held({"a": {"most": 1.0}}), "'most' is unknown; allowed are min, max"),
        (held({"a": {"max": "1 s"}}), "max = '1 s' must be a finite number"),
        (held({"a": {"max": nan}}), "must be a finite number"),
        (held({"a": {"max": True}}), "must be a finite number"),
        (held({"a": {}}), "give min, max or both"),
        (held({"a": {"min": 2.0, "max": 1.0}}), "min = 2 is above max = 1"),
        (held({"a": 1.0}), "got 1.0"),
        (None, "got nothing"),
        ([1], "expected a mapping"),
    ],
)
def test_what_a_file_of_limits_may_not_say(tmp_path: Path, tree: Any, says: str) -> None:
    results = evaluated(metric("a", 1.0)).results
    with pytest.raises(InvalidValue) as caught:
        Evaluation(results, limits=Limits.of(tree))
    assert says in str(caught.value)
    file = tmp_path / "limits.yaml"
    file.write_text(json.dumps(tree).replace("NaN", ".nan"))
    with pytest.raises(InvalidValue, match=r"limits\.yaml"):
        Evaluation(results, limits=Limits.read(file))


def test_limits_of_what_is_not_tested_now_are_left_alone() -> None:
    limits = {
        "two_track:sports": {"step_steer": {"z": {"max": 1.0}}},
        "all": {"constant_radius": {}},
    }
    assert verdicts(evaluated(metric("a", 1.0), limits=limits)) == [""]


def test_limits_are_read_from_yaml(tmp_path: Path) -> None:
    file = tmp_path / "limits.yaml"
    file.write_text("all:\n  step_steer:\n    a: {min: 0, max: 1e-3}\n")
    assert Limits.read(file).of_car("single_track", "step_steer") == {"a": Limit(0.0, 1e-3)}
    with pytest.raises(MissingFile):
        Limits.read(tmp_path / "none.yaml")


def test_json_has_every_number_and_reads_back_as_a_reference(tmp_path: Path) -> None:
    names = ("single_track", "two_track:compact")
    rough = replace(metric("c", -inf), rough="a count")
    before = evaluated(metric("a", 1.25, theory=1.0), metric("b", nan), rough, names=names)
    file = tmp_path / "results.json"
    write_json(before, file)
    document = json.loads(file.read_text(), parse_constant=pytest.fail)
    first = document["results"][0]["metrics"]
    assert [entry["value"] for entry in first] == [1.25, None, None]
    assert first[0]["theory"] == 1.0
    assert [entry["rough"] for entry in first] == ["", "", "a count"]
    assert (first[0]["unit"], first[0]["definition"]) == ("m/s²", "What a is.")
    assert document["vehicles"][0]["parameters"]["m"] == car().vehicle.params.m
    assert set(document["versions"]) >= {"python", "numpy"}
    after = Evaluation(before.results, earlier(file))
    assert [row.from_reference for row in after.rows] == [0.0, None, None] * 2
    assert as_json(after)["against"] == str(file)


def test_a_file_of_one_vehicle_is_for_all_vehicles(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    write_json(evaluated(metric("a", 2.0)), file)
    other = evaluated(metric("a", 1.0), names=("two_track",))
    (row,) = Evaluation(other.results, earlier(file)).rows
    assert row.from_reference == -0.5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "not a file of results"),
        ('{"format": "skidpad.proving_ground", "version": 99}', "reads up to 1"),
        ('{"format": "skidpad.proving_ground", "version": 1}', "damaged"),
        (
            '{"format": "skidpad.proving_ground", "version": 1, "vehicles": [], "results": [3]}',
            "damaged",
        ),
    ],
)
def test_files_that_are_no_results_are_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "results.json"
    file.write_text(text)
    with pytest.raises(InvalidValue, match=says):
        earlier(file)


def test_junit_counts_what_it_holds(tmp_path: Path) -> None:
    names = ("single_track", 'a <b> & "c"')
    limits = held({"a": {"max": 1.0}, "b": {"min": 0.0}}, "all")
    evaluation = evaluated(metric("a", 2.0), metric("b", 1.0), limits=limits, names=names)
    file = tmp_path / "junit.xml"
    write_junit(evaluation, file)
    top = ElementTree.parse(file).getroot()
    assert [suite.get("name") for suite in top] == list(names)
    for part in (top, *top):
        assert int(part.get("tests", "")) == len(list(part.iter("testcase")))
        assert int(part.get("failures", "")) == len(list(part.iter("failure")))
    failure = next(top.iter("failure"))
    assert failure.get("message") == "2 is more than 1; the limit is ≤ 1 m/s²"
    skipped = evaluated(metric("a", 1.0), limits=held({"a": {"max": 1.0}}, "all"), only="nobody")
    (case,) = ElementTree.fromstring(junit_xml(skipped)).iter("testcase")
    assert case.find("skipped") is not None


def test_intervals_are_quantiles_of_the_variants() -> None:
    values = np.append(np.linspace(0.0, 100.0, 101), nan)
    (row,) = evaluated(metric("a", *values)).rows
    assert row.interval == pytest.approx((5.0, 95.0))
    assert (row.value, row.lacking) == (0.0, 1)


def test_numbers_as_texts() -> None:
    assert [number_text(value) for value in (-0.001234567, nan, None, 12345.6, -0.0)] == [
        *("−0.001235", "–", "–", "1.235e+04", "0")
    ]
    told = [(0.9, 1.0), (1.0 + 1e-9, 1.0), (1.0, None), (nan, 1.0), (1.99, 1.0)]
    assert [difference_text(value, base, "s") for value, base in told] == [
        *("−10.00 %", "0.00 %", "–", "–", "+99.00 %")
    ]


def test_a_metric_that_there_is_not_is_told_with_those_there_are() -> None:
    """A KeyError as of any mapping: within a generator StopIteration would end it silently."""
    findings = Findings([Metric("one", 1.0, "m", "Any."), Metric("two", 2.0, "m", "Any.")])
    with pytest.raises(KeyError, match="no metric 'three'; there are one, two"):
        findings["three"]


@pytest.mark.parametrize("base", [0.0, 1e-6, -1e-6, 0.05])
def test_differences_from_next_to_nothing_are_in_the_unit(base: float) -> None:
    assert difference_text(base + 0.25, base, "rad") == "+0.25 rad"
    assert difference_text(base - 0.25, base, "") == "−0.25"
    assert difference_text(0.0, 0.0, "rad") == "–"
