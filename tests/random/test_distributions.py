"""Samples against the distributions they are said to have; seeds are fixed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from skidpad.random import Draw, Gaussian, NoUncertainty, Truncated, Uniform
from skidpad.random.distributions import GaussianDistribution, UniformDistribution

RARE = 1e-6
"""Probability with which a right sampler would fail one of the tests below."""
N = 40_000


def rows(model: object, count: int = N, step: int = 0) -> np.ndarray:
    return model.sample(Draw(17, "test", np.arange(count), step, 0.1))[0]  # type: ignore[attr-defined]


def assert_standard(z: np.ndarray) -> None:
    """Rows of independent standard normal numbers: means, variances, products and shape."""
    n = len(z)
    bound = stats.norm.isf(RARE / 2.0) / np.sqrt(n)
    assert np.abs(z.mean(axis=0)).max() < bound
    squares = np.sum(z * z, axis=0)
    assert ((stats.chi2.ppf(RARE, n) < squares) & (squares < stats.chi2.isf(RARE, n))).all()
    products = z.T @ z / n
    # Their standard deviation is 1/√n; one bound for all pairs.
    assert np.abs(products - np.diag(np.diag(products))).max() < 1.5 * bound
    for column in z.T:
        assert stats.kstest(column, "norm").pvalue > RARE


def test_independent_normals() -> None:
    mean, std = np.array([1.0, -2.0, 100.0]), np.array([0.5, 3.0, 1e-3])
    assert_standard((rows(Gaussian(mean, std)) - mean) / std)


def test_samples_of_neighbouring_steps_are_independent() -> None:
    model = Gaussian([0.0], [1.0])
    assert_standard(np.hstack([rows(model, step=k) for k in range(4)]))


def test_a_full_covariance() -> None:
    mean = np.array([3.0, -1.0, 0.5])
    root = np.array([[100.0, 0.0, 0.0], [-0.2, 0.05, 0.0], [1e-4, 2e-4, 1e-4]])
    model = Gaussian(mean, covariance=root @ root.T)
    z = np.linalg.solve(root, (rows(model) - mean).T).T
    assert_standard(z)


SINGULAR = [
    np.zeros((2, 2)),
    np.diag([4.0, 0.0, 9.0]),
    np.outer([1.0, -2.0, 3.0], [1.0, -2.0, 3.0]),
    np.outer([1e3, 1e-5], [1e3, 1e-5]),
    np.array([[2.0, 1.0, 3.0], [1.0, 1.0, 2.0], [3.0, 2.0, 5.0]]),
    np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
]


@pytest.mark.parametrize("covariance", SINGULAR)
def test_a_singular_covariance(covariance: np.ndarray) -> None:
    """Directions without variance are exactly certain, the others have theirs."""
    drawn = rows(Gaussian(np.zeros(len(covariance)), covariance=covariance))
    scale = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance)
    size = max(values.max(), 1e-300)
    for value, vector in zip(values, vectors.T, strict=True):
        along = drawn @ vector
        if value < 1e-12 * size:
            assert np.abs(along).max() <= 1e-6 * np.abs(vector) @ scale
        else:
            assert_standard(along[:, None] / np.sqrt(value))


def test_a_covariance_of_many_values_is_met_exactly() -> None:
    """The factor, not the samples: what a unit normal in each direction makes."""
    rng = np.random.default_rng(4)
    root = rng.standard_normal((9, 5)) * 10.0 ** rng.uniform(-6.0, 3.0, (9, 1))
    covariance = root @ root.T
    factor = Gaussian(np.zeros(9), covariance=covariance)._factor
    assert factor is not None
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert (np.abs(factor @ factor.T - covariance) / scale).max() < 1e-13


def test_a_diagonal_covariance_is_the_standard_deviations() -> None:
    by_std, by_matrix = Gaussian([0, 1], [2.0, 3.0]), Gaussian([0, 1], covariance=np.diag([4, 9]))
    assert np.array_equal(by_std.covariance, by_matrix.covariance)
    assert np.array_equal(by_std.std, by_matrix.std)


def test_uniform_values() -> None:
    lower, upper = np.array([-1.0, 5.0, 2.0]), np.array([1.0, 5.0, 1e6])
    drawn = rows(Uniform(lower, upper))
    for k in (0, 2):
        width = upper[k] - lower[k]
        assert stats.kstest(drawn[:, k], "uniform", (lower[k], width)).pvalue > RARE
    assert (drawn[:, 1] == 5.0).all()
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 2])[0, 1]) < stats.norm.isf(RARE / 2) / np.sqrt(N)


def test_uniform_values_stay_within_bounds_however_large() -> None:
    big = 1.7e308
    drawn = rows(Uniform(-big, big))
    assert np.isfinite(drawn).all()
    assert np.abs(drawn).max() > 0.9 * big


CUTS = [
    (-1.0, 2.0),
    (0.5, 0.6),
    (-np.inf, 0.0),
    (3.0, np.inf),
    (-np.inf, -6.0),
    (8.0, 9.0),
    (20.0, np.inf),
    (-38.0, -37.9),
    (-9.0, 8.0),
]


@pytest.mark.parametrize(("a", "b"), CUTS)
def test_a_truncated_normal(a: float, b: float) -> None:
    mean, std = 4.0, 0.25
    drawn = rows(Truncated(mean, std, mean + std * a, mean + std * b))[:, 0]
    z = (drawn - mean) / std
    assert stats.kstest(z, stats.truncnorm(a, b).cdf).pvalue > RARE
    assert mean + std * a <= drawn.min()
    assert drawn.max() <= mean + std * b


@pytest.mark.parametrize("a", [50.0, 500.0, 1e4])
def test_the_far_tail_falls_off_exponentially(a: float) -> None:
    """Beyond a, a normal tail is exponential with the rate a, to 1/a²."""
    over = rows(Truncated(0.0, 1.0, a, np.inf))[:, 0] - a
    exact = lambda t: -np.expm1(-a * t - 0.5 * t * t)  # noqa: E731 - but for the 1/a² term
    assert stats.kstest(over, exact).pvalue > RARE
    assert len(np.unique(over)) > 0.9 * N


def test_a_truncated_normal_keeps_its_digits_in_both_tails() -> None:
    """Quantile by quantile against closed forms; uniform numbers are multiples of 2⁻⁵³."""
    u = np.array([9, 2**20 + 1, 2**51 + 1, 2**52, 2**53 - 2**30, 2**53 - 3]) * 2.0**-53
    whole = Truncated(0.0, 1.0, -np.inf, np.inf)._between[0].quantile(u)
    assert np.abs(whole - special.ndtri(u)).max() < 1e-12
    upper = Truncated(0.0, 1.0, 0.0, np.inf)._between[0].quantile(u)
    expected = np.where(u < 0.5, np.sqrt(2.0) * special.erfinv(u), -special.ndtri(0.5 * (1.0 - u)))
    assert np.abs(upper / expected - 1.0).max() < 1e-12
    lower = Truncated(0.0, 1.0, -np.inf, 0.0)._between[0].quantile(1.0 - u)
    assert np.abs(lower / -expected - 1.0).max() < 1e-12


def test_a_truncated_normal_keeps_its_digits_next_to_a_far_bound() -> None:
    """Above the value lie the part 2⁻⁵³ of what is drawn from, and all that is cut off."""
    u = np.array([1.0 - 2.0**-53])
    cut = special.ndtr(-8.0)
    expected = -special.ndtri(cut + 2.0**-53 * (1.0 - cut - special.ndtr(-9.0)))
    for low, high, sign, share in [(-9.0, 8.0, 1.0, u), (-8.0, 9.0, -1.0, 1.0 - u)]:
        found = Truncated(0.0, 1.0, low, high)._between[0].quantile(share)
        assert sign * found.item() == pytest.approx(expected, abs=1e-12)


def test_truncated_values_that_are_certain() -> None:
    drawn = rows(Truncated([1.0, 2.0], [0.0, 5.0], [0.0, 3.0], [2.0, 3.0]), 5)
    assert (drawn == [1.0, 3.0]).all()


def test_no_uncertainty_is_the_nominal_value() -> None:
    assert (rows(NoUncertainty(3, [1.0, 2.0, 3.0]), 4) == [1.0, 2.0, 3.0]).all()
    assert (rows(NoUncertainty(2), 4) == 0.0).all()


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (Gaussian([1.0, 2.0], 3.0), [1.0, 2.0]),
        (Gaussian([1.0, 2.0], 3.0, nominal_value=[0.0, 0.0]), [0.0, 0.0]),
        (Gaussian(covariance=np.eye(2)), [0.0, 0.0]),
        (Uniform([0.0, -2.0], [1.0, 4.0]), [0.5, 1.0]),
        (Uniform(0.0, 1.0, 0.25), [0.25]),
        (Truncated([0.0, 0.0], 1.0, [-1.0, 2.0], [1.0, 3.0]), [0.0, 2.0]),
        (NoUncertainty(2, 7.0), [7.0, 7.0]),
    ],
)
def test_nominal_values(model: object, expected: list[float]) -> None:
    nominal = model.nominal_value  # type: ignore[attr-defined]
    assert nominal.tolist() == expected
    with pytest.raises(ValueError, match="read-only"):
        nominal[0] = 5.0


def test_the_names_and_orders_of_commonroad_control() -> None:
    gaussian = GaussianDistribution(2, [0.0, 1.0], [1.0, 2.0])
    same = Gaussian(dim=2, mean=[0.0, 1.0], std_deviation=[1.0, 2.0])
    assert np.array_equal(rows(gaussian, 9), rows(same, 9))
    assert isinstance(gaussian, Gaussian)
    assert gaussian.std_deviations.tolist() == [1.0, 2.0]
    uniform = UniformDistribution(dim=2, lower_bound=[0.0, 1.0], upper_bound=[1.0, 2.0])
    same_box = Uniform(dim=2, lower_bound=[0.0, 1.0], upper_bound=[1.0, 2.0])
    assert np.array_equal(rows(uniform, 9), rows(same_box, 9))
    assert NoUncertainty(dim=2, mean=[1.0, 1.0], std_deviation=[1.0, 1.0]).dim == 2
