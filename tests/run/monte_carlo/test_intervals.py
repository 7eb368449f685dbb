"""How sure means, quantiles and probabilities are: against exact coverage and published ranks."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.random import Gaussian, Uniform
from skidpad.run.monte_carlo import mean_bounds, quantile_ranks

from .models import explosive, mass

STUDIES, RUNS = 400, 40
ALMOST_NEVER = 1e-5
"""Of a count of studies: how likely it is to lie beyond the bounds that tests allow."""
MASKED = sp.Fleet(explosive(), dt=0.1, on_diverge="mask")
MASS = sp.Fleet(mass(), dt=0.1)
EXACT = {"normal": stats.norm(2.0, 3.0), "skewed": stats.chi2(1), "flat": stats.uniform()}
"""What is drawn: x is normal, the square of a standard normal number, or v uniform."""


@cache
def studies() -> list[sp.run.monte_carlo.MonteCarlo]:
    start = sp.random.by_name(mass().State, x=Gaussian(2.0, 3.0), v=Uniform(0.0, 1.0))
    quantities = {
        "normal": "x",
        "skewed": lambda x: ((x.x - 2.0) / 3.0) ** 2,
        "flat": "v",
    }
    options: dict[str, Any] = {"quantities": quantities, "quantiles": [0.1, 0.5, 0.9]}
    return [MASS.monte_carlo(start, runs=RUNS, steps=1, seed=s, **options) for s in range(STUDIES)]


def agrees(hits: int, coverage: float) -> bool:
    """Whether so many of the studies may well hold the truth if each does with this probability."""
    low, high = stats.binom(STUDIES, coverage).ppf([ALMOST_NEVER, 1.0 - ALMOST_NEVER])
    return low <= hits <= high


@pytest.mark.slow_cases("0.5")
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_the_interval_of_a_mean_holds_it_as_often_as_it_says(level: float) -> None:
    hits = 0
    for study in studies():
        low, high = study.mean_interval("normal", level)
        hits += bool(low[0] <= 2.0 <= high[0])
    # Exact for normal numbers.
    assert agrees(hits, level)


def test_the_interval_of_a_mean_is_that_of_student() -> None:
    study = studies()[3]
    x = np.array([study.replay(study.seed_of(k))["x"][0] for k in range(RUNS)])
    theirs = stats.ttest_1samp(x, 0.0).confidence_interval(0.9)
    low, high = study.mean_interval("normal", 0.9)
    assert (low[0], high[0]) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_the_interval_of_a_quantile_holds_it_for_every_distribution(
    name: str, quantile: float, level: float
) -> None:
    truth, hits = EXACT[name].ppf(quantile), 0
    for study in studies():
        low, high = study.quantile_interval(name, quantile, level)
        assert low[0] <= study.quantile(name, quantile)[0] <= high[0]
        hits += bool(low[0] <= truth <= high[0])
    below, above = quantile_ranks(RUNS, quantile, level)
    exact = stats.binom(RUNS, quantile).cdf([below - 1, above - 1])
    assert level <= exact[1] - exact[0]
    assert agrees(hits, exact[1] - exact[0])


@pytest.mark.parametrize(
    ("runs", "ranks"),
    # W. J. Conover, Practical Nonparametric Statistics, 3rd ed., table of the sign test at 0.025:
    # the interval of a median with at least 95 % is from X_(r) to X_(n + 1 - r).
    [(6, (1, 6)), (10, (2, 9)), (20, (6, 15)), (30, (10, 21)), (50, (18, 33))],
)
def test_ranks_of_a_median_are_those_of_tables(runs: int, ranks: tuple[int, int]) -> None:
    assert quantile_ranks(runs, 0.5, 0.95) == ranks


def test_few_runs_say_nothing_about_far_quantiles() -> None:
    # With n runs the largest is beyond the 95 % quantile with 1 - 0.95^n: above 97.5 % from 72 on.
    assert quantile_ranks(71, 0.95, 0.95)[1] == 72
    assert quantile_ranks(72, 0.95, 0.95)[1] == 72
    few = MASS.monte_carlo(Gaussian([0.0, 0.0], 1.0), runs=5, steps=1)
    low, high = few.quantile_interval("x", 0.95)
    assert np.isposinf(high).all()
    assert np.isfinite(low).all()
    one = MASS.monte_carlo({}, runs=1, steps=1)
    assert np.isneginf(one.mean_interval("x")[0]).all()
    assert np.isposinf(one.mean_interval("x")[1]).all()


@pytest.mark.slow
@given(
    runs=st.integers(1, 3000),
    quantile=st.floats(0.0, 1.0),
    level=st.floats(0.01, 0.999),
)
@settings(max_examples=150, deadline=None)
def test_ranks_are_the_tightest_with_both_tails_small(
    runs: int, quantile: float, level: float
) -> None:
    low, high = quantile_ranks(runs, quantile, level)
    below, tail = stats.binom(runs, quantile), (1.0 - level) / 2.0
    slack = 1e-9
    assert 0 <= low < high <= runs + 1
    assert below.cdf(low - 1) <= tail + slack
    assert below.sf(high - 1) <= tail + slack
    assert low == runs or below.cdf(low) > tail - slack
    assert high == 1 or below.sf(high - 2) > tail - slack


def test_bounds_of_a_mean_grow_narrower_with_the_root_of_runs() -> None:
    mean, std, counts = np.zeros(2), np.ones(2), np.array([10_000, 40_000])
    low, high = mean_bounds(mean, std, counts, 0.95)
    assert (high - low) == pytest.approx([2 * 1.96 / 100, 2 * 1.96 / 200], rel=1e-3)


def test_intervals_count_the_runs_that_are_left() -> None:
    starts = np.linspace(0.1, 4.0, 12)[:, None]
    study = MASKED.monte_carlo(starts, runs=12, steps=20, quantiles=[0.5])
    gone = np.array([np.sum(1.0 / starts > t) for t in study.t])
    assert study.counted[0] == 12
    assert study.counted[-1] == 12 - len(study.diverged)
    # x' = x² ends at 1 / x0; a step of the integrator may take a little longer.
    assert (study.counted >= gone).all()
    assert (np.diff(study.counted) <= 0).all()
    left = np.sort(study.final[~np.isnan(study.final[:, 0]), 0])
    below, above = quantile_ranks(len(left), 0.5, 0.9)
    low, high = study.quantile_interval("x", 0.5, 0.9)
    assert (low[-1], high[-1]) == (
        left[below - 1] if below else -np.inf,
        left[above - 1] if above <= len(left) else np.inf,
    )
    everyone = MASKED.monte_carlo(np.full((3, 1), 50.0), runs=3, steps=4)
    assert everyone.counted[-1] == 0
    for low, high in (everyone.mean_interval("x"), everyone.quantile_interval("x", 0.5)):
        assert np.isnan([low[-1], high[-1]]).all()


def test_confidence_that_was_not_kept_is_named() -> None:
    study = studies()[0]
    with pytest.raises(
        InvalidValue, match=r"level = 0\.97 was not recorded; there are 0\.9, 0\.95, "
    ):
        study.quantile_interval("normal", 0.5, 0.97)
    with pytest.raises(InvalidValue, match=r"quantile = 0\.3 was not recorded"):
        study.quantile_interval("normal", 0.3)
    with pytest.raises(InvalidValue, match="'speed'"):
        study.mean_interval("speed")
    for level in (0.0, 1.0, float("nan"), "a"):
        with pytest.raises(InvalidValue, match="level"):
            study.mean_interval("normal", level)  # type: ignore[arg-type]
    for wrong in ([], [1.0], [0.0], ["a"], 0.95j):
        with pytest.raises(InvalidValue, match="confidence"):
            MASS.monte_carlo({}, runs=2, steps=1, confidence=wrong)  # type: ignore[arg-type]
    sure = MASS.monte_carlo({}, runs=2, steps=1, confidence=0.97)
    sure.quantile_interval("x", 0.5, 0.97)


@pytest.mark.slow
@given(st.lists(st.floats(0.1, 60.0), min_size=1, max_size=30), st.floats(0.1, 80.0))
@settings(max_examples=60, deadline=None)
def test_shares_end_at_the_probability_and_never_fall(starts: list[float], above: float) -> None:
    """Also where runs diverge, some or all of them: what happened in them has happened."""
    study = MASKED.monte_carlo(
        np.array(starts)[:, None],
        runs=len(starts),
        steps=12,
        events={"far": lambda x: x.x > above, "start": lambda x: x.x > 0.0},
    )
    for event in study.events:
        share = study.share(event)
        assert share[-1] == study.probability(event).value
        assert (np.diff(share) >= 0.0).all()
    assert study.share("start").tolist() == [1.0] * 13
    assert study.share("far")[0] == np.mean(np.array(starts) > above)
