"""A line to follow with a speed at each of its points, quick to ask from Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..controllers.reference import Point
from ..ops import cos, sin
from ..units import m, s
from .track import as_points, curvature


@dataclass(frozen=True, eq=False)
class Plan:
    """Points at equal distances; a closed one goes on with its first after its last.

    What `controllers.Reference` is for compiled code and whole arrays, for one place at a time.
    """

    line: Array
    """(n, 2), in m."""
    heading: Array
    """(n,), in rad; wrapped."""
    curvature: Array
    """(n,), in 1/m, positive to the left."""
    v: Array
    """(n,), in m/s, greater than 0."""
    spacing: m
    closed: bool

    @classmethod
    def of(cls, line: Array, v: Any, *, closed: bool) -> Plan:
        """Of points at equal distances (n, 2), and one speed or one for each."""
        spacing = float(np.hypot(*np.diff(line, axis=0).T).mean())
        if closed:
            along = np.roll(line, -1, axis=0) - np.roll(line, 1, axis=0)
            bend = curvature(line)
        else:
            along = np.gradient(line, axis=0)
            bend = np.gradient(np.unwrap(np.arctan2(along[:, 1], along[:, 0])), spacing)
        heading = np.arctan2(along[:, 1], along[:, 0])
        return cls(line, heading, bend, np.broadcast_to(v, len(line)), spacing, closed)

    @property
    def length(self) -> m:
        """Of a lap, or from end to end."""
        return self.spacing * (len(self.v) if self.closed else len(self.v) - 1)

    @property
    def time(self) -> s:
        """That the line takes at its speeds."""
        pieces = self.v if self.closed else 0.5 * (self.v[1:] + self.v[:-1])
        return float((self.spacing / pieces).sum())

    def at(self, distance: m) -> Point:
        """The point a distance along the line; beyond the ends of an open one it is straight."""
        inside = distance if self.closed else min(max(distance, 0.0), self.length)
        whole, share = divmod(inside / self.spacing, 1.0)
        i, count = int(whole), len(self.v)
        i, j = (i % count, (i + 1) % count) if self.closed else (i, min(i + 1, count - 1))
        (x, y), (x_j, y_j) = self.line[i].tolist(), self.line[j].tolist()
        heading, kappa, v = float(self.heading[i]), float(self.curvature[i]), float(self.v[i])
        turn = (float(self.heading[j]) - heading + np.pi) % (2.0 * np.pi) - np.pi
        heading += share * turn
        beyond = distance - inside
        return Point(
            x + share * (x_j - x) + beyond * cos(heading),
            y + share * (y_j - y) + beyond * sin(heading),
            heading,
            0.0 if beyond else kappa + share * (float(self.curvature[j]) - kappa),
            v + share * (float(self.v[j]) - v),
            0.0 if beyond else (float(self.v[j]) ** 2 - v**2) / (2.0 * self.spacing),
        )

    def outline(self) -> tuple[tuple[float, float], ...]:
        """The line as a stage has it."""
        return as_points(np.vstack([self.line, self.line[:1]]) if self.closed else self.line)
