"""Checks of what a planning simulator is given; each raises `InvalidValue` or returns the value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import whole
from ...errors import InvalidValue


def seed(value: Any) -> int:
    """A seed of random numbers."""
    number = whole("seed", value, least=None)
    if not 0 <= number < 2**64:
        raise InvalidValue(f"seed = {number} must be from 0 to 2**64 - 1")
    return number


def columns(values: Any) -> np.ndarray | None:
    """The rows x, y, z of an array (3, n) from points (n, 3) in m; None if there are none."""
    if values is None:
        return None
    try:
        points = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue("trajectory must be numbers: points of x, y, z in m") from None
    if points.size == 0:
        return None
    if points.ndim != 2 or points.shape[1] != 3:
        raise InvalidValue(f"trajectory has shape {points.shape}; expected (n, 3): x, y, z in m")
    if not np.isfinite(points).all():
        row = int(np.argwhere(~np.isfinite(points))[0, 0])
        raise InvalidValue(f"trajectory[{row}] = {points[row].tolist()} must be finite")
    return np.ascontiguousarray(points.T)
