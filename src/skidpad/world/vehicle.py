"""Vehicles of a world: user interface, vehicles that follow a path, construction from a scene.

`built_vehicle` makes the vehicle of a spec; `fill` adds all solids to the contact solver, in the
order of names, so that the order of elements in a file does not matter; `warn_of_overlaps` names
bodies that overlap at the start, which the solver would separate with a jerk. `keyframe_pose` moves
animated blocks, `actor_pose` the actors on their paths of waypoints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import atan, atan2, copysign, cos, fmod, hypot, pi, sin
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import vehicles
from ..control import keyboard
from ..control.pure_pursuit import arc
from ..core import record
from ..core.arrays import Array
from ..core.body import Demand, Geometry, Outline, Point, Velocity, Wheel, body_of
from ..core.body import Pose as PlanarPose
from ..core.checks import instance_of
from ..core.model import Vehicle, vehicle_of
from ..geometry.line import arc_length
from ..geometry.maps.map import border_segments
from ..geometry.polygon import cleaned, convex_parts, line_edges, rectangle
from ..geometry.pose import moved, placed, rotated, to_body, to_world
from ..road.road import Road
from ..run.arguments import AngleEnd, angle_ends, check_row
from ..units import m, m_s, m_s2, rad, rad_s, s
from ..vehicles import wheeled
from ..vehicles.registry import COMMAND_DRIVEN
from ..vehicles.variants import off_road, what_it_lacks
from ..vehicles.wheeled.description import Description
from . import scene as specs
from .contact import solids as bodies
from .contact.solids import Moving, Part, Points, Surface, is_climbed, solid_parts, standing_parts
from .contact.solver import Contacts, Span
from .motion import Bodies, check_sizes
from .scene import ActorSpec, Keyframe, OccupancyGrid, Pose, Scene, TimedPath, VehicleSpec


class Truth(NamedTuple):
    """True pose and velocity of a vehicle."""

    x: m
    y: m
    z: m
    yaw: rad
    pitch: rad
    roll: rad
    v_x: m_s
    """Longitudinal velocity."""
    v_y: m_s
    """Lateral velocity, positive to the left."""
    omega: rad_s


class Surroundings(Protocol):
    """Interface of a world to its vehicles and sensors; see `World`."""

    @property
    def time(self) -> s: ...
    @property
    def dt(self) -> s: ...
    @property
    def vehicles(self) -> Mapping[str, WorldVehicle]: ...
    def block(self, name: str) -> Moving: ...
    def attitude(self, name: str) -> tuple[m, rad, rad]: ...
    def is_flying(self, name: str) -> bool: ...
    def in_collision(self, name: str) -> bool: ...
    def readings(self, name: str) -> Mapping[str, Any]: ...


class WorldVehicle:
    """A vehicle of a world; `bodies` and `row` locate its state."""

    def __init__(
        self,
        world: Surroundings,
        name: str,
        bodies: Bodies,
        row: int,
        built: BuiltVehicle,
        steps: keyboard.Steps = keyboard.OWN,
    ) -> None:
        self._world, self.name = world, name
        self.bodies, self.row = bodies, row
        self.built = built
        self._steps = steps

    @property
    def vehicle(self) -> Vehicle:
        """Model and initial parameters."""
        return self.built.vehicle

    @cached_property
    def _angles(self) -> tuple[AngleEnd, ...]:
        return angle_ends(self.vehicle)

    @property
    def state(self) -> Any:
        """State record of the vehicle."""
        return self.bodies.group.record("State", self.row)

    @property
    def params(self) -> Any:
        """Current Params record of the vehicle."""
        return self.bodies.group.record("Params", self.row)

    @property
    def truth(self) -> Truth:
        """True pose and velocity of the vehicle's reference point."""
        (x, y, yaw), velocity = self.bodies.motion(self.row)
        z, pitch, roll = self._world.attitude(self.name)
        return Truth(x, y, z, yaw, pitch, roll, *velocity)

    @property
    def input(self) -> Any:
        """Current Input record of the vehicle."""
        return self.bodies.group.record("Input", self.row)

    def command(self, command: Any = None, /, **fields: float) -> Any:
        """Set the vehicle's command from now on; returns the Input record. Fields that are not
        named keep their values.

        An angle beyond twice the range of its actuator is rejected, as it may be in degrees; so is
        any number beyond 1e7 in SI units.
        """
        group = self.bodies.group
        inputs = record.build(group.model.Input, command, base=self.input, **fields)
        check_sizes(f"input of {self.name}", inputs)
        row = record.flatten(inputs)
        check_row(self._angles, row)
        group.inputs[self.row] = row
        return inputs

    def drive(self, demand: Demand) -> Any:
        """Set the command that meets a demand from the vehicle's current state; returns the Input
        record."""
        instance_of("demand", demand, Demand)
        check_sizes(f"demand for {self.name}", demand)
        return self.command(self.bodies.body.command(self.state, demand, self.params))

    def press(self, key: str) -> Any:
        """Change the vehicle's command as a key press does; returns the Input record.

        w and s: faster and slower, a and d: to the left and right, space: stop; `control.keyboard`
        has the steps. Inputs stay within the vehicle's limits.
        """
        inputs = keyboard.pressed(self.input, key, self._steps)
        ranges = self.bodies.body.limits(self.params).inputs
        within = {
            name: min(max(getattr(inputs, name), low), high) for name, (low, high) in ranges.items()
        }
        return self.command(inputs._replace(**within))

    def outputs(self) -> Any:
        """Outputs record of the vehicle, such as loads and slip of its wheels."""
        return self.bodies.group.outputs(self.row)

    @property
    def sensors(self) -> Mapping[str, Any]:
        """Latest readings of the vehicle's sensors by name; None before the first reading.

        The entry of a sensor that is not simulated is a `NotSimulated`, which is false and gives
        the reason.
        """
        return self._world.readings(self.name)

    @property
    def in_collision(self) -> bool:
        """Whether the vehicle touches a body or is within the file's collision_threshold of one."""
        return self._world.in_collision(self.name)

    def __repr__(self) -> str:
        t = self.truth
        return f"<{self.name}: x = {t.x:.2f} m, y = {t.y:.2f} m, yaw = {t.yaw:.2f} rad>"


