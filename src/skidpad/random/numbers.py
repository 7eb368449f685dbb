"""Random numbers of one step of many runs, from the compiled loop, shared out over threads."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import InvalidValue
from ..workers import spread
from .streams import key_of

_WORTH_A_THREAD = 20_000
"""Numbers below which another thread costs more than it saves."""
_BITS = (1 << 64) - 1


@lru_cache(maxsize=4096)
def _key(seed: int, channel: str) -> tuple[np.uint64, np.uint64]:
    k0, k1 = key_of(seed, channel)
    return np.uint64(k0), np.uint64(k1)


def numbers(
    seed: int,
    channel: str,
    step: int,
    runs: NDArray[np.int64],
    width: int,
    normal: bool,
    threads: int | None = None,
) -> Array:
    """Numbers (runs, width) of a channel at one step: `streams.normals` or `streams.uniforms`.

    `runs` must be checked to be from 0 to 2³² - 1.
    """
    try:
        out = np.empty((runs.size, width))
    except (TypeError, ValueError):
        raise InvalidValue(f"width = {width!r} must be a whole number, at least 0") from None
    if out.size == 0:
        return out
    k0, k1 = _key(seed, channel)
    counter = np.uint64(step & _BITS)
    fill = _fill()

    def part(begin: int, end: int) -> None:
        fill(out[begin:end], runs[begin:end], counter, k0, k1, normal)

    spread(part, len(out), worth=out.size // _WORTH_A_THREAD, threads=threads)
    return out


@cache
def _fill() -> Any:
    # numba comes in with the first number that is drawn.
    from .kernel import fill

    return fill
