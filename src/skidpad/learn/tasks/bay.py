"""A yard with a bay to park in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...body import Point
from ...plane.maps.track import Track
from ...plane.polygon import line_edges
from ...units import m
from ..shape import Unit

GAP = 0.03
"""Between the end wall of a bay and the tail of what is parked, over the length of the vehicle."""
DEPTH = 0.75
"""Of a bay, over the length of the last unit."""
YARD = 2.5
"""Depth of the yard before the bay, and its width, over the length of the vehicle."""
STARTS = (0.1, 0.65)
"""How far out of the bay the last unit starts, over the length of the vehicle."""
_LINE_POINTS = 32


class Bay(NamedTuple):
    """A bay in a yard, in its own frame: from the middle of its end wall, x out of it."""

    length: m
    """Of the vehicle, all its units one behind the other."""
    depth: m
    """From the end wall to the yard."""
    half_width: m
    """Of the bay."""
    reach: m
    """Depth of the yard, and its width."""
    goal: m
    """Where the axle of the last unit is to stand."""
    starts: tuple[m, m]
    """Where that axle starts, along x."""

    @classmethod
    def of(cls, units: Sequence[Unit], room: m | None) -> Bay:
        """For a vehicle, with so much room beside it; six tenths of its width if None."""
        corners = [np.concatenate([np.array(part) for part in unit.parts]) for unit in units]
        last, tail = corners[-1], -float(corners[-1][:, 0].min())
        half = max(float(np.abs(each[:, 1]).max()) for each in corners)
        length = sum(float(np.ptp(each[:, 0])) for each in corners)
        depth, goal = DEPTH * float(np.ptp(last[:, 0])), GAP * length + tail
        # There it is out of the bay whichever way it points.
        out = depth + float(np.hypot(tail, half))
        starts = (out + STARTS[0] * length, out + STARTS[1] * length)
        half += 0.6 * half if room is None else 0.5 * room
        return cls(length, depth, half, YARD * length, goal, starts)

    def track(self) -> Track:
        """Its walls and those of the yard; the line leads from the end wall straight out."""
        far, b, y = self.depth + self.reach, self.half_width, 0.5 * self.reach
        border: list[Point] = [
            (0.0, -b), (self.depth, -b), (self.depth, -y), (far, -y),
            (far, y), (self.depth, y), (self.depth, b), (0.0, b), (0.0, -b),
        ]  # fmt: skip
        centre = np.linspace((0.0, 0.0), (far, 0.0), _LINE_POINTS)
        width, walls = np.full(_LINE_POINTS, b), line_edges(np.array(border))
        return Track(centre, width, width, closed=False, walls=walls, name="bay")
