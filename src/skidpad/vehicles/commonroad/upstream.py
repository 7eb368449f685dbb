"""Slow motion as `commonroad-vehicle-models` writes it, which its ST, STD and MB share."""

from __future__ import annotations

from ...components.centre_track import NoSlipRate, yaw_acceleration
from ...components.commonroad_limits import Limited
from ...ops import tan
from ...units import m, m_s, rad


def rolling_rate(v: m_s, beta: rad, steer: rad, acting: Limited, l_f: m, l_r: m) -> NoSlipRate:
    """Rates of slip angle and yaw rate of a slow car, with the program's two errors.

    In the rate of the slip angle the tangent of the steering angle is squared once too often, and
    the yaw acceleration takes `beta` from the state (in MB: the lean of the body), not from the
    steering angle.
    """
    k, t = l_r * (1.0 / (l_f + l_r)), tan(steer)
    wrong = t * t * k
    beta_rate = k * acting.steer_rate * (1.0 + t * t) / (1.0 + wrong * wrong)
    omega_rate = yaw_acceleration(v, acting.a, beta, beta_rate, steer, acting.steer_rate, l_f + l_r)
    return NoSlipRate(beta_rate, omega_rate)
