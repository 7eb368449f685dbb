"""Whole scans of segments, by drawing every segment over the rays that it covers.

The rays of a scan are in order of angle, so a segment covers a range of ray indices, computed from
the bearings of its ends; in it the nearest hit is stored, eight rays at a time. Segments are in a
tree that is traversed from near to far. A branch is skipped if all of its rays have nearer hits.

The range of indices is only an outer bound: whether a ray hits a segment is decided by signs alone,
see `meet`. The nearest hit does not depend on the order, nor on segments that were skipped because
they lie behind, so that any method of finding the candidates is bit-identical.

In `rays` a block of eight rays is three vectors: the x and y components of the directions, and the
nearness, which is 1/range of the nearest hit so far, 0 without a hit. In `beams` it is two: cosines
and sines of the ray angles relative to the sensor. In `table` a block of eight segments is
the eight vectors of `scene.FIELDS`. The layout of `view` is `fan.VIEW`.

Further kernels trace single rays from cell to cell (`cast_rays`) and select the edges that face a
sensor (`gather_facing`).
"""

from __future__ import annotations

import math
from typing import Any

from ..pose import turned, turned_back
from .fan import COS, MAX_RANGE, MIDDLE, MISSED, SIN, TOP, VIEW, X, Y
from .lanes import (
    Block,
    Emitter,
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
"""Coefficients of atan(r)/r in r², for r up to 1, a minimax fit with an error of 1.7e-6 rad,
within `fan.BEARING_ERROR`."""
QUARTER_TURN = 1.5707963267948966
NOISE = 1e-15
"""Bound of the rounding error of a cross product, as a share of the sum of its two products."""
TINY = 1e-290
"""Magnitude below which products are taken as 0, since their inverses could overflow."""
SURELY = 1.0 - 1e-9
"""Factor on distances, so that rounding never excludes an object exactly at a limit."""


@instruction("void", "array int64 array int64 float64 float64")
def turn(emit: Emitter, rays: Any, block: Any, beams: Any, beam: Any, cos: Any, sin: Any) -> None:
    """Initialise a block: directions in the world for a sensor yaw with this cosine and sine, no
    hits.

    `beam` is the block of `beams` that has the directions in the sensor's frame.
    """
    ray, unturned = Block(emit, rays, block, 3), Block(emit, beams, beam, 2)
    c, s = (repeated(emit.builder, value) for value in (cos, sin))
    ray[0], ray[1] = turned(c, s, unturned[0], unturned[1])
    ray[2] = constant(emit.builder, 0.0)


@instruction("void", "array int64 int64 float64 float64 float64 float64 float64 float64")
def meet(
    emit: Emitter,
    rays: Any,
    first: Any,
    last: Any,
    ax: Any,
    ay: Any,
    bx: Any,
    by: Any,
    mx: Any,
    my: Any,
) -> None:
    """Draw a segment from a to b, counter-clockwise as seen by the sensor, over blocks of rays.

    The blocks are `first` to `last`, which may be equal; one more may be overwritten. A ray along d
    hits the segment if cross(a, d) >= 0 >= cross(b, d), with nearness m·d. The end of one segment
    that is the start of the next gives the same number here, so that no ray passes between them.
    """
    a_x, a_y, b_x, b_y, m_x, m_y = (repeated(emit.builder, v) for v in (ax, ay, bx, by, mx, my))

    def body(block: Any) -> None:
        # Process two blocks of rays at a time: a short segment often covers two, and rarely more.
        two = Block(emit, rays, block, 3)
        for at in (0, 3):
            x, y, nearest = (two[at + n] for n in range(3))
            between = (a_x * y - a_y * x >= 0.0) & (b_x * y - b_y * x <= 0.0)
            near = between.pick(m_x * x + m_y * y, 0.0)
            two[at + 2] = nearest.raised_to(near)

    loop(emit.builder, first, last, 2, body)


@instruction("boolean", "array int64 int64 float64")
def hidden(emit: Emitter, rays: Any, first: Any, last: Any, nearness: Any) -> Any:
    """Whether all rays of some blocks have hits at least this near."""
    limit = repeated(emit.builder, nearness)

    def body(block: Any) -> Any:
        farther = (Block(emit, rays, block, 3)[2] < limit).bits()
        return emit.builder.icmp_unsigned("==", farther, farther.type(0))

    return loop(emit.builder, first, last, 1, body)


@instruction("void", "array array int64 int64 float64 float64")
def finish(
    emit: Emitter, rays: Any, out: Any, row: Any, block: Any, max_range: Any, missed: Any
) -> None:
    """Write the ranges of a block to a row: `missed` without a hit up to `max_range`."""
    distance = 1.0 / Block(emit, rays, block, 3)[2]
    met = distance <= repeated(emit.builder, max_range)
    value = met.pick(distance, repeated(emit.builder, missed))
    store_in_row(emit, out, row, block, value)


def _bearing(x: Lanes, y: Lanes) -> Lanes:
    """Angle of (x, y) in [-π, π], with an error up to `fan.BEARING_ERROR`."""
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


def _drawing_view(emit: Emitter, view: Any) -> dict[str, Lanes]:
    return dict(zip(VIEW, scalars(emit, view, len(VIEW)), strict=True))


def _number(v: dict[str, Lanes], x: Lanes, y: Lanes) -> Lanes:
    """Fractional index of the ray along (x, y), within half a turn of the middle ray."""
    return v["middle"] + v["per_rad"] * _bearing(*turned_back(v["cos"], v["sin"], x, y))


@instruction("int64", "array array int64 float64 array array")
def look(
    emit: Emitter, view: Any, discs: Any, block: Any, nearest: Any, near: Any, places: Any
) -> Any:
    """View of a block of eight discs: `near` gets bounds of their nearness, up to `nearest`.

    `places` gets the first and the last block of rays that each may cover, and its nearness in
    steps. The result has a bit for each disc that is in view and in range.
    """
    v, none = _drawing_view(emit, view), block.type(0)
    disc = Block(emit, discs, block, 3)
    x, y, radius = disc[0] - v["x"], disc[1] - v["y"], disc[2]
    distance = (x * x + y * y).root() * SURELY
    part = radius / distance
    around = ~(part < 1.0)
    # Upper bound of asin(part).
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
    most = repeated(emit.builder, nearest)
    nearness = (around | (1.0 / gap > most)).pick(most, 1.0 / gap)
    Block(emit, near, none, 1)[0] = nearness
    place = Block(emit, places, none, 3)
    place[0] = Lanes(emit.builder, first.blocks())
    place[1] = Lanes(emit.builder, last.blocks())
    place[2] = Lanes(emit.builder, nearness.quarters_of_octaves())
    return seen.bits()


def behind(segment: Block, x: Lanes, y: Lanes) -> Lanes:
    """Whether the backs of eight segments are hidden from a point; see `scene.FIELDS`."""
    to_x, to_y = segment[5] - x, segment[6] - y
    return to_x * to_x + to_y * to_y > segment[7]


@instruction("int64", "array array int64 array array")
def prepare(emit: Emitter, view: Any, table: Any, block: Any, plan: Any, places: Any) -> Any:
    """Prepare a block of segments for `meet`: `plan` gets ax, ay, bx, by, mx, my.

    `places` gets the first and the last block of rays that each covers. In the result, bits 0 to 7
    mark the segments that are ready to be drawn. Bits 8 to 15 mark those that cover the complement
    instead, from the last block on and up to the first. Bits 16 to 23 mark those for
    `draw_with_care`. The others are not visible.
    """
    builder, none, v = emit.builder, block.type(0), _drawing_view(emit, view)
    segment = Block(emit, table, block, 8)
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

    # Order the ends counter-clockwise, as `meet` requires: a change of sign swaps them exactly.
    way = constant(builder, 1.0).signed_as(area)
    per_area = 1.0 / area
    out, place = Block(emit, plan, none, 6), Block(emit, places, none, 2)
    out[0], out[1], out[2], out[3] = way * ax, way * ay, way * bx, way * by
    out[4], out[5] = ey * per_area, (0.0 - ex) * per_area
    place[0] = Lanes(builder, first.blocks())
    place[1] = Lanes(builder, last.blocks())
    care = (lasting & edge_on) | (seen & wide)
    ready = seen & (inside | wraps) & ~care
    bits = builder.or_(ready.bits(), builder.shl((ready & wraps).bits(), block.type(8)))
    return builder.or_(bits, builder.shl(care.bits(), block.type(16)))


@inlined
def draw_with_care(rays: Any, view: Any, x0: float, y0: float, x1: float, y1: float) -> bool:
    """Draw one segment over all rays; returns whether the sensor is on it.

    A segment whose line passes through the sensor is hit at its nearer end, and which end lies
    to the left is not known: both cases are drawn.
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
    rays: Any, view: Any, moving: Any, moving_blocks: Any, tree: Any, scratch: Any
) -> bool:
    """Draw everything visible, from near to far; returns whether the sensor is on a segment.

    Pending nodes are in linked lists, one for each step of nearness, that begin at `heads`.
    `nodes` has: the next of the list; 16 times the index of a node plus its level; first and
    last block of rays. `near` has a bound of its nearness. The first two nodes are the moving
    segments and the root of the tree.
    """
    (table, discs, levels), (heads, nodes, near, plan, places) = tree, scratch
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
                source, begin, end = moving, moving_blocks[0], moving_blocks[1]
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
    `beams_step` after those of the previous pose; 0: the same for all.
    `moving` has blocks of segments for each pose, `moving_step` after those of the previous pose.
    `heads` to `places` are work arrays, see `scene.Scene`.
    """
    tree, scratch = (table, discs, levels), (heads, nodes, near, plan, places)
    count = int(view[TOP]) + 1
    blocks = (count + 7) >> 3
    at = 24 * (int(view[MIDDLE]) >> 3) + (int(view[MIDDLE]) & 7)
    for b in range(len(poses)):
        view[X], view[Y] = poses[b, 0], poses[b, 1]
        for block in range(blocks):
            turn(rays, block, beams, b * beams_step + block, cos[b], sin[b])
        view[COS], view[SIN] = rays[at], rays[at + 8]
        begin = b * moving_step
        touching = draw_all(rays, view, moving, (begin, begin + moving_blocks), tree, scratch)
        missed = 0.0 if touching else view[MISSED]
        limit = -1.0 if touching else view[MAX_RANGE]
        for block in range(blocks):
            if len(out) > 0:
                finish(rays, out, b, block, limit, missed)
            else:
                finish(rays, out32, b, block, limit, missed)


BEYOND = 1.0 + 1e-12
"""Factor on the exit distance of a cell within which a hit counts as inside, to allow for
rounding."""


@instruction("float64", "array int64 float64 float64 float64 float64")
def probe(emit: Emitter, table: Any, block: Any, x: Any, y: Any, dx: Any, dy: Any) -> Any:
    """Nearness of the nearest hit of a ray in a block of segments; 0 if it hits none of them.

    The operations on each are those of `draw_with_care` and `meet`.
    """
    segment = Block(emit, table, block, 8)
    x0, y0, x1, y1 = (segment[n] for n in range(4))
    ox, oy, d_x, d_y = (repeated(emit.builder, value) for value in (x, y, dx, dy))
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
    none = constant(emit.builder, 0.0)
    near = (lasting & met & (near > none)).pick(near, none)
    return touching.pick(float("inf"), near).largest()


@inlined
def probe_blocks(
    table: Any, begin: int, end: int, x: float, y: float, dx: float, dy: float, near: float
) -> float:
    """Nearness of the nearest hit in some blocks of segments, at least `near`."""
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
    cells: Any, x: float, y: float, dx: float, dy: float, max_range: float, near: float
) -> float:
    """Nearness of a ray's nearest hit in the cells, at least `near`."""
    frame, starts, table = cells
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
    """Ranges of rays from (x, y) along the unit vector (dx, dy); infinite without a hit."""
    for n in range(len(out)):
        near = probe_blocks(moving, 0, moving_blocks, x[n], y[n], dx[n], dy[n], 0.0)
        near = walk((frame, starts, table), x[n], y[n], dx[n], dy[n], max_range, near)
        distance = 1.0 / near
        out[n] = distance if distance <= max_range else math.inf


@kernel(
    "int64(float64[:, ::1], int64[::1], boolean[:, ::1], float64[:, ::1], float64[:, :, ::1],"
    " int64[::1])"
)
def gather_facing(edges: Any, begin: Any, near: Any, poses: Any, out: Any, counts: Any) -> int:
    """Write to `out` the edges of objects whose outside faces each sensor; returns the largest
    count.

    Object k has the `edges` (E, 4) from `begin[k]` up to `begin[k + 1]`, counter-clockwise
    around its inside, so that the outside is to their right. `near` (B, objects) says which of
    them each sensor at `poses` (B, 3) could reach. Row b of `out` (B, E, 4) gets `counts[b]`
    edges, padded up to the largest count with segments without length.
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
