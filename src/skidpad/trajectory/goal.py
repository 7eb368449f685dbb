"""Whether positions lie in an area: a polygon, a shapely geometry, or whatever a function says."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Mask
from ..errors import InvalidValue
from ..plane.polygon import within


def in_area(goal: Any, positions: Array, margin: float) -> Mask:
    """Which positions (n, 2) lie in an area or within `margin` in m of it; the border counts.

    The area is a polygon, as vertices (m, 2) in m, or a shapely geometry.
    """
    if hasattr(goal, "geom_type") and hasattr(goal, "distance"):
        return _in_geometry(goal, positions, margin)
    return within(positions, vertices_of(goal), margin)


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
