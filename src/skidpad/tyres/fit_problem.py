"""The least squares of one stage: residuals over load, exact slopes, what the rows determine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..identify.intervals import NORMAL_95
from .fit_kernel import Kernel

LOSSES = ("soft_l1", "linear")
_LEAST_SCALE = 1e-3
"""Residual over load up to which rows count in full however well the rest fits."""
_NORMAL_MAD = 1.4826
"""Standard deviation of normal errors over the median of their sizes."""
_ROBUST_FROM = 1.5
"""Standard deviations from which rows count less."""
_RESCALED = 2
"""How often the size of usual errors is estimated anew."""
_DEPENDENT = 1e-4
"""Part of a coefficient's effect that others must leave it, or it cannot be told from them."""
_NO_EFFECT = 1e-6
"""Residual by a usual change of a coefficient that counts as none."""
_MOST_EVALUATIONS = 250
_WILD = 1e3
"""Error over load of a row that the equations have no finite force for."""


@dataclass(frozen=True)
class Problem:
    """Rows of a stage and what they are compared with."""

    kernel: Kernel
    """The response with slopes over all coefficients of the stage: one to compile, whichever of
    them are free."""
    rows: Array
    """Contacts, (rows, `AT`)."""
    measured: Array
    weight: Array
    """What residuals are multiplied with: one over load, for moments over load times radius."""

    def residual(self, leaves: Array, free: Sequence[int]) -> tuple[Array, Array]:
        """Errors (rows,) and their slopes (rows, free) over load."""
        values, slopes = self.kernel(self.rows, leaves)
        columns = [self.kernel.free.index(k) for k in free]
        return (values - self.measured) * self.weight, slopes[:, columns] * self.weight[:, None]


class _Residual:
    """Errors and slopes of one guess at a time, as `least_squares` asks for them apart."""

    def __init__(self, problem: Problem, leaves: Array, free: tuple[int, ...]) -> None:
        self._problem, self._leaves, self._free = problem, leaves.copy(), free
        self._at: Array | None = None
        self._result: tuple[Array, Array] = (np.empty(0), np.empty((0, 0)))

    def _evaluated(self, x: Array) -> tuple[Array, Array]:
        if self._at is None or not np.array_equal(self._at, x):
            self._leaves[list(self._free)] = x
            error, slopes = self._problem.residual(self._leaves, self._free)
            # A guess so wild that it overflows is a bad one, not the end of the fit.
            wild = ~(np.isfinite(error) & np.isfinite(slopes).all(axis=1))
            error, slopes = np.where(wild, _WILD, error), np.where(wild[:, None], 0.0, slopes)
            self._at, self._result = x.copy(), (error, slopes)
        return self._result

    def errors(self, x: Array) -> Array:
        """Errors over load at a guess."""
        return self._evaluated(x)[0]

    def slopes(self, x: Array) -> Array:
        """Their derivatives."""
        return self._evaluated(x)[1]


@dataclass(frozen=True)
class Solution:
    """The best numbers and how certain they are."""

    leaves: Array
    cost: float
    half: Array
    """Half widths of the 95 % intervals; NaN at a bound."""
    errors: Array
    """Residuals over load."""


def solve(
    problem: Problem,
    start: Array,
    free: tuple[int, ...],
    bounds: Mapping[int, tuple[float, float]],
    loss: str,
) -> Solution:
    """The best numbers from a start, with intervals.

    With the loss soft_l1 rows count less from 1.5 standard deviations on, which are estimated from
    the median of all errors, so that outliers do not decide.
    """
    residual = _Residual(problem, start, free)
    low = np.array([bounds.get(k, (-np.inf, np.inf))[0] for k in free])
    high = np.array([bounds.get(k, (-np.inf, np.inf))[1] for k in free])
    x = np.clip(start[list(free)], low, high)
    x, scale = _minimum(residual, x, (low, high), loss, 1.0), 1.0
    for _ in range(0 if loss == "linear" else _RESCALED):
        usual = _NORMAL_MAD * float(np.median(np.abs(residual.errors(x))))
        scale = max(_ROBUST_FROM * usual, _LEAST_SCALE)
        x = _minimum(residual, x, (low, high), loss, scale)
    leaves = start.copy()
    leaves[list(free)] = x
    error = residual.errors(x)
    half = _half_widths(error, residual.slopes(x), loss, scale)
    half[(x <= low) | (x >= high)] = np.nan
    return Solution(leaves, _cost(error, loss, scale), half, error)


