"""Which vehicles may touch something in a step, found without looking at all of them every time.

How far a vehicle is from everything that could be in its way is looked up once; until it and the
others have moved so far that this could have changed, nothing has to be looked up again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from ..units import m

Array = NDArray[np.float64]
MARGIN = 0.1
"""In m: what is nearer counts as near. Covers the solver's own margin and a step of slow motion."""
REACH = 3.0
"""In m: how far around a vehicle is looked; more means looking less often and finding more."""


class Nearness:
    """Clearances of vehicles from walls and from each other.

    Args:
        radii: of the circles around the vehicles' reference points, (B,).
        segments: of what does not move, (n, 4).
    """

    def __init__(self, radii: Array, segments: Array) -> None:
        self._radii = radii
        self._walls = _points_along(segments, 0.5 * MARGIN)
        self._tree = KDTree(self._walls) if len(self._walls) else None
        self._seen: Array | None = None
        self._clear = np.zeros(len(radii))

    def near(self, places: Array, others: Array, other_radii: Array) -> NDArray[np.bool_]:
        """Whether each vehicle at `places` (B, 2) is near a wall, another one, or one of the
        `others` (m, 2), which are blocks and the like with circles of their own."""
        moved, near = self._judged(places)
        if (near & (moved > 0.25 * MARGIN)).any():
            # Some count as near perhaps only because they were seen long ago.
            self._look(places)
            _, near = self._judged(places)
        if len(others):
            gap = np.hypot(places[:, :1] - others[None, :, 0], places[:, 1:] - others[None, :, 1])
            near |= (gap - self._radii[:, None] - other_radii[None, :]).min(axis=1) < MARGIN
        return near

    def _judged(self, places: Array) -> tuple[Array, NDArray[np.bool_]]:
        """How far each vehicle has moved since it was seen, and whether it may be near by now."""
        seen = self._look(places) if self._seen is None else self._seen
        apart = places - seen
        moved = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        return moved, self._clear - moved < MARGIN + moved.max(initial=0.0)

    def _look(self, places: Array) -> Array:
        """Measure the clearance of every vehicle, up to `REACH`; returns where they were seen."""
        clear = np.full(len(places), REACH)
        if self._tree is not None:
            distance, _ = self._tree.query(places, distance_upper_bound=REACH + self._radii.max())
            clear = np.minimum(clear, distance - self._radii - 0.5 * MARGIN)
        if len(places) > 1:
            reach = REACH + 2.0 * self._radii.max()
            pairs = KDTree(places).query_pairs(reach, output_type="ndarray")
            if len(pairs):
                a, b = pairs.T
                gap = np.hypot(*(places[a] - places[b]).T) - self._radii[a] - self._radii[b]
                np.minimum.at(clear, a, gap)
                np.minimum.at(clear, b, gap)
        self._clear, self._seen = clear, places.copy()
        return self._seen


def _points_along(segments: Array, spacing: m) -> Array:
    """Points on segments so dense that none is farther than half a spacing from one."""
    found = [np.empty((0, 2))]
    for x0, y0, x1, y1 in segments:
        count = max(int(np.ceil(np.hypot(x1 - x0, y1 - y0) / spacing)), 1) + 1
        found.append(np.linspace((x0, y0), (x1, y1), count))
    return np.concatenate(found)
