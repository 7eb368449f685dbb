"""Rise, peak and overshoot of an answer to a step, of all variants at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..units import s
from .case_run import CaseRun

__all__ = ["StepResponse", "cubic_at", "first_time", "passing_time", "step_response"]

AVERAGED: s = 0.5
"""At the end of a run, over which the steady value is averaged."""


LEAST_PEAK = 5e-4
"""Overshoot below which an answer has no peak: the highest sample of one that creeps up is any."""


class StepResponse(NamedTuple):
    """Each (V,)."""

    steady: Array
    """Mean at the end, without its sign; all others are NaN of a signal that a log tells in a
    steady state alone."""
    rise: Array
    """From the step to 90 % of it, in s."""
    peak_time: Array
    """From the step to the peak, in s; NaN where it only creeps up, and has none."""
    overshoot: Array
    """Peak over steady value, less one; 0 where it only creeps up."""


def step_response(run: CaseRun, name: str, at: s) -> StepResponse:
    """Of a signal to a step at a time."""
    steady = run.since(run.t[-1] - AVERAGED)[name].mean(axis=0)
    kept = run.since(0.0)
    answer = kept.changing(name) / np.where(steady == 0.0, 1.0, steady)
    rise = first_time(kept.t, answer, 0.9) - at
    peak_time, peak = peak_of(kept.t, answer)
    peaks = peak > 1.0 + LEAST_PEAK
    peak_time = np.where(peaks, peak_time - at, np.nan)
    overshoot = np.where(peaks | np.isnan(peak), peak - 1.0, 0.0)
    return StepResponse(np.abs(steady), rise, peak_time, overshoot)


def first_time(t: Array, values: Array, level: float) -> Array:
    """When each column (T, V) first reaches a level, linear between samples; NaN if never."""
    above = values >= level
    k = np.argmax(above, axis=0)
    column = np.arange(values.shape[1])
    before = np.maximum(k - 1, 0)
    low, high = values[before, column], values[k, column]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(k > 0, (level - low) / (high - low), 0.0)
    return np.where(above.any(axis=0), t[before] + share * (t[k] - t[before]), np.nan)


def cubic_at(t: Array, values: Array, at: Array) -> Array:
    """Each column (T, V) at a time of its own, (V,), by a cubic through the four nearest samples;
    NaN at a time that is NaN."""
    step, column = t[1] - t[0], np.arange(values.shape[1])
    place = (np.nan_to_num(at) - t[0]) / step
    k = np.clip(np.floor(place).astype(int), 1, len(t) - 3)
    z = np.where(np.isfinite(at), place - k, np.nan)
    weights = (
        -z * (z - 1.0) * (z - 2.0) / 6.0,
        (z + 1.0) * (z - 1.0) * (z - 2.0) / 2.0,
        -(z + 1.0) * z * (z - 2.0) / 2.0,
        (z + 1.0) * z * (z - 1.0) / 6.0,
    )
    return sum((w * values[k + d, column] for d, w in enumerate(weights, -1)), 0.0 * z)


def passing_time(t: Array, values: Array, rates: Array, level: float) -> Array:
    """When each column (T, V) first reaches a level, by a cubic between samples, so that the
    sampling does not show; `rates` are those of the columns. NaN if never."""
    at = first_time(t, values, level)
    for _ in range(4):  # Newton's method, from a start that is wrong by less than a sample
        at = at - (cubic_at(t, values, at) - level) / cubic_at(t, rates, at)
    return at


def peak_of(t: Array, values: Array) -> tuple[Array, Array]:
    """Time and height of the peak of each column, by a parabola through the highest samples; the
    height is NaN of a column without numbers."""
    k = np.clip(np.argmax(np.nan_to_num(values, nan=-np.inf), axis=0), 1, len(t) - 2)
    column = np.arange(values.shape[1])
    a, b, c = (values[k + d, column] for d in (-1, 0, 1))
    bend = a - 2.0 * b + c
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = np.where(bend < 0.0, 0.5 * (a - c) / bend, 0.0)
    shift = np.clip(shift, -0.5, 0.5)
    return t[k] + shift * (t[1] - t[0]), b - 0.25 * (a - c) * shift
