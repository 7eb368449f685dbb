"""Which vehicles may touch something in a step, found without looking at all of them every time.

How far a vehicle is from everything that could be in its way is looked up once; until it and the
others have moved so far that this could have changed, nothing has to be looked up again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...errors import InvalidValue
from ...units import m

MARGIN = 0.1
"""In m: what is nearer counts as near. Covers the solver's own margin and a step of slow motion."""
REACH = 3.0
"""In m: how far around a vehicle is looked; more means looking less often and finding more."""
MOST_POINTS = 10_000_000
"""On the outlines of what stands still."""
_FRESH = 0.25 * MARGIN
"""In m: who has moved less since it was looked at is not looked at again."""
_NOBODY = np.empty(0, dtype=np.int64)


class Nearness:
    """Clearances of vehicles from walls, from each other and from what else moves.

    Args:
        radii: of the circles around the vehicles' reference points, (B,).
        segments: of what does not move, (n, 4).
        other_radii: of circles around what else moves, blocks and the like, (m,).
    """

    def __init__(self, radii: Array, segments: Array, other_radii: Array) -> None:
        self._standing = _Standing(radii, segments) if len(segments) else None
        many = len(radii) + len(other_radii) > 1 and len(radii) > 0
        self._traffic = _Traffic(len(radii), np.concatenate([radii, other_radii])) if many else None
        self._seen: Array | None = None
        self._room = 0.0

    def near(
        self, places: Array, others: Array, begin: Callable[[], Array] | None = None
    ) -> NDArray[np.int64]:
        """Numbers of the vehicles at `places` (B, 2) that are near a wall, another vehicle, or one
        of the `others` (m, 2), or have been on their way.

        `begin` gives where all of these were before the step.
        """
        everyone = np.concatenate([places, others]) if len(others) else places
        if self._seen is not None:
            moved = (everyone - self._seen).ravel()
            # Nobody has moved farther than all together.
            if moved.dot(moved) < self._room:
                return _NOBODY
        return self._looked(places, everyone, begin)

    def forget(self) -> None:
        """Look anew next time: things have been put elsewhere."""
        self._seen = None

    def _looked(
        self, places: Array, everyone: Array, begin: Callable[[], Array] | None
    ) -> NDArray[np.int64]:
        clear, count = np.full(len(places), REACH), len(places)
        way = np.zeros(len(everyone)) if begin is None else _lengths(everyone - begin())
        if self._standing is not None:
            clear = np.minimum(clear, self._standing.clearance(places, way[:count]) - way[:count])
        if self._traffic is not None:
            ways = way[:count] + way.max()
            clear = np.minimum(clear, self._traffic.clearance(everyone, ways) - ways)
        near = np.flatnonzero(clear < MARGIN)
        self._seen = None
        if not len(near):
            # Two that drive towards each other use up the clearance together.
            self._seen = everyone.copy()
            self._room = (0.5 * (clear.min(initial=REACH) - MARGIN)) ** 2
        return near


class _Standing:
    """Clearances from what stands still."""

    def __init__(self, radii: Array, segments: Array) -> None:
        self._radii = radii
        self._tree = _tree(_points_along(segments, 0.5 * MARGIN))
        self._seen = np.full((len(radii), 2), np.inf)
        self._clear = np.zeros(len(radii))

    def clearance(self, places: Array, ways: Array) -> Array:
        """At least so far is each vehicle from everything, (B,), in m and not more than `REACH`.

        It is looked up where it may be less than `ways` (B,) and a margin.
        """
        moved = _lengths(places - self._seen)
        clear = self._clear - moved
        near = clear < MARGIN + ways
        if (near & (moved > _FRESH)).any():
            # All that seem near: one question about many costs little more than one about one.
            rows = np.flatnonzero(near)
            clear[rows] = self._look(rows, places[rows])
        return clear

    def _look(self, rows: NDArray[np.int64], places: Array) -> Array:
        radii = self._radii[rows]
        distance, _ = self._tree.query(places, distance_upper_bound=REACH + radii.max())
        # The points on walls are as far apart as this takes off.
        clear = np.minimum(distance - radii - 0.25 * MARGIN, REACH)
        self._seen[rows], self._clear[rows] = places, clear
        return clear


class _Traffic:
    """Clearances of vehicles from each other and from other things that move."""

    def __init__(self, vehicles: int, radii: Array) -> None:
        self._count, self._radii = vehicles, radii
        self._reach = REACH + 2.0 * float(radii.max())
        self._seen = np.full((len(radii), 2), np.inf)
        self._clear = np.zeros(vehicles)

    def clearance(self, places: Array, ways: Array) -> Array:
        """At least so far is each vehicle from everything, (B,), in m and not more than `REACH`.

        `places` are those of the vehicles, then those of the others. It is looked up where it may
        be less than `ways` (B,) and a margin.
        """
        moved = _lengths(places - self._seen)
        moved = moved[: self._count] + moved.max()
        clear = self._clear - moved
        if ((clear < MARGIN + ways) & (moved > 2.0 * _FRESH)).any():
            clear = self._look(places)
        return clear

    def _look(self, places: Array) -> Array:
        clear = np.full(len(places), REACH)
        pairs = _tree(places).query_pairs(self._reach, output_type="ndarray")
        if len(pairs):
            a, b = pairs.T
            gap = _lengths(places[a] - places[b]) - self._radii[a] - self._radii[b]
            np.minimum.at(clear, a, gap)
            np.minimum.at(clear, b, gap)
        self._seen, self._clear = places.copy(), clear[: self._count]
        return self._clear


def _tree(points: Array) -> Any:
    # Takes a third of a second to import, which a world where nothing can be met need not wait for.
    from scipy.spatial import KDTree

    return KDTree(points)


def _lengths(vectors: Array) -> Array:
    """Lengths of vectors (n, 2)."""
    return np.sqrt(np.einsum("ij,ij->i", vectors, vectors))


def _points_along(segments: Array, spacing: m) -> Array:
    """Points on segments so dense that none is farther than half a spacing from one."""
    start, end = segments[:, :2], segments[:, 2:]
    spans = np.maximum(np.ceil(_lengths(end - start) / spacing), 1.0)
    if not spans.sum() <= MOST_POINTS:
        raise InvalidValue(
            f"the outlines of all that stands are {spans.sum() * spacing:.4g} m long; allowed are "
            f"{MOST_POINTS * spacing:g} m, where vehicles are to collide with them"
        )
    pieces = spans.astype(np.int64)
    each = pieces + 1
    number = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    share = (number / np.repeat(pieces, each))[:, None]
    return np.repeat(start, each, axis=0) + share * np.repeat(end - start, each, axis=0)
