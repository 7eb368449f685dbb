"""Following a line on the ground at the speed that its bends allow.

Pure pursuit (Coulter, CMU-RI-TR-92-01): the circle through a point of the line ahead. The speed is
the one that bends and brakes allow, found once from the end of the line to its start.
"""

from __future__ import annotations

from math import atan, cos, dist, sin, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...body import Pose, Velocity, Wish
from ...controllers import polyline
from ...controllers.abilities import Abilities
from ...units import m, m_s, m_s2, one, s

_SHARE: one = 0.5
"""Of what tyres and brakes hold."""
_AHEAD: s = 0.45
"""How far ahead the point is that is steered for, in time."""
_SETTLING: s = 0.4
"""In which the speed comes to that of the line."""
_SPACING: m = 0.5
_CLOSED: m = 1.0
"""Distance of the ends below which a line is a loop, as a multiple of its longest piece."""


class LineFollower:
    """What follows one line with one vehicle.

    Args:
        line: points (n, 2) in the world, in m; a loop if its ends are near each other.
        can: what the vehicle can do.
    """

    def __init__(self, line: ArrayLike, can: Abilities) -> None:
        self._can = can
        given = polyline.vertices(line, "line")
        pieces = np.hypot(*np.diff(given, axis=0).T)
        self._loop = len(given) > 2 and dist(given[0], given[-1]) <= _CLOSED * float(pieces.max())
        if self._loop and dist(given[0], given[-1]) > 0.0:
            given = np.vstack([given, given[:1]])
        along = polyline.distances(given)
        count = max(2, round(float(along[-1]) / _SPACING))
        self._spacing = float(along[-1]) / count
        at = np.arange(count + 1) * self._spacing
        self._points = np.column_stack([np.interp(at, along, given[:, k]) for k in (0, 1)])
        self._v = _speeds(self._points, self._spacing, can, self._loop)
        self._place: int | None = None

    def wish(self, pose: Pose, now: Velocity) -> Wish:
        """What leads along the line from where the vehicle is."""
        here = self._place = self._nearest(pose)
        can = self._can
        distance = max(_AHEAD * now.v_x, can.wheel_base, 2.0 * self._spacing)
        steps = max(1, round(distance / self._spacing))
        x, y = self._points[self._index(here + steps)].tolist()
        d_x, d_y = x - pose.x, y - pose.y
        left = cos(pose.yaw) * d_y - sin(pose.yaw) * d_x
        curvature = 2.0 * left / max(d_x * d_x + d_y * d_y, 1e-6)
        v = float(self._v[here])
        a = (v - now.v_x) / _SETTLING
        a = min(max(a, -_SHARE * can.a_brake), _SHARE * can.a_drive)
        steer = min(max(atan(can.wheel_base * curvature), -can.steer_max), can.steer_max)
        # On the spot too: a vehicle across the line has to turn before it can go along it.
        omega = max(now.v_x, 0.2 * can.omega_max * can.wheel_base) * curvature
        return Wish(steer, a, v, min(max(omega, -can.omega_max), can.omega_max))

    def _nearest(self, pose: Pose) -> int:
        """The nearest point: of all at first, then of those about the last one."""
        count = len(self._points)
        if self._place is None:
            among = np.arange(count)
        else:
            reach = round(10.0 / self._spacing)
            among = np.array([self._index(self._place + k) for k in range(-reach, reach + 1)])
        apart = self._points[among] - (pose.x, pose.y)
        return int(among[np.argmin((apart * apart).sum(axis=1))])

    def _index(self, k: int) -> int:
        last = len(self._points) - 1
        return k % last if self._loop else min(max(k, 0), last)


def _speeds(points: NDArray[np.float64], spacing: m, can: Abilities, loop: bool) -> list[m_s]:
    """Speed at each point: what its bend allows, and what can be braked from."""
    _, curvature = polyline.directions(points)
    brake: m_s2 = _SHARE * can.a_brake
    turn = _SHARE * can.a_turn
    bends = np.sqrt(turn / np.maximum(np.abs(curvature), 1e-6))
    speeds = np.minimum(bends, 0.9 * can.v_max).tolist()
    if not loop:
        speeds[-1] = 0.0
    # Twice round a loop, so that the bend behind the start is known at its end.
    for _ in range(2 if loop else 1):
        for k in range(len(speeds) - 2, -1, -1):
            speeds[k] = min(speeds[k], sqrt(speeds[k + 1] ** 2 + 2.0 * brake * spacing))
        if loop:
            speeds[-1] = min(speeds[-1], speeds[0])
    return speeds
