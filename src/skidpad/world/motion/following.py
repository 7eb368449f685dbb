"""Vehicles that follow a path in time by themselves.

As upstream's `PoseTrajectoryFollower` (MVSim after 1.2): the speed is that of the path at the
moment, and pure pursuit (Coulter, CMU-RI-TR-92-01) gives the yaw rate that leads on a circle
through a point further along the path. The point is taken ahead of where the path is at the time,
not of where the vehicle is, so that a vehicle inside of a corner does not skip a part of the path.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from itertools import pairwise
from math import atan, copysign, cos, dist, fmod, sin

from ...body import Wish
from ...units import m, m_s, rad, rad_s, s
from ..handle import WorldVehicle
from ..scene.scene import Scene
from ..scene.vehicle import TimedPath

_ARRIVED: m = 1e-3
"""Distance of the point ahead below which it says nothing about the direction."""
_SPEED_TIME: s = 0.5
"""In which vehicles that are commanded an acceleration get to the speed of the path."""


class Route:
    """A path in time, and the motion that follows it."""

    def __init__(self, path: TimedPath) -> None:
        self._path = path
        self._times = [p.time for p in path.points]
        self._lengths = [0.0]
        for a, b in pairwise(path.points):
            self._lengths.append(self._lengths[-1] + dist(a[1:], b[1:]))

    def twist(self, time: s, x: m, y: m, yaw: rad) -> tuple[m_s, rad_s]:
        """Speed and yaw rate for a vehicle at a pose."""
        along, speed = self._at(time)
        if speed == 0.0:
            return 0.0, 0.0
        ahead = self._point(along + self._path.lookahead)
        d_x, d_y = ahead[0] - x, ahead[1] - y
        square = d_x * d_x + d_y * d_y
        if square < _ARRIVED * _ARRIVED:
            return speed, 0.0
        omega = 2.0 * speed * (cos(yaw) * d_y - sin(yaw) * d_x) / square
        limit = self._path.omega_max
        if limit > 0.0 and abs(omega) > limit:
            # Slower and not wider: the circle stays.
            return speed * limit / abs(omega), copysign(limit, omega)
        return speed, omega

    def _at(self, time: s) -> tuple[m, m_s]:
        """Length of the path so far and its speed at a time."""
        first, last = self._times[0], self._times[-1]
        if self._path.loop:
            time = first + fmod(fmod(time - first, last - first) + (last - first), last - first)
        elif time >= last:
            return self._lengths[-1], 0.0
        time = max(time, first)
        k = self._leg(self._times, time)
        length = self._lengths[k + 1] - self._lengths[k]
        duration = self._times[k + 1] - self._times[k]
        share = (time - self._times[k]) / duration
        return self._lengths[k] + share * length, length / duration

    def _point(self, along: m) -> tuple[m, m]:
        """The point of the path after a length of it."""
        total = self._lengths[-1]
        along = fmod(along, total) if self._path.loop else min(along, total)
        k = self._leg(self._lengths, along)
        a, b = self._path.points[k], self._path.points[k + 1]
        length = self._lengths[k + 1] - self._lengths[k]
        share = (along - self._lengths[k]) / length if length > 0.0 else 0.0
        return a.x + share * (b.x - a.x), a.y + share * (b.y - a.y)

    def _leg(self, marks: list[float], value: float) -> int:
        """Number of the leg in which a time or a length lies."""
        return min(max(bisect_left(marks, value) - 1, 0), len(marks) - 2)


class Following:
    """The vehicles of a world that follow paths."""

    def __init__(self, scene: Scene, vehicles: Mapping[str, WorldVehicle]) -> None:
        self._all = [
            (vehicles[spec.name], Route(spec.path))
            for spec in scene.vehicles
            if spec.path is not None
        ]

    def command(self, time: s) -> None:
        """Give each vehicle the motion that follows its path from where it is."""
        for vehicle, route in self._all:
            pose, velocity = vehicle.bodies.motion(vehicle.row)
            v, omega = route.twist(time, *pose)
            steer = atan(vehicle.built.geometry.wheel_base * omega / v) if v else 0.0
            a = (v - velocity.v_x) / _SPEED_TIME
            vehicle.drive(Wish(steer=steer, a=a, v=v, omega=omega))
