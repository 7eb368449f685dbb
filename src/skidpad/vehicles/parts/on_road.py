"""What the road under the four wheels of a planar car does to body, loads and pose.

The body lies on the plane under its wheels. Its velocity and yaw rate are in the axes of that
plane; the pose is its projection onto the map. Gravity pulls along the plane and presses onto it,
and so does what keeps the car on a road that bends up or down. Wheels are taken to be over the
places that they have on level ground, which on a slope are a little too far apart. A road that is
flat changes nothing, down to the last bit.

`Unevenness` is the rest of a road once that plane is taken off, which shakes a car on springs.
Heights are measured from the plane, which tilts and rises as the car goes along, velocities off it
over ground. So the plane enters by its rates alone, and no road needs a curvature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...geometry.pose import moved, turned_back
from ...ops import cos, sin, sqrt
from ...road.contact import (
    PlaneMotion,
    RoadPlane,
    StandingPull,
    WheelContact,
    plane_motion,
    plane_under,
    standing_pull,
    wheel_contact,
)
from ...road.records import FlatRoad, FullGrip, PlaneRoad
from ...units import m, m_s, m_s2, one, rad, rad_s
from .kinematics import Acceleration, PoseRate, pose_rate
from .load_transfer import floored_speed


class Unevenness(NamedTuple):
    """A road against the plane under four wheels (fl, fr, rl, rr), off that plane."""

    heights: tuple[m, ...]
    """How high the road is under each wheel, in m."""
    rates: tuple[m_s, ...]
    """How fast the road under each wheel rises as it goes along, in m/s."""
    slopes: tuple[tuple[one, one], ...]
    """How much steeper the road is under each wheel, forward and to the left."""
    rise: m_s
    """How fast the plane at the centre of mass rises."""
    tilt: rad_s
    """How fast the plane turns its front up."""
    lean: rad_s
    """How fast the plane turns its left side up."""

    def rise_at(self, forward: m, left: m) -> m_s:
        """How fast the plane rises at a place of the car."""
        return self.rise + forward * self.tilt + left * self.lean


def unevenness(
    contacts: Sequence[WheelContact],
    places: Sequence[tuple[m, m]],
    plane: RoadPlane,
    over_ground: PlaneMotion,
    yaw: tuple[one, one],
) -> Unevenness:
    """The road under wheels at places (forward, left), seen from the plane under them.

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
    rise, tilt, lean = _fitted(rates, places)
    return Unevenness(
        tuple(heights),
        tuple(rates),
        tuple(slopes),
        rise - middle * tilt,
        tilt,
        lean,
    )


def _fitted(values: Sequence[m_s], places: Sequence[tuple[m, m]]) -> tuple[m_s, rad_s, rad]:
    """Mean, slope forward and slope to the left through four values, as `plane_under` has them."""
    (forward, left), (_, right), (back, rear_left), (_, rear_right) = places
    fl, fr, rl, rr = values
    front, rear = 0.5 * (fl + fr), 0.5 * (rl + rr)
    front_bank = (fl - fr) * (1.0 / (left - right))
    bank = 0.5 * (front_bank + (rl - rr) * (1.0 / (rear_left - rear_right)))
    return 0.5 * (front + rear), (front - rear) * (1.0 / (forward - back)), bank


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
