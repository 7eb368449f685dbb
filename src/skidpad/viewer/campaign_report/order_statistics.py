"""Values of given ranks among more numbers than fit into memory, exactly.

The bits of floating-point numbers, seen as whole numbers, are in the order of the numbers. Four
passes over all numbers find 16 bits each of the values that are looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...arrays import AnyArray, Array

__all__ = ["order_statistics"]

_BITS = 16
_SIGN = np.uint64(1 << 63)


def order_statistics(batches: Callable[[], Iterable[Array]], ranks: Sequence[int]) -> Array:
    """The values of these ranks, counted from 0 for the smallest, among all numbers; none is NaN.

    Each call of `batches` gives the same numbers, some at a time.
    """
    if not ranks:
        return np.empty(0)
    places = sorted(set(ranks))
    prefixes: list[int] = [0] * len(places)
    rest = list(places)
    for shift in range(64 - _BITS, -1, -_BITS):
        distinct = sorted(set(prefixes))
        counts = _counted(batches(), np.array(distinct, np.uint64), shift)
        for k, prefix in enumerate(prefixes):
            row = counts[distinct.index(prefix)].cumsum()
            # Of numbers that became fewer meanwhile, the last.
            digit = min(int(np.searchsorted(row, rest[k], side="right")), (1 << _BITS) - 1)
            rest[k] -= int(row[digit - 1]) if digit else 0
            prefixes[k] = (prefix << _BITS) | digit
    values = _numbers(np.array(prefixes, np.uint64))
    return values[np.searchsorted(places, ranks)]


def _counted(batches: Iterable[Array], wanted: AnyArray, shift: int) -> Any:
    """How many numbers go on with which 16 bits, (wanted, 65536), for those that begin with the
    wanted bits."""
    counts = np.zeros((len(wanted), 1 << _BITS), np.int64)
    for values in batches:
        above, digits = np.divmod(_keys(values) >> np.uint64(shift), np.uint64(1 << _BITS))
        row = np.minimum(np.searchsorted(wanted, above), len(wanted) - 1)
        inside = wanted[row] == above
        codes = (row[inside] << _BITS) + digits[inside].astype(np.int64)
        distinct, many = np.unique(codes, return_counts=True)
        counts.reshape(-1)[distinct] += many
    return counts


def _keys(values: Array) -> AnyArray:
    """Whole numbers in the order of the values."""
    bits = (np.ascontiguousarray(values, np.float64) + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _numbers(keys: AnyArray) -> Array:
    return np.where(keys & _SIGN, keys & ~_SIGN, ~keys).astype(np.uint64).view(np.float64)
