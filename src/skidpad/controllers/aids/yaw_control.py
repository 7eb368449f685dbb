"""Yaw moments that bring a car to the yaw rate its driver asks for with the steering wheel.

Torque vectoring drives the wheels of one side more than those of the other, always and either way.
A stability programme brakes single wheels, and only when the car no longer does as it is steered:
the outer front wheel of a car that spins, the inner rear wheel of one that ploughs on. What the
driver asks for is the steady turn of a linear bicycle with a wanted understeer gradient, within
the grip of the road.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...components.actuator import limited, outside_dead_band
from ...ops import abs, clip, where
from ...policy import Nothing
from ...units import Nm, kg_m2, m_s, m_s2, non_negative, one, per_s, positive, rad_s, s
from .aid import Aid
from .wheels import WHEELS, Chassis, bicycle_yaw_rate, chassis, rad_s2_m

__all__ = ["Stability", "Vectoring", "stability", "torque_vectoring"]


class Vectoring(NamedTuple):
    """How drive torques turn the car."""

    chassis: Chassis
    """Of the car."""
    inertia: Annotated[kg_m2, positive]
    """Yaw inertia of the car."""
    rate: Annotated[per_s, non_negative]
    """Rate at which an error of the yaw rate would die out by the moment alone."""
    understeer: rad_s2_m
    """Understeer gradient that the car is to have; 0 is neutral."""
    grip: Annotated[m_s2, positive]
    """Largest lateral acceleration that is asked for."""
    front: one
    """Share of the front axle in the moment."""
    most: Annotated[Nm, non_negative]
    """Largest torque that a wheel gets more or less."""
    v_off: Annotated[m_s, positive]
    """Speed up to which the aid fades in."""


class Stability(NamedTuple):
    """How brakes turn the car."""

    chassis: Chassis
    """Of the car."""
    inertia: Annotated[kg_m2, positive]
    """Yaw inertia of the car."""
    rate: Annotated[per_s, non_negative]
    """Rate at which an error of the yaw rate would die out by the moment alone."""
    understeer: rad_s2_m
    """Understeer gradient of the car while it does as it is steered."""
    grip: Annotated[m_s2, positive]
    """Largest lateral acceleration that is asked for."""
    band: Annotated[rad_s, positive]
    """Error of the yaw rate that is left alone."""
    cut: Annotated[rad_s, positive]
    """Error beyond that at which no drive is left."""
    most: Annotated[Nm, non_negative]
    """Largest brake torque that a wheel gets more."""
    v_off: Annotated[m_s, positive]
    """Speed up to which the aid fades in."""


def asked_yaw_rate(x: Any, u: Any, p: Any) -> rad_s:
    """Yaw rate that the steering asks for."""
    return bicycle_yaw_rate(u.steer, x.v_x, p.chassis, p.understeer, p.grip, p.v_off)


def fading(v_x: m_s, v_off: m_s) -> one:
    """0 at rest and backwards, 1 from `v_off` on."""
    return clip(v_x * (1.0 / v_off), 0.0, 1.0)


def drive_apart(x: Any, u: Any, m: Nothing, p: Vectoring, dt: s) -> tuple[Any, Nothing]:
    """Moves torque from one side to the other."""
    c = p.chassis
    error = asked_yaw_rate(x, u, p) - x.omega
    moment = (p.inertia * p.rate) * error * fading(x.v_x, p.v_off)
    front = limited(p.front * c.radius_f * (1.0 / c.track_f) * moment, p.most)
    rear = limited((1.0 - p.front) * c.radius_r * (1.0 / c.track_r) * moment, p.most)
    more = (-front, front, -rear, rear)
    pairs = zip(WHEELS, more, strict=True)
    torques = {f"tau_{wheel}": getattr(u, f"tau_{wheel}") + extra for wheel, extra in pairs}
    return u._replace(**torques), m


def brake_apart(x: Any, u: Any, m: Nothing, p: Stability, dt: s) -> tuple[Any, Nothing]:
    """Brakes the wheel that turns the car back to where it is steered, and takes drive away."""
    c = p.chassis
    asked = asked_yaw_rate(x, u, p)
    error = x.omega - asked
    excess = outside_dead_band(error, p.band) * fading(x.v_x, p.v_off)
    moment = (p.inertia * p.rate) * excess
    # A car that turns more than it should is oversteering, also where it should not turn at all.
    front = where(error * asked >= 0.0, 1.0, 0.0)
    arms = (c.radius_f * (2.0 / c.track_f), c.radius_r * (2.0 / c.track_r))
    at_front, at_rear = front * arms[0] * moment, (1.0 - front) * arms[1] * moment
    # A positive error is too much to the left, and brakes on the right turn the car back.
    more = (-at_front, at_front, -at_rear, at_rear)
    left = clip(1.0 - abs(excess) * (1.0 / p.cut), 0.0, 1.0)
    changes: dict[str, Any] = {}
    for wheel, extra in zip(WHEELS, more, strict=True):
        changes[f"brake_{wheel}"] = getattr(u, f"brake_{wheel}") + clip(extra, 0.0, p.most)
        changes[f"tau_{wheel}"] = getattr(u, f"tau_{wheel}") * left
    return u._replace(**changes), m


def torque_vectoring(
    vehicle: Any,
    *,
    rate: per_s = 10.0,
    understeer: rad_s2_m = 0.0,
    grip: m_s2 | None = None,
    front: one = 0.0,
    most: Nm | None = None,
    v_off: m_s = 3.0,
) -> Aid:
    """Torque vectoring, for cars with a motor at each wheel of an axle or of both.

    `grip` and `most` are those of the vehicle where they are left out.
    """
    limits = vehicle.limits
    params = Vectoring(
        chassis(vehicle),
        vehicle.geometry.inertia,
        rate,
        understeer,
        0.9 * limits.grip if grip is None else grip,
        front,
        limits.inputs["tau_rl"][1] if most is None else most,
        v_off,
    )
    return Aid("torque_vectoring", drive_apart, params)


def stability(
    vehicle: Any,
    *,
    rate: per_s = 15.0,
    understeer: rad_s2_m = 0.0025,
    grip: m_s2 | None = None,
    band: rad_s = 0.05,
    cut: rad_s = 0.1,
    most: Nm | None = None,
    v_off: m_s = 5.0,
) -> Aid:
    """A stability programme by the brakes. Anti-lock brakes belong behind it.

    `grip` and `most` are those of the vehicle where they are left out.
    """
    limits = vehicle.limits
    params = Stability(
        chassis(vehicle),
        vehicle.geometry.inertia,
        rate,
        understeer,
        0.9 * limits.grip if grip is None else grip,
        band,
        cut,
        limits.inputs["brake_fl"][1] if most is None else most,
        v_off,
    )
    return Aid("stability", brake_apart, params)
