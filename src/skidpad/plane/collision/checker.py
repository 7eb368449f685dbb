"""Footprints against a map: at poses, and along the motion from one pose to the next."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Mask
from ...brief import brief_repr
from ...errors import InvalidValue
from ...workers import spread
from ..maps.map import Map
from .footprint import Footprint, poses_of

_WORTH_A_THREAD = 512
"""Poses below which another thread costs more than it saves."""


class _Walls(NamedTuple):
    segments: Array
    cells: Any


class _Solids(NamedTuple):
    vertices: Array
    rings: NDArray[np.int64]
    areas: NDArray[np.int64]
    cells: Any


class Checker:
    """Finds contacts of footprints with the obstacles of one map.

    Contact is having a point in common: touching counts. Walls are lines without thickness, solid
    areas and occupied cells include their borders and what is inside. No shape is approximated;
    coordinates are rounded to float64, which at 1 km from the origin is 1e-13 m.
    """

    __repr__ = brief_repr

    def __init__(self, map_: Map) -> None:
        if not isinstance(map_, Map):
            raise InvalidValue(f"a Checker takes a Map, got a {type(map_).__name__}")
        self.map = map_
        """The map; it never changes."""

    def hits(self, footprint: Footprint, poses: Any, *, threads: int | None = None) -> Mask:
        """Whether the footprint is in contact at each pose x, y, yaw; shape (B,).

        `threads` share the poses, None for as many as pay; the result does not depend on it.
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
        """The fraction, 0 to 1, of the motion from one pose to the next at its first contact.

        The motion has a constant twist: a circular arc, straight if the yaw stays, turning the
        shorter way round. For one pair of poses (3,) the fraction or None, for B pairs (B, 3) an
        array (B,) with inf where there is no contact. 0 is contact from the start. Solved in closed
        form: within 1e-9 of the motion, at any speed.
        """
        alone = np.ndim(before) == 1 and np.ndim(after) == 1
        start, end = poses_of("before", before), poses_of("after", after)
        if start.shape != end.shape:
            raise InvalidValue(f"before has {len(start)} poses, but after has {len(end)}")
        contact = np.full(len(start), np.inf)

        def meet(first: int, last: int) -> None:
            rows = slice(first, last)
            self._meet(footprint, start[rows], end[rows], contact[rows])

        spread(meet, len(start), worth=len(start) // _WORTH_A_THREAD, threads=threads)
        if not alone:
            return contact
        return float(contact[0]) if np.isfinite(contact[0]) else None

    def first_contact_along(self, footprint: Footprint, poses: Any) -> float | None:
        """Where on a list of poses (T, 3) the first contact is: 2.25 is a quarter after pose 2.

        Each pose leads to the next as in `first_contact`. None: no contact.
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
        walls = self._walls
        if len(walls.segments):
            overlap.mark_walls(
                poses, corners, parts, footprint.radius, walls.segments, walls.cells, hit
            )
        solids = self._solids
        if solids is not None:
            overlap.mark_solids(
                poses,
                corners,
                parts,
                solids.vertices,
                solids.rings,
                solids.areas,
                solids.cells,
                hit,
            )
        grid = self.map.grid
        if grid is not None:
            in_cells = np.empty_like(poses)
            in_cells[:, :2] = grid.to_grid(poses[:, :2]) / grid.resolution
            in_cells[:, 2] = poses[:, 2] - grid.origin[2]
            overlap.mark_cells(in_cells, corners / grid.resolution, parts, self._sums, hit)

    def _meet(self, footprint: Footprint, before: Array, after: Array, contact: Array) -> None:
        from . import swept

        hit = np.zeros(len(before), dtype=np.bool_)
        self._mark(footprint, before, hit)
        contact[hit] = 0.0
        # What is not in contact at first has to cross a border to get inside of anything.
        walls = self._walls_and_borders
        corners, parts = footprint.arrays
        swept.first_contacts(
            before, after, corners, parts, footprint.radius, walls.segments, walls.cells, contact
        )

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
        from ..index.cells import cells_of_boxes

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
        """For each corner of a cell of the grid, how many occupied cells lie below and left."""
        if self.map.grid is None:
            raise InvalidValue(f"map {self.map.name!r} has no grid")
        occupied = self.map.grid.occupied
        sums = np.zeros((occupied.shape[0] + 1, occupied.shape[1] + 1), dtype=np.int32)
        np.cumsum(np.cumsum(occupied, axis=0, dtype=np.int32), axis=1, out=sums[1:, 1:])
        return sums


def _walls(segments: Array) -> _Walls:
    from ..index.cells import cells_of_segments

    own = np.array(segments)  # compiled loops take read-only arrays for another type
    return _Walls(own, cells_of_segments(own))
