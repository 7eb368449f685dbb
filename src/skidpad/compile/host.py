"""NumPy arrays as kernels see them: four words per array, and one call per thread."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import AnyArray

TICK_OK, TICK_BAD_INPUT, TICK_DIVERGED, TICK_NOT_CONVERGED = range(4)
"""What the `tick` and `drive` kernels return. Unless it is TICK_OK, the state is as before."""


def strided(array: AnyArray, lanes: int) -> tuple[AnyArray, tuple[int, int, int, int]]:
    """An array (step, vehicle, field) and its words: address and strides of field, vehicle, step.

    A vehicle stride of 0 (all vehicles share the values) is laid out as one tile of `lanes` equal
    values per field, which a kernel reads as a vector; the tile comes back to be kept alive.
    """
    if array.shape[1] == 1 or array.strides[1] == 0:
        tile = np.repeat(array[:, 0, :, None], lanes, axis=2)
        words = (tile.strides[1], 0, tile.strides[0])
        return tile, (tile.ctypes.data, *_in_numbers(words, tile))
    step, vehicle, field = array.strides
    return array, (array.ctypes.data, *_in_numbers((field, vehicle, step), array))


def _in_numbers(strides: Sequence[int], array: AnyArray) -> tuple[int, int, int]:
    field, vehicle, step = (s // array.itemsize for s in strides)
    return field, vehicle, step if array.shape[0] > 1 else 0


def writable(array: AnyArray) -> tuple[int, int, int, int]:
    """The words of an array (step, vehicle, field) that a kernel writes.

    An array of one step is written at every step: what is added up over steps needs one row.
    """
    step, vehicle, field = array.strides
    return array.ctypes.data, *_in_numbers((field, vehicle, step), array)


def bits(value: float, dtype: Any) -> int:
    """The representation of a number in a 64-bit word."""
    if dtype == np.float64:
        return struct.unpack("<q", struct.pack("<d", value))[0]
    return struct.unpack("<i", struct.pack("<f", value))[0]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="skidpad")


def cores() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(
    kernel: Callable[[int], None],
    words: Sequence[int],
    tail: Sequence[int],
    count: int,
    lanes: int,
    threads: int,
) -> None:
    """Call a kernel over `count` vehicles in parts, spread over threads.

    The block is `words`, begin, end, `tail`. Parts begin at multiples of the lane width, and a lane
    never sees its neighbours, so the split changes no bits.
    """
    groups = -(-count // lanes)
    # Several parts per thread: a thread that loses its processor for a while is made up for.
    parts = 1 if threads == 1 else min(groups, threads * (4 if groups > 64 * threads else 1))
    edges = [lanes * (groups * k // parts) for k in range(parts)] + [count]
    blocks = [
        np.array([*words, begin, end, *tail], dtype=np.int64) for begin, end in pairwise(edges)
    ]
    if parts == 1:
        kernel(blocks[0].ctypes.data)
        return
    waiting = [_pool(threads).submit(kernel, block.ctypes.data) for block in blocks]
    for part in waiting:
        part.result()
