"""Vehicles and solids of a scene, built for a world: to be stepped, touched and checked.

`built_vehicle` makes the vehicle of a spec; `fill` puts everything that can be touched into the
contact solver, in the order of names, so that the order of elements in a file does not matter;
`warn_of_overlaps` names things that lie in each other at the start, which the solver would drive
apart with a jerk.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import cos, hypot, sin
from typing import NamedTuple

import numpy as np

from ... import vehicles
from ...core.arrays import Array
from ...core.body import Geometry, Outline, Point, Wheel, body_of
from ...core.model import Vehicle, vehicle_of
from ...geometry.maps.map import border_segments
from ...geometry.polygon import cleaned, convex_parts, line_edges
from ...geometry.pose import moved, rotated, to_world
from ...road.road import Road
from ...units import m, m_s2, rad
from ...vehicles import wheeled
from ...vehicles.command_driven.records import NAMES as COMMAND_DRIVEN
from ...vehicles.variants import off_road, what_it_lacks
from ...vehicles.wheeled.description import Description
from ..contact.solids import (
    WALL,
    Inertia,
    Moving,
    Part,
    Points,
    Pushed,
    Surface,
    is_climbed,
    solid_parts,
    standing_parts,
)
from ..contact.solver import Contacts, Span
from ..scene import (
    ActorSpec,
    BlockSpec,
    JointSpec,
    OccupancyGrid,
    OwnDynamics,
    Scene,
    VehicleSpec,
    WorldWarning,
)
from .animation import actor_pose

CHASSIS = Surface(friction=0.0, restitution=0.01)
WHEEL = Surface(friction=0.5, restitution=0.05, skin=0.01)
"""How upstream's vehicles feel to touch; wheels have the skin that Box2D gives by itself."""


class TurningPart(NamedTuple):
    """A part of a vehicle that turns about a point of it: a steered wheel, a trailer."""

    field: str
    """Field of the state or the outputs with its angle on the vehicle."""
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
    ahead: tuple[tuple[str, Point], ...] = ()
    """Angle and pivot of each trailer between it and the vehicle; `pivot` is then on the last."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of its angles from the vehicle back."""
        return (*(field for field, _ in self.ahead), self.field)

    def outline(self, *angles: rad) -> Outline:
        """Corners of the part on the vehicle at these angles."""
        corners = _turned(self.pivot, self.corners, angles[-1])
        for (_, pivot), angle in zip(self.ahead[::-1], angles[-2::-1], strict=True):
            corners = _turned(pivot, corners, angle)
        return corners

    @property
    def reach(self) -> m:
        """Largest distance from the reference point, at whatever angle."""
        ways = (hypot(*pivot) for pivot in (self.pivot, *(pivot for _, pivot in self.ahead)))
        return sum(ways) + max(hypot(x, y) for x, y in self.corners)


class BuiltVehicle(NamedTuple):
    """A vehicle of a scene, ready to be stepped and touched."""

    vehicle: Vehicle
    """The vehicle, with the outlines of the scene where it has some."""
    geometry: Geometry
    height: m
    parts: tuple[Part, ...]
    turning: tuple[TurningPart, ...]
    inertia: Inertia
    radius: m
    """Largest distance of its outline from the reference point."""
    set_point: dict[str, float]
    """The reference of its controller at the start."""


def built_vehicle(
    spec: VehicleSpec, compat: str | None, gravity: m_s2, road: Road | None = None
) -> BuiltVehicle:
    """The vehicle of a spec, on as much of a road as its model takes.

    Descriptions of wheeled robots hold the gravity already.
    """
    shape, set_point = spec.shape, dict[str, float]()
    if isinstance(spec.dynamics, Description):
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
    chassis = (
        [piece for outline in geometry.outlines for piece in convex_parts(cleaned(outline))]
        if shape is None
        else shape.parts
    )
    parts = solid_parts(chassis, CHASSIS)
    turning = [*_turning(geometry, len(parts))]
    parts += [Part(_wheel_outline(wheel), WHEEL) for wheel in geometry.wheels]
    trailing = [part for part in turning if part.trails]
    parts += [Part(part.outline(*[0.0] * len(part.fields)), CHASSIS) for part in trailing]
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
    options = {"compat": compat} if name in COMMAND_DRIVEN else {}
    vehicle = vehicles.get(name)(params, **options)
    feels = body_of(vehicle, "a world").gravity
    return vehicle.with_params({feels: gravity}) if feels and feels not in params else vehicle


def _on_road(vehicle: Vehicle, road: Road, gravity: m_s2) -> Vehicle:
    """The vehicle on as much of a road as its model takes: all, its heights alone, or nothing."""
    bare = off_road(vehicle)
    for part in (road, Road(road.surface)):
        if not what_it_lacks(bare, part.record):
            made = vehicles.on_road(bare, part)
            feels = body_of(bare, "a world").gravity
            return made.with_params(g=gravity) if made is not bare and not feels else made
    return bare


