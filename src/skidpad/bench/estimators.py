"""The groups `estimators` and `identify`: Kalman filters, and fits of parameters to a log.

Updates of filters are measured one at a time and in a fleet. The fit finds nine parameters of a car
from a log of one minute at 100 Hz. Its alternative is what a user would write: SciPy's
`least_squares` with differences, over the same windows in the same fleet, with the noise of every
channel known. That gives neither intervals nor a check of the start, so the fit is compared with
one start and nothing held out; the details have the time of a fit with all defaults.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..control import ExtendedKalmanFilter, MovingHorizonEstimator, UnscentedKalmanFilter
from ..core import record
from ..core.arrays import Array
from ..core.model import Vehicle
from ..run.fleet import Fleet
from ..run.linearisation import Linearisation
from ..run.simulator import Simulator
from ..study.identify.fitting import LONGEST_WINDOW, fit
from ..study.identify.replay import Guess, Replay
from ..study.logs.log import Channel, Log
from ..study.logs.preparation import Prepared, prepare
from ..vehicles.registry import get
from .timing import (
    RATE,
    TIME,
    Budget,
    Entry,
    Measured,
    best_rate,
    cold_and_cached,
    each,
    interleaved,
    run_job,
    seconds,
    typical,
)
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


FIT_DT, DURATION = 0.01, 60.0
FREE = {
    "I_z": 1.2,
    "l_f": 0.95,
    "tyres.front.lateral.K": 0.85,
    "tyres.rear.lateral.K": 1.15,
    "tyres.front.lateral.mu": 1.1,
    "tyres.rear.lateral.mu": 0.9,
    "log.steer_offset": 0.0,
    "log.omega_bias": 0.0,
    "log.a_y_bias": 0.0,
}
"""Free parameters, with their start values relative to the true values for those of the car."""
NOISE = {"yaw": 0.002, "v_x": 0.01, "v_y": 0.03, "omega": 0.005, "a_y": 0.1, "steer": 1e-4}
"""Channels of the log, with the standard deviations of their noise in SI units."""
WORK: dict[str, Any] = {"duration": DURATION, "parameters": len(FREE), "asked": 10.0}
"""Length of the log in s, and the target time in s of a fit with all defaults."""


def fit_entries(budget: Budget) -> Iterator[Entry]:
    """Entries of a fit, timed in fresh processes, and compared with SciPy in this one."""
    for kind, runs in cold_and_cached(_job, budget.fresh).items():
        yield Entry(f"fit.single_track.{kind}", TIME, typical(runs), details=dict(WORK))
    car, log = first_guess(), drive()
    alike: dict[str, Any] = {"hold_out": 0.0, "starts": 1, "window": LONGEST_WINDOW}
    found: dict[str, Sequence[float]] = {}

    def own() -> None:
        found["own"] = [e.value for e in fit(car, log, list(FREE), **alike).estimates]

    def scipy() -> None:
        # Fit of the free parameters by SciPy's least squares with difference quotients
        from scipy.optimize import least_squares as untyped

        least_squares: Any = untyped
        replay = Replay(car, log, window=LONGEST_WINDOW)
        known = dict(zip(record.names(car.Params), record.flatten(car.params), strict=True))
        start = np.array([known.get(name, 0.0) for name in FREE])
        # Scale the parameters such that a change of 1 is large, as difference quotients need.
        size = np.where(start != 0.0, start, 0.1)
        sigma = np.array([NOISE[name] for name in replay.channels])[:, None, None]

        def errors(x: Array) -> Array:
            values = dict(zip(FREE, (x * size).tolist(), strict=True))
            rows = replay.errors(replay.run([Guess(values)]))[0] / sigma
            return np.nan_to_num(rows, nan=1e3).ravel()

        solution = least_squares(errors, start / size, loss="huber", f_scale=1.345)
        found["scipy"] = list(solution.x * size)

    own()  # compiles
    replay = Replay(car, log, window=LONGEST_WINDOW)
    replay.run([Guess()])
    times = interleaved(
        [own, scipy, lambda: fit(car, log, list(FREE))], max(1, budget.repeats // 3)
    )
    mine, theirs, whole = (typical(each) for each in times)
    yield Entry(
        "fit.single_track",
        TIME,
        mine._replace(error=_error(found["own"])),
        {"scipy": theirs._replace(error=_error(found["scipy"]))},
        details={**WORK, "window": LONGEST_WINDOW, "all_defaults": whole.value},
    )


def _job(cache: str) -> float:
    return run_job("estimators", SKIDPAD_CACHE=cache)


def first_fit() -> float:
    """Time in s of a fit with default settings to a prepared log."""
    car, log = first_guess(), drive()
    return seconds(lambda: fit(car, log, list(FREE)))


def first_guess() -> Vehicle:
    """Car with the parameters from which a fit starts."""
    own = {n: share * truth()[n] for n, share in FREE.items() if not n.startswith("log.")}
    return get("single_track")("sports").with_params(own)


def truth() -> dict[str, float]:
    """True values of the free parameters."""
    car = get("single_track")("sports")
    own = dict(zip(record.names(car.Params), record.flatten(car.params), strict=True))
    return {name: float(own.get(name, 0.0)) for name in FREE}


def drive() -> Prepared:
    """Prepared log of random steering at about 18 m/s."""
    car, rng, steps = get("single_track")("sports"), np.random.default_rng(SEED), 0
    u = np.zeros((round(DURATION / FIT_DT), 1, 2))
    while steps < len(u):
        length = int(rng.integers(40, 200))
        u[steps : steps + length, 0, 0] = 0.07 * rng.uniform(-1.0, 1.0)
        steps += length
    u[:, 0, 1] = 400.0 + 800.0 * np.sin(0.3 * FIT_DT * np.arange(len(u)))
    fleet = Fleet(car, FIT_DT)
    x = fleet.rollout(record.flatten(record.build(car.State, {"v_x": 18.0})), u)
    y = fleet.outputs(x, np.concatenate([u, u[-1:]]))
    known = dict(zip(record.names(car.State), x[:, 0].T, strict=True))
    known |= dict(zip(record.names(car.model.Outputs), y[:, 0].T, strict=True))
    t = FIT_DT * np.arange(len(x), dtype=float)
    channels = {
        name: Channel(t, known[name] + sigma * rng.normal(size=len(t)))
        for name, sigma in NOISE.items()
    }
    return prepare(Log("slalom", channels), without=["filter", "imu", "latency"])


def _error(values: Sequence[float]) -> float:
    """Largest relative error of the parameters whose true value is not 0."""
    true = truth()
    pairs = zip(values, true.values(), strict=True)
    return max(abs(value / own - 1.0) for value, own in pairs if own)


if __name__ == "__main__":
    print(json.dumps(first_fit()))
