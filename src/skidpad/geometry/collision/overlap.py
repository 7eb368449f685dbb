"""Compiled loops for contacts of footprints with walls, solid areas, cells and each other.

All loops run over plain arrays. Points are pairs x, y; a `part` is the range of a convex part among
the corners; a `frame` is x, y, cosine and sine of a pose; a motion is v_x, v_y and yaw rate in the
vehicle's axes. Everything is exact in the sense that no shape is approximated:
only coordinates are rounded, to float64, relative to the vehicle. Touching counts.

At poses (`mark_...`), separating axes decide for convex parts and segments.

Along a motion with constant twist (`first_contacts`), every point of the vehicle turns about one
centre or shifts along a straight line; time is the fraction of the motion. Two bodies that are
apart first touch where a corner of one meets an edge of the other, so it is enough to solve for
corners of the footprint against walls, and, seen from the vehicle, for ends of walls against edges
of the footprint. With the turning rate w and the time t, sigma = 2 tan(w t / 2) / w makes both a
quadratic equation that stays well conditioned as w goes to 0, where sigma is t: no sampling, no
iteration, no tunnelling.

Two vehicles that both move (`meet_pairs`) turn about different centres, and the time of their
contact has no closed form. It is approached by conservative advancement: a direction that
separates two convex parts by d keeps them apart for as long as they need to cover d along it, so
time can advance by that much, repeatedly, until the advance is less than the tolerance. This does
not miss contacts either.
"""

from __future__ import annotations

import math
from typing import Any

from ...compile.loops import loop
from .. import pose

moved = loop(pose.moved)
turned = loop(pose.turned)
turned_back = loop(pose.turned_back)


@loop
def placed(frame: Any, point: Any) -> tuple[float, float]:
    """Transform a point from a frame to its outer frame."""
    x, y, cos, sin = frame
    return moved(cos, sin, x, y, point[0], point[1])


@loop
def touches(corners: Any, part: Any, a: Any, b: Any) -> bool:
    """Whether a segment and a convex part, both in the vehicle's axes, have a point in common.

    They have none if and only if the normal of an edge of the part, or of the segment, separates
    them.
    """
    (first, last), (ax, ay), (bx, by) = part, a, b
    n_x, n_y = ay - by, bx - ax
    low, high = math.inf, -math.inf
    for k in range(first, last):
        px, py = corners[k, 0], corners[k, 1]
        after = k + 1 if k + 1 < last else first
        out_x, out_y = corners[after, 1] - py, px - corners[after, 0]
        if out_x * (ax - px) + out_y * (ay - py) > 0.0 and (
            out_x * (bx - px) + out_y * (by - py) > 0.0
        ):
            return False
        side = n_x * (px - ax) + n_y * (py - ay)
        low, high = min(low, side), max(high, side)
    return low <= 0.0 <= high


@loop
def mark_walls(
    poses: Any, corners: Any, parts: Any, radius: float, segments: Any, cells: Any, hit: Any
) -> None:
    """Set `hit` for the poses at which the footprint touches a segment."""
    for b in range(len(poses)):
        if hit[b]:
            continue
        x, y = poses[b, 0], poses[b, 1]
        cos, sin = math.cos(poses[b, 2]), math.sin(poses[b, 2])
        left = max(math.floor((x - radius - cells.x) / cells.size), 0)
        right = min(math.floor((x + radius - cells.x) / cells.size), cells.columns - 1)
        bottom = max(math.floor((y - radius - cells.y) / cells.size), 0)
        top = min(math.floor((y + radius - cells.y) / cells.size), cells.rows - 1)
        for row in range(bottom, top + 1):
            # Neighbouring cells of a row have neighbouring lists.
            if right < left or hit[b]:
                break
            begin = cells.start[row * cells.columns + left]
            for entry in range(begin, cells.start[row * cells.columns + right + 1]):
                i = cells.items[entry]
                ax, ay = segments[i, 0] - x, segments[i, 1] - y
                bx, by = segments[i, 2] - x, segments[i, 3] - y
                if min(ax, bx) > radius or max(ax, bx) < -radius:
                    continue
                if min(ay, by) > radius or max(ay, by) < -radius:
                    continue
                one, two = turned_back(cos, sin, ax, ay), turned_back(cos, sin, bx, by)
                for k in range(len(parts) - 1):
                    if touches(corners, (parts[k], parts[k + 1]), one, two):
                        hit[b] = True
                        break
                if hit[b]:
                    break


