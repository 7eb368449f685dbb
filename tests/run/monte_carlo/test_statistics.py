"""Bands, probabilities and extremes against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import skidpad as sp
from skidpad.random import Gaussian, Uniform
from skidpad.run.monte_carlo import proportion

from .models import holding, mass

DT, STEPS, RUNS, SIGMA = 0.1, 20, 20_000, 0.7


@pytest.fixture(scope="module")
def walk() -> sp.run.monte_carlo.MonteCarlo:
    fleet = sp.Fleet(mass(), dt=DT)
    return fleet.monte_carlo(
        {"v": 2.0},
        {"a": 0.5},
        runs=RUNS,
        disturbance=Gaussian(mean=[0.0], std=[SIGMA]),
        seed=11,
        steps=STEPS,
        events={
            "fast": lambda x: x.v > 3.5,
            "never": lambda x: x.v > 1e9,
            "always": lambda x: x.x >= 0.0,
        },
        quantities={"v": "v", "x": "x", "minus": lambda x: -x.v},
    )


def variance(k: np.ndarray) -> np.ndarray:
    """Of v after k steps: each adds an independent DT times the wind."""
    return k * (DT * SIGMA) ** 2


def test_mean_and_deviation_are_those_of_a_sum_of_independent_draws(walk) -> None:
    k = np.arange(STEPS + 1)
    error = np.sqrt(variance(k) / RUNS)
    np.testing.assert_array_less(np.abs(walk.mean("v") - (2.0 + 0.5 * DT * k)), 4.5 * error + 1e-12)
    # The deviation of n normal numbers has itself a deviation of sigma / sqrt(2 n).
    np.testing.assert_allclose(
        walk.std("v"), np.sqrt(variance(k)), atol=1e-12, rtol=4.5 / np.sqrt(2 * RUNS)
    )


def test_quantiles_are_those_of_the_normal_distribution(walk) -> None:
    sigma = np.sqrt(variance(np.array(STEPS)))
    mean = 2.0 + 0.5 * DT * STEPS
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        z = stats.norm.ppf(level)
        # Of a sample quantile: sqrt(q (1 - q) / n) / density.
        error = np.sqrt(level * (1 - level) / RUNS) / stats.norm.pdf(z) * sigma
        assert walk.quantile("v", level)[-1] == pytest.approx(mean + z * sigma, abs=4.5 * error)
    low, high = walk.band("v", 0.9)
    assert np.array_equal(low, walk.quantile("v", 0.05))
    assert np.array_equal(high, walk.quantile("v", 0.95))


def test_a_quantity_may_be_a_function(walk) -> None:
    np.testing.assert_array_equal(walk.mean("minus"), -walk.mean("v"))
    assert walk.worst("minus", 1)[0].run == walk.worst("v", 1, lowest=True)[0].run


def test_events_happen_at_any_time_of_a_run(walk) -> None:
    assert walk.probability("never").value == 0.0
    assert walk.probability("always").value == 1.0
    assert walk.probability("never").high < 2e-4
    assert walk.probability("always").low > 1 - 2e-4
    # A run is fast at some time at least as often as it is fast at the end.
    sigma = np.sqrt(variance(np.array(STEPS)))
    at_the_end = stats.norm.sf((3.5 - 3.0) / sigma)
    fast = walk.probability("fast")
    assert at_the_end - 0.01 < fast.value < 2 * at_the_end + 0.01
    assert fast.low < fast.value < fast.high
    share = walk.share("fast")
    assert (np.diff(share) >= 0.0).all()
    assert share[-1] == fast.value
    assert len(walk.happened("fast")) == fast.happened


@pytest.mark.parametrize("happened", [0, 1, 17, 60])
def test_intervals_are_those_of_clopper_and_pearson(happened: int) -> None:
    mine = proportion(happened, 60, 0.9)
    theirs = stats.binomtest(happened, 60).proportion_ci(0.9, method="exact")
    assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-12)


def test_worst_cases_are_the_extremes_over_time_of_their_runs(walk) -> None:
    worst = walk.worst("v", 4)
    assert [c.value for c in worst] == sorted((c.value for c in worst), reverse=True)
    for case in worst:
        run = walk.replay(case)
        assert run["v"].max() == case.value
        assert run.t[run["v"].argmax()] == pytest.approx(case.time)
    assert walk.final[:, 1].max() <= worst[0].value


def test_noise_goes_through_the_policy_alone() -> None:
    """v' = -k (v + n): the deviation of v grows as that of a discrete first-order filter."""
    fleet = sp.Fleet(mass(), dt=DT)
    noise = Gaussian(mean=[0.0, 0.0], std=[0.0, 0.3])
    found = fleet.monte_carlo(
        {"v": 1.0}, policy=holding(2.0), noise=noise, runs=5000, steps=60, seed=4
    )
    a, b = 1.0 - 2.0 * DT, 2.0 * DT * 0.3
    expected = b / np.sqrt(1.0 - a * a)
    assert found.std("v")[-1] == pytest.approx(expected, rel=4.5 / np.sqrt(2 * 5000))
    assert abs(found.mean("v")[-1]) < 4.5 * expected / np.sqrt(5000)


def test_parameters_and_starts_may_be_drawn() -> None:
    fleet = sp.Fleet(mass(), dt=DT)
    found = fleet.monte_carlo(
        Gaussian(mean=[0.0, 5.0], covariance=[[0.0, 0.0], [0.0, 0.04]]),
        {"a": 1.0},
        params={"gain": Uniform([0.5], [1.5])},
        runs=4000,
        steps=10,
    )
    spread = np.sqrt(0.04 + 1.0 / 12.0)
    assert found.std("v")[0] == pytest.approx(0.2, rel=0.05)
    assert found.std("v")[-1] == pytest.approx(spread, rel=0.05)


def test_quantities_may_be_infinite_or_unknown() -> None:
    """A time to collision is infinite where nothing is in the way; the unknown is no extreme."""
    start = np.column_stack([np.zeros(5), [-2.0, -1.0, 0.0, 1.0, 2.0]])

    def until(x: Any) -> Any:
        return np.where(x.v > 0.0, 10.0 / np.where(x.v > 0.0, x.v, 1.0), np.inf)

    found = sp.Fleet(mass(), dt=DT).monte_carlo(
        start,
        runs=5,
        steps=1,
        quantiles=[0.0, 0.25, 0.5, 0.75, 1.0],
        quantities={"until": until, "unknown": lambda x: np.where(x.v < 2.0, np.nan, x.v)},
    )
    # In order: 5 s, 10 s and three times never.
    levels = [found.quantile("until", level)[0] for level in found.levels]
    assert levels == [5.0, 10.0, np.inf, np.inf, np.inf]
    assert found.mean("until")[0] == np.inf
    assert [case.value for case in found.worst("until", 2, lowest=True)] == [5.0, 10.0]
    assert np.isnan(found.quantile("unknown", 0.5)).all()
    assert np.isnan(found.quantile_interval("unknown", 0.5)).all()
    assert [(case.run, case.value) for case in found.worst("unknown", 5)] == [(4, 2.0)]
    assert [(case.run, case.value) for case in found.worst("unknown", 5, lowest=True)] == [(4, 2.0)]
