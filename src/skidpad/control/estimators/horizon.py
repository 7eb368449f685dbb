"""Moving-horizon estimation: least squares over the last measurements, with bounds.

With the linearised step z⁺ = F(z) + noise (Jacobian A) and measurement y = h(z⁺) + noise, `solve`
finds the trajectory of a window that minimises the squared noise, each in its standard deviations,
plus the distance of its start from a prior: Gauss-Newton on the exact Jacobians, with bounds by
projection (D. P. Bertsekas, *SIAM J. Control* 20 (1982) 221) and Huber's loss by reweighting. The
normal equations are block-tridiagonal: time grows linearly with the window.

`MovingHorizonEstimator` does so at every update. The prior of the window's start is the estimate
of an extended Kalman filter at that time, which has the measurements up to there (C. V. Rao, J. B.
Rawlings, D. Q. Mayne, *IEEE Trans. Automatic Control* 48 (2003) 246). For a linear vehicle without
bounds the result is that of the filter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.checks import positive, whole
from ...core.model import Vehicle
from ...errors import InvalidValue
from .kalman import Estimate, ExtendedKalmanFilter, Moments
from .structure import TURNING
from .system import Linearisation, LinearSteps, Path

CONVERGED = 1e-4
"""Change in standard deviations of the start at which the iterations end."""
HALVINGS = 6
"""Largest number of halvings of a step that does not decrease the cost."""


@dataclass(frozen=True)
class Window:
    """A least-squares problem over a window of measurements."""

    lin: Linearisation
    mean: Array
    """Prior of the first node, (n,)."""
    information: Array
    """Inverse covariance of the prior, (n, n)."""
    seen: Array
    """Measurements at nodes 1 ... N, (N, m); NaN where missing."""
    q: Array
    """Variances of the process noise over a step, (n,)."""
    noise: Array
    """Standard deviations of the measurements, (m,)."""
    low: Array
    high: Array
    huber: float | None
    """Residual in standard deviations beyond which the loss grows linearly."""

    def innovations(self, steps: LinearSteps) -> Array:
        """Residuals of the measurements in standard deviations; 0 where missing."""
        e = self.seen - steps.y
        names = self.lin.system.structure.measured
        angles = [k for k, name in enumerate(names) if name in TURNING]
        e[:, angles] = np.arctan2(np.sin(e[:, angles]), np.cos(e[:, angles]))
        return np.where(np.isfinite(self.seen), e / self.noise, 0.0)

    def cost(self, z: Array, steps: LinearSteps) -> float:
        """Half the sum of squares, with Huber's loss for the measurements."""
        start, e = z[0] - self.mean, self.innovations(steps)
        noise = (z[1:] - steps.after) ** 2 / self.q
        loss = 0.5 * e * e
        if self.huber is not None:
            loss = np.where(
                np.abs(e) > self.huber, self.huber * (np.abs(e) - 0.5 * self.huber), loss
            )
        return float(0.5 * (start @ self.information @ start + noise.sum()) + loss.sum())

    def normal_equations(self, z: Array, steps: LinearSteps) -> tuple[Array, Array, Array]:
        """Gradient (N + 1, n), and diagonal and upper blocks of the Hessian, around a path."""
        e = self.innovations(steps)
        weights = np.isfinite(self.seen).astype(float)
        if self.huber is not None:
            weights *= np.minimum(1.0, self.huber / np.maximum(np.abs(e), 1e-9))
        slopes = steps.H / self.noise[:, None]
        jump = (z[1:] - steps.after) / self.q
        A_q = steps.A.swapaxes(1, 2) / self.q
        gradient = np.zeros_like(z)
        gradient[0] = self.information @ (z[0] - self.mean)
        gradient[1:] += jump - np.einsum("kmi,km->ki", slopes, weights * e)
        gradient[:-1] -= np.einsum("kji,kj->ki", steps.A, jump)
        blocks = np.zeros((*z.shape, z.shape[1]))
        blocks[0] = self.information
        blocks[1:] += np.diag(1.0 / self.q)
        blocks[1:] += np.einsum("kmi,km,kmj->kij", slopes, weights, slopes)
        blocks[:-1] += A_q @ steps.A
        return gradient, blocks, -A_q


def solve(window: Window, path: Path, scale: Array, iterations: int) -> tuple[Array, Array]:
    """Path (N + 1, n) that minimises the cost of a window, and the covariance of its last node.

    `path` is the first guess; `scale` (n,) are typical sizes of changes.
    """
    z = np.clip(path.z, window.low, window.high)
    steps = window.lin.along(path._replace(z=z))
    cost, done = window.cost(z, steps), False
    for _ in range(iterations):
        gradient, blocks, upper = window.normal_equations(z, steps)
        free = ~((z <= window.low) & (gradient > 0.0) | (z >= window.high) & (gradient < 0.0))
        # Values at their bounds do not move.
        fixed = np.eye(free.shape[1]) * ~free[:, :, None]
        inside = blocks * (free[:, :, None] & free[:, None, :]) + fixed
        coupled = upper * (free[:-1, :, None] & free[1:, None, :])
        change, _ = _newton_step(gradient * free, inside, coupled, scale)
        share = 1.0
        for _ in range(HALVINGS):
            tried = np.clip(z + share * change, window.low, window.high)
            moved = window.lin.along(path._replace(z=tried))
            lower = window.cost(tried, moved)
            if lower <= cost:
                break
            share *= 0.5
        else:
            break
        done = bool((np.abs(tried - z) <= CONVERGED * scale).all())
        z, steps, cost = tried, moved, lower
        if done:
            break
    return z, _newton_step(*window.normal_equations(z, steps), scale)[1]


def _newton_step(gradient: Array, blocks: Array, upper: Array, scale: Array) -> tuple[Array, Array]:
    """Change -H⁻¹ g for a symmetric block-tridiagonal H, and the last block of H⁻¹.

    The blocks are eliminated one after the other, in units of `scale`.
    """
    across = scale[:, None] * scale
    blocks, upper = blocks * across, upper * across
    right = (-gradient * scale)[:, :, None]
    solved, last, n = list[Array](), len(blocks) - 1, len(scale)
    pivot, side = blocks[0], right[0]
    for k in range(last):
        both = np.linalg.solve(pivot, np.hstack([upper[k], side]))
        solved.append(both)
        pivot = blocks[k + 1] - upper[k].T @ both[:, :n]
        side = right[k + 1] - upper[k].T @ both[:, n:]
    inverse = np.linalg.inv(pivot)
    change = np.empty_like(right)
    change[last] = inverse @ side
    for k in reversed(range(last)):
        change[k] = solved[k][:, n:] - solved[k][:, :n] @ change[k + 1]
    return change[:, :, 0] * scale, 0.5 * (inverse + inverse.T) * across


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