@loop
def in_ring(x: float, y: float, ring: Any, first: int, last: int) -> bool:
    """Whether a point lies inside a ring, by the even-odd rule."""
    inside = False
    for k in range(first, last):
        after = k + 1 if k + 1 < last else first
        x0, y0, x1, y1 = ring[k, 0], ring[k, 1], ring[after, 0], ring[after, 1]
        if (y0 <= y) != (y1 <= y):
            side = (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)
            if (side > 0.0) == (y1 > y0):
                inside = not inside
    return inside


@loop
def mark_solids(poses: Any, corners: Any, parts: Any, areas: Any, hit: Any) -> None:
    """Set `hit` for the poses at which a part of the footprint lies within a solid area.

    The parts must touch no wall, so that one corner decides for the whole part. `areas` are
    vertices, the index of the first vertex of each ring, the index of the first ring of each area
    (its outline, then its holes), and the cells of the areas.
    """
    vertices, rings, solids, cells = areas
    for b in range(len(poses)):
        if hit[b]:
            continue
        cos, sin = math.cos(poses[b, 2]), math.sin(poses[b, 2])
        for part in range(len(parts) - 1):
            ahead, left = corners[parts[part], 0], corners[parts[part], 1]
            x, y = moved(cos, sin, poses[b, 0], poses[b, 1], ahead, left)
            column = math.floor((x - cells.x) / cells.size)
            row = math.floor((y - cells.y) / cells.size)
            if column < 0 or row < 0 or column >= cells.columns or row >= cells.rows:
                continue
            cell = row * cells.columns + column
            for entry in range(cells.start[cell], cells.start[cell + 1]):
                i = cells.items[entry]
                outline = solids[i]
                if not in_ring(x, y, vertices, rings[outline], rings[outline + 1]):
                    continue
                inside = True
                for hole in range(outline + 1, solids[i + 1]):
                    if in_ring(x, y, vertices, rings[hole], rings[hole + 1]):
                        inside = False
                if inside:
                    hit[b] = True


@loop
def mark_cells(poses: Any, corners: Any, parts: Any, sums: Any, hit: Any) -> None:
    """Set `hit` for the poses at which the footprint touches an occupied cell.

    Poses and corners are in cells of the grid, in its frame. In each row of cells a convex part
    covers an interval of x, and thus exactly the cells from one end of it to the other; they are
    counted with `sums`, the number of occupied cells below and to the left of each corner of a
    cell.
    """
    rows, columns = sums.shape[0] - 1, sums.shape[1] - 1
    for b in range(len(poses)):
        if hit[b]:
            continue
        frame = poses[b, 0], poses[b, 1], math.cos(poses[b, 2]), math.sin(poses[b, 2])
        for k in range(len(parts) - 1):
            part = parts[k], parts[k + 1]
            x_low, x_high, y_low, y_high = math.inf, -math.inf, math.inf, -math.inf
            for corner in range(part[0], part[1]):
                x, y = placed(frame, corners[corner])
                x_low, x_high = min(x_low, x), max(x_high, x)
                y_low, y_high = min(y_low, y), max(y_high, y)
            bottom = max(math.ceil(y_low) - 1, 0)
            top = min(math.floor(y_high), rows - 1)
            left, right = max(math.ceil(x_low) - 1, 0), min(math.floor(x_high), columns - 1)
            if bottom > top or left > right or occupied(sums, bottom, top, left, right) == 0:
                continue
            for row in range(bottom, top + 1):
                begin, end = covered(corners, part, frame, float(row))
                left, right = max(math.ceil(begin) - 1, 0), min(math.floor(end), columns - 1)
                if left <= right and occupied(sums, row, row, left, right) > 0:
                    hit[b] = True
                    break


