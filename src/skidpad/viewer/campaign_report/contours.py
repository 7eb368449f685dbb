"""The line on which a surface has a height."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ...arrays import Array

__all__ = ["contour"]

_Point: TypeAlias = tuple[float, float]


def contour(x: Array, y: Array, heights: Array, height: float) -> list[tuple[_Point, _Point]]:
    """Straight pieces of the line, cell by cell between centres x (n,) and y (m,) of heights
    (m, n); NaN counts as its neighbours do."""
    if len(x) < 2 or len(y) < 2:
        return []
    level = _filled(heights) - height
    pieces: list[tuple[_Point, _Point]] = []
    for row in range(len(y) - 1):
        for column in range(len(x) - 1):
            corners = [(row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column)]
            crossings: list[_Point] = []
            for k, (a, b) in enumerate(corners):
                c, d = corners[(k + 1) % 4]
                first, last = level[a, b], level[c, d]
                if (first < 0.0) != (last < 0.0):
                    part = first / (first - last)
                    crossings.append(
                        (
                            float(x[b] + part * (x[d] - x[b])),
                            float(y[a] + part * (y[c] - y[a])),
                        )
                    )
            # Four of a saddle: which two belong together is not known.
            pieces += zip(crossings[::2], crossings[1::2], strict=True)
    return pieces


def _filled(heights: Array) -> Array:
    """With gaps closed by the mean of what is next to them, again and again."""
    filled = heights.copy()
    if not np.isfinite(filled).any():
        return np.zeros_like(filled)
    while np.isnan(filled).any():
        padded = np.pad(filled, 1, constant_values=np.nan)
        beside = np.stack(
            [padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]]
        )
        known = np.isfinite(beside)
        count = known.sum(axis=0)
        means = np.where(known, beside, 0.0).sum(axis=0) / np.maximum(count, 1)
        filled = np.where(np.isnan(filled) & (count > 0), means, filled)
    return filled
