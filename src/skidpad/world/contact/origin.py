"""Where the contact solver has its origin.

It computes in single precision: 5 km from its origin a place is known to half a millimetre, and its
own margins are a few. So the origin goes along with the vehicles that are in the solver. It lies on
a coarse lattice of whole metres and begins at that of the world: near to it nothing is shifted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...units import m
from .solids import Moving, Point

_LATTICE: m = 1024.0
"""Distance of the places at which the origin may lie."""
_FAR: m = 2048.0
"""How far the middle of the vehicles may be from the origin along an axis."""


class Origin:
    """The origin of a Box2D world in the world of the scene."""

    def __init__(self, world: Any) -> None:
        self._world = world
        self._x, self._y = 0.0, 0.0
        self._standing: dict[int, tuple[Any, Moving]] = {}

    def to_engine(self, x: m, y: m) -> Point:
        """Coordinates seen from the origin."""
        return x - self._x, y - self._y

    def to_world(self, x: m, y: m) -> Point:
        """Coordinates in the world of what is seen from the origin."""
        return x + self._x, y + self._y

    def whole(self, x: m, y: m) -> Point:
        """A place near another one that can be kept without rounding."""
        return float(round(x)), float(round(y))

    def keep(self, body: Any, pose: Moving) -> None:
        """Remember where a body stands that the solver does not move, to all digits."""
        self._standing[int(body.this)] = body, pose

    def keep_again(self, body: Any, pose: Moving) -> None:
        """The same for one that has been put elsewhere, if it is such a body."""
        if int(body.this) in self._standing:
            self.keep(body, pose)

    def follow(self, guests: Iterable[Moving]) -> None:
        """Go to where the vehicles are, if they are far away."""
        places = [(moving.x, moving.y) for moving in guests]
        if not places:
            return
        x = 0.5 * (min(p[0] for p in places) + max(p[0] for p in places))
        y = 0.5 * (min(p[1] for p in places) + max(p[1] for p in places))
        if abs(x - self._x) > _FAR or abs(y - self._y) > _FAR:
            self.move(_LATTICE * round(x / _LATTICE), _LATTICE * round(y / _LATTICE))

    def move(self, x: m, y: m) -> None:
        """Put the origin elsewhere; nothing changes its place in the world."""
        self._world.ShiftOrigin((x - self._x, y - self._y))
        self._x, self._y = x, y
        for body, pose in self._standing.values():
            body.transform = self.to_engine(pose.x, pose.y), pose.yaw

    @property
    def place(self) -> Point:
        """Where it lies in the world."""
        return self._x, self._y
