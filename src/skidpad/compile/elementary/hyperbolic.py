"""Hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import NamedTuple

from ..builder import Builder
from .coefficients import COSH, LN2, LOG2_E, SINH, TANH
from .exponential import log1p_scaled
from .reduction import FORMATS, LN_2, at_least, at_most, nearest, subtract_multiple

TANH_ONE = {"float64": 20.0, "float32": 10.0}
"""From here on tanh is 1 to the last place."""

LARGE = {"float64": 2.0**60, "float32": 2.0**30}
"""From here on sqrt(x² ± 1) is x to the last place."""


def tanh(b: Builder, x: int) -> int:
    """Hyperbolic tangent: e / (1 + e) with e = (exp(2|x|) - 1) / 2, one division.

    With |x| = u + n ln2/2 that is e = (2**n - 1)/2 + 2**n h, where h = expm1(2u)/2 is a polynomial
    that starts with u: nothing is lost near 0. Where e is large its error hardly counts. Rounding n
    a quarter low keeps the difference in e away from cancellation at n = 1.
    """
    p = b.precision
    a = at_most(b, b.abs(x), TANH_ONE[p])
    n = b.rint(b.fma(a, b.const(2.0 * LOG2_E[p][0]), b.const(-0.25)))
    u = subtract_multiple(b, a, n, tuple(0.5 * part for part in LN2[p][:2]))
    h = b.fma(b.mul(u, u), b.horner(u, TANH[p]), u)
    power = b.pow2(n)
    e = b.fma(power, h, b.fma(power, b.const(0.5), b.const(-0.5)))
    quotient = b.div(e, b.add(e, b.const(1.0)))
    # The same as e - e q, which for small e hides the rounding of 1 + e and of the division.
    small = b.lt(e, b.const(0.34))
    return b.copysign(b.select(small, b.fma(b.neg(e), quotient, e), quotient), x)


class _Split(NamedTuple):
    """|x| = n ln 2 + r: twice cosh(r) - 1 and sinh(r), and 2**n / 4 and 2**-n / 4."""

    cosh_r_minus_1: int
    sinh_r: int
    up: int
    down: int


def _split(b: Builder, x: int) -> _Split:
    p = b.precision
    limit = FORMATS[p].exponents
    a = at_most(b, b.abs(x), (limit + 1.4) * LN_2)
    _, n = nearest(b, a, LOG2_E[p][0])
    r = subtract_multiple(b, a, n, LN2[p][:2])
    z = b.mul(r, r)
    cosh_r = b.mul(z, b.horner(z, tuple(2.0 * c for c in COSH[p])))
    sinh_r = b.fma(b.mul(r, z), b.horner(z, tuple(2.0 * c for c in SINH[p])), b.add(r, r))
    up = b.pow2(b.sub(n, b.const(2.0)))
    down = b.pow2(at_least(b, b.sub(b.const(-2.0), n), 2.0 - limit))
    return _Split(cosh_r, sinh_r, up, down)


def _by_addition(b: Builder, main: int, other: int, s: _Split, lost: int) -> int:
    """2 main + main (2 cosh(r) - 2) + other (2 sinh(r)) + 2 lost, the largest term last.

    The fused product may pass the largest number where its sum with the others does not.
    """
    rest = b.fma(s.cosh_r_minus_1, main, b.add(lost, lost))
    return b.fma(main, b.const(2.0), b.fma(s.sinh_r, other, rest))


def sinh(b: Builder, x: int) -> int:
    """Hyperbolic sine, by the addition theorem: no division, and nothing lost near 0."""
    s = _split(b, x)
    half_cosh, half_sinh = b.add(s.up, s.down), b.sub(s.up, s.down)
    lost = b.sub(b.sub(s.up, half_sinh), s.down)
    return b.copysign(_by_addition(b, half_sinh, half_cosh, s, lost), x)


def cosh(b: Builder, x: int) -> int:
    """Hyperbolic cosine, by the addition theorem; shares everything with sinh but the sums."""
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
