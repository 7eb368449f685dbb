"""Whole scans of segments: every segment is drawn over the rays that it covers.

The rays of a scan are in order of angle, so what a segment covers is a range of their numbers,
found from the bearings of its ends; there the nearest hit is kept, eight rays at a time. Segments
are in a tree that is gone through from near to far. A branch whose rays have all met something
nearer is passed over.

The range of numbers is only an outer bound: which ray meets a segment is decided by signs alone,
see `scan_lanes.meet`. The nearest hit does not depend on the order, nor on what was left out
because it lies behind, so that any way of finding the candidates gives the same bits.
"""

from __future__ import annotations

import math
from typing import Any

from .compiled import called, inlined, kernel
from .fan import COS, MAX_RANGE, MIDDLE, MISSED, SIN, TOP, X, Y
from .lanes import lowest_bit
from .scan_lanes import NOISE, TINY, finish, hidden, look, meet, prepare, turn


@inlined
def draw_with_care(rays: Any, view: Any, x0: float, y0: float, x1: float, y1: float) -> bool:
    """Draw one segment over all rays, whatever it covers; returns whether the sensor is on it.

    A segment whose line goes through the sensor is met at its nearer end, and which end lies to the
    left is not known: both cases are drawn.
    """
    ax, ay, bx, by = x0 - view[X], y0 - view[Y], x1 - view[X], y1 - view[Y]
    ex, ey = x1 - x0, y1 - y0
    one, other = ax * ey, ay * ex
    area = one - other
    way = math.copysign(1.0, area)
    ax, ay, bx, by = way * ax, way * ay, way * bx, way * by
    per_area = 1.0 / area
    mx, my = ey * per_area, (0.0 - ex) * per_area
    times = 1
    if abs(area) <= (abs(one) + abs(other)) * NOISE + TINY:
        ax, ay, bx, by = way * ax, way * ay, way * bx, way * by
        square, square_b = ax * ax + ay * ay, bx * bx + by * by
        mx, my = ax, ay
        if square_b < square:
            square, mx, my = square_b, bx, by
        if ax * bx + ay * by <= 0.0 or square < TINY:
            return True
        mx, my = mx * (1.0 / square), my * (1.0 / square)
        times = 2
    for _ in range(times):
        meet(rays, 0, int(view[TOP]) >> 3, ax, ay, bx, by, mx, my)
        ax, ay, bx, by = bx, by, ax, ay
    return False


@inlined
def draw_block(rays: Any, view: Any, table: Any, block: int, plan: Any, places: Any) -> bool:
    """Draw eight segments; returns whether the sensor is on one."""
    lanes = prepare(view, table, block, plan, places)
    todo = lanes & 255
    while todo != 0:
        lane = lowest_bit(todo)
        todo &= todo - 1
        ax, ay, bx, by = plan[lane], plan[lane + 8], plan[lane + 16], plan[lane + 24]
        mx, my = plan[lane + 32], plan[lane + 40]
        first, last = places[lane], places[lane + 8]
        if lanes >> (lane + 8) & 1:
            meet(rays, 0, first, ax, ay, bx, by, mx, my)
            first, last = last, int(view[TOP]) >> 3
        meet(rays, first, last, ax, ay, bx, by, mx, my)
    touching = False
    todo = lanes >> 16
    while todo != 0:
        at = 64 * block + lowest_bit(todo)
        todo &= todo - 1
        x0, y0, x1, y1 = table[at], table[at + 8], table[at + 16], table[at + 24]
        touching |= draw_with_care(rays, view, x0, y0, x1, y1)
    return touching


