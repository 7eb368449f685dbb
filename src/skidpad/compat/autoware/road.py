"""Slope of the road under the vehicle, from centre lines with heights.

The rule is upstream's. Of the lanes within 2 m of the vehicle the nearest counts; among equally
near ones, as when it stands on several, the one whose direction differs least from its yaw. On that
lane's centre line the nearest segment gives the grade, and the part of it along the yaw the pitch.
Everything is found in plan view, so of two roads one above the other either may be taken.

Signs: heights are positive upwards and pitch is a rotation about the axis to the left, so that
pitch is negative uphill, and the acceleration by gravity along x is negative there too. Driving
against a lane turns both round.

What a small square of the ground has to know of a lane, so that one position is found fast.

Of a lane with thousands of points only the few segments that can be nearest to some point of the
square are kept, as plain floats: a query is then a handful of operations in Python, where every
call into NumPy would cost more than the whole query.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.checks import positive
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...geometry.line import lengths
from ...geometry.polygon import distances, frozen
from ...units import m, m_s2, one, rad


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


GRAVITY: m_s2 = 9.81
"""Acceleration of free fall, as upstream has it."""
REACH: m = 2.0
"""A lane further away than this does not count."""
LANE_WIDTH: m = 3.5
"""Width of a lane of which only the centre line is known."""

SAME_PLACE: m = 1e-6
"""Points closer than this in plan view are one place: between them there is no grade."""

_CELLS = 20_000
"""Number of cells kept; a cell takes a few kB."""


def slope_acceleration(pitch: rad) -> m_s2:
    """Acceleration of gravity along x of a vehicle with this pitch; negative uphill."""
    return -GRAVITY * math.sin(-pitch)


@dataclass(frozen=True, eq=False)
class Lane:
    """One lane: a centre line in the direction of travel and how far it reaches to the sides."""

    centre: Array
    """Points (x, y, z) in m, shape (N, 3) with N at least 2; neighbours are apart in plan view."""
    width: m | None = LANE_WIDTH
    """Everything within half of it of the centre line belongs to the lane; None: see `outline`."""
    outline: Array | None = None
    """Corners (x, y) of the lane in plan view, shape (M, 2); takes the place of `width`."""
    name: str = "lane"
    """Begins the errors."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        centre = _points(f"{self.name} centre line", self.centre, 3, 2)
        still = np.flatnonzero(lengths(centre[:, :2]) < SAME_PLACE)
        if still.size:
            raise InvalidValue(
                f"{self.name} centre line: points {still[0]} and {still[0] + 1} are one above the "
                f"other at ({centre[still[0], 0]:g}, {centre[still[0], 1]:g}); neighbours must "
                "differ in x or y"
            )
        object.__setattr__(self, "centre", centre)
        if self.outline is not None:
            object.__setattr__(self, "outline", _points(f"{self.name} outline", self.outline, 2, 3))
        else:
            positive(f"{self.name} width", self.width, "m")


