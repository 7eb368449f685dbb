"""Segments in blocks of eight, as the kernels read them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array

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


def with_hidden_backs(rows: Array) -> Array:
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
    return _turned(rows, starts, counts, convex, total > 0.0)


def _turned(
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
