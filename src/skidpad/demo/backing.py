"""Steering a truck so that its trailer backs along a path.

Seen from its rear, a trailer that is pushed is a vehicle that drives forwards: pure pursuit gives
the curvature that leads its axle onto the path. A trailer turns as the angle at the hitch lets it,
and it is the truck that sets that angle. With the speed v of the truck's rear axle, its yaw rate ω,
the hitch M behind that axle, the trailer's axle L behind the hitch, and φ the truck's heading less
the trailer's, the trailer turns at

    ω_t = (v sin φ - M ω cos φ) / L,

so that φ' = ω - ω_t. In a steady turn sin φ = ω_t (L + M) / v, about. The truck is asked for the
yaw rate with which φ goes there as exp(-k t); pushed, the trailer would fold up by itself.
"""

from __future__ import annotations

from math import asin, atan2, cos, hypot, pi, sin
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..units import m, m_s, one, per_s, rad, rad_s


class Hitch(NamedTuple):
    """Where a trailer hangs."""

    M: m
    """From the truck's rear axle back to the hitch; negative before the axle."""
    L: m
    """From the hitch back to the trailer's axle."""
    k: per_s = 1.2
    """How fast the angle is brought to what the path needs."""
    ahead: m = 5.0
    """How far along the path the trailer aims."""
    sin_max: one = 0.75
    """Largest sine of the angle that is asked for."""


class Pose(NamedTuple):
    """Of a truck's rear axle or a trailer's axle, in the world."""

    x: m
    y: m
    yaw: rad


def turning(hitch: Hitch, truck: Pose, trailer: Pose, goal: tuple[m, m], v: m_s) -> rad_s:
    """Yaw rate of the truck that backs the trailer towards a goal; v is negative."""
    d_x, d_y = goal[0] - trailer.x, goal[1] - trailer.y
    rear = trailer.yaw + pi
    left = cos(rear) * d_y - sin(rear) * d_x
    wanted = 2.0 * left / max(hypot(d_x, d_y), 0.5 * hitch.ahead) ** 2 * -v
    phi = atan2(sin(truck.yaw - trailer.yaw), cos(truck.yaw - trailer.yaw))
    sine = max(-hitch.sin_max, min(hitch.sin_max, wanted * (hitch.L + hitch.M) / v))
    pull = v * sin(phi) / hitch.L + hitch.k * (asin(sine) - phi)
    return pull / (1.0 + hitch.M * cos(phi) / hitch.L)


class Path:
    """A line that is followed once, by distance."""

    def __init__(self, points: Array) -> None:
        self.points = points
        self.way = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
        self.progress: m = 0.0

    @property
    def left(self) -> m:
        """What is left of it."""
        return float(self.way[-1]) - self.progress

    def goal(self, x: m, y: m, ahead: m) -> tuple[m, m]:
        """The point so far beyond the nearest one, which is looked for from the last time on."""
        near = np.flatnonzero((self.way >= self.progress) & (self.way <= self.progress + 4.0))
        gaps = np.hypot(self.points[near, 0] - x, self.points[near, 1] - y)
        self.progress = float(self.way[near[int(gaps.argmin())]])
        return self.at(self.progress + ahead)

    def at(self, distance: m) -> tuple[m, m]:
        """The point at a distance; beyond the end it goes straight on."""
        end = float(self.way[-1])
        inside = min(distance, end)
        x, y = (float(np.interp(inside, self.way, column)) for column in self.points.T)
        last = self.points[-1] - self.points[-2]
        d_x, d_y = (last / np.hypot(*last) * (distance - inside)).tolist()
        return x + d_x, y + d_y
