"""Upstream's clock: both the nanoseconds and the steps of an advance are cut, and the rest lost."""

from __future__ import annotations

from ....brief import brief_repr
from ....units import s


class TruncatingClock:
    """Counts each advance for itself: T = 0.0005 s moves the clock but not the truck."""

    __repr__ = brief_repr

    def __init__(self, step: s) -> None:
        self._steps_per_second = 1.0 / step
        self.time_ns = 0

    def steps_in(self, seconds: s) -> int:
        """Whole steps in the time alone."""
        return int(seconds * self._steps_per_second)

    def advanced(self, seconds: s, steps: int, done: int) -> None:
        """The clock moves by the whole time, whatever happened in it."""
        whole = int(seconds)
        self.time_ns += 1_000_000_000 * whole + int((seconds - whole) * 1e9)
