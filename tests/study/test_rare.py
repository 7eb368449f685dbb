"""Subset simulation beside closed forms: right on average, and as uncertain as it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import integrate, stats

from skidpad.core.arrays import Array
from skidpad.study.adaptive import SubsetEstimate, SubsetSimulation
from study.scheduling import conducted, standard_normal


def linear(points: Array) -> Array:
    """Standard normal itself, whatever the number of factors."""
    return standard_normal(points).sum(axis=1) / np.sqrt(points.shape[1])


def parabola(points: Array) -> Array:
    """R. Rackwitz's kind of limit state: one factor against the square of another."""
    z = standard_normal(points)
    return z[:, 0] - 0.2 * z[:, 1] ** 2


def parabola_above(threshold: float) -> float:
    def density(z: float) -> float:
        return float(stats.norm.pdf(z) * stats.norm.sf(threshold + 0.2 * z * z))

    return integrate.quad(density, -9.0, 9.0, epsabs=0.0, epsrel=1e-10)[0]


def two_sided(points: Array) -> Array:
    """Reached on either side: chains of one side do not find the other."""
    return np.abs(linear(points))


def exponential(points: Array) -> Array:
    """The sum of two exponential factors: Erlang's distribution."""
    return -np.log1p(-points).sum(axis=1)


class Case(NamedTuple):
    column: Callable[[Array], Array]
    factors: int
    threshold: float
    truth: float


CASES = {
    "linear": Case(linear, 2, 3.0, stats.norm.sf(3.0)),
    "linear, 10 factors": Case(linear, 10, 3.7, stats.norm.sf(3.7)),
    "parabola": Case(parabola, 2, 3.3, parabola_above(3.3)),
    "two-sided": Case(two_sided, 3, 3.3, 2.0 * stats.norm.sf(3.3)),
    "exponential": Case(exponential, 2, 9.0, 10.0 * np.exp(-9.0)),
}
FAR = {
    "linear, 2 factors, 1e-7": Case(linear, 2, 5.2, stats.norm.sf(5.2)),
    "linear, 10 factors, 1e-7": Case(linear, 10, 5.2, stats.norm.sf(5.2)),
    "linear, 100 factors, 1e-5": Case(linear, 100, 4.2, stats.norm.sf(4.2)),
    "parabola, 1e-7": Case(parabola, 2, 4.9, parabola_above(4.9)),
    "exponential, 1e-6": Case(exponential, 2, 17.0, 18.0 * np.exp(-17.0)),
}


_SEEDS = range(10_000, 11_000)


def check(case: Case, seeds: int) -> None:
    design = SubsetSimulation("y", case.threshold)
    found = [conducted(design, case.factors, seed, case.column).found for seed in _SEEDS[:seeds]]
    ratio = np.array([one["probability"] for one in found]) / case.truth
    variance = np.array([one["coefficient_of_variation"] for one in found]) ** 2
    # Right on average: within 3.3 standard errors, once in a thousand cases beyond.
    assert abs(ratio.mean() - 1.0) < 3.3 * ratio.std(ddof=1) / np.sqrt(seeds)
    # As uncertain as it says: the variance of logarithms is as that of normal numbers, whose own
    # bounds are those of chi-square; 15 % for what the first order of 1/n leaves out.
    spread = np.log(ratio).var(ddof=1) / variance.mean()
    low, high = stats.chi2.ppf([0.0005, 0.9995], seeds - 1) / (seeds - 1)
    assert 0.85 * low < spread < 1.15 * high
    # Intervals hold the truth in 95 of 100 cases, or in 90 where few runs tell how uncertain it is.
    held = sum(one["low"] <= case.truth <= one["high"] for one in found)
    assert held >= stats.binom.ppf(0.001, seeds, 0.9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["linear", "exponential"])
def test_closed_forms(name: str) -> None:
    check(CASES[name], seeds=40)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES | FAR)
def test_closed_forms_over_many_seeds(name: str) -> None:
    check((CASES | FAR)[name], seeds=150)


