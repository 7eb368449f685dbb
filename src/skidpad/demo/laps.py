"""Closed tracks marked by cones, laps over a start line, and cones that vehicles knock over.

Random tracks are the smoothed border of some cells of a Voronoi diagram, similar to those of
Formula Student: a lap of 200 to 500 m, a lane of at least 3 m, blue cones on the left, yellow ones
on the right (Formula Student Rules, dynamic events, trackdrive).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.body import Pose
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..geometry.line import Line, blurred, directions, divided, lengths, smooth_loop
from ..geometry.polygon import within
from ..geometry.pose import to_body, to_world
from ..random.race_track import POINTS, border_of_cells, from_the_straight, least_gap
from ..units import m, rad, s
from ..view.colours import CONES
from ..view.stage import Body, Disc, PlacedUnit, Polygon, as_points
from ..view.stage import Line as Mark

ON_THE_LINE: m = 1e-6
"""Distance in m within which a vehicle counts as starting on the line, that is, crossing it."""


class StartLine(NamedTuple):
    x: m
    y: m
    """World coordinates of its middle, in m."""
    heading: rad
    """Direction of the track at the line in rad, in which laps count."""
    half_width: m
    """Distance from the middle in m beyond which crossings do not count."""

    @classmethod
    def of(cls, reference: Any, half_width: m) -> StartLine:
        """Start line across the first point of a `control.Reference`."""
        p = reference.points
        return cls(float(p.x[0]), float(p.y[0]), float(p.heading[0]), half_width)

    def seen(self, places: Array) -> tuple[Array, Array]:
        """Coordinates in m relative to the line of points (..., 2): distance beyond it, and to the
        left of its middle."""
        return to_body((self.x, self.y, self.heading), places[..., 0], places[..., 1])


class Laps:
    """Counts the laps of vehicles.

    A vehicle that goes back over the line has to cross it forwards once more before the next lap
    counts.
    """

    __repr__ = brief_repr

    def __init__(self, vehicles: Sequence[str], lines: Mapping[str, StartLine]) -> None:
        self._lines = {k: lines[name] for k, name in enumerate(vehicles) if name in lines}
        self.crossings: list[list[s]] = [[] for _ in vehicles]
        """Times in s at which each vehicle crossed its line for the first time, the second,
        and so on."""
        self._net = [0] * len(vehicles)

    def start(self, t: s, places: Array) -> None:
        """Set the initial positions of the vehicles, (B, 2), in m."""
        for k, line in self._lines.items():
            beyond, left = line.seen(places[k])
            if abs(beyond) <= ON_THE_LINE and abs(left) <= line.half_width:
                self._cross(k, t)

    def add(self, t: Array, places: Array) -> None:
        """Add a part of the paths: times (T,) and positions (T, B, 2), beginning with the last
        known one."""
        for k, line in self._lines.items():
            beyond, left = line.seen(places[:, k])
            past = beyond >= -ON_THE_LINE
            for i in np.flatnonzero(past[1:] != past[:-1]).tolist():
                share = float(np.clip(beyond[i] / (beyond[i] - beyond[i + 1]), 0.0, 1.0))
                if abs(left[i] + share * (left[i + 1] - left[i])) > line.half_width:
                    continue
                if past[i + 1]:
                    self._cross(k, float(t[i] + share * (t[i + 1] - t[i])))
                else:
                    self._net[k] -= 1

    def _cross(self, k: int, t: s) -> None:
        self._net[k] += 1
        if self._net[k] > len(self.crossings[k]):
            self.crossings[k].append(t)

    def counted(self, vehicle: int) -> bool:
        return vehicle in self._lines

    def times(self, vehicle: int) -> tuple[s, ...]:
        """Lap times in s of a vehicle, for completed laps."""
        return tuple(np.diff(self.crossings[vehicle]).tolist())


class ConeHits:
    """Counts the discs that each body has touched, each disc once.

    A cone that is hit stays where it is and is no obstacle: it is only counted.
    """

    def __init__(self, bodies: Sequence[Body], discs: Sequence[Disc]) -> None:
        # As far as wheels go, without steering.
        units = [PlacedUnit(Pose(0.0, 0.0, 0.0), body.outlines, body.wheels) for body in bodies]
        self._outlines = [[*unit.world_outlines, *unit.world_wheels] for unit in units]
        corners = [[p for outline in outlines for p in outline] for outlines in self._outlines]
        self._reach = np.array([max(float(np.hypot(*p)) for p in points) for points in corners])
        self._places = np.array([(d.x, d.y) for d in discs]).reshape(-1, 2)
        self._radii = np.array([d.radius for d in discs])
        self.hit: NDArray[np.bool_] = np.zeros((len(bodies), len(discs)), bool)
        """Mask of the discs that each body has touched, (bodies, discs)."""

    def add(self, poses: Array) -> NDArray[np.int64]:
        """Add poses x, y, yaw (T, bodies, 3); returns how many discs each body touched for the
        first time."""
        new = np.zeros(len(self._outlines), np.int64)
        for k, outlines in enumerate(self._outlines):
            for d in self._near(k, poses[:, k]):
                seen = np.column_stack(to_body(poses[:, k].T, *self._places[d]))
                if any(within(seen, outline, self._radii[d]).any() for outline in outlines):
                    self.hit[k, d] = True
                    new[k] += 1
        return new

    def _near(self, k: int, poses: Array) -> list[int]:
        """Discs within reach of a body during these poses that it has not touched yet."""
        if not len(poses) or not len(self._places):
            return []
        low, high = poses[:, :2].min(axis=0), poses[:, :2].max(axis=0)
        room = (self._reach[k] + self._radii)[:, None]
        inside = ((self._places > low - room) & (self._places < high + room)).all(axis=1)
        return np.flatnonzero(inside & ~self.hit[k]).tolist()


PITCH: m = 22.0
"""Distance between the random points, in m."""
CELLS = 7
SPACING: m = 0.5
"""Approximate distance between points of the centre line, in m."""
LENGTHS: tuple[m, m] = (220.0, 380.0)
TIGHTEST: m = 5.0
"""Smallest radius of the centre line, in m."""
CLEARANCE: m = 8.0
"""Smallest distance in m between parts of the centre line that do not follow each other."""
BLUE, YELLOW, ORANGE = (CONES[name] for name in ("blue", "yellow", "orange"))


@dataclass(frozen=True, eq=False)
class Track:
    """A closed track."""

    centre: Array
    """Points of the centre line (n, 2) in m at equal distances, counter-clockwise. The last is
    followed by the first, where the start line lies."""
    half_width: m = 1.9

    __repr__ = brief_repr

    @cached_property
    def line(self) -> Line:
        """The centre line."""
        return Line.through(self.centre, closed=True)

    @property
    def spacing(self) -> m:
        """Distance between two points of the centre line, in m."""
        return self.line.length / len(self.centre)


def random_track(seed: int = 0) -> Track:
    """Generate the track of a seed."""
    rng = np.random.default_rng(seed)
    for _ in range(10_000):
        scatter = rng.standard_normal((POINTS, 2))
        corners = border_of_cells(scatter, rng.random, CELLS, PITCH)
        centre = None if corners is None else _smooth(corners)
        if centre is not None and least_gap(centre, SPACING, CLEARANCE, every=4) > CLEARANCE:
            return Track(from_the_straight(centre, round(25.0 / SPACING)))
    raise InvalidValue(f"no track was found for seed = {seed}; try another")


def cones(track: Track) -> tuple[Disc, ...]:
    """Cones along both sides, closer in turns, with two large orange ones at each end of the start
    line."""
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
    """Polygon of the lane: along one edge, and back along the other."""
    left, right = (track.line.beside(side * track.half_width) for side in (1.0, -1.0))
    ring = np.vstack([right, right[:1], left[:1], left[::-1]])
    return Polygon(as_points(ring), "lane")


def start_mark(track: Track) -> Mark:
    """Mark of the start line, for drawing."""
    ends = [track.line.beside(side * track.half_width)[0] for side in (1.0, -1.0)]
    return Mark(as_points(np.stack(ends)), "reference", ORANGE)


def _smooth(corners: Array) -> Array | None:
    """Smoothed closed line; None if it would be too tight, too short or too long."""
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
