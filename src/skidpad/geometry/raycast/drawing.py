"""Whole scans of segments: every segment is drawn over the rays that it covers.

The rays of a scan are in order of angle, so what a segment covers is a range of their numbers,
found from the bearings of its ends; there the nearest hit is kept, eight rays at a time. Segments
are in a tree that is traversed from near to far. A branch whose rays have all met something nearer
is passed over.

The range of numbers is only an outer bound: which ray meets a segment is decided by signs alone,
see `meet`. The nearest hit does not depend on the order, nor on what was left out because it lies
behind, so that any way of finding the candidates gives the same bits.

In `rays` a block of eight rays is three vectors: the x and y components of the directions, and the
nearness, which is 1/range of what was met so far, 0 for nothing. In `beams` it is two: cosines and
sines of the angles that the rays have against the sensor. In `table` a block of eight segments is
the eight vectors of `segments.FIELDS`. `view` is as `fan.VIEW` has it.
"""

from __future__ import annotations

import math
from typing import Any

from numba import types

from ..pose import turned, turned_back
from .fan import COS, MAX_RANGE, MIDDLE, MISSED, SIN, TOP, VIEW, X, Y
from .lanes import (
    Block,
    Lanes,
    called,
    constant,
    inlined,
    instruction,
    kernel,
    loop,
    lowest_bit,
    repeated,
    scalars,
    store_in_row,
)

ARC = (0.999977218, -0.332622797, 0.193540193, -0.116426047, 0.0526469016, -0.0117189672)
"""atan(r)/r in r², r within 1, fitted with the least largest error: 1.7e-6 rad, so that
`fan.BEARING_ERROR` is a bound of it."""
QUARTER_TURN = 1.5707963267948966
NOISE = 1e-15
"""Bound of the rounding error of a cross product, as a part of the sum of its two products."""
TINY = 1e-290
"""Products below this are taken for 0: their inverses could overflow."""
SURELY = 1.0 - 1e-9
"""Factor on distances, so that rounding never leaves out what lies exactly at a limit."""


@instruction
def turn(typing: Any, rays: Any, block: Any, beams: Any, beam: Any, cos: Any, sin: Any) -> Any:
    """Directions of a block in the world, for a sensor with this cosine and sine of its yaw.

    `beam` is the block of `beams` that has them in the sensor's frame. Nothing is met as yet.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        ray = Block(context, builder, (rays, args[0]), args[1], 3)
        unturned = Block(context, builder, (beams, args[2]), args[3], 2)
        c, s = (repeated(builder, value) for value in args[4:])
        ray[0], ray[1] = turned(c, s, unturned[0], unturned[1])
        ray[2] = constant(builder, 0.0)
        return context.get_dummy_value()

    return types.void(rays, types.int64, beams, types.int64, types.float64, types.float64), generate


@instruction
def meet(
    typing: Any,
    rays: Any,
    first: Any,
    last: Any,
    ax: Any,
    ay: Any,
    bx: Any,
    by: Any,
    mx: Any,
    my: Any,
) -> Any:
    """Draw a segment from a to b, counter-clockwise as the sensor sees it, over blocks of rays.

    They go from `first` to `last`, which may be the same; one more may be drawn over. A ray along d
    meets the segment if cross(a, d) >= 0 >= cross(b, d), with nearness m·d. The end of one segment
    that is the start of the next gives one and the same number here, so that no ray slips between.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        a_x, a_y, b_x, b_y, m_x, m_y = (repeated(builder, value) for value in args[3:])

        def body(block: Any) -> Any:
            # Two at a time: a short segment often covers two, and seldom more.
            two = Block(context, builder, (rays, args[0]), block, 3)
            for at in (0, 3):
                x, y, nearest = (two[at + n] for n in range(3))
                between = (a_x * y - a_y * x >= 0.0) & (b_x * y - b_y * x <= 0.0)
                near = between.pick(m_x * x + m_y * y, 0.0)
                two[at + 2] = nearest.raised_to(near)
            return None

        loop(builder, args[1], args[2], 2, body)
        return context.get_dummy_value()

    return types.void(rays, types.int64, types.int64, *[types.float64] * 6), generate