@loop
def occupied(sums: Any, bottom: int, top: int, left: int, right: int) -> int:
    """Number of occupied cells in ranges of rows and columns, ends included."""
    above = sums[top + 1, right + 1] - sums[top + 1, left]
    return above - sums[bottom, right + 1] + sums[bottom, left]


@loop
def covered(corners: Any, part: Any, frame: Any, row: float) -> tuple[float, float]:
    """Least and largest x of the points of a part from y = row to row + 1; inf, -inf if there are
    none."""
    (first, last), low, high = part, math.inf, -math.inf
    for k in range(first, last):
        after = k + 1 if k + 1 < last else first
        (x0, y0), (x1, y1) = placed(frame, corners[k]), placed(frame, corners[after])
        if max(y0, y1) < row or min(y0, y1) > row + 1.0:
            continue
        for level in (y0, y1, row, row + 1.0):
            if min(y0, y1) <= level <= max(y0, y1) and row <= level <= row + 1.0:
                along = (level - y0) / (y1 - y0) if y1 != y0 else 0.0
                at = x0 + along * (x1 - x0)
                if level == y1:
                    at = x1
                low, high = min(low, at), max(high, at)
                if y1 == y0:
                    low, high = min(low, x0), max(high, x0)
    return low, high


@loop
def list_pairs(boxes: Any, order: Any, pairs: Any) -> int:
    """Count the pairs of overlapping boxes and write them to `pairs` as far as there is room.

    `order` sorts the boxes by their left ends.
    """
    count = 0
    for first in range(len(order)):
        i = order[first]
        for second in range(first + 1, len(order)):
            j = order[second]
            if boxes[j, 0] > boxes[i, 2]:
                break
            if boxes[j, 1] <= boxes[i, 3] and boxes[i, 1] <= boxes[j, 3]:
                if count < len(pairs):
                    pairs[count, 0], pairs[count, 1] = min(i, j), max(i, j)
                count += 1
    return count


@loop
def in_front(corners: Any, part: Any, other: Any, frame: Any) -> bool:
    """Whether a part, rotated and shifted, lies entirely on the outer side of an edge of another
    part.
    """
    first, last = part
    for k in range(first, last):
        px, py = corners[k, 0], corners[k, 1]
        after = k + 1 if k + 1 < last else first
        out_x, out_y = corners[after, 1] - py, px - corners[after, 0]
        outside = True
        for c in range(other[0], other[1]):
            qx, qy = placed(frame, corners[c])
            if out_x * (qx - px) + out_y * (qy - py) <= 0.0:
                outside = False
                break
        if outside:
            return True
    return False


@loop
def mark_pairs(pairs: Any, poses: Any, corners: Any, parts: Any, owner: Any, hit: Any) -> None:
    """Set `hit` for the pairs of vehicles that touch.

    Two convex parts are apart if and only if all of one is in front of an edge of the other.
    """
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        dx, dy = poses[j, 0] - poses[i, 0], poses[j, 1] - poses[i, 1]
        turn = poses[j, 2] - poses[i, 2]
        cos, sin = math.cos(turn), math.sin(turn)
        x, y = turned_back(math.cos(poses[i, 2]), math.sin(poses[i, 2]), dx, dy)
        there = x, y, cos, sin
        x, y = turned_back(math.cos(poses[j, 2]), math.sin(poses[j, 2]), -dx, -dy)
        back = x, y, cos, -sin
        for a in range(owner[i], owner[i + 1]):
            for b in range(owner[j], owner[j + 1]):
                part, other = (parts[a], parts[a + 1]), (parts[b], parts[b + 1])
                if in_front(corners, part, other, there) or in_front(corners, other, part, back):
                    continue
                hit[k] = True


MOST_PIECES = 10_000
QUARTER = math.pi / 2.0
"""Largest rotation of one piece of a motion; half of it has a tangent of 1."""
_SLACK = 1e-9
"""Overlap of consecutive pieces, so that no contact is missed in between."""


