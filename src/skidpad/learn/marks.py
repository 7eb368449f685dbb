"""What a picture of a task shows on the ground: lanes, goals, patches."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from ..arrays import Array
from ..plane.maps.track import Track
from ..stage.description import Polygon
from ..units import m

_CORNERS = 24


def lane_of(track: Track) -> Polygon:
    """The ground between the borders of a track."""
    centre: Array = track.centre
    ahead = np.roll(centre, -1, axis=0) - np.roll(centre, 1, axis=0)
    if not track.closed:
        ahead[0], ahead[-1] = centre[1] - centre[0], centre[-1] - centre[-2]
    aside = np.column_stack([-ahead[:, 1], ahead[:, 0]]) / np.hypot(*ahead.T)[:, None]
    left, right = centre + track.left[:, None] * aside, centre - track.right[:, None] * aside
    if track.closed:
        left, right = np.vstack([left, left[:1]]), np.vstack([right, right[:1]])
    ring: list[tuple[m, m]] = [(x, y) for x, y in np.concatenate([left, right[::-1]]).tolist()]
    return Polygon(tuple(ring), "lane")


def box(name: str, x: m, y: m, length: m, width: m) -> Polygon:
    """A rectangle along the axes of the world, by its middle, with a name."""
    a, b = 0.5 * length, 0.5 * width
    return Polygon(((x - a, y - b), (x + a, y - b), (x + a, y + b), (x - a, y + b)), "region", name)


def disc(name: str, x: m, y: m, radius: m) -> Polygon:
    """A circle with a name."""
    turns = [2.0 * pi * k / _CORNERS for k in range(_CORNERS)]
    ring = tuple((x + radius * cos(angle), y + radius * sin(angle)) for angle in turns)
    return Polygon(ring, "region", name)
