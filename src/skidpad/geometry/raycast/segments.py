"""Segments as the ray-casting kernels read them: in blocks of eight, in cells, and in a tree.

Single rays walk through square cells (`cells_of`). Scans traverse a tree of discs (`tree_of`),
eight segments in each leaf and eight branches in each node, from near to far, and leave out discs
behind what was already met.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array

FIELDS = ("x0", "y0", "x1", "y1", "length", "x", "y", "square")
"""Of each segment: its ends, its length, and the disc that its back is hidden to: from points whose
squared distance from (x, y) is above `square` it is seen from its left only. Something closed lies
on its right then."""
BLOCK = 8 * len(FIELDS)
ALWAYS, NEVER = -1.0, np.inf
"""Values of `square` for backs that are hidden to all points, and to none."""


def rows_of(segments: Array, square: float = NEVER) -> Array:
    """The fields (n, 8) of segments (n, 4) that have a length."""
    edges = segments[:, 2:] - segments[:, :2]
    kept = np.any(edges != 0.0, axis=1)
    rows = np.zeros((int(kept.sum()), len(FIELDS)))
    rows[:, :4] = segments[kept]
    rows[:, 4] = np.hypot(*edges[kept].T)
    rows[:, 7] = square
    return rows


def in_blocks(rows: Array, chosen: NDArray[np.int64] | None = None) -> Array:
    """Rows in blocks of eight, field by field; the last one fills up the last block.

    `chosen`: the numbers of the rows to take, a multiple of eight.
    """
    if chosen is None:
        chosen = np.minimum(np.arange(-(-len(rows) // 8) * 8), len(rows) - 1)
    table = rows[chosen].reshape(-1, 8, len(FIELDS)).transpose(0, 2, 1)
    return np.ascontiguousarray(table).reshape(-1)


def moving_blocks(movers: Array) -> Array:
    """Segments (poses, m, 4) in blocks for each pose, shape (poses, blocks, 64).

    They have no length in their fields, but infinity, and are seen from both sides; what is left of
    the last block has no extent.
    """
    poses, count = movers.shape[:2]
    blocks = -(-count // 8)
    padded = np.zeros((poses, 8 * blocks, 4))
    padded[:, :count] = movers
    table = np.empty((poses, blocks, len(FIELDS), 8))
    table[:, :, :4] = padded.reshape(poses, blocks, 8, 4).transpose(0, 1, 3, 2)
    table[:, :, 4:] = np.array([np.inf, 0.0, 0.0, NEVER])[:, None]
    return table.reshape(poses, blocks, BLOCK)


def hide_backs(rows: Array) -> Array:
    """The rows, those that go around something convex turned so that it is on their right.

    Whatever meets a convex loop from outside meets the near side of it first, so the far side need
    not be looked at: half of the work in front of boxes, pillars and cones. Loops are found where
    each segment ends at the start of the next in the array.
    """
    if len(rows) == 0:
        return rows
    joined = np.all(rows[:-1, 2:4] == rows[1:, :2], axis=1)
    starts = np.concatenate([[0], np.flatnonzero(~joined) + 1])
    counts = np.diff([*starts, len(rows)])
    ends = starts + counts - 1
    closed = np.all(rows[ends, 2:4] == rows[starts, :2], axis=1) & (counts >= 3)
    following = np.arange(1, len(rows) + 1)
    following[ends] = starts
    edges = rows[:, 2:4] - rows[:, :2]
    after = edges[following]
    cross = edges[:, 0] * after[:, 1] - edges[:, 1] * after[:, 0]
    turn = np.arctan2(cross, np.sum(edges * after, axis=1))
    total = np.add.reduceat(turn, starts)
    least, most = np.minimum.reduceat(turn, starts), np.maximum.reduceat(turn, starts)
    one_way = (least >= 0.0) | (most <= 0.0)
    convex = closed & one_way & (np.abs(np.abs(total) - 2.0 * np.pi) < 1e-6)
    return _with_discs(rows, starts, counts, convex, total > 0.0)


def _with_discs(
    rows: Array,
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    convex: NDArray[np.bool_],
    left: NDArray[np.bool_],
) -> Array:
    """Rows with the discs of convex loops; those that turn left are turned about."""
    x, y = rows[:, 0], rows[:, 1]
    middle_x, middle_y = (
        np.repeat(0.5 * (np.minimum.reduceat(v, starts) + np.maximum.reduceat(v, starts)), counts)
        for v in (x, y)
    )
    square = np.maximum.reduceat((x - middle_x) ** 2 + (y - middle_y) ** 2, starts)
    inside = np.repeat(convex, counts)
    about = np.repeat(convex & left, counts)
    turned = rows.copy()
    turned[about, :4] = rows[about][:, [2, 3, 0, 1]]
    turned[:, 5], turned[:, 6] = middle_x, middle_y
    # Rounding must not put a sensor within a loop outside of its disc.
    turned[:, 7] = np.where(inside, np.repeat(square, counts) * (1.0 + 1e-9), NEVER)
    return turned


PER_CELL = 4.0
"""Segments per cell to aim at."""
MOST_CELLS = 1 << 20
SPREAD = 1e-9
"""A segment is also in the cells that it misses by this part of a cell, so that rounding on the
way through the cells never passes it by; by more where coordinates are large."""
ROUNDING = 4e-15
"""Bound of the rounding error of a place on the way, as a part of its coordinates."""


class Cells(NamedTuple):
    """Segments, cell by cell, in blocks of eight."""

    frame: NDArray[np.float64]
    """x and y of the lower left corner, size of a cell in m, columns, lines, and how far from the
    corner a ray may start for its way through the cells to be exact enough."""
    starts: NDArray[np.int64]
    """First block of each cell, line by line, and the number of blocks."""
    table: NDArray[np.float64]
    """Blocks of eight segments; see `FIELDS`. The last of a cell fills up its last one."""


def cells_of(rows: NDArray[np.float64]) -> Cells:
    """Segments, as rows of `FIELDS`, in cells."""
    frame, per, owner = _sorted(rows, SPREAD)
    blocks = -(-per // 8)
    starts = np.concatenate([[0], np.cumsum(blocks)]).astype(np.int64)
    # Where each place of the blocks finds its segment: the last of a cell is repeated.
    which, step = _expanded(8 * blocks)
    chosen = owner[(np.cumsum(per) - per)[which] + np.minimum(step, per[which] - 1)]
    return Cells(frame, starts, in_blocks(rows, chosen))


def single_rows(
    rows: NDArray[np.float64], spread: float = SPREAD
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """The same without blocks: the frame, the first row of each cell and the end, the rows."""
    frame, per, owner = _sorted(rows, spread)
    starts = np.concatenate([[0], np.cumsum(per)]).astype(np.int64)
    return frame, starts, rows[owner]


def _sorted(
    rows: NDArray[np.float64], spread: float
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """The frame; how many segments are in each cell; which ones, cell by cell."""
    segments = rows[:, :4]
    frame = _frame(segments, spread)
    owner, cell = _places(segments, frame)
    order = np.lexsort((owner, cell))
    return frame, np.bincount(cell, minlength=int(frame[3] * frame[4])), owner[order]


def _frame(segments: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    if len(segments) == 0:
        return np.array([0.0, 0.0, 1.0, 1.0, 1.0, np.inf])
    points = segments.reshape(-1, 2)
    low, high = points.min(axis=0), points.max(axis=0)
    width, height = (high - low).tolist()
    cells = min(max(len(segments) / PER_CELL, 1.0), MOST_CELLS / 4)
    # A long thin map has cells no smaller than its length divided by their number.
    size = max(math.sqrt(width * height / cells), max(width, height) / cells)
    farthest = float(np.abs(points).max())
    size = max(size, 1e-9 * farthest, 1e-9)
    spread = max(spread, 2.0 * ROUNDING * farthest / size)
    # Rounding must not put the last point outside of the last cell.
    columns, lines = (math.floor(side / size) + 1 for side in (width, height))
    reach = 0.5 * spread * size / ROUNDING
    return np.array([low[0], low[1], size, columns, lines, reach])


def _places(
    segments: NDArray[np.float64], frame: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of a segment and a cell that it runs through, or nearly so."""
    x_low, y_low, size = frame[:3]
    columns, lines = int(frame[3]), int(frame[4])
    spread = 2.0 * frame[5] * ROUNDING / size
    ends = (segments.reshape(-1, 2, 2) - np.array([x_low, y_low])) / size
    left, right = ends[:, 0], ends[:, 1]
    swap = left[:, 0] > right[:, 0]
    left[swap], right[swap] = right[swap], left[swap].copy()
    first = _clipped(left[:, 0] - spread, columns)
    number = _clipped(right[:, 0] + spread, columns) - first + 1
    owner, step = _expanded(number)
    column = first[owner] + step
    # Heights of the segment at both sides of its column, a little outside.
    run = right[owner, 0] - left[owner, 0]
    rise = right[owner, 1] - left[owner, 1]
    slope = np.divide(rise, run, out=np.zeros_like(run), where=run > 0.0)
    part = np.stack([column - spread, column + 1.0 + spread]) - left[owner, 0]
    heights = left[owner, 1] + np.clip(part, 0.0, run) * slope
    steep = run <= 0.0
    heights[:, steep] = np.stack([left[owner[steep], 1], right[owner[steep], 1]])
    low = np.minimum(heights[0], heights[1]) - spread
    high = np.maximum(heights[0], heights[1]) + spread
    bottom = _clipped(low, lines)
    which, up = _expanded(_clipped(high, lines) - bottom + 1)
    return owner[which], (bottom[which] + up) * columns + column[which]


