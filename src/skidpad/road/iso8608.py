"""Random roads by ISO 8608: roughness classes A to H, and roads of a class by seed.

The displacement power spectral density of a class falls with the square of the spatial frequency n,
in cycles per metre: G_d(n) = G_d(n_0) (n / n_0)^-2, with n_0 = 0.1 1/m. Heights are a Gaussian
process with it: waves of equally spaced n with normally distributed amplitudes.

Parallel tracks are those of a surface with isotropic roughness. Its coherence over a
distance b is x K_1(x) with x = 2π n b: slow waves lift both wheels alike, fast ones do not
(C. J. Dodds, J. D. Robson, "The description of road surface roughness", J. Sound Vib. 31 (1973),
for the idea; the closed form is the Fourier integral of the spectrum above over the second
direction).

The functions at the top are bit-identical on every machine: they use only additions, products,
quotients and square roots, one array operation at a time, which are exactly rounded everywhere,
while library functions are not.
"""

from __future__ import annotations

from itertools import accumulate
from math import factorial
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.checks import floats, positive
from ..errors import InvalidValue
from ..random.streams import normals

_TURN = 6.283185307179586
_COSINE = list(
    accumulate(range(1, 13), lambda c, k: -c * _TURN * _TURN / (2 * k * (2 * k - 1)), initial=1.0)
)
"""Taylor coefficients in t² of the cosine of t turns."""
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
    """Exponential of x from -700 to 0, to about 13 digits."""
    value = _polynomial(_EXPONENTIAL, x * 0.5**_SQUARINGS)
    for _ in range(_SQUARINGS):
        value = value * value
    return value


def bessel_x_k1(x: Array) -> Array:
    """x K_1(x) with the modified Bessel function of the second kind, for x above 1e-6.

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

    A fast Fourier transform along the last axis (Cooley and Tukey 1965).
    """
    a, b = real[..., None].copy(), imaginary[..., None].copy()
    while a.shape[-2] > 1:
        # Axis -2 counts what is still to be joined, axis -1 what is joined.
        half, size = a.shape[-2] // 2, a.shape[-1]
        turns: Array = np.arange(size) / (2.0 * size)
        c, s = cosine(turns), sine(turns)
        even, odd = (a[..., :half, :], b[..., :half, :]), (a[..., half:, :], b[..., half:, :])
        x, y = c * odd[0] - s * odd[1], s * odd[0] + c * odd[1]
        a = np.concatenate([even[0] + x, even[0] - x], axis=-1)
        b = np.concatenate([even[1] + y, even[1] - y], axis=-1)
    return a.reshape(real.shape)


def _polynomial(coefficients: list[float], x: Array) -> Array:
    value = np.full(np.shape(x), coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value *= x
        value += coefficient
    return value


CLASSES = "ABCDEFGH"
"""Roughness classes, smooth to rough."""
N_0 = 0.1
"""Spatial frequency at which classes are defined, in 1/m."""
WAVELENGTHS = (1.0 / 2.83, 1.0 / 0.011)
"""Shortest and longest wavelength of the standard, in m."""
_SMOOTHEST = 16e-6
"""Geometric mean of class A at n_0, in m³; each class has four times that of the one before."""
_MOST_NUMBERS = 1 << 26
"""Most heights of a road, all tracks together, before it is cut to its length."""


def roughness_of(kind: Any) -> float:
    """G_d(n_0) in m³ of a class by its letter (the geometric mean), or the number itself."""
    if isinstance(kind, str):
        if len(kind) != 1 or kind not in CLASSES:
            raise InvalidValue(
                f"roughness = {kind!r} is no class of ISO 8608; allowed are {', '.join(CLASSES)}, "
                "or G_d(0.1 1/m) in m³"
            )
        return _SMOOTHEST * 4.0 ** CLASSES.index(kind)
    return positive("roughness", kind, "m³")


def class_limits(letter: str) -> tuple[float, float]:
    """Least and largest G_d(n_0) of a class in m³; A begins at 0 and H is unbounded."""
    mean = roughness_of(letter)
    low = 0.0 if letter == CLASSES[0] else 0.5 * mean
    return low, np.inf if letter == CLASSES[-1] else 2.0 * mean


def class_of(roughness: float) -> str:
    """Class of a road with this G_d(n_0) in m³."""
    number = positive("roughness", roughness, "m³")
    return next(letter for letter in CLASSES if number < class_limits(letter)[1])


def psd(n: Any, roughness: Any) -> Any:
    """Power spectral density G_d in m³ at a spatial frequency n in 1/m, of a class or for a
    G_d(n_0) in m³."""
    n = floats("n", n)[()]
    return roughness_of(roughness) * (N_0 * N_0) / (n * n)


def track_heights(
    roughness: Any,
    seed: int,
    count: int,
    step: float,
    tracks: Array,
    wavelengths: tuple[float, float] = WAVELENGTHS,
) -> Array:
    """Heights (count, tracks) in m of a road at points `step` m apart, on tracks at these y in m.

    They depend on the arguments alone, bit-identical on every machine.
    """
    size = 1 << max(1, int(count - 1).bit_length())
    if size * tracks.size > _MOST_NUMBERS:
        raise InvalidValue(
            f"a road of {count} points on {tracks.size} tracks is too long; allowed are "
            f"{_MOST_NUMBERS} heights, with its length filled up to a power of 2"
        )
    shortest, longest = wavelengths
    modes = np.arange(1, size // 2)
    n = modes / (size * step)
    modes = modes[(n * shortest <= 1.0) & (n * longest >= 1.0)]
    n = modes / (size * step)
    spread = np.sqrt(psd(n, roughness) / (size * step))
    # (modes, tracks, 2) independent normal numbers; those of a track do not depend on the others.
    drawn = normals(seed, "road", modes, np.arange(tracks.size), 2)
    parts = np.zeros((2, tracks.size, size))
    for i, row in enumerate(_factor(n, tracks)):
        for j, share in enumerate(row):
            parts[0, i, modes] += spread * share * drawn[:, j, 0]
            parts[1, i, modes] -= spread * share * drawn[:, j, 1]
    return np.ascontiguousarray(fourier_sum(parts[0], parts[1])[:, :count].T)


def coherence(n: Array, distance: float) -> Array:
    """Ratio of the cross spectral density of two tracks at a distance in m to that of one track."""
    if distance == 0.0:
        return np.ones(np.shape(n))
    return bessel_x_k1((_TURN * abs(distance)) * n)


def _factor(n: Array, tracks: Array) -> list[list[Array]]:
    """Rows of the Cholesky factor of the coherence of all tracks, each entry for every n."""
    rows: list[list[Array]] = []
    for i, y in enumerate(tracks):
        row: list[Array] = []
        for j in range(i):
            rest = coherence(n, float(y - tracks[j]))
            for k in range(j):
                rest = rest - row[k] * rows[j][k]
            # Tracks close to each other are alike; then there is nothing left to share.
            row.append(np.where(rows[j][j] > 1e-6, rest / np.maximum(rows[j][j], 1e-6), 0.0))
        left = np.ones(n.size)
        for share in row:
            left = left - share * share
        rows.append([*row, np.sqrt(np.maximum(left, 0.0))])
    return rows
