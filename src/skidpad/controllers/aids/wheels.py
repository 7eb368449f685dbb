"""What aids know of a car on four spinning wheels: its chassis, and how its wheels slip."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...components.low_speed import above_zero
from ...errors import InvalidValue
from ...ops import clip, cos, sin
from ...units import Unit, m, m_s, m_s2, one, positive, rad, rad_s

__all__ = ["WHEELS", "Chassis", "bicycle_yaw_rate", "chassis", "longitudinal_slips", "speeds"]

WHEELS = ("fl", "fr", "rl", "rr")
rad_s2_m = Annotated[float, Unit("rad/(m/s²)", length=-1, time=2)]
"""Steering angle per lateral acceleration: an understeer gradient."""


class Chassis(NamedTuple):
    """Where the wheels are, and how large."""

    l_f: Annotated[m, positive]
    """Centre of mass to front axle."""
    l_r: Annotated[m, positive]
    """Centre of mass to rear axle."""
    track_f: Annotated[m, positive]
    """Between the front wheels."""
    track_r: Annotated[m, positive]
    """Between the rear wheels."""
    radius_f: Annotated[m, positive]
    """Of the front wheels."""
    radius_r: Annotated[m, positive]
    """Of the rear wheels."""


def chassis(vehicle: Any) -> Chassis:
    """The chassis of a car whose state and input have the wheels fl, fr, rl and rr."""
    known = {*vehicle.State._fields, *vehicle.Input._fields}
    missing = [f"{n}_{w}" for n in ("spin", "tau", "brake") for w in WHEELS]
    missing = [name for name in missing if name not in known]
    if missing:
        pedals = "spin_fl" in known
        of = " with powertrain=WheelTorques() and brakes=BrakeTorques(), its defaults" * pedals
        raise InvalidValue(
            f"aids are for cars on four spinning wheels with torques of their own, such as "
            f"two_track{of}; {vehicle.name!r} has no {', '.join(missing)}"
        )
    wheels = {wheel.name: wheel for wheel in vehicle.geometry.wheels}
    fl, fr, rl, rr = (wheels[name] for name in WHEELS)
    return Chassis(fl.x, -rl.x, fl.y - fr.y, rl.y - rr.y, fl.radius, rl.radius)


def speeds(x: Any, c: Chassis) -> tuple[m_s, m_s, m_s, m_s]:
    """Velocity of each wheel along itself, as the state tells it."""
    half_f, half_r = 0.5 * c.track_f * x.omega, 0.5 * c.track_r * x.omega
    across = sin(x.steer) * (x.v_y + c.l_f * x.omega)
    along = cos(x.steer)
    return (
        along * (x.v_x - half_f) + across,
        along * (x.v_x + half_f) + across,
        x.v_x - half_r,
        x.v_x + half_r,
    )


def longitudinal_slips(x: Any, c: Chassis, v_least: m_s) -> list[one]:
    """Slip of each wheel, positive when it turns faster than it rolls; 0 to -1 when it locks.

    A slower wheel is taken to move at 3/8 of `v_least` at the least.
    """
    radii = (c.radius_f, c.radius_f, c.radius_r, c.radius_r)
    spins = (x.spin_fl, x.spin_fr, x.spin_rl, x.spin_rr)
    columns = zip(speeds(x, c), radii, spins, strict=True)
    return [(R * spin - v) / above_zero(v, v_least) for v, R, spin in columns]


def bicycle_yaw_rate(
    steer: rad, v_x: m_s, c: Chassis, understeer: rad_s2_m, grip: m_s2, v_least: m_s
) -> rad_s:
    """Yaw rate of a steady turn of a linear bicycle, within a lateral acceleration of `grip`."""
    base = c.l_f + c.l_r
    omega = v_x * steer / (base + understeer * (v_x * v_x))
    most = grip / above_zero(v_x, v_least)
    return clip(omega, -most, most)
