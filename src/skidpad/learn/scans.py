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
from .lidar import Lidar

HIDING = 100
"""Walls of a track above which near ones hide most of the others from a lidar."""
Parts = Sequence[Sequence[tuple[float, float]]]


class Scans:
    """Scans of all rows, each in the scene of its own track.

    Args:
        lidar: the one that every vehicle has.
        tracks: of the task.
        parts: of the vehicle's outline, which the lidars of others see.
        seen: where the ranges go, as shares of the longest, (B, rays).
        threads: all processors if None.
    """

    def __init__(
        self,
        lidar: Lidar,
        tracks: Sequence[Track],
        parts: Parts,
        seen: AnyArray,
        threads: int | None,
    ) -> None:
        self._lidar, self._seen, self._threads = lidar, seen, threads
        self._scenes = [_scene(track) for track in tracks] or [Scene()]
        self._fan = fan(lidar.angles)
        self._edges = np.concatenate([ring_edges(np.array(part)) for part in parts])
        self.ranges = np.zeros(seen.shape, seen.dtype)
        """In m, (B, rays); at most the range."""

    def scan(self, poses: AnyArray, others: AnyArray, tracks: AnyArray, rows: Any = None) -> None:
        """Scan from poses (n, 3) of rows, all if None, on tracks (n,) of these numbers; `others`
        (n, k) are motions of the vehicles beside each."""
        whole = rows is None
        ranges = self.ranges if whole else np.empty((len(rows), self._lidar.rays), self._seen.dtype)
        movers = self._movers(others)
        places = poses.astype(np.float64)
        if len(self._scenes) == 1:
            self._scan(self._scenes[0], places, movers, ranges)
        else:
            self._scan_each(places, movers, tracks, ranges)
        kind = self._seen.dtype.type
        np.minimum(ranges, kind(self._lidar.range), out=ranges)
        share = kind(1.0 / self._lidar.range)
        if whole:
            np.multiply(ranges, share, out=self._seen)
        else:
            self.ranges[rows] = ranges
            self._seen[rows] = ranges * share

    def _scan_each(
        self, places: Array, movers: Array | None, tracks: AnyArray, ranges: AnyArray
    ) -> None:
        for number in np.unique(tracks).astype(int).tolist():
            here = np.flatnonzero(tracks == number)
            some = np.empty((len(here), self._lidar.rays), ranges.dtype)
            moving = None if movers is None else movers[here]
            self._scan(self._scenes[number], places[here], moving, some)
            ranges[here] = some

    def _scan(self, scene: Scene, places: Array, movers: Array | None, out: AnyArray) -> None:
        scene.scan(
            places, self._fan, out, max_range=self._lidar.range, movers=movers,
            threads=self._threads,
        )  # fmt: skip

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