def _turning(geometry: Geometry, first: int) -> Iterator[TurningPart]:
    """Wheels that steer, and what is towed; `first` is the number of the first wheel."""
    for k, wheel in enumerate(geometry.wheels):
        if wheel.steer:
            at = (wheel.x, wheel.y)
            yield TurningPart(wheel.steer, first + k, at, _rectangle(wheel), wheel.yaw)
    number, ahead, way = first + len(geometry.wheels), tuple[tuple[str, Point], ...](), 0.0
    for trailer in geometry.trailers:
        wheels = (_wheel_outline(wheel) for wheel in trailer.wheels)
        pivot = (trailer.hitch_x - way, 0.0)
        for outline in (*trailer.outlines, *wheels):
            behind = tuple((x - trailer.drawbar, y) for x, y in outline)
            for piece, _ in solid_parts(convex_parts(cleaned(behind)), CHASSIS):
                corners = tuple(piece)
                yield TurningPart(trailer.angle, number, pivot, corners, 0.0, True, ahead)
                number += 1
        ahead, way = (*ahead, (trailer.angle, pivot)), trailer.drawbar


def _wheel_outline(wheel: Wheel) -> Outline:
    """A wheel on its vehicle, not steered."""
    return _turned((wheel.x, wheel.y), _rectangle(wheel), wheel.yaw)


def _rectangle(wheel: Wheel) -> Outline:
    a, b = wheel.radius, 0.5 * wheel.width
    return ((-a, -b), (a, -b), (a, b), (-a, b))


def _turned(pivot: Point, corners: Outline, angle: rad) -> Outline:
    c, s = cos(angle), sin(angle)
    return tuple(moved(c, s, *pivot, *corner) for corner in corners)


def initial_motion(spec: VehicleSpec | BlockSpec) -> Moving:
    """Pose and velocity in world axes at the start."""
    pose, v = spec.pose, spec.velocity
    v_x, v_y = v.v_x, v.v_y
    if v.frame == "body":
        v_x, v_y = rotated(v_x, v_y, pose.yaw)
    return Moving(pose.x, pose.y, pose.yaw, v_x, v_y, v.omega)


def fill(contacts: Contacts, scene: Scene, built: Mapping[str, BuiltVehicle]) -> None:
    """Put a scene into a world of contacts that has nothing in it yet."""
    for spec in sorted(scene.vehicles, key=lambda spec: spec.name):
        vehicle = built[spec.name]
        imposed = body_of(vehicle.vehicle, "a world").imposed
        start = initial_motion(spec)
        contacts.add_vehicle(spec.name, vehicle.parts, start, vehicle.inertia, imposed=imposed)
    climbed = {block.name for block in scene.blocks if is_climbed(block, scene)}
    # Upstream's animated blocks are put from place to place, and push nothing on.
    driven = {b.name for b in scene.blocks if b.animation and scene.compat != "upstream"}
    for name, parts, pose in sorted(standing_parts(scene), key=lambda thing: thing[0]):
        kind = {"climbed": name in climbed, "driven": name in driven}
        contacts.add_static(name, parts, pose, **kind)
    grids = [element for element in scene.elements if isinstance(element, OccupancyGrid)]
    for k, grid in enumerate(grids):
        surface = Surface(grid.lateral_friction, grid.restitution)
        name = "grid" if k == 0 else f"grid_{k + 1}"
        contacts.add_walls(name, border_segments(grid.grid), surface)
    for block in sorted(scene.blocks, key=lambda block: block.name):
        if not (block.intangible or block.static):
            surface = Surface(block.lateral_friction, block.restitution)
            parts = solid_parts(block.shape.parts, surface)
            damping = block.linear_damping, block.angular_damping
            pushed = Pushed(block.mass, block.ground_friction, block.shape.radius, *damping)
            start, onto = initial_motion(block), block.name in climbed
            contacts.add_block(block.name, parts, start, pushed, climbed=onto)
    for actor in sorted(scene.actors, key=lambda actor: actor.name):
        contacts.add_static(actor.name, [_circle(actor)], actor_pose(actor, 0.0), driven=True)
    for joint in sorted(scene.joints, key=lambda j: (*_ends(j)[:2], j.kind, *_ends(j)[2:])):
        if joint.kind == "revolute":
            limits = (joint.lower_angle, joint.upper_angle) if joint.enable_limit else None
            contacts.add_hinge(*_ends(joint), limits)
        else:
            span = Span(joint.min_length, joint.max_length, joint.stiffness, joint.damping)
            contacts.add_distance(*_ends(joint), span)


def _circle(actor: ActorSpec) -> Part:
    """Outline of an actor."""
    r = actor.collision_radius
    return Part([(r * cos(a), r * sin(a)) for a in (np.arange(8) * np.pi / 4).tolist()])


def _ends(joint: JointSpec) -> tuple[str, str, Point, Point]:
    return joint.body_a, joint.body_b, joint.anchor_a, joint.anchor_b


