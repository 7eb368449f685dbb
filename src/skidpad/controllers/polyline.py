"""Lines through points, see `skidpad.plane.line`; and the signed distance from one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import InvalidValue
from ..plane.line import Line, Nearest, directions, vertices
from ..plane.line import arc_length as distances
from .state_conversion import upstream

__all__ = ["Nearest", "directions", "distances", "nearest", "signed_distance", "vertices"]


def nearest(line: Array, places: Array, ends: tuple[float, float] | None = None) -> Nearest:
    """The nearest point of the line for each of the places (k, 2).

    With `ends`, headings in rad, the line goes on straight at its start and its end.
    """
    whole = Line.through(line, name="line")
    if ends is not None:
        inner = whole.heading[1:-1]
        whole = replace(whole, heading=np.concatenate([ends[:1], inner, ends[1:]]))
    return whole.project(places, beyond=ends is not None)


def signed_distance(points: ArrayLike, line: ArrayLike, *, compat: str | None = None) -> Any:
    """Distance from each point to the line, which ends at its ends; positive to its left, m.

    One point (2,) gives a number, (k, 2) an array. At a corner the left is that of the mean
    direction there, at an end that of the first or last segment; straight ahead of an end is left.
    `compat="upstream"` repeats commonroad-control, for which all places nearest to the start are to
    its left.
    """
    places = np.atleast_2d(np.asarray(points, dtype=float))
    if places.ndim != 2 or places.shape[1] != 2 or not np.isfinite(places).all():
        raise InvalidValue(f"points must be finite and of shape (2,) or (k, 2), got {points!r}")
    s, left = Line.through(line, name="line").project(places)
    if upstream(compat):
        left = np.where(s == 0.0, np.abs(left), left)
    return float(left[0]) if np.ndim(points) == 1 else left
