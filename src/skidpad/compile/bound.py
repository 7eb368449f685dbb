"""Compiled Programs bound to arrays, for calls with the same arrays over and over.

What a call has to work out about its arrays is worked out once: a step of a few vehicles, or one
value of a function, takes less time than that. Calls run on the caller's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import AnyArray
from . import host, pipeline
from .program import Program


class BoundMap:
    """A Program at one point or a few: a call reads the input arrays and fills the output arrays.

    Each is contiguous with a number per field of its port, or (1, rows, field) with any strides.
    """

    def __init__(
        self, program: Program, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray]
    ) -> None:
        arrays = (*inputs, *outputs)
        self._arrays = [a if a.ndim == 3 else a.reshape(1, 1, -1) for a in arrays]
        rows = max(array.shape[1] for array in self._arrays)
        precision = str(self._arrays[0].dtype)
        self._kernel, _ = pipeline.apply_kernel(program, precision, 1)
        words = [word for array in self._arrays for word in host.writable(array)]
        self._block = np.array([*words, 0, rows], dtype=np.int64)
        self._address = int(self._block.ctypes.data)

    def __call__(self) -> None:
        """Evaluate the Program at what the input arrays hold."""
        self._kernel(self._address)


class BoundRollout:
    """A rollout of the same vehicles, a sample after every step; see `CpuRollout.bound`.

    Args:
        kernel: compiled `rollout`.
        arrays: its views in order, one row per vehicle.
        health: what it says of each vehicle, (3, B).
        samples: steps to make.
        tolerance: largest Newton residual allowed.
        rows: of the queue of pending inputs, where there is one.
    """

    def __init__(
        self,
        kernel: Any,
        arrays: Sequence[AnyArray],
        health: AnyArray,
        samples: int,
        tolerance: float,
        rows: Sequence[int],
    ) -> None:
        self.health, self._arrays, self._kernel = health, arrays, kernel
        words = [word for array in arrays for word in host.writable(array)]
        counts = [0, health.shape[1], *host.UNWATCHED, samples]
        self._step_at = len(words) + len(counts)
        limit = host.bits(tolerance, health.dtype)
        self._block = np.array([*words, *counts, 0, 0, 0, limit, *rows], dtype=np.int64)
        self._address = int(self._block.ctypes.data)

    def set_step(self, dt: float, substeps: int) -> None:
        """Let a step take dt in s, in so many sub-steps."""
        number = host.bits(dt / substeps, self.health.dtype)
        self._block[self._step_at : self._step_at + 3] = substeps, substeps, number

    def __call__(self) -> AnyArray:
        """Run from what the arrays hold; returns the health."""
        self._kernel(self._address)
        return self.health
