"""Slope of the road under the vehicle, from centre lines with heights or from Lanelet2 maps.

The rule is upstream's. Of the lanes within 2 m of the vehicle the nearest counts; if several are
equally near, as on overlapping lanes, the one whose direction differs least from the yaw. The
nearest segment of that lane's centre line gives the grade, and its component along the yaw the
pitch. All distances are in plan view, so where one road crosses above another either may be used.

Signs: heights are positive upwards and pitch is a rotation about the axis to the left, so pitch is
negative uphill, and so is the acceleration by gravity along x. Driving against a lane reverses
both.

Queries use a grid of square cells. A cell stores, of each lane, only the few segments that can be
nearest to some point of it, as plain floats: a handful of operations in Python cost less than one
call of NumPy.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.checks import positive
from ...core.files import brief_repr, bytes_of, path_of, reading
from ...errors import InvalidValue, require
from ...geometry.geodesy import MilitaryGrid
from ...geometry.line import divided, lengths
from ...geometry.polygon import distances, frozen, signed_area
from ...units import m, m_s2, one, rad

GRAVITY: m_s2 = 9.81
"""Acceleration due to gravity, with upstream's value."""
REACH: m = 2.0
"""Largest distance of a lane that is considered."""
LANE_WIDTH: m = 3.5
"""Width of a lane given by a centre line only."""

SAME_PLACE: m = 1e-6
"""Points closer than this in plan view coincide, without a grade between them."""

_CELLS = 20_000
"""Largest number of cached cells, a few kB each."""
SPACING: m = 5.0
"""Largest distance of the points of a computed centre line, as in Autoware's map loader."""
FARTHEST: m = 1e8
"""Largest coordinate of a node; places on Earth are less than half as far apart."""
MOST_PARTS = 1_000_000
"""Largest number of parts of the centre line of a lanelet."""
_BOUNDS = ("left", "right")


def slope_acceleration(pitch: rad) -> m_s2:
    """Acceleration of gravity along x of a vehicle with this pitch; negative uphill."""
    return -GRAVITY * math.sin(-pitch)


@dataclass(frozen=True, eq=False)
class Lane:
    """Lane of a road: a centre line in the direction of travel, and a width or an outline."""

    centre: Array
    """Points (x, y, z) in m, shape (N, 3) with N at least 2; neighbours are apart in plan view."""
    width: m | None = LANE_WIDTH
    """Width, half of it on either side of the centre line; None with an `outline`."""
    outline: Array | None = None
    """Corners (x, y) of the lane in plan view, shape (M, 2); replaces `width`."""
    name: str = "lane"
    """Name of the lane in error messages."""

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

    @property
    def box(self) -> Array:
        """Bounding box in plan view: x and y of its lower, then of its upper corner."""
        if self.outline is not None:
            return np.hstack([self.outline.min(axis=0), self.outline.max(axis=0)])
        half, plan = (self.width or 0.0) / 2.0, self.centre[:, :2]
        return np.hstack([plan.min(axis=0) - half, plan.max(axis=0) + half])

    def in_cell(self, low: Array, high: Array, reach: m) -> LaneInCell | None:
        """Part of the lane needed in the cell from `low` to `high` (x, y).

        None if no point of the cell is within `reach` of the lane.
        """
        centre, width, outline = self.centre, self.width, self.outline
        middle, radius = (low + high) / 2.0, float(np.hypot(*(high - low))) / 2.0
        starts, ends = centre[:-1], centre[1:]
        if outline is None:
            # Test bounding boxes first: they are cheaper than distances if a line has thousands of
            # points.
            far = (width or 0.0) / 2.0 + reach + radius
            near = np.all(
                (np.minimum(starts, ends)[:, :2] <= middle + far)
                & (np.maximum(starts, ends)[:, :2] >= middle - far),
                axis=1,
            )
            starts, ends = starts[near], ends[near]
            if not len(starts):
                return None
        far = _distances(starts, ends, middle)
        keep = np.flatnonzero(far <= far.min() + 2.0 * radius)
        segments = _segments(starts[keep], ends[keep])
        if outline is None:
            return LaneInCell(segments, (width or 0.0) / 2.0)
        corners, following = outline, np.roll(outline, -1, axis=0)
        far = _distances(corners, following, middle)
        crossings = Crossings.fewest(corners, following, low, high)
        if far.min() > radius:  # no edge in the cell: all of it inside, or all outside
            if _inside(crossings, *middle.tolist()):
                return LaneInCell(segments)
            if far.min() > reach + radius:
                return None
        keep = np.flatnonzero(far <= far.min() + 2.0 * radius)
        return LaneInCell(segments, None, _segments(corners[keep], following[keep]), crossings)


