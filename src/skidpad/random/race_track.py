"""Random closed race tracks: the border of some cells of a Voronoi diagram.

Scattered points divide the plane into cells. The border of a connected group of cells is a closed
line with straights and turns to both sides, which never crosses itself. `border_of_cells` takes its
random numbers from the caller; `random_track` scales and smooths such a line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..compile import native as disk
from ..compile.pipeline import package_digest
from ..core.arrays import Array
from ..core.checks import positive, whole
from ..errors import InvalidValue
from ..geometry.line import arc_length, blurred, directions, divided, even_curve, lengths
from ..geometry.maps.track import Track
from ..geometry.polygon import signed_area
from ..units import m
from . import streams

ROWS, COLUMNS = 6, 8
POINTS = ROWS * COLUMNS
"""Number of points of the Voronoi diagram."""
_SCATTER = 0.18
"""Standard deviation of the point positions, in units of their distance."""


def border_of_cells(
    scatter: Array, share: Callable[[], float], cells: int, pitch: m = 1.0
) -> Array | None:
    """Corners (n, 2) of the border of a group of cells, counter-clockwise; None if it fails.

    Args:
        scatter: standard normal numbers (POINTS, 2).
        share: returns the next number between 0 and 1.
        cells: number of cells of the group.
        pitch: distance of the points; an edge of a cell is about 0.6 times as long.
    """
    from scipy.spatial import Voronoi

    row, column = np.divmod(np.arange(POINTS), COLUMNS)
    points = pitch * np.column_stack([column + 0.5 * (row % 2), 0.87 * row])
    points += _SCATTER * pitch * scatter
    diagram = Voronoi(points)
    chosen = _connected_cells(share, diagram, cells)
    if chosen is None:
        return None
    ends: dict[int, list[int]] = {}
    for (a, b), (i, j) in zip(diagram.ridge_points, diagram.ridge_vertices, strict=True):
        if (a in chosen) != (b in chosen):
            ends.setdefault(i, []).append(j)
            ends.setdefault(j, []).append(i)
    loop = _loop(ends)
    if loop is None:
        return None
    corners = np.asarray(diagram.vertices)[loop]
    return corners if signed_area(corners) > 0.0 else corners[::-1]


def _connected_cells(share: Callable[[], float], diagram: Any, count: int) -> set[int] | None:
    """Connected cells around the middle one, preferring those that touch few of the others."""
    neighbours: dict[int, set[int]] = {}
    for a, b in diagram.ridge_points.tolist():
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    # Cells at the rim may be large or unbounded; only those within the points are taken.
    low, high = diagram.points.min(axis=0), diagram.points.max(axis=0)
    bounded: set[int] = set()
    for k, region in enumerate(diagram.point_region):
        corners = diagram.vertices[diagram.regions[region]]
        if -1 not in diagram.regions[region] and ((low < corners) & (corners < high)).all():
            bounded.add(k)
    chosen = {POINTS // 2}
    while len(chosen) < count:
        near = sorted({j for i in chosen for j in neighbours[i]} & bounded - chosen)
        if not near:
            return None
        weight = np.array([len(neighbours[j] & chosen) ** -2.0 for j in near])
        limits = np.cumsum(weight / weight.sum())
        chosen.add(near[int(np.searchsorted(limits / limits[-1], share(), "right"))])
    return chosen


def _loop(ends: dict[int, list[int]]) -> list[int] | None:
    """Corners in the order of one closed line; None if they form several."""
    if any(len(others) != 2 for others in ends.values()):
        return None
    first = min(ends)
    loop, here = [first], ends[first][0]
    while here != first:
        a, b = ends[here]
        loop.append(here)
        here = b if a == loop[-2] else a
    return loop if len(loop) == len(ends) else None


def least_gap(line: Array, spacing: m, clearance: m, every: int = 1) -> m:
    """Smallest distance between separate parts of a closed line, sampled at every `every`-th point.

    Parts are separate if they are more than twice `clearance` apart along the line.
    """
    thin = line[::every]
    number = np.arange(len(thin))
    between = np.abs(number[:, None] - number)
    between = np.minimum(between, len(thin) - between) * every * spacing
    gap = np.hypot(*(thin[:, None] - thin).transpose(2, 0, 1))
    return float(gap[between > 2.0 * clearance].min())


def from_the_straight(line: Array, window: int) -> Array:
    """Rotate the points of a closed line, so that it starts in its straightest `window` points."""
    bend = np.abs(directions(line, closed=True)[1][:-1])
    bends = np.convolve(np.concatenate([bend, bend[: window - 1]]), np.ones(window), "valid")
    return np.roll(line, -(int(bends.argmin()) + window // 3), axis=0)


ATTEMPTS = 300
CHANNEL = "race track"
_MOST_CELLS, _LEAST_CELLS = 9, 3
_CLEARANCE = 1.5
"""Least distance between parts of a centre line that are not adjacent, in track widths."""
_ROOM_TO_TURN, _ROOM_ACROSS = 16.0, 17.0
"""Least length of a track, in radii of its tightest bend and in track widths."""
_STEPS = 400
"""Number of points of a line during the search for its shape."""
_BLURS = 0.006 * 1.25 ** np.arange(15)
"""Widths of the moving average that rounds corners, relative to the length of the line.

