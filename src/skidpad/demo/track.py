"""Closed cone tracks, made up from a seed.

Scattered points divide the plane into cells (Voronoi). The border of some cells that hang together
is a closed line with straights and turns to both sides; smoothed, it is a track that looks as those
of Formula Student do: lap of 200 to 500 m, lane of 3 m or more, blue cones on the left, yellow ones
on the right (Formula Student Rules, dynamic events, trackdrive).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array
from ..brief import brief_repr
from ..errors import InvalidValue
from ..plane.line import Line, directions, divided, lengths, smooth_loop
from ..plane.polygon import signed_area
from ..plane.pose import to_world
from ..stage import Disc, Polygon
from ..stage import Line as Mark
from ..stage.looks import CONES
from ..units import m

PITCH: m = 22.0
"""Distance of the scattered points."""
ROWS, COLUMNS, CELLS = 6, 8, 7
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
        corners = _border(rng)
        centre = None if corners is None else _smoothed(corners)
        if centre is not None and _apart(centre) > CLEARANCE:
            return Track(_from_the_straight(centre))
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


def _border(rng: np.random.Generator) -> Array | None:
    """Corners of the border of some cells that hang together, counter-clockwise."""
    from scipy.spatial import Voronoi

    row, column = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    points = PITCH * np.column_stack([column + 0.5 * (row % 2), 0.87 * row])
    points += 0.18 * PITCH * rng.standard_normal(points.shape)
    cells = Voronoi(points)
    chosen = _hanging_together(rng, cells, middle=len(points) // 2)
    if chosen is None:
        return None
    ends: dict[int, list[int]] = {}
    for (a, b), (i, j) in zip(cells.ridge_points, cells.ridge_vertices, strict=True):
        if (a in chosen) != (b in chosen):
            ends.setdefault(i, []).append(j)
            ends.setdefault(j, []).append(i)
    loop = _loop(ends)
    if loop is None:
        return None
    corners = np.asarray(cells.vertices)[loop]
    return corners if signed_area(corners) > 0.0 else corners[::-1]


def _hanging_together(rng: np.random.Generator, cells: Any, middle: int) -> set[int] | None:
    """Cells, the middle one first; one that touches few of those before is chosen rather."""
    beside: dict[int, set[int]] = {}
    for a, b in cells.ridge_points.tolist():
        beside.setdefault(a, set()).add(b)
        beside.setdefault(b, set()).add(a)
    low, high = cells.points.min(axis=0), cells.points.max(axis=0)
    bounded: set[int] = set()
    for k, region in enumerate(cells.point_region):
        # Cells at the rim may reach far out, or have no end.
        corners = cells.vertices[cells.regions[region]]
        if -1 not in cells.regions[region] and ((low < corners) & (corners < high)).all():
            bounded.add(k)
    chosen = {middle}
    while len(chosen) < CELLS:
        near = sorted({j for i in chosen for j in beside[i]} & bounded - chosen)
        if not near:
            return None
        weight = np.array([len(beside[j] & chosen) ** -2.0 for j in near])
        chosen.add(int(rng.choice(near, p=weight / weight.sum())))
    return chosen


def _loop(ends: dict[int, list[int]]) -> list[int] | None:
    """The corners in the order of one closed line; None if they are not on one."""
    if any(len(others) != 2 for others in ends.values()):
        return None
    first = min(ends)
    loop, here = [first], ends[first][0]
    while here != first:
        a, b = ends[here]
        loop.append(here)
        here = b if a == loop[-2] else a
    return loop if len(loop) == len(ends) else None


def _smoothed(corners: Array) -> Array | None:
    """A line without corners; None if it would be too tight, too short or too long."""
    ring = np.vstack([corners, corners[:1]])
    edges = divided(ring, round(lengths(ring).sum() / SPACING))[:-1]
    width = 4.0
    while width < 9.0:
        line = smooth_loop(_blurred(edges, width), SPACING)
        length = SPACING * len(line)
        if not LENGTHS[0] < length < LENGTHS[1]:
            return None
        if np.abs(directions(line, closed=True)[1]).max() * TIGHTEST < 1.0:
            return line
        width *= 1.15
    return None


def _blurred(line: Array, width: m) -> Array:
    """A closed line averaged along itself with a Gaussian of this width."""
    frequency = np.fft.rfftfreq(len(line), SPACING)
    gain = np.exp(-2.0 * (np.pi * frequency * width) ** 2)
    return np.fft.irfft(np.fft.rfft(line, axis=0) * gain[:, None], len(line), axis=0)


def _apart(line: Array) -> m:
    """The smallest distance between parts of a closed line that do not follow each other."""
    thin = line[::4]
    number = np.arange(len(thin))
    between = np.abs(number[:, None] - number)
    between = np.minimum(between, len(thin) - between) * 4 * SPACING
    gap = np.hypot(*(thin[:, None] - thin).transpose(2, 0, 1))
    return float(gap[between > 2.0 * CLEARANCE].min())


def _from_the_straight(line: Array) -> Array:
    """The same closed line, beginning in its straightest stretch."""
    window = round(25.0 / SPACING)
    bend = np.abs(directions(line, closed=True)[1][:-1])
    bends = np.convolve(np.concatenate([bend, bend[: window - 1]]), np.ones(window), "valid")
    return np.roll(line, -(int(bends.argmin()) + window // 3), axis=0)