def _minimum(
    residual: _Residual, x: Array, bounds: tuple[Array, Array], loss: str, scale: float
) -> Array:
    from scipy.optimize import least_squares

    low, high = bounds
    inside = np.clip(x, *_narrowed(low, high))
    result: Any = least_squares(
        residual.errors,
        inside,
        residual.slopes,
        bounds=(low, high),
        x_scale="jac",
        loss=loss,
        f_scale=scale,
        ftol=1e-10,
        xtol=1e-10,
        gtol=1e-12,
        max_nfev=_MOST_EVALUATIONS,
    )
    return result.x


def _narrowed(low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds a little inside, where the search may start."""
    room = np.where(np.isfinite(high - low), 1e-9 * (high - low), 1e-9)
    return low + room, high - room


def _cost(error: Array, loss: str, scale: float) -> float:
    if loss == "linear":
        return float(np.mean(error**2))
    z = (error / scale) ** 2
    return float(np.mean(2.0 * scale**2 * (np.sqrt(1.0 + z) - 1.0)))


def _half_widths(error: Array, slopes: Array, loss: str, scale: float) -> Array:
    """Half widths of 95 % intervals of errors that are independent (Huber, Robust Statistics)."""
    count, free = slopes.shape
    if not free:
        return np.empty(0)
    push, stiff = error, np.ones(count)
    if loss != "linear":
        z = (error / scale) ** 2
        push, stiff = error / np.sqrt(1.0 + z), (1.0 + z) ** -1.5
    variance = np.mean(push**2) / np.mean(stiff) ** 2 * count / max(count - free, 1)
    size = np.linalg.norm(slopes, axis=0)
    size[size == 0.0] = 1.0
    inverse = np.linalg.pinv((slopes / size).T @ (slopes / size), rcond=1e-14, hermitian=True)
    return NORMAL_95 * np.sqrt(variance * np.maximum(np.diag(inverse), 0.0)) / size


def determined(
    problem: Problem, leaves: Array, free: Sequence[int], scales: Array
) -> dict[int, int | None]:
    """Coefficients that the rows do not tell, each with the one it is mixed up with most, or None
    if it changes nothing.

    Slopes are looked at beside the start, where none of them vanishes by chance; earlier ones in
    the list are kept before later ones.
    """
    places = list(free)
    rng = np.random.default_rng(1)
    beside = leaves.copy()
    beside[places] += 0.1 * scales * rng.uniform(0.5, 1.5, len(places))
    slopes = problem.residual(beside, places)[1] * scales
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    kept: list[int] = []
    basis: list[Array] = []
    untold: dict[int, int | None] = {}
    for k, column in enumerate(slopes.T):
        size = float(np.linalg.norm(column))
        if size < _NO_EFFECT * np.sqrt(len(column)):
            untold[places[k]] = None
            continue
        rest = column.copy()
        for direction in (*basis, *basis):  # twice: rounding
            rest -= (direction @ rest) * direction
        if np.linalg.norm(rest) < _DEPENDENT * size:
            others = slopes[:, kept]
            overlap = np.abs(column @ others) / np.linalg.norm(others, axis=0)
            untold[places[k]] = places[kept[int(np.argmax(overlap))]]
            continue
        kept.append(k)
        basis.append(rest / np.linalg.norm(rest))
    return untold
