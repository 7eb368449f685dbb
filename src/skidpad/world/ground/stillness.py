"""Whether the ground under the vehicles can have changed since it was looked at.

On flat pieces that do not move, the ground is the same all around a vehicle as far as the nearest
edge of a piece. As long as nobody has come that far, nothing has to be looked up again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Array
from ...plane.polygon import distances
from ..motion.bodies import Bodies


class Stillness:
    """How far vehicles may go until the ground under them may be another.

    Args:
        bodies: the vehicles, by groups.
        radii: of the circles around them within which they feel the ground, (B,).
        edges: of the flat pieces, (n, 4); None: the ground is not made of such.
    """

    def __init__(self, bodies: Sequence[Bodies], radii: Array, edges: Array | None) -> None:
        self._bodies, self._radii, self._edges = bodies, radii, edges
        self._seen: Array | None = None
        self._room2 = 0.0

    @property
    def holds(self) -> bool:
        """Whether nobody has gone too far since `note`."""
        if self._seen is None:
            return False
        moved = (self._places() - self._seen).ravel()
        # Nobody has moved farther than all together.
        return bool(moved.dot(moved) < self._room2)

    def note(self) -> None:
        """Remember where the vehicles are now, the ground under them having been looked up."""
        self._seen = None
        if self._edges is None or not len(self._radii):
            return
        places = self._places()
        room = distances(places, self._edges).min(axis=1, initial=np.inf) - self._radii
        nearest = float(room.min())
        if nearest > 0.0:
            self._seen, self._room2 = places.copy(), nearest * nearest

    def forget(self) -> None:
        """Look anew next time."""
        self._seen = None

    def _places(self) -> Array:
        tables = [bodies.places for bodies in self._bodies]
        return tables[0] if len(tables) == 1 else np.concatenate(tables)
