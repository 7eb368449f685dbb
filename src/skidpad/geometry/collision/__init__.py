"""Contacts of vehicle footprints with a map and with each other, at poses and along motions.

A `Footprint` is the ground that a vehicle covers, relative to its body point. `Checker` finds
contacts with the obstacles of one map; `between` and `first_contacts` those of vehicles with each
other. The compiled loops are in `overlap`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array, Mask
from ...core.checks import finite, floats, positive
from ...core.files import brief_repr
from ...core.threads import spread
from ...errors import InvalidValue
from ...units import m
from ..maps.map import Map
from ..polygon import FARTHEST, frozen, points_of, ring_of, signed_area
from ..pose import points_to_world

__all__ = ["Checker", "Footprint", "between", "first_contacts"]


@dataclass(frozen=True, eq=False)
class Footprint:
    """Convex polygons fixed to a vehicle, borders included.

    Coordinates are in m in the vehicle's axes, x forward and y to the left, from its body point:
    the point with the x, y and yaw of a pose.
    """

    parts: tuple[Array, ...]
    """Corners of each part, counter-clockwise, shape (k, 2); parts may overlap."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        parts = tuple(_convex(f"part {k}", part) for k, part in enumerate(self.parts))
        if not parts:
            raise InvalidValue("a footprint needs at least one part")
        object.__setattr__(self, "parts", parts)

    @classmethod
    def rectangle(cls, *, length: m, width: m, rear: m) -> Footprint:
        """Rectangle whose rear end is `rear` behind the body point, laterally centred.

        It extends from -rear to length - rear along x, so that with `rear` below 0 it is all in
        front.
        """
        length, width = positive("length", length, "m"), positive("width", width, "m")
        rear = finite("rear", rear, "m")
        front, side = length - rear, width / 2.0
        corners = [(-rear, -side), (front, -side), (front, side), (-rear, side)]
        return cls((np.array(corners),))

    @classmethod
    def polygons(cls, parts: Iterable[Any]) -> Footprint:
        """Footprint of convex polygons, each a list of corners (x, y) in m, in either
        orientation."""
        return cls(tuple(parts))

    @cached_property
    def radius(self) -> m:
        """Distance of the farthest corner from the body point, in m."""
        return float(max(np.hypot(part[:, 0], part[:, 1]).max() for part in self.parts))

    def at(self, pose: Any) -> tuple[Array, ...]:
        """Corners (n, 2) of each part in the world for a pose x, y, yaw."""
        place, *_ = poses_of("pose", pose)
        return tuple(points_to_world(place, part) for part in self.parts)

    @cached_property
    def arrays(self) -> tuple[Array, NDArray[np.int64]]:
        """Corners of all parts concatenated, and the start index of each part followed by the total
        number.
        """
        counts = [len(part) for part in self.parts]
        return np.concatenate(self.parts), np.cumsum([0, *counts], dtype=np.int64)


def poses_of(name: str, values: Any) -> Array:
    """Copy poses x, y, yaw to an array (B, 3); raise unless all are finite."""
    poses = np.array(floats(name, values))
    if poses.ndim == 1:
        poses = poses[None]
    if poses.ndim != 2 or poses.shape[1] != 3:
        raise InvalidValue(f"{name} has shape {np.shape(values)}; allowed are (3,) and (B, 3)")
    # Test the largest magnitude only, which is faster than testing every number of every call.
    largest = np.abs(poses).max(initial=0.0)
    if not largest <= FARTHEST:
        points_of(name, poses[:, :2], 0, lambda k: f"{name}[{k}]")
        wrong = np.flatnonzero(~(np.abs(poses[:, 2]) <= FARTHEST))[0]
        raise InvalidValue(f"{name}[{wrong}]: yaw = {poses[wrong, 2]} must be finite and small")
    return poses


def _motions(before: Any, after: Any) -> tuple[Array, Array]:
    """Check the start and end poses (B, 3) of motions; raise if their numbers differ."""
    start, end = poses_of("before", before), poses_of("after", after)
    if start.shape != end.shape:
        raise InvalidValue(f"before has {len(start)} poses, but after has {len(end)}")
    return start, end


def _convex(name: str, corners: Any) -> Array:
    ring = ring_of(f"footprint, {name}", corners)
    if signed_area(ring) < 0.0:
        ring = ring[::-1]
    ahead = np.roll(ring, -1, axis=0) - ring
    turns: Array = ahead[:, 0] * np.roll(ahead[:, 1], -1) - ahead[:, 1] * np.roll(ahead[:, 0], -1)
    headings = np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0]), period=2.0 * np.pi)
    wrong = np.flatnonzero(turns < 0.0)
    if wrong.size:
        x, y = ring[(wrong[0] + 1) % len(ring)]
        raise InvalidValue(
            f"footprint, {name}: the corner ({x:g}, {y:g}) points inwards; parts must be convex"
        )
    if headings[-1] - headings[0] > 2.0 * np.pi:
        raise InvalidValue(f"footprint, {name}: its edges cross; parts must be convex")
    return frozen(np.ascontiguousarray(ring))


