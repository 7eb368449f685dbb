"""Axes of a chart: from numbers to places on the page, and where the ticks are."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np

from ...arrays import Array

__all__ = ["Axis", "axis_of", "equalised"]


@dataclass(frozen=True)
class Axis:
    """A range of numbers on a range of places."""

    low: float
    high: float
    begin: float
    """Place of `low`."""
    end: float
    log: bool = False

    def place(self, values: Any) -> Array:
        """Where numbers are."""
        numbers = np.asarray(values, dtype=float)
        low, high = self.low, self.high
        if self.log:
            with np.errstate(invalid="ignore", divide="ignore"):
                numbers = np.log10(numbers)
            low, high = log10(low), log10(high)
        return self.begin + (self.end - self.begin) * (numbers - low) / (high - low)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Round numbers within it, and their texts."""
        if self.log:
            return _decades(self.low, self.high)
        step = _round_step((self.high - self.low) / most)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        digits = max(0, -floor(log10(step) + 1e-9))
        return [(k * step, _text(k * step, digits)) for k in range(first, last + 1)]


def axis_of(values: Array, begin: float, end: float, *, log: bool = False) -> Axis:
    """An axis that holds all finite numbers, with a little room."""
    known = values[np.isfinite(values) & (values > 0.0 if log else True)]
    if not known.size:
        return Axis(1.0, 10.0, begin, end, log) if log else Axis(0.0, 1.0, begin, end)
    low, high = float(known.min()), float(known.max())
    if log:
        return Axis(low, high if high > low else 10.0 * low, begin, end, log)
    room = 0.04 * (high - low)
    if not room > 1e-9 * max(abs(low), abs(high)):
        room = 0.5 * max(abs(high), 1e-3)
    return Axis(low - room, high + room, begin, end)


def equalised(x: Axis, y: Axis) -> tuple[Axis, Axis]:
    """Both axes, one of them extended so that a metre is as long on both."""
    scales = [(one.high - one.low) / abs(one.end - one.begin) for one in (x, y)]
    scale = max(scales)
    return _widened(x, scale / scales[0]), _widened(y, scale / scales[1])


def _widened(axis: Axis, factor: float) -> Axis:
    middle, half = 0.5 * (axis.low + axis.high), 0.5 * factor * (axis.high - axis.low)
    return Axis(middle - half, middle + half, axis.begin, axis.end)


def _round_step(least: float) -> float:
    """The next of 1, 2 and 5 times a power of ten."""
    if not (isfinite(least) and least > 0.0):
        return 1.0
    power = 10.0 ** floor(log10(least))
    return next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= least)


def _decades(low: float, high: float) -> list[tuple[float, str]]:
    few = high / low < 300.0
    factors = (1.0, 2.0, 5.0) if few else (1.0,)
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    values = [factor * 10.0**power for power in powers for factor in factors]
    inside = [value for value in values if low * 0.999 <= value <= high * 1.001]
    return [(value, f"{value:g}") for value in inside]


def _text(value: float, digits: int) -> str:
    if digits > 4:
        return f"{value + 0.0:.3g}".replace("-", "−")
    return f"{value + 0.0:.{digits}f}".replace("-", "−")