class Road:
    """Lanes, and the pitch of a vehicle that stands on them."""

    __repr__ = brief_repr

    def __init__(self, lanes: Iterable[Lane]) -> None:
        self.lanes = tuple(lanes)
        """The lanes, in the order in which ties between them are decided."""
        for lane in self.lanes:
            if not isinstance(lane, Lane):
                raise InvalidValue(f"a road is made of Lane records, got {type(lane).__name__}")
        if not self.lanes:
            raise InvalidValue("a road needs at least one lane")
        boxes = np.array([_box(lane) for lane in self.lanes])
        self._low, self._high = boxes[:, :2] - REACH, boxes[:, 2:] + REACH
        self._bounds = (*self._low.min(axis=0).tolist(), *self._high.max(axis=0).tolist())
        self._cell = _cell_size(self.lanes)
        self._cells: dict[tuple[int, int], tuple[LaneInCell, ...]] = {}

    @classmethod
    def from_centre_line(cls, points: Any, *, width: m = LANE_WIDTH) -> Road:
        """A road of one lane along `points` (x, y, z) in m, or of several, from a list of such.

        Points that repeat the one before in plan view are left out.
        """
        lines = [points] if _is_one_line(points) else list(points)
        names = ["lane"] if len(lines) == 1 else [f"lane {k}" for k in range(len(lines))]
        return cls(
            Lane(without_repeats(_points(f"{name} centre line", line, 3, 2)), width, name=name)
            for name, line in zip(names, lines, strict=True)
        )

    def pitch(self, x: m, y: m, yaw: rad) -> rad:
        """Pitch of a vehicle with its rear axle at (x, y); 0 where no lane is within reach.

        Negative uphill, as rotations about the axis to the left are.
        """
        x_low, y_low, x_high, y_high = self._bounds
        if (x - x) + (y - y) + (yaw - yaw) != 0.0:  # one of them is NaN or infinite
            raise InvalidValue(f"pose x = {x}, y = {y}, yaw = {yaw} must be finite")
        if not (x_low <= x <= x_high and y_low <= y <= y_high):
            return 0.0
        cell = (math.floor(x / self._cell), math.floor(y / self._cell))
        lanes = self._cells.get(cell)
        if lanes is None:
            lanes = self._fill(cell)
        below = [under for lane in lanes if (under := lane.under(x, y)) is not None]
        ahead, left = math.cos(yaw), math.sin(yaw)
        straightest, grade = -2.0, 0.0
        for segment in below or _nearest_beside(lanes, x, y):
            # The cosine of the angle between lane and vehicle: larger means a smaller difference.
            along = segment.ahead * ahead + segment.left * left
            if along > straightest:
                straightest, grade = along, segment.grade * along
        # -atan2(dz, D) with D = length / cos(angle), and its reverse for cos < 0, are both this.
        return -math.atan(grade)

    def slope_acceleration(self, x: m, y: m, yaw: rad) -> m_s2:
        """Acceleration of gravity along x of a vehicle at this pose; negative uphill."""
        return slope_acceleration(self.pitch(x, y, yaw))

    def _fill(self, cell: tuple[int, int]) -> tuple[LaneInCell, ...]:
        """The lanes that some point of a cell may need; made when a vehicle first gets there."""
        low = np.array(cell) * self._cell
        high = low + self._cell
        near = np.flatnonzero(np.all((self._low <= high) & (self._high >= low), axis=1))
        parts = [
            lane_in_cell(lane.centre, lane.width, lane.outline, low, high, REACH)
            for lane in (self.lanes[k] for k in near)
        ]
        if len(self._cells) >= _CELLS:
            self._cells.clear()
        lanes = self._cells[cell] = tuple(lane for lane in parts if lane is not None)
        return lanes


def _nearest_beside(lanes: Sequence[LaneInCell], x: m, y: m) -> list[Segment]:
    """The nearest segments of the nearest lanes within reach, for a vehicle on none of them."""
    beside = [lane.beside(x, y) for lane in lanes]
    nearest = min((distance for distance, _ in beside), default=math.inf)
    return [segment for distance, segment in beside if distance == nearest <= REACH]


def without_repeats(points: Array) -> Array:
    """The points less those at the same place in plan view as the one before."""
    moved = lengths(points[:, :2]) >= SAME_PLACE
    return points[np.concatenate([[True], moved])]


def _is_one_line(points: Any) -> bool:
    try:
        return np.ndim(points) == 2
    except ValueError:  # lines of different lengths
        return False


def _points(name: str, values: Any, size: int, least: int) -> Array:
    try:
        points = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"{name} must hold numbers in rows of {size}: {error}") from error
    if points.ndim != 2 or points.shape[1] != size or len(points) < least:
        raise InvalidValue(
            f"{name} has shape {points.shape}; allowed is (N, {size}) with N at least {least}"
        )
    wrong = cast("NDArray[np.intp]", np.argwhere(~np.isfinite(points)))
    if len(wrong):
        row, column = wrong[0]
        raise InvalidValue(f"{name}, point {row}: {points[row, column]} must be finite")
    return frozen(points)


def _box(lane: Lane) -> list[float]:
    """x and y from, x and y to, of everything that belongs to a lane."""
    if lane.outline is not None:
        return [*lane.outline.min(axis=0), *lane.outline.max(axis=0)]
    half = (lane.width or 0.0) / 2.0
    plan = lane.centre[:, :2]
    return [*(plan.min(axis=0) - half), *(plan.max(axis=0) + half)]


def _cell_size(lanes: Sequence[Lane]) -> float:
    """Edge of the cells in m: about a segment long, so that few of them come into question."""
    pieces = np.concatenate([lengths(lane.centre[:, :2]) for lane in lanes])
    return float(np.clip(np.median(pieces), 1.0, 4.0))
