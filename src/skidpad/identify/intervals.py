"""How certain an estimate is: covariance, errors that are not white, what cannot be told at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from .least_squares import Solution
from .problem import Problem

NORMAL_95 = 1.959964
"""Half width of a 95 % interval in standard deviations."""
CHI_SQUARE_95 = 3.841459
"""Drop of twice the log likelihood of one parameter at the ends of its 95 % interval."""
_SINGULAR = 1e-7
"""Singular values below this part of the largest one are rounding."""
_LONGEST_S = 1.0
"""Errors further apart than this are taken as independent."""
_SHARE = 0.3
"""Part of a direction that makes a parameter one of those it names."""


class Spread(NamedTuple):
    """Uncertainty of the parameters of a solution."""

    half: Array
    """Half widths of the 95 % intervals."""
    excess: float
    """Variance beside that of white errors of the same size; 1 if they are white."""


def spread(problem: Problem, solution: Solution) -> Spread:
    """Intervals from the slopes, wider where errors follow each other.

    Errors of a real car are no white noise, which makes the usual covariance too small. Its
    corrected form has the autocorrelation of the errors between the slopes (Morelli and Klein,
    Journal of Aircraft 34(2), 1997), here with Bartlett weights, and never makes it smaller.
    """
    scale = np.array([f.scale for f in problem.free])
    slopes = solution.linear.slopes * scale
    windows, rows, count = slopes.shape
    if count == 0:
        return Spread(np.zeros(0), 1.0)
    normal = np.einsum("wrp,wrq->pq", slopes, slopes)
    inverse = np.linalg.pinv(normal, rcond=_SINGULAR**2, hermitian=True)
    known = windows * rows
    taken = count + windows * solution.linear.by_start.shape[2]
    white = np.diag(inverse) * known / max(known - taken, 1)
    middle = normal + _correlated(problem, solution, slopes)
    coloured = np.maximum(np.diag(inverse @ middle @ inverse), white)
    measured = white > 0.0
    excess = float(np.mean(coloured[measured] / white[measured])) if measured.any() else 1.0
    return Spread(NORMAL_95 * scale * np.sqrt(coloured), excess)


def _correlated(problem: Problem, solution: Solution, slopes: Array) -> Array:
    """Sum over lags of the autocorrelation of the errors between slopes that far apart."""
    windows, _, count = slopes.shape
    shape = (windows, len(problem.channels), -1)
    errors = solution.linear.errors.reshape(shape)
    by_channel = slopes.reshape(*shape, count)
    samples = errors.shape[2]
    lags = min(samples // 4, round(_LONGEST_S / problem.replay.recorded.dt))
    # Correlations that noise alone would show are left out.
    least = 2.0 / np.sqrt(windows * samples)
    total = np.zeros((count, count))
    for lag in range(1, lags + 1):
        between = np.mean(errors[:, :, lag:] * errors[:, :, :-lag], axis=(0, 2))
        weight = np.where(np.abs(between) > least, between, 0.0) * (1.0 - lag / (lags + 1))
        if weight.any():
            ahead = by_channel[:, :, lag:] * weight[None, :, None, None]
            part = np.einsum("wcsp,wcsq->pq", ahead, by_channel[:, :, :-lag])
            total += part + part.T
    return total


def untold(problem: Problem, solution: Solution) -> list[tuple[str, ...]]:
    """Groups of parameters that the log cannot tell: alone, or only together.

    A direction is unknown if the log does not change along it at all, or if its standard deviation
    is a large change of the parameters.
    """
    names = [f.name for f in problem.free]
    if not names:
        return []
    scale = np.array([f.scale for f in problem.free])
    slopes = solution.linear.slopes.reshape(-1, len(names)) * scale
    _, s, directions = np.linalg.svd(slopes, full_matrices=False)
    unknown = (s < 1.0) | (s < _SINGULAR * s.max(initial=1e-300))
    return [
        tuple(n for n, part in zip(names, direction, strict=True) if abs(part) > _SHARE)
        for direction in directions[unknown]
    ]


def listed(groups: Sequence[tuple[str, ...]]) -> str:
    """The groups in words."""
    return "; ".join(
        group[0] if len(group) == 1 else f"{', '.join(group)} (only together)" for group in groups
    )
