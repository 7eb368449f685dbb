"""A random order of the numbers below n, place by place: nothing of it is kept.

A Feistel network of keyed hashes is a bijection of words of an even number of bits; numbers that
fall outside are sent through it again until they fall inside (J. Black and P. Rogaway, "Ciphers
with arbitrary finite domains", CT-RSA 2002).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..random.streams import key_of

_ROUNDS = 6
_M0, _M1 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def permuted(seed: int, channel: str, numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Where each of some numbers below `count` stands in the order of a seed and a channel."""
    half = (max(count - 1, 1).bit_length() + 1) // 2
    keys = [_key(seed, f"{channel}.{k}") for k in range(_ROUNDS)]
    words = numbers.astype(np.uint64)
    outside: Any = np.arange(len(words))
    while outside.size:
        words[outside] = _network(words[outside], np.uint64(half), keys)
        outside = outside[words[outside] >= np.uint64(count)]
    return words.astype(np.int64)


def _network(words: NDArray[np.uint64], half: np.uint64, keys: list[np.uint64]) -> Any:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = words >> half, words & mask
    for key in keys:
        left, right = right, left ^ (_hash(right, key) & mask)
    return left << half | right


def _hash(words: NDArray[np.uint64], key: np.uint64) -> Any:
    """The finaliser of SplitMix64, in which every bit depends on all bits; the upper half of it."""
    mixed = words + key
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _M0
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _M1
    return (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(16)


def _key(seed: int, channel: str) -> np.uint64:
    low, high = key_of(seed, channel)
    return np.uint64(low | high << 32)
