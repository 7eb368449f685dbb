"""The least squares of one stage: residuals over load, exact slopes, what the rows determine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, Mask
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
LEAST_NOISE = 3e-4
"""Error over load that equations have anyway: what shows only below it is not told."""
_NO_EFFECT = 1e-6
"""Residual by a usual change of a coefficient that counts as none."""
_MOST_EVALUATIONS = 200
_SHORT = 40
"""Evaluations of a search that shows whether a start is good."""
_OUTLIER = 5.0
"""Standard deviations beyond which a row does not count in the end."""
_MOST_OUTLIERS = 0.1
"""Part of the rows that may be outliers; more are what the equations cannot follow."""
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

    def where(self, rows: Mask) -> Problem:
        """Some of the rows."""
        return Problem(self.kernel, self.rows[rows], self.measured[rows], self.weight[rows])

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
    kept: Mask
    """Rows that are no outliers."""

    @property
    def noise(self) -> float:
        """Standard deviation of the errors that are no outliers."""
        return float(np.sqrt(np.mean(self.errors[self.kept] ** 2)))


Bounds = Mapping[int, tuple[float, float]]


def best_start(
    problem: Problem, guesses: Sequence[Array], free: tuple[int, ...], bounds: Bounds
) -> Array:
    """Of several guesses, where the best of short searches ended."""
    ends: list[tuple[float, Array]] = []
    for guess in guesses:
        x, residual = _short(problem, guess, free, bounds)
        leaves = guess.copy()
        leaves[list(free)] = x
        ends.append((_cost(residual.errors(x), "soft_l1", 0.1), leaves))
    return min(ends, key=lambda end: end[0])[1]


def _short(
    problem: Problem, guess: Array, free: tuple[int, ...], bounds: Bounds
) -> tuple[Array, _Residual]:
    residual = _Residual(problem, guess, free)
    x = _minimum(residual, guess[list(free)], _limits(free, bounds), "soft_l1", 0.1, _SHORT)
    return x, residual


def solve(
    problem: Problem, start: Array, free: tuple[int, ...], bounds: Bounds, loss: str
) -> Solution:
    """The best numbers from a start, with intervals.

    With the loss soft_l1 rows count less from 1.5 standard deviations on, which are estimated from
    the median of all errors; in the end those beyond five do not count at all, unless they are so
    many that they are no outliers.
    """
    residual = _Residual(problem, start, free)
    limits = _limits(free, bounds)
    x, scale = _minimum(residual, start[list(free)], limits, loss, 1.0), 1.0
    for _ in range(0 if loss == "linear" else _RESCALED):
        usual = _NORMAL_MAD * float(np.median(np.abs(residual.errors(x))))
        scale = max(_ROBUST_FROM * usual, _LEAST_SCALE)
        x = _minimum(residual, x, limits, loss, scale)
    kept = np.ones(len(problem.measured), dtype=bool)
    if loss != "linear":
        error = np.abs(residual.errors(x))
        far = error > _OUTLIER * scale / _ROBUST_FROM
        if 0 < far.sum() <= _MOST_OUTLIERS * len(far):
            kept = ~far
            residual = _Residual(problem.where(kept), start, free)
            x = _minimum(residual, x, limits, loss, scale)
    leaves = start.copy()
    leaves[list(free)] = x
    error = residual.errors(x)
    half = _half_widths(error, residual.slopes(x), loss, scale)
    low, high = _narrowed(*limits, 1e-6)
    half[(x <= low) | (x >= high)] = np.nan
    everything = problem.residual(leaves, ())[0]
    return Solution(leaves, _cost(error, loss, scale), half, everything, kept)


def _limits(free: tuple[int, ...], bounds: Bounds) -> tuple[Array, Array]:
    """Lowest and highest values of what is free."""
    pairs = [bounds.get(k, (-np.inf, np.inf)) for k in free]
    return np.array([low for low, _ in pairs]), np.array([high for _, high in pairs])


def _minimum(
    residual: _Residual,
    x: Array,
    bounds: tuple[Array, Array],
    loss: str,
    scale: float,
    most: int = _MOST_EVALUATIONS,
) -> Array:
    from scipy.optimize import least_squares as untyped

    least_squares: Any = untyped
    result = least_squares(
        residual.errors,
        np.clip(x, *_narrowed(*bounds)),
        residual.slopes,
        bounds=bounds,
        x_scale="jac",
        loss=loss,
        f_scale=scale,
        ftol=1e-9,
        xtol=1e-9,
        gtol=1e-12,
        max_nfev=most,
    )
    return result.x


def _narrowed(low: Array, high: Array, share: float = 1e-9) -> tuple[Array, Array]:
    """Bounds a little inside."""
    span = high - low
    room = share * np.where(np.isfinite(span), span, 1.0)
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


def untold(
    problem: Problem, leaves: Array, free: Sequence[int], sizes: Array, noise: float
) -> dict[int, tuple[float, int | None]]:
    """Coefficients that rows with this noise do not tell.

    Each with the half width of its 95 % interval and the one of those before it in the list that it
    is mixed up with most. It is not told if that half width exceeds its size (infinite: it changes
    nothing), or if even without noise others do the same (NaN).
    """
    slopes = problem.residual(leaves, free)[1]
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    kept, basis, vague = list[int](), list[Array](), dict[int, tuple[float, int | None]]()
    for k, column in enumerate(slopes.T):
        size, rest = float(np.linalg.norm(column)), column.copy()
        for direction in (*basis, *basis):  # twice: rounding
            rest -= (direction @ rest) * direction
        own = float(np.linalg.norm(rest))
        half = NORMAL_95 * noise / max(own, 1e-300)
        nothing = size * sizes[k] < _NO_EFFECT * np.sqrt(len(column))
        same = own < _DEPENDENT * size
        if nothing or same or half > sizes[k]:
            others = slopes[:, kept]
            overlap = np.abs(column @ others) / np.linalg.norm(others, axis=0)
            alone = nothing or not kept or float(overlap.max()) < 0.5 * size
            most = None if alone else free[kept[int(np.argmax(overlap))]]
            vague[free[k]] = (np.inf if nothing else np.nan if same and not alone else half, most)
            continue
        kept.append(k)
        basis.append(rest / own)
    return vague


def beside(leaves: Array, free: Sequence[int]) -> Array:
    """Numbers a little off, where no slope vanishes by chance, as that of a shape whose amplitude
    is 0."""
    rng = np.random.default_rng(1)
    moved, places = leaves.copy(), list(free)
    scales = np.maximum(np.abs(leaves[places]), 0.1)
    moved[places] += 0.1 * scales * rng.uniform(0.5, 1.5, len(places))
    return moved
