"""The line between the cones of a track: blue ones on its left, yellow ones on its right.

Of a triangulation of all cones, a triangle with both colours has two edges between them. From edge
to edge such triangles make a strip, which is the track; the middles of these edges are its line.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import AnyArray, Array
from ...units import m
from ..line import lengths
from .tracks import line_rows

_WIDEST = 2.5
"""An edge longer than so many usual ones lies not across the track."""
_LEAST = 4
"""Edges across a track that is worth a line."""
_APART: m = 0.2
"""Least distance of the points of the line."""


def line_between(cones: Array, colours: Sequence[str]) -> Array | None:
    """Rows s, x, y, phi, kappa, w of the line between cones (n, 2); None if there is none.

    It goes with the blue cones on its left, and begins near the orange ones if there are some.
    """
    from scipy.spatial import Delaunay, QhullError

    named = np.array(colours)
    sides = np.unique(cones[(named == "blue") | (named == "yellow")], axis=0)
    is_blue = np.array(
        [bool(((cones == at).all(axis=1) & (named == "blue")).any()) for at in sides]
    )
    if is_blue.sum() < 2 or (~is_blue).sum() < 2:
        return None
    try:
        triangles = Delaunay(sides).simplices
    except QhullError:
        return None
    strip = _longest_strip(_neighbours(triangles, is_blue, sides))
    if len(strip) < _LEAST:
        return None
    ends = np.array(strip)
    blue, yellow = sides[ends[:, 0]], sides[ends[:, 1]]
    middles, aside = 0.5 * (blue + yellow), 0.5 * (blue - yellow)
    if _blue_is_right(middles, aside):
        middles, aside = middles[::-1], aside[::-1]
    start = cones[named == "orange"]
    closed = np.hypot(*(middles[0] - middles[-1])) <= 1.5 * lengths(middles).max()
    if closed and len(start):
        first = int(np.argmin(np.hypot(*(middles - start.mean(axis=0)).T)))
        middles, aside = (np.roll(them, -first, axis=0) for them in (middles, aside))
    kept = _spread(middles)
    if len(kept) < _LEAST:
        return None
    rows = line_rows(middles[kept], np.ones(len(kept)))
    rows[:, 5] = _half_widths(rows[:, 3], np.resize(aside[kept], (len(rows), 2)))
    return rows


def _half_widths(headings: Array, aside: Array) -> Array:
    """How far the cones are from a line, straight across it."""
    return np.abs(np.cos(headings) * aside[:, 1] - np.sin(headings) * aside[:, 0])


_Edge = tuple[int, int]
"""A blue and a yellow cone."""


def _neighbours(triangles: AnyArray, is_blue: AnyArray, sides: Array) -> dict[_Edge, list[_Edge]]:
    """For each edge between colours, those that share a triangle with it."""
    pairs: list[tuple[_Edge, _Edge]] = []
    for corners in triangles.tolist():
        blue = [k for k in corners if is_blue[k]]
        yellow = [k for k in corners if not is_blue[k]]
        if blue and yellow:
            first, second = [(b, y) for b in blue for y in yellow]
            pairs.append((first, second))
    edges = {edge for pair in pairs for edge in pair}
    across = {(b, y): float(np.hypot(*(sides[b] - sides[y]))) for b, y in edges}
    # Each cone has someone opposite: the shortest edges of cones are the usual width.
    shortest: dict[int, float] = {}
    for (b, y), length in across.items():
        shortest[b] = min(shortest.get(b, length), length)
        shortest[~y] = min(shortest.get(~y, length), length)
    widest = _WIDEST * float(np.median(list(shortest.values()))) if shortest else 0.0
    beside: dict[_Edge, list[_Edge]] = {}
    for a, b in pairs:
        if max(across[a], across[b]) <= widest:
            beside.setdefault(a, []).append(b)
            beside.setdefault(b, []).append(a)
    return beside


def _longest_strip(beside: dict[_Edge, list[_Edge]]) -> list[_Edge]:
    """The longest chain of edges; each has two neighbours at most, so that chains do not branch."""
    best: list[_Edge] = []
    left = dict.fromkeys(sorted(beside, key=lambda edge: (len(beside[edge]), edge)))
    while left:
        chain = [next(iter(left))]
        del left[chain[0]]
        while ahead := [edge for edge in beside[chain[-1]] if edge in left]:
            chain.append(ahead[0])
            del left[ahead[0]]
        best = max(best, chain, key=len)
    return best


def _blue_is_right(middles: Array, aside: Array) -> bool:
    """Whether the blue cones, seen from the middles, are to the right of most of a line."""
    ahead = np.gradient(middles, axis=0)
    return bool(np.sum(ahead[:, 0] * aside[:, 1] - ahead[:, 1] * aside[:, 0]) < 0.0)


def _spread(points: Array) -> list[int]:
    """Numbers of points of which none is too near to the one before it."""
    kept = [0]
    for k in range(1, len(points)):
        if np.hypot(*(points[k] - points[kept[-1]])) >= _APART:
            kept.append(k)
    if len(kept) > 2 and np.hypot(*(points[kept[-1]] - points[0])) < _APART:
        kept.pop()
    return kept
