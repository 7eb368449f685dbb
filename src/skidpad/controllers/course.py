"""A line to follow with a speed at each of its points, quick to ask from Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..plane.line import Line
from ..units import m, m_s, s
from .reference import Point
from .speed_profile import Grip, speed_profile

__all__ = ["Course"]


@dataclass(frozen=True, eq=False)
class Course:
    """A line and its speeds; a closed one goes on with its first point after its last.

    What `Reference` is for compiled code and whole arrays, for one place at a time.
    """

    line: Line
    v: Array
    """Speed at each of its points, (n,), in m/s."""

    @classmethod
    def of(cls, points: ArrayLike, v: Any, *, closed: bool) -> Course:
        """Through points (n, 2) in m, at one speed or one for each."""
        line = Line.through(points, closed=closed)
        speeds = np.broadcast_to(v, len(line.vertices))
        return cls(line, np.append(speeds, speeds[0]) if closed else speeds)

    @classmethod
    def fastest(cls, points: ArrayLike, grip: Grip, *, closed: bool, v_end: m_s = np.inf) -> Course:
        """Through points (n, 2) in m, as fast as its bends allow; see `speed_profile`."""
        line = Line.through(points, closed=closed)
        return cls(line, speed_profile(line, grip, v_end=v_end))

    @property
    def length(self) -> m:
        """Of a lap, or from end to end."""
        return self.line.length

    @property
    def time(self) -> s:
        """That the line takes at its speeds."""
        return float((np.diff(self.line.s) / (0.5 * (self.v[1:] + self.v[:-1]))).sum())

    def at(self, distance: m) -> Point:
        """The point a distance along the line; beyond the ends of an open one it is straight."""
        spot = self.line.spot(distance)
        x, y, heading, curvature = self.line.point(spot)
        # Of the piece, along which v² is linear; beyond the ends the speed stays.
        (v_0, v_1), (s_0, s_1) = (
            values[spot.row : spot.row + 2].tolist() for values in (self.v, self.line.s)
        )
        a = 0.0 if spot.beyond else (v_1 * v_1 - v_0 * v_0) / (2.0 * (s_1 - s_0))
        return Point(x, y, heading, curvature, v_0 + spot.share * (v_1 - v_0), a)
