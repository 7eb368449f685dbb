"""Random poses in the free area of a map."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array, Mask
from ...errors import InvalidValue

_LARGEST_DRAW = 100_000
_DRAWS = 2_000_000
"""Points tried before giving up."""


def sampled_poses(
    count: int, seed: int, corners: Array, is_good: Callable[[Array], Mask], what: str
) -> Array:
    """Poses x, y, yaw (count, 3) drawn evenly from the box around corners (n, 2), all of them good.

    `what` says in the error what good points are, as in "of map 'yard' are free".
    """
    low, high = corners.min(axis=0), corners.max(axis=0)
    random = np.random.default_rng(seed)
    kept = [np.empty((0, 2))]
    have = tried = 0
    while have < count:
        if tried >= _DRAWS:
            raise InvalidValue(
                f"only {have} of {tried} random points {what}; asked for are {count}"
            )
        # Doubles with the number still missing, and grows where little is free.
        size = min(_LARGEST_DRAW, max(64, 2 * (count - have), tried))
        points = random.uniform(low, high, (size, 2))
        kept.append(points[is_good(points)])
        have += len(kept[-1])
        tried += size
    return np.column_stack([np.concatenate(kept)[:count], random.uniform(-np.pi, np.pi, count)])