@instruction
def hidden(typing: Any, rays: Any, first: Any, last: Any, nearness: Any) -> Any:
    """Whether all rays of some blocks have met something at least this near."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        limit = repeated(builder, args[3])

        def body(block: Any) -> Any:
            farther = (Block(context, builder, (rays, args[0]), block, 3)[2] < limit).bits()
            return builder.icmp_unsigned("==", farther, farther.type(0))

        return loop(builder, args[1], args[2], 1, body)

    return types.boolean(rays, types.int64, types.int64, types.float64), generate


@instruction
def finish(
    typing: Any, rays: Any, out: Any, row: Any, block: Any, max_range: Any, missed: Any
) -> Any:
    """Put the ranges of a block into a row: `missed` where nothing was met up to `max_range`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        distance = 1.0 / Block(context, builder, (rays, args[0]), args[3], 3)[2]
        met = distance <= repeated(builder, args[4])
        value = met.pick(distance, repeated(builder, args[5]))
        store_in_row(context, builder, (out, args[1]), args[2], args[3], value)
        return context.get_dummy_value()

    whole, real = types.int64, types.float64
    return types.void(rays, out, whole, whole, real, real), generate


def _bearing(x: Lanes, y: Lanes) -> Lanes:
    """Angle of (x, y) in [-π, π], to `fan.BEARING_ERROR`."""
    across, along = y.size(), x.size()
    steep = across > along
    ratio = steep.pick(along, across) / (steep.pick(across, along) + 1e-300)
    z = ratio * ratio
    series = z * ARC[5] + ARC[4]
    for coefficient in ARC[3::-1]:
        series = z * series + coefficient
    angle = ratio * series
    angle = steep.pick(QUARTER_TURN - angle, angle)
    return (x < 0.0).pick(2.0 * QUARTER_TURN - angle, angle).signed_as(y)


def _drawing_view(context: Any, builder: Any, view: Any) -> dict[str, Lanes]:
    return dict(zip(VIEW, scalars(context, builder, view, len(VIEW)), strict=True))


def _number(v: dict[str, Lanes], x: Lanes, y: Lanes) -> Lanes:
    """Number of the ray that points along (x, y), not rounded, within half a turn of the middle."""
    return v["middle"] + v["per_rad"] * _bearing(*turned_back(v["cos"], v["sin"], x, y))


