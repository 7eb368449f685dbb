"""Sine, cosine and tangent.

The argument is reduced by the nearest multiple n of π/2 (Cody and Waite, three parts), whose last two
bits say which polynomial and which sign to take. Sine and cosine of one argument share everything
but the last selects.
"""

from __future__ import annotations

from typing import NamedTuple

from ..builder import Builder
from .coefficients import COS, HALF_PI, PI, SIN, SIN_WIDE, TWO_OVER_PI
from .reduction import scaled_in_range, subtract_multiple

QUADRANT_BITS = {"float64": 30, "float32": 16}
"""Size of n up to which the reduction is exact to the last place."""


class _Reduced(NamedTuple):
    """Sine and cosine of the remainder, and the bits of the quadrant."""

    sine: int
    cosine: int
    odd: int
    upper: int


def _reduced(b: Builder, x: int) -> _Reduced:
    p = b.precision
    shifted = scaled_in_range(b, x, TWO_OVER_PI[p][0], QUADRANT_BITS[p], b.magic())
    r = subtract_multiple(b, x, b.sub(shifted, b.magic()), HALF_PI[p])
    z = _square(b, r)
    sine = b.fma(b.mul(r, z), b.horner(z, SIN[p]), r)
    cosine = b.horner(z, (*COS[p], 1.0))
    return _Reduced(sine, cosine, b.testbit(shifted, 0), b.testbit(shifted, 1))


def _square(b: Builder, r: int) -> int:
    """r², a little less: at r = -0 the correction r*z*(...) is then -0 and so is the sum with r."""
    tiny = 2.0**-1000 if b.double else 2.0**-120
    return b.fma(r, r, b.const(-tiny))


def _negated_where(b: Builder, condition: int, x: int) -> int:
    return b.select(condition, b.neg(x), x)


def sin(b: Builder, x: int) -> int:
    """Sine of an angle in rad."""
    r = _reduced(b, x)
    return _negated_where(b, r.upper, b.select(r.odd, r.cosine, r.sine))


def cos(b: Builder, x: int) -> int:
    """Cosine of an angle in rad."""
    r = _reduced(b, x)
    return _negated_where(b, b.xor(r.upper, r.odd), b.select(r.odd, r.sine, r.cosine))


def tan(b: Builder, x: int) -> int:
    """Tangent of an angle in rad; one division."""
    r = _reduced(b, x)
    return b.div(
        b.select(r.odd, b.neg(r.cosine), r.sine), b.select(r.odd, r.sine, r.cosine)
    )


def lone_sin(b: Builder, x: int) -> int:
    """Sine of an angle whose cosine is not needed: reduced by π, one longer polynomial."""
    p = b.precision
    shifted = _half_turns(b, x, b.magic())
    sine = _wide_sine(b, subtract_multiple(b, x, b.sub(shifted, b.magic()), PI[p]))
    return _negated_where(b, b.testbit(shifted, 0), sine)


def lone_cos(b: Builder, x: int) -> int:
    """Cosine of an angle whose sine is not needed: reduced by an odd multiple of π/2."""
    p = b.precision
    shifted = b.add(_half_turns(b, x, b.const(-0.5)), b.magic())
    n = b.sub(shifted, b.magic())
    sine = _wide_sine(b, subtract_multiple(b, x, b.add(n, b.const(0.5)), PI[p]))
    return b.select(b.testbit(shifted, 0), sine, b.neg(sine))


def _half_turns(b: Builder, x: int, offset: int) -> int:
    p = b.precision
    return scaled_in_range(b, x, TWO_OVER_PI[p][0] / 2, QUADRANT_BITS[p] - 1, offset)


def _wide_sine(b: Builder, r: int) -> int:
    z = _square(b, r)
    return b.fma(b.mul(r, z), b.horner(z, SIN_WIDE[b.precision]), r)
