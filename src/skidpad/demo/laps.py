"""What vehicles did on a track: laps over a start line, and cones that they knocked over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.files import brief_repr
from ..geometry.polygon import within
from ..geometry.pose import points_to_world, to_body
from ..units import m, rad, s
from ..view.stage import Body, Disc, Wheel

ON_THE_LINE: m = 1e-6
"""A vehicle nearer than this starts on the line, which counts as crossing it."""


class StartLine(NamedTuple):
    """A line across a track."""

    x: m
    y: m
    """Its middle, in the world."""
    heading: rad
    """Direction of the track there: the one in which laps count."""
    half_width: m
    """Crossings further from the middle do not count."""

    @classmethod
    def of(cls, reference: Any, half_width: m) -> StartLine:
        """Across the first point of a `control.Reference`."""
        p = reference.points
        return cls(float(p.x[0]), float(p.y[0]), float(p.heading[0]), half_width)

    def seen(self, places: Array) -> tuple[Array, Array]:
        """Places (..., 2) from the line: how far beyond it, and how far left of its middle."""
        return to_body((self.x, self.y, self.heading), places[..., 0], places[..., 1])


class Laps:
    """Counts the laps of vehicles.

    A vehicle that goes back over the line has to cross it forwards once more before the next lap
    counts.
    """

    __repr__ = brief_repr

    def __init__(self, vehicles: Sequence[str], lines: Mapping[str, StartLine]) -> None:
        self._lines = {k: lines[name] for k, name in enumerate(vehicles) if name in lines}
        self.crossings: list[list[s]] = [[] for _ in vehicles]
        """When each vehicle crossed its line for the first time, the second, and so on."""
        self._net = [0] * len(vehicles)

    def start(self, t: s, places: Array) -> None:
        """Take in where the vehicles are at the beginning, (B, 2)."""
        for k, line in self._lines.items():
            beyond, left = line.seen(places[k])
            if abs(beyond) <= ON_THE_LINE and abs(left) <= line.half_width:
                self._cross(k, t)

    def add(self, t: Array, places: Array) -> None:
        """Take in a piece of the paths: times (T,) and places (T, B, 2), the last known first."""
        for k, line in self._lines.items():
            beyond, left = line.seen(places[:, k])
            past = beyond >= -ON_THE_LINE
            for i in np.flatnonzero(past[1:] != past[:-1]).tolist():
                share = float(np.clip(beyond[i] / (beyond[i] - beyond[i + 1]), 0.0, 1.0))
                if abs(left[i] + share * (left[i + 1] - left[i])) > line.half_width:
                    continue
                if past[i + 1]:
                    self._cross(k, float(t[i] + share * (t[i + 1] - t[i])))
                else:
                    self._net[k] -= 1

    def _cross(self, k: int, t: s) -> None:
        self._net[k] += 1
        if self._net[k] > len(self.crossings[k]):
            self.crossings[k].append(t)

    def counted(self, vehicle: int) -> bool:
        """Whether a vehicle has a start line."""
        return vehicle in self._lines

    def times(self, vehicle: int) -> tuple[s, ...]:
        """How long each lap took that a vehicle completed."""
        return tuple(np.diff(self.crossings[vehicle]).tolist())


class ConeHits:
    """Counts the discs that each body has touched, each once.

    A knocked-over cone stays where it is and is no obstacle: it is only counted.
    """

    def __init__(self, bodies: Sequence[Body], discs: Sequence[Disc]) -> None:
        self._outlines = [
            (*map(np.array, body.outlines), *map(_rectangle, body.wheels)) for body in bodies
        ]
        corners = [[p for outline in outlines for p in outline] for outlines in self._outlines]
        self._reach = np.array([max(float(np.hypot(*p)) for p in points) for points in corners])
        self._places = np.array([(d.x, d.y) for d in discs]).reshape(-1, 2)
        self._radii = np.array([d.radius for d in discs])
        self.hit: NDArray[np.bool_] = np.zeros((len(bodies), len(discs)), bool)
        """Which bodies have touched which discs, (bodies, discs)."""

    def add(self, poses: Array) -> NDArray[np.int64]:
        """Take in poses x, y, yaw (T, bodies, 3); returns how many discs each touched anew."""
        new = np.zeros(len(self._outlines), np.int64)
        for k, outlines in enumerate(self._outlines):
            for d in self._near(k, poses[:, k]):
                seen = np.column_stack(to_body(poses[:, k].T, *self._places[d]))
                if any(within(seen, outline, self._radii[d]).any() for outline in outlines):
                    self.hit[k, d] = True
                    new[k] += 1
        return new

    def _near(self, k: int, poses: Array) -> list[int]:
        """Discs that a body may have come to, and has not touched yet."""
        if not len(poses) or not len(self._places):
            return []
        low, high = poses[:, :2].min(axis=0), poses[:, :2].max(axis=0)
        room = (self._reach[k] + self._radii)[:, None]
        inside = ((self._places > low - room) & (self._places < high + room)).all(axis=1)
        return np.flatnonzero(inside & ~self.hit[k]).tolist()


def _rectangle(wheel: Wheel) -> Array:
    """A wheel from above, as it stands when it is not steered."""
    corners = 0.5 * np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)]) * (wheel.length, wheel.width)
    return points_to_world((wheel.x, wheel.y, wheel.yaw), corners)
