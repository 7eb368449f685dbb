"""The Ornstein-Uhlenbeck process against its closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from skidpad.errors import InvalidValue
from skidpad.random import Draw, OrnsteinUhlenbeck

RARE = 1e-6
RUNS = np.arange(30_000)


def path(model: OrnsteinUhlenbeck, times: list[float], runs: np.ndarray = RUNS) -> np.ndarray:
    """Samples (times, runs, dim)."""
    draw = Draw(11, "wind", runs)
    memory = model.start(runs.size)
    out = []
    for k, t in enumerate(times):
        held = times[k + 1] - t if k + 1 < len(times) else 0.0
        values, memory = model.sample(draw.at(k, held, t), memory)
        out.append(values)
    return np.array(out)


def assert_normal(z: np.ndarray) -> None:
    n = len(z)
    assert abs(z.mean()) < stats.norm.isf(RARE / 2.0) / np.sqrt(n)
    assert stats.chi2.ppf(RARE, n) < np.sum(z * z) < stats.chi2.isf(RARE, n)
    assert stats.kstest(z, "norm").pvalue > RARE


def assert_correlated(a: np.ndarray, b: np.ndarray, expected: float) -> None:
    """Of standard normals with correlation r: b - r a is normal with variance 1 - r², free of a."""
    rest = b - expected * a
    spread = np.sqrt(1.0 - expected * expected)
    assert_normal(rest / spread)
    assert abs(np.mean(rest * a)) < stats.norm.isf(RARE / 2.0) * spread / np.sqrt(len(a))


def test_it_is_stationary_from_the_first_sample() -> None:
    model = OrnsteinUhlenbeck([5.0, 0.0], [2.0, 0.1], [0.5, 20.0])
    drawn = path(model, [0.1 * k for k in range(31)])
    for k in (0, 1, 30):
        for value, (mean, std) in enumerate([(5.0, 2.0), (0.0, 0.1)]):
            assert_normal((drawn[k, :, value] - mean) / std)


@pytest.mark.parametrize("lag", [1, 4, 20])
def test_the_correlation_falls_off_exponentially(lag: int) -> None:
    dt, constant = 0.1, 0.7
    drawn = path(OrnsteinUhlenbeck(0.0, 1.0, constant), [dt * k for k in range(25)])[:, :, 0]
    assert_correlated(drawn[3], drawn[3 + lag], np.exp(-lag * dt / constant))


def test_two_half_steps_are_one_whole() -> None:
    """Not the same numbers: the same covariance, from any steps with the same ends."""
    model = OrnsteinUhlenbeck(0.0, 1.0, 2.0)
    expected = np.exp(-1.0 / 2.0)
    for times in ([0.0, 1.0], [0.0, 0.5, 1.0], [0.0, 0.01, 0.9, 1.0]):
        drawn = path(model, times)[:, :, 0]
        assert_correlated(drawn[0], drawn[-1], expected)


def test_values_of_one_run_are_independent_of_each_other() -> None:
    drawn = path(OrnsteinUhlenbeck([0.0, 0.0], 1.0, 3.0), [0.0, 0.1, 0.2])[-1]
    assert_correlated(drawn[:, 0], drawn[:, 1], 0.0)


def test_no_time_no_change() -> None:
    drawn = path(OrnsteinUhlenbeck(0.0, 1.0, 3.0), [0.0, 1.0, 1.0])
    assert np.array_equal(drawn[1], drawn[2])


def test_how_the_time_was_added_up_does_not_show() -> None:
    model = OrnsteinUhlenbeck(0.0, 1.0, 3.0)
    draw = Draw(11, "wind", [4, 5], 0, 0.1)
    one, other, time = None, None, 0.0
    for k in range(200):
        a, one = model.sample(draw.at(k), one)
        b, other = model.sample(draw.at(k, 0.1, time), other)
        time += 0.1
        assert np.array_equal(a, b)
    assert time != draw.at(200).time


def test_time_that_goes_back_is_refused() -> None:
    model = OrnsteinUhlenbeck(0.0, 1.0, 3.0)
    draw = Draw(1, "wind", [0], 0, 0.1)
    _, memory = model.sample(draw.at(1, 0.1, 2.0))
    with pytest.raises(InvalidValue, match="time = 1 s is before the last sample at 2 s"):
        model.sample(draw.at(2, 0.1, 1.0), memory)


def test_its_parameters_can_be_read() -> None:
    model = OrnsteinUhlenbeck([1.0, 2.0], 3.0, [4.0, 5.0])
    assert model.nominal_value.tolist() == model.mean.tolist() == [1.0, 2.0]
    assert model.std.tolist() == [3.0, 3.0]
    assert model.time_constant.tolist() == [4.0, 5.0]