@loop
def crossing(q: Any, v: Any, turn: float, a: Any, b: Any, end: float) -> float:
    """Least sigma from 0 to `end` at which a moving point is on the segment a b; inf if never.

    The point starts at q with velocity v, which turns at the rate `turn`.
    """
    (qx, qy), (vx, vy), (ax, ay), (bx, by) = q, v, a, b
    dx, dy = bx - ax, by - ay
    square = dx * dx + dy * dy
    if square == 0.0:
        return math.inf
    # Distance from the line, times its length: off + speed * sin(wt)/w + bend * (1 - cos(wt))/w.
    off = dx * (qy - ay) - dy * (qx - ax)
    speed = dx * vy - dy * vx
    bend = dx * vx + dy * vy
    curve = turn * (0.25 * turn * off + 0.5 * bend)
    under = speed * speed - 4.0 * curve * off
    if under < 0.0:
        return math.inf
    half = -0.5 * (speed + math.copysign(math.sqrt(under), speed))
    best = math.inf
    for k in range(2):
        above, below = (half, curve) if k == 0 else (off, half)
        if below == 0.0:
            continue
        sigma = above / below
        if not 0.0 <= sigma <= end or sigma >= best:
            continue
        scale = 1.0 / (1.0 + 0.25 * turn * turn * sigma * sigma)
        ahead, aside = sigma * scale, 0.5 * turn * sigma * sigma * scale
        x = qx + ahead * vx - aside * vy
        y = qy + ahead * vy + aside * vx
        along = (x - ax) * dx + (y - ay) * dy
        if 0.0 <= along <= square:
            best = sigma
    return best


@loop
def meeting(corners: Any, parts: Any, motion: Any, a: Any, b: Any, end: float) -> float:
    """Least sigma up to `end` at which the footprint in a motion touches a b; inf if never."""
    (vx, vy, turn), (ax, ay), (bx, by) = motion, a, b
    best = math.inf
    for part in range(len(parts) - 1):
        first, last = parts[part], parts[part + 1]
        for k in range(first, last):
            px, py = p = corners[k, 0], corners[k, 1]
            after = k + 1 if k + 1 < last else first
            q = corners[after, 0], corners[after, 1]
            best = min(best, crossing(p, (vx - turn * py, vy + turn * px), turn, a, b, end))
            # Seen from the vehicle the ends of the wall move, the other way.
            away = turn * ay - vx, -turn * ax - vy
            best = min(best, crossing(a, away, -turn, p, q, end))
            away = turn * by - vx, -turn * bx - vy
            best = min(best, crossing(b, away, -turn, p, q, end))
    return best


@loop
def twist(before: Any, after: Any) -> tuple[float, float, float]:
    """Velocity in the vehicle's axes and rotation, per motion, that lead from one pose to another.

    The rotation is the shorter one of the two.
    """
    turn = after[2] - before[2]
    turn -= 2.0 * math.pi * round(turn / (2.0 * math.pi))
    dx, dy = after[0] - before[0], after[1] - before[1]
    # The velocity at the start points half the turn back from the chord, which the arc is longer
    # than.
    half = 0.5 * turn
    longer = half / math.sin(half) if abs(half) > 1e-8 else 1.0
    vx, vy = turned_back(math.cos(before[2] + half), math.sin(before[2] + half), dx, dy)
    return longer * vx, longer * vy, turn


@loop
def position(before: Any, motion: Any, t: float) -> tuple[float, float]:
    """Position of the body point at the time t of a motion."""
    vx, vy, turn = motion
    half = 0.5 * turn * t
    chord = t * math.sin(half) / half if abs(half) > 1e-8 else t
    dx, dy = turned(math.cos(before[2] + half), math.sin(before[2] + half), vx, vy)
    return before[0] + chord * dx, before[1] + chord * dy


@loop
def first_contacts(before: Any, after: Any, shape: Any, walls: Any, contact: Any) -> None:
    """Write the fraction of each motion at its first contact to `contact`; inf without contact.

    Motions whose `contact` is already 0 are skipped: they start in contact. `shape` is the corners,
    parts and radius of the footprint, `walls` the segments and their cells.
    """
    for b in range(len(before)):
        if contact[b] != 0.0:
            contact[b] = first_contact(before[b], after[b], shape, walls)


