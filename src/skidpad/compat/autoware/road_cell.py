"""What a small square of the ground has to know of a lane, so that one position is found fast.

Of a lane with thousands of points only the few segments that can be nearest to some point of the
square are kept, as plain floats: a query is then a handful of operations in Python, where every
call into NumPy would cost more than the whole query.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...plane.polygon import distances
from ...units import m, one


class Segment(NamedTuple):
    """A piece of a line in plan view, with what a query needs of it."""

    x: m
    """Start."""
    y: m
    dx: m
    """End minus start."""
    dy: m
    per_length2: float
    """1 / length², in 1/m²; 0 for a piece without length."""
    ahead: one
    """Direction, as a unit vector (ahead, left)."""
    left: one
    grade: one
    """Rise per horizontal length, in the direction of the piece."""


class Crossings(NamedTuple):
    """The edges of an outline that a ray from somewhere in the square can cross.

    The ray goes along one of the four axes: u along it, v across.
    """

    swap: bool
    """Whether u is y and v is x."""
    sign: float
    """-1 if the ray goes towards smaller u; u is multiplied by it."""
    edges: tuple[tuple[float, float, float, float], ...]
    """v at both ends, u at the first end, du/dv."""


class LaneInCell:
    """The part of a lane that matters in one square."""

    def __init__(
        self,
        segments: tuple[Segment, ...],
        half_width: m | None,
        edges: tuple[Segment, ...],
        crossings: Crossings | None,
    ) -> None:
        self._segments = segments
        self._half_width = half_width
        self._edges = edges
        self._crossings = crossings

    def under(self, x: m, y: m) -> Segment | None:
        """The nearest segment of the centre line, if the point lies on the lane."""
        if self._half_width is not None:
            d2, segment = _nearest(self._segments, x, y)
            return segment if d2 <= self._half_width * self._half_width else None
        if self._crossings is not None and not _inside(self._crossings, x, y):
            return None
        return _nearest(self._segments, x, y)[1]

    def beside(self, x: m, y: m) -> tuple[m, Segment]:
        """Distance in plan view of a point beside the lane, and the nearest segment."""
        d2, segment = _nearest(self._segments, x, y)
        if self._half_width is not None:
            return math.sqrt(d2) - self._half_width, segment
        return math.sqrt(_nearest(self._edges, x, y)[0]), segment


def lane_in_cell(
    centre: Array, width: m | None, outline: Array | None, low: Array, high: Array, reach: m
) -> LaneInCell | None:
    """The part of a lane that matters in the square from `low` to `high` (x, y).

    None if no point of the square is within `reach` of the lane. The arguments are those of
    `road.Lane`.
    """
    middle, radius = (low + high) / 2.0, float(np.hypot(*(high - low))) / 2.0
    starts, ends = centre[:-1], centre[1:]
    if outline is None:
        # Cheaper than the distances, where a line has many thousand points.
        starts, ends = _around(starts, ends, middle, (width or 0.0) / 2.0 + reach + radius)
        if not len(starts):
            return None
    far = _distances(starts, ends, middle)
    keep = np.flatnonzero(far <= far.min() + 2.0 * radius)
    segments = _segments(starts[keep], ends[keep])
    if outline is None:
        return LaneInCell(segments, (width or 0.0) / 2.0, (), None)
    corners, following = outline, np.roll(outline, -1, axis=0)
    far = _distances(corners, following, middle)
    crossings = _fewest_crossings(corners, following, low, high)
    if far.min() > radius:  # no edge in the square: all of it inside, or all outside
        if _inside(crossings, *middle.tolist()):
            return LaneInCell(segments, None, (), None)
        if far.min() > reach + radius:
            return None
    keep = np.flatnonzero(far <= far.min() + 2.0 * radius)
    return LaneInCell(segments, None, _segments(corners[keep], following[keep]), crossings)


def _nearest(segments: tuple[Segment, ...], x: m, y: m) -> tuple[float, Segment]:
    """Squared distance to the nearest segment, and the segment; the first of equally near ones."""
    best, nearest = math.inf, segments[0]
    for segment in segments:
        px, py, dx, dy, per_length2, _, _, _ = segment
        px, py = x - px, y - py
        share = (px * dx + py * dy) * per_length2
        if share >= 1.0:
            px, py = px - dx, py - dy
        elif share > 0.0:
            px, py = px - share * dx, py - share * dy
        d2 = px * px + py * py
        if d2 < best:
            best, nearest = d2, segment
    return best, nearest


def _inside(crossings: Crossings, x: m, y: m) -> bool:
    """Whether a point is inside an outline: a ray from there leaves it an odd number of times."""
    swap, sign, edges = crossings
    u, v = (sign * y, x) if swap else (sign * x, y)
    odd = False
    for v1, v2, u1, slope in edges:
        if (v1 > v) != (v2 > v) and u < u1 + (v - v1) * slope:
            odd = not odd
    return odd


def _fewest_crossings(corners: Array, following: Array, low: Array, high: Array) -> Crossings:
    """The edges to be tested for the ray direction that has the fewest of them."""
    choices: list[tuple[int, float, NDArray[np.intp]]] = []
    for along, across in ((0, 1), (1, 0)):
        v1, v2 = corners[:, across], following[:, across]
        level = (np.minimum(v1, v2) <= high[across]) & (np.maximum(v1, v2) > low[across])
        far, near = (
            np.maximum(corners, following)[:, along],
            np.minimum(corners, following)[:, along],
        )
        choices.append((along, 1.0, np.flatnonzero(level & (far >= low[along]))))
        choices.append((along, -1.0, np.flatnonzero(level & (near <= high[along]))))
    along, sign, met = min(choices, key=lambda choice: len(choice[2]))
    return _crossings(corners[met], following[met], along, sign)


def _crossings(corners: Array, following: Array, along: int, sign: float) -> Crossings:
    slanted = corners[:, 1 - along] != following[:, 1 - along]  # no ray crosses the others
    corners, following = corners[slanted], following[slanted]
    v1, v2 = corners[:, 1 - along], following[:, 1 - along]
    u1, u2 = sign * corners[:, along], sign * following[:, along]
    edges = np.column_stack([v1, v2, u1, (u2 - u1) / (v2 - v1)])
    return Crossings(along == 1, sign, tuple((a, b, c, d) for a, b, c, d in edges.tolist()))


def _around(starts: Array, ends: Array, middle: Array, far: m) -> tuple[Array, Array]:
    """The segments whose boxes in plan view come within `far` of a point along both axes."""
    near = np.ones(len(starts), dtype=bool)
    for axis in (0, 1):
        near &= np.minimum(starts[:, axis], ends[:, axis]) <= middle[axis] + far
        near &= np.maximum(starts[:, axis], ends[:, axis]) >= middle[axis] - far
    return starts[near], ends[near]


def _distances(starts: Array, ends: Array, point: Array) -> Array:
    """Distance in plan view of a point from every segment."""
    return distances(point[None], np.hstack([starts[:, :2], ends[:, :2]]))[0]


def _segments(starts: Array, ends: Array) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    for (x, y, *z), (x2, y2, *z2) in zip(starts.tolist(), ends.tolist(), strict=True):
        dx, dy = x2 - x, y2 - y
        length = math.hypot(dx, dy)
        if length * length == 0.0:  # two corners of an outline at one place
            segments.append(Segment(x, y, dx, dy, 0.0, 1.0, 0.0, 0.0))
            continue
        rise = z2[0] - z[0] if z else 0.0
        segments.append(
            Segment(x, y, dx, dy, 1.0 / (length * length), dx / length, dy / length, rise / length)
        )
    return tuple(segments)