def test_one_in_ten_millions_with_some_thousand_runs() -> None:
    truth = stats.norm.sf(5.2)
    done = conducted(SubsetSimulation("y", 5.2), 2, 4, linear)
    assert done.found["low"] < truth < done.found["high"]
    assert 0.2 < done.found["coefficient_of_variation"] < 0.7
    assert done.found["runs"] == len(done.points) < 8000
    limits = [level["limit"] for level in done.found["levels"]]
    assert limits == sorted(limits)
    assert limits[-1] == 5.2


def test_a_probability_that_is_not_rare_is_the_share_of_runs() -> None:
    done = conducted(SubsetSimulation("y", 0.0), 2, 0, linear)
    share = (linear(done.points) >= 0.0).mean()
    assert len(done.rounds) == 1
    assert done.found["probability"] == share
    # That of a binomial share.
    expected = np.sqrt((1.0 - share) / (share * 1000))
    assert done.found["coefficient_of_variation"] == pytest.approx(expected, rel=1e-12)


def test_from_above_is_from_below_mirrored() -> None:
    settings: Any = {"each": 100, "most_levels": 6}
    above = conducted(SubsetSimulation("y", 3.0, **settings), 2, 1, linear)
    below = conducted(
        SubsetSimulation("y", -3.0, above=False, **settings), 2, 1, lambda p: -linear(p)
    )
    assert (above.points == below.points).all()
    assert above.found["probability"] == below.found["probability"]
    for one, other in zip(above.found["levels"], below.found["levels"], strict=True):
        assert one["limit"] == -other["limit"]


def test_runs_without_a_number() -> None:
    def broken(points: Array) -> Array:
        return np.where(points[:, 1] < 0.9, np.nan, linear(points[:, :1]))

    never = conducted(SubsetSimulation("y", 3.0), 2, 0, broken).found
    truth = 0.1 * stats.norm.sf(3.0)
    assert never["low"] < truth < never["high"]
    always = conducted(SubsetSimulation("y", 3.0, nan_reaches=True), 2, 0, broken).found
    assert always["probability"] == pytest.approx(0.9, abs=0.03)
    # Only those without a number are rare.
    rare = SubsetSimulation("y", 100.0, nan_reaches=True)
    lost = conducted(rare, 1, 0, lambda p: np.where(linear(p) > 3.0, np.nan, linear(p))).found
    assert lost["low"] < stats.norm.sf(3.0) < lost["high"]


@pytest.mark.parametrize("value", [0.0, np.nan, -np.inf])
def test_a_constant_column_ends_at_once(value: float) -> None:
    done = conducted(SubsetSimulation("y", 1.0), 2, 0, lambda points: 0 * points[:, 0] + value)
    assert len(done.rounds) == 1
    assert not done.found["reached"]
    assert done.found["probability"] == done.found["low"] == 0.0
    # The rule of three: nothing of n lies below 3/n.
    assert done.found["high"] == pytest.approx(3.0 / 1000, rel=0.01)


def test_a_column_that_is_cut_off_below_the_threshold() -> None:
    done = conducted(SubsetSimulation("y", 3.0), 2, 0, lambda points: np.minimum(linear(points), 2))
    assert not done.found["reached"]
    assert done.found["high"] < 0.01 * stats.norm.sf(2.0)
    assert len(done.points) < SubsetSimulation("y", 3.0).runs


@pytest.mark.slow
def test_a_column_that_is_cut_off_at_the_threshold_reaches_it() -> None:
    found = [
        conducted(
            SubsetSimulation("y", 3.0, each=200), 1, seed, lambda p: np.minimum(linear(p), 3.0)
        ).found["probability"]
        for seed in range(40)
    ]
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert abs(np.mean(found) - stats.norm.sf(3.0)) < 3.3 * error


