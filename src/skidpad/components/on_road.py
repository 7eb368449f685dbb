"""A planar car on a road: what the road under its four wheels does to body, loads and pose.

The body lies on the plane under its wheels. Its velocity and yaw rate are in the axes of that
plane; the pose is what is seen from above. Gravity pulls along the plane and presses onto it, and
so does what keeps the car on a road that bends up or down. Wheels are taken to be over the places
that they have on level ground, which on a slope are a little too far apart.

A road that is flat changes nothing, down to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..ops import cos, sin
from ..plane.pose import moved
from ..road.contact import (
    StandingPull,
    WheelContact,
    plane_motion,
    plane_under,
    standing_pull,
    wheel_contact,
)
from ..road.grip import FullGrip
from ..road.surfaces import FlatRoad, PlaneRoad
from ..units import m, m_s, m_s2, one, rad, rad_s
from .rigid_body import Acceleration, PoseRate, pose_rate
from .uneven_road import Unevenness, unevenness
from .wheel import floored_speed

__all__ = ["RoadUnderCar", "road_under_car"]

_LEAST_PRESS: one = 0.05
"""Share of gravity below which what presses the car onto the road goes smoothly to zero."""


class RoadUnderCar(NamedTuple):
    """What a road does to a car."""

    pose_rate: PoseRate
    """How the pose changes."""
    pull: Acceleration | None
    """Gravity along the plane under the wheels, in body axes; None where it is level."""
    press: m_s2
    """What presses onto the road: its force over the mass of the car."""
    grip: tuple[one, one, one, one] | None
    """Under each wheel; None where it is that of the tyres everywhere."""
    fall: m_s2
    """What gravity and the bending of the road press with, also where that is off the road: on
    a crest that is too sharp."""
    gravity: m_s2
    """The part of gravity in that."""
    uneven: Unevenness | None = None
    """What shakes wheels of their own; None on a plane."""
    standing: StandingPull | None = None
    """Gravity along the road on a body that its wheels carry without springs; None on a plane,
    where it is `pull`."""

    def grip_with(self, grip: tuple[one, one, one, one]) -> tuple[Any, ...]:
        """A grip under each wheel, times that of the road."""
        if self.grip is None:
            return grip
        return tuple(own * other for own, other in zip(self.grip, grip, strict=True))

    def pulled(self, a: Acceleration, standing: StandingPull | None) -> Acceleration:
        """An acceleration in body axes and what gravity adds to it: along the plane, or `standing`
        in its place."""
        pull = self.pull if standing is None else standing
        return a if pull is None else Acceleration(a.x + pull.x, a.y + pull.y)


class Moving(NamedTuple):
    """Pose and velocity of a body."""

    x: m
    y: m
    yaw: rad
    v_x: m_s
    v_y: m_s
    omega: rad_s


def road_under_car(road: Any, state: Any, places: Sequence[tuple[m, m]], g: m_s2) -> RoadUnderCar:
    """The road under a car whose wheels (fl, fr, rl, rr) are at places (forward, left)."""
    x = Moving(*(getattr(state, name) for name in Moving._fields))
    flat = isinstance(road.surface, FlatRoad)
    plain = pose_rate(x.yaw, x.v_x, x.v_y, x.omega)
    if flat and isinstance(road.grip, FullGrip):
        return RoadUnderCar(plain, None, g, None, g, g)
    contacts = _under_wheels(road, x, places)
    fl, fr, rl, rr = (contact.grip for contact in contacts)
    grip = None if isinstance(road.grip, FullGrip) else (fl, fr, rl, rr)
    if flat:
        return RoadUnderCar(plain, None, g, grip, g, g)
    plane = plane_under(contacts, places)
    over_ground = plane_motion(plane, x.yaw, x.v_x, x.v_y, x.omega)
    press = over_ground.lift - g * plane.down.z
    heading = cos(x.yaw), sin(x.yaw)
    even = isinstance(road.surface, PlaneRoad)
    return RoadUnderCar(
        PoseRate(over_ground.x, over_ground.y, over_ground.yaw),
        Acceleration(g * plane.down.x, g * plane.down.y),
        # The road pushes and never pulls.
        0.5 * (press + floored_speed(press, _LEAST_PRESS * g)),
        grip,
        press,
        -g * plane.down.z,
        None if even else unevenness(contacts, places, plane, over_ground, heading),
        None if even else standing_pull(contacts, places, plane, g),
    )


def _under_wheels(road: Any, x: Moving, places: Sequence[tuple[m, m]]) -> list[WheelContact]:
    c, s = cos(x.yaw), sin(x.yaw)
    return [wheel_contact(road, *moved(c, s, x.x, x.y, *place), x.yaw) for place in places]