_ARRIVED: m = 1e-3
"""Distance of the look-ahead point below which its direction is undefined."""
_SPEED_TIME: s = 0.5
"""Time constant in which vehicles that take acceleration commands reach the speed of the
path."""


class Route:
    """A timed path, and the pure pursuit that follows it.

    As upstream's `PoseTrajectoryFollower` (MVSim after 1.2): the speed is the current speed of
    the path, and pure pursuit (Coulter, CMU-RI-TR-92-01) gives the yaw rate of the circle
    through a point further along the path. The look-ahead is measured from the path's point at
    the current time, not from the vehicle, so that a vehicle inside of a corner does not skip a
    part of the path.
    """

    def __init__(self, path: TimedPath) -> None:
        self._path = path
        self._times, x, y = (
            np.array(column, dtype=float) for column in zip(*path.points, strict=True)
        )
        self._places = np.column_stack([x, y])
        self._lengths = arc_length(self._places)

    def twist(self, time: s, x: m, y: m, yaw: rad) -> tuple[m_s, rad_s]:
        """Speed and yaw rate that steer a vehicle at a pose."""
        along, speed = self._at(time)
        if speed == 0.0:
            return 0.0, 0.0
        ahead, left = to_body((x, y, yaw), *self._point(along + self._path.lookahead))
        if hypot(ahead, left) < _ARRIVED:
            return speed, 0.0
        omega = speed * arc(ahead, left, _ARRIVED)
        limit = self._path.omega_max
        if limit > 0.0 and abs(omega) > limit:
            # Limit the speed rather than the curvature, so that the vehicle stays on the circle.
            return speed * limit / abs(omega), copysign(limit, omega)
        return speed, omega

    def demand(self, time: s, pose: PlanarPose, velocity: Velocity, wheel_base: m) -> Demand:
        """Demand that leads a vehicle along the path, for any kind of command."""
        v, omega = self.twist(time, *pose)
        steer = atan(wheel_base * omega / v) if v else 0.0
        return Demand(steer=steer, a=(v - velocity.v_x) / _SPEED_TIME, v=v, omega=omega)

    def _at(self, time: s) -> tuple[m, m_s]:
        """Distance along the path and speed at a time."""
        first, last = self._times[0], self._times[-1]
        if self._path.loop:
            time = first + (time - first) % (last - first)
        elif time >= last:
            return float(self._lengths[-1]), 0.0
        time = max(time, first)
        leg = min(max(int(np.searchsorted(self._times, time)) - 1, 0), len(self._times) - 2)
        duration = self._times[leg + 1] - self._times[leg]
        length = self._lengths[leg + 1] - self._lengths[leg]
        share = (time - self._times[leg]) / duration
        return float(self._lengths[leg] + share * length), float(length / duration)

    def _point(self, along: m) -> tuple[m, m]:
        """Point of the path at a distance along it."""
        total = float(self._lengths[-1])
        along = fmod(along, total) if self._path.loop else min(along, total)
        x, y = (float(np.interp(along, self._lengths, column)) for column in self._places.T)
        return x, y


