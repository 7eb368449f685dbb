"""Random roads by ISO 8608: classes A to H of roughness, and roads of a class by seed.

The displacement power spectral density of a class falls with the square of the spatial frequency n,
in cycles per metre: G_d(n) = G_d(n_0) (n / n_0)^-2, with n_0 = 0.1 1/m. Heights are a Gaussian
process with it: waves of equally spaced n with normally distributed amplitudes.

Tracks beside each other are those of a surface that is as rough in every direction. Its coherence
over a distance b is x K_1(x) with x = 2π n b: slow waves lift both wheels alike, fast ones do not
(C. J. Dodds, J. D. Robson, "The description of road surface roughness", J. Sound Vib. 31 (1973),
for the idea; the closed form is the Fourier integral of the spectrum above over the second
direction).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import positive as positive_number
from ..errors import InvalidValue
from ..random.streams import normals
from .exact import bessel_x_k1, fourier_sum

__all__ = ["CLASSES", "N_0", "class_limits", "class_of", "psd", "track_heights"]

CLASSES = "ABCDEFGH"
"""Roughness classes, smooth to rough."""
N_0 = 0.1
"""Spatial frequency at which classes are told apart, in 1/m."""
WAVELENGTHS = (1.0 / 2.83, 1.0 / 0.011)
"""Shortest and longest wave of the norm, in m."""
_SMOOTHEST = 16e-6
"""Geometric mean of class A at n_0, in m³; each class has four times that of the one before."""
_MOST_NUMBERS = 1 << 26
"""Heights of a road, all tracks together, before it is cut to its length."""


def roughness_of(kind: Any) -> float:
    """G_d(n_0) in m³ of a class by its letter (the geometric mean), or the number itself."""
    if isinstance(kind, str):
        if len(kind) != 1 or kind not in CLASSES:
            raise InvalidValue(
                f"roughness = {kind!r} is no class of ISO 8608; allowed are {', '.join(CLASSES)}, "
                "or G_d(0.1 1/m) in m³"
            )
        return _SMOOTHEST * 4.0 ** CLASSES.index(kind)
    return positive_number("roughness", kind, "m³")


def class_limits(letter: str) -> tuple[float, float]:
    """Least and largest G_d(n_0) of a class in m³; A begins at 0 and H has no end."""
    mean = roughness_of(letter)
    low = 0.0 if letter == CLASSES[0] else 0.5 * mean
    return low, np.inf if letter == CLASSES[-1] else 2.0 * mean


def class_of(roughness: float) -> str:
    """The class of a road with this G_d(n_0) in m³."""
    number = positive_number("roughness", roughness, "m³")
    return next(letter for letter in CLASSES if number < class_limits(letter)[1])


def psd(n: Any, roughness: Any) -> Any:
    """G_d in m³ at a spatial frequency n in 1/m, of a class or for a G_d(n_0) in m³."""
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

    They depend on the arguments alone, to the last bit on every machine.
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
    """Cross spectral density over the density of one track, of tracks at a distance in m."""
    if distance == 0.0:
        return np.ones(np.shape(n))
    return bessel_x_k1((6.283185307179586 * abs(distance)) * n)


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
