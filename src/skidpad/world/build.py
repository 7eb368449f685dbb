"""From what a scene says about a vehicle to one that runs, and to a body for contacts."""

from __future__ import annotations

from math import cos, hypot, sin
from typing import NamedTuple

from .. import vehicles
from ..model import Vehicle
from ..units import m
from ..vehicles import wheeled
from ..vehicles.autoware import NAMES as COMMAND_DRIVEN
from .contacts import Inertia, Part, Surface
from .scene import OwnDynamics, Shape, VehicleSpec

CHASSIS = Surface(friction=0.0, restitution=0.01)
WHEEL = Surface(friction=0.5, restitution=0.05)
"""How upstream's vehicles feel to touch."""
_OWN_MASS = 1500.0
"""In kg, of skidpad's own vehicles whose model has no mass."""
_OWN_OUTLINE = ((-1.0, -0.8), (3.5, -0.8), (3.5, 0.8), (-1.0, 0.8))
"""In m, of those for which the file gives none."""


class Built(NamedTuple):
    """A vehicle of a scene, ready to be stepped."""

    vehicle: Vehicle
    parts: tuple[Part, ...]
    inertia: Inertia
    radius: m
    """Largest distance of its outline from the reference point."""
    set_point: dict[str, float]
    """What its controller is told at the start."""


def built(spec: VehicleSpec, compat: str | None) -> Built:
    """The vehicle of a spec."""
    if isinstance(spec.dynamics, OwnDynamics):
        return _own(spec.dynamics, spec.shape, compat)
    description = spec.dynamics
    vehicle = wheeled.vehicle(description, compat)
    body = vehicle.params.body
    mass = body.chassis_mass + sum(w.mass for w in description.wheels)
    assert spec.shape is not None
    parts = tuple(Part(p, CHASSIS) for p in spec.shape.parts)
    parts += tuple(Part(_rectangle(w), WHEEL) for w in description.wheels)
    inertia = Inertia(mass, body.com_x, body.com_y, body.I_z)
    return Built(vehicle, parts, inertia, _radius(parts), dict(description.control.set_point))


def _own(dynamics: OwnDynamics, shape: Shape | None, compat: str | None) -> Built:
    """One of skidpad's own vehicles."""
    name, params = dynamics.name, dict(dynamics.parameters)
    if name in COMMAND_DRIVEN:
        vehicle = vehicles.autoware(name, params, compat=compat)
    else:
        vehicle = vehicles.get(name)(params)
    outlines = (_OWN_OUTLINE,) if shape is None else shape.parts
    parts = tuple(Part(outline, CHASSIS) for outline in outlines)
    mass = getattr(vehicle.params, "m", _OWN_MASS)
    along = [x for outline in outlines for x, _ in outline]
    length = max(along) - min(along)
    # Of a plate about as wide as a third of its length.
    I_z = getattr(vehicle.params, "I_z", mass * length * length / 11.0)
    return Built(vehicle, parts, Inertia(mass, 0.0, 0.0, I_z), _radius(parts), {})


def _rectangle(wheel: wheeled.Wheel) -> tuple[tuple[float, float], ...]:
    a, b = 0.5 * wheel.diameter, 0.5 * wheel.width
    c, s = cos(wheel.yaw), sin(wheel.yaw)
    corners = ((-a, -b), (a, -b), (a, b), (-a, b))
    return tuple((wheel.x + c * x - s * y, wheel.y + s * x + c * y) for x, y in corners)


def _radius(parts: tuple[Part, ...]) -> m:
    return max(hypot(x, y) for part in parts for x, y in part.outline)