class Following:
    def __init__(self, scene: Scene, vehicles: Mapping[str, WorldVehicle]) -> None:
        self._all = [
            (vehicles[spec.name], Route(spec.path))
            for spec in scene.vehicles
            if spec.path is not None
        ]

    def command(self, time: s) -> None:
        """Command each vehicle to follow its path from its current pose."""
        for vehicle, route in self._all:
            motion = vehicle.bodies.motion(vehicle.row)
            vehicle.drive(route.demand(time, *motion, vehicle.built.geometry.wheel_base))


def keyframe_pose(initial: Pose, frames: Sequence[Keyframe], time: s) -> Moving:
    """Motion of an animated object: its initial pose displaced by the keyframes, in a loop."""
    a, b, share = _between(frames, time)
    x = a.x + share * (b.x - a.x)
    y = a.y + share * (b.y - a.y)
    # Interpolate angles the shorter way round.
    turn = (b.yaw - a.yaw + pi) % (2.0 * pi) - pi
    start = initial.x, initial.y, initial.yaw
    return Moving(*placed(start, (x, y, a.yaw + share * turn)))


def keyframe_height(frames: Sequence[Keyframe], time: s) -> m:
    """Height of an animated object above its initial pose."""
    a, b, share = _between(frames, time)
    return a.z + share * (b.z - a.z)


def _between(frames: Sequence[Keyframe], time: s) -> tuple[Pose, Pose, float]:
    """Keyframe poses before and after a time, and the fraction of the interval that has passed."""
    last = frames[-1].time
    now = time % last if last > 0.0 else 0.0
    at = max((k for k, frame in enumerate(frames) if frame.time <= now), default=0)
    a, b = frames[at], frames[min(at + 1, len(frames) - 1)]
    span = b.time - a.time
    return a.pose, b.pose, max((now - a.time) / span, 0.0) if span > 0.0 else 0.0


def actor_pose(actor: ActorSpec, time: s) -> Moving:
    """Motion of an actor on its path: straight from waypoint to waypoint, with its pauses."""
    legs, total = _legs(actor)
    if not legs or total <= 0.0:
        return Moving(actor.pose.x, actor.pose.y, actor.pose.yaw)
    now = time % total if actor.loop else min(time, total)
    for start, end, begin, arrive, leave, speed in legs:
        if now <= arrive:
            share = (now - begin) / (arrive - begin) if arrive > begin else 1.0
            heading = atan2(end.y - start.y, end.x - start.x)
            x, y = start.x + share * (end.x - start.x), start.y + share * (end.y - start.y)
            return Moving(x, y, heading, speed * cos(heading), speed * sin(heading))
        if now <= leave:
            return Moving(end.x, end.y, end.yaw)
    end = legs[-1][1]
    return Moving(end.x, end.y, end.yaw)


def _legs(actor: ActorSpec) -> tuple[list[tuple[Pose, Pose, s, s, s, float]], s]:
    """Legs of a path: start, end, times of departure, arrival and continuation, and speed of each;
    and the total time."""
    legs: list[tuple[Pose, Pose, s, s, s, float]] = []
    at, time = actor.pose, 0.0
    for stop in actor.path:
        speed = actor.running_speed if stop.animation == "run" else actor.walking_speed
        arrive = time + hypot(stop.pose.x - at.x, stop.pose.y - at.y) / speed
        legs.append((at, stop.pose, time, arrive, arrive + stop.pause, speed))
        at, time = stop.pose, arrive + stop.pause
    if actor.loop and legs:
        arrive = time + hypot(actor.pose.x - at.x, actor.pose.y - at.y) / actor.walking_speed
        legs.append((at, actor.pose, time, arrive, arrive, actor.walking_speed))
        time = arrive
    return legs, time


