"""A map as marks of a diagram: areas, walls, cones and the centre line."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...plane.maps import Map
from .sheet import INK, Areas, Curve, Dots, Mark

SOLID = "#D6DAE0"
LINE = "#B9C4CE"
CONES = {"blue": "#1F6FD0", "yellow": "#F2C200", "orange": "#E8720C"}


def map_marks(ground: Map) -> list[Mark]:
    """What of a map is drawn under a path. Occupancy grids are left to `Map.plot`."""
    marks: list[Mark] = []
    cones = bool(len(ground.cones))
    # The octagons of cones are drawn as the cones that they are.
    if ground.polygons and not cones:
        marks.append(Areas(ground.polygons, fill=SOLID))
    if len(ground.segments) and not cones:
        ends = ground.segments.reshape(-1, 2, 2)
        broken = np.concatenate([ends, np.full((len(ends), 1, 2), np.nan)], axis=1).reshape(-1, 2)
        marks.append(Curve(broken[:, 0], broken[:, 1], "", INK, width=1.1))
    if ground.centre_line is not None:
        _, x, y, *_ = ground.centre_line.T
        marks.append(Curve(x, y, "", LINE, "dot", 1.0))
    for colour, shade in CONES.items():
        at = ground.cones[[k for k, own in enumerate(ground.colours) if own == colour]]
        if len(at):
            size = 4.5 if colour == "orange" else 3.5
            marks.append(Dots(at[:, 0], at[:, 1], "", shade, size=size))
    return marks


def map_extent(ground: Map) -> Array:
    """Points (n, 2) that a diagram of the map has to show."""
    x0, y0, x1, y1 = ground.bounds
    return np.array([[x0, y0], [x1, y1]])
