"""Rings and lines of points (n, 2), and outlines of objects as tuples of few corners.

A ring does not repeat its first vertex at its end. Its border is included unless noted otherwise.
The first part checks arrays and computes edges, areas and containment; the second part
(from `cleaned` on) checks outlines and computes moments, hulls and convex parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array, Mask
from ..core.body import Outline, Point
from ..errors import InvalidValue
from ..units import m
from .pose import to_world

FARTHEST: m = 1e9
"""Largest coordinate: beyond it adjacent float64 numbers are more than 0.1 µm apart."""

_FLAT = 1e-12
"""Thickness, as a share of its length, below which a ring encloses nothing."""

_BLOCK = 4_000_000
"""Point-edge pairs processed at once, which limits memory to some tens of MB."""

VertexName = Callable[[int], str]
"""Type of a function that returns the name of a vertex for errors, from its index."""
AnyNumbers = TypeVar("AnyNumbers", bound=NDArray[Any])


def points_of(
    name: str, values: Any, least: int = 0, vertex_name: VertexName | None = None
) -> Array:
    """Read-only copy of points (x, y) in m, shape (N, 2); raises unless all are finite."""
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
    """A ring without closing vertex and duplicates; raises if it encloses nothing."""
    points = points_of(name, values)
    if len(points) == 0:
        raise InvalidValue(f"{name} is empty: a ring needs at least 3 different vertices")
    ring = points[np.any(points != np.roll(points, -1, axis=0), axis=1)]
    distinct = len({(x, y) for x, y in points.tolist()})
    if distinct < 3:
        raise InvalidValue(f"{name} has {distinct} different vertices; a ring needs at least 3")
    # The ring is too thin for its length to enclose an area.
    offsets = ring - ring[0]
    lengths: Array = np.hypot(offsets[:, 0], offsets[:, 1])
    far = offsets[int(lengths.argmax())]
    across: Array = np.abs(far[0] * offsets[:, 1] - far[1] * offsets[:, 0])
    if float(across.max()) <= _FLAT * float(lengths.max()) ** 2:
        raise InvalidValue(f"{name} encloses no area: its {distinct} vertices lie on one line")
    return frozen(ring)


def line_of(name: str, values: Any) -> Array:
    """A polyline without consecutive duplicates; raises unless it has a positive length."""
    points = points_of(name, values)
    moved = np.any(np.diff(points, axis=0) != 0.0, axis=1)
    line = points[np.concatenate([[True], moved])] if len(points) else points
    if len(line) < 2:
        raise InvalidValue(f"{name} has {len(line)} different vertices; a line needs at least 2")
    return frozen(line)


def frozen(array: AnyNumbers) -> AnyNumbers:
    """Make an array read-only and return it."""
    array.flags.writeable = False
    return array


def line_edges(line: Array) -> Array:
    """Segments (x0, y0, x1, y1) along a polyline."""
    return np.hstack([line[:-1], line[1:]])


def ring_edges(ring: Array) -> Array:
    """Segments (x0, y0, x1, y1) around a ring, including the segment back to the first vertex."""
    return np.hstack([ring, np.roll(ring, -1, axis=0)])


def moved_edges(edges: Array, poses: Array) -> Array:
    """World coordinates of segments (n, 4) given in the frames of poses x, y, yaw (n, 3), or of a
    common one, (1, 3)."""
    x, y = to_world(poses.T, edges.T[::2], edges.T[1::2])
    return np.stack([x[0], y[0], x[1], y[1]], axis=1)


def edges_at(outlines: Sequence[Any], pose: Any = (0.0, 0.0, 0.0)) -> Array:
    """Edges (n, 4) in the world of closed outlines, each (k, 2), at a pose x, y, yaw."""
    rings = [np.asarray(outline, dtype=float) for outline in outlines]
    return moved_edges(stacked_edges(rings), np.array([pose], dtype=float))


def stacked_edges(rings: Sequence[Array], lines: Sequence[Array] = ()) -> Array:
    """Segments of rings and lines in order, shape (n, 4)."""
    parts = [*(ring_edges(ring) for ring in rings), *(line_edges(line) for line in lines)]
    return np.concatenate(parts) if parts else np.empty((0, 4))


def signed_area(ring: Any) -> float:
    """Signed area of a ring in m², positive if it is counter-clockwise."""
    corners = np.asarray(ring, dtype=np.float64)
    # Use coordinates relative to the first corner: far from the origin the products would lose all
    # digits.
    x, y = (corners - corners[0]).T
    return 0.5 * float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def enclosed(points: Array, ring: Array, *, border: bool = True) -> Mask:
    """Mask of the points inside a ring by the even-odd rule; points on its edges count as
    `border`."""
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
    """Mask of the points inside a ring or within `margin` of its border."""
    result = enclosed(points, ring)
    # Points on the border are decided exactly above, whereas a distance would be rounded.
    if margin > 0.0:
        result |= distances(points, ring_edges(ring)).min(axis=1) <= margin
    return result


def distances(points: Array, segments: Array) -> Array:
    """Distances in m of points (n, 2) from segments (k, 4), shape (n, k)."""
    along = segments[:, 2:] - segments[:, :2]
    squared = np.maximum((along * along).sum(axis=1), np.finfo(float).tiny)
    offset = points[:, None] - segments[:, :2]
    share = np.clip((offset * along).sum(axis=2) / squared, 0.0, 1.0)
    gap = offset - share[..., None] * along
    return np.hypot(gap[..., 0], gap[..., 1])


MOST_CORNERS = 14
"""Most corners of a convex piece in upstream's build of Box2D; also the limit for meshes and
cylinders."""
_OUTLINE_FLAT = 1e-9
"""Sine below which two edges count as collinear."""


class Moments(NamedTuple):
    area: float
    """Area in m²."""
    x: m
    """x coordinate of the centroid."""
    y: m
    """y coordinate of the centroid."""
    polar: float
    """Polar second moment about the centroid divided by the area, in m²."""


def cleaned(points: Sequence[Point]) -> Outline:
    """Clean an outline: counter-clockwise corners without duplicates and without collinear corners.

    Raises for fewer than 3 corners, no area, and edges that cross or touch.
    """
    corners = _without_repeats(points)
    if len(corners) < 3:
        raise InvalidValue(f"an outline needs 3 corners or more that differ, got {len(corners)}")
    _check_simple(corners)
    around = zip([corners[-1], *corners], corners, [*corners[1:], corners[0]], strict=False)
    kept = [
        b
        for a, b, c in around
        if abs(_cross(a, b, c)) > _OUTLINE_FLAT * math.dist(a, b) * math.dist(b, c)
    ]
    extent = max(max(column) - min(column) for column in zip(*kept, strict=True)) if kept else 0.0
    if len(kept) < 3 or abs(signed_area(kept)) < 1e-12 * extent**2:
        raise InvalidValue("an outline needs an area: all its corners lie on one line")
    return tuple(kept if signed_area(kept) > 0.0 else reversed(kept))


def moments(corners: Sequence[Point]) -> Moments:
    """Moments of a polygon of either orientation, by Green's theorem.

    Raises if it encloses no area.
    """
    x_0, y_0 = corners[0]
    # Use coordinates relative to a corner, so that a small figure far from the origin keeps its
    # digits.
    seen = [(x - x_0, y - y_0) for x, y in corners]
    total = first_x = first_y = second = 0.0
    for (a_x, a_y), (b_x, b_y) in pairwise([*seen, seen[0]]):
        cross = a_x * b_y - b_x * a_y
        total += cross / 2.0
        first_x += cross * (a_x + b_x) / 6.0
        first_y += cross * (a_y + b_y) / 6.0
        squares = a_x * a_x + a_x * b_x + b_x * b_x + a_y * a_y + a_y * b_y + b_y * b_y
        second += cross * squares / 12.0
    if total == 0.0:
        raise InvalidValue(f"the shape {list(corners)} encloses no area")
    x, y = first_x / total, first_y / total
    return Moments(abs(total), x_0 + x, y_0 + y, second / total - (x * x + y * y))


def hull(points: Sequence[Point]) -> Outline:
    """Convex hull, counter-clockwise (Andrew's monotone chain)."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        raise InvalidValue(f"a hull needs 3 points or more that differ, got {len(ordered)}")

    def chain(line: Sequence[Point]) -> list[Point]:
        kept: list[Point] = []
        for p in line:
            while len(kept) > 1 and _cross(kept[-2], kept[-1], p) <= 0.0:
                kept.pop()
            kept.append(p)
        return kept[:-1]

    return tuple(chain(ordered) + chain(ordered[::-1]))


def rounded_hull(points: Sequence[Point], most: int = MOST_CORNERS) -> Outline:
    """Convex outline around the points with at most `most` corners."""
    exact = hull(points)
    if len(exact) <= most:
        return exact
    # The tangents in equally many directions: it contains the hull and touches it everywhere.
    angles = [2.0 * math.pi * k / most for k in range(most)]
    reach = [max(x * math.cos(a) + y * math.sin(a) for x, y in exact) for a in angles]
    corners: list[Point] = []
    for k, a in enumerate(angles):
        b, near, far = angles[(k + 1) % most], reach[k], reach[(k + 1) % most]
        sine = math.sin(b - a)
        corners.append(
            (
                (near * math.sin(b) - far * math.sin(a)) / sine,
                (far * math.cos(a) - near * math.cos(b)) / sine,
            )
        )
    return hull([(x, y) for x, y in corners])


def width_of(outline: Sequence[Point]) -> m:
    """Least width of a convex outline, measured perpendicular to one of its edges."""
    extents: list[m] = []
    for (a_x, a_y), (b_x, b_y) in pairwise([*outline, outline[0]]):
        length = math.hypot(b_x - a_x, b_y - a_y)
        if length > 0.0:
            n_x, n_y = (a_y - b_y) / length, (b_x - a_x) / length
            across = [n_x * x + n_y * y for x, y in outline]
            extents.append(max(across) - min(across))
    return min(extents)


def with_few_corners(outline: Outline, most: int = MOST_CORNERS) -> tuple[Outline, ...]:
    """Pieces of a convex outline with at most `most` corners each, by repeated halving."""
    if len(outline) <= most:
        return (outline,)
    half = len(outline) // 2
    halves = outline[: half + 1], (*outline[half:], outline[0])
    return tuple(piece for part in halves for piece in with_few_corners(part, most))


def convex_parts(outline: Outline) -> tuple[Outline, ...]:
    """Convex pieces of a cleaned outline, by ear clipping and merging.

    This is Hertel and Mehlhorn's method: at most four times the least number of pieces.
    """
    if _is_convex(outline):
        return (outline,)
    pieces: list[list[int]] = [list(triangle) for triangle in _triangles(outline)]
    merged = True
    while merged:
        merged = False
        for a in range(len(pieces)):
            for b in range(a + 1, len(pieces)):
                joined = _joined(pieces[a], pieces[b])
                if joined is not None and _is_convex([outline[k] for k in joined]):
                    pieces[a] = joined
                    del pieces[b]
                    merged = True
                    break
            if merged:
                break
    return tuple(tuple(outline[k] for k in piece) for piece in pieces)


def rectangle(x_min: m, x_max: m, y_min: m, y_max: m) -> Outline:
    """Axis-parallel rectangle, counter-clockwise."""
    return ((x_min, y_min), (x_max, y_min), (x_max, y_max), (x_min, y_max))


def regular(radius: m, corners: int) -> Outline:
    """Regular polygon with its corners on a circle, the first one on the x axis."""
    turn = 2.0 * math.pi / corners
    return tuple((radius * math.cos(k * turn), radius * math.sin(k * turn)) for k in range(corners))


def _without_repeats(points: Sequence[Point]) -> list[Point]:
    kept: list[Point] = []
    for x, y in points:
        if not (math.isfinite(x) and math.isfinite(y)):
            raise InvalidValue(f"the corner {x:g} {y:g} is not finite")
        if not kept or (x, y) != kept[-1]:
            kept.append((x, y))
    if len(kept) > 1 and kept[0] == kept[-1]:
        kept.pop()
    return kept


def _check_simple(corners: Sequence[Point]) -> None:
    count = len(corners)
    for a in range(count):
        for b in range(a + 1, count):
            if corners[a] == corners[b]:
                raise InvalidValue(
                    f"corners {a + 1} and {b + 1} of the outline are both at "
                    f"{_shown(corners[a])}; an outline must not touch itself"
                )
    for a in range(count):
        for b in range(a + 2, count):
            if a == 0 and b == count - 1:
                continue
            ends = corners[a], corners[a + 1], corners[b], corners[(b + 1) % count]
            if _meet(*ends):
                raise InvalidValue(
                    f"the edge after corner {b + 1} at {_shown(corners[b])} crosses the edge after "
                    f"corner {a + 1} at {_shown(corners[a])}; outlines must not cross themselves"
                )


def _shown(point: Point) -> str:
    return f"{point[0]:g} {point[1]:g}"


def _meet(p: Point, q: Point, r: Point, t: Point) -> bool:
    d1, d2 = _cross(r, t, p), _cross(r, t, q)
    d3, d4 = _cross(p, q, r), _cross(p, q, t)
    if ((d1 > 0.0) != (d2 > 0.0)) and ((d3 > 0.0) != (d4 > 0.0)) and 0.0 not in (d1, d2, d3, d4):
        return True
    on = ((d1, r, t, p), (d2, r, t, q), (d3, p, q, r), (d4, p, q, t))
    return any(d == 0.0 and _between(a, b, c) for d, a, b, c in on)


def _between(a: Point, b: Point, c: Point) -> bool:
    """Whether c, on the line through a and b, lies between them."""
    return min(a[0], b[0]) <= c[0] <= max(a[0], b[0]) and min(a[1], b[1]) <= c[1] <= max(a[1], b[1])


def _cross(a: Point, b: Point, c: Point) -> float:
    """Twice the area of a triangle, positive if counter-clockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _is_convex(points: Sequence[Point]) -> bool:
    return all(
        _cross(points[k - 1], points[k], points[(k + 1) % len(points)]) >= 0.0
        for k in range(len(points))
    )


def _triangles(outline: Outline) -> list[tuple[int, int, int]]:
    """Triangulate an outline; return the corner indices of the triangles."""
    left = list(range(len(outline)))
    triangles: list[tuple[int, int, int]] = []
    while len(left) > 3:
        ear = next(k for k in range(len(left)) if _is_ear(outline, left, k))
        triangles.append((left[ear - 1], left[ear], left[(ear + 1) % len(left)]))
        del left[ear]
    return [*triangles, (left[0], left[1], left[2])]


def _is_ear(outline: Outline, left: Sequence[int], k: int) -> bool:
    corners = left[k - 1], left[k], left[(k + 1) % len(left)]
    a, b, c = (outline[i] for i in corners)
    if _cross(a, b, c) <= 0.0:
        return False
    others = (outline[i] for i in left if i not in corners)
    return not any(
        _cross(a, b, p) >= 0.0 and _cross(b, c, p) >= 0.0 and _cross(c, a, p) >= 0.0 for p in others
    )


def _joined(first: Sequence[int], second: Sequence[int]) -> list[int] | None:
    """Merge two pieces along their common edge; None if they share no edge."""
    edges = {(second[k - 1], second[k]): k for k in range(len(second))}
    for k in range(len(first)):
        # Both pieces are counter-clockwise, so a common edge has opposite directions in them.
        here = edges.get((first[k], first[k - 1]))
        if here is not None:
            around = [second[(here + step) % len(second)] for step in range(1, len(second) - 1)]
            return [*first[:k], *around, *first[k:]]
    return None