class Road:
    """Lanes of a road, and the pitch of a vehicle on them."""

    __repr__ = brief_repr

    def __init__(self, lanes: Iterable[Lane]) -> None:
        self.lanes = tuple(lanes)
        """Lanes of the road; of equally suitable ones the first counts."""
        for lane in self.lanes:
            if not isinstance(lane, Lane):
                raise InvalidValue(f"a road is made of Lane records, got {type(lane).__name__}")
        if not self.lanes:
            raise InvalidValue("a road needs at least one lane")
        boxes = np.array([lane.box for lane in self.lanes])
        self._low, self._high = boxes[:, :2] - REACH, boxes[:, 2:] + REACH
        self._bounds = (*self._low.min(axis=0).tolist(), *self._high.max(axis=0).tolist())
        pieces = np.concatenate([lengths(lane.centre[:, :2]) for lane in self.lanes])
        # Cells are about as long as a segment, so that each cell has few candidate segments.
        self._cell = float(np.clip(np.median(pieces), 1.0, 4.0))
        self._cells: dict[tuple[int, int], tuple[LaneInCell, ...]] = {}

    @classmethod
    def from_centre_line(cls, points: Any, *, width: m = LANE_WIDTH) -> Road:
        """A road of one lane along `points` (x, y, z) in m, or of several from a list of lines.

        Points at the same place as the one before in plan view are left out.
        """
        try:
            is_one_line = np.ndim(points) == 2
        except ValueError:  # lines of different lengths
            is_one_line = False
        lines = [points] if is_one_line else list(points)
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
        if not below:
            near = [lane.nearest(x, y) for lane in lanes]
            nearest = min((distance for distance, _ in near), default=math.inf)
            below = [segment for distance, segment in near if distance == nearest <= REACH]
        for segment in below:
            # The cosine of the angle between lane and vehicle: larger means a smaller difference.
            along = segment.ahead * ahead + segment.left * left
            if along > straightest:
                straightest, grade = along, segment.grade * along
        # Both -atan2(dz, D) with D = length / cos(angle), and its reverse for cos < 0, equal this.
        return -math.atan(grade)

    def slope_acceleration(self, x: m, y: m, yaw: rad) -> m_s2:
        """Acceleration of gravity along x of a vehicle at this pose; negative uphill."""
        return slope_acceleration(self.pitch(x, y, yaw))

    def _fill(self, cell: tuple[int, int]) -> tuple[LaneInCell, ...]:
        """Lanes near a cell, computed when a vehicle first enters it."""
        low = np.array(cell) * self._cell
        high = low + self._cell
        near = np.flatnonzero(np.all((self._low <= high) & (self._high >= low), axis=1))
        parts = [self.lanes[k].in_cell(low, high, REACH) for k in near]
        if len(self._cells) >= _CELLS:
            self._cells.clear()
        lanes = self._cells[cell] = tuple(lane for lane in parts if lane is not None)
        return lanes


def without_repeats(points: Array) -> Array:
    """Points (x, y, z) without repetitions: a point that coincides in plan view with its
    predecessor is dropped.
    """
    moved = lengths(points[:, :2]) >= SAME_PLACE
    return points[np.concatenate([[True], moved])]


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


class Segment(NamedTuple):
    """A segment of a line in plan view, prepared for queries."""

    x: m
    """Start point of the segment, in m."""
    y: m
    dx: m
    """End minus start."""
    dy: m
    per_length2: float
    """1 / length², in 1/m²; 0 for a segment of zero length."""
    ahead: one
    """Direction as a unit vector (ahead, left)."""
    left: one
    grade: one
    """Rise per horizontal length, in the direction of the segment."""


