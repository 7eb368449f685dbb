"""Cosines, exponentials, Fourier sums and Bessel functions with the same bits on every machine.

Only additions, products, quotients and square roots are used, one array operation at a time; each
of them is exactly rounded everywhere, while functions of a library are not.
"""

from __future__ import annotations

from itertools import accumulate
from math import factorial

import numpy as np

from ..arrays import Array

_TURN = 6.283185307179586
_COSINE = list(
    accumulate(range(1, 13), lambda c, k: -c * _TURN * _TURN / (2 * k * (2 * k - 1)), initial=1.0)
)
"""Taylor coefficients of the cosine of a whole turn times t, in t²."""
_EXPONENTIAL = [1.0 / factorial(k) for k in range(16)]
_SQUARINGS = 10
_COSH_STEP = 1.0050041680558035
"""cosh 0.1"""
_STEP = 0.1


def cosine(turns: Array) -> Array:
    """Cosine of an angle in turns."""
    t = np.abs(turns - np.floor(turns + 0.5))
    far = t > 0.25
    t = np.where(far, 0.5 - t, t)
    value = _polynomial(_COSINE, t * t)
    return np.where(far, -value, value)


def sine(turns: Array) -> Array:
    """Sine of an angle in turns."""
    return cosine(turns - 0.25)


def exponential(x: Array) -> Array:
    """e to the power of x, for x from -700 to 0; about 13 digits."""
    value = _polynomial(_EXPONENTIAL, x * 0.5**_SQUARINGS)
    for _ in range(_SQUARINGS):
        value = value * value
    return value


def bessel_x_k1(x: Array) -> Array:
    """x K_1(x) of the modified Bessel function of the second kind, for x above 1e-6.

    K_1(x) is the integral of exp(-x cosh t) cosh t over t from 0 on, for which equal steps converge
    faster than any power.
    """
    cosh, before = 1.0, _COSH_STEP
    total = 0.5 * exponential(-x)
    while True:
        cosh, before = 2.0 * _COSH_STEP * cosh - before, cosh
        inside = x * cosh < 40.0
        if not inside.any():
            return (x * _STEP) * total
        terms = exponential(-np.where(inside, x * cosh, 0.0)) * cosh
        total = total + np.where(inside, terms, 0.0)


def fourier_sum(real: Array, imaginary: Array) -> Array:
    """Real part of the sum of c_k exp(2πi j k / n) for j from 0 to n-1; n is a power of 2.

    Along the last axis, by halves (Cooley and Tukey 1965).
    """
    a, b = real[..., None].copy(), imaginary[..., None].copy()
    while a.shape[-2] > 1:
        a, b = _joined_by_halves(a, b)
    return a.reshape(real.shape)


def _joined_by_halves(a: Array, b: Array) -> tuple[Array, Array]:
    """Real and imaginary parts of sums twice as long: axis -2 counts what is still to be joined,
    axis -1 what is joined."""
    half, size = a.shape[-2] // 2, a.shape[-1]
    turns: Array = np.arange(size) / (2.0 * size)
    c, s = cosine(turns), sine(turns)
    even, odd = (a[..., :half, :], b[..., :half, :]), (a[..., half:, :], b[..., half:, :])
    x, y = c * odd[0] - s * odd[1], s * odd[0] + c * odd[1]
    return (
        np.concatenate([even[0] + x, even[0] - x], axis=-1),
        np.concatenate([even[1] + y, even[1] - y], axis=-1),
    )


def _polynomial(coefficients: list[float], x: Array) -> Array:
    value = np.full(np.shape(x), coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value *= x
        value += coefficient
    return value
