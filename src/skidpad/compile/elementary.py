"""Elementary functions as IEEE operations: branch-free, with the same bits on every target.

`RULES` maps the name of a function to the rule that writes it with a `Builder`: `rule(b, x)`,
`rule(b, y, x)` for atan2, `rule(b, x, y)` for hypot, `rule(b, x, n)` with a constant n for pow.
`LONE` has a cheaper sine for an argument whose cosine (or tangent) is not in the program.
`trigonometry.DOMAINS` lists the range in which each function is accurate. The coefficients come
from tools/derive_coefficients.py.

The exponential and the logarithm have variants that are accurate near 0 and 1; powers are
constant. Powers represent numbers as unevaluated sums of two, with about twice the digits of the
precision. The exact sums and products are those of T. J. Dekker, A floating-point technique for
extending the available precision, Numerische Mathematik 18 (1971), with fma for the error of a
product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from . import coefficients as table
from .program import Builder
from .trigonometry import (
    FORMATS,
    LN_2,
    acos,
    asin,
    at_least,
    at_most,
    atan,
    atan2,
    cos,
    lone_sin,
    nearest,
    sin,
    subtract_multiple,
    tan,
)


def exp(b: Builder, x: int) -> int:
    """Exponential function.

    Infinite where it overflows; 0 where the result would be below 2**-1021.5 (float32: 2**-125.5),
    so the result is never subnormal.
    """
    return exp_of_sum(b, x)


def exp_of_sum(b: Builder, x: int, low: int | None = None) -> int:
    """exp(x + low), for low small enough that its square is negligible."""
    p = b.precision
    limit = FORMATS[p].exponents
    bounded = at_most(b, at_least(b, x, -(limit - 2) * LN_2), limit * LN_2 + 0.01)
    _, n = nearest(b, bounded, table.LOG2_E[p][0])
    r = subtract_multiple(b, bounded, n, table.LN2[p][:2])
    # Twice the polynomial times 2**(n-1), because 2**n itself overflows before the result does. The
    # lowest n meets pow2 with exponent field 0, which is the number 0.
    doubled = b.horner(r, tuple(2.0 * c for c in (*table.EXP[p], 1.0, 1.0)))
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
    n = b.rint(b.fma(y, b.const(table.LOG2_E[p][0]), b.const(-0.085)))
    r = subtract_multiple(b, y, n, table.LN2[p][:2])
    part = b.fma(b.mul(r, r), b.horner(r, table.EXPM1[p]), r)
    half_power = b.pow2(b.sub(n, b.const(1.0)))
    half = b.fma(half_power, part, b.sub(half_power, b.const(0.5)))
    # Return small x itself: halving would cost a subnormal x its last bit, and -0 its sign.
    tiny = b.lt(b.abs(x), b.const(2.0**-60))
    return b.select(tiny, x, b.add(half, half))


class Scaled(NamedTuple):
    """x = 2**k * (1 + f) with 1 + f within a factor √2 of 1."""

    k: int
    f: int


def _log_of(b: Builder, s: Scaled, lost: int | None = None) -> int:
    """k ln 2 + log(1 + f + lost), where `lost` is the small rounding error of f."""
    p = b.precision
    high, low, _ = table.LN2[p]
    series = b.mul(b.mul(s.f, s.f), b.horner(s.f, (*table.LOG1P[p], -0.5)))
    rest = b.fma(s.k, b.const(low), series)
    rest = rest if lost is None else b.add(rest, lost)
    return b.fma(s.k, b.const(high), b.add(s.f, rest))


def log(b: Builder, x: int) -> int:
    """Natural logarithm; -inf at 0, NaN below."""
    return _log_specials(b, x, _log_of(b, normalised(b, x)), zero=0.0)


def normalised(b: Builder, x: int) -> Scaled:
    """Decompose x > 0 as 2**k (1 + f), with f exact."""
    p = b.precision
    lift, drop = (64, 2) if b.double else (32, 2)
    # Subnormal numbers are lifted into the normal range and others lowered: 2**-k stays normal.
    small = b.lt(x, b.const(2.0 ** (8 - FORMATS[p].exponents)))
    scaled = b.mul(x, b.select(small, b.const(2.0**lift), b.const(2.0**-drop)))
    q = b.exponent(b.mul(scaled, b.const(table.SQRT_HALF[p][0])))
    f = b.fma(scaled, b.pow2(b.sub(b.const(-1.0), q)), b.const(-1.0))
    return Scaled(b.add(q, b.select(small, b.const(1.0 - lift), b.const(1.0 + drop))), f)


def _log_specials(b: Builder, x: int, result: int, zero: float) -> int:
    """Set the special values of a logarithm.

    `result` where x is above `zero` and finite; -inf at `zero`, NaN below, and x itself at infinity
    and NaN.
    """
    origin = b.const(zero)
    finite = b.select(b.lt(x, b.const(float("inf"))), result, x)
    outside = b.select(b.eq(x, origin), b.const(float("-inf")), b.const(float("nan")))
    return b.select(b.lt(origin, x), finite, outside)


def log1p(b: Builder, x: int) -> int:
    """log(1 + x), accurate near 0; -inf at -1, NaN below."""
    return log1p_scaled(b, x)


def log1p_scaled(b: Builder, x: int, doublings: int | None = None, lost: int | None = None) -> int:
    """log(1 + x) + doublings * ln 2, with the sign of x; `lost` is the rounding error of x.

    1 + x is never rounded: with k chosen from it, f = x 2**-k + (2**-k - 1) takes one rounding.
    """
    p = b.precision
    drop = 32.0
    one = b.const(1.0)
    huge = b.lt(b.const(2.0 ** (FORMATS[p].exponents - 28)), x)
    scaled = b.mul(x, b.select(huge, b.const(2.0**-drop), one))
    root = b.const(table.SQRT_HALF[p][0])
    k = b.add(b.exponent(b.fma(scaled, root, root)), one)
    power = b.pow2(b.neg(k))
    f = b.fma(scaled, power, b.sub(power, one))
    k = b.add(k, b.select(huge, b.const(drop), b.const(0.0)))
    k = k if doublings is None else b.add(k, doublings)
    lost = None if lost is None else b.mul(lost, power)
    result = b.copysign(_log_of(b, Scaled(k, f), lost), x)
    return _log_specials(b, x, result, zero=-1.0)


TANH_ONE = {"float64": 20.0, "float32": 10.0}
"""Smallest |x|, by precision, from which tanh(x) is ±1 to the last place."""

LARGE = {"float64": 2.0**60, "float32": 2.0**30}
"""Smallest |x|, by precision, from which sqrt(x² ± 1) is |x| to the last place."""


def tanh(b: Builder, x: int) -> int:
    """Hyperbolic tangent: e / (1 + e) with e = (exp(2|x|) - 1) / 2, one division.

    With |x| = u + n ln2/2 that is e = (2**n - 1)/2 + 2**n h, where h = expm1(2u)/2 is a polynomial
    that starts with u: no accuracy is lost near 0. Where e is large its error hardly matters.
    Rounding n down by a quarter keeps the difference in e away from cancellation at n = 1.
    """
    p = b.precision
    a = at_most(b, b.abs(x), TANH_ONE[p])
    n = b.rint(b.fma(a, b.const(2.0 * table.LOG2_E[p][0]), b.const(-0.25)))
    u = subtract_multiple(b, a, n, tuple(0.5 * part for part in table.LN2[p][:2]))
    h = b.fma(b.mul(u, u), b.horner(u, table.TANH[p]), u)
    power = b.pow2(n)
    e = b.fma(power, h, b.fma(power, b.const(0.5), b.const(-0.5)))
    quotient = b.div(e, b.add(e, b.const(1.0)))
    # The same as e - e q, which for small e hides the rounding of 1 + e and of the division.
    small = b.lt(e, b.const(0.34))
    return b.copysign(b.select(small, b.fma(b.neg(e), quotient, e), quotient), x)


class _Split(NamedTuple):
    """Argument reduction of sinh and cosh: |x| = n ln 2 + r, as 2 (cosh(r) - 1), 2 sinh(r), 2**n /
    4 and 2**-n / 4.
    """

    cosh_r_minus_1: int
    sinh_r: int
    up: int
    down: int


def _split(b: Builder, x: int) -> _Split:
    p = b.precision
    limit = FORMATS[p].exponents
    a = at_most(b, b.abs(x), (limit + 1.4) * LN_2)
    _, n = nearest(b, a, table.LOG2_E[p][0])
    r = subtract_multiple(b, a, n, table.LN2[p][:2])
    z = b.mul(r, r)
    cosh_r = b.mul(z, b.horner(z, tuple(2.0 * c for c in table.COSH[p])))
    sinh_r = b.fma(b.mul(r, z), b.horner(z, tuple(2.0 * c for c in table.SINH[p])), b.add(r, r))
    up = b.pow2(b.sub(n, b.const(2.0)))
    down = b.pow2(at_least(b, b.sub(b.const(-2.0), n), 2.0 - limit))
    return _Split(cosh_r, sinh_r, up, down)


def _by_addition(b: Builder, main: int, other: int, s: _Split, lost: int) -> int:
    """2 main + main (2 cosh(r) - 2) + other (2 sinh(r)) + 2 lost, the largest term last.

    The fused product may exceed the largest number where its sum with the other terms does not.
    """
    rest = b.fma(s.cosh_r_minus_1, main, b.add(lost, lost))
    return b.fma(main, b.const(2.0), b.fma(s.sinh_r, other, rest))


def sinh(b: Builder, x: int) -> int:
    """Hyperbolic sine, by the addition theorem: no division, and no loss of accuracy near 0."""
    s = _split(b, x)
    half_cosh, half_sinh = b.add(s.up, s.down), b.sub(s.up, s.down)
    lost = b.sub(b.sub(s.up, half_sinh), s.down)
    return b.copysign(_by_addition(b, half_sinh, half_cosh, s, lost), x)


def cosh(b: Builder, x: int) -> int:
    """Hyperbolic cosine, by the addition theorem; shares all but the sums with sinh."""
    s = _split(b, x)
    half_cosh, half_sinh = b.add(s.up, s.down), b.sub(s.up, s.down)
    lost = b.add(b.sub(s.up, half_cosh), s.down)
    return _by_addition(b, half_cosh, half_sinh, s, lost)


def asinh(b: Builder, x: int) -> int:
    """Inverse hyperbolic sine: log1p(a + a² / (1 + sqrt(1 + a²))) with a = |x|."""
    a = b.abs(x)
    large = b.lt(b.const(LARGE[b.precision]), a)
    one = b.const(1.0)
    square = b.mul(a, a)
    root = b.sqrt(b.fma(a, a, one))
    rise = b.add(a, b.div(square, b.add(one, root)))
    return b.copysign(_log1p_or_log_twice(b, large, a, rise), x)


def acosh(b: Builder, x: int) -> int:
    """Inverse hyperbolic cosine: log1p(t + sqrt(2t + t²)) with t = x - 1; NaN below 1."""
    large = b.lt(b.const(LARGE[b.precision]), x)
    t = b.sub(x, b.const(1.0))
    root = b.sqrt(b.fma(t, t, b.add(t, t)))
    rise = b.add(root, t)
    lost = b.select(large, b.const(0.0), b.add(b.sub(root, rise), t))
    return _log1p_or_log_twice(b, large, x, rise, lost)


def _log1p_or_log_twice(b: Builder, large: int, x: int, rise: int, lost: int | None = None) -> int:
    """log(1 + rise + lost), or log(2x) where x is so large that the square in `rise` overflows."""
    doublings = b.select(large, b.const(1.0), b.const(0.0))
    return log1p_scaled(b, b.select(large, x, rise), doublings, lost)


def atanh(b: Builder, x: int) -> int:
    """Inverse hyperbolic tangent: log1p(2a + 2a² / (1 - a)) / 2 with a = |x|.

    Infinite at ±1, NaN beyond.
    """
    a = b.abs(x)
    twice = b.add(a, a)
    ratio = b.add(twice, b.div(b.mul(twice, a), b.sub(b.const(1.0), a)))
    return b.copysign(b.mul(b.const(0.5), log1p_scaled(b, ratio)), x)


class Pair(NamedTuple):
    """A number as the unevaluated sum high + low, low being of the size of high's rounding error or
    None for 0.
    """

    high: int
    low: int | None = None


def fast_sum(b: Builder, large: int, small: int) -> tuple[int, int]:
    """Rounded sum large + small and its exact rounding error, for |large| >= |small|."""
    total = b.add(large, small)
    return total, b.add(b.sub(large, total), small)


def any_sum(b: Builder, x: int, y: int) -> tuple[int, int]:
    """Rounded sum x + y and its exact rounding error, for any x and y."""
    total = b.add(x, y)
    part = b.sub(total, x)
    return total, b.add(b.sub(x, b.sub(total, part)), b.sub(y, part))


def product(b: Builder, x: Pair, y: Pair) -> Pair:
    """Product x * y as a `Pair`, to twice the precision; exact if both factors are single
    numbers.
    """
    high = b.mul(x.high, y.high)
    low = b.fma(x.high, y.high, b.neg(high))
    if y.low is not None:
        low = b.fma(x.high, y.low, low)
    if x.low is not None:
        low = b.fma(x.low, y.high, low)
    return Pair(high, low)


def rounded(b: Builder, x: Pair) -> int:
    """A `Pair` x rounded to one number; x.high if x.low is not finite, as x.high has then
    overflowed.
    """
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
    tail = b.mul(square.high, b.horner(square.high, tuple(2.0 * c for c in table.ATANH[p][:-1])))
    factor = fast_sum(
        b,
        b.const(table.TWO_THIRDS[p][0]),
        b.add(tail, b.const(table.TWO_THIRDS[p][1])),
    )
    cubic = product(b, product(b, s, square), Pair(*factor))
    series, series_rest = fast_sum(b, b.add(s.high, s.high), cubic.high)
    series_rest = b.add(series_rest, b.fma(_low(b, s), b.const(2.0), _low(b, cubic)))
    whole = product(b, Pair(k), Pair(b.const(table.LN2[p][0]), b.const(table.LN2[p][1])))
    total, total_rest = any_sum(b, whole.high, series)
    return Pair(*fast_sum(b, total, b.add(total_rest, b.add(series_rest, _low(b, whole)))))


def _low(b: Builder, x: Pair) -> int:
    return b.const(0.0) if x.low is None else x.low


def _ratio(b: Builder, f: int) -> Pair:
    """Quotient f / (2 + f) as a `Pair`, with a single division."""
    below, below_rest = fast_sum(b, b.const(2.0), f)
    inverse = b.div(b.const(1.0), below)
    high = b.mul(f, inverse)
    minus = b.neg(high)
    residual = b.fma(minus, below_rest, b.fma(minus, below, f))
    return Pair(high, b.mul(residual, inverse))


LARGEST_CHAIN = 64
"""Largest whole power computed by products.