@pytest.mark.slow_cases("0.5")
@pytest.mark.parametrize("size", [0.5, 2.0])
def test_columns_that_count(size: float) -> None:
    """Many runs are equally high: limits lie between steps."""

    def steps(points: Array) -> Array:
        return np.floor(linear(points) / size)

    threshold = np.ceil(3.0 / size)
    truth = stats.norm.sf(threshold * size)
    design = SubsetSimulation("y", threshold, each=500, most_levels=20)
    found = [conducted(design, 2, seed, steps).found for seed in range(40)]
    ratio = np.array([one["probability"] for one in found]) / truth
    assert abs(ratio.mean() - 1.0) < 3.3 * ratio.std(ddof=1) / np.sqrt(len(ratio))


def test_truths_alone_show_no_way() -> None:
    found = conducted(SubsetSimulation("y", 1.0), 1, 0, lambda points: points[:, 0] > 0.95).found
    assert found["low"] < 0.05 < found["high"]
    assert not conducted(SubsetSimulation("y", 1.0), 1, 0, lambda p: p[:, 0] > 1.0).found["reached"]


def test_the_last_level_is_the_last() -> None:
    done = conducted(SubsetSimulation("y", 8.0, each=100, most_levels=3), 2, 0, linear)
    assert len(done.points) == SubsetSimulation("y", 8.0, each=100, most_levels=3).runs == 280
    assert not done.found["reached"]


@pytest.mark.slow
def test_what_runs_draw_themselves_counts() -> None:
    """A column with noise of its own: the sum of a factor and what is drawn anew in every run."""
    rng = np.random.default_rng(0)

    def noisy(points: Array) -> Array:
        return (standard_normal(points)[:, 0] + rng.normal(size=len(points))) / np.sqrt(2.0)

    found = [conducted(SubsetSimulation("y", 3.0), 1, seed, noisy).found for seed in range(40)]
    ratio = np.array([one["probability"] for one in found]) / stats.norm.sf(3.0)
    assert abs(ratio.mean() - 1.0) < 3.3 * ratio.std(ddof=1) / np.sqrt(len(ratio))


def test_a_fixed_correlation() -> None:
    design = SubsetSimulation("y", 3.0, correlation=0.8, each=400)
    found = [conducted(design, 2, seed, linear).found for seed in range(30)]
    ratio = np.array([one["probability"] for one in found]) / stats.norm.sf(3.0)
    assert abs(ratio.mean() - 1.0) < 3.3 * ratio.std(ddof=1) / np.sqrt(len(ratio))
    done = conducted(design, 2, 0, linear)
    z = standard_normal(done.rounds[1])
    first = standard_normal(done.rounds[0])
    # The proposals of the first step: 0.8 of the run they begin at and 0.6 of what is drawn.
    begin = first[np.argsort(linear(done.rounds[0]))[-40:]]
    assert z.mean(axis=0).sum() == pytest.approx(0.8 * begin.mean(axis=0).sum(), abs=0.6)


def test_roots_count_what_chains_have_in_common() -> None:
    """Two levels by hand: three runs, one of which is where both chains of the next begin."""
    estimate = SubsetEstimate(4)
    estimate.add(np.array([[True, True, False, False]]), np.arange(4)[None, :])
    estimate.add(np.array([[True, True], [True, False]]), np.array([[0, 0], [0, 0]]))
    found = estimate.findings([1.0, 2.0], 0.95)
    assert found["probability"] == 0.5 * 0.75
    # First level: ±(1/2)/(1/2 · 4) = ±1/4 each; second: all of one root, which sums up to nothing.
    assert found["coefficient_of_variation"] == pytest.approx(np.sqrt(4.0 / 16.0))
    apart = SubsetEstimate(4)
    apart.add(np.array([[True, True, False, False]]), np.arange(4)[None, :])
    apart.add(np.array([[True, True], [True, False]]), np.array([[0, 1], [0, 1]]))
    # Root 0: 1/4 + (2 - 1.5)/3, root 1: 1/4 + (1 - 1.5)/3, the others -1/4.
    expected = (1 / 4 + 1 / 6) ** 2 + (1 / 4 - 1 / 6) ** 2 + 2 / 16
    assert apart.findings([1.0, 2.0], 0.95)["coefficient_of_variation"] == pytest.approx(
        np.sqrt(expected)
    )
