"""Closed race tracks of any size, made up from a seed."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..checks import positive, whole
from ..compile import cache as disk
from ..compile.stored_traces import package_digest
from ..errors import InvalidValue
from ..plane.cell_border import POINTS, border_of_cells, from_the_straight, least_gap
from ..plane.even_curve import blurred, even_curve
from ..plane.line import arc_length, directions, divided, lengths
from ..plane.maps.track import Track
from ..units import m
from . import streams

ATTEMPTS = 300
CHANNEL = "race track"
_MOST_CELLS, _LEAST_CELLS = 9, 3
_CLEARANCE = 1.5
"""Least distance of two parts of a centre line that do not follow each other, in widths."""
_ROOM_TO_TURN, _ROOM_ACROSS = 16.0, 17.0
"""Least length of a track, in radii of its tightest bend and in widths."""
_STEPS = 400
"""Of a line while its shape is looked for."""
_BLURS = 0.006 * 1.25 ** np.arange(15)
"""Widths of the average that makes bends of corners, in lengths of the line; the first that is
enough is taken."""


def random_track(seed: int, length: m, width: m, radius: m, spacing: m, name: str) -> Track:
    """The track of a seed; see `skidpad.plane.maps.random_track`."""
    whole("seed", seed, least=None)
    length, width = positive("length", length, "m"), positive("width", width, "m")
    radius, spacing = positive("radius", radius, "m"), positive("spacing", spacing, "m")
    least = max(_ROOM_TO_TURN * radius, _ROOM_ACROSS * width)
    if length < least:
        raise InvalidValue(
            f"length = {length:g} m must be at least {least:.4g} m for width = {width:g} m and "
            f"radius = {radius:g} m"
        )
    centre = _kept_centre(seed, length, width, radius, spacing)
    half = np.full(len(centre), 0.5 * width)
    return Track(centre, half, half, name=name)


def _kept_centre(seed: int, length: m, width: m, radius: m, spacing: m) -> Array:
    """The centre line, from disk if an earlier process found it: to look for it takes SciPy, and
    longer than all the rest of a task."""
    sizes = (length, width, radius, spacing)
    entry = f"{disk.key('race track', package_digest(), repr((seed, *sizes)))}.track"
    body = disk.load(entry)
    if body is None:
        centre = _centre(seed, *sizes)
        disk.store(entry, centre.tobytes())
        return centre
    return np.frombuffer(body).reshape(-1, 2)


def _centre(seed: int, length: m, width: m, radius: m, spacing: m) -> Array:
    for attempt in range(ATTEMPTS):
        shape = _shape(seed, attempt, radius / length, _CLEARANCE * width / length)
        if shape is None:
            continue
        centre = _of_length(shape, length, spacing)
        if np.abs(directions(centre, closed=True)[1]).max() * radius <= 1.0:
            return np.ascontiguousarray(centre)
    raise InvalidValue(
        f"no track of length = {length:g} m, width = {width:g} m and radius = {radius:g} m was "
        f"found in {ATTEMPTS} attempts: give a longer one, a smaller width or a smaller radius"
    )


def _shape(seed: int, attempt: int, radius: float, clearance: float) -> Array | None:
    """A closed line of length 1 whose bends are not tighter than asked and whose parts are not
    nearer to each other, from its straightest stretch on; None if this attempt gives none."""
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
        # A little room, as the line is divided anew.
        if np.abs(directions(line, closed=True)[1]).max() * radius < 0.98:
            step = 1.0 / len(line)
            apart = least_gap(line, step, clearance) > 1.02 * clearance
            return from_the_straight(line, len(line) // 12) if apart else None
    return None


def _of_length(shape: Array, length: m, spacing: m) -> Array:
    """Points at equal distances along a closed shape from the origin on, so large that it is so
    long."""
    points = even_curve((shape - shape[0]) * length, spacing, closed=True).points
    return points * (length / arc_length(np.vstack([points, points[:1]]))[-1])
