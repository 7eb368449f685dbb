"""Sine, cosine and tangent.

The argument is reduced by the nearest multiple n of π/2 (Cody and Waite, three parts), whose last
two bits say which polynomial and which sign to take. Sine and cosine of one argument share
everything but the last selects.
"""

from __future__ import annotations

from typing import NamedTuple

from ..builder import Builder
from .coefficients import COS, HALF_PI, PI, SIN, SIN_WIDE, TWO_OVER_PI
from .reduction import scaled_in_range, subtract_signed_multiple

QUADRANT_BITS = {"float64": 30, "float32": 16}
"""Size of n up to which the reduction is exact to the last place."""


class _Reduced(NamedTuple):
    """The remainder r, its square, and the multiple of π/2 it was left by."""

    shifted: int
    n: int
    first: int
    """x less n times the first part of π/2, which is exact."""
    r: int
    z: int

    def odd(self, b: Builder) -> int:
        """Whether the multiple is odd: sine and cosine change places."""
        return b.testbit(self.shifted, 0)

    def upper(self, b: Builder) -> int:
        """Whether the second bit of the multiple is set: the sine changes its sign."""
        return b.testbit(self.shifted, 1)

    def sine(self, b: Builder, start: int | None = None) -> int:
        """sin(r), or its part beyond r added to another start."""
        cube = b.mul(self.r, self.z)
        return b.fma(cube, b.horner(self.z, SIN[b.precision]), self.r if start is None else start)

    def cosine(self, b: Builder, start: int | None = None) -> int:
        """cos(r), or its part beyond 1 added to another start."""
        series = b.horner(self.z, COS[b.precision])
        return b.fma(series, self.z, b.const(1.0) if start is None else start)


def _reduced(b: Builder, x: int) -> _Reduced:
    p = b.precision
    shifted = scaled_in_range(b, x, TWO_OVER_PI[p][0], QUADRANT_BITS[p], b.magic())
    n, minus_n = b.sub(shifted, b.magic()), b.sub(b.magic(), shifted)
    first = subtract_signed_multiple(b, x, n, minus_n, HALF_PI[p][:1])
    r = subtract_signed_multiple(b, first, n, minus_n, HALF_PI[p][1:])
    return _Reduced(shifted, n, first, r, _square(b, r))


def _square(b: Builder, r: int) -> int:
    """r², a little less: at r = -0 the correction r*z*(...) is then -0 and so is the sum with r."""
    tiny = 2.0**-1000 if b.double else 2.0**-120
    return b.fma(r, r, b.const(-tiny))


def _negated_where(b: Builder, condition: int, x: int) -> int:
    return b.select(condition, b.neg(x), x)


def sin(b: Builder, x: int) -> int:
    """Sine of an angle in rad."""
    r = _reduced(b, x)
    value = b.select(r.odd(b), r.cosine(b), r.sine(b))
    return _negated_where(b, r.upper(b), value)


def cos(b: Builder, x: int) -> int:
    """Cosine of an angle in rad."""
    r = _reduced(b, x)
    value = b.select(r.odd(b), r.sine(b), r.cosine(b))
    return _negated_where(b, b.xor(r.upper(b), r.odd(b)), value)


def tan(b: Builder, x: int) -> int:
    """Tangent of an angle in rad; one division.

    A plain quotient would add up the errors of sine, cosine and division to more than 2 units of
    the last place, so what rounding took from r, sine and cosine is fed back through the residual.
    """
    r = _reduced(b, x)
    sine, cosine = r.sine(b), r.cosine(b)
    sine_rest = r.sine(b, b.add(b.sub(r.r, sine), _lost(b, r)))
    cosine_rest = r.cosine(b, b.sub(b.const(1.0), cosine))
    odd = r.odd(b)
    above, below = b.select(odd, b.neg(cosine), sine), b.select(odd, sine, cosine)
    above_rest = b.select(odd, b.neg(cosine_rest), sine_rest)
    below_rest = b.select(odd, sine_rest, cosine_rest)
    inverse = b.div(b.const(1.0), below)
    quotient = b.mul(above, inverse)
    minus = b.neg(quotient)
    residual = b.add(b.fma(minus, below_rest, b.fma(minus, below, above)), above_rest)
    return b.copysign(b.fma(residual, inverse, quotient), quotient)


def _lost(b: Builder, r: _Reduced) -> int:
    """The exact remainder less r, which is a few roundings away from it."""
    _, second, third = HALF_PI[b.precision]
    product = b.mul(r.n, b.const(second))
    product_rest = b.fma(r.n, b.const(-second), product)
    remainder = b.sub(r.first, product)
    remainder_rest = b.sub(b.sub(r.first, remainder), product)
    rest = b.fma(r.n, b.const(-third), b.add(remainder_rest, product_rest))
    return b.add(b.sub(remainder, r.r), rest)


def lone_sin(b: Builder, x: int) -> int:
    """Sine of an angle whose cosine is not needed: reduced by π, one longer polynomial.

    The polynomial aims a little low at π/2, by less than its rounding errors, which without that
    could add up to a result above 1.
    """
    p = b.precision
    shifted = scaled_in_range(b, x, TWO_OVER_PI[p][0] / 2, QUADRANT_BITS[p] - 1, b.magic())
    n, minus_n = b.sub(shifted, b.magic()), b.sub(b.magic(), shifted)
    r = subtract_signed_multiple(b, x, n, minus_n, PI[p])
    z = _square(b, r)
    sine = b.fma(b.mul(r, z), b.horner(z, SIN_WIDE[p]), r)
    return _negated_where(b, b.testbit(shifted, 0), sine)
