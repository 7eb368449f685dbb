"""For a linear vehicle every estimator is the textbook's."""

from __future__ import annotations

import numpy as np
import pytest

from control.estimators.linear_cart import (
    CART,
    DT,
    MEASURED,
    OPTIONS,
    START,
    A,
    B,
    Q,
    T,
    filtered,
    log,
    smoothed,
)
from skidpad.control import (
    ExtendedKalmanFilter,
    MovingHorizonEstimator,
    UnscentedKalmanFilter,
)
from skidpad.control.estimators.kalman import KalmanFilter

FILTERS = {
    "ekf": lambda: ExtendedKalmanFilter(CART, DT, MEASURED, **OPTIONS),
    "ukf": lambda: UnscentedKalmanFilter(CART, DT, MEASURED, **OPTIONS),
    "ukf_kappa": lambda: UnscentedKalmanFilter(CART, DT, MEASURED, kappa=1.5, **OPTIONS),
    "mhe": lambda: MovingHorizonEstimator(CART, DT, MEASURED, window=8, **OPTIONS),
}


def estimator(name: str) -> KalmanFilter:
    made = FILTERS[name]()
    made.reset(s=START[0], v=START[1])
    return made


@pytest.mark.parametrize("name", FILTERS)
def test_estimates_are_those_of_the_kalman_filter(name: str) -> None:
    result = estimator(name).run(*log())
    means, covariances, nis = filtered()
    assert result.names == ("s", "v", "b", "c")
    assert result.values == pytest.approx(means, abs=1e-12)
    assert result.covariances == pytest.approx(covariances, abs=1e-12)
    assert result.nis == pytest.approx(nis, abs=1e-11)


@pytest.mark.parametrize("name", ["ekf", "ukf", "mhe"])
def test_smoothed_estimates_solve_the_least_squares_problem_of_the_log(name: str) -> None:
    result = estimator(name).smooth(*log())
    means, covariances = smoothed()
    assert result.values == pytest.approx(means, abs=1e-11)
    assert result.covariances == pytest.approx(covariances, abs=1e-11)


def test_steps_are_those_of_a_run() -> None:
    u, y = log()
    one, whole = estimator("ekf"), estimator("ekf").run(u, y)
    for k in range(T):
        there = {n: v for n, v in zip(("s", "mix"), y[k], strict=True) if np.isfinite(v)}
        now = one.step({"a": u[k, 0]}, there)
        assert np.array_equal(now.values, whole.values[k + 1])
    assert now.t == pytest.approx(T * DT)
    assert np.array_equal(one.estimate.covariances, whole.covariances[-1])


def test_missing_measurements_have_no_score() -> None:
    u, y = log()
    result = estimator("ekf").run(u, y)
    missing = np.vstack([[True, True], np.isnan(y)])
    assert np.array_equal(np.isnan(result.innovations), missing)
    assert np.array_equal(result.degrees, 2 - missing.sum(axis=1))


def test_a_step_without_measurements_is_a_prediction() -> None:
    one = estimator("ekf")
    one.run(*log())
    before = one.estimate
    now = one.step((0.7,), (None, float("nan")))
    assert now.values == pytest.approx(A @ before.values + B * 0.7, abs=1e-14)
    assert now.covariances == pytest.approx(A @ before.covariances @ A.T + Q, abs=1e-14)


def test_a_gate_ignores_an_outlier_and_nothing_else() -> None:
    u, y = log()
    wild = y.copy()
    wild[20, 0], y[20, 0] = 1e3, np.nan
    gated = ExtendedKalmanFilter(CART, DT, MEASURED, gate=20.0, **OPTIONS)
    gated.reset(s=START[0], v=START[1])
    assert gated.run(u, wild).values == pytest.approx(estimator("ekf").run(u, y).values, abs=1e-12)


def test_hubers_loss_limits_the_influence_of_an_outlier() -> None:
    u, y = log()
    wild = y.copy()
    wild[20, 0] = 1e3
    robust = MovingHorizonEstimator(CART, DT, MEASURED, huber=2.0, iterations=50, **OPTIONS)
    changes = []
    for made in (robust, estimator("mhe")):
        made.reset(s=START[0], v=START[1])
        clean = made.smooth(u, y).values
        made.reset(s=START[0], v=START[1])
        changes.append(np.abs(made.smooth(u, wild).values - clean).max())
    assert changes[0] < 0.02 * changes[1]


def test_bounds_hold_in_the_whole_window() -> None:
    """The bounded solution satisfies the conditions of optimality of its least-squares problem."""
    u, y = log()
    free = estimator("mhe").smooth(u, y)["c"]
    low = float(np.quantile(free, 0.5))
    bounded = MovingHorizonEstimator(
        CART, DT, MEASURED, bounds={"c": (low, 10.0)}, iterations=50, **OPTIONS
    )
    bounded.reset(s=START[0], v=START[1])
    result = bounded.smooth(u, y)
    at_bound = result["c"] <= low
    assert (result["c"] >= low).all()
    assert 0 < at_bound.sum() < T
    # Where c is free, its cost has no slope: it is the mean of its neighbours plus what the motion
    # says about it, as in the cost written out here.
    z, variances = result.values, np.diag(Q)
    jumps = (z[1:] - z[:-1] @ A.T - u * B) / variances
    slope = np.zeros(T + 1)
    slope[1:] += jumps[:, 3]
    slope[:-1] -= jumps @ A[:, 3]
    slope[0] += z[0, 3] / 0.3**2
    inner = ~at_bound
    assert np.abs(slope[inner]).max() < 1e-6 * np.abs(jumps[:, 3]).max()
    assert (slope[at_bound] > 0.0).all()
