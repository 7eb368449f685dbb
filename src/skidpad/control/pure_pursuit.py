"""Pure pursuit: the arc on which the rear axle meets a point of the line ahead.

Coulter, "Implementation of the pure pursuit path tracking algorithm", CMU-RI-TR-92-01: through a
goal at the distance l, and y to the left in the car's frame, goes one circle that the car's heading
touches; its curvature is 2 y / l². On a circle the law is exact: it steers atan(wheel base times
curvature). It follows the line with the middle of the rear axle.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ..core import record
from ..core.body import Pose
from ..core.policy import Policy
from ..geometry.pose import to_body
from ..ops import maximum
from ..units import m, non_negative, per_m, positive, rad, s
from ..vehicles.parts.kinematics import steer_of
from .car import Car, rear_axle
from .path_following import Law, View, follower
from .reference import KNOTS, Reference


class LookAhead(NamedTuple):
    """How far ahead the goal is."""

    t_ahead: Annotated[s, non_negative] = 0.8
    """Look-ahead in time: the distance is this times the speed."""
    l_least: Annotated[m, positive] = 2.0
    """Least distance, for low speed. A nearer goal is taken to be this far, which keeps the
    curvature bounded."""


def arc(ahead: m, left: m, l_least: m) -> per_m:
    """Curvature, positive to the left, of the circle to a goal that is given in the frame of what
    drives; its heading touches the circle. A nearer goal is taken to be `l_least` away.
    """
    return 2.0 * left / maximum(ahead * ahead + left * left, l_least * l_least)


def steer(p: LookAhead, g: Any, view: View) -> rad:
    """Steering angle, positive to the left."""
    distance = maximum(p.t_ahead * view.motion.v_x, p.l_least)
    rear, goal = Pose(*rear_axle(view.motion, g), view.motion.yaw), view.goal(distance)
    return steer_of(arc(*to_body(rear, goal.x, goal.y), p.l_least), g.l_f + g.l_r)


def policy(
    vehicle: Any,
    path: Reference | None = None,
    *,
    knots: int = KNOTS,
    car: Car | None = None,
    speed: Any = None,
    **law: float,
) -> Policy:
    """Pure pursuit of a line with cruise control; keywords are fields of `LookAhead`.

    With a `path` the goal is a distance beyond the nearest point of it. Without, the policy gets
    its goal by `reference.rows(steps, dt, ahead=t_ahead)`.
    """
    return follower(
        "pure_pursuit",
        vehicle,
        Law(rear_axle, steer),
        record.build(LookAhead, **law),
        speed=speed,
        path=path,
        knots=knots,
        car=car,
    )
