"""Checks of what a planning simulator is given; each raises `InvalidValue` or returns the value."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from ...errors import InvalidValue


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise InvalidValue(f"{name} = {value!r} must be True or False")
    return value


def finite(name: str, value: Any) -> float:
    """A finite number as a float."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidValue(f"{name} = {value!r} must be a number")
    if not math.isfinite(value):
        raise InvalidValue(f"{name} = {value} must be finite")
    return float(value)


def whole(name: str, value: Any) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidValue(f"{name} = {value!r} must be a whole number")
    return int(value)


def seed(value: Any) -> int:
    """A seed of random numbers."""
    number = whole("seed", value)
    if not 0 <= number < 2**64:
        raise InvalidValue(f"seed = {number} must be from 0 to 2**64 - 1")
    return number


def columns(given: Any) -> np.ndarray | None:
    """The rows x, y, z of an array (3, n) from points (n, 3) in m; None if there are none."""
    if given is None:
        return None
    try:
        points = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise InvalidValue("trajectory must be numbers: points of x, y, z in m") from None
    if points.size == 0:
        return None
    if points.ndim != 2 or points.shape[1] != 3:
        raise InvalidValue(f"trajectory has shape {points.shape}; expected (n, 3): x, y, z in m")
    if not np.isfinite(points).all():
        row = int(np.argwhere(~np.isfinite(points))[0, 0])
        raise InvalidValue(f"trajectory[{row}] = {points[row].tolist()} must be finite")
    return np.ascontiguousarray(points.T)
