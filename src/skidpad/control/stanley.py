"""Stanley's steering law: the front wheels point along the line, and turn towards it by the offset.

Thrun et al., "Stanley: the robot that won the DARPA Grand Challenge", J. Field Robotics 23 (2006),
section 9.2, and Hoffmann, Tomlin, Montemerlo and Thrun, "Autonomous automobile trajectory tracking
for off-road driving", ACC 2007. Their angles are positive to the right of the line; here all are
ISO 8855. With e the offset of the front axle and v its speed, a car that rolls without slip has
e' = -v sin(atan(k e / (k_soft + v))): a small offset decays as exp(-k t).
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ..core import record
from ..core.policy import Policy
from ..ops import atan2, smooth_hypot
from ..units import Unit, m_s, non_negative, per_s, positive, rad, s
from .car import Car, front_axle
from .path_following import Law, View, follower, heading_error
from .reference import KNOTS, Reference

rad_s2_m = Annotated[float, Unit("rad/(m/s²)", length=-1, time=2)]

SPEED_WIDTH: m_s = 1e-3
"""Width over which |v| is rounded at standstill, where its gradient would be undefined."""


class Gains(NamedTuple):
    """Gains of Stanley's law."""

    k: Annotated[per_s, positive] = 1.0
    """Decay rate of an offset.

    Hoffmann et al. used 2.5; at 20 m/s, with commands every 0.1 s and a position accuracy of
    0.1 m, this makes a car with tyres slide off the road.
    """
    k_soft: Annotated[m_s, positive] = 1.0
    """Softening speed added to the speed, which prevents wild steering near standstill."""
    k_yaw: Annotated[s, non_negative] = 0.02
    """Damping by the yaw rate in excess of the line's, useful where tyres slip.

    A car whose wheels are steered without delay tolerates at most about its wheelbase over its
    speed.
    """
    k_ag: Annotated[rad_s2_m, non_negative] = 0.0
    """Slip angle of the front tyres per lateral acceleration, m l_r / (C_f (l_f + l_r)).

    It turns the wheels into a bend by the angle at which the tyres slip.
    """


def steer(p: Gains, g: Any, view: View) -> rad:
    """Steering angle in rad, positive to the left; `view.seen` is for the front axle."""
    motion, seen = view.motion, view.seen
    v = smooth_hypot(motion.v_x, motion.v_y + g.l_f * view.omega, SPEED_WIDTH)
    omega = motion.v_x * seen.curvature
    back = atan2(p.k * seen.left, p.k_soft + v)
    damping = p.k_yaw * (view.omega - omega)
    into = p.k_ag * motion.v_x * omega
    return into - heading_error(motion.yaw, seen.heading) - back - damping


def policy(
    vehicle: Any,
    path: Reference | None = None,
    *,
    knots: int = KNOTS,
    car: Car | None = None,
    speed: Any = None,
    **law: float,
) -> Policy:
    """Stanley's law with speed control; keywords are fields of `Gains`.

    The front axle follows the `path`, or the line that the policy receives by
    `reference.rows(steps, dt)`.
    """
    return follower(
        "stanley",
        vehicle,
        Law(front_axle, steer),
        record.build(Gains, **law),
        speed=speed,
        path=path,
        knots=knots,
        car=car,
    )
