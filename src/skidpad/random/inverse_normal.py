"""Standard normal numbers from uniform ones, the same bits on every machine.

Only additions, products, quotients and square roots are used, one array operation at a time; each
of them is exactly rounded everywhere, while the logarithm of a library is not.

Formula: M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution",
Applied Statistics 37 (1988), its routine PPND16: about 16 digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..ops import abs, log, maximum, minimum, sqrt, where

_SPLIT_Q, _SPLIT_R = 0.425, 5.0
_CENTRE = (
    (
        2.5090809287301226727e3,
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3,
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ),
)
_TAIL = (
    (
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258e0,
        3.64784832476320460504e0,
        5.76949722146069140550e0,
        4.63033784615654529590e0,
        1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940e0,
        2.05319162663775882187e0,
        1.0,
    ),
)
_FAR_TAIL = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580e0,
        5.46378491116411436990e0,
        6.65790464350110377720e0,
    ),
    (
        2.04426310338993978564e-15,
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ),
)
"""Numerators and denominators, highest power first."""

_LEAST = 1e-30
"""A share below which nothing lies; a float32 can be as small."""

_LN2 = 0.69314718055994530942
_ATANH = tuple(1.0 / n for n in range(23, 0, -2))
"""Coefficients of atanh(s)/s in s², highest power first: 1e-18 is left over for |s| < 0.172."""


def normal_of(u: Array) -> Array:
    """The number below which a standard normal variable lies with probability u, 0 < u < 1."""
    q = u - 0.5
    r = q * q
    np.subtract(_SPLIT_Q * _SPLIT_Q, r, out=r)
    tails = np.flatnonzero(r < 0.0)
    out = _ratio(r, _CENTRE)
    out *= q
    if tails.size:
        # 1 - u loses nothing: u is a multiple of 2⁻⁵³.
        below = u[tails]
        depth = np.sqrt(-log_of(np.minimum(below, 1.0 - below)))
        far = depth > _SPLIT_R
        size = np.where(far, _ratio(depth - _SPLIT_R, _FAR_TAIL), _ratio(depth - 1.6, _TAIL))
        out[tails] = np.copysign(size, q[tails])
    return out


def traced_normal(u: Any) -> Any:
    """`normal_of` in `skidpad.ops`, for Programs: the same formula with their logarithm."""
    q = u - 0.5
    tail = maximum(minimum(u, 1.0 - u), _LEAST)
    depth = sqrt(-log(tail))
    size = where(
        depth > _SPLIT_R, _traced_ratio(depth - _SPLIT_R, _FAR_TAIL),
        _traced_ratio(depth - 1.6, _TAIL),
    )  # fmt: skip
    centre = _traced_ratio(_SPLIT_Q * _SPLIT_Q - q * q, _CENTRE) * q
    return where(abs(q) <= _SPLIT_Q, centre, where(q < 0.0, -size, size))


def _traced_ratio(r: Any, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Any:
    above, below = (_horner(r, c) for c in coefficients)
    return above / below


def _horner(x: Any, coefficients: tuple[float, ...]) -> Any:
    total = coefficients[0]
    for c in coefficients[1:]:
        total = total * x + c
    return total


def _ratio(r: Array, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Array:
    above, below = (_polynomial(r, c) for c in coefficients)
    above /= below
    return above


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    total = x * coefficients[0]
    for c in coefficients[1:-1]:
        total += c
        total *= x
    total += coefficients[-1]
    return total


def log_of(x: Array) -> Array:
    """Natural logarithm of positive numbers, to 1 or 2 units in the last place."""
    mantissa, exponent = np.frexp(x)
    low = mantissa < 0.70710678118654752440
    mantissa = np.where(low, 2.0 * mantissa, mantissa)
    exponent = np.where(low, exponent - 1, exponent)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    return exponent * _LN2 + 2.0 * s * _polynomial(s * s, _ATANH)
