"""Contact by other means than the code under test: clipping, winding numbers, dense sampling."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Point = tuple[float, float]


def placed(corners: Array, pose: Sequence[float]) -> list[Point]:
    """Corners in the world, by complex numbers."""
    x, y, yaw = pose
    turn = cmath.rect(1.0, yaw)
    moved = [complex(x, y) + turn * complex(*corner) for corner in corners]
    return [(z.real, z.imag) for z in moved]


def clip(segment: Sequence[float], convex: Sequence[Point]) -> float:
    """How much of a segment lies in a convex polygon, by Cyrus and Beck: < 0 nothing, 0 a point."""
    x0, y0, x1, y1 = segment
    enter, leave = 0.0, 1.0
    for k, (px, py) in enumerate(convex):
        qx, qy = convex[(k + 1) % len(convex)]
        nx, ny = qy - py, px - qx
        start = nx * (x0 - px) + ny * (y0 - py)
        change = nx * (x1 - x0) + ny * (y1 - y0)
        if change == 0.0:
            if start > 0.0:
                return -math.inf
        elif change > 0.0:
            leave = min(leave, -start / change)
        else:
            enter = max(enter, -start / change)
    return leave - enter


def winding(point: Point, ring: Sequence[Point]) -> int:
    """How often a ring goes round a point, by summing up angles; 1 for a vertex of the ring."""
    if point in ring:
        return 1
    total = 0.0
    for k, (px, py) in enumerate(ring):
        qx, qy = ring[(k + 1) % len(ring)]
        a, b = complex(px - point[0], py - point[1]), complex(qx - point[0], qy - point[1])
        total += cmath.phase(b / a)
    return round(total / (2.0 * math.pi))


def gap(convex: Sequence[Point], segment: Sequence[float]) -> float:
    """Distance of a convex polygon from a segment; 0 in contact."""
    if clip(segment, convex) >= 0.0:
        return 0.0
    ends = [(segment[0], segment[1]), (segment[2], segment[3])]
    edges = [(*convex[k], *convex[(k + 1) % len(convex)]) for k in range(len(convex))]
    to_edges = [point_gap(end, edge) for end in ends for edge in edges]
    return min(*to_edges, *(point_gap(corner, segment) for corner in convex))


def point_gap(point: Point, segment: Sequence[float]) -> float:
    x0, y0, x1, y1 = segment
    square = (x1 - x0) ** 2 + (y1 - y0) ** 2
    t = ((point[0] - x0) * (x1 - x0) + (point[1] - y0) * (y1 - y0)) / square if square else 0.0
    t = min(1.0, max(0.0, t))
    return math.hypot(point[0] - x0 - t * (x1 - x0), point[1] - y0 - t * (y1 - y0))


def along(before: Sequence[float], after: Sequence[float], times: Array) -> Iterator[list[float]]:
    """Poses on the arc between two poses, by turning about the centre of the motion."""
    turn = math.remainder(after[2] - before[2], 2.0 * math.pi)
    start, end = complex(before[0], before[1]), complex(after[0], after[1])
    for t in times:
        if abs(turn) < 1e-9:
            place = start + t * (end - start)
        else:
            # end - c = exp(i turn) (start - c)
            rotated = cmath.rect(1.0, turn)
            centre = (end - rotated * start) / (1.0 - rotated)
            place = centre + cmath.rect(1.0, turn * t) * (start - centre)
        yield [place.real, place.imag, before[2] + turn * t]
