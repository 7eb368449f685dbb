"""Pure pursuit: steering along the arc on which the rear axle reaches a goal ahead on the line.

Coulter, "Implementation of the pure pursuit path tracking algorithm", CMU-RI-TR-92-01: the circle
through the car's position, tangent to its heading, and through a goal at the distance l, offset by
y to the left in the car's frame, has the curvature 2 y / l². On a circle the law is exact: it
steers atan(wheel base times curvature). The middle of the rear axle follows the line.
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
    """Look-ahead distance of the goal."""

    t_ahead: Annotated[s, non_negative] = 0.8
    """Look-ahead time: the distance is this time multiplied by the speed."""
    l_least: Annotated[m, positive] = 2.0
    """Smallest look-ahead distance, for low speeds; a nearer goal is treated as being this far
    away."""


def arc(ahead: m, left: m, l_least: m) -> per_m:
    """Curvature, positive to the left, of the circle to a goal (ahead, left) in the vehicle's
    frame.

    The circle is tangent to the heading. A nearer goal is treated as `l_least` away.
    """
    return 2.0 * left / maximum(ahead * ahead + left * left, l_least * l_least)


def steer(p: LookAhead, g: Any, view: View) -> rad:
    """Steering angle in rad, positive to the left."""
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
    """Pure pursuit of a line with speed control; keywords are fields of `LookAhead`.

    With a `path` the goal is a distance beyond its nearest point. Without one, the policy receives
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
