"""Where lines of many short segments cross each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array

_FEW = 1500
"""Segments up to which all pairs are looked at: a tree takes SciPy, whose import takes longer."""


class Crossings(NamedTuple):
    """Pairs of segments that cross."""

    first: NDArray[np.int64]
    """Number of the segment that comes first, shape (k,)."""
    second: NDArray[np.int64]
    """Number of the other."""
    points: Array
    """Where, (k, 2)."""

    def __len__(self) -> int:
        return len(self.first)


def crossings(segments: Array) -> Crossings:
    """All crossings of segments (n, 4) of about equal lengths, those that share an end aside."""
    middles, along = 0.5 * (segments[:, :2] + segments[:, 2:]), segments[:, 2:] - segments[:, :2]
    # The middles of two that meet are not farther apart than half of both lengths.
    reach = float(np.hypot(*along.T).max())
    pairs = np.sort(_pairs(middles, reach * (1.0 + 1e-9)), axis=1)
    pairs = pairs[~_joined(segments[pairs[:, 0]], segments[pairs[:, 1]])]
    u, v = along[pairs[:, 0]], along[pairs[:, 1]]
    gap = segments[pairs[:, 1], :2] - segments[pairs[:, 0], :2]
    across = _cross(u, v)
    with np.errstate(divide="ignore", invalid="ignore"):
        s, t = _cross(gap, v) / across, _cross(gap, u) / across
        # One end belongs to a segment, so that what touches a corner is found once.
        hits = (s >= 0.0) & (s < 1.0) & (t >= 0.0) & (t < 1.0) & (across != 0.0)
    first, second = pairs[hits].T
    return Crossings(first, second, segments[first, :2] + s[hits, None] * along[first])


def _pairs(points: Array, reach: float) -> NDArray[np.int64]:
    """Pairs of points (n, 2) that are at most so far apart, (k, 2)."""
    if len(points) <= _FEW:
        gaps = np.hypot(*(points[:, None] - points).transpose(2, 0, 1))
        return np.argwhere(np.triu(gaps <= reach, 1))
    from scipy.spatial import KDTree

    tree: Any = KDTree(points)
    return tree.query_pairs(reach, output_type="ndarray").astype(np.int64)


def _joined(a: Array, b: Array) -> Any:
    """Which pairs of segments have an end in common."""
    ends = [(a[:, i : i + 2] == b[:, j : j + 2]).all(axis=1) for i in (0, 2) for j in (0, 2)]
    return np.any(ends, axis=0)


def _cross(a: Array, b: Array) -> Array:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