_WORTH_A_THREAD = 512
"""Poses per thread below which a further thread costs more than it saves."""


class _Walls(NamedTuple):
    segments: Array
    cells: Any


class _Solids(NamedTuple):
    vertices: Array
    rings: NDArray[np.int64]
    areas: NDArray[np.int64]
    cells: Any


class Checker:
    """Contact checks of footprints against the obstacles of one map.

    Contact is having a point in common: touching counts. Walls are lines without thickness, solid
    areas and occupied cells include their borders and interiors. No shape is approximated;
    coordinates are rounded to float64, which at 1 km from the origin is 1e-13 m.
    """

    __repr__ = brief_repr

    def __init__(self, map_: Map) -> None:
        if not isinstance(map_, Map):
            raise InvalidValue(f"a Checker takes a Map, got a {type(map_).__name__}")
        self.map = map_
        """The map, which is immutable."""

    def hits(self, footprint: Footprint, poses: Any, *, threads: int | None = None) -> Mask:
        """Whether the footprint is in contact at each pose x, y, yaw; shape (B,).

        The poses are distributed over `threads`, by default a suitable number; the result does not
        depend on it.
        """
        places = poses_of("poses", poses)
        hit = np.zeros(len(places), dtype=np.bool_)

        def mark(begin: int, end: int) -> None:
            self._mark(footprint, places[begin:end], hit[begin:end])

        spread(mark, len(places), worth=len(places) // _WORTH_A_THREAD, threads=threads)
        return hit

    def first_contact(
        self, footprint: Footprint, before: Any, after: Any, *, threads: int | None = None
    ) -> Any:
        """Fraction, 0 to 1, of the motion from one pose to the next at its first contact.

        The motion has a constant twist: a circular arc, straight if the yaw is constant, in the
        shorter direction of rotation. For one pair of poses (3,) returns the fraction or None,
        for B pairs (B, 3) an array (B,) with inf where there is no contact. 0 is contact from
        the start. Solved in closed form: within 1e-9 of the motion, at any speed.
        """
        alone = np.ndim(before) == 1 and np.ndim(after) == 1
        start, end = _motions(before, after)
        contact = np.full(len(start), np.inf)

        def meet(first: int, last: int) -> None:
            rows = slice(first, last)
            self._meet(footprint, start[rows], end[rows], contact[rows])

        spread(meet, len(start), worth=len(start) // _WORTH_A_THREAD, threads=threads)
        if not alone:
            return contact
        return float(contact[0]) if np.isfinite(contact[0]) else None

    def first_contact_along(self, footprint: Footprint, poses: Any) -> float | None:
        """Position of the first contact on a list of poses (T, 3): 2.25 is a quarter after pose 2.

        Motions between poses are as in `first_contact`. None if there is no contact.
        """
        places = poses_of("poses", poses)
        if len(places) == 1:
            return 0.0 if self.hits(footprint, places)[0] else None
        contact = self.first_contact(footprint, places[:-1], places[1:])
        met = np.flatnonzero(np.isfinite(contact))
        return float(met[0] + contact[met[0]]) if met.size else None

    def _mark(self, footprint: Footprint, poses: Array, hit: Mask) -> None:
        from . import overlap

        corners, parts = footprint.arrays
        if len(self._walls.segments):
            overlap.mark_walls(poses, corners, parts, footprint.radius, *self._walls, hit)
        if self._solids is not None:
            overlap.mark_solids(poses, corners, parts, self._solids, hit)
        grid = self.map.grid
        if grid is not None:
            in_cells = np.empty_like(poses)
            in_cells[:, :2] = grid.to_grid(poses[:, :2]) / grid.resolution
            in_cells[:, 2] = poses[:, 2] - grid.origin[2]
            overlap.mark_cells(in_cells, corners / grid.resolution, parts, self._sums, hit)

    def _meet(self, footprint: Footprint, before: Array, after: Array, contact: Array) -> None:
        from . import overlap

        hit = np.zeros(len(before), dtype=np.bool_)
        self._mark(footprint, before, hit)
        contact[hit] = 0.0
        # Areas need no check of their own: a body without contact at the start first crosses a
        # border.
        corners, parts = footprint.arrays
        shape = (corners, parts, footprint.radius)
        overlap.first_contacts(before, after, shape, self._walls_and_borders, contact)

    @cached_property
    def _walls(self) -> _Walls:
        return _walls(self.map.segments)

    @cached_property
    def _walls_and_borders(self) -> _Walls:
        borders = self.map.border_segments
        if not len(borders):
            return self._walls
        return _walls(np.concatenate([self.map.segments, borders]))

    @cached_property
    def _solids(self) -> _Solids | None:
        from ..index import cells_of_boxes

        solids = self.map.solids
        if not solids:
            return None
        rings = [ring for solid in solids for ring in (solid.outline, *solid.holes)]
        boxes = [[*s.outline.min(axis=0), *s.outline.max(axis=0)] for s in solids]
        return _Solids(
            np.concatenate(rings),
            np.cumsum([0, *(len(ring) for ring in rings)], dtype=np.int64),
            np.cumsum([0, *(1 + len(solid.holes) for solid in solids)], dtype=np.int64),
            cells_of_boxes(np.array(boxes)),
        )

    @cached_property
    def _sums(self) -> NDArray[np.int32]:
        """Summed-area table: number of occupied cells below and to the left of each cell corner."""
        if self.map.grid is None:
            raise InvalidValue(f"map {self.map.name!r} has no grid")
        occupied = self.map.grid.occupied
        sums = np.zeros((occupied.shape[0] + 1, occupied.shape[1] + 1), dtype=np.int32)
        np.cumsum(np.cumsum(occupied, axis=0, dtype=np.int32), axis=1, out=sums[1:, 1:])
        return sums


def _walls(segments: Array) -> _Walls:
    from ..index import cells_of_segments

    own = np.array(
        segments
    )  # copied, since compiled loops treat read-only arrays as a different type
    return _Walls(own, cells_of_segments(own))


TOLERANCE = 1e-6
"""Gap below which moving vehicles count as in contact, as a share of the longest possible path."""


class Contacts(NamedTuple):
    """Pairs of vehicles in contact, ordered by index."""

    pairs: NDArray[np.int64]
    """Indices i < j of the vehicles, shape (P, 2)."""
    fractions: Array
    """Fraction of the motion, 0 to 1, at the first contact of each pair, shape (P,)."""

    __repr__ = brief_repr


class _Shapes(NamedTuple):
    """Footprints of all vehicles in flat arrays; the parts of vehicle b begin at owner[b]."""

    corners: Array
    parts: NDArray[np.int64]
    owner: NDArray[np.int64]
    radii: Array


def between(footprints: Footprint | Sequence[Footprint], poses: Any) -> NDArray[np.int64]:
    """Pairs i < j of vehicles in contact at poses (B, 3), shape (P, 2), in order.

    A single footprint applies to all vehicles; a list has one for each. Contact is having a
    point in common: touching counts, and so does one vehicle wholly inside another.
    """
    from . import overlap

    places = poses_of("poses", poses)
    shapes = _shapes(footprints, len(places))
    near = _near(places, places, shapes.radii)
    hit = np.zeros(len(near), dtype=np.bool_)
    overlap.mark_pairs(near, places, *shapes[:3], hit)
    return near[hit]


def first_contacts(
    footprints: Footprint | Sequence[Footprint], before: Any, after: Any
) -> Contacts:
    """Find pairs of vehicles that touch while all move from one pose to the next, with contact
    times.

    Each motion has a constant twist as in `Checker.first_contact`, and all take the same time. A
    contact is never reported late, and early by at most the time it takes to cover 1e-6 of the
    longest possible path of both: 1e-6 of the motion for two that drive towards each other.
    Vehicles that pass each other within that distance are reported, too.
    """
    from . import overlap

    start, end = _motions(before, after)
    shapes = _shapes(footprints, len(start))
    near = _near(start, end, shapes.radii)
    fractions = np.full(len(near), np.inf)
    overlap.meet_pairs(near, start, end, shapes, TOLERANCE, fractions)
    met = np.isfinite(fractions)
    return Contacts(near[met], fractions[met])


def _shapes(footprints: Footprint | Sequence[Footprint], count: int) -> _Shapes:
    listed = [footprints] * count if isinstance(footprints, Footprint) else list(footprints)
    if len(listed) != count:
        raise InvalidValue(f"{len(listed)} footprints are given for {count} poses")
    for k, footprint in enumerate(listed):
        if not isinstance(footprint, Footprint):
            raise InvalidValue(f"footprints[{k}] is a {type(footprint).__name__}, not a Footprint")
    parts = [part for footprint in listed for part in footprint.parts]
    return _Shapes(
        np.concatenate(parts) if parts else np.empty((0, 2)),
        np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64),
        np.cumsum([0, *(len(footprint.parts) for footprint in listed)], dtype=np.int64),
        np.array([footprint.radius for footprint in listed]),
    )


def _near(before: Array, after: Array, radii: Array) -> NDArray[np.int64]:
    """Pairs i < j whose bounding boxes of their motions overlap, in order."""
    from . import overlap

    if len(before) < 2:
        return np.empty((0, 2), dtype=np.int64)
    turn = np.abs(after[:, 2] - before[:, 2])
    turn = np.abs(turn - 2.0 * np.pi * np.round(turn / (2.0 * np.pi)))
    chord = np.hypot(*(after - before)[:, :2].T)
    reach = (radii + 0.5 * chord * np.tan(0.25 * turn))[:, None]
    low = np.minimum(before[:, :2], after[:, :2]) - reach
    high = np.maximum(before[:, :2], after[:, :2]) + reach
    boxes = np.hstack([low, high])
    order = np.argsort(boxes[:, 0], kind="stable")
    count = overlap.list_pairs(boxes, order, np.empty((0, 2), dtype=np.int64))
    pairs = np.empty((count, 2), dtype=np.int64)
    overlap.list_pairs(boxes, order, pairs)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
