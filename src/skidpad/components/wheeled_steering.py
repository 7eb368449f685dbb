"""Steering of two front wheels from one angle or from a twist, within a limit.

The one angle is that of a wheel in the middle of the front axle; see `ackermann` for the geometry.
"""

from __future__ import annotations

from ..ops import abs, atan, atan2, maximum, tan, where
from ..units import m, m_s, rad, rad_s
from .ackermann import FrontWheels, curvature_of, front_wheels
from .actuator import limited

ON_THE_SPOT: m_s = 1e-12
"""Speed below which a turn has no radius; keeps the angle's derivative finite at rest."""


def wheel_angles(steer: rad, steer_max: rad, wheel_base: m, track: m) -> FrontWheels:
    """Angles of both front wheels; they roll about one point on the line of the rear axle."""
    return front_wheels(curvature_of(limited(steer, steer_max), wheel_base), wheel_base, track)


def upstream_wheel_angles(steer: rad, steer_max: rad, wheel_base: m, track: m) -> FrontWheels:
    """`wheel_angles` as MVSim has them.

    An inner wheel that has to turn by more than a right angle is turned the other way.
    """
    t = tan(limited(steer, steer_max))
    sideways = t * (0.5 * track) * (1.0 / wheel_base)
    return FrontWheels(atan(t / (1.0 - sideways)), atan(t / (1.0 + sideways)))


def steer_of_twist(v: m_s, omega: rad_s, wheel_base: m) -> rad:
    """Angle in the middle with which the rear axle moves by a twist; ±π/2 to turn on the spot."""
    ahead = where(v < 0.0, -omega, omega)
    return atan2(wheel_base * ahead, maximum(abs(v), ON_THE_SPOT))
