"""Whether two vehicles of the same outline touch each other, as a pure function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..body import Pose
from ..ops import maximum, minimum, where
from ..plane.pose import relative, to_world

Corners = Sequence[tuple[Any, Any]]


def touch_each_other(pose: Pose, other: Pose, parts: Sequence[Corners]) -> Any:
    """1.0 if two vehicles with these convex parts have a point in common, else 0.0."""
    seen = relative(pose, other)
    hit: Any = 0.0
    for mine in parts:
        for its in parts:
            moved = [to_world(seen, x, y) for x, y in its]
            gap = maximum(_gap(mine, moved), _gap(moved, mine))
            hit = where(gap <= 0.0, 1.0, hit)
    return hit


def _gap(corners: Corners, others: Corners) -> Any:
    """Above 0 if an edge of the first, counter-clockwise, has all of the second beyond it."""
    widest: Any = -1.0
    for (x0, y0), (x1, y1) in zip(corners, (*corners[1:], corners[0]), strict=True):
        beyond: Any = None
        for x, y in others:
            height = (y1 - y0) * (x - x0) - (x1 - x0) * (y - y0)
            beyond = height if beyond is None else minimum(beyond, height)
        widest = maximum(widest, beyond)
    return widest
