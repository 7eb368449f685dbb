"""Solid areas of a map, inferred from its rings.

A polygon may be an obstacle, or the yard a car drives in. Files that do not say are interpreted by
the nesting of rings: an outermost ring around others, or a ring that is alone in its map, is a
fence, free on both sides; inside of a fence solid and free areas alternate from ring to ring;
outermost rings next to others that contain nothing are solid. A polygon that is drawn twice counts
once. Where outermost rings cross, a yard with something across its fence cannot be distinguished
from two obstacles: they are solid, and a `MapWarning` says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from ...core.arrays import Array, Mask
from ...core.files import brief_repr
from ..line import crossing_shares
from ..polygon import enclosed, ring_edges

Inside = Literal["auto", "solid", "free"]
INSIDE: tuple[Inside, ...] = ("auto", "solid", "free")
"""Interpretations of a polygon's area, within its outline and outside of its holes."""
_TOUCH = 1e-9
"""Share of an edge, at its ends, within which an intersection counts as touching."""


class MapWarning(UserWarning):
    """Warning: ambiguous content of a map."""


class Polygon(NamedTuple):
    """A polygon with holes, as rings without closing vertex."""

    outline: Array
    holes: tuple[Array, ...] = ()

    __repr__ = brief_repr


class Areas(NamedTuple):
    """Rings classified by what they enclose."""

    solids: tuple[Polygon, ...]
    """Obstacle areas."""
    fences: tuple[Array, ...]
    """Rings around drivable areas; walls, but free on both sides."""


def areas(polygons: Sequence[Polygon], inside: Inside) -> Areas:
    """Split polygons into solid areas and fences, which are walls around free ground."""
    if inside == "solid":
        return Areas(tuple(polygons), ())
    if inside == "free":
        islands = (Polygon(hole) for polygon in polygons for hole in polygon.holes)
        return Areas(tuple(islands), tuple(polygon.outline for polygon in polygons))
    polygons = _without_repeats(polygons)
    rings = [ring for polygon in polygons for ring in (polygon.outline, *polygon.holes)]
    around = _nesting(polygons, rings)
    full = {k for outer in around for k in outer}
    fences = {k for k, outer in enumerate(around) if not outer and (k in full or len(rings) == 1)}
    _warn_of_crossings(
        [k for k, outer in enumerate(around) if not outer and k not in fences], rings
    )
    levels = [len(outer - fences) for outer in around]
    is_solid = [k not in fences and level % 2 == 0 for k, level in enumerate(levels)]
    holes: dict[int, list[Array]] = {}
    for k in range(len(rings)):
        if k in fences or is_solid[k]:
            continue
        solid = [outer for outer in around[k] if is_solid[outer]]
        if solid:
            holes.setdefault(max(solid, key=lambda outer: levels[outer]), []).append(rings[k])
        else:
            # Only where a hole sticks out of its outline; as obstacle it is on the safe side.
            is_solid[k] = True
    solids = (Polygon(ring, tuple(holes.get(k, ()))) for k, ring in enumerate(rings) if is_solid[k])
    return Areas(tuple(solids), tuple(rings[k] for k in sorted(fences)))


def _without_repeats(polygons: Sequence[Polygon]) -> list[Polygon]:
    """Polygons without duplicates of the same outline, which would otherwise contain each other."""
    kept: dict[tuple[tuple[float, float], ...], int] = {}
    result: list[Polygon] = []
    for polygon in polygons:
        k = kept.setdefault(_cycle(polygon.outline), len(result))
        if k == len(result):
            result.append(polygon)
        elif not polygon.holes:
            # What one of them has as a hole the other fills.
            result[k] = polygon
    return result


def _cycle(ring: Array) -> tuple[tuple[float, float], ...]:
    """Corners of a ring in a canonical order, independent of start and orientation."""
    before, after = np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0)
    (a, b), (c, d) = (ring - before).T, (after - ring).T
    bends = ring[(a * d != b * c) | (a * c + b * d < 0.0)]
    corners = [(float(x), float(y)) for x, y in (bends if len(bends) else ring)]
    first = corners.index(min(corners))
    ahead = tuple(corners[first:] + corners[:first])
    return min(ahead, (ahead[0], *ahead[:0:-1]))


