"""Maximum likelihood at fixed dead times: damped Gauss-Newton, noise estimated on the way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from .problem import Linear, Point, Problem

_MOST_STEPS = 30
_SETTLED = 1e-2
"""Change of twice the log likelihood that no longer matters: intervals are where it changes by
about 4."""
_LEAST_SIGMA = 1e-7
"""Noise of a channel as part of its range that counts as none, so that weights stay finite."""
_DAMPING = 1e-3


class Solution(NamedTuple):
    """The best guess for some dead times."""

    point: Point
    sigma: Array
    """Standard deviation of each channel's error, in its unit."""
    loss: float
    """Twice the negative log likelihood, up to a constant."""
    linear: Linear


def noise(problem: Problem, errors: Array) -> Array:
    """Size (..., channels) of errors (..., channels, windows, rows): root mean square."""
    spans = [np.ptp(problem.replay.measured[name]) for name in problem.channels]
    least = np.maximum(_LEAST_SIGMA * np.array(spans), 1e-12)
    with np.errstate(over="ignore"):  # a candidate that goes wild has an infinite error
        return np.maximum(np.sqrt(np.mean(errors**2, axis=(-2, -1))), least)


def loss_of(problem: Problem, errors: Array) -> Array:
    """Twice the negative log likelihood with the noise that makes it greatest.

    Candidates whose replay diverged have an infinite one.
    """
    many = errors.shape[-1] * errors.shape[-2]
    loss = 2.0 * many * np.log(noise(problem, errors)).sum(axis=-1)
    return np.where(np.isfinite(loss), loss, np.inf)


def solve(problem: Problem, start: Point) -> Solution:
    """The most likely parameters and starts, from a guess."""
    point = start
    errors = problem.errors([point])[0]
    loss, damping = float(loss_of(problem, errors)), _DAMPING
    if not np.isfinite(loss):
        raise InvalidValue(
            f"{problem.replay.vehicle.name} diverges with the parameters that the fit starts from "
            f"when it replays {problem.replay.recorded.name}"
        )
    sigma = noise(problem, errors)
    linear = problem.linear(point, sigma)
    for _ in range(_MOST_STEPS):
        step = _step(problem, linear, point, damping)
        trial = problem.moved(point, linear, step)
        errors = problem.errors([trial])[0]
        trial_loss = float(loss_of(problem, errors))
        if trial_loss < loss:
            gain, point, loss = loss - trial_loss, trial, trial_loss
            sigma = noise(problem, errors)
            linear = problem.linear(point, sigma)
            damping = max(0.1 * damping, 1e-9)
            if gain < _SETTLED:
                break
        else:
            damping *= 30.0
            if damping > 1e9:
                break
    return Solution(point, sigma, loss, linear)


def _step(problem: Problem, linear: Linear, point: Point, damping: float) -> Array:
    """The damped step; parameters at a bound stay there unless they want to leave it."""
    scale = np.array([f.scale for f in problem.free])
    slopes = linear.slopes.reshape(linear.errors.size, len(problem.free)) * scale
    normal, push = slopes.T @ slopes, -slopes.T @ linear.errors.ravel()
    bounds = [(f.low, f.high) for f in problem.free]
    inside = np.array(
        [
            not ((v <= low and g <= 0.0) or (v >= high and g >= 0.0))
            for v, g, (low, high) in zip(point.values, push, bounds, strict=True)
        ],
        dtype=bool,
    )
    step = np.zeros(len(problem.free))
    if inside.any():
        block = np.ix_(inside, inside)
        ridge = damping * (np.diag(np.diag(normal[block])) + 1e-12 * np.eye(int(inside.sum())))
        step[inside] = np.linalg.lstsq(normal[block] + ridge, push[inside], rcond=None)[0]
    # No more than a large change at once: the slopes hold only nearby.
    return scale * np.clip(step, -3.0, 3.0)