@instruction
def look(
    typing: Any, view: Any, discs: Any, block: Any, nearest: Any, near: Any, places: Any
) -> Any:
    """Where a block of eight discs is seen: `near` gets bounds of their nearness, up to `nearest`.

    `places` gets the first and the last block of rays that each may cover, and how near it is in
    steps. The result has a bit for each disc that is in view and reach.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        v = _drawing_view(context, builder, (view, args[0]))
        disc = Block(context, builder, (discs, args[1]), args[2], 3)
        x, y, radius = disc[0] - v["x"], disc[1] - v["y"], disc[2]
        distance = (x * x + y * y).root() * SURELY
        part = radius / distance
        around = ~(part < 1.0)
        # asin(part), or a little more.
        half = (part + part * part * part * 0.5708) * v["per_rad"] + v["margin"]
        middle = _number(v, x, y)
        low, high = middle - half, middle + half
        # The range continues at the other end of the scan.
        wraps = (high >= v["per_turn"]) | (low + v["per_turn"] <= v["top"])
        whole = around | wraps
        first = whole.pick(0.0, low.within(0.0, v["top"]))
        last = whole.pick(v["top"], high.within(0.0, v["top"]))
        gap = distance - radius
        reached = around | (gap <= v["max_range"])
        inside = whole | ((high >= 0.0) & (low <= v["top"]))
        seen = (radius >= 0.0) & reached & inside
        most = repeated(builder, args[3])
        nearness = (around | (1.0 / gap > most)).pick(most, 1.0 / gap)
        near_block = Block(context, builder, (near, args[4]), args[2].type(0), 1)
        near_block[0] = nearness
        place = Block(context, builder, (places, args[5]), args[2].type(0), 3)
        place[0] = Lanes(builder, first.blocks())
        place[1] = Lanes(builder, last.blocks())
        place[2] = Lanes(builder, nearness.quarters_of_octaves())
        return seen.bits()

    return types.int64(view, discs, types.int64, types.float64, near, places), generate


def behind(segment: Block, x: Lanes, y: Lanes) -> Lanes:
    """Whether the backs of eight segments are hidden to a point; see `segments.FIELDS`."""
    to_x, to_y = segment[5] - x, segment[6] - y
    return to_x * to_x + to_y * to_y > segment[7]


@instruction
def prepare(typing: Any, view: Any, table: Any, block: Any, plan: Any, places: Any) -> Any:
    """Prepare a block of segments for `meet`: `plan` gets ax, ay, bx, by, mx, my.

    `places` gets the first and the last block of rays that each covers. Of the result, bits 0 to 7
    say which segments are ready to be drawn. Bits 8 to 15 say which of them cover the other blocks
    instead, from the last one on and up to the first. Bits 16 to 23 say which need more care. The
    others cannot be seen.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        v = _drawing_view(context, builder, (view, args[0]))
        segment = Block(context, builder, (table, args[1]), args[2], 8)
        x0, y0, x1, y1, length = (segment[n] for n in range(5))
        ax, ay, bx, by = x0 - v["x"], y0 - v["y"], x1 - v["x"], y1 - v["y"]
        ex, ey = x1 - x0, y1 - y0
        one, other = ax * ey, ay * ex
        area = one - other
        edge_on = area.size() <= (one.size() + other.size()) * NOISE + TINY
        lasting = ex.size() + ey.size() > 0.0
        front = (area > 0.0) | ~behind(segment, v["x"], v["y"])
        seen = lasting & front & (area.size() * SURELY <= length * v["max_range"])

        first, last = _number(v, ax, ay), _number(v, bx, by)
        span = last - first
        half = v["per_turn"] * 0.5
        span = span - (span.size() > half).pick(v["per_turn"].signed_as(span), 0.0)
        low = first + (span < 0.0).pick(span, 0.0) - v["margin"]
        high = first + (span > 0.0).pick(span, 0.0) + v["margin"]
        inside = (high >= 0.0) & (low <= v["top"])
        # The range continues at the other end of the scan.
        over, under = high >= v["per_turn"], low + v["per_turn"] <= v["top"]
        wraps = over | under
        first = over.pick(high - v["per_turn"], under.pick(high, low)).within(0.0, v["top"])
        last = over.pick(low, under.pick(low + v["per_turn"], high)).within(0.0, v["top"])
        # Near half a turn the error of a bearing may turn the span the wrong way; and of scans of
        # more than one turn a segment may cover more than two ranges.
        wide = (span.size() + v["margin"] >= half) | (v["top"] >= v["per_turn"] + v["margin"])

        # Counter-clockwise from a to b, as `meet` has it: a change of sign swaps them, exactly.
        way = constant(builder, 1.0).signed_as(area)
        per_area = 1.0 / area
        out = Block(context, builder, (plan, args[3]), args[2].type(0), 6)
        out[0], out[1], out[2], out[3] = way * ax, way * ay, way * bx, way * by
        out[4], out[5] = ey * per_area, (0.0 - ex) * per_area
        place = Block(context, builder, (places, args[4]), args[2].type(0), 2)
        place[0] = Lanes(builder, first.blocks())
        place[1] = Lanes(builder, last.blocks())
        care = (lasting & edge_on) | (seen & wide)
        ready = seen & (inside | wraps) & ~care
        bits = builder.or_(ready.bits(), builder.shl((ready & wraps).bits(), args[2].type(8)))
        return builder.or_(bits, builder.shl(care.bits(), args[2].type(16)))

    return types.int64(view, table, types.int64, plan, places), generate


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
