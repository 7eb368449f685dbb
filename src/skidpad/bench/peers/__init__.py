"""The alternatives to skidpad, each evaluating the vehicle's own function.

A peer for fleets is an `Advance`, a peer for single steps a `Drive`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import AnyArray
from ...core.files import brief_repr

Advance = Callable[[AnyArray, AnyArray, int], AnyArray]
"""Function `advance(x, u, steps)`: end states (B, nx) from start states (B, nx) and constant
inputs (B, nu)."""


class Drive(NamedTuple):
    """A contender for single steps, called from Python once per step."""

    rows: list[Any]
    """Input of each step, in the form that is fastest or most usual for the contender."""
    reset: Callable[[], object]
    """Return to the start."""
    step: Callable[[Any], object]
    """Make a step with an input; the contender stores the state."""
    state: Callable[[], Any]
    """Function that returns the current state."""

    __repr__ = brief_repr


def in_threads(advance: Advance, threads: int) -> Advance:
    """Split the batch of an `Advance` among threads, for peers without multithreading."""
    if threads == 1:
        return advance

    def split(x: AnyArray, u: AnyArray, steps: int) -> AnyArray:
        parts = zip(np.array_split(x, threads), np.array_split(u, threads), strict=True)
        with ThreadPoolExecutor(threads) as pool:
            return np.concatenate(
                list(pool.map(lambda part: advance(part[0], part[1], steps), parts))
            )

    return split
