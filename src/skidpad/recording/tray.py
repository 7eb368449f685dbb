"""Where samples wait until there are enough for a chunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array


class Reading(NamedTuple):
    """What a lidar or an inertial unit gave."""

    which: int
    """Its number."""
    time: float
    """In s."""
    values: NDArray[np.floating]


class Tray:
    """Room for some samples of equal width, and for readings."""

    def __init__(self, samples: int, width: int) -> None:
        # Filled: the system gives memory when it is first written to, which takes longer than the
        # writing; it should not happen while a simulation waits.
        self._times: Array = np.full(samples, 0.0)
        self._rows: Array = np.full((samples, width), 0.0)
        self.count = 0
        """Samples that are on it."""
        self.scans: list[Reading] = []
        self.imus: list[Reading] = []
        self.read_size = 0
        """Bytes of the readings."""

    @property
    def room(self) -> int:
        """Samples that still fit."""
        return len(self._times) - self.count

    @property
    def empty(self) -> bool:
        """Whether nothing is on it."""
        return not (self.count or self.read_size)

    @property
    def times(self) -> Array:
        """(T,) in s."""
        return self._times[: self.count]

    @property
    def rows(self) -> Array:
        """(T, width)."""
        return self._rows[: self.count]

    def add(self, time: float, row: Array) -> None:
        """A copy of one sample."""
        k = self.count
        self._times[k], self._rows[k] = time, row
        self.count = k + 1

    def fill(self, time: float, take: Callable[[Array], object]) -> None:
        """One sample, put there by `take`."""
        k = self.count
        take(self._rows[k])
        self._times[k] = time
        self.count = k + 1

    def add_rows(self, times: Array, rows: Array) -> None:
        """Copies of as many samples as fit."""
        begin, end = self.count, self.count + len(times)
        self._times[begin:end], self._rows[begin:end] = times, rows
        self.count = end

    def clear(self) -> None:
        """Take everything off."""
        self.count = self.read_size = 0
        self.scans, self.imus = [], []
