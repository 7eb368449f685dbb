"""Samples kept for a page while a run goes on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..stage import Stage
from ..stage.film import Film, ScanAt
from .show import Segment

MOST = 40_000_000
"""Numbers that are kept: 160 MB. A page has room for a tenth of that."""
_LARGEST = float(np.finfo(np.float32).max)
"""A vehicle that diverges leaves numbers that no float32 holds."""


class FilmBuffer:
    """What a replay shows, in memory.

    Of a run that gets too long for that, every second sample goes, and again when it is needed.
    """

    def __init__(self, stage: Stage, most: int = MOST) -> None:
        self._stage, self._most = stage, most
        self._times: list[NDArray[np.float64]] = []
        self._rows: list[NDArray[np.float32]] = []
        self._scans: list[ScanAt] = []
        self._taken, self._every = 0, 1

    def add(self, segment: Segment) -> None:
        """Keep the samples of a segment."""
        keep = np.arange(self._taken, self._taken + len(segment.times)) % self._every == 0
        self._taken += len(segment.times)
        self._times.append(segment.times[keep])
        self._rows.append(np.clip(segment.rows[keep], -_LARGEST, _LARGEST).astype(np.float32))
        self._scans += segment.scans
        if self._size() > self._most:
            self._thin()

    def _size(self) -> int:
        return sum(rows.size for rows in self._rows) + sum(s.ranges.size for s in self._scans)

    def _thin(self) -> None:
        """Drop every second sample, and every second scan of each lidar."""
        self._times, self._rows = [np.concatenate(self._times)[::2]], [np.vstack(self._rows)[::2]]
        by_lidar = [[s for s in self._scans if s.index == k] for k in range(len(self._stage.scans))]
        scans = [scan for one in by_lidar for scan in one[::2]]
        self._scans, self._every = sorted(scans, key=lambda scan: scan.time), 2 * self._every

    def film(self, note: str = "") -> Film:
        """All that was kept."""
        times, rows = np.concatenate(self._times), np.vstack(self._rows)
        return Film(self._stage, times, rows, tuple(self._scans), note)
