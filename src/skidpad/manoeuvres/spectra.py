"""Frequency responses from recorded signals, by averaged spectra of all variants at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array
from .case_run import CaseRun

__all__ = ["Response", "bandwidth_of", "estimated_response"]

FALLEN = 1.0 / np.sqrt(2.0)
"""Share of the slow gain at which a band ends: -3 dB."""


class Response(NamedTuple):
    """From an angle to an answer."""

    frequency: Array
    """In Hz, (F,)."""
    gain: AnyArray
    """Complex, (F, V)."""
    coherence: Array
    """(F, V), 1 where the answer is wholly linear in the angle."""
    averaged: Array
    """(F,), number of spectra that each value is the mean of."""

    def where_coherent(self, least: float) -> Response:
        """The same with NaN for gains at frequencies of low coherence: below `least`, or below what
        noise reaches in one of twenty cases, 1 - 0.05^(1 / (n - 1)) with n spectra."""
        chance = 1.0 - 0.05 ** (1.0 / np.maximum(self.averaged - 1.0, 1e-3))
        with np.errstate(invalid="ignore"):
            coherent = self.coherence >= np.maximum(least, chance)[:, None]
        return self._replace(gain=np.where(coherent, self.gain, np.nan))

    @property
    def bandwidth(self) -> Array:
        """In Hz, (V,); NaN where the gain does not fall within the band."""
        columns = np.abs(self.gain).T
        return np.array([bandwidth_of(self.frequency, column) for column in columns])

    def phase_at(self, frequency: float) -> Array:
        """In rad, (V,), not wrapped from the lowest frequency on; NaN where it is not known."""
        return np.array([self._phase_at(frequency, gain) for gain in self.gain.T])

    def _phase_at(self, frequency: float, gain: AnyArray) -> float:
        phase, known = np.angle(gain), np.isfinite(gain)
        phase[known] = np.unwrap(phase[known])
        ends = {"left": np.nan, "right": np.nan}
        return float(np.interp(frequency, self.frequency, phase, **ends))


def bandwidth_of(frequency: Array, gain: Array) -> float:
    """Where a gain first falls below 0.707 of its first value, in Hz; NaN if nowhere."""
    low = gain < FALLEN * gain[0]
    if not low.any():
        return float("nan")
    k = int(np.argmax(low))
    share = (gain[k - 1] - FALLEN * gain[0]) / (gain[k - 1] - gain[k])
    return float(frequency[k - 1] + share * (frequency[k] - frequency[k - 1]))


def estimated_response(
    runs: Sequence[CaseRun], angle: str, answer: str, band: tuple[float, float]
) -> Response:
    """The answer over the angle (H1 estimate), from spectra averaged over runs and neighbours."""
    cross: AnyArray = np.zeros(1)
    own = other = np.zeros(1)
    dt = runs[0].t[1] - runs[0].t[0]
    for run in runs:
        u, y = (np.fft.rfft(run[name] - run[name].mean(axis=0), axis=0) for name in (angle, answer))
        cross, own, other = cross + y * u.conj(), own + np.abs(u) ** 2, other + np.abs(y) ** 2
    frequency = np.fft.rfftfreq(len(runs[0].t), dt)
    # The last sample makes a drive a little longer, and so no frequency exactly the band's end.
    near = 0.5 * frequency[1]
    kept = (frequency > band[0] - near) & (frequency < band[1] + near)
    cross, own, other = (_smoothed(part, frequency)[kept] for part in (cross, own, other))
    coherence = np.real(np.abs(cross) ** 2 / (own * other))
    low, high = _neighbours(frequency)
    averaged = len(runs) * (high - low)[kept].astype(float)
    return Response(frequency[kept], cross / own, coherence, averaged)


def _neighbours(
    frequency: Array, octaves: float = 0.06
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Begin and end of the neighbours of each frequency within a part of an octave."""
    step = frequency[1]
    low = np.floor(frequency * 2.0 ** (-0.5 * octaves) / step).astype(int)
    high = np.ceil(frequency * 2.0 ** (0.5 * octaves) / step).astype(int) + 1
    return low, np.minimum(high, len(frequency))


def _smoothed(spectrum: AnyArray, frequency: Array) -> AnyArray:
    """The mean over neighbours, more of them at high frequencies."""
    sums = np.concatenate([np.zeros_like(spectrum[:1]), np.cumsum(spectrum, axis=0)])
    low, high = _neighbours(frequency)
    return (sums[high] - sums[low]) / (high - low)[:, None]
