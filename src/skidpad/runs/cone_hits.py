"""Cones that vehicles knock over: outlines in motion against discs that stand still."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..plane.polygon import within
from ..plane.pose import points_to_world, to_body
from ..stage import Body, Disc, Wheel


class ConeHits:
    """Counts the discs that each body has touched, each once.

    A knocked-over cone stays where it is and is no obstacle: it is only counted.
    """

    def __init__(self, bodies: Sequence[Body], discs: Sequence[Disc]) -> None:
        self._outlines = [
            (*map(np.array, body.outlines), *map(_rectangle, body.wheels)) for body in bodies
        ]
        corners = [[p for outline in outlines for p in outline] for outlines in self._outlines]
        self._reach = np.array([max(float(np.hypot(*p)) for p in points) for points in corners])
        self._places = np.array([(d.x, d.y) for d in discs]).reshape(-1, 2)
        self._radii = np.array([d.radius for d in discs])
        self.hit: NDArray[np.bool_] = np.zeros((len(bodies), len(discs)), bool)
        """Which bodies have touched which discs, (bodies, discs)."""

    def add(self, poses: Array) -> NDArray[np.int64]:
        """Take in poses x, y, yaw (T, bodies, 3); returns how many discs each touched anew."""
        new = np.zeros(len(self._outlines), np.int64)
        for k, outlines in enumerate(self._outlines):
            for d in self._near(k, poses[:, k]):
                seen = np.column_stack(to_body(poses[:, k].T, *self._places[d]))
                if any(within(seen, outline, self._radii[d]).any() for outline in outlines):
                    self.hit[k, d] = True
                    new[k] += 1
        return new

    def _near(self, k: int, poses: Array) -> list[int]:
        """Discs that a body may have come to, and has not touched yet."""
        if not len(poses) or not len(self._places):
            return []
        low, high = poses[:, :2].min(axis=0), poses[:, :2].max(axis=0)
        room = (self._reach[k] + self._radii)[:, None]
        inside = ((self._places > low - room) & (self._places < high + room)).all(axis=1)
        return np.flatnonzero(inside & ~self.hit[k]).tolist()


def _rectangle(wheel: Wheel) -> Array:
    """A wheel from above, as it stands when it is not steered."""
    corners = 0.5 * np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)]) * (wheel.length, wheel.width)
    return points_to_world((wheel.x, wheel.y, wheel.yaw), corners)
