"""From what a scene says about a vehicle to one that runs, and to a body for contacts."""

from __future__ import annotations

from dataclasses import replace
from math import cos, hypot, sin
from typing import NamedTuple

from ... import vehicles
from ...model import Vehicle
from ...units import m, m_s2, rad
from ...vehicles import wheeled
from ...vehicles.autoware import NAMES as COMMAND_DRIVEN
from ..contact.solids import Inertia, Part, Surface
from ..scene.scene import OwnDynamics, Shape, VehicleSpec

CHASSIS = Surface(friction=0.0, restitution=0.01)
WHEEL = Surface(friction=0.5, restitution=0.05, skin=0.01)
"""How upstream's vehicles feel to touch; wheels have the skin that Box2D gives by itself."""
_OWN_MASS = 1500.0
"""In kg, of skidpad's own vehicles whose model has no mass."""
OWN_OUTLINE = ((-1.0, -0.8), (3.5, -0.8), (3.5, 0.8), (-1.0, 0.8))
"""In m, of those for which the file gives none."""


class SteeredWheel(NamedTuple):
    """A wheel whose outline turns with it."""

    field: str
    """Of the state: its angle on the vehicle."""
    part: int
    """Which of the vehicle's parts it is."""
    wheel: wheeled.Wheel

    def outline(self, angle: rad) -> tuple[tuple[float, float], ...]:
        """Its corners when it stands at an angle."""
        return _rectangle(self.wheel, angle)


class Built(NamedTuple):
    """A vehicle of a scene, ready to be stepped."""

    vehicle: Vehicle
    parts: tuple[Part, ...]
    inertia: Inertia
    radius: m
    """Largest distance of its outline from the reference point."""
    set_point: dict[str, float]
    """What its controller is told at the start."""
    steered: tuple[SteeredWheel, ...] = ()


def built(spec: VehicleSpec, compat: str | None, gravity: m_s2) -> Built:
    """The vehicle of a spec; descriptions of wheeled robots hold the gravity already."""
    if isinstance(spec.dynamics, OwnDynamics):
        return _own(spec.dynamics, spec.shape, compat, gravity)
    description = spec.dynamics
    assert spec.shape is not None
    vehicle = replace(wheeled.vehicle(description, compat), outlines=spec.shape.parts)
    body = vehicle.params.body
    mass = body.chassis_mass + sum(w.mass for w in description.wheels)
    chassis = tuple(Part(p, CHASSIS) for p in spec.shape.parts)
    parts = chassis + tuple(Part(_rectangle(w, w.yaw), WHEEL) for w in description.wheels)
    steered = _steered(description, vehicle, len(chassis))
    radius = max([_radius(parts), *(_reach(one.wheel) for one in steered)])
    inertia = Inertia(mass, body.com_x, body.com_y, body.I_z)
    set_point = dict(description.control.set_point)
    return Built(vehicle, parts, inertia, radius, set_point, steered)


def _steered(
    description: wheeled.Description, vehicle: Vehicle, first: int
) -> tuple[SteeredWheel, ...]:
    """The wheels that steer; `first` is the part that the first wheel is."""
    names, known = wheeled.KINDS[description.kind].wheels, vehicle.model.State._fields
    return tuple(
        SteeredWheel(f"steer_{name}", first + k, wheel)
        for k, (name, wheel) in enumerate(zip(names, description.wheels, strict=True))
        if f"steer_{name}" in known
    )


def _own(dynamics: OwnDynamics, shape: Shape | None, compat: str | None, gravity: m_s2) -> Built:
    """One of skidpad's own vehicles."""
    name, params = dynamics.name, dict(dynamics.parameters)
    if name in COMMAND_DRIVEN:
        vehicle = vehicles.autoware(name, params, compat=compat)
    else:
        vehicle = vehicles.get(name)(params)
    if "g" in vehicle.params._fields and "g" not in params:
        vehicle = vehicle.with_params(g=gravity)
    if shape is not None and shape.made_from != "default":
        vehicle = replace(vehicle, outlines=shape.parts)
    outlines = (OWN_OUTLINE,) if shape is None else shape.parts
    parts = tuple(Part(outline, CHASSIS) for outline in outlines)
    mass = getattr(vehicle.params, "m", _OWN_MASS)
    along = [x for outline in outlines for x, _ in outline]
    length = max(along) - min(along)
    # Of a plate about as wide as a third of its length.
    I_z = getattr(vehicle.params, "I_z", mass * length * length / 11.0)
    return Built(vehicle, parts, Inertia(mass, 0.0, 0.0, I_z), _radius(parts), {})


def _rectangle(wheel: wheeled.Wheel, angle: rad) -> tuple[tuple[float, float], ...]:
    a, b = 0.5 * wheel.diameter, 0.5 * wheel.width
    c, s = cos(angle), sin(angle)
    corners = ((-a, -b), (a, -b), (a, b), (-a, b))
    return tuple((wheel.x + c * x - s * y, wheel.y + s * x + c * y) for x, y in corners)


def _reach(wheel: wheeled.Wheel) -> m:
    """Largest distance of a wheel from the reference point, at whatever angle."""
    return hypot(wheel.x, wheel.y) + 0.5 * hypot(wheel.diameter, wheel.width)


def _radius(parts: tuple[Part, ...]) -> m:
    return max(hypot(x, y) for part in parts for x, y in part.outline)
