"""How `two_track` is told to drive and to brake: wheel torques, or the pedals of its powertrain."""

from __future__ import annotations

from typing import Any

from ..components.actuator import limited
from ..components.hydraulic_brakes import BrakeTorques
from ..components.powertrain.wheel_motors import WHEEL_DRIVES
from ..ops import clip, where
from ..units import N, Nm, kg, m, m_s, one, rad_s
from .two_track_drive import WHEELS, each, own_states

CREEP: m_s = 0.6
"""Speed below which what slows the car comes from the drive, which can turn it round, and not from
the brakes."""

Ranges = dict[str, tuple[float, float]]


def drive_limits(p: Any) -> tuple[Nm, rad_s, Ranges]:
    """Largest torque on all wheels, the spin up to which it drives, and ranges of inputs."""
    if not isinstance(p.powertrain, WHEEL_DRIVES):
        return p.powertrain.peak(), p.powertrain.top(), p.powertrain.ranges()
    ranges = {f"tau_{wheel}": (-p.tau_max, p.tau_max) for wheel in WHEELS}
    return 2.0 * p.tau_max / max(p.drive_front, 1.0 - p.drive_front), p.powertrain.top(), ranges


def brake_limits(p: Any) -> tuple[Nm, Ranges]:
    """Largest brake torque on all wheels as a wish shares it out, and ranges of inputs."""
    if not isinstance(p.brakes, BrakeTorques):
        return 2.0 * sum(p.brakes.peaks()), p.brakes.ranges()
    ranges = {f"brake_{wheel}": (0.0, p.brake_max) for wheel in WHEELS}
    return 2.0 * p.brake_max / max(p.brake_front, 1.0 - p.brake_front), ranges


def turning_mass(x: Any, radii: tuple[m, m], p: Any) -> kg:
    """What wheels and powertrain add to the mass of a car that is sped up."""
    front, rear = radii
    wheels = 2.0 * p.I_w * (1.0 / (front * front) + 1.0 / (rear * rear))
    if isinstance(p.powertrain, WHEEL_DRIVES):
        return wheels
    radius = driven_radius(radii, p)
    inertia = p.powertrain.inertia(own_states(x, p.powertrain), each(x, "spin"))
    return wheels + inertia * (1.0 / (radius * radius))


def driven_radius(radii: tuple[m, m], p: Any) -> m:
    """Radius of the driven wheels."""
    weights = p.powertrain.layout.weights()
    return (weights[0] + weights[1]) * radii[0] + (weights[2] + weights[3]) * radii[1]


def coasting_force(x: Any, radii: tuple[m, m], p: Any) -> N:
    """Force with which a released pedal slows the car."""
    if isinstance(p.powertrain, WHEEL_DRIVES):
        return 0.0
    torque = p.powertrain.coasting(own_states(x, p.powertrain), each(x, "spin"))
    return torque * (1.0 / driven_radius(radii, p))


def drive_inputs(
    x: Any, force: N, slowing: N, way: one, radii: tuple[m, m], p: Any
) -> dict[str, Any]:
    """Inputs of the powertrain for a force along the car, or to slow it down by a released pedal.

    `way` is 1 where the wish is forward, else -1: a slow car changes to that gear, a faster one
    stays in the gear of its motion.
    """
    front, rear = radii
    if isinstance(p.powertrain, WHEEL_DRIVES):
        tau_f = limited(0.5 * p.drive_front * front * force, p.tau_max)
        tau_r = limited(0.5 * (1.0 - p.drive_front) * rear * force, p.tau_max)
        return dict(zip((f"tau_{w}" for w in WHEELS), (tau_f, tau_f, tau_r, tau_r), strict=True))
    ahead = where(x.v_x > CREEP, 1.0, where(x.v_x < -CREEP, -1.0, way))
    own, spins = own_states(x, p.powertrain), each(x, "spin")
    T = driven_radius(radii, p) * where(force == 0.0, -ahead * slowing, force)
    return p.powertrain.pedals(own, T, ahead, spins)._asdict()


def brake_inputs(force: N, hand: one, radii: tuple[m, m], p: Any) -> dict[str, Any]:
    """Inputs of the brakes for a force against the motion, and a handbrake."""
    front, rear = radii
    if isinstance(p.brakes, BrakeTorques):
        brake_f = clip(0.5 * p.brake_front * front * force, 0.0, p.brake_max)
        asked = 0.5 * (1.0 - p.brake_front) * rear * force + hand * p.brake_max
        brake_r = clip(asked, 0.0, p.brake_max)
        names = (f"brake_{w}" for w in WHEELS)
        return dict(zip(names, (brake_f, brake_f, brake_r, brake_r), strict=True))
    return p.brakes.pedal(0.5 * (front + rear) * force, hand)._asdict()
