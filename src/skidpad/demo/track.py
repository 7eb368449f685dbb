"""Closed cone tracks, made up from a seed.

The border of some cells of a Voronoi diagram, smoothed, is a track that looks as those of Formula
Student do: lap of 200 to 500 m, lane of 3 m or more, blue cones on the left, yellow ones
on the right (Formula Student Rules, dynamic events, trackdrive).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.arrays import Array
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..geometry.line import Line, blurred, directions, divided, lengths, smooth_loop
from ..geometry.pose import to_world
from ..random.race_track import POINTS, border_of_cells, from_the_straight, least_gap
from ..units import m
from ..view.colours import CONES
from ..view.stage import Disc, Polygon
from ..view.stage import Line as Mark

PITCH: m = 22.0
"""Distance of the scattered points."""
CELLS = 7
SPACING: m = 0.5
"""Distance between points of the centre line, about."""
LENGTHS: tuple[m, m] = (220.0, 380.0)
TIGHTEST: m = 5.0
"""Smallest radius of the centre line."""
CLEARANCE: m = 8.0
"""Smallest distance between two parts of the centre line that do not follow each other."""
BLUE, YELLOW, ORANGE = (CONES[name] for name in ("blue", "yellow", "orange"))


@dataclass(frozen=True, eq=False)
class Track:
    """A closed track."""

    centre: Array
    """Points of its centre line (n, 2) at equal distances, driven counter-clockwise, in m; the
    first follows the last. The start line lies across the first."""
    half_width: m = 1.9

    __repr__ = brief_repr

    @cached_property
    def line(self) -> Line:
        """The centre line."""
        return Line.through(self.centre, closed=True)

    @property
    def spacing(self) -> m:
        """Distance between two points of the centre line."""
        return self.line.length / len(self.centre)


def random_track(seed: int = 0) -> Track:
    """The track of a seed."""
    rng = np.random.default_rng(seed)
    for _ in range(10_000):
        scatter = rng.standard_normal((POINTS, 2))
        corners = border_of_cells(scatter, rng.random, CELLS, PITCH)
        centre = None if corners is None else _smooth(corners)
        if centre is not None and least_gap(centre, SPACING, CLEARANCE, every=4) > CLEARANCE:
            return Track(from_the_straight(centre, round(25.0 / SPACING)))
    raise InvalidValue(f"no track was found for seed = {seed}; try another")


def cones(track: Track) -> tuple[Disc, ...]:
    """Cones along both sides, closer in turns; two large orange ones on each end of the start."""
    discs: list[Disc] = []
    apart = np.clip(0.6 / np.maximum(np.abs(track.line.curvature[:-1]), 1e-9), 2.0, 4.5)
    for side, colour in ((1.0, BLUE), (-1.0, YELLOW)):
        edge = track.line.beside(side * track.half_width)
        # A cone wherever the number of gaps passed grows by one.
        gaps = np.cumsum(lengths(np.vstack([edge, edge[:1]])) / apart)
        at = np.flatnonzero(np.diff(np.floor(gaps * np.floor(gaps[-1]) / gaps[-1])) > 0)
        discs += [Disc(x, y, 0.114, "cone", colour) for x, y in as_points(edge[at[at > 2]])]
    start = track.line.at(0.0)[:3]
    for left in (track.half_width + 0.15, -track.half_width - 0.15):
        for ahead in (-0.25, 0.25):
            discs.append(Disc(*to_world(start, ahead, left), 0.1425, "cone", ORANGE))
    return tuple(discs)


def lane(track: Track) -> Polygon:
    """The ground between the edges: round outside, and back inside."""
    left, right = (track.line.beside(side * track.half_width) for side in (1.0, -1.0))
    ring = np.vstack([right, right[:1], left[:1], left[::-1]])
    return Polygon(as_points(ring), "lane")


def start_mark(track: Track) -> Mark:
    """The start line, to be drawn."""
    ends = [track.line.beside(side * track.half_width)[0] for side in (1.0, -1.0)]
    return Mark(as_points(np.stack(ends)), "reference", ORANGE)


def as_points(line: Array) -> tuple[tuple[float, float], ...]:
    """Points of an array (n, 2) as a stage has them."""
    return tuple((float(x), float(y)) for x, y in line)


def _smooth(corners: Array) -> Array | None:
    """A line without corners; None if it would be too tight, too short or too long."""
    ring = np.vstack([corners, corners[:1]])
    edges = divided(ring, round(lengths(ring).sum() / SPACING))[:-1]
    width = 4.0
    while width < 9.0:
        line = smooth_loop(blurred(edges, SPACING, width), SPACING)
        length = SPACING * len(line)
        if not LENGTHS[0] < length < LENGTHS[1]:
            return None
        if np.abs(directions(line, closed=True)[1]).max() * TIGHTEST < 1.0:
            return line
        width *= 1.15
    return None
