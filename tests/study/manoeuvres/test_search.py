"""The search for the highest value that is mastered: it finds it, and drives nothing twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.study.manoeuvres import Case
from skidpad.study.manoeuvres.case_run import CaseRun
from skidpad.study.manoeuvres.search import Limit, highest_clean

RESOLUTION = 0.05
STYLES = 2

LIMITS = st.lists(st.floats(0.0, 12.0), min_size=1, max_size=4)


def searched(
    limits: list[float], slow: float = 0.0, low: float = 2.0
) -> tuple[Limit, list[list[float]]]:
    """A search from 2 to 10 of variants that master values up to their limits, those above 5 with
    the second driver alone, and of which values below `slow` tell nothing; and the values of each
    drive."""
    asked: list[list[float]] = []

    def cases(values: Any) -> list[Case]:
        return [Case(label=str(style), duration=1.0, v=values) for style in range(STYLES)]

    def clean(run: CaseRun) -> Any:
        value, style = run["value"][0], run["style"][0]
        able = (value <= np.array(limits)) & (value >= slow)
        return able & ((style == 1.0) == (value > 5.0))

    ends = np.full(len(limits), low), np.full(len(limits), 10.0)
    search = highest_clean(*ends, RESOLUTION, cases, clean, lambda run: run["value"][0] < slow)
    runs: Any = None
    while True:
        try:
            wanted = search.send(runs)
        except StopIteration as end:
            return end.value, asked
        asked += [list(case.v) for case in wanted]
        runs = [
            CaseRun(
                case.label,
                np.arange(2.0),
                {
                    "value": np.tile(case.v, (2, 1)),
                    "style": np.full((2, len(limits)), float(case.label)),
                },
            )
            for case in wanted
        ]


@given(LIMITS)
def test_the_highest_value_is_found_to_the_resolution(limits: list[float]) -> None:
    limit, _ = searched(limits)
    for most, best in zip(limits, limit.best, strict=True):
        if most < 2.0:
            assert np.isnan(best)
        else:
            assert min(most, 10.0) - RESOLUTION <= best <= most


@given(LIMITS)
def test_the_drive_is_that_of_the_value_by_a_driver_who_mastered_it(limits: list[float]) -> None:
    limit, _ = searched(limits)
    np.testing.assert_array_equal(
        limit.run["value"][0], np.where(np.isfinite(limit.best), limit.best, 2.0)
    )
    np.testing.assert_array_equal(limit.run["style"][0], limit.run["value"][0] > 5.0)


@pytest.mark.parametrize("most", [1.0, 2.0, 4.87, 7.3, 9.999, 11.0])
def test_nothing_is_driven_twice(most: float) -> None:
    """Of one variant; those that differ end with a drive at the limits of all of them."""
    _, asked = searched([most])
    assert len({tuple(values) for values in asked}) * STYLES == len(asked)


@given(LIMITS, st.floats(2.0, 12.0))
def test_values_that_are_too_low_to_tell_do_not_end_it(limits: list[float], slow: float) -> None:
    limit, _ = searched(limits, slow)
    for most, best in zip(limits, limit.best, strict=True):
        if max(most, 2.0) < slow or slow > 10.0 or most < 2.0:
            assert np.isnan(best)
        elif min(most, 10.0) - slow > 2.0 * RESOLUTION:
            assert min(most, 10.0) - RESOLUTION <= best <= most


def test_a_range_of_one_value_is_driven() -> None:
    limit, _ = searched([11.0, 9.0], low=10.0)
    np.testing.assert_array_equal(limit.best, [10.0, np.nan])
