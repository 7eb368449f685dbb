"""Wheels that spin: slip against the road, and the torques of engine and brakes on the axles."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..ops import abs, pow, where
from ..units import N, Nm, kg, kg_m2, m, m_s, m_s2, one, rad_s, rad_s2
from .low_speed import held_sign
from .wheel import floored_speed


class Torques(NamedTuple):
    """Torque on the wheels of each axle together, positive drives forward."""

    front: Nm
    rear: Nm
    braking: Any
    """Whether the brakes give it, which only resist the turning of a wheel."""


def axle_torques(
    a: m_s2, braking: Any, m: kg, R_w: m, brake_split: one, engine_split: one
) -> Torques:
    """The torques that would give a car of mass `m` the acceleration `a`.

    A split is the share of the front axle, that of the brakes or that of the engine.
    """
    total = m * R_w * a
    front = where(braking, brake_split, engine_split)
    return Torques(front * total, (1.0 - front) * total, braking)


def on_wheel(torque: Nm, braking: Any, omega: rad_s, omega_lock: rad_s) -> Nm:
    """What a wheel that turns with `omega` feels of a torque.

    A brake can stop its wheel and hold it, but not turn it round. Beyond ±`omega_lock` the torque
    acts in full.
    """
    return where(braking, -abs(torque) * held_sign(omega, omega_lock), torque)


def spin_rate(torque: Nm, F_x: N, R_w: m, I_w: kg_m2) -> rad_s2:
    """Angular acceleration of a wheel under a torque and the force of the road on its tyre."""
    return (torque - R_w * F_x) * (1.0 / I_w)


def longitudinal_slip(omega: rad_s, w_x: m_s, R_w: m, v_blend: m_s) -> one:
    """What the rim is faster than the road, over the speed of the road; positive drives forward.

    `w_x` is the velocity of the wheel over ground along its plane. Below `v_blend` the speed has a
    smooth floor: a wheel at rest slips by what it spins.
    """
    return (R_w * omega - w_x) / floored_speed(w_x, v_blend)


def upstream_slip(omega: rad_s, speed: m_s, R_w: m) -> one:
    """The same as CommonRoad's program writes it; not a number at speed 0."""
    # A power and not a division, which Python refuses at 0.
    return R_w * omega * pow(speed, -1.0) - 1.0
