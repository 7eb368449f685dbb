"""Segments in a tree of discs: eight segments in each leaf, eight branches in each node above.

Scans go through it from near to far and leave out discs behind what was already met.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from .blocks import BLOCK, in_blocks

FINEST = 16
"""Bits of each coordinate that decide what is near to what."""
CHAINED = 0.9
"""Share of segments that go on from others, above which they are left in their order."""
LEVELS = 16
"""Most levels of a tree; numbers of nodes carry their level in their last four bits."""


class Tree(NamedTuple):
    """Blocks of segments and, above them, blocks of eight discs."""

    table: Array
    """Blocks of eight segments; see `blocks.FIELDS`."""
    discs: Array
    """Blocks of eight discs: x, y and radius, which is negative where there is none."""
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


def grown(rows: Array, *, flat: bool = False) -> Tree:
    """The tree of segments, as rows of `blocks.FIELDS`, or just their blocks."""
    table = in_blocks(rows if _in_chains(rows) else rows[np.lexsort(_neighbourhood(rows))])
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
        blocks.append(_discs(middle, radius))
        starts.append(starts[-1] + len(blocks[-1]))
        boxes, middle, radius = _above(boxes, middle, radius)
    levels[0] = len(blocks)
    levels[1 : len(starts)] = starts[:-1]
    return Tree(table, np.concatenate(blocks).reshape(-1), levels)


def _in_chains(rows: Array) -> bool:
    """Whether nearly every segment goes on from the one before: neighbours are together then."""
    return bool(np.all(rows[:-1, 2:4] == rows[1:, :2], axis=1).sum() > CHAINED * len(rows))


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


def _discs(middle: Array, radius: Array) -> Array:
    """Discs in blocks of eight, shape (blocks, 3, 8)."""
    filled = np.column_stack([middle, radius])
    spare = -len(filled) % 8
    filled = np.concatenate([filled, np.tile([0.0, 0.0, -1.0], (spare, 1))])
    return np.ascontiguousarray(filled.reshape(-1, 8, 3).transpose(0, 2, 1))


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
