"""Following a line on the ground at the speed that its bends allow, by pure pursuit."""

from __future__ import annotations

from math import atan, dist

import numpy as np
from numpy.typing import ArrayLike

from ...body import Velocity, Wish
from ...controllers.abilities import Abilities
from ...controllers.course import Course
from ...controllers.pure_pursuit import arc
from ...controllers.speed_profile import Grip
from ...plane.line import Line, lengths, vertices
from ...plane.pose import Pose, to_body
from ...units import m, one, s

_SHARE: one = 0.5
"""Of what tyres and brakes hold."""
_AHEAD: s = 0.45
"""How far ahead the point is that is steered for, in time."""
_SETTLING: s = 0.4
"""In which the speed comes to that of the line."""
_SPACING: m = 0.5
_REACH: m = 10.0
"""The nearest point is looked for so far about the last one."""
_CLOSED: one = 1.0
"""Distance of the ends below which a line is a loop, as a multiple of its longest piece."""


class LineFollower:
    """What follows one line with one vehicle.

    Args:
        line: points (n, 2) in the world, in m; a loop if its ends are near each other.
        can: what the vehicle can do.
    """

    def __init__(self, line: ArrayLike, can: Abilities) -> None:
        self._can = can
        points = vertices(line, "line")
        gap = dist(points[0], points[-1])
        closed = len(points) > 2 and gap <= _CLOSED * float(lengths(points).max())
        if closed and gap == 0.0:
            points = points[:-1]
        even = Line.through(points, closed=closed).resampled(_SPACING)
        grip = Grip(
            _SHARE * can.a_turn, _SHARE * can.a_drive, _SHARE * can.a_brake, 0.9 * can.v_max
        )
        self._course = Course.fastest(even.vertices, grip, closed=closed, v_end=0.0)
        self._progress: m | None = None

    def wish(self, pose: Pose, now: Velocity) -> Wish:
        """What leads along the line from where the vehicle is."""
        can, line = self._can, self._course.line
        here = self._progress = self._nearest(pose)
        ahead = line.at(here + max(_AHEAD * now.v_x, can.wheel_base, 2.0 * _SPACING))
        curvature = arc(*to_body(pose, ahead.x, ahead.y), 1e-3)
        v = self._course.at(here).v
        a = (v - now.v_x) / _SETTLING
        a = min(max(a, -_SHARE * can.a_brake), _SHARE * can.a_drive)
        steer = min(max(atan(can.wheel_base * curvature), -can.steer_max), can.steer_max)
        # On the spot too: a vehicle across the line has to turn before it can go along it.
        omega = max(now.v_x, 0.2 * can.omega_max * can.wheel_base) * curvature
        return Wish(steer, a, v, min(max(omega, -can.omega_max), can.omega_max))

    def _nearest(self, pose: Pose) -> m:
        """Distance along the line to the nearest point: of all at first, then about the last."""
        line, last = self._course.line, self._progress
        if last is None:
            return float(line.project(np.array([[pose.x, pose.y]])).s[0])
        return line.nearest_vertex(pose.x, pose.y, last - _REACH, last + _REACH)
