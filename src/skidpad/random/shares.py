"""Numbers between 0 and 1 for many environments, each with a seed and a counter of its own.

A number depends on the seed, the counter, the channel and its name, and on nothing else: how many
environments there are, which of them draw and what else they draw do not show in it. It is Philox
as in `streams`, with the channel as the key and counter, seed and name as its four words.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array
from ..workers import alone
from .streams import key_of

Words = NDArray[np.uint64]
ROOT_OF_THREE = 3.0**0.5
"""The sum of four numbers between 0 and 1 has this over 3 as its deviation."""


def names_as_words(names: Sequence[str]) -> Words:
    """A word of 32 bits for each name, (n,): what is drawn besides does not change it."""
    return np.array([_word(name) for name in names], dtype=np.uint64)


def shares(channel: str, seeds: Words, counters: Words, words: Words) -> Array:
    """Numbers (n, k) between 0 and 1, neither of them ever drawn.

    Args:
        channel: what they are for; another channel has other numbers.
        seeds: of the environments, (n,), any 64 bits.
        counters: of the environments, (n,), below 2³²: episodes or steps.
        words: what tells the numbers of one draw apart, (k,), below 2³²; see `names_as_words`.
    """
    out = np.empty((len(seeds), len(words)))
    k0, k1 = channel_key(channel)
    _fill()(out, seeds, counters, words, np.uint64(k0), np.uint64(k1))
    return out


def shaken(channel: str, ranges: AnyArray, seeds: Words, counters: Words, std: float,
           longest: float) -> None:  # fmt: skip
    """Add errors of a standard deviation to ranges (n, rays) that are below the longest.

    They are sums of four uniform numbers, nearly normal and never beyond 3.5 deviations, and depend
    on channel, seed, counter and ray alone.
    """
    k0, k1 = channel_key(channel)
    _shake()(
        ranges, seeds, counters, np.uint64(k0), np.uint64(k1), std * ROOT_OF_THREE, longest
    )  # fmt: skip


@cache
def channel_key(channel: str) -> tuple[int, int]:
    """The two words of the key of a channel."""
    return key_of(0, channel)


def _word(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "little")


@cache
def _fill() -> Any:
    # numba comes in with the first number that is drawn.
    def kernel() -> Any:
        from .kernel import fill_shares

        return fill_shares

    return alone(kernel)


@cache
def _shake() -> Any:
    def kernel() -> Any:
        from .kernel import shake_ranges

        return shake_ranges

    return alone(kernel)
