"""Rings and lines of points (n, 2): what may be one, their edges, areas and what lies inside.

A ring does not repeat its first vertex at its end. Its border belongs to it unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Mask
from ..errors import InvalidValue
from ..units import m
from .pose import to_world

FARTHEST: m = 1e9
"""Largest coordinate: beyond it neighbouring float64 numbers are more than 0.1 µm apart."""

_FLAT = 1e-12
"""A ring thinner than this part of its length encloses nothing."""

_BLOCK = 4_000_000
"""Point-edge pairs looked at in one go, which keeps the memory at some tens of MB."""

VertexName = Callable[[int], str]
"""How to name a vertex in an error."""
AnyNumbers = TypeVar("AnyNumbers", bound=NDArray[Any])


def points_of(
    name: str, values: Any, least: int = 0, vertex_name: VertexName | None = None
) -> Array:
    """Points (x, y) in m as a read-only copy, shape (N, 2); raises unless all are finite."""
    at = vertex_name or (lambda k: f"{name}, vertex {k}")
    try:
        points = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"{name} must hold numbers in rows of 2: {error}") from error
    if points.size == 0 and points.ndim <= 2:
        points = points.reshape(0, 2)
    if points.ndim != 2 or points.shape[1] != 2:
        raise InvalidValue(f"{name} has shape {points.shape}; allowed is (N, 2)")
    wrong = np.flatnonzero(~(np.abs(points) <= FARTHEST).all(axis=1))
    if wrong.size:
        x, y = points[wrong[0]]
        raise InvalidValue(
            f"{at(int(wrong[0]))}: ({x:g}, {y:g}) must be finite and within {FARTHEST:g} m"
        )
    if len(points) < least:
        raise InvalidValue(f"{name} has {len(points)} vertices; needed are at least {least}")
    return frozen(points)


def ring_of(name: str, values: Any) -> Array:
    """A ring without its closing vertex and without repeats; raises if it encloses nothing."""
    points = points_of(name, values)
    if len(points) == 0:
        raise InvalidValue(f"{name} is empty: a ring needs at least 3 different vertices")
    ring = points[np.any(points != np.roll(points, -1, axis=0), axis=1)]
    distinct = len({(x, y) for x, y in points.tolist()})
    if distinct < 3:
        raise InvalidValue(f"{name} has {distinct} different vertices; a ring needs at least 3")
    if _is_flat(ring):
        raise InvalidValue(f"{name} encloses no area: its {distinct} vertices lie on one line")
    return frozen(ring)


def line_of(name: str, values: Any) -> Array:
    """A polyline without repeats of the vertex before; raises unless it has some length."""
    points = points_of(name, values)
    moved = np.any(np.diff(points, axis=0) != 0.0, axis=1)
    line = points[np.concatenate([[True], moved])] if len(points) else points
    if len(line) < 2:
        raise InvalidValue(f"{name} has {len(line)} different vertices; a line needs at least 2")
    return frozen(line)


def _is_flat(ring: Array) -> bool:
    offsets = ring - ring[0]
    lengths: Array = np.hypot(offsets[:, 0], offsets[:, 1])
    far = offsets[int(lengths.argmax())]
    across: Array = np.abs(far[0] * offsets[:, 1] - far[1] * offsets[:, 0])
    return float(across.max()) <= _FLAT * float(lengths.max()) ** 2


def frozen(array: AnyNumbers) -> AnyNumbers:
    """The array, read-only from now on."""
    array.flags.writeable = False
    return array


def line_edges(line: Array) -> Array:
    """Segments (x0, y0, x1, y1) along a polyline."""
    return np.hstack([line[:-1], line[1:]])


def ring_edges(ring: Array) -> Array:
    """Segments (x0, y0, x1, y1) around a ring, the last one back to the first vertex."""
    return np.hstack([ring, np.roll(ring, -1, axis=0)])


def moved_edges(edges: Array, poses: Array) -> Array:
    """Segments (n, 4) given in the frames of poses x, y, yaw (n, 3), or of one for all, (1, 3), in
    the world."""
    x, y = to_world(poses.T, edges.T[::2], edges.T[1::2])
    return np.stack([x[0], y[0], x[1], y[1]], axis=1)


def edges_at(outlines: Sequence[Any], pose: Any = (0.0, 0.0, 0.0)) -> Array:
    """Edges (n, 4) in the world of closed outlines, each (k, 2), that lie at a pose x, y, yaw."""
    rings = [np.asarray(outline, dtype=float) for outline in outlines]
    return moved_edges(stacked_edges(rings), np.array([pose], dtype=float))


def stacked_edges(rings: Sequence[Array], lines: Sequence[Array] = ()) -> Array:
    """The segments of rings and lines, in their order, shape (n, 4)."""
    parts = [*(ring_edges(ring) for ring in rings), *(line_edges(line) for line in lines)]
    return np.concatenate(parts) if parts else np.empty((0, 4))


def signed_area(ring: Any) -> float:
    """Area in m², positive for a ring that runs counter-clockwise."""
    corners = np.asarray(ring, dtype=np.float64)
    # About its first corner, as far from the origin the products would lose all digits.
    x, y = (corners - corners[0]).T
    return 0.5 * float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def enclosed(points: Array, ring: Array, *, border: bool = True) -> Mask:
    """Which points lie inside a ring by the even-odd rule; those on its edges count as `border`."""
    result = np.zeros(len(points), dtype=np.bool_)
    near = np.flatnonzero(
        np.all((points >= ring.min(axis=0)) & (points <= ring.max(axis=0)), axis=1)
    )
    block = max(1, _BLOCK // len(ring))
    for begin in range(0, near.size, block):
        rows = near[begin : begin + block]
        result[rows] = _enclosed(points[rows], ring, border)
    return result


def _enclosed(points: Array, ring: Array, border: bool) -> Mask:
    edges = ring_edges(ring)
    x, y = points[:, :1], points[:, 1:]
    x0, y0, x1, y1 = edges.T
    side: Array = (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)
    upward = (y0 <= y) & (y < y1)
    downward = (y1 <= y) & (y < y0)
    crossings = np.count_nonzero((upward & (side > 0.0)) | (downward & (side < 0.0)), axis=1)
    inside: Mask = crossings % 2 == 1
    between = (np.minimum(x0, x1) <= x) & (x <= np.maximum(x0, x1))
    between &= (np.minimum(y0, y1) <= y) & (y <= np.maximum(y0, y1))
    on_edge: Mask = np.any((side == 0.0) & between, axis=1)
    return (inside | on_edge) if border else (inside & ~on_edge)


def within(points: Array, ring: Array, margin: m) -> Mask:
    """Which points lie inside a ring or no further than `margin` from its border."""
    result = enclosed(points, ring)
    # The border itself is exact above, where a distance would be rounded.
    if margin > 0.0:
        result |= distances(points, ring_edges(ring)).min(axis=1) <= margin
    return result


def distances(points: Array, segments: Array) -> Array:
    """Distance in m of each point (n, 2) from each segment (k, 4), shape (n, k)."""
    along = segments[:, 2:] - segments[:, :2]
    squared = np.maximum((along * along).sum(axis=1), np.finfo(float).tiny)
    offset = points[:, None] - segments[:, :2]
    share = np.clip((offset * along).sum(axis=2) / squared, 0.0, 1.0)
    gap = offset - share[..., None] * along
    return np.hypot(gap[..., 0], gap[..., 1])
