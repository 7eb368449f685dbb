"""Converging: it stops when the interval is narrow, and that holds what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from skidpad.core.arrays import Array
from skidpad.study.adaptive import Converging
from skidpad.study.designs import Random
from study.scheduling import conducted, standard_normal


def normal(points: Array) -> Array:
    return 3.0 + 2.0 * standard_normal(points)[:, 0]


def test_runs_are_those_of_a_random_design() -> None:
    done = conducted(Converging("y", 0.3, first=100), 2, 7, normal)
    assert (done.points == conducted(Random(len(done.points)), 2, 7).points).all()


def test_a_mean_stops_as_soon_as_its_interval_is_narrow() -> None:
    design = Converging("y", 0.3, first=100, most=10_000)
    done = conducted(design, 1, 0, normal)
    found, totals = done.found, design.totals()
    assert found["reached"]
    assert found["runs"] == totals[found["looks"] - 1] == len(done.points)
    # Width 2 t σ/√n with what the level leaves shared between all looks that there could be.
    tail = 0.05 / len(totals) / 2.0
    for runs, enough in ((found["runs"], True), (totals[found["looks"] - 2], False)):
        values = normal(done.points[:runs])
        reach = stats.t.ppf(1.0 - tail, runs - 1) * values.std(ddof=1) / np.sqrt(runs)
        assert (2.0 * reach <= 0.3) == enough
        if enough:
            assert found["high"] - found["value"] == pytest.approx(reach, rel=1e-9)
            assert found["value"] == pytest.approx(values.mean(), rel=1e-12)


CASES: list[tuple[Any, Any, float]] = [
    (Converging("y", 1.2, first=30, most=2000), normal, 3.0),
    (Converging("y", 0.15, "probability", threshold=5.0, first=30, most=2000), normal, 0.158655),
    (Converging("y", 1.2, ("quantile", 0.8), first=30, most=2000), normal, 4.683242),
    # Skew, and few runs: Student's distribution is not exact.
    (
        Converging("y", 0.6, first=100, most=2000),
        lambda points: -np.log(points[:, 0]),
        1.0,
    ),
]


@pytest.mark.slow_cases("design0-normal-3.0", "design1-normal-0.158655", "design2-normal-4.683242")
@pytest.mark.parametrize(("design", "column", "truth"), CASES)
def test_the_interval_holds_the_truth_whenever_it_stops(
    design: Converging, column: Any, truth: float
) -> None:
    found = [conducted(design, 1, seed, column).found for seed in range(200)]
    assert all(one["reached"] for one in found)
    assert len({one["looks"] for one in found}) > 1 or design.first == 100
    missed = sum(not one["low"] <= truth <= one["high"] for one in found)
    # With 95 % each, more than 20 of 200 would miss once in a thousand cases.
    assert missed <= stats.binom.ppf(0.999, 200, 0.05)


def test_the_end_comes_at_last() -> None:
    design = Converging("y", 1e-6, first=100, most=777)
    done = conducted(design, 1, 0, normal)
    assert not done.found["reached"]
    assert done.found["runs"] == 777
    assert design.totals()[-1] == design.runs == 777
    assert Converging("y", 1.0, first=2, growth=1.01, most=9).totals() == [2, 3, 4, 5, 6, 7, 8, 9]


def test_runs_without_a_number() -> None:
    def half(points: Array) -> Array:
        return np.where(points[:, 0] < 0.5, np.nan, 1.0 + points[:, 1])

    mean = conducted(Converging("y", 0.05, first=100), 2, 0, half).found
    assert mean["without"] == pytest.approx(0.5 * mean["runs"], rel=0.2)
    assert mean["low"] <= 1.5 <= mean["high"]
    probability = Converging("y", 0.1, "probability", threshold=1.0, first=100)
    share = conducted(probability, 2, 0, half).found
    assert share["low"] <= 0.5 <= share["high"]
    nothing = conducted(Converging("y", 0.1, first=5, most=9), 1, 0, lambda p: p[:, 0] * np.nan)
    assert nothing.found["value"] is nothing.found["low"] is nothing.found["high"] is None
    assert not nothing.found["reached"]


def test_truths_have_probabilities() -> None:
    found = conducted(
        Converging("y", 0.05, "probability", first=100), 1, 0, lambda points: points[:, 0] < 0.2
    ).found
    assert found["low"] <= 0.2 <= found["high"]
    never = Converging("y", 0.02, "probability", first=100)
    none = conducted(never, 1, 0, lambda points: points[:, 0] < 0.0).found
    # Clopper and Pearson: nothing of n lies below 1 - tail^(1/n).
    tail = 0.5 * 0.05 / len(never.totals())
    assert none["low"] == 0.0
    assert none["high"] == pytest.approx(1.0 - tail ** (1.0 / none["runs"]), rel=1e-9)


def test_quantiles_too_far_for_few_runs_have_no_end() -> None:
    found = conducted(Converging("y", 9.0, ("quantile", 0.99), first=50, most=60), 1, 0, normal)
    assert found.found["high"] is None
    assert not found.found["reached"]