def _warn_of_crossings(numbers: Sequence[int], rings: Sequence[Array]) -> None:
    """Warn of outermost rings that cross each other."""
    pairs: list[str] = []
    boxes = {k: (rings[k].min(axis=0), rings[k].max(axis=0)) for k in numbers}
    order = sorted(numbers, key=lambda k: boxes[k][0][0])
    for at, k in enumerate(order):
        for j in order[at + 1 :]:
            if boxes[j][0][0] > boxes[k][1][0]:
                break
            if boxes[j][0][1] <= boxes[k][1][1] and boxes[k][0][1] <= boxes[j][1][1]:
                where = _crossing(rings[k], rings[j])
                if where is not None:
                    pairs.append(f"near ({where[0]:g}, {where[1]:g})")
    if pairs:
        more = f" and at {len(pairs) - 3} places more" if len(pairs) > 3 else ""
        warnings.warn(
            MapWarning(
                f"outlines cross {', '.join(pairs[:3])}{more}: all of them count as solid. If one "
                "of them is a fence to drive in, say inside='free'; if not, inside='solid'"
            ),
            stacklevel=4,
        )


def _crossing(a: Array, b: Array) -> Array | None:
    """A point where the edges of two rings cross (touching is excluded), or None."""
    p, q = ring_edges(a)[:, None], ring_edges(b)[None]
    s, t = crossing_shares(p, q)
    hits = (s > _TOUCH) & (s < 1.0 - _TOUCH) & (t > _TOUCH) & (t < 1.0 - _TOUCH)
    where = np.argwhere(hits)
    if not len(where):
        return None
    row, column = where[0]
    return p[row, 0, :2] + s[row, column] * (p[row, 0, 2:] - p[row, 0, :2])


def _nesting(polygons: Sequence[Polygon], rings: Sequence[Array]) -> list[set[int]]:
    """For each ring, the rings that contain it. Rings that cross do not contain each other."""
    low = np.array([ring.min(axis=0) for ring in rings]).reshape(-1, 2)
    high = np.array([ring.max(axis=0) for ring in rings]).reshape(-1, 2)
    order = low[:, 0].argsort(kind="stable")
    lefts = low[order, 0]
    around: list[set[int]] = [set() for _ in rings]
    for k, ring in enumerate(rings):
        begin, end = np.searchsorted(lefts, [low[k, 0], np.nextafter(high[k, 0], np.inf)])
        near = order[begin:end]
        boxed = near[np.all((low[near] >= low[k]) & (high[near] <= high[k]), axis=1)].tolist()
        # Of two equal rings the later one is the inner.
        inner = [j for j in boxed if j != k and j not in around[k]]
        if inner:
            # Those with all their vertices in this ring.
            starts = np.cumsum([0, *(len(rings[j]) for j in inner[:-1])])
            inside = enclosed(np.concatenate([rings[j] for j in inner]), ring)
            whole = np.logical_and.reduceat(inside, starts)
            for j, is_within in zip(inner, whole.tolist(), strict=True):
                if is_within:
                    around[j].add(k)
    # The file says that holes lie in their outlines, even where one sticks out.
    outline = 0
    for polygon in polygons:
        for hole in range(outline + 1, outline + 1 + len(polygon.holes)):
            around[hole].add(outline)
            around[outline].discard(hole)
        outline += 1 + len(polygon.holes)
    return around


def solid_at(points: Array, solids: Sequence[Polygon]) -> Mask:
    """Mask of the points in a solid area; borders count as solid, also those of holes."""
    result = np.zeros(len(points), dtype=np.bool_)
    order = points[:, 0].argsort(kind="stable")
    x = points[order, 0]
    for outline, holes in solids:
        begin = int(np.searchsorted(x, outline[:, 0].min(), "left"))
        end = int(np.searchsorted(x, outline[:, 0].max(), "right"))
        rows = order[begin:end]
        rows = rows[~result[rows]]
        inside = enclosed(points[rows], outline)
        for hole in holes:
            inside[inside] = ~enclosed(points[rows][inside], hole, border=False)
        result[rows[inside]] = True
    return result
