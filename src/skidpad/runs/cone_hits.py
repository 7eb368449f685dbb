"""Cones that vehicles knock over: outlines in motion against discs that stand still."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..stage import Body, Disc, Wheel
from ..stage.description import Outline


class ConeHits:
    """Counts the discs that each body has touched, each once.

    A knocked-over cone stays where it is and is no obstacle: it is only counted.
    """

    def __init__(self, bodies: Sequence[Body], discs: Sequence[Disc]) -> None:
        self._outlines = [(*body.outlines, *map(_rectangle, body.wheels)) for body in bodies]
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
                seen = _in_frame(poses[:, k], self._places[d])
                if any(_touches(seen, outline, self._radii[d]) for outline in outlines):
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


def _rectangle(wheel: Wheel) -> Outline:
    """A wheel from above, as it stands when it is not steered."""
    c, s = cos(wheel.yaw), sin(wheel.yaw)
    half = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    corners = ((0.5 * i * wheel.length, 0.5 * j * wheel.width) for i, j in half)
    return tuple((wheel.x + c * x - s * y, wheel.y + s * x + c * y) for x, y in corners)


def _in_frame(poses: Array, place: Array) -> Array:
    """A place of the world (2,) in the frames of poses (T, 3): (T, 2)."""
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    d_x, d_y = place[0] - poses[:, 0], place[1] - poses[:, 1]
    return np.column_stack([c * d_x + s * d_y, c * d_y - s * d_x])


def _touches(points: Array, outline: Outline, radius: float) -> bool:
    """Whether any point (T, 2) is inside of an outline or nearer to it than a radius."""
    a = np.array(outline)
    side = np.roll(a, -1, axis=0) - a
    off = points[:, None] - a
    share = (off * side).sum(axis=-1) / (side * side).sum(axis=-1)
    gap = off - np.clip(share, 0.0, 1.0)[..., None] * side
    near = (gap * gap).sum(axis=-1).min(axis=1) <= radius * radius
    # Crossings of a ray to the right: an odd number of them is inside.
    above = off[..., 1] >= 0.0
    crosses = above != np.roll(above, -1, axis=1)
    slope = np.divide(side[:, 0], side[:, 1], out=np.zeros(len(a)), where=side[:, 1] != 0.0)
    right = off[..., 0] < off[..., 1] * slope
    inside = (crosses & right).sum(axis=1) % 2 == 1
    return bool((near | inside).any())
