"""Factors cut into parts: of a range, or the numbers of a list."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import AnyArray, Array
from ...random.factors import Factor, Levels, LogRange, Steps
from .summaries import Extent

__all__ = ["Bins", "bins_of"]

_MOST_LEVELS = 40
"""Numbers of a list that are told apart."""


class Bins(NamedTuple):
    """Parts of a factor, from low to high."""

    edges: Array
    """(parts + 1,)"""
    centres: Array
    """(parts,): the numbers themselves of a list."""
    log: bool = False

    @property
    def parts(self) -> int:
        """How many there are."""
        return len(self.centres)

    def place(self, values: Array) -> AnyArray:
        """The part that each value is in."""
        return np.clip(np.searchsorted(self.edges, values, side="right") - 1, 0, self.parts - 1)


def bins_of(factor: Factor, extent: Extent, most: int) -> Bins | None:
    """At most so many parts of what a factor reached, more of a list; None where it is held."""
    if not extent.varies:
        return None
    if isinstance(factor, (Levels, Steps)):
        shares = (np.arange(factor.count) + 0.5) / factor.count
        levels = np.unique(factor.value(shares))
        if len(levels) <= _MOST_LEVELS:
            middles = 0.5 * (levels[1:] + levels[:-1])
            ends = 1.5 * levels[[0, -1]] - 0.5 * levels[[1, -2]]
            return Bins(np.concatenate([ends[:1], middles, ends[1:]]), levels)
    if isinstance(factor, LogRange):
        edges = np.geomspace(extent.low, extent.high, most + 1)
        return Bins(edges, np.sqrt(edges[1:] * edges[:-1]), log=True)
    edges = np.linspace(extent.low, extent.high, most + 1)
    return Bins(edges, 0.5 * (edges[1:] + edges[:-1]))
