"""The time of a node: that of the machine, that of `/clock`, or that which it simulates itself."""

from __future__ import annotations

import time
from typing import Any

from ..brief import brief_repr
from ..ros_messages import message_type
from ..units import one, s

SECOND = 1_000_000_000


def stamp(nanoseconds: int) -> Any:
    """A moment as messages have it: a `builtin_interfaces/Time`."""
    return message_type("builtin_interfaces/msg/Time").Record(*divmod(nanoseconds, SECOND))


class Clock:
    """What time it is, in ns.

    Args:
        wall: whether the machine's clock counts; else the time is whatever was set last.
    """

    __repr__ = brief_repr

    def __init__(self, *, wall: bool) -> None:
        self.wall = wall
        self._set, self._since, self._factor = 0, 0, 1.0

    def now(self) -> int:
        """The time in ns."""
        if not self.wall:
            return self._set
        now = time.time_ns()
        if not self._since:
            return now
        return self._set + int((now - self._since) * self._factor)

    def scale(self, factor: one) -> None:
        """Go so many times as fast as the machine's clock from now on: what moves so fast must be
        stamped so."""
        if self.wall and (factor != 1.0 or self._since):
            self._set, self._since, self._factor = self.now(), time.time_ns(), factor

    def set(self, nanoseconds: int) -> None:
        """Another time, of a clock that is not the machine's."""
        self._set = nanoseconds

    def advance(self, period: s) -> None:
        """Later by so much."""
        self._set += round(period * SECOND)
