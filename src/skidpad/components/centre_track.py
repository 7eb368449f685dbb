"""A car as a single track without slip, seen from its centre of mass.

Where `single_track` looks at the middle of the rear axle, which moves straight ahead, the centre of
mass moves at the slip angle beta to the left of the heading.
"""

from __future__ import annotations

from typing import NamedTuple

from ..ops import atan, cos, sin, tan
from ..plane.pose import rotated
from ..units import m, m_s, m_s2, rad, rad_s, rad_s2
from .rigid_body import Acceleration


class NoSlip(NamedTuple):
    """Where wheels that do not slip lead the car."""

    beta: rad
    """Direction in which the centre of mass moves, from the heading, positive to the left."""
    omega: rad_s
    """Yaw rate."""


class NoSlipRate(NamedTuple):
    """Rates of `NoSlip` while the steering moves and the car changes speed."""

    beta: rad_s
    omega: rad_s2


class Following(NamedTuple):
    """Yaw rate of a car that follows its wheels, and the rate of it."""

    omega: rad_s
    omega_rate: rad_s2


def drift(steer: rad, l_f: m, l_r: m) -> rad:
    """Slip angle at the centre of mass that the steering angle prescribes."""
    return atan(tan(steer) * (l_r * (1.0 / (l_f + l_r))))


def drift_rate(steer: rad, steer_rate: rad_s, l_f: m, l_r: m) -> rad_s:
    """Rate of `drift` while the steering moves: k steer' / (cos² + k² sin²) with k = l_r / L."""
    k = l_r * (1.0 / (l_f + l_r))
    c, s = cos(steer), k * sin(steer)
    return k * steer_rate / (c * c + s * s)


def yaw_rate(v: m_s, beta: rad, steer: rad, wheel_base: m) -> rad_s:
    """Yaw rate of a car whose centre of mass moves at `v` in the direction `beta`."""
    return v * cos(beta) * tan(steer) * (1.0 / wheel_base)


def yaw_acceleration(
    v: m_s, a: m_s2, beta: rad, beta_rate: rad_s, steer: rad, steer_rate: rad_s, wheel_base: m
) -> rad_s2:
    """Rate of `yaw_rate`, each factor in turn; `a` is the rate of v."""
    c, s, t = cos(beta), sin(beta), tan(steer)
    turning = (a * c - v * s * beta_rate) * t + v * c * steer_rate * (1.0 + t * t)
    return turning * (1.0 / wheel_base)


def rolling(v: m_s, steer: rad, l_f: m, l_r: m) -> NoSlip:
    """Direction of travel and yaw rate of a car that rolls at `v`."""
    beta = drift(steer, l_f, l_r)
    return NoSlip(beta, yaw_rate(v, beta, steer, l_f + l_r))


def rolling_rate(v: m_s, a: m_s2, steer: rad, steer_rate: rad_s, l_f: m, l_r: m) -> NoSlipRate:
    """How `rolling` changes."""
    beta = drift(steer, l_f, l_r)
    beta_rate = drift_rate(steer, steer_rate, l_f, l_r)
    omega_rate = yaw_acceleration(v, a, beta, beta_rate, steer, steer_rate, l_f + l_r)
    return NoSlipRate(beta_rate, omega_rate)


def following(v_x: m_s, a: m_s2, steer: rad, steer_rate: rad_s, wheel_base: m) -> Following:
    """Yaw rate of a car that rolls with `v_x` along its axis, and how it changes."""
    by_wheelbase, t = 1.0 / wheel_base, tan(steer)
    return Following(
        v_x * t * by_wheelbase,
        (a * t + v_x * steer_rate * (1.0 + t * t)) * by_wheelbase,
    )


def path_acceleration(v: m_s, beta: rad, a: m_s2, turning: rad_s) -> Acceleration:
    """Acceleration over ground in the body frame of a point that moves at `v` in direction `beta`.

    `a` is the rate of v, `turning` that of the direction of travel over ground: yaw' + beta'.
    """
    return Acceleration(*rotated(a, v * turning, beta))
