"""The alternatives to skidpad, each on the vehicle's own function.

A fleet peer is an `Advance`, a single-step peer a `Drive`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import AnyArray
from ...core.files import brief_repr

Advance = Callable[[AnyArray, AnyArray, int], AnyArray]
"""`advance(x, u, steps)`: end states (B, nx) from start states (B, nx) and held inputs (B, nu)."""


class Drive(NamedTuple):
    """A contender for single steps, called from Python once per step."""

    rows: list[Any]
    """An input for each step, in the fastest or the usual form for the contender."""
    reset: Callable[[], object]
    """Go to the start."""
    step: Callable[[Any], object]
    """Make a step with a row, keeping the state inside."""
    state: Callable[[], Any]
    """The present state."""

    __repr__ = brief_repr


def in_threads(advance: Advance, threads: int) -> Advance:
    """The same with the batch split among threads, for peers without threads of their own."""
    if threads == 1:
        return advance

    def split(x: AnyArray, u: AnyArray, steps: int) -> AnyArray:
        parts = zip(np.array_split(x, threads), np.array_split(u, threads), strict=True)
        with ThreadPoolExecutor(threads) as pool:
            return np.concatenate(
                list(pool.map(lambda part: advance(part[0], part[1], steps), parts))
            )

    return split
