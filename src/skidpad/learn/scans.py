"""The lidars of all rows of a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import AnyArray, Array
from ..plane.maps.track import Track
from ..plane.polygon import ring_edges
from ..plane.pose import moved
from ..plane.raycast import Scene
from ..plane.raycast.fan import fan, units
from ..random.shares import shaken
from ..workers import spread
from .lidar import Lidar

HIDING = 100
"""Walls of a track above which near ones hide most of the others from a lidar."""
IN_CACHE = 200_000
"""Rays that are scanned and scaled at a time, while they are near the processor."""
WORTH_A_THREAD = 20_000
"""Rays below which another thread costs more than it saves."""
CHANNEL = "learn.lidar"
"""Of the errors of ranges."""
Parts = Sequence[Sequence[tuple[float, float]]]


class Scans:
    """Scans of all rows, each in the scene of its own track.

    Args:
        lidar: the one that every vehicle has.
        tracks: of the task.
        parts: of the vehicle's outline, which the lidars of others see.
        seen: where the ranges go, as shares of the longest, (B, rays).
        threads: all processors if None.
        keeps_ranges: whether ranges in m are needed as well.
    """

    def __init__(
        self,
        lidar: Lidar,
        tracks: Sequence[Track],
        parts: Parts,
        seen: AnyArray,
        threads: int | None,
        *,
        keeps_ranges: bool,
    ) -> None:
        self._lidar, self._seen, self._threads = lidar, seen, threads
        self._scenes = [_scene(track) for track in tracks] or [Scene()]
        self._fan = fan(lidar.angles)
        self._edges = np.concatenate([ring_edges(np.array(part)) for part in parts])
        self.ranges = np.zeros(seen.shape, seen.dtype) if keeps_ranges else None
        """In m, (B, rays); at most the range."""
        self._streams: tuple[AnyArray, AnyArray, AnyArray] | None = None

    def draw_from(self, seeds: AnyArray, periods: AnyArray, agents: int) -> None:
        """Take errors from the streams of the rows: their seeds and counts of periods, (B,), as
        they are at each scan."""
        own = (np.arange(len(seeds), dtype=np.uint64) % np.uint64(agents)) << np.uint64(40)
        self._streams = seeds, periods, own

    def scan(self, poses: AnyArray, others: AnyArray, tracks: AnyArray, rows: Any = None) -> None:
        """Scan from poses (n, 3) of rows, all if None, on tracks (n,) of these numbers; `others`
        (n, k) are motions of the vehicles beside each."""
        movers = self._movers(others)
        places = poses.astype(np.float64)
        if len(self._scenes) == 1:
            self._scan(self._scenes[0], places, movers, rows)
            return
        numbers = np.arange(len(poses)) if rows is None else np.asarray(rows)
        for track in np.unique(tracks).astype(int).tolist():
            here = np.flatnonzero(tracks == track)
            moving = None if movers is None else movers[here]
            self._scan(self._scenes[track], places[here], moving, numbers[here])

    def _scan(self, scene: Scene, places: Array, movers: Array | None, rows: Any) -> None:
        """Scan from places into these rows, or all if None."""
        kind, limit = self._seen.dtype, self._lidar.range
        share = kind.type(1.0 / limit)
        most = max(IN_CACHE // self._lidar.rays, 1)

        def part(begin: int, end: int) -> None:
            room = np.empty((min(most, end - begin), self._lidar.rays), kind)
            for first in range(begin, end, most):
                chunk = slice(first, min(first + most, end))
                into = chunk if rows is None else rows[chunk]
                ranges = scene.scan(
                    places[chunk], self._fan, room[: chunk.stop - first], max_range=limit,
                    missed=limit, movers=None if movers is None else movers[chunk], threads=1,
                )  # fmt: skip
                self._shake(ranges, into)
                if self.ranges is not None:
                    self.ranges[into] = ranges
                self._seen[into] = np.multiply(ranges, share, out=ranges)

        worth = len(places) * self._lidar.rays // WORTH_A_THREAD
        spread(part, len(places), worth=worth, threads=self._threads)

    def _shake(self, ranges: AnyArray, rows: Any) -> None:
        if not self._lidar.noise or self._streams is None:
            return
        seeds, periods, own = self._streams
        longest = float(ranges.dtype.type(self._lidar.range))
        of_rows = seeds[rows] + own[rows], periods[rows]
        shaken(CHANNEL, ranges, *of_rows, self._lidar.noise, longest)

    def _movers(self, others: AnyArray) -> Array | None:
        """Edges of the other vehicles for each row, (n, m, 4)."""
        if not others.shape[1]:
            return None
        poses = others.reshape(len(others), -1, 6)[:, :, :3].astype(np.float64)
        x, y = (poses[:, :, k, None] for k in range(2))
        # The cosines and sines of the scans themselves, which have the same bits everywhere.
        c, s = (u.reshape(x.shape) for u in units(poses[:, :, 2].ravel()))
        ends = self._edges.T
        begin, end = (moved(c, s, x, y, ends[k], ends[k + 1]) for k in (0, 2))
        return np.stack([*begin, *end], axis=-1).reshape(len(others), -1, 4)


def _scene(track: Track) -> Scene:
    return Scene.of(track.map, engine="tree" if len(track.walls) > HIDING else None)
