"""The nearest wall of a point."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...errors import InvalidValue

if TYPE_CHECKING:
    from .map import Map


class Nearest(NamedTuple):
    """What is nearest to each of N points."""

    distance: Array
    """In m, at least 0, shape (N,)."""
    segment: NDArray[np.int64]
    """Row of `segments`; from their number on, of `border_segments`. Shape (N,)."""
    point: Array
    """The nearest point (x, y) itself, shape (N, 2)."""


def nearest(map_: Map, points: Array) -> Nearest:
    """The nearest of the segments and the borders of occupied cells."""
    if map_.empty:
        raise InvalidValue(f"map {map_.name!r} has no obstacle to be near to")
    return Nearest(*map_.nearby.search(points))
