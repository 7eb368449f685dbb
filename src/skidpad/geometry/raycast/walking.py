"""Kernels of single rays, which walk from cell to cell, and of the edges that face a sensor."""

from __future__ import annotations

import math
from typing import Any

from numba import types

from .drawing import NOISE, TINY, behind
from .lanes import Block, constant, inlined, instruction, kernel, repeated

BEYOND = 1.0 + 1e-12
"""A hit counts as within a cell if it is nearer than the way out by more than rounding."""


@instruction
def probe(typing: Any, table: Any, block: Any, x: Any, y: Any, dx: Any, dy: Any) -> Any:
    """Nearness of the nearest of a block of segments to a ray; 0 if it meets none of them.

    The operations on each are those of `drawing.draw_with_care` and `drawing.meet`.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        segment = Block(context, builder, (table, args[0]), args[1], 8)
        x0, y0, x1, y1 = (segment[n] for n in range(4))
        ox, oy, d_x, d_y = (repeated(builder, value) for value in args[2:])
        ax, ay, bx, by = x0 - ox, y0 - oy, x1 - ox, y1 - oy
        ex, ey = x1 - x0, y1 - y0
        one, other = ax * ey, ay * ex
        area = one - other
        edge_on = area.size() <= (one.size() + other.size()) * NOISE + TINY
        lasting = ex.size() + ey.size() > 0.0
        at_a, at_b = ax * d_y - ay * d_x, bx * d_y - by * d_x
        left = (at_a >= 0.0) & (at_b <= 0.0)
        right = (at_a <= 0.0) & (at_b >= 0.0)
        front = (left & (area > 0.0)) | (right & (area < 0.0) & ~behind(segment, ox, oy))

        square_a, square_b = ax * ax + ay * ay, bx * bx + by * by
        b_nearer = square_b < square_a
        square = b_nearer.pick(square_b, square_a)
        per = 1.0 / edge_on.pick(square, area)
        mx = edge_on.pick(b_nearer.pick(bx, ax), ey) * per
        my = edge_on.pick(b_nearer.pick(by, ay), 0.0 - ex) * per
        near = mx * d_x + my * d_y
        met = (front & ~edge_on) | (edge_on & (left | right))
        touching = lasting & edge_on & ((ax * bx + ay * by <= 0.0) | (square < TINY))
        none = constant(builder, 0.0)
        near = (lasting & met & (near > none)).pick(near, none)
        return touching.pick(float("inf"), near).largest()

    double = types.float64
    return double(table, types.int64, double, double, double, double), generate


@inlined
def probe_blocks(
    table: Any, begin: int, end: int, x: float, y: float, dx: float, dy: float, near: float
) -> float:
    """Nearness of the nearest of some blocks of segments, or `near` if that is nearer."""
    for block in range(begin, end):
        near = max(near, probe(table, block, x, y, dx, dy))
    return near


@inlined
def span(low: float, high: float, at: float, d: float) -> Any:
    """Distances between which a ray is between two limits; the first is larger if it never is."""
    if d == 0.0:
        return (-math.inf, math.inf) if low <= at <= high else (math.inf, -math.inf)
    one, other = (low - at) / d, (high - at) / d
    return min(one, other), max(one, other)


@inlined
def walk(
    frame: Any,
    starts: Any,
    table: Any,
    x: float,
    y: float,
    dx: float,
    dy: float,
    max_range: float,
    near: float,
) -> float:
    """Nearness of what a ray meets in the cells, or `near` if that is nearer."""
    size, columns, lines = frame[2], int(frame[3]), int(frame[4])
    gx, gy = x - frame[0], y - frame[1]
    if abs(gx) + abs(gy) > frame[5]:
        return probe_blocks(table, 0, starts[columns * lines], x, y, dx, dy, near)
    slack = 1e-6 * size
    in_x, out_x = span(-slack, columns * size + slack, gx, dx)
    in_y, out_y = span(-slack, lines * size + slack, gy, dy)
    begin, end = max(max(in_x, in_y), 0.0), min(min(out_x, out_y), max_range)
    if begin > end:
        return near
    i = min(max(int((gx + begin * dx) / size), 0), columns - 1)
    j = min(max(int((gy + begin * dy) / size), 0), lines - 1)
    step_i, step_j = 1 if dx > 0.0 else -1, 1 if dy > 0.0 else -1
    every_x = size / abs(dx)
    every_y = size / abs(dy)
    next_x = ((i + (dx > 0.0)) * size - gx) / dx if dx != 0.0 else math.inf
    next_y = ((j + (dy > 0.0)) * size - gy) / dy if dy != 0.0 else math.inf
    while True:
        cell = j * columns + i
        near = probe_blocks(table, starts[cell], starts[cell + 1], x, y, dx, dy, near)
        out = min(next_x, next_y)
        if near * out >= BEYOND or out > end:
            return near
        if next_x < next_y:
            i += step_i
            next_x += every_x
            if i < 0 or i >= columns:
                return near
        else:
            j += step_j
            next_y += every_y
            if j < 0 or j >= lines:
                return near


@kernel(
    "void(float64[::1], float64[::1], float64[::1], float64[::1], float64, float64[::1],"
    " int64[::1], float64[::1], float64[::1], int64, float64[::1])"
)
def cast_rays(
    x: Any,
    y: Any,
    dx: Any,
    dy: Any,
    max_range: float,
    frame: Any,
    starts: Any,
    table: Any,
    moving: Any,
    moving_blocks: int,
    out: Any,
) -> None:
    """Ranges of rays from (x, y) along the unit vector (dx, dy); infinite where nothing is met."""
    for n in range(len(out)):
        near = probe_blocks(moving, 0, moving_blocks, x[n], y[n], dx[n], dy[n], 0.0)
        near = walk(frame, starts, table, x[n], y[n], dx[n], dy[n], max_range, near)
        distance = 1.0 / near
        out[n] = distance if distance <= max_range else math.inf


@kernel(
    "int64(float64[:, ::1], int64[::1], boolean[:, ::1], float64[:, ::1], float64[:, :, ::1],"
    " int64[::1])"
)
def gather_facing(edges: Any, begin: Any, near: Any, poses: Any, out: Any, counts: Any) -> int:
    """Put the edges that show each of some sensors the outside of what they enclose into `out`.

    Thing k has the `edges` (E, 4) from `begin[k]` up to `begin[k + 1]`, which run to the left
    around its inside, so that the outside is to their right. `near` (B, things) says which of them
    each sensor at `poses` (B, 3) could reach. Row b of `out` (B, E, 4) gets `counts[b]` edges, and
    up to the largest of these, which is returned, segments without length.
    """
    most = 0
    for b in range(len(poses)):
        x, y = poses[b, 0], poses[b, 1]
        count = 0
        for thing in range(len(begin) - 1):
            if not near[b, thing]:
                continue
            for e in range(begin[thing], begin[thing + 1]):
                x0, y0, x1, y1 = edges[e, 0], edges[e, 1], edges[e, 2], edges[e, 3]
                if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) < 0.0:
                    out[b, count, 0], out[b, count, 1] = x0, y0
                    out[b, count, 2], out[b, count, 3] = x1, y1
                    count += 1
        counts[b] = count
        most = max(most, count)
    for b in range(len(poses)):
        for at in range(counts[b], most):
            for k in range(4):
                out[b, at, k] = 0.0
    return most
