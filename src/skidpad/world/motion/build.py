"""From what a scene says about a vehicle to one that runs, and to a solid for contacts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import cos, hypot, sin
from typing import NamedTuple

from ... import vehicles
from ...body import Geometry, Outline, Point, Wheel, body_of
from ...checks import vehicle_of
from ...model import Vehicle
from ...plane.outline import cleaned, convex_parts
from ...plane.pose import moved
from ...road.road import Road
from ...units import m, m_s2, rad
from ...vehicles import wheeled
from ...vehicles.autoware import NAMES as COMMAND_DRIVEN
from ...vehicles.on_road import off_road, what_it_lacks
from ..contact.solids import Inertia, Part, Surface, solid_parts
from ..scene.scene import OwnDynamics, Shape, VehicleSpec

CHASSIS = Surface(friction=0.0, restitution=0.01)
WHEEL = Surface(friction=0.5, restitution=0.05, skin=0.01)
"""How upstream's vehicles feel to touch; wheels have the skin that Box2D gives by itself."""


class TurningPart(NamedTuple):
    """A part of a vehicle that turns about a point of it: a steered wheel, a trailer."""

    field: str
    """Of the state or the outputs: its angle on the vehicle."""
    number: int
    """Which of the vehicle's parts it is."""
    pivot: Point
    """On the vehicle."""
    corners: Outline
    """Seen from the pivot, at the angle 0."""
    start: rad = 0.0
    """The angle at which it is built."""
    trails: bool = False
    """Whether it is a trailer, which is seen as it stands."""

    def outline(self, angle: rad) -> Outline:
        """Its corners on the vehicle when it stands at an angle."""
        return _turned(self.pivot, self.corners, angle)

    @property
    def reach(self) -> m:
        """Largest distance from the reference point, at whatever angle."""
        return hypot(*self.pivot) + max(hypot(x, y) for x, y in self.corners)


class BuiltVehicle(NamedTuple):
    """A vehicle of a scene, ready to be stepped and touched."""

    vehicle: Vehicle
    """Its outlines are those of the scene, where the scene gives some."""
    geometry: Geometry
    height: m
    parts: tuple[Part, ...]
    turning: tuple[TurningPart, ...]
    inertia: Inertia
    radius: m
    """Largest distance of its outline from the reference point."""
    set_point: dict[str, float]
    """What its controller is told at the start."""


def built_vehicle(
    spec: VehicleSpec, compat: str | None, gravity: m_s2, road: Road | None = None
) -> BuiltVehicle:
    """The vehicle of a spec, on a road as far as it can feel one.

    Descriptions of wheeled robots hold the gravity already.
    """
    shape, set_point = spec.shape, dict[str, float]()
    if isinstance(spec.dynamics, wheeled.Description):
        vehicle = wheeled.vehicle(spec.dynamics, compat)
        set_point |= spec.dynamics.control.set_point
    else:
        vehicle = _own(spec.dynamics, compat, gravity)
        # A chassis without a shape says nothing about the outline.
        shape = None if shape is None or shape.made_from == "default" else shape
    if road is not None:
        vehicle = _on_road(vehicle, road, gravity)
    if shape is not None:
        vehicle = replace(vehicle, outlines=(shape.outline,))
    geometry = vehicle.geometry
    parts = solid_parts(_chassis(geometry, shape), CHASSIS)
    turning = [*_turning(geometry, len(parts))]
    parts += [Part(_wheel_outline(wheel), WHEEL) for wheel in geometry.wheels]
    parts += [Part(part.outline(0.0), CHASSIS) for part in turning if part.trails]
    corners = (hypot(x, y) for part in parts for x, y in part.outline)
    com_x, com_y = geometry.centre_of_mass
    return BuiltVehicle(
        vehicle,
        geometry,
        geometry.height if shape is None else shape.z_max,
        tuple(parts),
        tuple(turning),
        Inertia(geometry.mass, com_x, com_y, geometry.inertia),
        max([*corners, *(part.reach for part in turning)]),
        set_point,
    )


def _own(dynamics: OwnDynamics | Vehicle, compat: str | None, gravity: m_s2) -> Vehicle:
    """One of skidpad's own vehicles, in the gravity of the world; any other as it is."""
    if not isinstance(dynamics, OwnDynamics):
        body_of(vehicle_of(dynamics), "a world")
        return dynamics
    name, params = dynamics.name, dict(dynamics.parameters)
    if name in COMMAND_DRIVEN:
        vehicle = vehicles.autoware(name, params, compat=compat)
    else:
        vehicle = vehicles.get(name)(params)
    feels = body_of(vehicle, "a world").gravity
    return vehicle.with_params({feels: gravity}) if feels and feels not in params else vehicle


def _on_road(vehicle: Vehicle, road: Road, gravity: m_s2) -> Vehicle:
    """The vehicle on what it can feel of a road: all of it, its heights alone, or nothing."""
    bare = off_road(vehicle)
    for part in (road, Road(road.surface)):
        if not what_it_lacks(bare, part.record):
            made = vehicles.on_road(bare, part)
            feels = body_of(bare, "a world").gravity
            return made.with_params(g=gravity) if made is not bare and not feels else made
    return bare


def _chassis(geometry: Geometry, shape: Shape | None) -> Iterator[Outline]:
    """Convex pieces of the body."""
    if shape is not None:
        yield from shape.parts
        return
    for outline in geometry.outlines:
        yield from convex_parts(cleaned(outline))


def _turning(geometry: Geometry, first: int) -> Iterator[TurningPart]:
    """Wheels that steer, and what is towed; `first` is the number of the first wheel."""
    for k, wheel in enumerate(geometry.wheels):
        if wheel.steer:
            at = (wheel.x, wheel.y)
            yield TurningPart(wheel.steer, first + k, at, _rectangle(wheel), wheel.yaw)
    trailer, number = geometry.trailer, first + len(geometry.wheels)
    if trailer is None:
        return
    wheels = (_wheel_outline(wheel) for wheel in trailer.wheels)
    for outline in (*trailer.outlines, *wheels):
        behind = tuple((x - trailer.drawbar, y) for x, y in outline)
        for piece, _ in solid_parts(convex_parts(cleaned(behind)), CHASSIS):
            corners = tuple(piece)
            yield TurningPart(trailer.angle, number, (trailer.hitch_x, 0.0), corners, trails=True)
            number += 1


def _wheel_outline(wheel: Wheel) -> Outline:
    """A wheel on its vehicle, not steered."""
    return _turned((wheel.x, wheel.y), _rectangle(wheel), wheel.yaw)


def _rectangle(wheel: Wheel) -> Outline:
    a, b = wheel.radius, 0.5 * wheel.width
    return ((-a, -b), (a, -b), (a, b), (-a, b))


def _turned(pivot: Point, corners: Outline, angle: rad) -> Outline:
    c, s = cos(angle), sin(angle)
    return tuple(moved(c, s, *pivot, *corner) for corner in corners)