The first sufficient one is used.
"""


def random_track(seed: int, length: m, width: m, radius: m, spacing: m, name: str) -> Track:
    """Random track for a seed; see `skidpad.geometry.maps.random_track`."""
    whole("seed", seed, least=None)
    length, width = positive("length", length, "m"), positive("width", width, "m")
    radius, spacing = positive("radius", radius, "m"), positive("spacing", spacing, "m")
    least = max(_ROOM_TO_TURN * radius, _ROOM_ACROSS * width)
    if length < least:
        raise InvalidValue(
            f"length = {length:g} m must be at least {least:.4g} m for width = {width:g} m and "
            f"radius = {radius:g} m"
        )
    # Cached on disk: the search imports SciPy and takes longer than the rest of a task.
    sizes = (length, width, radius, spacing)
    entry = f"{disk.key('race track', package_digest(), repr((seed, *sizes)))}.track"
    body = disk.load(entry)
    if body is None:
        centre = _centre(seed, *sizes)
        disk.store(entry, centre.tobytes())
    else:
        centre = np.frombuffer(body).reshape(-1, 2)
    half = np.full(len(centre), 0.5 * width)
    return Track(centre, half, half, name=name)


def _centre(seed: int, length: m, width: m, radius: m, spacing: m) -> Array:
    for attempt in range(ATTEMPTS):
        shape = _shape(seed, attempt, radius / length, _CLEARANCE * width / length)
        if shape is None:
            continue
        points = even_curve((shape - shape[0]) * length, spacing, closed=True).points
        centre = points * (length / arc_length(np.vstack([points, points[:1]]))[-1])
        if np.abs(directions(centre, closed=True)[1]).max() * radius <= 1.0:
            return np.ascontiguousarray(centre)
    raise InvalidValue(
        f"no track of length = {length:g} m, width = {width:g} m and radius = {radius:g} m was "
        f"found in {ATTEMPTS} attempts: give a longer one, a smaller width or a smaller radius"
    )


def _shape(seed: int, attempt: int, radius: float, clearance: float) -> Array | None:
    """Closed line of length 1 with at least this radius and clearance, starting in its straightest
    stretch.

    None if this attempt fails.
    """
    scatter = streams.normals(seed, f"{CHANNEL}.points", attempt, width=2 * POINTS)
    shares = iter(streams.uniforms(seed, f"{CHANNEL}.cells", attempt, width=_MOST_CELLS).flat)
    cells = _LEAST_CELLS + int(next(shares) * (_MOST_CELLS + 1 - _LEAST_CELLS))
    corners = border_of_cells(scatter.reshape(POINTS, 2), lambda: float(next(shares)), cells)
    if corners is None:
        return None
    ring = np.vstack([corners, corners[:1]])
    edges = divided(ring / lengths(ring).sum(), _STEPS)[:-1]
    for blur in _BLURS:
        line = even_curve(blurred(edges, 1.0 / _STEPS, blur), 1.0 / _STEPS, closed=True).points
        line = line / lengths(np.vstack([line, line[:1]])).sum()
        # Require a margin, since dividing the line again changes its curvature.
        if np.abs(directions(line, closed=True)[1]).max() * radius < 0.98:
            step = 1.0 / len(line)
            apart = least_gap(line, step, clearance) > 1.02 * clearance
            return from_the_straight(line, len(line) // 12) if apart else None
    return None
