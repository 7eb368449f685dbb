"""Sine, cosine and tangent, arc functions, and the domains of all elementary functions.

The argument of a sine is reduced by the nearest multiple n of π/2 (Cody and Waite, three parts);
the last two bits of n select polynomial and sign. Sine and cosine of one argument share all
operations but the last selects. An arc function takes one division or one square root, and one
polynomial.

`DOMAINS` lists where each elementary function is accurate: there the error is at most 2 units in
the last place, in both precisions; ±0, ±inf and NaN are treated as in C99 unless the text says
otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

from . import coefficients as table
from .program import Builder

LN_2 = table.LN2["float64"][0]


class Format(NamedTuple):
    """Limits of a floating-point format."""

    exponents: int
    """2**exponents is the smallest power of two that overflows."""
    sign_bit: int


FORMATS = {"float64": Format(1024, 63), "float32": Format(128, 31)}


def at_most(b: Builder, x: int, limit: float) -> int:
    """Minimum of x and a constant limit; NaN stays NaN. One instruction (`min`) on most targets."""
    bound = b.const(limit)
    return b.select(b.lt(bound, x), bound, x)


def at_least(b: Builder, x: int, limit: float) -> int:
    """Maximum of x and a constant limit; NaN stays NaN."""
    bound = b.const(limit)
    return b.select(b.lt(x, bound), bound, x)


def subtract_multiple(b: Builder, x: int, n: int, parts: tuple[float, ...]) -> int:
    """Difference x - n * c, where c is the sum of `parts` and x is near that multiple.

    With fma the first difference is exact, whatever n: the product is not rounded, and the
    remainder of x is a multiple of the last place of the first part that is small enough to need no
    rounding.
    """
    for part in parts:
        x = b.fma(n, b.const(-part), x)
    return x


def subtract_signed_multiple(
    b: Builder, x: int, n: int, minus_n: int, parts: tuple[float, ...]
) -> int:
    """Difference x - n * c as in `subtract_multiple`, except that x = -0 stays -0.

    Every product is taken with a negative constant, so that it is -0 for n = +0. A negative part is
    multiplied by `minus_n` for that purpose, which must not be a negated n but a difference that is
    +0 as well.
    """
    for part in parts:
        x = b.fma(n if part > 0.0 else minus_n, b.const(-abs(part)), x)
    return x


def nearest(b: Builder, x: int, scale: float) -> tuple[int, int]:
    """Nearest integer to x * scale, as the low bits of a number and as a number."""
    shifted = b.fma(x, b.const(scale), b.magic())
    return shifted, b.sub(shifted, b.magic())


def scaled_in_range(b: Builder, x: int, scale: float, bits: int, offset: int) -> int:
    """Sum x * scale + offset, replaced by infinity where |x * scale| reaches 2**bits.

    One multiplication checks the range: it overflows exactly for arguments that are too large. The
    multiple of a constant that is subtracted later turns the infinity into NaN.
    """
    shift = FORMATS[b.precision].exponents - bits
    enlarged = b.mul(x, b.const(scale * 2.0**shift))
    return b.fma(enlarged, b.const(2.0**-shift), offset)


QUADRANT_BITS = {"float64": 30, "float32": 16}
"""Number of bits of n up to which the reduction is exact to the last place."""


class _Reduced(NamedTuple):
    """An angle reduced by a multiple of π/2: the remainder r, r², and the multiple."""

    shifted: int
    n: int
    first: int
    """x minus n times the first part of π/2, which is exact."""
    r: int
    z: int

    def odd(self, b: Builder) -> int:
        """Whether the multiple is odd, so that sine and cosine swap."""
        return b.testbit(self.shifted, 0)

    def upper(self, b: Builder) -> int:
        """Whether the second bit of the multiple is set, so that the sine changes its sign."""
        return b.testbit(self.shifted, 1)

    def sine(self, b: Builder, start: int | None = None) -> int:
        """sin(r), or sin(r) - r added to another start value."""
        cube = b.mul(self.r, self.z)
        return b.fma(
            cube,
            b.horner(self.z, table.SIN[b.precision]),
            self.r if start is None else start,
        )

    def cosine(self, b: Builder, start: int | None = None) -> int:
        """cos(r), or cos(r) - 1 added to another start value."""
        series = b.horner(self.z, table.COS[b.precision])
        return b.fma(series, self.z, b.const(1.0) if start is None else start)


def _reduced(b: Builder, x: int) -> _Reduced:
    p = b.precision
    shifted = scaled_in_range(b, x, table.TWO_OVER_PI[p][0], QUADRANT_BITS[p], b.magic())
    n, minus_n = b.sub(shifted, b.magic()), b.sub(b.magic(), shifted)
    first = subtract_signed_multiple(b, x, n, minus_n, table.HALF_PI[p][:1])
    r = subtract_signed_multiple(b, first, n, minus_n, table.HALF_PI[p][1:])
    return _Reduced(shifted, n, first, r, _square(b, r))


def _square(b: Builder, r: int) -> int:
    """Square of r, rounded slightly down so that the sine of r = -0 is -0.

    The correction r*z*(...) is then -0 and so is its sum with r.
    """
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

    A plain quotient would accumulate the errors of sine, cosine and division to more than 2 units
    in the last place, so the rounding errors of r, sine and cosine are fed back through the
    residual.
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
    """Rounding error of the reduced angle r: the exact remainder minus r."""
    _, second, third = table.HALF_PI[b.precision]
    product = b.mul(r.n, b.const(second))
    product_rest = b.fma(r.n, b.const(-second), product)
    remainder = b.sub(r.first, product)
    remainder_rest = b.sub(b.sub(r.first, remainder), product)
    rest = b.fma(r.n, b.const(-third), b.add(remainder_rest, product_rest))
    return b.add(b.sub(remainder, r.r), rest)


def lone_sin(b: Builder, x: int) -> int:
    """Sine of an angle whose cosine is not needed: reduced by π, with one longer polynomial.

    The polynomial is slightly low at π/2, by less than its rounding errors, which could otherwise
    add up to a result above 1.
    """
    p = b.precision
    shifted = scaled_in_range(b, x, table.TWO_OVER_PI[p][0] / 2, QUADRANT_BITS[p] - 1, b.magic())
    n, minus_n = b.sub(shifted, b.magic()), b.sub(b.magic(), shifted)
    r = subtract_signed_multiple(b, x, n, minus_n, table.PI[p])
    z = _square(b, r)
    sine = b.fma(b.mul(r, z), b.horner(z, table.SIN_WIDE[p]), r)
    return _negated_where(b, b.testbit(shifted, 0), sine)


ATAN_SPLIT = 0.62
"""Tangent above which an angle is measured from a pivot c > 1/0.62.

