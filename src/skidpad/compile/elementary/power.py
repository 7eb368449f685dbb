"""Constant powers and the length of a vector."""

from __future__ import annotations

import math

from ..builder import Builder
from .double_word import Pair, log_of, product, rounded
from .exponential import exp_of_sum
from .reduction import FORMATS

LARGEST_CHAIN = 64
"""Whole powers up to this are products; above, rounding in the chain would cost more than log and
exp do."""


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
    # The square of the inverse, not the inverse of the square: it cannot overflow on the way.
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
    # The sum of a pair of zeros has lost its sign.
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
    """Length of the vector (x, y), without overflow on the way; NaN if either is NaN."""
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