def _clipped(value: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    return np.clip(np.floor(value), 0, count - 1).astype(np.int64)


def _expanded(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows repeated `counts` times: the number of each row, and its number among its repeats."""
    owner = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    return owner, np.arange(len(owner)) - np.repeat(ends - counts, counts)


FINEST = 16
"""Bits of each coordinate that decide what is near to what."""
CHAINED = 0.9
"""Share of segments that follow others, above which they are left in their order."""
LEVELS = 16
"""Most levels of a tree; numbers of nodes carry their level in their last four bits."""


class Tree(NamedTuple):
    """Blocks of segments and, above them, blocks of eight discs."""

    table: Array
    """Blocks of eight segments; see `FIELDS`."""
    discs: Array
    """Blocks of eight discs: x, y and radius, which is negative for an empty place."""
    levels: NDArray[np.int64]
    """Number of the top level, then the first block of discs of each level from 1 on. With 0 for
    the top level there is no tree, and what follows is the number of blocks of segments.

    Block k of level l has the discs of nodes 8 k to 8 k + 7 of the level below; those of level 0
    are the blocks of segments.
    """

    @property
    def nodes(self) -> int:
        """Number of nodes, with the leaves."""
        return len(self.discs) // 3 + 1


def tree_of(rows: Array, *, flat: bool = False) -> Tree:
    """The tree of segments, as rows of `FIELDS`, or just their blocks."""
    # Where nearly every segment follows the one before, neighbours are together already.
    follows = np.all(rows[:-1, 2:4] == rows[1:, :2], axis=1).sum()
    in_chains = follows > CHAINED * len(rows)
    table = in_blocks(rows if in_chains else rows[np.lexsort(_neighbourhood(rows))])
    levels = np.zeros(LEVELS + 1, np.int64)
    if flat or len(rows) == 0:
        levels[1] = len(table) // BLOCK
        return Tree(table, np.zeros(0), levels)
    x, y = (table.reshape(-1, 8, 8)[:, n : n + 3 : 2].reshape(-1, 16) for n in (0, 1))
    boxes = np.stack([x.min(axis=1), y.min(axis=1), x.max(axis=1), y.max(axis=1)], axis=1)
    middle = _middle(boxes)
    radius = np.hypot(x - middle[:, :1], y - middle[:, 1:]).max(axis=1, initial=0.0)
    blocks: list[Array] = []
    starts = [0]
    while len(boxes) > 1 or not blocks:
        spare = np.tile([0.0, 0.0, -1.0], (-len(middle) % 8, 1))
        discs = np.concatenate([np.column_stack([middle, radius]), spare])
        blocks.append(np.ascontiguousarray(discs.reshape(-1, 8, 3).transpose(0, 2, 1)))
        starts.append(starts[-1] + len(blocks[-1]))
        boxes, middle, radius = _above(boxes, middle, radius)
    levels[0] = len(blocks)
    levels[1 : len(starts)] = starts[:-1]
    return Tree(table, np.concatenate(blocks).reshape(-1), levels)


def _neighbourhood(rows: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Keys to sort by, the last one first: classes of length, places along a Z-shaped curve.

    A long segment among short ones would make large discs, so those of a length come together.
    """
    middle = 0.5 * (rows[:, :2] + rows[:, 2:4])
    if len(middle) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low = middle.min(axis=0)
    size = max(float((middle.max(axis=0) - low).max()), 1e-9)
    place = ((middle - low) * ((2**FINEST - 1) / size)).astype(np.int64)
    curve = np.zeros(len(middle), np.int64)
    for bit in range(FINEST):
        for axis in range(2):
            curve |= ((place[:, axis] >> bit) & 1) << (2 * bit + axis)
    # Up to the extent of a leaf, lengths make no difference.
    leaf = size * np.sqrt(8.0 / len(middle))
    return curve, -np.ceil(np.log2(np.maximum(rows[:, 4] / leaf, 1.0)) / 2.0).astype(np.int64)


def _middle(boxes: Array) -> Array:
    return 0.5 * (boxes[:, :2] + boxes[:, 2:])


def _above(boxes: Array, middle: Array, radius: Array) -> tuple[Array, Array, Array]:
    """Boxes and discs around each eight."""
    starts = np.arange(0, len(boxes), 8)
    if len(starts) == 0:
        return boxes, middle, radius
    low = np.minimum.reduceat(boxes[:, :2], starts)
    high = np.maximum.reduceat(boxes[:, 2:], starts)
    around = np.concatenate([low, high], axis=1)
    centre = _middle(around)
    away = np.hypot(*(middle - np.repeat(centre, 8, axis=0)[: len(middle)]).T) + radius
    corner = 0.5 * np.hypot(*(high - low).T)
    # Rounding must not leave an end outside.
    reach = np.minimum(np.maximum.reduceat(away, starts), corner) * (1.0 + 1e-12)
    return around, centre, reach