class Crossings(NamedTuple):
    """The edges of an outline that a ray from a point of the cell can cross.

    The ray is parallel to an axis: u along it, v across.
    """

    swap: bool
    """Whether u is y and v is x."""
    sign: float
    """-1 if the ray goes towards smaller u; u is multiplied by it."""
    edges: tuple[tuple[float, float, float, float], ...]
    """v at both ends, u at the first end, du/dv."""

    @classmethod
    def fewest(cls, corners: Array, following: Array, low: Array, high: Array) -> Crossings:
        """Edges to test for the ray direction that needs the fewest."""
        choices: list[tuple[int, float, NDArray[np.intp]]] = []
        for along, across in ((0, 1), (1, 0)):
            v1, v2 = corners[:, across], following[:, across]
            u1, u2 = corners[:, along], following[:, along]
            level = (np.minimum(v1, v2) <= high[across]) & (np.maximum(v1, v2) > low[across])
            ahead, behind = np.maximum(u1, u2) >= low[along], np.minimum(u1, u2) <= high[along]
            choices.append((along, 1.0, np.flatnonzero(level & ahead)))
            choices.append((along, -1.0, np.flatnonzero(level & behind)))
        along, sign, met = min(choices, key=lambda choice: len(choice[2]))
        corners, following = corners[met], following[met]
        slanted = corners[:, 1 - along] != following[:, 1 - along]  # no ray crosses the others
        corners, following = corners[slanted], following[slanted]
        v1, v2 = corners[:, 1 - along], following[:, 1 - along]
        u1, u2 = sign * corners[:, along], sign * following[:, along]
        edges = np.column_stack([v1, v2, u1, (u2 - u1) / (v2 - v1)])
        return cls(along == 1, sign, tuple((a, b, c, d) for a, b, c, d in edges.tolist()))


@dataclass(frozen=True)
class LaneInCell:
    """Data of a lane needed within one cell."""

    segments: tuple[Segment, ...]
    """Segments of the centre line."""
    half_width: m | None = None
    """Half of the lane width; None for a lane with an outline."""
    edges: tuple[Segment, ...] = ()
    """Edges of the outline; empty if the cell is inside."""
    crossings: Crossings | None = None
    """Edges for the inside test; None if the cell is inside the outline."""

    def under(self, x: m, y: m) -> Segment | None:
        """Nearest segment of the centre line if the point lies on the lane, else None."""
        if self.half_width is not None:
            d2, segment = _nearest(self.segments, x, y)
            return segment if d2 <= self.half_width * self.half_width else None
        if self.crossings is not None and not _inside(self.crossings, x, y):
            return None
        return _nearest(self.segments, x, y)[1]

    def nearest(self, x: m, y: m) -> tuple[m, Segment]:
        """Distance in plan view of a point outside the lane, and the nearest segment."""
        d2, segment = _nearest(self.segments, x, y)
        if self.half_width is not None:
            return math.sqrt(d2) - self.half_width, segment
        return math.sqrt(_nearest(self.edges, x, y)[0]), segment


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
    """Whether a point is inside an outline: a ray from it crosses an odd number of edges."""
    swap, sign, edges = crossings
    u, v = (sign * y, x) if swap else (sign * x, y)
    odd = False
    for v1, v2, u1, slope in edges:
        if (v1 > v) != (v2 > v) and u < u1 + (v - v1) * slope:
            odd = not odd
    return odd


def _distances(starts: Array, ends: Array, point: Array) -> Array:
    """Distance in plan view of a point from every segment, (segments,)."""
    return distances(point[None], np.hstack([starts[:, :2], ends[:, :2]]))[0]


def _segments(starts: Array, ends: Array) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    for (x, y, *z), (x2, y2, *z2) in zip(starts.tolist(), ends.tolist(), strict=True):
        dx, dy = x2 - x, y2 - y
        length = math.hypot(dx, dy)
        rise, shape = z2[0] - z[0] if z else 0.0, (0.0, 1.0, 0.0, 0.0)
        if length * length != 0.0:  # else two corners of an outline coincide
            shape = (1.0 / (length * length), dx / length, dy / length, rise / length)
        segments.append(Segment(x, y, dx, dy, *shape))
    return tuple(segments)


