"""Random numbers that depend on (seed, channel, vehicle, step) and on nothing else.

The number of vehicles, the order of the sensors, the workers and how many steps are drawn at a time
do not show in them, and neither does the machine.

Philox4x32-10 is a bijection of 128-bit counters for every 64-bit key (J. K. Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", SC 2011). Here seed and channel make the key; step,
vehicle and the element of the channel make the counter, so that no number is drawn twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..checks import whole
from ..errors import InvalidValue
from .inverse_normal import normal_of

Words = NDArray[np.uint64]

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_CHUNK = 8192
"""Numbers computed at a time, so that the intermediate arrays stay in the nearest cache."""


def key_of(seed: int, channel: str) -> tuple[int, int]:
    """The two 32-bit key words of a channel; any whole number is a seed."""
    number = whole("seed", seed, least=None)
    digest = blake2b(f"{number}:{channel}".encode(), digest_size=8).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")


def uniforms(
    seed: int, channel: str, steps: ArrayLike, vehicles: ArrayLike = 0, width: int = 1
) -> Array:
    """Numbers (steps, vehicles, width) between 0 and 1, neither of them ever drawn.

    A channel has `width` elements per step: the beams of a scan, the axes of an instrument.
    """
    return _drawn(lambda u: u, seed, channel, steps, vehicles, width)


def normals(
    seed: int, channel: str, steps: ArrayLike, vehicles: ArrayLike = 0, width: int = 1
) -> Array:
    """Standard normal numbers (steps, vehicles, width); at most 8.2 in size."""
    return _drawn(normal_of, seed, channel, steps, vehicles, width)


class Stream:
    """Normal or uniform numbers of one channel, asked for a few steps at a time.

    A window of steps is drawn ahead and kept; what is returned does not depend on it.
    """

    def __init__(
        self,
        draw: Callable[..., Array],
        seed: int,
        channel: str,
        vehicles: ArrayLike = 0,
        width: int = 1,
        window: int = 64,
    ) -> None:
        self._draw = draw
        self._of = (seed, channel)
        self._vehicles = checked_vehicles(vehicles)
        self._width = width
        # The overhead of a call is that of some thousand numbers: draw about so many.
        self._window = max(1, min(window, 4096 // (max(width, 1) * self._vehicles.size)))
        self._kept: tuple[int, Array] | None = None
        key_of(*self._of)

    def rows(self, steps: NDArray[np.int64]) -> Array:
        """Numbers (steps, vehicles, width)."""
        if steps.size != 1:
            return self._draw(*self._of, steps, self._vehicles, self._width)
        step = int(steps[0])
        first = step - step % self._window
        if self._kept is None or self._kept[0] != first:
            ahead = np.arange(first, first + self._window)
            self._kept = first, self._draw(*self._of, ahead, self._vehicles, self._width)
        row = step - first
        return self._kept[1][row : row + 1]


def checked_vehicles(vehicles: Any) -> NDArray[np.int64]:
    """Numbers of vehicles as an array of one axis; raises unless they are whole and in range."""
    numbers = np.atleast_1d(np.asarray(vehicles))
    if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer):
        raise InvalidValue(f"vehicle = {vehicles!r} must be a whole number or a list of them")
    bad = (numbers < 0) | (numbers >= 2**32)
    if bad.any():
        raise InvalidValue(f"vehicle = {numbers[bad][0]} must be from 0 to {2**32 - 1}")
    return numbers.astype(np.int64)


def _drawn(
    shape_of: Callable[[Array], Array],
    seed: int,
    channel: str,
    steps: ArrayLike,
    vehicles: ArrayLike,
    width: int,
) -> Array:
    key = key_of(seed, channel)
    # A negative step is the counter of the same bits: time may begin before 0.
    step = np.atleast_1d(np.asarray(steps, dtype=np.int64)).view(np.uint64)
    vehicle = checked_vehicles(vehicles).view(np.uint64)
    pairs = np.arange((width + 1) // 2, dtype=np.uint64)
    shape = (step.size, vehicle.size, pairs.size)
    counters = [
        np.broadcast_to(part, shape).ravel()
        for part in (
            (step & _LOW)[:, None, None],
            (step >> _HALF)[:, None, None],
            vehicle[None, :, None],
            pairs[None, None, :],
        )
    ]
    used = min(width, 2)
    out = np.empty((counters[0].size, used))
    for begin in range(0, len(out), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        words = philox([c[part] for c in counters], key)[:, :used]
        out[part] = shape_of(_open_unit(words).ravel()).reshape(-1, used)
    return out.reshape(step.size, vehicle.size, -1)[:, :, :width]


def philox(counter: Sequence[Words], key: tuple[int, int]) -> Words:
    """Philox4x32-10 of counters of four 32-bit words each: two 64-bit words (n, 2)."""
    c0, c1, c2, c3 = (np.array(word, dtype=np.uint64) for word in counter)
    k0, k1 = key
    for _ in range(_ROUNDS):
        c0 *= _M0
        c2 *= _M1
        high0, high1 = c0 >> _HALF, c2 >> _HALF
        high1 ^= c1
        high1 ^= np.uint64(k0)
        high0 ^= c3
        high0 ^= np.uint64(k1)
        c0 &= _LOW
        c2 &= _LOW
        c0, c1, c2, c3 = high1, c2, high0, c0
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return np.stack([c0 | (c1 << _HALF), c2 | (c3 << _HALF)], axis=-1)


def _open_unit(words: Words) -> Array:
    """The middles of 2⁵² equal parts of the interval from 0 to 1."""
    out = (words >> np.uint64(12)).astype(np.float64)
    out += 0.5
    out *= 2.0**-52
    return out
