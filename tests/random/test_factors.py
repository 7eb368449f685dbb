"""Factors: numbers of shares, the same everywhere, and their plain forms."""

from __future__ import annotations

import json
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skidpad.errors import InvalidValue
from skidpad.random.factors import (
    Factor,
    Levels,
    LogRange,
    Normal,
    Range,
    Steps,
    factor_of,
    level_counts,
)
from skidpad.random.streams import exponential, share_below

FACTORS: list[Factor] = [
    Range(1200.0, 1600.0),
    Range(-0.1, 0.3),
    LogRange(1e-3, 10.0),
    Normal(0.0, 0.1),
    Normal(1.0, 0.5, 0.0, 2.0),
    Normal(0.0, 1.0, 3.0, 5.0),
    Normal(0.0, 1.0, -7.0, -6.0),
    Normal(5.0, 2.0, high=5.5),
    Levels((3.0, 1.0, 2.0)),
    Levels((4.0,)),
    Steps(0.0, 1.0, 11),
    Steps(-0.3, 0.7, 4),
]
CONTINUOUS = [factor for factor in FACTORS if not isinstance(factor, Levels)]


@pytest.mark.parametrize("factor", FACTORS, ids=repr)
def test_a_factor_is_its_plain_form(factor: Factor) -> None:
    plain = json.loads(json.dumps(factor.identity()))
    assert factor_of("m", plain) == factor
    assert factor_of("m", factor) is factor


@pytest.mark.parametrize("factor", FACTORS, ids=repr)
def test_numbers_lie_between_the_ends(factor: Factor) -> None:
    shares = np.concatenate([[0.0, 1e-300, 2.0**-53], np.linspace(0, 1, 999), [1 - 2.0**-53]])
    numbers = factor.value(shares)
    assert numbers.shape == shares.shape
    assert numbers.min() == factor.low
    assert numbers.max() == factor.high


@pytest.mark.parametrize("factor", CONTINUOUS, ids=repr)
@given(shares=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_larger_shares_give_no_smaller_numbers(factor: Factor, shares: list[float]) -> None:
    ordered = np.sort(np.array(shares))
    numbers = factor.value(ordered)
    assert (np.diff(numbers) >= 0.0).all()
    # Each number by itself: nothing depends on what else is asked for.
    assert [factor.value(ordered[k : k + 1])[0] for k in range(len(ordered))] == numbers.tolist()


def test_ranges() -> None:
    shares = np.array([0.0, 0.25, 0.5, 1.0])
    assert Range(10.0, 30.0).value(shares).tolist() == [10.0, 15.0, 20.0, 30.0]
    np.testing.assert_allclose(
        LogRange(0.01, 100.0).value(shares), [0.01, 0.1, 1.0, 100.0], rtol=1e-15
    )


def test_lists_have_each_number_as_often() -> None:
    shares = (np.arange(120) + 0.5) / 120
    values, counts = np.unique(Levels((3.0, 1.0, 2.0)).value(shares), return_counts=True)
    assert values.tolist() == [1.0, 2.0, 3.0]
    assert counts.tolist() == [40, 40, 40]
    steps = Steps(0.0, 1.0, 5).value((np.arange(5) + 0.5) / 5)
    assert steps.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize(
    ("mean", "std", "low", "high"),
    [(0.0, 1.0, -8.2, 8.2), (1.0, 0.5, 0.0, 2.0), (0.0, 1.0, 3.0, 5.0), (2.0, 3.0, -20.0, -10.0)],
)
def test_normal_numbers_are_quantiles(mean: float, std: float, low: float, high: float) -> None:
    shares = np.linspace(0.001, 0.999, 200)
    ends = (low - mean) / std, (high - mean) / std
    expected = stats.truncnorm.ppf(shares, *ends, loc=mean, scale=std)
    got = Normal(mean, std, low, high).value(shares)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


def test_elementary_functions_beside_mpmath() -> None:
    z = np.concatenate([np.linspace(-8.5, 8.5, 301), [-1e-9, 0.0, -8.87, -8.9, -20.0]])
    with mpmath.workdps(40):
        below = [mpmath.ncdf(mpmath.mpf(one)) for one in z.tolist()]
        error = [
            abs(got / want - 1) for got, want in zip(share_below(z).tolist(), below, strict=True)
        ]
        # exp(-z²/2) has the error of its argument.
        assert all(float(one) < 1e-15 * (5.0 + at**2) for one, at in zip(error, z, strict=True))
        x = np.linspace(-700.0, 700.0, 201)
        for got, at in zip(exponential(x).tolist(), x.tolist(), strict=True):
            assert abs(got / mpmath.exp(mpmath.mpf(at)) - 1) < 4e-16


def test_plain_forms() -> None:
    assert factor_of("m", 3) == Levels((3.0,))
    assert factor_of("m", [1, 2]) == Levels((1.0, 2.0))
    assert factor_of("m", np.array([1.0, 2.0])) == Levels((1.0, 2.0))
    assert factor_of("m", {"range": [1, 2]}) == Range(1.0, 2.0)
    assert factor_of("m", {"normal": {"mean": 0, "std": 0.1, "low": -1}}) == Normal(0, 0.1, -1)
    factors = {"a": Range(0, 1), "b": Steps(0, 1, 3), "c": Levels((1.0, 2.0))}
    assert level_counts(factors) == (0, 3, 2)


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ({"range": [2, 1]}, "low = 2 must be below high = 1"),
        ({"range": [1]}, "takes [low, high], got 1"),
        ({"range": 3}, "takes a list [low, high]"),
        ({"range": [0, float("inf")]}, "high = inf must be finite"),
        ({"log_range": [0, 1]}, "low = 0 must be finite and greater than 0"),
        ({"normal": {"mean": 0}}, "normal has no std"),
        ({"normal": {"mean": 0, "std": 1, "sigma": 1}}, "no setting 'sigma'"),
        ({"normal": {"mean": 0, "std": -1}}, "std = -1"),
        ({"normal": {"mean": 0, "std": 1, "low": 50, "high": 60}}, "nearer to the mean"),
        ({"steps": [0, 1, 1]}, "count = 1 must be at least 2"),
        ({"levels": []}, "must be a list of numbers"),
        ({"levels": [1, "two"]}, "levels[1] = 'two' must be a number"),
        ([1, float("nan")], "levels[1] = nan must be finite"),
        ({"uniform": [0, 1]}, "'uniform' is unknown"),
        ({"range": [0, 1], "steps": [0, 1, 2]}, "2 entries"),
        ("fast", "value = 'fast' must be a number"),
        (True, "value = True must be a number"),
        (None, "value = None must be a number"),
    ],
)
def test_what_is_wrong_is_named(plain: Any, words: str) -> None:
    with pytest.raises(InvalidValue) as error:
        factor_of("mass", plain)
    assert "factors['mass']" in str(error.value)
    assert words in str(error.value)
    assert "'range': [0, 1]" in str(error.value)


@pytest.mark.parametrize(
    "factor",
    [Range(1.0, 3.0), LogRange(0.1, 10.0), Normal(0.0, 1.0), Normal(2.0, 0.5, 2.5, 4.0),
     Levels((1.0, 5.0, 2.0)), Steps(0.0, 1.0, 5)],
)  # fmt: skip
def test_a_program_finds_the_same_number(factor: Factor) -> None:
    shares = np.random.default_rng(0).random(500)
    traced = [factor.traced(share) for share in shares.tolist()]
    np.testing.assert_allclose(traced, factor.value(shares), rtol=1e-13, atol=1e-13)
