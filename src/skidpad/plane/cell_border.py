"""Closed lines that look as race tracks do: the border of some cells of a Voronoi diagram.

Scattered points divide the plane into cells. The border of some cells that hang together is a
closed line with straights and turns to both sides, which never crosses itself. The random numbers
come from the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array
from ..units import m
from .line import directions
from .polygon import signed_area

ROWS, COLUMNS = 6, 8
POINTS = ROWS * COLUMNS
"""Of the diagram."""
_SCATTER = 0.18
"""Standard deviation of the places of points, in distances between them."""


def border_of_cells(
    scatter: Array, share: Callable[[], float], cells: int, pitch: m = 1.0
) -> Array | None:
    """Corners (n, 2) of the border of so many cells, counter-clockwise; None if there is none.

    `scatter` holds standard normal numbers (POINTS, 2), and `share` gives the next number between
    0 and 1. `pitch` is the distance of the points; an edge of a cell has about 0.6 of it.
    """
    from scipy.spatial import Voronoi

    row, column = np.divmod(np.arange(POINTS), COLUMNS)
    points = pitch * np.column_stack([column + 0.5 * (row % 2), 0.87 * row])
    points += _SCATTER * pitch * scatter
    diagram = Voronoi(points)
    chosen = _hanging_together(share, diagram, cells)
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


def _hanging_together(share: Callable[[], float], diagram: Any, count: int) -> set[int] | None:
    """Cells, the middle one first; one that touches few of those before is chosen rather."""
    beside: dict[int, set[int]] = {}
    for a, b in diagram.ridge_points.tolist():
        beside.setdefault(a, set()).add(b)
        beside.setdefault(b, set()).add(a)
    bounded = _bounded(diagram)
    chosen = {POINTS // 2}
    while len(chosen) < count:
        near = sorted({j for i in chosen for j in beside[i]} & bounded - chosen)
        if not near:
            return None
        weight = np.array([len(beside[j] & chosen) ** -2.0 for j in near])
        limits = np.cumsum(weight / weight.sum())
        chosen.add(near[int(np.searchsorted(limits / limits[-1], share(), "right"))])
    return chosen


def _bounded(diagram: Any) -> set[int]:
    """Cells within the points: those at the rim may reach far out, or have no end."""
    low, high = diagram.points.min(axis=0), diagram.points.max(axis=0)
    bounded: set[int] = set()
    for k, region in enumerate(diagram.point_region):
        corners = diagram.vertices[diagram.regions[region]]
        if -1 not in diagram.regions[region] and ((low < corners) & (corners < high)).all():
            bounded.add(k)
    return bounded


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


def least_gap(line: Array, spacing: m, clearance: m, every: int = 1) -> m:
    """The smallest distance between parts of a closed line that are more than twice `clearance`
    apart along it; of all its points, or of some."""
    thin = line[::every]
    number = np.arange(len(thin))
    between = np.abs(number[:, None] - number)
    between = np.minimum(between, len(thin) - between) * every * spacing
    gap = np.hypot(*(thin[:, None] - thin).transpose(2, 0, 1))
    return float(gap[between > 2.0 * clearance].min())


def from_the_straight(line: Array, window: int) -> Array:
    """The same closed line, beginning in the straightest stretch of so many points."""
    bend = np.abs(directions(line, closed=True)[1][:-1])
    bends = np.convolve(np.concatenate([bend, bend[: window - 1]]), np.ones(window), "valid")
    return np.roll(line, -(int(bends.argmin()) + window // 3), axis=0)
