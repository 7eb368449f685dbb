"""A line coloured by values, as pieces of one shade each: for painters with one colour a line."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from .sheet import Scale, Trail


class Piece(NamedTuple):
    """All of a line that has one shade; NaN between parts that do not touch."""

    shade: float
    """Place on the scale, from 0 to 1."""
    x: Array
    y: Array


def pieces(mark: Trail, scale: Scale, shades: int) -> list[Piece]:
    """The line in so many shades."""
    span = scale.high - scale.low
    middle = 0.5 * (mark.values[:-1] + mark.values[1:])
    share = np.nan_to_num((middle - scale.low) / (span if span > 0.0 else 1.0))
    level = np.clip((share * shades).astype(int), 0, shades - 1)
    found: list[Piece] = []
    for k in np.unique(level):
        rows = np.flatnonzero(level == k)
        place = (float(k) + 0.5) / shades
        found.append(Piece(place, _joined(mark.x, rows), _joined(mark.y, rows)))
    return found


def _joined(values: Array, rows: Any) -> Array:
    """Pieces from a point to the next as one line, broken between those that do not touch."""
    runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    parts = [np.append(values[run[0] : run[-1] + 2], np.nan) for run in runs]
    return np.concatenate(parts)[:-1]
