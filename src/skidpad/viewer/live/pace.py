"""Keeping simulated time in step with the clock."""

from __future__ import annotations

from math import floor

from ...units import one, s

MOST_DEBT: s = 0.1
"""Time that a world which falls behind makes up for; beyond it, it runs slower than asked for."""
_WINDOW: s = 0.5
"""Over which the speed reached is measured."""


class Pace:
    """When steps are due. Times of the clock are in s.

    Steps are counted from a fixed moment, so that rounding never adds up; a world that is too slow
    does not try to make up for all it missed, which would only make it later.
    """

    def __init__(self, dt: s, now: s, factor: one = 1.0) -> None:
        self._dt, self._factor = dt, factor
        self._begin, self._count = now, 0
        self._mark, self._marked = now, 0
        self.reached: one = 0.0
        """Times real time, over the last half second or so."""

    @property
    def factor(self) -> one:
        """Times real time asked for."""
        return self._factor

    def restart(self, now: s, factor: one | None = None) -> None:
        """Count from now on: after a pause, or at another speed."""
        self._factor = self._factor if factor is None else factor
        self._begin, self._count = now, 0
        self._mark, self._marked = now, 0

    def due(self, now: s) -> int:
        """How many steps to do now."""
        behind = floor((now - self._begin) * self._factor / self._dt) - self._count
        most = max(1, floor(MOST_DEBT * self._factor / self._dt))
        if behind > most:
            self._begin += (behind - most) * self._dt / self._factor
            behind = most
        return max(behind, 0)

    def done(self, steps: int, now: s) -> None:
        """Note steps that were done."""
        self._count += steps
        self._marked += steps
        if now - self._mark >= _WINDOW:
            self.reached = self._marked * self._dt / (now - self._mark)
            self._mark, self._marked = now, 0

    def wait(self, now: s) -> s:
        """Time until the next step is due."""
        return max(0.0, self._begin + (self._count + 1) * self._dt / self._factor - now)