@loop
def first_contact(before: Any, after: Any, shape: Any, walls: Any) -> float:
    """Fraction of a motion at the first contact, inf without contact; the motion must start without
    contact.
    """
    radius, cells = shape[2], walls[1]
    vx, vy, turn = motion = twist(before, after)
    length = math.hypot(vx, vy) + radius * abs(turn)
    if length == 0.0:
        return math.inf
    # Pieces with small bounding boxes, in order, so that the first contact found is the earliest.
    pieces_needed = max(length / (2.0 * radius + 2.0 * cells.size), abs(turn) / QUARTER)
    pieces = min(math.ceil(pieces_needed), MOST_PIECES)
    pieces = max(pieces, math.ceil(abs(turn) / QUARTER), 1)
    step = 1.0 / pieces
    x, y, yaw = before[0], before[1], before[2]
    half = 0.5 * turn * step
    end = 2.0 * math.tan(half) / turn if abs(half) > 1e-8 else step
    chord = math.hypot(vx, vy) * step
    # The middle of an arc leaves the chord by chord / 2 * tan(angle / 4).
    reach = radius + 0.5 * chord * abs(math.tan(0.5 * half)) + _SLACK * length
    for piece in range(pieces):
        # Compute each position from the start, so that the rounding of many pieces does not add up.
        part = (piece + 1) * step
        next_x, next_y = position(before, motion, part)
        next_yaw = before[2] + part * turn
        limit = end if piece == pieces - 1 else end * (1.0 + _SLACK)
        sigma = in_piece((x, y, yaw), (next_x, next_y), reach, motion, shape, walls, limit)
        if sigma < math.inf:
            bent = 0.5 * turn * sigma
            time = 2.0 * math.atan(bent) / turn if abs(bent) > 1e-8 else sigma
            return min(piece * step + time, 1.0)
        x, y, yaw = next_x, next_y, next_yaw
    return math.inf


@loop
def in_piece(
    begin: Any, end: Any, reach: float, motion: Any, shape: Any, walls: Any, limit: float
) -> float:
    """Least sigma up to `limit` of a contact in one piece of a motion; inf without contact."""
    (x, y, yaw), (next_x, next_y) = begin, end
    (corners, parts, _), (segments, cells) = shape, walls
    x_low, x_high = min(x, next_x) - reach, max(x, next_x) + reach
    y_low, y_high = min(y, next_y) - reach, max(y, next_y) + reach
    left = max(math.floor((x_low - cells.x) / cells.size), 0)
    right = min(math.floor((x_high - cells.x) / cells.size), cells.columns - 1)
    bottom = max(math.floor((y_low - cells.y) / cells.size), 0)
    top = min(math.floor((y_high - cells.y) / cells.size), cells.rows - 1)
    best = math.inf
    if right < left:
        return best
    cos, sin = math.cos(yaw), math.sin(yaw)
    for row in range(bottom, top + 1):
        first = cells.start[row * cells.columns + left]
        for entry in range(first, cells.start[row * cells.columns + right + 1]):
            i = cells.items[entry]
            x0, y0, x1, y1 = segments[i, 0], segments[i, 1], segments[i, 2], segments[i, 3]
            if min(x0, x1) > x_high or max(x0, x1) < x_low:
                continue
            if min(y0, y1) > y_high or max(y0, y1) < y_low:
                continue
            a = turned_back(cos, sin, x0 - x, y0 - y)
            b = turned_back(cos, sin, x1 - x, y1 - y)
            best = min(best, meeting(corners, parts, motion, a, b, min(limit, best)))
    return best


