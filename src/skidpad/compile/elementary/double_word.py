"""Numbers as unevaluated sums of two, for powers: about twice the digits of the precision.

The exact sums and products are those of T. J. Dekker, A floating-point technique for extending the
available precision, Numerische Mathematik 18 (1971), with fma for the error of a product.
"""

from __future__ import annotations

from typing import NamedTuple

from ..builder import Builder
from .coefficients import ATANH, LN2, TWO_THIRDS
from .exponential import normalised


class Pair(NamedTuple):
    """high + low, with low about as small as the rounding error of high; None for a low of 0."""

    high: int
    low: int | None = None


def fast_sum(b: Builder, large: int, small: int) -> tuple[int, int]:
    """large + small without error, for |large| >= |small|."""
    total = b.add(large, small)
    return total, b.add(b.sub(large, total), small)


def any_sum(b: Builder, x: int, y: int) -> tuple[int, int]:
    """x + y without error, whichever is larger."""
    total = b.add(x, y)
    part = b.sub(total, x)
    return total, b.add(b.sub(x, b.sub(total, part)), b.sub(y, part))


def product(b: Builder, x: Pair, y: Pair) -> Pair:
    """x * y to twice the precision; without error if both are single numbers."""
    high = b.mul(x.high, y.high)
    low = b.fma(x.high, y.high, b.neg(high))
    if y.low is not None:
        low = b.fma(x.high, y.low, low)
    if x.low is not None:
        low = b.fma(x.low, y.high, low)
    return Pair(high, low)


def rounded(b: Builder, x: Pair) -> int:
    """x as one number; where the low part is not finite the high part has overflowed."""
    if x.low is None:
        return x.high
    known = b.lt(b.abs(x.low), b.const(float("inf")))
    return b.select(known, b.add(x.high, x.low), x.high)


def log_of(b: Builder, x: int) -> Pair:
    """log(x) for positive finite x.

    With x = 2**k (1 + f) and s = f / (2 + f) it is k ln 2 + 2s + (2/3) s³ + ..., these three terms
    as pairs.
    """
    p = b.precision
    k, f = normalised(b, x)
    s = _ratio(b, f)
    square = product(b, s, s)
    # 2 atanh(s) = 2s + s³ (2/3 + s² (2/5 + ...)); the tail from s⁵ on needs no second number.
    tail = b.mul(square.high, b.horner(square.high, tuple(2.0 * c for c in ATANH[p][:-1])))
    factor = fast_sum(b, b.const(TWO_THIRDS[p][0]), b.add(tail, b.const(TWO_THIRDS[p][1])))
    cubic = product(b, product(b, s, square), Pair(*factor))
    series, series_rest = fast_sum(b, b.add(s.high, s.high), cubic.high)
    series_rest = b.add(series_rest, b.fma(_low(b, s), b.const(2.0), _low(b, cubic)))
    whole = product(b, Pair(k), Pair(b.const(LN2[p][0]), b.const(LN2[p][1])))
    total, total_rest = any_sum(b, whole.high, series)
    return Pair(*fast_sum(b, total, b.add(total_rest, b.add(series_rest, _low(b, whole)))))


def _low(b: Builder, x: Pair) -> int:
    return b.const(0.0) if x.low is None else x.low


def _ratio(b: Builder, f: int) -> Pair:
    """f / (2 + f), the only division."""
    below, below_rest = fast_sum(b, b.const(2.0), f)
    inverse = b.div(b.const(1.0), below)
    high = b.mul(f, inverse)
    minus = b.neg(high)
    residual = b.fma(minus, below_rest, b.fma(minus, below, f))
    return Pair(high, b.mul(residual, inverse))
