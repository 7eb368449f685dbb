"""Whether positions lie in an area: a polygon, a shapely geometry, or whatever a function says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Mask
from ..errors import InvalidValue


def checked_margin(margin: float) -> float:
    """The margin, if it is a distance in m."""
    if not (math.isfinite(margin) and margin >= 0.0):
        raise InvalidValue(f"margin = {margin} m must be finite and at least 0")
    return float(margin)


def in_area(goal: Any, positions: Array, margin: float) -> Mask:
    """Which positions (n, 2) lie in an area or within `margin` in m of it; the border counts.

    The area is a polygon, as vertices (m, 2) in m, or a shapely geometry.
    """
    if hasattr(goal, "geom_type") and hasattr(goal, "distance"):
        return _in_geometry(goal, positions, margin)
    return in_polygon(vertices_of(goal), positions, margin)


def vertices_of(goal: Any) -> Array:
    """The vertices (m, 2) of a polygon; raises for anything else."""
    try:
        vertices: NDArray[Any] = np.asarray(goal, dtype=float)
    except (TypeError, ValueError):
        vertices = np.empty(0)
    if vertices.ndim != 2 or vertices.shape[1] != 2 or len(vertices) < 3:
        raise InvalidValue(
            f"goal = {goal!r} must be a polygon (at least 3 vertices, shape (m, 2)), a shapely "
            "geometry, a function of a point, or a CommonRoad planning problem or goal region"
        )
    if not np.isfinite(vertices).all():
        raise InvalidValue("goal has a vertex that is not finite")
    return vertices


def _in_geometry(area: Any, positions: Array, margin: float) -> Mask:
    import shapely

    return np.asarray(shapely.distance(area, shapely.points(positions)) <= margin)


def in_polygon(vertices: Array, positions: Array, margin: float = 0.0) -> Mask:
    """Which positions lie in a polygon or no further than `margin` from its border, in m."""
    start, end = vertices, np.roll(vertices, -1, axis=0)
    near = _distance(start, end, positions) <= margin
    # Crossings of a ray to the right: an odd number of them is inside.
    x, y = positions[:, None, 0], positions[:, None, 1]
    crosses = (start[:, 1] <= y) != (end[:, 1] <= y)
    rise = np.where(crosses, end[:, 1] - start[:, 1], 1.0)
    at = start[:, 0] + (y - start[:, 1]) * (end[:, 0] - start[:, 0]) / rise
    return near | ((crosses & (x < at)).sum(axis=1) % 2 == 1)


def _distance(start: Array, end: Array, positions: Array) -> Array:
    """Distance of each position to the nearest of some segments, in m."""
    along = end - start
    squared = np.maximum((along**2).sum(axis=1), np.finfo(float).tiny)
    offset = positions[:, None, :] - start
    part = np.clip((offset * along).sum(axis=2) / squared, 0.0, 1.0)
    return np.linalg.norm(offset - part[..., None] * along, axis=2).min(axis=1)
