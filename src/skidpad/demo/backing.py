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

from math import asin, atan2, cos, pi, sin
from typing import NamedTuple

from ..arrays import Array
from ..controllers.pure_pursuit import arc
from ..plane.line import Line
from ..plane.pose import Pose, to_body
from ..units import m, m_s, one, per_s, rad_s


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


def turning(hitch: Hitch, truck: Pose, trailer: Pose, goal: tuple[m, m], v: m_s) -> rad_s:
    """Yaw rate of the truck that backs the trailer towards a goal; v is negative."""
    rear = trailer._replace(yaw=trailer.yaw + pi)
    yaw_rate = arc(*to_body(rear, *goal), 0.5 * hitch.ahead) * -v
    phi = atan2(sin(truck.yaw - trailer.yaw), cos(truck.yaw - trailer.yaw))
    sine = max(-hitch.sin_max, min(hitch.sin_max, yaw_rate * (hitch.L + hitch.M) / v))
    pull = v * sin(phi) / hitch.L + hitch.k * (asin(sine) - phi)
    return pull / (1.0 + hitch.M * cos(phi) / hitch.L)


class Path:
    """A line that is followed once, by distance."""

    def __init__(self, points: Array) -> None:
        self.line = Line.through(points)
        self.progress: m = 0.0

    @property
    def left(self) -> m:
        """What is left of it."""
        return self.line.length - self.progress

    def goal(self, x: m, y: m, ahead: m) -> tuple[m, m]:
        """The point so far beyond the nearest one, which is looked for from the last time on."""
        self.progress = self.line.nearest_vertex(x, y, self.progress, self.progress + 4.0)
        return self.line.at(self.progress + ahead)[:2]