CHASSIS = Surface(friction=0.0, restitution=0.01)
WHEEL = Surface(friction=0.5, restitution=0.05, skin=0.01)
"""Contact surface of upstream's vehicles; the skin of wheels is Box2D's default."""


class TurningPart(NamedTuple):
    """A part of a vehicle that turns about a pivot: a steered wheel or a trailer."""

    field: str
    """Field of the state or the outputs with its angle on the vehicle."""
    number: int
    """Index among the vehicle's parts."""
    pivot: Point
    """Pivot in the frame of the vehicle."""
    corners: Outline
    """Corners relative to the pivot, at angle 0."""
    start: rad = 0.0
    """Angle at which it is built."""
    trails: bool = False
    """Whether the part is a trailer; lidars see a trailer at its current angle."""
    ahead: tuple[tuple[str, Point], ...] = ()
    """Angle field and pivot of each trailer between this part and the vehicle; `pivot` is then on
    the last of them."""

    @property
    def fields(self) -> tuple[str, ...]:
        """State fields of the part's angles, ordered from the vehicle backwards."""
        return (*(field for field, _ in self.ahead), self.field)

    def outline(self, *angles: rad) -> Outline:
        """Corners of the part in the frame of the vehicle at these angles."""
        corners = _turned(self.pivot, self.corners, angles[-1])
        for (_, pivot), angle in zip(self.ahead[::-1], angles[-2::-1], strict=True):
            corners = _turned(pivot, corners, angle)
        return corners

    @property
    def reach(self) -> m:
        """Largest distance from the reference point at any angle."""
        ways = (hypot(*pivot) for pivot in (self.pivot, *(pivot for _, pivot in self.ahead)))
        return sum(ways) + max(hypot(x, y) for x, y in self.corners)


class BuiltVehicle(NamedTuple):
    """A vehicle of a scene, ready for stepping and contacts."""

    vehicle: Vehicle
    """The vehicle, with the outlines of the scene if there are any."""
    geometry: Geometry
    height: m
    parts: tuple[Part, ...]
    turning: tuple[TurningPart, ...]
    inertia: bodies.Inertia
    radius: m
    """Largest distance of its outline from the reference point."""
    set_point: dict[str, float]
    """Initial set-points of its controller."""


Built = Mapping[str, BuiltVehicle]
"""Vehicles of a scene by name."""


def built_vehicle(
    spec: VehicleSpec, compat: str | None, gravity: m_s2, road: Road | None = None
) -> BuiltVehicle:
    """Vehicle of a spec, on as much of a road as its model supports.

    Descriptions of wheeled robots already include gravity.
    """
    shape, set_point = spec.shape, dict[str, float]()
    if isinstance(spec.dynamics, Description):
        vehicle = wheeled.vehicle(spec.dynamics, compat)
        set_point |= spec.dynamics.control.set_point
    else:
        vehicle = _own(spec.dynamics, compat, gravity)
        # If the chassis has no shape, the outline is not taken from it.
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
        bodies.Inertia(geometry.mass, com_x, com_y, geometry.inertia),
        max([*corners, *(part.reach for part in turning)]),
        set_point,
    )


def _own(dynamics: specs.OwnDynamics | Vehicle, compat: str | None, gravity: m_s2) -> Vehicle:
    """Vehicle of a skidpad dynamics class, with the world's gravity; a `Vehicle` is returned
    unchanged.
    """
    if not isinstance(dynamics, specs.OwnDynamics):
        body_of(vehicle_of(dynamics), "a world")
        return dynamics
    name, params = dynamics.name, dict(dynamics.parameters)
    options = {"compat": compat} if name in COMMAND_DRIVEN else {}
    vehicle = vehicles.get(name)(params, **options)
    feels = body_of(vehicle, "a world").gravity
    return vehicle.with_params({feels: gravity}) if feels and feels not in params else vehicle


def _on_road(vehicle: Vehicle, road: Road, gravity: m_s2) -> Vehicle:
    """A vehicle on as much of a road as its model supports: heights and grip, heights only, or
    nothing."""
    bare = off_road(vehicle)
    for part in (road, Road(road.surface)):
        if not what_it_lacks(bare, part.record):
            made = vehicles.on_road(bare, part)
            feels = body_of(bare, "a world").gravity
            return made.with_params(g=gravity) if made is not bare and not feels else made
    return bare


def _turning(geometry: Geometry, first: int) -> Iterator[TurningPart]:
    """Steered wheels and trailers; `first` is the index of the first wheel."""
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
    """Outline of a wheel on its vehicle, unsteered."""
    return _turned((wheel.x, wheel.y), _rectangle(wheel), wheel.yaw)


