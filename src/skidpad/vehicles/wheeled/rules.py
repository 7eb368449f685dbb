"""Where the vehicles and the program they come from part: the repairs, each beside what it repairs.

docs/errata.md has the evidence for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any, NamedTuple

from ...components.ackermann import FrontWheels
from ...components.wheel_friction import (
    Contact,
    Hub,
    Surface,
    Traction,
    traction,
    upstream_traction,
)
from ...components.wheel_load import Place, dynamic_loads, load_shares, static_loads
from ...components.wheeled_steering import upstream_wheel_angles, wheel_angles
from ...ops import clip, maximum, sqrt
from ...units import N, kg, m, m_s, rad, rad_s, s
from .mass import damping, upstream_damping

LEAST_SHARE = 1e-6
"""Part of the vehicle's mass that a wheel holds at least, though its load at rest may be 0."""


class Load(NamedTuple):
    """What a wheel carries."""

    F_z: N
    """Load."""
    mass: kg
    """Mass that it holds against moving sideways."""


class Velocity(NamedTuple):
    """Velocity of the centre of mass in body axes, and the yaw rate."""

    x: m_s
    y: m_s
    omega: rad_s


@dataclass(frozen=True)
class Rules:
    """The points on which the two modes differ."""

    traction: Callable[[Contact, rad, Hub, Surface, Any, s, bool], Traction]
    """Force and spin of a wheel that stands at an angle."""
    loads: Callable[[Any, Any, Any, Sequence[Any]], list[Load]]
    """Loads of wheels from state, disturbance and parameters."""
    wheel_angles: Callable[[rad, rad, m, m], FrontWheels]
    """Angles of the front wheels."""
    slope_force: Callable[[Any, kg, Any], N]
    """Force that balances the slope, from disturbance, mass and parameters."""
    weight_at_wheels: bool
    """Whether the weight along a slope pulls at the wheels, not at the centre of mass."""
    caster_swivels: bool
    ideal_slips: bool
    """Whether wheels still push a vehicle whose motion is imposed, and one step later."""
    step_limit: Callable[[Velocity, s], Velocity]
    """The velocity that a step may have."""
    damping: Callable[[Any], tuple[float, float]]
    """Linear and angular damping of a described chassis."""
    hull: bool
    """Whether mass is spread over the convex hull of the chassis."""
    reproduces: str = ""
    """The program whose numbers these rules repeat; empty where it is repaired."""

    @property
    def upstream(self) -> bool:
        """Whether these are the rules of the upstream program."""
        return bool(self.reproduces)


def total_mass(p: Any, wheels: Sequence[Any]) -> kg:
    """Mass of chassis and wheels."""
    total: Any = p.body.chassis_mass
    for wheel in wheels:
        total = total + wheel.mass
    return total


def _loads(x: Any, w: Any, p: Any, wheels: Sequence[Any]) -> list[Load]:
    """Loads that balance weight and overturning moments, shares that balance the weight at rest."""
    mass: Any = total_mass(p, wheels)
    shares = load_shares([Place(at.x - p.body.com_x, at.y - p.body.com_y) for at in wheels])
    level2 = 1.0 - w.slope_x * w.slope_x - w.slope_y * w.slope_y
    weight = mass * p.g * sqrt(maximum(level2, 0.0))
    if hasattr(x, "a_x"):
        loads = dynamic_loads(shares, weight, mass, p.body.com_z, x.a_x, x.a_y)
    else:
        loads = static_loads(shares, weight)
    held = [maximum(share, LEAST_SHARE * mass) for share in static_loads(shares, mass)]
    return [Load(F_z, share) for F_z, share in zip(loads, held, strict=True)]


def _upstream_loads(x: Any, w: Any, p: Any, wheels: Sequence[Any]) -> list[Load]:
    """An equal part of the chassis on each wheel, whatever its place, motion or slope."""
    part: Any = p.body.chassis_mass * (1.0 / len(wheels))
    return [Load((part + wheel.mass) * p.g, part + wheel.mass) for wheel in wheels]


def _traction(
    c: Contact, yaw: rad, hub: Hub, ground: Surface, p: Any, dt: s, circle: bool
) -> Traction:
    return traction(c, hub, ground, p, dt, circle=circle)


def _upstream_traction(
    c: Contact, yaw: rad, hub: Hub, ground: Surface, p: Any, dt: s, circle: bool
) -> Traction:
    return upstream_traction(c, yaw, hub, ground, p, dt)


def _upstream_step_limit(v: Velocity, dt: s) -> Velocity:
    """Box2D moves a body by at most 2 m and a quarter turn in a step."""
    way2 = (v.x * v.x + v.y * v.y) * dt * dt
    scale = 2.0 / sqrt(maximum(way2, 4.0))
    most = 0.5 * pi / dt
    return Velocity(v.x * scale, v.y * scale, clip(v.omega, -most, most))


REPAIRED = Rules(
    traction=_traction,
    loads=_loads,
    wheel_angles=wheel_angles,
    slope_force=lambda w, mass, p: -w.slope_x * mass * p.g,
    weight_at_wheels=False,
    caster_swivels=True,
    ideal_slips=False,
    step_limit=lambda v, dt: v,
    damping=damping,
    hull=False,
)
UPSTREAM = Rules(
    traction=_upstream_traction,
    loads=_upstream_loads,
    wheel_angles=upstream_wheel_angles,
    slope_force=lambda w, mass, p: w.slope_x * p.body.chassis_mass * p.g,
    weight_at_wheels=True,
    caster_swivels=False,
    ideal_slips=True,
    step_limit=_upstream_step_limit,
    damping=upstream_damping,
    hull=True,
    reproduces="MVSim 1.2.0 (9c1b072)",
)
