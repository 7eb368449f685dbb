"""Vehicles that follow a path in time by themselves.

As upstream's `PoseTrajectoryFollower` (MVSim after 1.2): the speed is that of the path at the
moment, and pure pursuit (Coulter, CMU-RI-TR-92-01) gives the yaw rate that leads on a circle
through a point further along the path. The point is taken ahead of where the path is at the time,
not of where the vehicle is, so that a vehicle inside of a corner does not skip a part of the path.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import atan, copysign, fmod, hypot

import numpy as np

from ...control.pure_pursuit import arc
from ...core.body import Demand, Pose, Velocity
from ...geometry.line import arc_length
from ...geometry.pose import to_body
from ...units import m, m_s, rad, rad_s, s
from ..scene import Scene, TimedPath
from ..vehicle import WorldVehicle

_ARRIVED: m = 1e-3
"""Distance of the point ahead below which it says nothing about the direction."""
_SPEED_TIME: s = 0.5
"""In which vehicles that are commanded an acceleration get to the speed of the path."""


class Route:
    """A path in time, and the motion that follows it."""

    def __init__(self, path: TimedPath) -> None:
        self._path = path
        self._times, x, y = (
            np.array(column, dtype=float) for column in zip(*path.points, strict=True)
        )
        self._places = np.column_stack([x, y])
        self._lengths = arc_length(self._places)

    def twist(self, time: s, x: m, y: m, yaw: rad) -> tuple[m_s, rad_s]:
        """Speed and yaw rate for a vehicle at a pose."""
        along, speed = self._at(time)
        if speed == 0.0:
            return 0.0, 0.0
        ahead, left = to_body((x, y, yaw), *self._point(along + self._path.lookahead))
        if hypot(ahead, left) < _ARRIVED:
            return speed, 0.0
        omega = speed * arc(ahead, left, _ARRIVED)
        limit = self._path.omega_max
        if limit > 0.0 and abs(omega) > limit:
            # Slower and not wider: the circle stays.
            return speed * limit / abs(omega), copysign(limit, omega)
        return speed, omega

    def demand(self, time: s, pose: Pose, velocity: Velocity, wheel_base: m) -> Demand:
        """What leads a vehicle along the path, whatever it is commanded."""
        v, omega = self.twist(time, *pose)
        steer = atan(wheel_base * omega / v) if v else 0.0
        return Demand(steer=steer, a=(v - velocity.v_x) / _SPEED_TIME, v=v, omega=omega)

    def _at(self, time: s) -> tuple[m, m_s]:
        """Length of the path so far and its speed at a time."""
        first, last = self._times[0], self._times[-1]
        if self._path.loop:
            time = first + (time - first) % (last - first)
        elif time >= last:
            return float(self._lengths[-1]), 0.0
        time = max(time, first)
        leg = min(max(int(np.searchsorted(self._times, time)) - 1, 0), len(self._times) - 2)
        duration = self._times[leg + 1] - self._times[leg]
        length = self._lengths[leg + 1] - self._lengths[leg]
        share = (time - self._times[leg]) / duration
        return float(self._lengths[leg] + share * length), float(length / duration)

    def _point(self, along: m) -> tuple[m, m]:
        """The point of the path after a length of it."""
        total = float(self._lengths[-1])
        along = fmod(along, total) if self._path.loop else min(along, total)
        x, y = (float(np.interp(along, self._lengths, column)) for column in self._places.T)
        return x, y


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
            motion = vehicle.bodies.motion(vehicle.row)
            vehicle.drive(route.demand(time, *motion, vehicle.built.geometry.wheel_base))