def _rectangle(wheel: Wheel) -> Outline:
    a, b = wheel.radius, 0.5 * wheel.width
    return rectangle(-a, a, -b, b)


def _turned(pivot: Point, corners: Outline, angle: rad) -> Outline:
    c, s = cos(angle), sin(angle)
    return tuple(moved(c, s, *pivot, *corner) for corner in corners)


def initial_motion(spec: VehicleSpec | specs.BlockSpec) -> Moving:
    """Initial pose and velocity in world axes."""
    pose, v = spec.pose, spec.velocity
    v_x, v_y = v.v_x, v.v_y
    if v.frame == "body":
        v_x, v_y = rotated(v_x, v_y, pose.yaw)
    return Moving(pose.x, pose.y, pose.yaw, v_x, v_y, v.omega)


def fill(contacts: Contacts, scene: Scene, built: Built) -> None:
    """Add a scene to an empty world of contacts."""
    for spec in sorted(scene.vehicles, key=lambda spec: spec.name):
        vehicle = built[spec.name]
        imposed = body_of(vehicle.vehicle, "a world").imposed
        start = initial_motion(spec)
        contacts.add_vehicle(spec.name, vehicle.parts, start, vehicle.inertia, imposed=imposed)
    climbed = {block.name for block in scene.blocks if is_climbed(block, scene)}
    # Upstream teleports animated blocks from pose to pose, so they do not push other bodies.
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
            pushed = bodies.Pushed(block.mass, block.ground_friction, block.shape.radius, *damping)
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
    r = actor.collision_radius
    return Part([(r * cos(a), r * sin(a)) for a in (np.arange(8) * np.pi / 4).tolist()])


def _ends(joint: specs.JointSpec) -> tuple[str, str, Point, Point]:
    return joint.body_a, joint.body_b, joint.anchor_a, joint.anchor_b


DEEP: m = 0.005
"""Depth of overlap up to which bodies only touch."""


class Solid(NamedTuple):
    """A solid of a scene at its initial pose."""

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


def warn_of_overlaps(scene: Scene, built: Built, meet: Callable[[str, str], bool]) -> None:
    """Warn of pairs that overlap at the start, in one warning.

    `meet` returns whether the height ranges of two bodies overlap.
    """
    joined = {frozenset((joint.body_a, joint.body_b)) for joint in scene.joints}
    pairs = [
        f"{a} and {b} by {depth:.2g} m"
        for a, b, depth in overlaps(scene, built)
        if meet(a, b) and frozenset((a, b)) not in joined
    ]
    grids = [e.grid for e in scene.elements if isinstance(e, OccupancyGrid)]
    for one in sorted(solids(scene, built), key=lambda one: one.name) if grids else ():
        # Test the corners and the middle of each piece.
        middle = [piece.mean(axis=0, keepdims=True) for piece in one.pieces]
        points = np.concatenate([*one.pieces, *middle])
        if one.moves and any(grid.at(points).any() for grid in grids):
            pairs.append(f"{one.name} and an occupied cell")
    if pairs:
        text = "in each other at the start, and driven apart by the first steps"
        specs.warn(f"{text}: {specs.first_of(pairs, '; ')}", stacklevel=4)


def overlaps(scene: Scene, built: Built) -> Iterator[tuple[str, str, m]]:
    """Names of bodies that overlap at the start, and the depth."""
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


def solids(scene: Scene, built: Built) -> Iterator[Solid]:
    """All solids of a scene except occupied cells."""
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
            outlines = [part.outline for part in solid_parts(block.shape.parts, bodies.WALL)]
            pieces = _at(initial_motion(block), outlines)
            yield Solid(block.name, pieces, moves=True, climbed=block.name in climbed)
    for actor in scene.actors:
        pieces = _at(actor_pose(actor, 0.0), [_circle(actor).outline])
        yield Solid(actor.name, pieces, moves=False)


def _at(pose: Moving, outlines: list[Points]) -> list[Array]:
    return [np.array([to_world(pose[:3], x, y) for x, y in outline]) for outline in outlines]


def _depth(a: Array, b: Array) -> m:
    """Penetration depth of two convex outlines; negative if they are apart.

    The depth is the least overlap of the outlines' projections on the normals of their edges
    (separating axes).
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
