"""What a folder says about a plan that is not its own."""

from __future__ import annotations

import math
from typing import Any

import pytest

from campaign_folders import COLUMNS, LATER, plan
from skidpad.study.folder import PlanChanged, check_continues


def check(before: dict[str, Any], now: dict[str, Any], **extends: Any) -> None:
    check_continues(before, now, "folder", extends)


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        ({"seed": 1}, {"seed": 2}, "seed is 1 in the folder and 2 now"),
        ({"x": [1, {"a": 2}]}, {"x": [1, {"a": 3}]}, r"x\[1\]\.a is 2 in the folder and 3 now"),
        ({"x": [1, 2]}, {"x": [1, 2, 3]}, r"x is \[1, 2\] in the folder and \[1, 2, 3\] now"),
        ({"x": {"a": 1}}, {"x": {}}, "x.a is 1 in the folder and nothing now"),
        ({}, {"x": {"a": 1}}, r"x is nothing in the folder and \{'a': 1\} now"),
        ({"x": math.nan}, {"x": 1.0}, r"x is nan in the folder and 1\.0 now"),
        ({"x": None}, {"x": False}, "x is None in the folder and False now"),
    ],
)
def test_what_differs_is_named_with_both_values(
    before: dict[str, Any], now: dict[str, Any], words: str
) -> None:
    with pytest.raises(PlanChanged, match=f"folder has runs of a different plan: {words}"):
        check(plan(**before), plan(**now))


A, B = "582b14" + 58 * "0", "sha256:" + 64 * "f"


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        ({"metrics": {"far": A}}, {"metrics": {"far": B}}, "metric far has changed"),
        ({"metrics": {"far": A}}, {"metrics": {}}, "metric far is in the folder and not in the"),
        ({"metrics": {}}, {"metrics": {"far": A}}, "metric far is not in the folder"),
        (
            {"function": "ish.ishigami", "does": A},
            {"function": "ish.ishigami", "does": B},
            "the function ish.ishigami has changed",
        ),
        (
            {"class": "my.Car", "does": A},
            {"class": "my.Car", "does": B},
            "class my.Car has changed",
        ),
        (
            {"class": "my.Car", "method": "go", "does": A},
            {"class": "my.Car", "method": "go", "does": B},
            "the method go of my.Car has changed",
        ),
        (
            {"manoeuvres": {"turn": {"function": "my.turn", "does": A}}},
            {"manoeuvres": {"turn": {"function": "my.turn", "does": B}}},
            "the function my.turn has changed",
        ),
        ({"motion": A}, {"motion": B}, "the motion of the vehicle has changed"),
        ({"programs": {"ego": A}}, {"programs": {"ego": B}}, "the model of ego has changed"),
        ({"inputs": [1, A]}, {"inputs": [1, B]}, r"experiment.inputs\[1\] has changed"),
    ],
)
def test_digests_are_told_in_words(before: Any, now: Any, words: str) -> None:
    with pytest.raises(PlanChanged, match=words) as error:
        check(plan(experiment=before), plan(experiment=now))
    assert "582b14" not in str(error.value)
    assert "sha256" not in str(error.value)


def test_many_differences_are_counted() -> None:
    with pytest.raises(PlanChanged, match=r"f\.4 is 4 in .* 5 now; and 3 more\. Use another") as e:
        check(plan(f={str(k): k for k in range(8)}), plan(f={str(k): k + 1 for k in range(8)}))
    assert len(str(e.value)) < 500


def test_what_no_number_depends_on_may_change() -> None:
    words = [{**column, "meaning": "other words"} for column in COLUMNS]
    check(plan(name="a", keep={}), plan(name="b", keep={"random": 9}, columns=words))
    check(plan(x=[math.nan, 1]), plan(x=[math.nan, 1.0]))
    check(plan(), plan(columns=[LATER, *COLUMNS[::-1]]))


def test_sections_say_for_themselves_whether_they_go_on() -> None:
    more = plan(design={"kind": "random", "runs": 2000}, seed=8)
    with pytest.raises(PlanChanged, match=r"plan: seed is 7 in the folder and 8 now\. Use"):
        check(plan(), more, design=lambda before: before["runs"] <= 2000)
    with pytest.raises(PlanChanged, match=r"design\.runs"):
        check(plan(), more, design=lambda before: before["runs"] > 2000)
    missing = {name: value for name, value in plan().items() if name != "design"}
    with pytest.raises(PlanChanged, match="design is nothing in the folder"):
        check(missing, plan(), design=lambda before: before["runs"] > 0)
