"""How whole-body vibration is weighted: W_k of ISO 2631-1, vertical at the seat.

The transfer function is the product of a high pass and a low pass of the second order, the change
from acceleration to velocity, and a step (ISO 2631-1, annex A; numbers of its table A.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import AnyArray, Array

__all__ = ["FINE_RATE", "W_k", "weighted"]

HIGH_PASS, LOW_PASS = 0.4, 100.0
"""Frequencies in Hz of the ends of the band, both with a quality of 1 / sqrt(2)."""
F_3, F_4, Q_4 = 12.5, 12.5, 0.63
"""From acceleration to velocity."""
F_5, Q_5, F_6, Q_6 = 2.37, 0.91, 3.35, 0.91
"""The upward step."""
FINE_RATE = 2000.0
"""Rate in Hz at which is filtered: the bilinear transform bends no frequency of the band there."""


def _sections() -> tuple[tuple[list[float], list[float]], ...]:
    """Numerators and denominators over s."""
    w_1, w_2, w_3, w_4, w_5, w_6 = (
        2.0 * np.pi * f for f in (HIGH_PASS, LOW_PASS, F_3, F_4, F_5, F_6)
    )
    root = float(np.sqrt(2.0))
    return (
        ([1.0, 0.0, 0.0], [1.0, root * w_1, w_1**2]),
        ([w_2**2], [1.0, root * w_2, w_2**2]),
        ([w_4**2 / w_3, w_4**2], [1.0, w_4 / Q_4, w_4**2]),
        ([1.0, w_5 / Q_5, w_5**2], [1.0, w_6 / Q_6, w_6**2]),
    )


def W_k(f: Array) -> AnyArray:
    """The complex weight at frequencies in Hz."""
    s = 2.0j * np.pi * np.asarray(f, dtype=float)
    return np.prod([np.polyval(b, s) / np.polyval(a, s) for b, a in _sections()], axis=0)


def weighted(a: Array, rate: float) -> Array:
    """An acceleration (T, V), sampled at a rate in Hz, as it is felt: filtered along T."""
    from scipy import signal

    up = max(round(FINE_RATE / rate), 1)
    fine: Any = signal.resample_poly(a, up, 1, axis=0, padtype="line")
    for b, poles in _sections():
        fine = signal.lfilter(*signal.bilinear(b, poles, rate * up), fine, axis=0)
    return fine[::up]