DEEP: m = 0.005
"""Depth of overlap up to which things only touch."""
_MOST_NAMED = 12
"""Pairs that a warning names."""


class Solid(NamedTuple):
    """Something of a scene that can be touched, where it is at the start."""

    name: str
    pieces: list[Array]
    """Convex outlines in the world."""
    moves: bool
    climbed: bool = False
    is_vehicle: bool = False

    @property
    def box(self) -> tuple[m, m, m, m]:
        """Least x and y, largest x and y."""
        corners = np.concatenate(self.pieces)
        return (*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist())


def warn_of_overlaps(
    scene: Scene, built: Mapping[str, BuiltVehicle], meet: Callable[[str, str], bool]
) -> None:
    """Name the pairs that lie in each other at the start, in one warning.

    `meet` says whether two things are at the same height.
    """
    joined = {frozenset((joint.body_a, joint.body_b)) for joint in scene.joints}
    pairs = [
        f"{a} and {b} by {depth:.2g} m"
        for a, b, depth in overlaps(scene, built)
        if meet(a, b) and frozenset((a, b)) not in joined
    ]
    grids = [e.grid for e in scene.elements if isinstance(e, OccupancyGrid)]
    for one in sorted(solids(scene, built), key=lambda one: one.name) if grids else ():
        # A corner or the middle of a piece.
        middle = [piece.mean(axis=0, keepdims=True) for piece in one.pieces]
        points = np.concatenate([*one.pieces, *middle])
        if one.moves and any(grid.at(points).any() for grid in grids):
            pairs.append(f"{one.name} and an occupied cell")
    if pairs:
        more = f" and {len(pairs) - _MOST_NAMED} more" if len(pairs) > _MOST_NAMED else ""
        text = "; ".join(pairs[:_MOST_NAMED]) + more
        warnings.warn(
            WorldWarning(
                f"in each other at the start, and driven apart by the first steps: {text}"
            ),
            stacklevel=4,
        )


def overlaps(scene: Scene, built: Mapping[str, BuiltVehicle]) -> Iterator[tuple[str, str, m]]:
    """Names of things that lie in each other at the start, and how far."""
    them = sorted(solids(scene, built), key=lambda one: one.name)
    if len(them) < 2:
        return
    boxes = np.array([one.box for one in them])
    for k, one in enumerate(them):
        rest = boxes[k + 1 :]
        near = (rest[:, :2] < boxes[k, 2:] - DEEP) & (rest[:, 2:] > boxes[k, :2] + DEEP)
        for j in (np.flatnonzero(near.all(axis=1)) + k + 1).tolist():
            other = them[j]
            driven_onto = (one.climbed and other.is_vehicle) or (other.climbed and one.is_vehicle)
            if not driven_onto and (one.moves or other.moves):
                depth = max(_depth(a, b) for a in one.pieces for b in other.pieces)
                if depth > DEEP:
                    yield one.name, other.name, depth


def solids(scene: Scene, built: Mapping[str, BuiltVehicle]) -> Iterator[Solid]:
    """Everything of a scene that can be touched, but for occupied cells."""
    for spec in scene.vehicles:
        outlines = [part.outline for part in built[spec.name].parts]
        pieces = _at(initial_motion(spec), outlines)
        yield Solid(spec.name, pieces, moves=True, is_vehicle=True)
    climbed = {block.name for block in scene.blocks if is_climbed(block, scene)}
    for name, parts, pose in standing_parts(scene):
        pieces = _at(pose, [part.outline for part in parts])
        yield Solid(name, pieces, moves=False, climbed=name in climbed)
    for block in scene.blocks:
        if not (block.intangible or block.static):
            outlines = [part.outline for part in solid_parts(block.shape.parts, WALL)]
            pieces = _at(initial_motion(block), outlines)
            yield Solid(block.name, pieces, moves=True, climbed=block.name in climbed)
    for actor in scene.actors:
        pieces = _at(actor_pose(actor, 0.0), [_circle(actor).outline])
        yield Solid(actor.name, pieces, moves=False)


def _at(pose: Moving, outlines: list[Points]) -> list[Array]:
    return [np.array([to_world(pose[:3], x, y) for x, y in outline]) for outline in outlines]


def _depth(a: Array, b: Array) -> m:
    """How far two convex outlines lie in each other; negative: they are apart.

    The least overlap of their shadows along the normals of their edges (separating axes).
    """
    least = np.inf
    for ring in (a, b):
        for x0, y0, x1, y1 in line_edges(np.concatenate([ring, ring[:1]])).tolist():
            length = hypot(x1 - x0, y1 - y0) or 1.0
            normal = np.array([y1 - y0, x0 - x1]) / length
            in_a, in_b = a @ normal, b @ normal
            least = min(least, in_a.max() - in_b.min(), in_b.max() - in_a.min())
            if least <= DEEP:
                return float(least)
    return float(least)
