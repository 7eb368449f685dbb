"""Effect of the road under the four wheels of a planar car on body, loads and pose.

The body lies on the plane under its wheels. Its velocity and yaw rate are in the axes of that
plane; the pose is its projection onto the map. Gravity acts along the plane and normal to it, and
so does the inertial load on a road that bends up or down. Wheels are taken to be at their positions
on level ground, which on a slope are a little too far apart. A flat road gives results that are
identical bit for bit to those without a road.

`Unevenness` is the deviation of the road from that plane, which excites a car on springs. Heights
are measured from the plane, which tilts and rises as the car moves, velocities normal to it over
ground. So the plane enters by its rates alone, and no road needs a curvature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...geometry.pose import moved, turned_back
from ...ops import cos, sin, sqrt
from ...road.records import (
    FlatRoad,
    FullGrip,
    PlaneMotion,
    PlaneRoad,
    RoadPlane,
    StandingPull,
    WheelContact,
    plane_motion,
    plane_through,
    plane_under,
    standing_pull,
    wheel_contact,
)
from ...units import m, m_s, m_s2, one, rad_s
from .kinematics import Acceleration, PoseRate, pose_rate
from .load_transfer import floored_speed


class Unevenness(NamedTuple):
    """Deviation of a road from the plane under four wheels (fl, fr, rl, rr), along its normal."""

    heights: tuple[m, ...]
    """Height of the road under each wheel above the plane, in m."""
    rates: tuple[m_s, ...]
    """Rate at which the road under each moving wheel rises, in m/s."""
    slopes: tuple[tuple[one, one], ...]
    """Slope of the road under each wheel relative to the plane, forward and to the left."""
    rise: m_s
    """Rate at which the plane at the centre of mass rises."""
    tilt: rad_s
    """Rate at which the plane pitches, positive front up."""
    lean: rad_s
    """Rate at which the plane rolls, positive left side up."""

    def rise_at(self, forward: m, left: m) -> m_s:
        """Rate at which the plane rises at a position on the car."""
        return self.rise + forward * self.tilt + left * self.lean


def unevenness(
    contacts: Sequence[WheelContact],
    places: Sequence[tuple[m, m]],
    plane: RoadPlane,
    over_ground: PlaneMotion,
    yaw: tuple[one, one],
) -> Unevenness:
    """Deviation of the road from the plane, under wheels at places (forward, left).

    `yaw` is the cosine and sine of the heading.
    """
    by_n = 1.0 / sqrt(1.0 + plane.slope * plane.slope + plane.bank * plane.bank)
    ahead, aside = turned_back(*yaw, over_ground.x, over_ground.y)
    middle = 0.5 * (places[0][0] + places[2][0])
    heights: list[m] = []
    rates: list[m_s] = []
    slopes: list[tuple[one, one]] = []
    for contact, (forward, left) in zip(contacts, places, strict=True):
        flush = plane.z + plane.slope * (forward - middle) + plane.bank * left
        along, across = contact.slope - plane.slope, contact.bank - plane.bank
        v_x, v_y = ahead - left * over_ground.yaw, aside + forward * over_ground.yaw
        heights.append((contact.z - flush) * by_n)
        rates.append((along * v_x + across * v_y) * by_n)
        slopes.append((along, across))
    rise, tilt, lean = plane_through(rates, places)
    rise = rise - middle * tilt
    return Unevenness(tuple(heights), tuple(rates), tuple(slopes), rise, tilt, lean)


_LEAST_PRESS: one = 0.05
"""Share of gravity below which the load on the road fades smoothly to zero."""


class RoadUnderCar(NamedTuple):
    """Effect of a road on a car."""

    pose_rate: PoseRate
    """Rate of the pose."""
    pull: Acceleration | None
    """Gravity along the plane under the wheels, in body axes; None where it is level."""
    press: m_s2
    """Load on the road over the mass of the car."""
    grip: tuple[one, one, one, one] | None
    """Friction of the road under each wheel, relative to the tyres; None if 1 everywhere."""
    fall: m_s2
    """Load by gravity and the vertical curvature of the road, over the mass; negative where a
    sharp crest would throw the car off the road."""
    gravity: m_s2
    """Part of `fall` due to gravity."""
    uneven: Unevenness | None = None
    """Unevenness that excites independent wheels; None on a plane."""
    standing: StandingPull | None = None
    """Gravity along the road on a body without suspension; None on a plane (then `pull`)."""

    def grip_with(self, grip: tuple[one, one, one, one]) -> tuple[Any, ...]:
        """Grip of each wheel multiplied by that of the road."""
        if self.grip is None:
            return grip
        return tuple(own * other for own, other in zip(self.grip, grip, strict=True))

    def pulled(self, a: Acceleration, standing: StandingPull | None) -> Acceleration:
        """Acceleration in body axes plus gravity: along the plane, or `standing` instead."""
        pull = self.pull if standing is None else standing
        return a if pull is None else Acceleration(a.x + pull.x, a.y + pull.y)


def road_under_car(road: Any, x: Any, places: Sequence[tuple[m, m]], g: m_s2) -> RoadUnderCar:
    """Effect of the road on a car whose wheels (fl, fr, rl, rr) are at places (forward, left)."""
    flat = isinstance(road.surface, FlatRoad)
    plain = pose_rate(x.yaw, x.v_x, x.v_y, x.omega)
    if flat and isinstance(road.grip, FullGrip):
        return RoadUnderCar(plain, None, g, None, g, g)
    heading = c, s = cos(x.yaw), sin(x.yaw)
    contacts = [wheel_contact(road, *moved(c, s, x.x, x.y, *place), x.yaw) for place in places]
    fl, fr, rl, rr = (contact.grip for contact in contacts)
    grip = None if isinstance(road.grip, FullGrip) else (fl, fr, rl, rr)
    if flat:
        return RoadUnderCar(plain, None, g, grip, g, g)
    plane = plane_under(contacts, places)
    over_ground = plane_motion(plane, x.yaw, x.v_x, x.v_y, x.omega)
    press = over_ground.lift - g * plane.down.z
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
