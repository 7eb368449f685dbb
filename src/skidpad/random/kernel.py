"""Compiled loops for the random numbers of `streams`, with the same bits.

`streams` is the definition and gives the constants; the loops repeat its operations one for one,
none fused or reordered. They go over a block in stages that the compiler turns into vector
instructions; only the tails of the normal distribution, one number in seven, are done one at a
time. This module is separate because it imports numba.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compile.loops import loop
from . import streams

BLOCK = 256
"""Number of counters per block, so that intermediate arrays fit into the nearest cache."""

# These constants are private to `streams` and this module.
# pyright: reportPrivateUsage=false
_M0, _M1, _LOW, _HALF = streams._M0, streams._M1, streams._LOW, streams._HALF
_W0, _W1, _ROUNDS = np.uint64(streams._W0), np.uint64(streams._W1), streams._ROUNDS
_CENTRE, _TAIL, _FAR_TAIL = (
    streams._CENTRE,
    streams._TAIL,
    streams._FAR_TAIL,
)
_SPLIT_Q, _SPLIT_R = streams._SPLIT_Q, streams._SPLIT_R
_SPLIT_Q2 = _SPLIT_Q * _SPLIT_Q
_LN2, _ATANH = streams._LN2, streams._ATANH
_ROOT_HALF = 0.70710678118654752440
_FRACTION = np.uint64(12)
_MEAN_OF_FOUR = 2.0 - 2.0**-31
"""Mean of the sum of four words as shares."""


@loop
def _ratio(x: Any, table: Any) -> Any:
    a, b = table
    above = x * a[0] + a[1]
    below = x * b[0] + b[1]
    above = above * x + a[2]
    below = below * x + b[2]
    above = above * x + a[3]
    below = below * x + b[3]
    above = above * x + a[4]
    below = below * x + b[4]
    above = above * x + a[5]
    below = below * x + b[5]
    above = above * x + a[6]
    below = below * x + b[6]
    above = above * x + a[7]
    below = below * x + b[7]
    # Not the operator `/`: it checks for a zero divisor, which would prevent vector instructions.
    return np.true_divide(above, below)


@loop
def _log(x: Any) -> Any:
    mantissa, exponent = math.frexp(x)
    if mantissa < _ROOT_HALF:
        mantissa = 2.0 * mantissa
        exponent -= 1
    s = np.true_divide(mantissa - 1.0, mantissa + 1.0)
    z = s * s
    total = z * _ATANH[0] + _ATANH[1]
    for c in _ATANH[2:]:
        total = total * z + c
    return exponent * _LN2 + 2.0 * s * total


@loop
def _tail(u: Any) -> Any:
    depth = math.sqrt(-_log(min(u, 1.0 - u)))
    far = depth > _SPLIT_R
    size = _ratio(depth - _SPLIT_R, _FAR_TAIL) if far else _ratio(depth - 1.6, _TAIL)
    return math.copysign(size, u - 0.5)


@loop
def _philox(low: Any, high: Any, vehicle: Any, pair: Any, step: Any, key: Any) -> None:
    """Write two uniform numbers for each Philox counter, to `low` and `high`."""
    first, second = step & _LOW, step >> _HALF
    for i in range(vehicle.size):
        c0, c1, c2, c3 = first, second, vehicle[i], pair[i]
        k0, k1 = key
        for _ in range(_ROUNDS):
            p0 = c0 * _M0
            p1 = c2 * _M1
            c0 = (p1 >> _HALF) ^ c1 ^ k0
            c2 = (p0 >> _HALF) ^ c3 ^ k1
            c1 = p1 & _LOW
            c3 = p0 & _LOW
            k0 = (k0 + _W0) & _LOW
            k1 = (k1 + _W1) & _LOW
        low[i] = (np.float64(np.int64((c0 | (c1 << _HALF)) >> _FRACTION)) + 0.5) * 2.0**-52
        high[i] = (np.float64(np.int64((c2 | (c3 << _HALF)) >> _FRACTION)) + 0.5) * 2.0**-52


@loop
def _normal(u: Any, out: Any) -> None:
    for i in range(u.size):
        q = u[i] - 0.5
        out[i] = _ratio(_SPLIT_Q2 - q * q, _CENTRE) * q
    for i in range(u.size):
        q = u[i] - 0.5
        if _SPLIT_Q2 - q * q < 0.0:
            out[i] = _tail(u[i])


@loop
def fill(out: Any, runs: Any, step: Any, k0: Any, k1: Any, normal: Any) -> None:
    """Write the numbers of some runs at one step into `out`, (runs, width).

    `step` is the counter's 64 bits, `k0` and `k1` are the words of the key, all unsigned.
    """
    count, width = out.shape
    pairs = (width + 1) // 2
    vehicle, pair = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    u, z = np.empty(2 * BLOCK), np.empty(2 * BLOCK)
    run, element = 0, 0
    for begin in range(0, count * pairs, BLOCK):
        size = min(BLOCK, count * pairs - begin)
        row, column = run, element
        for i in range(size):
            vehicle[i], pair[i] = np.uint64(runs[run]), np.uint64(element)
            element += 1
            if element == pairs:
                run, element = run + 1, 0
        _philox(u[:size], u[size : 2 * size], vehicle[:size], pair[:size], step, (k0, k1))
        drawn = u
        if normal:
            _normal(u[: 2 * size], z[: 2 * size])
            drawn = z
        for i in range(size):
            out[row, 2 * column] = drawn[i]
            if 2 * column + 1 < width:
                out[row, 2 * column + 1] = drawn[size + i]
            column += 1
            if column == pairs:
                row, column = row + 1, 0


@loop
def fill_shares(out: Any, seeds: Any, counters: Any, words: Any, k0: Any, k1: Any) -> None:
    """Write the numbers of environments into `out`, (environments, words); see `shares`."""
    low, high, element = np.empty(1), np.empty(1), np.empty(1, np.uint64)
    vehicle = np.empty(1, np.uint64)
    for i in range(out.shape[0]):
        vehicle[0] = seeds[i] & _LOW
        step = (counters[i] & _LOW) | ((seeds[i] >> _HALF) << _HALF)
        for j in range(out.shape[1]):
            element[0] = words[j]
            _philox(low, high, vehicle, element, step, (k0, k1))
            out[i, j] = low[0]


@loop
def shake_ranges(
    ranges: Any, seeds: Any, counters: Any, k0: Any, k1: Any, scale: Any, longest: Any
) -> None:
    """Add errors to ranges (environments, rays) below `longest`; see `learn.lidar.Lidar.noise`.

    An error is the sum of the four words of Philox as shares, less its mean, times `scale`.
    """
    for i in range(ranges.shape[0]):
        first, second = counters[i] & _LOW, seeds[i] >> _HALF
        for n in range(ranges.shape[1]):
            before = np.float64(ranges[i, n])
            if before < longest:
                c0, c1, c2, c3 = first, second, seeds[i] & _LOW, np.uint64(n)
                l0, l1 = k0, k1
                for _ in range(_ROUNDS):
                    p0 = c0 * _M0
                    p1 = c2 * _M1
                    c0 = (p1 >> _HALF) ^ c1 ^ l0
                    c2 = (p0 >> _HALF) ^ c3 ^ l1
                    c1 = p1 & _LOW
                    c3 = p0 & _LOW
                    l0 = (l0 + _W0) & _LOW
                    l1 = (l1 + _W1) & _LOW
                total = np.float64(np.int64(c0 + c1 + c2 + c3)) * 2.0**-32
                ranges[i, n] = min(max(before + scale * (total - _MEAN_OF_FOUR), 0.0), longest)
