"""A histogram of numbers that are still coming in, in constant memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import AnyArray

BINS = 64
_LARGEST = 1e300
"""Numbers beyond count as that: twice their span is to be a number, too."""


class RunningHistogram:
    """Counts in equal bins, two of which become one whenever a number lies outside of them all."""

    def __init__(self) -> None:
        self._counts = np.zeros(BINS, np.int64)
        self._low, self._width = 0.0, 0.0
        self.without = 0
        """How many were no numbers."""
        self._total, self._count = 0.0, 0
        self._lowest, self._highest = np.inf, -np.inf

    def add(self, values: AnyArray) -> None:
        """Count these, too."""
        numbers = np.asarray(values, float)
        known = np.clip(numbers[~np.isnan(numbers)], -_LARGEST, _LARGEST)
        self.without += numbers.size - known.size
        if not known.size:
            return
        low, high = float(known.min()), float(known.max())
        if not self._count:
            # A single number has bins around it.
            span = (high - low) * (1.0 + 1e-9) or max(abs(low) * 1e-6, 1e-9)
            self._low, self._width = low if high > low else low - 0.5 * span, span / BINS
        self._reach(low, high)
        self._count += known.size
        self._total += float(known.sum())
        self._lowest, self._highest = min(low, self._lowest), max(high, self._highest)
        places = ((known - self._low) / self._width).astype(np.int64)
        self._counts += np.bincount(np.clip(places, 0, BINS - 1), minlength=BINS)

    def _reach(self, low: float, high: float) -> None:
        empty = np.zeros(BINS // 2, np.int64)
        while low < self._low or high > self._low + BINS * self._width:
            pairs = self._counts.reshape(-1, 2).sum(axis=1)
            if low < self._low:
                self._low -= BINS * self._width
                self._counts = np.concatenate([empty, pairs])
            else:
                self._counts = np.concatenate([pairs, empty])
            self._width *= 2.0

    def plain(self) -> dict[str, Any]:
        """Counts of the bins from the first to the last that is not empty, where the first begins,
        how wide they are, and the smallest and the largest number."""
        filled = np.flatnonzero(self._counts)
        if not filled.size:
            return {"counts": [], "mean": None, "without": self.without}
        first, last = int(filled[0]), int(filled[-1]) + 1
        return {
            "begin": self._low + first * self._width,
            "width": self._width,
            "lowest": self._lowest,
            "highest": self._highest,
            "counts": self._counts[first:last].tolist(),
            "mean": self._total / self._count,
            "without": self.without,
        }
