"""Fewer points for long recordings: a figure has some hundred pixels, a run may have millions."""

from __future__ import annotations

import numpy as np

from ...arrays import Array

MOST_POINTS = 4000
"""Above this many samples a line is thinned."""


def thinned(t: Array, values: Array, most: int = MOST_POINTS) -> tuple[Array, Array]:
    """The samples that can be seen: of each block its least and its greatest value."""
    if t.size <= most:
        return t, values
    length = -(-t.size // (most // 2))
    starts = np.arange(0, t.size, length)
    kept = {0, t.size - 1}
    for begin in starts:
        block = values[begin : begin + length]
        if not np.isfinite(block).all():
            kept.update(range(begin, begin + block.size))
            continue
        kept.update((int(begin + block.argmin()), int(begin + block.argmax())))
    rows = np.array(sorted(kept))
    return t[rows], values[rows]
