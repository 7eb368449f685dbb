"""Arc functions: one division or one square root each, and one polynomial."""

from __future__ import annotations

from typing import NamedTuple

from ..builder import Builder
from .coefficients import ASIN, ATAN, ATAN_PIVOT, ATAN_SHORT, ATAN_UNIT, HALF_PI, PI
from .reduction import FORMATS, at_most

ATAN_SPLIT = 0.62
"""Above this tangent the angle is measured from a pivot c > 1/0.62, so no quotient is larger. The
pivot is below 1.62, so that a - c loses no bit where the angle is smallest."""

ATAN_LARGE = {"float64": 2.0**60, "float32": 2.0**30}
"""From here on atan is π/2 to the last place."""


def atan(b: Builder, x: int) -> int:
    """Arc tangent, in rad.

    atan(a) = θ + atan((a - c) / (1 + a c)) with tan θ = c: c is 0 or the pivot, and the selected
    constants alone decide, so no quotient is computed twice. The clamp keeps ∞/∞ away.
    """
    p = b.precision
    a = at_most(b, b.abs(x), ATAN_LARGE[p]) if b.careful else b.abs(x)
    c, angle = _pivot(b, b.lt(b.const(ATAN_SPLIT), a))
    t = b.div(b.sub(a, c), b.fma(a, c, b.const(1.0)))
    return b.copysign(_from_pivot(b, t, angle), x)


def _pivot(b: Builder, far: int) -> tuple[int, int]:
    """The pivot c and its angle, both 0 unless the tangent is far from 0."""
    pivot, angle = ATAN_PIVOT[b.precision]
    zero = b.const(0.0)
    return b.select(far, b.const(pivot), zero), b.select(far, b.const(angle), zero)


def _from_pivot(b: Builder, t: int, angle: int) -> int:
    """angle + atan(t) for t within 0.62."""
    table = ATAN if b.careful or b.precision not in ATAN_SHORT else ATAN_SHORT
    return b.fma(t, b.horner(b.mul(t, t), (*table[b.precision], 1.0)), angle)


def atan2(b: Builder, y: int, x: int) -> int:
    """Angle of the vector (x, y) from the x axis, in rad, in [-π, π], with the signs of zero of C.

    The smaller over the larger coordinate is the only quotient: it can neither overflow nor lose
    bits, which a pivot as in `atan` could.
    """
    quarter = _quarter(b, b.abs(y), b.abs(x))
    backward = b.testbit(x, FORMATS[b.precision].sign_bit)
    angle = b.select(backward, b.sub(b.const(PI[b.precision][0]), quarter), quarter)
    return b.copysign(angle, y)


def forward_atan2(b: Builder, y: int, x: int) -> int:
    """`atan2` of a vector whose x is known not to be negative: the same bits, fewer operations.

    In fast mode the pivot of `atan` does, with y/x for the tangent: it may overflow or lose bits.
    """
    a = b.abs(y)
    if b.careful:
        return b.copysign(_quarter(b, a, x), y)
    c, angle = _pivot(b, b.lt(b.mul(x, b.const(ATAN_SPLIT)), a))
    t = b.div(b.fma(b.neg(c), x, a), b.fma(a, c, x))
    return b.copysign(_from_pivot(b, t, angle), y)


def _quarter(b: Builder, height: int, width: int) -> int:
    """Angle in [0, π/2] of a vector whose coordinates are not negative."""
    p = b.precision
    steep = b.lt(width, height)
    small, large = b.select(steep, width, height), b.select(steep, height, width)
    t = _quotient(b, small, large)
    z = b.mul(t, t)
    octant = b.fma(b.mul(t, z), b.horner(z, ATAN_UNIT[p]), t)
    return b.select(steep, b.sub(b.const(HALF_PI[p][0]), octant), octant)


def _quotient(b: Builder, small: int, large: int) -> int:
    """small / large for 0 <= small <= large, with 0/0 = 0 and ∞/∞ = 1."""
    if not b.careful:
        return b.div(small, large)
    zero = b.const(0.0)
    if_equal = b.select(b.lt(zero, large), b.const(1.0), zero)
    return b.select(b.eq(small, large), if_equal, b.div(small, large))


class _Arc(NamedTuple):
    """asin of |x| up to 1/2, else of s = sqrt((1 - |x|)/2), as s + correction."""

    far: int
    s: int
    correction: int


def _arc(b: Builder, x: int) -> _Arc:
    a = b.abs(x)
    half = b.const(0.5)
    far = b.lt(half, a)
    z = b.select(far, b.fma(a, b.const(-0.5), half), b.mul(a, a))
    s = b.select(far, b.sqrt(z), a)
    return _Arc(far, s, b.mul(b.mul(s, z), b.horner(z, ASIN[b.precision])))


def asin(b: Builder, x: int) -> int:
    """Arc sine, in rad; NaN outside [-1, 1]."""
    high, low, _ = HALF_PI[b.precision]
    r = _arc(b, x)
    minus_two, quarter = b.const(-2.0), b.const(high)
    difference = b.fma(r.s, minus_two, quarter)
    lost = b.fma(r.s, minus_two, b.sub(quarter, difference))
    rest = b.add(b.fma(r.correction, minus_two, b.const(low)), lost)
    near = b.add(r.s, r.correction)
    return b.copysign(b.select(r.far, b.add(difference, rest), near), x)


def acos(b: Builder, x: int) -> int:
    """Arc cosine, in rad; NaN outside [-1, 1]."""
    r = _arc(b, x)
    arc = b.add(r.s, r.correction)
    negative = b.testbit(x, FORMATS[b.precision].sign_bit)
    # acos = base + factor * arc, with one base and factor for each of the four pieces.
    two, one = b.const(2.0), b.const(1.0)
    size = b.select(r.far, two, one)
    falling = b.xor(r.far, negative)
    factor = b.select(falling, size, b.neg(size))
    base = b.select(
        r.far,
        b.select(negative, b.const(PI[b.precision][0]), b.const(0.0)),
        b.const(HALF_PI[b.precision][0]),
    )
    return b.fma(arc, factor, base)
