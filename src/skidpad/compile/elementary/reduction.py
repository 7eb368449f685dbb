"""Pieces that several elementary functions share: clamping and rounding to a multiple."""

from __future__ import annotations

from typing import NamedTuple

from ..builder import Builder
from .coefficients import LN2

LN_2 = LN2["float64"][0]
"""ln 2, for limits."""


class Format(NamedTuple):
    """Limits of a floating-point format."""

    exponents: int
    """2**exponents is the first power of two that overflows."""
    sign_bit: int


FORMATS = {"float64": Format(1024, 63), "float32": Format(128, 31)}


def at_most(b: Builder, x: int, limit: float) -> int:
    """The smaller of x and the limit; NaN stays NaN. One instruction (`min`) on most targets."""
    bound = b.const(limit)
    return b.select(b.lt(bound, x), bound, x)


def at_least(b: Builder, x: int, limit: float) -> int:
    """The larger of x and the limit; NaN stays NaN."""
    bound = b.const(limit)
    return b.select(b.lt(x, bound), bound, x)


def subtract_multiple(b: Builder, x: int, n: int, parts: tuple[float, ...]) -> int:
    """x - n * (sum of the parts), for x near that multiple.

    With fma the first difference is exact, whatever n: the product is not rounded, and what is left
    of x is a multiple of the last place of the first part that is small enough to need no rounding.
    """
    for part in parts:
        x = b.fma(n, b.const(-part), x)
    return x


def subtract_signed_multiple(
    b: Builder, x: int, n: int, minus_n: int, parts: tuple[float, ...]
) -> int:
    """As `subtract_multiple`, but -0 stays -0.

    Every product is taken with a negative constant, so that it is -0 for n = +0; a negative part
    takes -n for that, which must not be a negated n but a difference that is +0 as well.
    """
    for part in parts:
        x = b.fma(n if part > 0.0 else minus_n, b.const(-abs(part)), x)
    return x


def nearest(b: Builder, x: int, scale: float) -> tuple[int, int]:
    """x * scale rounded to an integer: with the integer in its low bits, and as a number."""
    shifted = b.fma(x, b.const(scale), b.magic())
    return shifted, b.sub(shifted, b.magic())


def scaled_in_range(b: Builder, x: int, scale: float, bits: int, offset: int) -> int:
    """x * scale + offset, but infinite where |x * scale| reaches 2**bits.

    One multiplication checks the range: it overflows exactly for arguments that are too large. The
    multiple of a constant that is subtracted later makes NaN of the infinity.
    """
    shift = FORMATS[b.precision].exponents - bits
    enlarged = b.mul(x, b.const(scale * 2.0**shift))
    return b.fma(enlarged, b.const(2.0**-shift), offset)
