"""The exponential and the normal distribution, with the same bits on every machine.

Like `random.inverse_normal`, of which `share_below` is the inverse: additions, products and
quotients only, one array operation at a time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import Array

LEAST = 2.0**-53
"""The smallest share that 1 can be told from 1 less it."""

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 in two parts: a whole number up to 2²⁰ times the first is exact."""
_TAYLOR = tuple(1.0 / math.factorial(n) for n in range(14, -1, -1))
"""Of the exponential, highest power first: 1e-19 is left over at ln 2 / 2."""
_STEP = 0.5
"""Of the trapezoidal rule: exp(-π²/step²) = 7e-18 is left over."""
_NODES = 13
_CORRECTED = math.pi / _STEP
"""The pole of the integrand counts below that."""


def exponential(x: Array) -> Array:
    """e to the power of x, to 1 or 2 units in the last place."""
    power = np.clip(np.rint(x / (_LN2_HIGH + _LN2_LOW)), -1100.0, 1100.0)
    rest = (x - power * _LN2_HIGH) - power * _LN2_LOW
    total = np.full_like(rest, _TAYLOR[0])
    for coefficient in _TAYLOR[1:]:
        total *= rest
        total += coefficient
    return np.ldexp(total, power.astype(np.int64))


def share_below(z: Any) -> Array:
    """The probability that a standard normal variable lies below z.

    By the trapezoidal rule with its pole: D. B. Hunter and T. Regan, "A note on the evaluation of
    the complementary error function", Mathematics of Computation 26 (1972).
    """
    numbers = np.asarray(z, dtype=np.float64)
    x = np.abs(numbers) * math.sqrt(0.5)
    square = x * x
    total = np.zeros_like(x)
    for weight, node in zip(_WEIGHTS, _SQUARES, strict=True):
        total += weight / (node + square)
    tail = exponential(-square) * x * total * (_STEP / math.pi)
    pole = 1.0 / (exponential(np.minimum(x, _CORRECTED) * (2.0 * math.pi / _STEP)) + 1.0)
    tail += np.where(x < _CORRECTED, pole, 0.0)
    return np.where(numbers < 0.0, tail, 1.0 - tail)


_SQUARES = tuple(((n + 0.5) * _STEP) ** 2 for n in range(_NODES))
_WEIGHTS = tuple(exponential(-np.array(_SQUARES)).tolist())
