"""Whether footprints at poses touch walls, solid areas, occupied cells or each other.

Compiled loops over plain arrays. Everything is exact in the sense that no shape is approximated:
only coordinates are rounded, to float64, relative to the vehicle. Touching counts.
"""

from __future__ import annotations

import math
from typing import Any

from ...compile.loops import loop
from .frames import moved, turned_back


@loop
def touches(
    corners: Any, first: int, last: int, ax: float, ay: float, bx: float, by: float
) -> bool:
    """Whether a segment and a convex part, both in the vehicle's axes, have a point in common.

    They do not if and only if the normal of an edge of the part, or of the segment, separates them.
    """
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
                ax, ay = turned_back(cos, sin, ax, ay)
                bx, by = turned_back(cos, sin, bx, by)
                for part in range(len(parts) - 1):
                    if touches(corners, parts[part], parts[part + 1], ax, ay, bx, by):
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
def mark_solids(
    poses: Any,
    corners: Any,
    parts: Any,
    vertices: Any,
    rings: Any,
    solids: Any,
    cells: Any,
    hit: Any,
) -> None:
    """Set `hit` for the poses at which a part of the footprint lies within a solid area.

    For parts that touch no wall, so that one corner stands for all of them. `rings` says where each
    ring begins among the vertices, `solids` where each area begins among the rings: its outline,
    then its holes.
    """
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
    covers an interval of x, and with it exactly the cells from one end of it to the other; `sums`,
    the number of occupied cells below and to the left of each corner of a cell, counts them.
    """
    rows, columns = sums.shape[0] - 1, sums.shape[1] - 1
    for b in range(len(poses)):
        if hit[b]:
            continue
        cos, sin = math.cos(poses[b, 2]), math.sin(poses[b, 2])
        for part in range(len(parts) - 1):
            first, last = parts[part], parts[part + 1]
            x_low, x_high, y_low, y_high = math.inf, -math.inf, math.inf, -math.inf
            for k in range(first, last):
                x, y = moved(cos, sin, poses[b, 0], poses[b, 1], corners[k, 0], corners[k, 1])
                x_low, x_high = min(x_low, x), max(x_high, x)
                y_low, y_high = min(y_low, y), max(y_high, y)
            bottom = max(math.ceil(y_low) - 1, 0)
            top = min(math.floor(y_high), rows - 1)
            left, right = max(math.ceil(x_low) - 1, 0), min(math.floor(x_high), columns - 1)
            if bottom > top or left > right or occupied(sums, bottom, top, left, right) == 0:
                continue
            for row in range(bottom, top + 1):
                begin, end = covered(
                    corners, first, last, poses[b, 0], poses[b, 1], cos, sin, float(row)
                )
                left, right = max(math.ceil(begin) - 1, 0), min(math.floor(end), columns - 1)
                if left <= right and occupied(sums, row, row, left, right) > 0:
                    hit[b] = True
                    break


@loop
def occupied(sums: Any, bottom: int, top: int, left: int, right: int) -> int:
    """Number of occupied cells in rows and columns, ends included."""
    above = sums[top + 1, right + 1] - sums[top + 1, left]
    return above - sums[bottom, right + 1] + sums[bottom, left]


@loop
def covered(
    corners: Any, first: int, last: int, x: float, y: float, cos: float, sin: float, row: float
) -> tuple[float, float]:
    """Least and largest x of the points of a part from y = row to row + 1; inf, -inf: none."""
    low, high = math.inf, -math.inf
    for k in range(first, last):
        after = k + 1 if k + 1 < last else first
        x0, y0 = moved(cos, sin, x, y, corners[k, 0], corners[k, 1])
        x1, y1 = moved(cos, sin, x, y, corners[after, 0], corners[after, 1])
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
    """Number of pairs of overlapping boxes; written to `pairs` while there is room.

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
def in_front(
    corners: Any,
    first: int,
    last: int,
    begin: int,
    end: int,
    x: float,
    y: float,
    cos: float,
    sin: float,
) -> bool:
    """Whether an edge of one part has all of another, turned and shifted, on its outer side."""
    for k in range(first, last):
        px, py = corners[k, 0], corners[k, 1]
        after = k + 1 if k + 1 < last else first
        out_x, out_y = corners[after, 1] - py, px - corners[after, 0]
        outside = True
        for c in range(begin, end):
            qx, qy = moved(cos, sin, x, y, corners[c, 0], corners[c, 1])
            if out_x * (qx - px) + out_y * (qy - py) <= 0.0:
                outside = False
                break
        if outside:
            return True
    return False


@loop
def mark_pairs(pairs: Any, poses: Any, corners: Any, parts: Any, owner: Any, hit: Any) -> None:
    """Set `hit` for the pairs of vehicles that touch.

    Two convex parts do not if and only if an edge of one has all of the other in front of it.
    """
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        dx, dy = poses[j, 0] - poses[i, 0], poses[j, 1] - poses[i, 1]
        turn = poses[j, 2] - poses[i, 2]
        cos, sin = math.cos(turn), math.sin(turn)
        cos_i, sin_i = math.cos(poses[i, 2]), math.sin(poses[i, 2])
        cos_j, sin_j = math.cos(poses[j, 2]), math.sin(poses[j, 2])
        x, y = turned_back(cos_i, sin_i, dx, dy)
        back_x, back_y = turned_back(cos_j, sin_j, -dx, -dy)
        for a in range(owner[i], owner[i + 1]):
            for b in range(owner[j], owner[j + 1]):
                ends = (parts[a], parts[a + 1], parts[b], parts[b + 1])
                if in_front(corners, ends[0], ends[1], ends[2], ends[3], x, y, cos, sin):
                    continue
                if in_front(corners, ends[2], ends[3], ends[0], ends[1], back_x, back_y, cos, -sin):
                    continue
                hit[k] = True
