"""Random numbers of one step of many runs, from the compiled loop, shared out over threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidValue
from ..sensors.streams import key_of

Array = NDArray[np.float64]

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
    fill, used = _fill(), _threads(out, threads)
    if used == 1:
        fill(out, runs, counter, k0, k1, normal)
        return out
    ends = [runs.size * k // used for k in range(used + 1)]
    others = [
        _pool().submit(fill, out[a:b], runs[a:b], counter, k0, k1, normal)
        for a, b in pairwise(ends[1:])
    ]
    fill(out[: ends[1]], runs[: ends[1]], counter, k0, k1, normal)
    for other in others:
        other.result()
    return out


def _threads(out: Array, threads: int | None) -> int:
    worth = min(out.size // _WORTH_A_THREAD, len(out))
    if worth <= 1:
        return 1
    return min(worth, (os.cpu_count() or 1) if threads is None else threads)


@cache
def _fill() -> Any:
    # numba comes in with the first number that is drawn.
    from .kernel import fill

    return fill


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="skidpad-draws")


# A child process has none of the threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
