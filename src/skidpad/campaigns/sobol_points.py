"""Scrambled Sobol points by their numbers.

SciPy draws them one after the other. Point n is the exclusive or of a shift and of one direction
for each bit of the Gray code of n; shift and directions are told from SciPy's points number 0 and
the powers of 2, and then any point takes as long as any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..random.streams import key_of
from .experiment import Runs

_BITS = 30
"""Of a share: as many as SciPy takes."""
MOST_POINTS = 1 << _BITS
_CHANNEL = "campaign.sobol"


class SobolPoints:
    """The first points of a scrambled Sobol sequence.

    Args:
        dimensions: numbers of a point.
        seed: of the scrambling.
        count: how many points may be asked for.
    """

    def __init__(self, dimensions: int, seed: int, count: int) -> None:
        self._shift, self._directions = _digits(dimensions, seed, max(count - 1, 0).bit_length())

    def __call__(self, numbers: Runs) -> Array:
        """Points (n, dimensions), each in the middle of its cell of 2⁻³⁰: never 0 or 1."""
        gray = numbers ^ (numbers >> 1)
        words = np.repeat(self._shift[None, :], len(numbers), axis=0)
        for bit, direction in enumerate(self._directions):
            words[(gray >> bit) & 1 == 1] ^= direction
        return (words.astype(np.float64) + 0.5) * 2.0**-_BITS


def _digits(dimensions: int, seed: int, bits: int) -> tuple[Runs, list[NDArray[np.int64]]]:
    """The shift, and the direction of each bit of the Gray code."""
    # SciPy takes a second to import, which `import skidpad` should not pay.
    from scipy.stats import qmc

    low, high = key_of(seed, _CHANNEL)
    Sobol: Any = qmc.Sobol  # SciPy 1.14 has no rng
    sequence = Sobol(dimensions, scramble=True, bits=_BITS, seed=low | high << 32)

    def following() -> NDArray[np.int64]:
        return (sequence.random(1)[0] * 2.0**_BITS).astype(np.int64)

    shift = following()
    directions: list[NDArray[np.int64]] = []
    last = np.zeros_like(shift)
    for bit in range(bits):
        if bit > 1:
            sequence.fast_forward((1 << bit - 1) - 1)
        # The Gray code of 2ᵏ has the bits k and k - 1.
        last = following() ^ shift ^ last
        directions.append(last)
    return shift, directions
