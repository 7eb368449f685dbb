"""Return, length and time of episodes, as the wrapper of Gymnasium tells them."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from ..arrays import AnyArray


class EpisodeStatistics:
    """Counts along with so many environments."""

    def __init__(self, count: int) -> None:
        self._returns = np.zeros(count)
        self._lengths = np.zeros(count, np.int64)
        self._since = np.full(count, perf_counter())

    def begin(self, which: AnyArray | None = None) -> None:
        """These (count,) begin an episode; all if None."""
        rows = slice(None) if which is None else which
        self._returns[rows] = self._lengths[rows] = 0
        self._since[rows] = perf_counter()

    def infos(self, rewards: AnyArray, ended: AnyArray, anew: AnyArray | None) -> dict[str, Any]:
        """What there is to tell about the environments (count,) whose episodes ended.

        Args:
            rewards: of the period, (count,).
            ended: which episodes it ended, (count,).
            anew: numbers of those that only began in it; None if the next episode begins in the
                call in which one ends.
        """
        self._returns += rewards
        self._lengths += 1
        if anew is not None and len(anew):
            self.begin(anew)
        if not ended.any():
            return {}
        times = np.round(perf_counter() - self._since, 6)
        told = {
            "r": np.where(ended, self._returns, 0.0),
            "l": np.where(ended, self._lengths, 0),
            "t": np.where(ended, times, 0.0),
        }
        if anew is None:
            self.begin(ended)
        return {"episode": told, "_episode": ended}
