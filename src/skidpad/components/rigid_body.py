"""Planar rigid body: pose kinematics, the rotating body frame, kinetic energy."""

from __future__ import annotations

from typing import NamedTuple

from ..plane.pose import rotated
from ..units import J, kg, kg_m2, m_s, m_s2, rad, rad_s

__all__ = [
    "Acceleration",
    "PoseRate",
    "body_acceleration",
    "kinetic_energy",
    "pose_rate",
    "velocity_rate",
]


class PoseRate(NamedTuple):
    """Time derivative of a planar pose, in the world frame."""

    x: m_s
    y: m_s
    yaw: rad_s


def pose_rate(yaw: rad, v_x: m_s, v_y: m_s, omega: rad_s) -> PoseRate:
    """World-frame velocity of the centre of mass from its body-frame velocity."""
    return PoseRate(*rotated(v_x, v_y, yaw), omega)


class Acceleration(NamedTuple):
    """Acceleration of the centre of mass over ground, resolved in the body frame.

    This is what an accelerometer at the centre of mass shows; it is not (v_x', v_y').
    """

    x: m_s2
    y: m_s2


def velocity_rate(a: Acceleration, v_x: m_s, v_y: m_s, omega: rad_s) -> Acceleration:
    """(v_x', v_y'): the body-frame components of velocity change also because the frame turns."""
    return Acceleration(a.x + v_y * omega, a.y - v_x * omega)


def body_acceleration(rate: Acceleration, v_x: m_s, v_y: m_s, omega: rad_s) -> Acceleration:
    """The inverse of `velocity_rate`."""
    return Acceleration(rate.x - v_y * omega, rate.y + v_x * omega)


def kinetic_energy(v_x: m_s, v_y: m_s, omega: rad_s, m: kg, I_z: kg_m2) -> J:
    """Kinetic energy of the body, `I_z` about its centre of mass."""
    return 0.5 * (m * (v_x * v_x + v_y * v_y) + I_z * omega * omega)