@called
def draw_all(
    rays: Any,
    view: Any,
    moving: Any,
    moving_begin: int,
    moving_end: int,
    table: Any,
    discs: Any,
    levels: Any,
    heads: Any,
    nodes: Any,
    near: Any,
    plan: Any,
    places: Any,
) -> bool:
    """Draw all that can be seen, from near to far; returns whether the sensor is on it.

    What is still to be done is in lists, one for each step of nearness, that begin at `heads`. In
    `nodes` there are: the next of the list; 16 times the number of a node plus its level; first and
    last block of rays. In `near` there is a bound of its nearness. The first two nodes are what
    moves and the root of the tree.
    """
    touching = False
    for step in range(256):
        heads[step] = -1
    heads[255] = 0
    for node in range(2):
        nodes[node, 0], nodes[node, 1] = 1 - 2 * node, levels[0] if node == 1 else 0
        nodes[node, 2], nodes[node, 3], near[node] = 0, int(view[TOP]) >> 3, math.inf
    used, step = 2, 255
    while True:
        while step >= 0 and heads[step] < 0:
            step -= 1
        if step < 0:
            return touching
        node = heads[step]
        heads[step] = nodes[node, 0]
        if hidden(rays, nodes[node, 2], nodes[node, 3], near[node]):
            continue
        level, number = nodes[node, 1] & 15, nodes[node, 1] >> 4
        if level == 0:
            source, begin, end = table, number, number + 1
            if node == 0:
                source, begin, end = moving, moving_begin, moving_end
            elif node == 1:
                end = levels[1]
            for block in range(begin, end):
                touching |= draw_block(rays, view, source, block, plan, places)
            continue
        todo = look(view, discs, levels[level] + number, near[node], plan, places)
        while todo != 0:
            lane = lowest_bit(todo)
            todo &= todo - 1
            nodes[used, 0] = heads[places[lane + 16]]
            heads[places[lane + 16]] = used
            nodes[used, 1] = 16 * (8 * number + lane) + level - 1
            nodes[used, 2], nodes[used, 3] = places[lane], places[lane + 8]
            near[used] = plan[lane]
            used += 1


@kernel(
    "void(float64[:, ::1], float64[::1], float64[::1], float64[::1], int64, float64[::1],"
    " float64[::1], float64[::1], int64[::1], float64[::1], int64, int64, int64[::1],"
    " int64[:, ::1], float64[::1], float64[::1], float64[::1], int64[::1], float64[:, ::1],"
    " float32[:, ::1])"
)
def scan_rows(
    poses: Any,
    cos: Any,
    sin: Any,
    beams: Any,
    beams_step: int,
    view: Any,
    table: Any,
    discs: Any,
    levels: Any,
    moving: Any,
    moving_blocks: int,
    moving_step: int,
    heads: Any,
    nodes: Any,
    near: Any,
    rays: Any,
    plan: Any,
    places: Any,
    out: Any,
    out32: Any,
) -> None:
    """Scans from poses, a row of `out` (or of `out32`, if that has rows) for each.

    `cos` and `sin` are of the yaws of the poses. `beams` has blocks of rays for each pose,
    `beams_step` after those of the pose before; 0: the same for all.
    `moving` has blocks of segments for each pose, `moving_step` after those of the pose before.
    From `heads` to `places`: memory to work in, see `scene.Scene`.
    """
    count = int(view[TOP]) + 1
    blocks = (count + 7) >> 3
    at = 24 * (int(view[MIDDLE]) >> 3) + (int(view[MIDDLE]) & 7)
    for b in range(len(poses)):
        view[X], view[Y] = poses[b, 0], poses[b, 1]
        for block in range(blocks):
            turn(rays, block, beams, b * beams_step + block, cos[b], sin[b])
        view[COS], view[SIN] = rays[at], rays[at + 8]
        touching = draw_all(
            rays,
            view,
            moving,
            b * moving_step,
            b * moving_step + moving_blocks,
            table,
            discs,
            levels,
            heads,
            nodes,
            near,
            plan,
            places,
        )
        missed = 0.0 if touching else view[MISSED]
        limit = -1.0 if touching else view[MAX_RANGE]
        for block in range(blocks):
            if len(out) > 0:
                finish(rays, out, b, block, limit, missed)
            else:
                finish(rays, out32, b, block, limit, missed)