@loop
def separation(
    corners: Any, part: Any, other: Any, frame: Any
) -> tuple[float, tuple[float, float]]:
    """Distance between two convex parts, and the unit vector along which it is measured.

    The second part is rotated and shifted into the axes of the first. The vector points from the
    first to the second, between their nearest points; for parts in contact the distance is -1.
    """
    best, best_x, best_y = -1.0, 1.0, 0.0
    apart = False
    for turn in range(2):
        # Test edges of the first part against corners of the second, then the reverse.
        (low, high), (begin, end) = (part, other) if turn == 0 else (other, part)
        for k in range(low, high):
            after = k + 1 if k + 1 < high else low
            if turn == 0:
                px, py, qx, qy = corners[k, 0], corners[k, 1], corners[after, 0], corners[after, 1]
            else:
                (px, py), (qx, qy) = placed(frame, corners[k]), placed(frame, corners[after])
            ex, ey = qx - px, qy - py
            square = ex * ex + ey * ey
            outside = True
            for c in range(begin, end):
                if turn == 0:
                    cx, cy = placed(frame, corners[c])
                else:
                    cx, cy = corners[c, 0], corners[c, 1]
                if ey * (cx - px) - ex * (cy - py) <= 0.0:
                    outside = False
                along = min(max(((cx - px) * ex + (cy - py) * ey) / square, 0.0), 1.0)
                nx, ny = cx - (px + along * ex), cy - (py + along * ey)
                away = math.hypot(nx, ny)
                if best < 0.0 or away < best:
                    best = away
                    if away > 0.0:
                        sign = 1.0 if turn == 0 else -1.0
                        best_x, best_y = sign * nx / away, sign * ny / away
            apart = apart or outside
    return (best if apart else -1.0), (best_x, best_y)


@loop
def fastest(motion: Any, left: float, n: Any) -> float:
    """Largest speed along n in the time left, while the velocity rotates at a constant rate."""
    (vx, vy, turn), (nx, ny) = motion, n
    speed = math.hypot(vx, vy)
    now = math.atan2(ny * vx - nx * vy, nx * vx + ny * vy)  # from v to n
    swept = turn * left
    if min(swept, 0.0) <= now <= max(swept, 0.0):
        return speed
    return speed * max(math.cos(now), math.cos(now - swept))


@loop
def meet(i: Any, j: Any, corners: Any, part: Any, other: Any, limits: Any) -> float:
    """Time of the first contact of two parts if it is before the latest time, else inf.

    `i` and `j` are the starts, motions and radii of their vehicles; `limits` are the tolerance and
    the latest time.
    """
    (before_i, motion_i, radius_i), (before_j, motion_j, radius_j) = i, j
    turn_i, turn_j, (tolerance, latest) = motion_i[2], motion_j[2], limits
    t = 0.0
    while t < latest:
        x_i, y_i = position(before_i, motion_i, t)
        x_j, y_j = position(before_j, motion_j, t)
        yaw_i, yaw_j = before_i[2] + turn_i * t, before_j[2] + turn_j * t
        dx, dy = turned_back(math.cos(yaw_i), math.sin(yaw_i), x_j - x_i, y_j - y_i)
        cos, sin = math.cos(yaw_j - yaw_i), math.sin(yaw_j - yaw_i)
        gap, n = separation(corners, part, other, (dx, dy, cos, sin))
        if gap <= 0.0:
            return t
        if t == 1.0:
            return math.inf
        # The twist is that in the axes of each vehicle, and so are the two directions.
        closing = fastest(motion_i, 1.0 - t, n)
        closing += fastest(motion_j, 1.0 - t, turned_back(cos, sin, -n[0], -n[1]))
        closing += abs(turn_i) * radius_i + abs(turn_j) * radius_j
        if closing <= 0.0:
            return math.inf
        step = gap / closing
        # If even the fastest approach leaves a gap below the tolerance, it counts as contact.
        if step <= tolerance:
            return t
        if t + step > 1.0:
            return math.inf
        t += step
    return math.inf


@loop
def meet_pairs(
    pairs: Any, before: Any, after: Any, shapes: Any, tolerance: float, fractions: Any
) -> None:
    """Write the time of first contact of each pair of vehicles, as a fraction of the motion; inf if
    never."""
    corners, parts, owner, radii = shapes
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        one = before[i], twist(before[i], after[i]), radii[i]
        two = before[j], twist(before[j], after[j]), radii[j]
        for a in range(owner[i], owner[i + 1]):
            for b in range(owner[j], owner[j + 1]):
                part, other = (parts[a], parts[a + 1]), (parts[b], parts[b + 1])
                met = meet(one, two, corners, part, other, (tolerance, fractions[k]))
                fractions[k] = min(fractions[k], met)
