"""What a folder says about a plan that is not its own."""

from __future__ import annotations

import math
from typing import Any

import pytest

from campaign_folders import COLUMNS, LATER, plan
from skidpad.campaigns.plan_changes import PlanChanged, check_goes_on


def check(before: dict[str, Any], now: dict[str, Any], **extends: Any) -> None:
    check_goes_on(before, now, "folder", extends)


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
    with pytest.raises(PlanChanged, match=f"folder has runs of another plan: {words}"):
        check(plan(**before), plan(**now))


def test_many_differences_are_counted() -> None:
    with pytest.raises(PlanChanged, match=r"f\.4 is 4 in .* 5 now; and 3 more\. Take another") as e:
        check(plan(f={str(k): k for k in range(8)}), plan(f={str(k): k + 1 for k in range(8)}))
    assert len(str(e.value)) < 500


def test_what_no_number_depends_on_may_change() -> None:
    words = [{**column, "meaning": "other words"} for column in COLUMNS]
    check(plan(name="a", keep={}), plan(name="b", keep={"random": 9}, columns=words))
    check(plan(x=[math.nan, 1]), plan(x=[math.nan, 1.0]))
    check(plan(), plan(columns=[LATER, *COLUMNS[::-1]]))


def test_sections_say_for_themselves_whether_they_go_on() -> None:
    more = plan(design={"kind": "random", "runs": 2000}, seed=8)
    with pytest.raises(PlanChanged, match=r"plan: seed is 7 in the folder and 8 now\. Take"):
        check(plan(), more, design=lambda before: before["runs"] <= 2000)
    with pytest.raises(PlanChanged, match=r"design\.runs"):
        check(plan(), more, design=lambda before: before["runs"] > 2000)
    missing = {name: value for name, value in plan().items() if name != "design"}
    with pytest.raises(PlanChanged, match="design is nothing in the folder"):
        check(missing, plan(), design=lambda before: before["runs"] > 0)