class _Source(NamedTuple):
    """Elements of a Lanelet2 map (OpenStreetMap XML) by id."""

    file: Path
    nodes: Mapping[str, Element]
    ways: Mapping[str, Element]
    relations: Mapping[str, Element]

    @classmethod
    def read(cls, file: Path) -> _Source:
        defused = require("defusedxml", purpose=f"Reading {file}")
        parse = require("defusedxml.ElementTree", purpose=f"Reading {file}").fromstring
        with reading(file, "is not XML"):
            try:
                root = parse(bytes_of(file))
            except defused.DefusedXmlException as error:
                raise InvalidValue(
                    f"{file} holds XML entities, which no map needs: {error}"
                ) from error
        if root is None or root.tag != "osm":
            raise InvalidValue(
                f"{file} is not an OpenStreetMap file: its first element is "
                f"<{'' if root is None else root.tag}>, not <osm>"
            )
        parts = [part for part in root if part.get("action") != "delete"]  # marked by JOSM
        kinds = ("node", "way", "relation")
        by_id = ({part.get("id", ""): part for part in parts if part.tag == kind} for kind in kinds)
        return cls(file, *by_id)

    def lanelets(self, subtypes: Collection[str]) -> dict[str, dict[str, str]]:
        """Way ids of each lanelet by role, by the lanelet's id."""
        if isinstance(subtypes, str):
            subtypes = (subtypes,)
        lanelets: dict[str, dict[str, str]] = {}
        others: set[str] = set()
        for number, relation in self.relations.items():
            tags = _tags(relation)
            if tags.get("type") != "lanelet":
                continue
            if tags.get("subtype", "") in subtypes:
                lanelets[number] = _members(self, number, relation)
            else:
                others.add(tags.get("subtype", "none"))
        if not lanelets:
            seen = f"; there are lanelets of subtype {', '.join(sorted(others))}" if others else ""
            raise InvalidValue(f"{self.file} has no lanelet of subtype {', '.join(subtypes)}{seen}")
        return lanelets

    def nodes_of(self, way: str, owner: str) -> list[str]:
        if way not in self.ways:
            raise InvalidValue(f"{self.file}: way {way} of lanelet {owner} is missing")
        nodes = [node.get("ref", "") for node in self.ways[way].iter("nd")]
        if len(nodes) < 2:
            raise InvalidValue(f"{self.file}: way {way} of lanelet {owner} has less than 2 nodes")
        for node in nodes:
            if node not in self.nodes:
                raise InvalidValue(f"{self.file}: node {node} of way {way} is missing")
        return nodes


def read_lanelets(
    path: str | os.PathLike[str], *, subtypes: Collection[str] = ("road",), spacing: m = SPACING
) -> Road:
    """Read the lanelets of a Lanelet2 map whose subtype is one of `subtypes`.

    Positions are the tags `local_x` and `local_y` of the nodes; without them latitude and longitude
    are projected as in `geometry.geodesy`, in the grid square of the first node. Heights are the
    tags `ele`; if no node has one, the road is flat at 0. The bounds of a lanelet may have either
    direction: it is driven with the left one on the left. A lanelet without a centre line gets one
    as in Autoware's map loader: both bounds are divided into the same number of equal parts, at
    most `spacing` long, and the midpoints are joined.
    """
    positive("spacing", spacing, "m")
    source = _Source.read(path_of(path))
    lanelets = source.lanelets(subtypes)
    ways = [(way, owner) for owner, members in lanelets.items() for way in members.values()]
    lines = {way: source.nodes_of(way, owner) for way, owner in ways}
    places = _places(source, dict.fromkeys(node for line in lines.values() for node in line))
    shapes = {way: without_repeats(np.array([places[n] for n in lines[way]])) for way in lines}
    return Road(
        _lane(source, owner, {role: shapes[way] for role, way in members.items()}, spacing)
        for owner, members in lanelets.items()
    )


def _tags(part: Element) -> dict[str, str]:
    return {tag.get("k", ""): tag.get("v", "") for tag in part.iter("tag")}


def _members(source: _Source, number: str, relation: Element) -> dict[str, str]:
    ways: dict[str, str] = {}
    for member in relation.iter("member"):
        role = member.get("role", "")
        if role not in (*_BOUNDS, "centerline"):
            continue
        if role in ways:
            raise InvalidValue(f"{source.file}: lanelet {number} has more than one {role} bound")
        ways[role] = member.get("ref", "")
    missing = [role for role in _BOUNDS if role not in ways]
    if missing:
        raise InvalidValue(
            f"{source.file}: lanelet {number} has no {' and no '.join(missing)} bound"
        )
    return ways


