"""Between a car's descriptions: speed and steering, body velocities, rear axle, continuous angles.

A car without tyre slip moves at its centre of mass by the angle β = atan(l_r / l tan(steer)) to its
heading, whichever way it rolls. commonroad-control turns β round in reverse, although its kinematic
model does not; `compat="upstream"` repeats that.
"""

from __future__ import annotations

from math import pi, tau
from typing import Any, NamedTuple

from ..components.ackermann import curvature_of, speed_ratio
from ..components.centre_track import drift
from ..errors import InvalidValue
from ..ops import atan2, cos, floor, sign, sin, sqrt, where
from ..units import m, m_s, rad, rad_s

__all__ = [
    "BodyVelocity",
    "dynamic_state",
    "kinematic_state",
    "rolling_velocity",
    "signed_speed",
    "slip_of_velocity",
    "speed_at_centre",
    "speed_at_rear",
    "unwrapped",
    "upstream",
    "wrapped",
]


class BodyVelocity(NamedTuple):
    """Motion of the centre of mass in the car's frame."""

    v_x: m_s
    """Velocity along the car, forward positive."""
    v_y: m_s
    """Velocity across the car, positive to the left."""
    omega: rad_s
    """Yaw rate, positive to the left."""


def rolling_velocity(
    v: m_s, steer: rad, l_f: m, l_r: m, *, compat: str | None = None
) -> BodyVelocity:
    """Body velocity of a car without tyre slip whose centre of mass has the speed `v`.

    `v` is negative in reverse.
    """
    beta = drift(steer, l_f, l_r)
    if upstream(compat):
        beta = sign(v) * beta
    across = v * sin(beta)
    # The rear axle does not move sideways, so the car turns about a point on its line.
    return BodyVelocity(v * cos(beta), across, across / l_r)


def signed_speed(v_x: m_s, v_y: m_s) -> m_s:
    """Speed over ground, negative where the car rolls backwards; 0 where it slides sideways."""
    return sign(v_x) * sqrt(v_x * v_x + v_y * v_y)


def slip_of_velocity(v_x: m_s, v_y: m_s) -> rad:
    """Angle from the heading to the velocity, in [-π, π]; its gradient is NaN at standstill."""
    return atan2(v_y, v_x)


def dynamic_state(x: Any, dynamic: Any, *, compat: str | None = None) -> Any:
    """The state of a dynamic bicycle (a Vehicle) that moves as a kinematic one in state `x`."""
    p = dynamic.params
    velocity = rolling_velocity(x.v, x.steer, p.l_f, p.l_r, compat=compat)
    return dynamic.State(x=x.x, y=x.y, yaw=x.yaw, steer=x.steer, **velocity._asdict())


def kinematic_state(x: Any, kinematic: Any) -> Any:
    """The state of a kinematic bicycle (a Vehicle) nearest to a dynamic one in state `x`.

    Lateral velocity and yaw rate of a kinematic bicycle follow from its steering, so they are lost.
    """
    return kinematic.State(x=x.x, y=x.y, v=signed_speed(x.v_x, x.v_y), yaw=x.yaw, steer=x.steer)


def speed_at_centre(v_rear: m_s, steer: rad, l_f: m, l_r: m) -> m_s:
    """Speed of the centre of mass of a car without tyre slip, from that of its rear axle."""
    return v_rear * speed_ratio(curvature_of(steer, l_f + l_r), l_r, 0.0)


def speed_at_rear(v: m_s, steer: rad, l_f: m, l_r: m) -> m_s:
    """Speed of the rear axle of a car without tyre slip, from that of its centre of mass."""
    return v / speed_ratio(curvature_of(steer, l_f + l_r), l_r, 0.0)


def wrapped(angle: rad) -> rad:
    """The same direction in [-π, π)."""
    return unwrapped(0.0 * angle, angle)


def unwrapped(previous: rad, following: rad) -> rad:
    """The direction `following` by the angle nearest to `previous`: in [-π, π) of it."""
    nearest = following - tau * floor((following - previous + pi) / tau)
    # Rounding may leave the angle a hair outside.
    return where(nearest - previous >= pi, nearest - tau, nearest)


def upstream(compat: str | None) -> bool:
    """Whether upstream's behaviour is asked for."""
    if compat not in (None, "upstream"):
        raise InvalidValue(f'compat = {compat!r} is unknown; allowed are None and "upstream"')
    return compat == "upstream"
