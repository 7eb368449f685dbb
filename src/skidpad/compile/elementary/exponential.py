"""Exponential, logarithm and their relatives near 0 and 1."""

from __future__ import annotations

from typing import NamedTuple

from ..builder import Builder
from .coefficients import EXP, EXPM1, LN2, LOG1P, LOG2_E, SQRT_HALF
from .reduction import FORMATS, LN_2, at_least, at_most, nearest, subtract_multiple


def exp(b: Builder, x: int) -> int:
    """Exponential. Infinite where it overflows; 0 where the result would be below 2**-1021.5
    (float32: 2**-125.5), so no subnormal result is ever made."""
    return exp_of_sum(b, x)


def exp_of_sum(b: Builder, x: int, low: int | None = None) -> int:
    """exp(x + low), for low so small that its square does not count."""
    p = b.precision
    limit = FORMATS[p].exponents
    bounded = at_most(b, at_least(b, x, -(limit - 2) * LN_2), limit * LN_2 + 0.01)
    _, n = nearest(b, bounded, LOG2_E[p][0])
    r = subtract_multiple(b, bounded, n, LN2[p][:2])
    # Twice the polynomial times 2**(n-1), because 2**n itself overflows before the result does. The
    # lowest n meets pow2 with exponent field 0, which is the number 0.
    doubled = b.horner(r, tuple(2.0 * c for c in (*EXP[p], 1.0, 1.0)))
    if low is not None:
        known = b.select(b.eq(bounded, x), low, b.const(0.0))
        doubled = b.fma(doubled, known, doubled)
    return b.mul(doubled, b.pow2(b.sub(n, b.const(1.0))))


def expm1(b: Builder, x: int) -> int:
    """exp(x) - 1, accurate near 0: 2**n - 1 + 2**n expm1(r), halved so that 2**n cannot overflow.

    n is 0 between ln(3/4) and ln(3/2): beyond that range the sum cancels little, because the result
    is larger than 1/4 below 0 and larger than 1/2 above.
    """
    p = b.precision
    y = at_most(b, at_least(b, x, -60.0), FORMATS[p].exponents * LN_2 + 0.01)
    n = b.rint(b.fma(y, b.const(LOG2_E[p][0]), b.const(-0.085)))
    r = subtract_multiple(b, y, n, LN2[p][:2])
    part = b.fma(b.mul(r, r), b.horner(r, EXPM1[p]), r)
    half_power = b.pow2(b.sub(n, b.const(1.0)))
    half = b.fma(half_power, part, b.sub(half_power, b.const(0.5)))
    # Halving would cost a subnormal x its last bit, and -0 its sign.
    tiny = b.lt(b.abs(x), b.const(2.0**-60))
    return b.select(tiny, x, b.add(half, half))


class Scaled(NamedTuple):
    """x = 2**k * (1 + f) with 1 + f within a factor √2 of 1."""

    k: int
    f: int


def _log_of(b: Builder, s: Scaled, lost: int | None = None) -> int:
    """k ln 2 + log(1 + f), and a small number that f was rounded by."""
    p = b.precision
    high, low, _ = LN2[p]
    series = b.mul(b.mul(s.f, s.f), b.horner(s.f, (*LOG1P[p], -0.5)))
    rest = b.fma(s.k, b.const(low), series)
    rest = rest if lost is None else b.add(rest, lost)
    return b.fma(s.k, b.const(high), b.add(s.f, rest))


def log(b: Builder, x: int) -> int:
    """Natural logarithm; -inf at 0, NaN below."""
    return _log_specials(b, x, _log_of(b, normalised(b, x)), zero=0.0)


def normalised(b: Builder, x: int) -> Scaled:
    """x > 0 as 2**k (1 + f), with f exact."""
    p = b.precision
    lift, drop = (64, 2) if b.double else (32, 2)
    # Subnormal numbers are lifted into the normal range and others lowered: 2**-k stays normal.
    small = b.lt(x, b.const(2.0 ** (8 - FORMATS[p].exponents)))
    scaled = b.mul(x, b.select(small, b.const(2.0**lift), b.const(2.0**-drop)))
    q = b.exponent(b.mul(scaled, b.const(SQRT_HALF[p][0])))
    f = b.fma(scaled, b.pow2(b.sub(b.const(-1.0), q)), b.const(-1.0))
    return Scaled(b.add(q, b.select(small, b.const(1.0 - lift), b.const(1.0 + drop))), f)


def _log_specials(b: Builder, x: int, result: int, zero: float) -> int:
    """The result where x is above `zero` and finite; -inf at `zero`, NaN below, and x itself at
    infinity and NaN."""
    origin = b.const(zero)
    finite = b.select(b.lt(x, b.const(float("inf"))), result, x)
    outside = b.select(b.eq(x, origin), b.const(float("-inf")), b.const(float("nan")))
    return b.select(b.lt(origin, x), finite, outside)


def log1p(b: Builder, x: int) -> int:
    """log(1 + x), accurate near 0; -inf at -1, NaN below."""
    return log1p_scaled(b, x)


def log1p_scaled(b: Builder, x: int, doublings: int | None = None, lost: int | None = None) -> int:
    """log(1 + x) + doublings * ln 2, with the sign of x; `lost` is what x was rounded by.

    1 + x is never rounded: with k chosen from it, f = x 2**-k + (2**-k - 1) takes one rounding.
    """
    p = b.precision
    drop = 32.0
    one = b.const(1.0)
    huge = b.lt(b.const(2.0 ** (FORMATS[p].exponents - 28)), x)
    scaled = b.mul(x, b.select(huge, b.const(2.0**-drop), one))
    root = b.const(SQRT_HALF[p][0])
    k = b.add(b.exponent(b.fma(scaled, root, root)), one)
    power = b.pow2(b.neg(k))
    f = b.fma(scaled, power, b.sub(power, one))
    k = b.add(k, b.select(huge, b.const(drop), b.const(0.0)))
    k = k if doublings is None else b.add(k, doublings)
    lost = None if lost is None else b.mul(lost, power)
    result = b.copysign(_log_of(b, Scaled(k, f), lost), x)
    return _log_specials(b, x, result, zero=-1.0)
