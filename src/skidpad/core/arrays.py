"""Array types for annotations, and large shared arrays, each identified by a number.

A road grid or a motor map with a million values is not a record of scalars. Its values are stored
here, once per process, and a record contains their number: a scalar leaf like any other. It passes
through parameters, sweeps and worlds unchanged, vehicles of one fleet may read different arrays,
and exchanging an array compiles nothing.

An array lives as long as its `ArrayNumber` is referenced. Its number is never assigned to another
array: reading it afterwards gives NaN. Kernels find an array through a table of addresses, one for
each precision, that never moves; an entry is the address of a block: the length as a 64-bit integer
followed by the values. While a kernel runs, its caller keeps a reference to the result of `alive`,
so that no memory is freed.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidValue
from .threads import ARRAYS, guard

Array = NDArray[np.float64]
"""Array in double precision, on the host."""
AnyArray = NDArray[Any]
"""Array in either precision; on a CUDA device only where a function's docstring says so."""
Mask = NDArray[np.bool_]
"""Array of truth values."""

MOST_ARRAYS = 1 << 22
"""Largest number of shared arrays per process; float32 represents all their numbers."""
LONGEST_FLOAT32 = 1 << 24
"""Largest length that float32 can index; in a longer array, float32 code reads NaN."""
HEADER = 8
"""Size in bytes of a block's header, before its values."""


class ArrayNumber(float):
    """Number of a shared array: a float that keeps the array alive."""

    _values: Array
    __slots__ = ("__weakref__", "_values")

    @classmethod
    def of(cls, number: int, values: Array) -> ArrayNumber:
        """Make the number of these values; only `shared_array` assigns numbers."""
        made = cls(number)
        made._values = values
        return made

    @property
    def values(self) -> Array:
        """The array, flat and read-only."""
        return self._values

    def __repr__(self) -> str:
        return f"<array {int(self)} of {self._values.size} numbers>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by content, as another process has other numbers."""
        return shared_array, (np.array(self._values),)


class Blocks(NamedTuple):
    """Memory blocks of an array, as compiled code reads it."""

    float64: AnyArray
    """Bytes of the double-precision block: length, then values."""
    float32: AnyArray | None = None
    """Block in single precision, present once a Program of that precision reads arrays."""


def shared_array(values: Any) -> ArrayNumber:
    """Number of a shared array with a copy of these values, flattened in C order.

    Equal values share one number while it is referenced.
    """
    return _ARRAYS.number(_checked(values))


def kept_number(value: Any) -> float:
    """Convert a value to a float; return an `ArrayNumber` unchanged."""
    return value if type(value) is ArrayNumber else float(value)


def alive() -> Mapping[int, Blocks]:
    """Current blocks by number; a reference to the mapping keeps their memory alive."""
    return _ARRAYS.blocks


def values_of(number: float) -> Array | None:
    """Array to which a number belongs, or None."""
    blocks = _ARRAYS.blocks.get(int(number)) if number == number // 1.0 else None
    return None if blocks is None else _numbers(blocks.float64, np.float64)


def table_address(precision: str) -> int:
    """Address of the table of block addresses for a precision: `MOST_ARRAYS` entries or 0."""
    return _ARRAYS.table(precision).ctypes.data


def _checked(values: Any) -> Array:
    try:
        raw = np.asarray(values)
    except ValueError as error:  # raised for rows of different lengths
        raise InvalidValue(f"a shared array takes numbers, got {values!r:.80}") from error
    if raw.dtype.kind not in "fiub":
        raise InvalidValue(f"a shared array takes numbers, got {values!r:.80}")
    array = np.array(raw, dtype=np.float64, order="C").ravel()
    if array.size == 0:
        raise InvalidValue("a shared array needs at least 1 number, got none")
    return array


def _block(values: Array, dtype: Any) -> AnyArray:
    block = np.empty(HEADER + values.size * np.dtype(dtype).itemsize, np.uint8)
    block[:HEADER].view(np.int64)[0] = values.size
    with np.errstate(over="ignore"):
        block[HEADER:].view(dtype)[:] = values
    block.flags.writeable = False
    return block


def _numbers(block: AnyArray, dtype: Any) -> AnyArray:
    return block[HEADER:].view(dtype)


class _Arrays:
    """Registry of all shared arrays of the process."""

    def __init__(self) -> None:
        self.blocks: dict[int, Blocks] = {}
        """Blocks by number. The mapping is replaced, never modified, as callers keep
        references to it."""
        self._lock = threading.Lock()
        guard(self._lock, ARRAYS)
        self._dropped: deque[tuple[int, bytes]] = deque()
        """Numbers and digests of unreferenced arrays that are still in the tables."""
        self._known: dict[bytes, weakref.ref[ArrayNumber]] = {}
        self._last_number = 0
        # Allocate the whole table at once: pages that are never written take no memory.
        self._tables = {"float64": np.zeros(MOST_ARRAYS, np.uint64)}

    def number(self, values: Array) -> ArrayNumber:
        """Number of an array; a new one unless an array with these values exists."""
        digest = hashlib.sha256(values.data).digest()
        with self._lock:
            known = self._known.get(digest)
            number = None if known is None else known()
            if number is None:
                number = self._add(values)
                self._known[digest] = weakref.ref(number)
                gone = weakref.finalize(number, self._forget, int(number), digest)
                gone.atexit = False
        self._settle()
        return number

    def table(self, precision: str) -> AnyArray:
        with self._lock:
            if precision not in self._tables:
                self._tables[precision] = np.zeros(MOST_ARRAYS, np.uint64)
                self.blocks = {n: self._complete(b) for n, b in self.blocks.items()}
                for n, blocks in self.blocks.items():
                    self._enter(n, blocks)
        self._settle()
        return self._tables[precision]

    def _add(self, values: Array) -> ArrayNumber:
        if self._last_number + 1 >= MOST_ARRAYS:
            raise InvalidValue(f"a process can share {MOST_ARRAYS - 1} arrays, one after another")
        self._last_number += 1
        blocks = self._complete(Blocks(_block(values, np.float64)))
        number = ArrayNumber.of(self._last_number, _numbers(blocks.float64, np.float64))
        self.blocks = {**self.blocks, self._last_number: blocks}
        self._enter(self._last_number, blocks)
        return number

    def _complete(self, blocks: Blocks) -> Blocks:
        """Return the blocks with the one in single precision added, if a Program reads that
        precision."""
        values = _numbers(blocks.float64, np.float64)
        wanted = "float32" in self._tables and values.size <= LONGEST_FLOAT32
        return blocks._replace(float32=_block(values, np.float32)) if wanted else blocks

    def _enter(self, number: int, blocks: Blocks) -> None:
        for precision, table in self._tables.items():
            block = getattr(blocks, precision)
            table[number] = 0 if block is None else block.ctypes.data

    def _forget(self, number: int, digest: bytes) -> None:
        """Mark an unreferenced array for removal. Python may call this anywhere, even under the
        lock."""
        self._dropped.append((number, digest))
        self._settle()

    def _settle(self) -> None:
        """Remove the marked arrays, unless another thread has the lock and does so itself."""
        while self._dropped and self._lock.acquire(blocking=False):
            try:
                while self._dropped:
                    self._drop(*self._dropped.popleft())
            finally:
                self._lock.release()

    def _drop(self, number: int, digest: bytes) -> None:
        for table in self._tables.values():
            table[number] = 0
        self.blocks = {n: blocks for n, blocks in self.blocks.items() if n != number}
        known = self._known.get(digest)
        if known is not None and known() is None:
            del self._known[digest]


_ARRAYS = _Arrays()
