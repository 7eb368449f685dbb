"""Moving-horizon estimation: least squares over the last measurements, with bounds.

At every update the window's trajectory is fitted to its measurements (`windows.solve`). The prior
of its start is the estimate of an extended Kalman filter at that time, which has the measurements
up to there (C. V. Rao, J. B. Rawlings, D. Q. Mayne, *IEEE Trans. Automatic Control* 48 (2003) 246).
For a linear vehicle without bounds the result is that of the filter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.checks import positive, whole
from ...core.model import Vehicle
from ...errors import InvalidValue
from .kalman import ExtendedKalmanFilter
from .result import Estimate, Moments
from .windows import Path, Window, solve


class MovingHorizonEstimator(ExtendedKalmanFilter):
    """Moving-horizon estimator of a vehicle.

    Args:
        window: number of updates in the least-squares problem.
        huber: residual in standard deviations beyond which a measurement counts linearly instead of
            by its square, so that outliers have little influence; None for squares.
        iterations: largest number of Gauss-Newton iterations per update.

    The other arguments are those of `ExtendedKalmanFilter`; `bounds` hold within the whole window.
    `vehicle` is the extended Kalman filter that provides the start of each window.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        dt: float = 0.01,
        measured: Mapping[str, float] | None = None,
        *,
        window: int = 20,
        huber: float | None = None,
        iterations: int = 5,
        **options: Any,
    ) -> None:
        self._window = whole("window", window, "at least 1")
        self._iterations = whole("iterations", iterations, "at least 1")
        self._huber = None if huber is None else positive("huber", huber)
        super().__init__(vehicle, dt, measured, **options)
        self._forget()

    def _forget(self) -> None:
        self._nodes = [np.array(self._simulator.state)]
        """States of the filter at the nodes of the window."""
        self._acted: list[Any] = []
        self._seen: list[Any] = []
        self._guess = self._nodes[0][None, : len(self.names)]
        self._now: Moments | None = None

    def reset(self, state: Any = None, /, **options: Any) -> Estimate:
        """Start again at a state; the arguments are those of `ExtendedKalmanFilter.reset`."""
        super().reset(state, **options)
        self._forget()
        return self.estimate

    @property
    def estimate(self) -> Estimate:
        """The present estimate."""
        if self._now is None:
            return super().estimate
        now = self._now
        return Estimate(self.names, self.measured, lambda: now, self._simulator.time)

    def step(self, u: Any, y: Any, *, dt: float | None = None) -> Estimate:
        """Move the window by one step; the arguments are those of `ExtendedKalmanFilter.step`.

        All steps of a window have the same length, so `dt` must be None.
        """
        if dt is not None:
            raise InvalidValue(f"dt = {dt!r} must be None: a window has steps of one length")
        row = self._row(u, y)
        state = np.array(self._simulator.step(self._vehicle.Input._make(row)))
        m = len(self.measured)
        self._nodes.append(state)
        self._acted.append(self._simulator.input[: self._inputs])
        self._seen.append(np.where(np.array(row[-m:]) > 0.0, row[-2 * m : -m], np.nan))
        for part in (self._nodes, self._acted, self._seen):
            del part[: -self._window - (part is self._nodes)]
        n = len(self.names)
        self._guess = np.vstack([self._guess, state[:n]])[-self._window - 1 :]
        self._guess, covariance = self._solved(
            np.array(self._nodes), np.array(self._acted), np.array(self._seen), self._guess
        )
        own = self._moments(state)
        self._now = own._replace(values=self._guess[-1], covariances=covariance)
        return self.estimate

    def _solved(self, states: Array, u: Array, seen: Array, guess: Array) -> tuple[Array, Array]:
        """Path that fits the measurements of a window, and the covariance of its end."""
        first = self._moments(states[0])
        window = Window(
            self._linearisation,
            first.values,
            np.asarray(np.linalg.inv(first.covariances), dtype=np.float64),
            seen,
            self._step_variances(),
            np.array(self._vehicle.params.noise),
            np.array(self._structure.low),
            np.array(self._structure.high),
            self._huber,
        )
        rest = states[:, len(self.names) :][:, : len(self._structure.simulated)]
        return solve(window, Path(guess, rest, u), np.array(self._spread), self._iterations)

    def run(self, u: Any, y: Any) -> Estimate:
        """Estimate along a log, from the present estimate; see `ExtendedKalmanFilter.run`."""
        rows, m, begin = self.inputs(u, y), len(self.measured), self.estimate
        log = [begin.moments]
        for row in rows:
            seen = np.where(row[-m:] > 0.0, row[-2 * m : -m], np.nan)
            log.append(self.step(tuple(row[: self._inputs]), seen).moments)
        moments = Moments(*(np.stack(part) for part in zip(*log, strict=True)))
        return self._result(moments.only_measured(rows), float(begin.t))

    def smooth(self, u: Any, y: Any) -> Estimate:
        """Fit a whole log as one window, from the present estimate; see `inputs`.

        The covariances are those of the smoother of the extended Kalman filter.
        """
        rows, m, begin = self.inputs(u, y), len(self.measured), self._simulator.time
        states, acted, moments = self._smoothed(rows)
        seen = np.where(rows[:, -m:] > 0.0, rows[:, -2 * m : -m], np.nan)
        values, _ = self._solved(states, acted, seen, moments.values)
        self._forget()
        return self._result(moments._replace(values=values), begin)
