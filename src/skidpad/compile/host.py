"""NumPy arrays as kernel arguments (four words per array), and calls distributed over threads."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray
from ..core.progress import Progress
from ..core.threads import NEVER, Stop, share

STRIP = 256
"""Steps between two checks of the flag that ends a kernel early."""
WATCH_WORDS = ("begin", "end", "stop", "strips")
"""Words in the argument block of every interruptible kernel, after its arrays.

The words are the vehicles [begin, end) that it processes, the address of a 64-bit word that is not
zero once the kernel has to return, and the number of strips done, which the kernel counts for the
thread that watches it.
"""
UNWATCHED = (NEVER.address, 0)
"""Values of the last two `WATCH_WORDS` for a short call, which is not watched."""

_LONG = 0.02
"""Estimated time in s above which a call runs in threads other than the caller's."""
_WORTH_A_THREAD = 2e-4
"""Estimated time in s below which another thread costs more than it saves."""

TICK_OK, TICK_BAD_INPUT, TICK_DIVERGED, TICK_NOT_CONVERGED = range(4)
"""Return codes of the `tick` and `drive` kernels; only TICK_OK changes the state."""


def strided(array: AnyArray, lanes: int) -> tuple[AnyArray, tuple[int, int, int, int]]:
    """Describe an array (step, vehicle, field) to a kernel: address and strides of field, vehicle,
    step.

    An array with a vehicle stride of 0 (all vehicles share the values) is laid out as one tile of
    `lanes` equal values per field, which a kernel reads as a vector. The tile is returned so that
    the caller keeps it alive.
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
    """Kernel words (address and strides) of an array (step, vehicle, field) that the kernel writes.

    An array of one step is written at every step: a sum over steps needs one row.
    """
    step, vehicle, field = array.strides
    return array.ctypes.data, *_in_numbers((field, vehicle, step), array)


def bits(value: float, dtype: Any) -> int:
    """The representation of a number as a 64-bit word."""
    if dtype == np.float64:
        return struct.unpack("<q", struct.pack("<d", value))[0]
    return struct.unpack("<i", struct.pack("<f", value))[0]


class Load(NamedTuple):
    """The amount of work in a call of a kernel."""

    operations: int = 0
    """Upper limit of the traced operations of one vehicle in one step."""
    steps: int | None = None
    """Sub-steps of an interruptible kernel; None for a kernel without a time loop and
    `WATCH_WORDS`.
    """
    total: int = 0
    """Amount by which the progress advances over the whole call."""

    def time(self, groups: int, lanes: int) -> float:
        """Estimated time in s for a number of vehicle groups on a slow processor.

        An operation takes some 0.1 ns per lane in wide vectors and 1 ns in a single lane.
        """
        each = 1e-9 * self.operations * (2.0 + 0.25 * lanes)
        return groups * each * (1 if self.steps is None else self.steps)

    def plan(self, groups: int, lanes: int, threads: int) -> _Plan:
        """Plan how to share groups of vehicles among at most `threads` threads."""
        time = self.time(groups, lanes)
        used = max(1, min(threads, groups, int(time / _WORTH_A_THREAD)))
        long = time > _LONG * used
        # Several parts per thread, so that other threads can take over when one loses its processor
        # for a while.
        parts = 1 if used == 1 else min(groups, used * (4 if groups > 64 * used else 1))
        if long and self.steps is None:
            # Without strips, the work can be stopped only between parts.
            parts = max(parts, min(groups, int(time / _LONG)))
        return _Plan(used, parts, long)


class _Plan(NamedTuple):
    threads: int
    parts: int
    apart: bool
    """Whether the call may take so long that the calling thread should only wait."""


_LITTLE = Load()


def run(
    kernel: Callable[[int], None],
    words: Sequence[int],
    tail: Sequence[int],
    count: int,
    lanes: int,
    threads: int,
    *,
    load: Load = _LITTLE,
    keep: object = None,
    progress: Progress | None = None,
) -> None:
    """Call a kernel over `count` vehicles in parts, spread over threads.

    The block is `words`, begin, end, the other `WATCH_WORDS` if the kernel is interruptible,
    `tail`. Parts begin at multiples of the lane width, and lanes are independent, so the split
    changes no bits. During a long call the waiting thread can handle signals, and the call ends
    early when it is interrupted; see `core.threads.share`.

    Args:
        kernel, words, tail, count, lanes: as above.
        threads: largest number of threads.
        load: amount of work, to choose the number of parts.
        keep: object to keep alive while the kernel runs.
        progress: advances by `load.total`.
    """
    groups = -(-count // lanes)
    if load.time(groups, lanes) < 2.0 * _WORTH_A_THREAD:
        watch = () if load.steps is None else UNWATCHED
        block = np.array([*words, 0, count, *watch, *tail], dtype=np.int64)
        kernel(block.ctypes.data)
        if progress is not None:
            progress.advance(load.total)
        return
    plan, stop = load.plan(groups, lanes, threads), Stop()
    watch = () if load.steps is None else (stop.address, 0)
    edges = [lanes * (groups * k // plan.parts) for k in range(plan.parts)] + [count]
    rows = [[*words, begin, end, *watch, *tail] for begin, end in pairwise(edges)]
    call = _Call(kernel, np.array(rows, dtype=np.int64), keep)
    look = None
    if progress is not None:
        strips = call.blocks[:, len(words) + WATCH_WORDS.index("strips")] if watch else None
        look = _Look(progress.part(load.total), strips, groups * -(-(load.steps or 0) // STRIP))
    parts = range(plan.parts)
    share(call, parts, threads=plan.threads, apart=plan.apart, stop=stop, watch=look)
    if look is not None:
        look.reach(1.0)


class _Call(NamedTuple):
    """Argument blocks of a kernel and their arrays, alive as long as a thread may use them."""

    kernel: Callable[[int], None]
    blocks: AnyArray
    keep: object

    def __call__(self, k: int) -> None:
        self.kernel(self.blocks.ctypes.data + k * self.blocks.strides[0])


class _Look(NamedTuple):
    """Reporter of a kernel's progress, from the number of finished strips."""

    reach: Callable[[float], None]
    strips: AnyArray | None
    total: int

    def __call__(self) -> None:
        """Report the completed fraction."""
        if self.strips is not None:
            self.reach(int(self.strips.sum()) / self.total)
