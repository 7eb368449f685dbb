"""Smoothing and differentiation of the channels of a log without a delay, and their noise.

A parabola is fitted to an odd number of neighbouring samples; its value and slope in the middle
replace the sample (A. Savitzky and M. Golay, Analytical Chemistry 36, 1964). All channels that
enter one equation are smoothed alike, so that they keep their phases and frequency responses.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import savgol_coeffs, savgol_filter

from ...core.arrays import Array
from ...core.checks import increasing, positive
from ...errors import InvalidValue
from ...units import s

FEWEST = 5
"""Fewest samples of a parabola."""


def even_times(t: Array) -> tuple[Array, s]:
    """Times as an array (n,), and their step in s; raises unless they are evenly spaced."""
    times = increasing("t", t, "s")
    if len(times) < FEWEST:
        raise InvalidValue(f"t has {len(times)} samples; at least {FEWEST} are needed")
    steps = np.diff(times)
    dt = float(np.median(steps))
    if np.abs(steps - dt).max() > 0.01 * dt:
        raise InvalidValue(
            f"t must be evenly spaced, but its steps are {steps.min():.4g} to {steps.max():.4g} s: "
            "prepare the log first"
        )
    return times, dt


def samples_of(window: s, dt: s) -> int:
    """Odd number of samples of a parabola that covers a window in s."""
    return max(FEWEST, round(positive("window", window, "s") / dt) | 1)


def smoothed(values: Array, count: int, dt: float, order: int = 0) -> Array:
    """Values, or their rate for `order` 1, by parabolas through `count` samples; NaN within gaps
    and in stretches that are shorter than a parabola."""
    result = np.full(len(values), np.nan)
    known = np.concatenate(([0], np.isfinite(values).astype(int), [0]))
    for first, end in np.flatnonzero(np.diff(known)).reshape(-1, 2):
        if end - first >= count:
            result[first:end] = savgol_filter(values[first:end], count, 2, deriv=order, delta=dt)
    return result


def noise_passed(count: int, dt: float, order: int) -> float:
    """Standard deviation that white noise of 1 has after `smoothed`."""
    return float(np.linalg.norm(savgol_coeffs(count, 2, deriv=order, delta=dt)))


def white_noise(values: Array) -> float:
    """Standard deviation of the white noise of a channel, from its third differences."""
    third = np.diff(values, n=3)
    third = third[np.isfinite(third)]
    # Robust against the few samples at which the signal itself changes fast.
    return float(1.4826 * np.median(np.abs(third)) / np.sqrt(20.0)) if third.size else 0.0