def _places(source: _Source, nodes: Iterable[str]) -> dict[str, tuple[m, m, m]]:
    """Coordinates x, y, z of the nodes, all from the same kind of tags."""
    tags = {node: _tags(source.nodes[node]) for node in nodes}
    local = _all_or_none(source, tags, "local_x", "local_y")
    high = _all_or_none(source, tags, "ele")
    grid: MilitaryGrid | None = None
    places: dict[str, tuple[m, m, m]] = {}
    for node, have in tags.items():
        z = _number(source, node, have, "ele") if high else 0.0
        if local:
            x, y = (_number(source, node, have, name) for name in ("local_x", "local_y"))
        else:
            attributes = source.nodes[node].attrib
            degrees = [_number(source, node, attributes, name) for name in ("lat", "lon")]
            try:
                grid = grid or MilitaryGrid(*degrees)
                x, y = grid.project(*degrees)
            except InvalidValue as error:
                raise InvalidValue(f"{source.file}: node {node}: {error}") from error
        far = max(abs(x), abs(y), abs(z))
        if far > FARTHEST:
            raise InvalidValue(
                f"{source.file}: node {node} is {far:g} m from the origin; allowed are "
                f"{FARTHEST:g} m"
            )
        places[node] = (x, y, z)
    return places


def _all_or_none(source: _Source, tags: Mapping[str, Mapping[str, str]], *names: str) -> bool:
    """Whether all nodes have these tags; raises InvalidValue if only some nodes have them.

    Mixed coordinates would make the map inconsistent.
    """
    having = [node for node, have in tags.items() if any(name in have for name in names)]
    lacking = [node for node, have in tags.items() if any(name not in have for name in names)]
    if having and lacking:
        raise InvalidValue(
            f"{source.file}: node {lacking[0]} has no {' and '.join(names)}, but other nodes have"
        )
    return bool(having)


def _number(source: _Source, node: str, values: Mapping[str, Any], name: str) -> float:
    text = values.get(name)
    try:
        value = float(text if text is not None else "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        has = "is missing" if text is None else f"= {text!r} must be a finite number"
        raise InvalidValue(f"{source.file}: node {node}: {name} {has}")
    return value


def _lane(source: _Source, number: str, lines: Mapping[str, Array], spacing: m) -> Lane:
    name = f"{source.file}: lanelet {number}"
    for role, line in lines.items():
        if len(line) < 2:
            raise InvalidValue(f"{name}: all nodes of its {role} line are at one place")
    left, right = _forward(lines["left"], lines["right"])
    outline = np.concatenate([left, right[::-1]])[:, :2]
    centre = lines.get("centerline")
    if centre is None:
        longer = max(lengths(left).sum(), lengths(right).sum())
        if longer / spacing > MOST_PARTS:
            raise InvalidValue(
                f"{name} is {longer:g} m long, which makes more than {MOST_PARTS} parts of "
                f"spacing = {spacing:g} m; take a larger spacing"
            )
        parts = max(math.ceil(longer / spacing), 1)
        centre = without_repeats((divided(left, parts) + divided(right, parts)) / 2.0)
    elif np.sum((centre[-1] - centre[0]) * (left[-1] + right[-1] - left[0] - right[0])) < 0.0:
        centre = centre[::-1]
    return Lane(centre, None, outline, name)


def _forward(left: Array, right: Array) -> tuple[Array, Array]:
    """Both bounds in the direction of travel, in which the left one is on the left."""
    along = _gap(left[0], right[0]) + _gap(left[-1], right[-1])
    crosswise = _gap(left[0], right[-1]) + _gap(left[-1], right[0])
    if crosswise < along:
        right = right[::-1]
    # Out along the left bound and back along the right one is a clockwise turn.
    if signed_area(np.concatenate([left, right[::-1]])[:, :2]) > 0.0:
        left, right = left[::-1], right[::-1]
    return left, right


def _gap(first: Array, second: Array) -> float:
    return float(np.hypot(*(second - first)[:2]))
