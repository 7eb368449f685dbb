"""Times of laps, as a node tells them: the last one and the best one."""

from __future__ import annotations

import numpy as np

from ...runs.laps import Laps, StartLine
from ...units import m, s


class LapClock:
    """Follows one car over a start line. Times are 0 until there is a lap."""

    def __init__(self, line: StartLine) -> None:
        self._line = line
        self.last: s = 0.0
        self.best: s = 0.0
        self.restart(0.0, 0.0, 0.0)

    def restart(self, t: s, x: m, y: m) -> None:
        """The car was put somewhere: the lap it was in does not count. Times of laps stay."""
        self._laps = Laps(["car"], {"car": self._line})
        self._laps.start(t, np.array([[x, y]]))
        self._before = t, x, y
        self._count = 0

    def add(self, t: s, x: m, y: m) -> bool:
        """Take in where the car is now; says whether it has completed a lap."""
        (t_before, *place_before) = self._before
        self._before = t, x, y
        self._laps.add(np.array([t_before, t]), np.array([[place_before], [[x, y]]]))
        times = self._laps.times(0)
        if len(times) == self._count:
            return False
        self._count, self.last = len(times), times[-1]
        self.best = min(self.best or self.last, self.last)
        return True
