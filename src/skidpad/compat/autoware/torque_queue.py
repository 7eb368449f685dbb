"""When the torques were computed that upstream's steering column has queued.

A torque joins the queue in every update and the oldest leaves it in every update in which the
column may move, which it may if the oldest is old enough. In updates of one length the column
therefore moves for ever once it has; when the timer jitters it stops now and then.
"""

from __future__ import annotations

from collections import deque

from ...units import s


class TorqueQueue:
    """Times of the queued torques, oldest first, in s since the last reset."""

    def __init__(self, delay: s) -> None:
        self._delay = delay
        self._times = deque[float]()

    def clear(self) -> None:
        """Forget all torques, as a reset does."""
        self._times.clear()

    def front_after(self, now: s) -> s:
        """The time of the oldest torque after an update that ended at `now`."""
        times = self._times
        moved = bool(times) and now - times[0] >= self._delay
        times.append(now)
        if moved:
            times.popleft()
        return times[0]
