"""The group `estimators`: updates of Kalman filters, one at a time and in a fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..control import ExtendedKalmanFilter, MovingHorizonEstimator, UnscentedKalmanFilter
from ..core import record
from ..core.arrays import Array
from ..core.model import Vehicle
from ..run.fleet import Fleet
from ..run.linearisation import Linearisation
from ..run.simulator import Simulator
from ..vehicles.registry import get
from .timing import RATE, TIME, Budget, Entry, Measured, best_rate, each, interleaved, typical
from .work import SEED

DT = 0.01
MEASURED = {"v_x": 0.05, "omega": 0.01}
STEPS = 400
FILTERS: dict[str, Callable[..., Any]] = {
    "ekf": ExtendedKalmanFilter,
    "ukf": UnscentedKalmanFilter,
    "mhe": MovingHorizonEstimator,
}
ABSENT = {"filterpy": "no release since 2018"}


def entries(budget: Budget) -> Iterator[Entry]:
    """Time of one update of `single_track` by each method, and updates per second of a fleet."""
    car = get("single_track")()
    inputs, seen = _log(car)
    for name, make in FILTERS.items():
        yield _single(name, make(car, DT, MEASURED), inputs, seen, budget)
    yield _fleet(car, inputs, seen, budget)


def _log(car: Vehicle) -> tuple[list[Any], list[Any]]:
    """Inputs and noisy measurements of a slalom."""
    rng, sim, t = np.random.default_rng(SEED), Simulator(car, DT), DT * np.arange(STEPS)
    sim.reset(v_x=20.0)
    steer, force = 0.05 * np.sin(4.0 * t), 400.0 + 300.0 * np.sin(t)
    inputs = [car.Input(*row) for row in np.stack([steer, force], axis=-1).tolist()]
    states = [sim.step(row) for row in inputs]
    exact = np.array([[x.v_x, x.omega] for x in states])
    seen = exact + [*MEASURED.values()] * rng.standard_normal(exact.shape)
    return inputs, list(map(tuple, seen.tolist()))


def _single(name: str, estimator: Any, inputs: list[Any], seen: list[Any], budget: Budget) -> Entry:
    """Median time of `step`; for the EKF also that of the same filter written with NumPy.

    The error is the difference of the two at the end, in standard deviations.
    """
    pairs = list(zip(inputs, seen, strict=True))
    textbook = TextbookFilter(estimator)

    def own(pair: Any) -> None:
        estimator.step(*pair)

    def peer(pair: Any) -> None:
        textbook.step(*pair)

    times: list[list[float]] = [[], []]
    for _ in range(budget.repeats):
        estimator.reset(v_x=20.0)
        textbook.reset(estimator)
        times[0] += each(own, pairs)
        if name == "ekf":
            times[1] += each(peer, pairs)
    details = {"states": len(estimator.names), "measurements": len(MEASURED), "dt": DT}
    entry = f"estimate.single_track.{name}"
    if name != "ekf":
        return Entry(entry, TIME, typical(times[0]), details=details)
    difference = (estimator.estimate.values - textbook.x) / estimator.estimate.deviations
    peers = {"numpy": typical(times[1])}
    own_time = typical(times[0])._replace(error=float(np.abs(difference).max()))
    return Entry(entry, TIME, own_time, peers, ABSENT, details)


class TextbookFilter:
    """An extended Kalman filter as in a textbook: NumPy around compiled steps and Jacobians."""

    def __init__(self, estimator: Any) -> None:
        source, names = estimator.source, record.names(estimator.source.State)
        self._around = Linearisation(source, estimator.dt, "rk4")
        self._part = [names.index(name) for name in estimator.names]
        self._full = np.zeros(len(names))
        noise = estimator.vehicle.params
        self._Q = np.diag(np.array(noise.process) ** 2 * estimator.dt)
        self._R = np.diag(np.array(noise.noise) ** 2)
        self._H = np.eye(len(names))[np.ix_([names.index(n) for n in MEASURED], self._part)]
        self.reset(estimator)

    def reset(self, estimator: Any) -> None:
        start = estimator.estimate
        self.x: Array = start.values
        self._covariance: Array = start.covariances

    def step(self, u: Any, y: Any) -> None:
        self._full[self._part] = self.x
        after, slopes, _ = self._around(self._full, u)
        A, H = slopes[np.ix_(self._part, self._part)], self._H
        x, P = after[self._part], A @ self._covariance @ A.T + self._Q
        S = H @ P @ H.T + self._R
        K = np.linalg.solve(S, H @ P).T
        self.x = x + K @ (np.array(y) - H @ x)
        left = np.eye(len(x)) - K @ H
        self._covariance = left @ P @ left.T + K @ self._R @ K.T


def _fleet(car: Vehicle, inputs: list[Any], seen: list[Any], budget: Budget) -> Entry:
    """Updates per second of many filters of one car, on one thread."""
    estimator = ExtendedKalmanFilter(car, DT, MEASURED)
    count, steps = budget.vehicles // 8, 50
    rows = estimator.inputs(np.array(inputs[:steps]), np.array(seen[:steps]))
    fleet = Fleet(estimator.vehicle, DT, threads=1)
    start = np.tile(estimator.initial_state(v_x=20.0), (count, 1))
    controls = np.repeat(rows[:, None], count, axis=1)
    fleet.rollout(start, controls[:1])
    (times,) = interleaved([lambda: fleet.rollout(start, controls, every=steps)], budget.repeats)
    rate: Measured = best_rate(count * steps, times)
    details = {"vehicles": count, "steps": steps, "lanes": fleet.lanes, "threads": 1}
    return Entry("estimate.single_track.ekf.fleet", RATE, rate, details=details)