So no quotient exceeds 0.62. The pivot is below 1.62, so that a - c loses no bit where the angle
is smallest.
"""

ATAN_LARGE = {"float64": 2.0**60, "float32": 2.0**30}
"""Argument from which atan is π/2 to the last place."""


def atan(b: Builder, x: int) -> int:
    """Arc tangent, in rad.

    atan(a) = θ + atan((a - c) / (1 + a c)) with tan θ = c, where c is 0 or the pivot. Only
    constants are selected, so a single quotient is computed. The clamp prevents ∞/∞.
    """
    p = b.precision
    a = at_most(b, b.abs(x), ATAN_LARGE[p]) if b.careful else b.abs(x)
    c, angle = _pivot(b, b.lt(b.const(ATAN_SPLIT), a))
    t = b.div(b.sub(a, c), b.fma(a, c, b.const(1.0)))
    return b.copysign(_from_pivot(b, t, angle), x)


def _pivot(b: Builder, far: int) -> tuple[int, int]:
    """The pivot c and its angle, both 0 unless the tangent is far from 0."""
    pivot, angle = table.ATAN_PIVOT[b.precision]
    zero = b.const(0.0)
    return b.select(far, b.const(pivot), zero), b.select(far, b.const(angle), zero)


def _from_pivot(b: Builder, t: int, angle: int) -> int:
    """Sum angle + atan(t), for |t| up to 0.62."""
    short = not b.careful and b.precision in table.ATAN_SHORT
    series = (table.ATAN_SHORT if short else table.ATAN)[b.precision]
    return b.fma(t, b.horner(b.mul(t, t), (*series, 1.0)), angle)


def atan2(b: Builder, y: int, x: int) -> int:
    """Angle of the vector (x, y) from the x axis, in rad, in [-π, π]; signed zeros as in C.

    The smaller over the larger coordinate is the only quotient: it can neither overflow nor lose
    bits, unlike one with the pivot of `atan`.
    """
    quarter = _quarter(b, b.abs(y), b.abs(x))
    backward = b.testbit(x, FORMATS[b.precision].sign_bit)
    angle = b.select(backward, b.sub(b.const(table.PI[b.precision][0]), quarter), quarter)
    return b.copysign(angle, y)


def forward_atan2(b: Builder, y: int, x: int) -> int:
    """`atan2` of a vector with x >= 0: the same bits with fewer operations.

    In fast mode it is `atan` of y/x, which may overflow or lose bits.
    """
    a = b.abs(y)
    if b.careful:
        return b.copysign(_quarter(b, a, x), y)
    c, angle = _pivot(b, b.lt(b.mul(x, b.const(ATAN_SPLIT)), a))
    t = b.div(b.fma(b.neg(c), x, a), b.fma(a, c, x))
    return b.copysign(_from_pivot(b, t, angle), y)


def _quarter(b: Builder, height: int, width: int) -> int:
    """Angle in [0, π/2] of a vector with non-negative coordinates, in rad."""
    p = b.precision
    steep = b.lt(width, height)
    small, large = b.select(steep, width, height), b.select(steep, height, width)
    t = _quotient(b, small, large)
    z = b.mul(t, t)
    octant = b.fma(b.mul(t, z), b.horner(z, table.ATAN_UNIT[p]), t)
    return b.select(steep, b.sub(b.const(table.HALF_PI[p][0]), octant), octant)


def _quotient(b: Builder, small: int, large: int) -> int:
    """small / large for 0 <= small <= large, with 0/0 = 0 and ∞/∞ = 1."""
    if not b.careful:
        return b.div(small, large)
    zero = b.const(0.0)
    if_equal = b.select(b.lt(zero, large), b.const(1.0), zero)
    return b.select(b.eq(small, large), if_equal, b.div(small, large))


class _Arc(NamedTuple):
    """Arc sine of |x| up to 1/2, else of s = sqrt((1 - |x|)/2), as the sum s + correction."""

    far: int
    s: int
    correction: int


def _arc(b: Builder, x: int) -> _Arc:
    a = b.abs(x)
    half = b.const(0.5)
    far = b.lt(half, a)
    z = b.select(far, b.fma(a, b.const(-0.5), half), b.mul(a, a))
    s = b.select(far, b.sqrt(z), a)
    return _Arc(far, s, b.mul(b.mul(s, z), b.horner(z, table.ASIN[b.precision])))


def asin(b: Builder, x: int) -> int:
    """Arc sine, in rad; NaN outside [-1, 1]."""
    high, low, _ = table.HALF_PI[b.precision]
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
        b.select(negative, b.const(table.PI[b.precision][0]), b.const(0.0)),
        b.const(table.HALF_PI[b.precision][0]),
    )
    return b.fma(arc, factor, base)


Range = tuple[float, float]

_INF = float("inf")
_EVERYWHERE = {"float64": (-_INF, _INF), "float32": (-_INF, _INF)}
# |n| < 2**30 and 2**16 multiples of π/2.
_ANGLE = {"float64": (-1.68e9, 1.68e9), "float32": (-1.02e5, 1.02e5)}
_UNIT = {"float64": (-1.0, 1.0), "float32": (-1.0, 1.0)}
_HYPERBOLIC = {"float64": (-710.47, 710.47), "float32": (-89.41, 89.41)}


class Domain(NamedTuple):
    """The range in which one function is accurate, by precision."""

    accurate: dict[str, Range]
    beyond: str
    """Result outside that range, and other remarks."""


DOMAINS: dict[str, Domain] = {
    "sin": Domain(_ANGLE, "NaN"),
    "cos": Domain(_ANGLE, "NaN"),
    "tan": Domain(_ANGLE, "NaN"),
    "asin": Domain(_UNIT, "NaN"),
    "acos": Domain(_UNIT, "NaN"),
    "atan": Domain(_EVERYWHERE, ""),
    "atan2": Domain(_EVERYWHERE, "quadrants, zeros and infinities as in C99"),
    "sinh": Domain(_HYPERBOLIC, "±inf"),
    "cosh": Domain(_HYPERBOLIC, "inf"),
    "tanh": Domain(_EVERYWHERE, ""),
    "exp": Domain(
        {"float64": (-708.0, 709.78), "float32": (-86.98, 88.72)},
        "inf above; 0 below, where the result would be close to subnormal",
    ),
    "log": Domain(
        {"float64": (0.0, _INF), "float32": (0.0, _INF)}, "-inf at 0, NaN below"
    ),
    "hypot": Domain(_EVERYWHERE, "NaN if either is NaN, also beside an infinity"),
    "pow": Domain(
        _EVERYWHERE,
        "accurate where the result is a normal number; a power that is not whole is NaN below 0; "
        "powers 0.5, 0.25, 1.5 and -0.5 treat -0 as the square root does",
    ),
    "log1p": Domain(
        {"float64": (-1.0, _INF), "float32": (-1.0, _INF)}, "-inf at -1, NaN below"
    ),
    "expm1": Domain(
        {"float64": (-_INF, 709.78), "float32": (-_INF, 88.72)}, "inf"
    ),
    "asinh": Domain(_EVERYWHERE, ""),
    "acosh": Domain({"float64": (1.0, _INF), "float32": (1.0, _INF)}, "NaN"),
    "atanh": Domain(_UNIT, "NaN"),
}  # fmt: skip
"""Accurate range of each function in `RULES`."""