Above it, the rounding of the chain would cost more than log and exp.
"""


def pow(b: Builder, x: int, n: float) -> int:
    """x to the constant power n.

    Whole n: right sign for negative x. Other n: NaN for negative x. Powers that need no more than
    four roundings are written with multiplications, divisions and square roots only.
    """
    plain = _PLAIN.get(n)
    if plain is not None:
        return plain(b, x)
    whole = float(n).is_integer()
    if whole and abs(n) <= LARGEST_CHAIN:
        return _chain(b, x, int(n))
    if not whole:
        return _general(b, x, n)
    magnitude = _general(b, b.abs(x), n)
    return b.copysign(magnitude, x) if int(n) % 2 else magnitude


def _inverse(b: Builder, x: int) -> int:
    return b.div(b.const(1.0), x)


def _inverse_square(b: Builder, x: int) -> int:
    # Square the inverse rather than invert the square, which could overflow.
    inverse = _inverse(b, x)
    return b.mul(inverse, inverse)


def _square(b: Builder, x: int) -> int:
    return b.mul(x, x)


_PLAIN = {
    0.0: lambda b, x: b.const(1.0),
    1.0: lambda b, x: x,
    2.0: _square,
    3.0: lambda b, x: b.mul(_square(b, x), x),
    4.0: lambda b, x: _square(b, _square(b, x)),
    -1.0: _inverse,
    -2.0: _inverse_square,
    0.5: lambda b, x: b.sqrt(x),
    0.25: lambda b, x: b.sqrt(b.sqrt(x)),
    1.5: lambda b, x: b.mul(x, b.sqrt(x)),
    -0.5: lambda b, x: _inverse(b, b.sqrt(x)),
}


def _chain(b: Builder, x: int, n: int) -> int:
    """x**n by repeated squaring of an unrounded pair, rounded once at the end."""
    base = Pair(x)
    if n < 0:
        inverse = _inverse(b, x)
        base = Pair(inverse, b.mul(b.fma(b.neg(inverse), x, b.const(1.0)), inverse))
    result: Pair | None = None
    for bit in range(abs(n).bit_length()):
        if abs(n) >> bit & 1:
            result = base if result is None else product(b, result, base)
        if abs(n) >> (bit + 1):
            base = product(b, base, base)
    assert result is not None
    value = rounded(b, result)
    # Restore the sign of zero, which the sum of a pair of zeros has lost.
    return b.copysign(value, x) if n % 2 else value


def _general(b: Builder, x: int, n: float) -> int:
    """exp(n log x) with the logarithm held in two numbers; x >= 0."""
    infinity = float("inf")
    rest = n - float(b.dtype.type(n))
    exponent = Pair(b.const(n), b.const(rest) if rest else None)
    power = product(b, log_of(b, x), exponent)
    result = exp_of_sum(b, power.high, power.low)
    at_zero, at_infinity = (0.0, infinity) if n > 0 else (infinity, 0.0)
    result = b.select(b.eq(x, b.const(infinity)), b.const(at_infinity), result)
    zero = b.const(0.0)
    beyond = b.select(b.eq(x, zero), b.const(at_zero), b.const(math.nan))
    return b.select(b.lt(zero, x), result, beyond)


def hypot(b: Builder, x: int, y: int) -> int:
    """Length of the vector (x, y), without intermediate overflow; NaN if either is NaN."""
    limit = FORMATS[b.precision].exponents
    plain = b.fma(x, x, b.mul(y, y))
    large = b.lt(b.const(2.0 ** (limit - 4)), plain)
    small = b.lt(plain, b.const(2.0**-900 if b.double else 2.0**-76))
    one, step = b.const(1.0), 2.0**600 if b.double else 2.0**96
    up, down = b.const(step), b.const(1.0 / step)
    scale = b.select(large, down, b.select(small, up, one))
    back = b.select(large, up, b.select(small, down, one))
    x_scaled, y_scaled = b.mul(x, scale), b.mul(y, scale)
    return b.mul(b.sqrt(b.fma(x_scaled, x_scaled, b.mul(y_scaled, y_scaled))), back)


RULES: dict[str, Callable[..., int]] = {
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "atan2": atan2,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "exp": exp,
    "log": log,
    "hypot": hypot,
    "pow": pow,
    "log1p": log1p,
    "expm1": expm1,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
}
"""Rules that write the elementary functions in IEEE operations, by function name."""
LONE: dict[str, Callable[..., int]] = {"sin": lone_sin}
"""Cheaper rules for a sine whose cosine is not needed."""
