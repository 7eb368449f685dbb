"""Time and inner steps: how many fit into an advance, and what becomes of the rest."""

from __future__ import annotations

import math
from typing import Protocol

from ...units import s

_SLACK = 1e-9
"""Part of a step that may be missing from a whole number of steps, by rounding."""


class Clock(Protocol):
    """What an engine asks of its clock."""

    @property
    def time_ns(self) -> int:
        """Time in ns."""
        ...

    def steps_in(self, seconds: s) -> int:
        """Inner steps to take in an advance by so much."""
        ...

    def advanced(self, seconds: s, steps: int, done: int) -> None:
        """So many of the steps were taken; fewer than asked for if the truck hit something."""
        ...


class CarryingClock:
    """Keeps what is left of a step for the next advance, so that no time is lost."""

    def __init__(self, step: s) -> None:
        self._step = step
        self._steps, self._left = 0, 0.0

    @property
    def time_ns(self) -> int:
        """Time in ns: that of the state, and what has not made a whole step yet."""
        return round((self._steps * self._step + self._left) * 1e9)

    def steps_in(self, seconds: s) -> int:
        """Whole steps in what was left before and this."""
        return math.floor((self._left + seconds) / self._step + _SLACK)

    def advanced(self, seconds: s, steps: int, done: int) -> None:
        """Time stops at the end of the step in which the truck hit something."""
        self._steps += done
        self._left = self._left + seconds - steps * self._step if done == steps else 0.0
