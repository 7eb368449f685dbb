"""Contacts and joints, solved by Box2D; only the modules of this package use Box2D.

Vehicles integrate themselves. A vehicle that is near something is put into Box2D for the step, at
the pose before it with the velocity that its own model gives; Box2D advances it, and the change of
velocity is written back into the vehicle's state. Blocks and bodies on joints live in Box2D all
the time. A step in which something moves far compared with its own width is split, so that bodies
do not pass through or into each other (`parts_of_step`, `parts_before_contact`). Box2D is planar;
bodies at different heights are separated by `Floors`.

`Joints` are hinges, ropes, springs and rods, built from the joints of Box2D 2.3. A distance joint
keeps the distance of its two anchors between a least and a largest length. If it has a stiffness k
in N/m, a spring with its largest length as rest length acts in between, with a damping d in N·s/m:
it pushes with k (max_length - length) - d times the rate at which the length grows. Without
stiffness no force acts in between, and the damping has no effect. If both lengths are equal it is a
rigid rod. That is the joint of Box2D 2.4, as upstream sets it up.

Box2D computes in single precision: 5 km from its origin, positions have a resolution of half a
millimetre, and its own margins are a few millimetres. So the `Origin` follows the vehicles in the
solver. It lies on a coarse lattice of whole metres and begins at that of the world; near the
world's origin nothing is shifted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, cos, hypot, inf, pi, remainder, sin, sqrt
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue, require
from ...geometry.polygon import rectangle, signed_area, width_of
from ...geometry.pose import turned
from ...units import kg, m, m_s2, rad, s
from ..scene import Inventory
from . import solids
from .solids import ContactEvent, Inertia, Moving, Part, Point, Points, Pushed, Square, Touches

SLOP: m = 0.005
"""Lengths below this count as 0, as in Box2D."""


Parts = Sequence[Part]


class Ends(NamedTuple):
    """Ends of a joint: two Box2D bodies and the anchors in their frames."""

    body_a: Any
    body_b: Any
    anchor_a: Point
    anchor_b: Point

    def options(self) -> dict[str, Any]:
        """Options of all joints; bodies on a joint do not collide with each other."""
        bodies = {"bodyA": self.body_a, "bodyB": self.body_b, "collideConnected": False}
        return bodies | {"localAnchorA": self.anchor_a, "localAnchorB": self.anchor_b}

    def places(self) -> tuple[Any, Any]:
        """Anchor points in the solver's coordinates."""
        return self.body_a.GetWorldPoint(self.anchor_a), self.body_b.GetWorldPoint(self.anchor_b)

    def length_after(self, dt: s) -> m:
        """Distance of the anchors after a step without constraints."""
        a, b = self.places()
        v_a = self.body_a.GetLinearVelocityFromLocalPoint(self.anchor_a)
        v_b = self.body_b.GetLinearVelocityFromLocalPoint(self.anchor_b)
        return hypot(b.x - a.x + dt * (v_b.x - v_a.x), b.y - a.y + dt * (v_b.y - v_a.y))

    def mass(self) -> kg | None:
        """Effective mass of the bodies along the joint, or None if nothing can move or the length
        is 0."""
        a, b = self.places()
        length = hypot(b.x - a.x, b.y - a.y)
        if length <= SLOP:
            return None
        u = (b.x - a.x) / length, (b.y - a.y) / length
        ease = _ease(self.body_a, a, u) + _ease(self.body_b, b, u)
        return 1.0 / ease if ease > 0.0 else None


class Span(NamedTuple):
    """Limits and spring of a distance joint."""

    min_length: m = 0.0
    max_length: m = 0.0
    stiffness: float = 0.0
    """Stiffness in N/m."""
    damping: float = 0.0
    """Damping in N·s/m."""


@dataclass
class Joints:
    world: Any
    _before: list[Callable[[s], None]] = field(default_factory=list[Callable[[s], None]])

    def hinge(self, ends: Ends, limits: tuple[rad, rad] | None) -> None:
        """Add a pin joint; the angle between the bodies counts from the current one."""
        bounds: dict[str, Any] = {}
        if limits is not None:
            bounds = {"enableLimit": True, "lowerAngle": limits[0], "upperAngle": limits[1]}
        turned = ends.body_b.angle - ends.body_a.angle
        self.world.CreateRevoluteJoint(referenceAngle=turned, **bounds, **ends.options())

    def distance(self, ends: Ends, span: Span) -> None:
        """Add a distance joint between two bodies: a rope, a spring or a rigid rod."""
        least = max(span.min_length, SLOP)
        most = max(span.max_length, least)
        if least == most:
            self.world.CreateDistanceJoint(length=most, **ends.options())
            return
        self.world.CreateRopeJoint(maxLength=most, **ends.options())
        if span.stiffness > 0.0:
            spring = self.world.CreateDistanceJoint(length=most, frequencyHz=1.0, **ends.options())
            self._before.append(_Spring(ends, spring, span.stiffness, span.damping).tune)
        if least > SLOP:
            self._before.append(_Strut(self.world, ends, least).brace)

    def prepare(self, dt: s) -> None:
        """Update springs and struts for a step from the current positions."""
        for act in self._before:
            act(dt)


@dataclass
class _Spring:
    """A soft joint, with frequency and damping ratio set for its effective mass.

    Box2D 2.3 requires these two numbers, which describe a mass m on a spring, where 1/m is the sum
    over both bodies of 1/mass + (r x u)²/I, with the lever arm r and the direction u of the joint.
    """

    ends: Ends
    joint: Any
    stiffness: float
    damping: float

    def tune(self, dt: s) -> None:
        """Set stiffness and damping for the current lever arms."""
        mass = self.ends.mass()
        if mass is not None:
            omega = sqrt(self.stiffness / mass)
            self.joint.frequency = omega / (2.0 * pi)
            self.joint.dampingRatio = self.damping / (2.0 * mass * omega)


@dataclass
class _Strut:
    """One-sided constraint that keeps two anchors at least a length apart.

    It acts as a rod in steps in which the anchors would otherwise come closer, and does nothing in
    others.
    """

    world: Any
    ends: Ends
    length: m
    joint: Any = None

    def brace(self, dt: s) -> None:
        """Insert or remove the rod for the next step."""
        too_near = self.ends.length_after(dt) < self.length
        if too_near and self.joint is None:
            rod = self.world.CreateDistanceJoint(length=self.length, **self.ends.options())
            self.joint = rod
        elif not too_near and self.joint is not None:
            self.world.DestroyJoint(self.joint)
            self.joint = None


def _ease(body: Any, at: Any, u: Point) -> float:
    """Compliance of a body at a point along `u`: displacement per N·s of impulse, in 1/kg."""
    mass = body.mass
    if mass == 0.0:
        return 0.0
    middle, offset = body.worldCenter, body.localCenter
    # Box2D's inertia refers to the body's origin.
    inertia = body.inertia - mass * (offset.x * offset.x + offset.y * offset.y)
    arm = (at.x - middle.x) * u[1] - (at.y - middle.y) * u[0]
    return 1.0 / mass + (arm * arm / inertia if inertia > 0.0 else 0.0)


_LATTICE: m = 1024.0
"""Spacing of the possible origins."""
_FAR: m = 2048.0
"""Largest distance of the vehicles' centre from the origin along an axis."""


class Origin:
    """Origin of a Box2D world in the coordinates of the scene."""

    def __init__(self, world: Any) -> None:
        self._world = world
        self._x, self._y = 0.0, 0.0
        self._standing: dict[int, tuple[Any, Moving]] = {}

    def to_engine(self, x: m, y: m) -> Point:
        """World coordinates converted to solver coordinates."""
        return x - self._x, y - self._y

    def to_world(self, x: m, y: m) -> Point:
        """Solver coordinates converted to world coordinates."""
        return x + self._x, y + self._y

    def keep(self, body: Any, pose: Moving) -> None:
        """Record the exact pose of a fixed body."""
        self._standing[int(body.this)] = body, pose

    def keep_again(self, body: Any, pose: Moving) -> None:
        """Update the recorded pose of a fixed body after a teleport; ignores other bodies."""
        if int(body.this) in self._standing:
            self.keep(body, pose)

    def follow(self, guests: Iterable[Moving]) -> None:
        """Move the origin to the vehicles if they are far away."""
        places = [moving[:2] for moving in guests]
        if not places:
            return
        x, y = (0.5 * (min(values) + max(values)) for values in zip(*places, strict=True))
        if abs(x - self._x) > _FAR or abs(y - self._y) > _FAR:
            self.move(_LATTICE * round(x / _LATTICE), _LATTICE * round(y / _LATTICE))

    def move(self, x: m, y: m) -> None:
        """Move the origin; world coordinates of all bodies stay the same."""
        self._world.ShiftOrigin((x - self._x, y - self._y))
        self._x, self._y = x, y
        for body, pose in self._standing.values():
            body.transform = self.to_engine(pose.x, pose.y), pose.yaw

    @property
    def place(self) -> Point:
        """Position of the solver's origin in the world."""
        return self._x, self._y


THING, VEHICLE, CLIMBED, ALL = 0x1, 0x2, 0x4, 0xFFFF
"""Collision categories of bodies, and a mask of all, for Box2D's filters."""


@dataclass
class SolverBody:
    """A Box2D body, with data that the solver does not have."""

    body: Any
    com: Point = (0.0, 0.0)
    guest: bool = False
    """Whether the body takes part in the solution only while it is near another one."""
    parts: list[Any] = field(default_factory=list[Any])
    """Box2D fixtures of the body, in the order of its parts."""
    stride: m = inf
    """Largest motion per part of a step."""
    imposed: bool = False
    """Whether its motion is imposed in every part of a step."""

    def __post_init__(self) -> None:
        # Views of Box2D's memory are cached: creating a view costs more than reading it.
        self.place: Any = self.body.position
        self.velocity: Any = self.body.linearVelocity

    @property
    def motion(self) -> tuple[Point, float]:
        """Velocity of the body's centre of mass in m/s, and its yaw rate in rad/s."""
        return (self.velocity.x, self.velocity.y), self.body.angularVelocity

    @motion.setter
    def motion(self, motion: tuple[Point, float]) -> None:
        self.body.linearVelocity, self.body.angularVelocity = motion

    def way(self, dt: s) -> m:
        """Distance in m that the body moves in the time `dt`."""
        return dt * hypot(self.velocity.x, self.velocity.y)


def fixtures_of(
    box2d: Any, body: Any, parts: Parts, density: float, climbed: bool = False
) -> list[Any]:
    """Box2D fixtures on a body; vehicles do not collide with a `climbed` one."""
    category, others = (CLIMBED, ALL - VEHICLE) if climbed else (THING, ALL)
    kind = {"density": density, "categoryBits": category, "maskBits": others}
    fixtures: list[Any] = []
    for part in parts:
        try:
            shape = box2d.b2PolygonShape(vertices=[tuple(p) for p in part.outline])
            rubs, bounces, shape.radius = part.surface
            fixture = body.CreateFixture(shape=shape, friction=rubs, restitution=bounces, **kind)
        except AssertionError as error:
            # Box2D's polygons are in single precision.
            corners = np.array([tuple(p) for p in part.outline])
            width, height = np.ptp(corners, axis=0).tolist()
            far = float(np.abs(corners).max())
            raise InvalidValue(
                f"{body.userData}: a part of {width:g} m x {height:g} m, up to {far:g} m from its "
                "origin, cannot collide: its corners must be some mm apart, and not so far away "
                f"that single precision cannot tell them apart ({error})"
            ) from error
        fixtures.append(fixture)
    return fixtures


def stride_of(parts: Parts) -> m:
    """Largest motion allowed per part of a step: a quarter of the width of the widest part.

    After such a motion the centre of a body is still in front of the obstacle that it hit.
    """
    return 0.25 * max(width_of(part.outline) for part in parts)


def is_close(box2d: Any, body: Any, gap: m) -> bool:
    """Whether a body touches another one or is closer to it than `gap`."""
    for edge in body.contacts:
        contact = edge.contact
        if contact.touching or _gap(box2d, contact) < gap:
            return True
    return False


def _gap(box2d: Any, contact: Any) -> m:
    """Distance between the two shapes of a pair, skins included."""
    a, b = contact.fixtureA, contact.fixtureB
    places = {"transformA": a.body.transform, "transformB": b.body.transform}
    return box2d.b2Distance(shapeA=a.shape, shapeB=b.shape, **places, useRadii=True).distance


MOST_PARTS = 1000
"""Most parts of a step."""
IN_SIGHT: m = 0.1
"""Distance at which the solver detects the next potential contact of a body."""
NEARLY: m = 0.005
"""Motion of a body per part of a step in which it comes into contact."""


def parts_of_step(dt: s, moving: Iterable[SolverBody], *, careful: bool) -> int:
    """Number of parts into which a step is divided so that bodies do not pass through each other.

    Box2D's own continuous collision detection misses skins as thin as these.
    """
    most = 1.0
    for kept in moving:
        stride = min(kept.stride, IN_SIGHT) if careful else kept.stride
        most = max(most, kept.way(dt) / stride)
    return min(ceil(most - 1e-6), MOST_PARTS)


def parts_before_contact(box2d: Any, dt: s, moving: Iterable[SolverBody]) -> int:
    """Number of parts into which a step is divided so that a body stops at the obstacle that it
    hits.

    Box2D detects a contact at the end of a step: by then the whole motion may be a penetration, and
    only one of two corners may be held.
    """
    most = 1.0
    for kept in moving:
        way = kept.way(dt)
        if way > most * NEARLY and is_close(box2d, kept.body, way):
            most = way / NEARLY
    return ceil(min(most, IN_SIGHT / NEARLY) - 1e-6)


_TOUCH: m = 1e-3
"""Overlap in height below which one body lies on the other."""
_EVERYWHERE = (-inf, inf)


class Obstacle(str):
    """Name of an obstacle in front of its owner, with the owner's height."""

    owner: str

    def __new__(cls, name: str, owner: str) -> Obstacle:
        """Create a name for an owner."""
        made = super().__new__(cls, name)
        made.owner = owner
        return made


class Floors:
    """Height ranges of bodies by name; a body without a range collides at any height."""

    def __init__(self) -> None:
        self.spans: dict[str, tuple[m, m]] = {}
        """Lowest and highest point of each body."""

    def meet(self, a: str, b: str) -> bool:
        """Whether the height ranges of two bodies overlap."""
        low_a, high_a = self.spans.get(getattr(a, "owner", a), _EVERYWHERE)
        low_b, high_b = self.spans.get(getattr(b, "owner", b), _EVERYWHERE)
        return low_a < high_b - _TOUCH and low_b < high_a - _TOUCH

    def contact_filter(self, box2d: Any) -> Any:
        """Box2D contact filter that decides whether two shapes can touch."""
        floors = self

        class Filter(box2d.b2ContactFilter):
            def ShouldCollide(self, fixture_a: Any, fixture_b: Any) -> bool:
                a, b = fixture_a.filterData, fixture_b.filterData
                if not (a.maskBits & b.categoryBits and a.categoryBits & b.maskBits):
                    return False
                return floors.meet(fixture_a.body.userData, fixture_b.body.userData)

        return Filter()


OBSTACLE = "steep ground"
"""Name of temporary obstacles."""
LEAP = 0.5
"""Motion per step, in m or rad, beyond which a driven body is teleported."""


class Contacts:
    """The bodies of a world with their contacts and joints.

    Args:
        events: queue that receives the beginnings and ends of contacts.
        middle: centre of the world; the solver's origin begins near it.
        gravity: for the friction of blocks on the ground, in m/s².
        velocity_iterations, position_iterations: of the solver.
        careful: split steps into short parts during the last millimetres before a contact.
    """

    def __init__(
        self,
        events: deque[ContactEvent] | None = None,
        middle: Point = (0.0, 0.0),
        gravity: m_s2 = 9.81,
        velocity_iterations: int = 8,
        position_iterations: int = 3,
        *,
        careful: bool = True,
    ) -> None:
        Box2D = require("Box2D", purpose="A world")
        self._box2d: Any = Box2D
        self._world: Any = Box2D.b2World(gravity=(0.0, 0.0), doSleep=True)
        self._ground: Any = self._world.CreateStaticBody(userData="ground")
        self.origin = Origin(self._world)
        """Solver's origin in the world; moving it only affects rounding."""
        self.origin.follow([Moving(*middle, 0.0)])
        self._gravity = gravity
        self._iterations = velocity_iterations, position_iterations
        self._careful = careful
        self._bodies: Inventory[SolverBody] = Inventory("body")
        self._pushed: list[SolverBody] = []
        self._obstacles: dict[str, Any] = {}
        self.floors, self._filter = Floors(), None
        """Heights of the bodies, if known."""
        self._goals: list[tuple[SolverBody, Moving]] = []
        self._inside: set[str] = set()
        self._carried: set[str] = set()
        """Guests (see `SolverBody.guest`) that were teleported since the last step."""
        self._joints = Joints(self._world)
        self.touches = Touches(deque() if events is None else events, self.origin.to_world)
        """Contacts and their events."""
        # Box2D does not keep it alive.
        self._listener = solids.listener(Box2D, self.touches)
        self._world.contactListener = self._listener
        self._within = Box2D.b2Filter(categoryBits=VEHICLE, maskBits=ALL - CLIMBED)
        self._without = Box2D.b2Filter(categoryBits=VEHICLE, maskBits=0)

    def set_heights(self, spans: Mapping[str, tuple[m, m]]) -> None:
        """Restrict contacts to bodies at the same height from now on; see `Floors`.

        Bodies that are not named keep their heights.
        """
        if self._filter is None:
            # Box2D does not keep it alive.
            self._filter = self.floors.contact_filter(self._box2d)
            self._world.contactFilter = self._filter
        self.floors.spans |= spans
        for name in spans:
            for fixture in self._bodies[name].parts if name in self._bodies else ():
                fixture.Refilter()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all bodies that can move or be moved."""
        return tuple(self._bodies)

    def add_static(
        self, name: str, parts: Parts, pose: Moving, *, climbed: bool = False, driven: bool = False
    ) -> None:
        """Add a body that never moves, except by teleports or, if `driven`, by `drive`.

        Vehicles drive over a `climbed` body rather than collide with it.
        """
        create = self._world.CreateKinematicBody if driven else self._world.CreateStaticBody
        body = create(**self._placed(name, pose))
        self.origin.keep(body, pose)
        shapes = fixtures_of(self._box2d, body, parts, 0.0, climbed)
        self._bodies[name] = SolverBody(body, parts=shapes, stride=stride_of(parts))

    def add_walls(self, name: str, segments: Any, surface: solids.Surface = solids.PLAIN) -> None:
        """Add walls of zero thickness: segments (n, 4) in world coordinates."""
        lines = np.asarray(segments, dtype=float).reshape(-1, 4)
        # Place the body at a nearby position that single precision stores exactly.
        x, y = lines.reshape(-1, 2).mean(axis=0) if len(lines) else (0.0, 0.0)
        pose = Moving(float(round(x)), float(round(y)), 0.0)
        body = self._world.CreateStaticBody(**self._placed(name, pose))
        self.origin.keep(body, pose)
        feel = {"friction": surface.friction, "restitution": surface.restitution}
        for x0, y0, x1, y1 in (lines - np.tile(pose[:2], 2)).tolist():
            body.CreateEdgeFixture(vertices=[(x0, y0), (x1, y1)], **feel)

    def add_block(
        self, name: str, parts: Parts, pose: Moving, pushed: Pushed, *, climbed: bool = False
    ) -> None:
        """Add a block that can be pushed; ground friction acts on it at two points."""
        damping = {"linearDamping": pushed.linear_damping, "angularDamping": pushed.angular_damping}
        body = self._world.CreateDynamicBody(**self._placed(name, pose), **damping)
        ground = sum(signed_area(part.outline) for part in parts)
        shapes = fixtures_of(self._box2d, body, parts, pushed.mass / ground, climbed)
        kept = SolverBody(body, tuple(body.localCenter), parts=shapes, stride=stride_of(parts))
        self._bodies[name] = kept
        self._pushed.append(kept)
        self.put(name, pose)
        hold = 0.5 * pushed.ground_friction * pushed.mass * self._gravity
        joint = {"bodyA": self._ground, "bodyB": body, "maxForce": hold, "maxTorque": 0.0}
        for end in ((-pushed.radius, 0.0), (pushed.radius, 0.0)):
            there = body.GetWorldPoint(end)
            self._world.CreateFrictionJoint(localAnchorA=there, localAnchorB=end, **joint)

    def add_vehicle(
        self, name: str, parts: Parts, pose: Moving, inertia: Inertia, *, imposed: bool = False
    ) -> None:
        """Add a vehicle, which has no damping or drive in the solver; see `Body.imposed`."""
        body = self._world.CreateDynamicBody(**self._placed(name, pose))
        shapes = fixtures_of(self._box2d, body, parts, 1.0)
        com = (inertia.com_x, inertia.com_y)
        about_origin = inertia.I_z + inertia.mass * (com[0] * com[0] + com[1] * com[1])
        body.massData = self._box2d.b2MassData(mass=inertia.mass, center=com, I=about_origin)
        stride = stride_of(parts)
        self._bodies[name] = SolverBody(body, com, True, shapes, stride, imposed)
        if imposed and self._careful:
            self.touches.pressing.add(name)
        self._admit(name, within=False)

    def _placed(self, name: str, pose: Moving) -> dict[str, Any]:
        """Options of a body at a pose."""
        at = self.origin.to_engine(pose.x, pose.y)
        return {"position": at, "angle": pose.yaw, "userData": name}

    def obstruct(self, owner: str, squares: Sequence[Square]) -> None:
        """Set the obstacle squares of an owner, replacing the previous ones."""
        body = self._obstacles.get(owner)
        if body is None:
            name = Obstacle(OBSTACLE, owner)
            body = self._obstacles[owner] = self._world.CreateStaticBody(userData=name)
        for fixture in body.fixtures:
            body.DestroyFixture(fixture)
        body.transform = (0.0, 0.0), 0.0
        away = self.origin.to_world(0.0, 0.0)
        for x, y, half, surface, (u, v) in squares:
            # Coordinates relative to the body, which moves with the origin.
            x, y = x - away[0], y - away[1]
            sides = rectangle(-half, half, -half, half)
            corners = [(x + (u * a - v * b), y + (v * a + u * b)) for a, b in sides]
            fixtures_of(self._box2d, body, [Part(corners, surface)], 0.0)

    def outlines(self, name: str) -> list[Points]:
        """Outlines of the parts of a body, in its own frame."""
        return [list(part.shape.vertices) for part in self._bodies[name].parts]

    def reshape(self, name: str, part: int, outline: Points) -> None:
        """Replace the outline of a part; mass and inertia stay. Takes effect with `put`."""
        self._bodies[name].parts[part].shape.vertices = [tuple(p) for p in outline]

    def add_hinge(
        self, a: str, b: str, at_a: Point, at_b: Point, limits: tuple[rad, rad] | None
    ) -> None:
        """Add a hinge between two bodies, which then do not collide with each other."""
        self._joints.hinge(self._ends(a, b, at_a, at_b), limits)

    def add_distance(self, a: str, b: str, at_a: Point, at_b: Point, span: Span) -> None:
        """Add a rope, a spring or a rod between two bodies, which then do not collide with each
        other."""
        self._joints.distance(self._ends(a, b, at_a, at_b), span)

    def _ends(self, a: str, b: str, at_a: Point, at_b: Point) -> Ends:
        for name in (a, b):
            # A body on a joint always takes part in the solution.
            if self._bodies[name].guest:
                self._admit(name, within=True)
                self._inside.add(name)
            self._bodies[name].guest = False
        return Ends(self._bodies[a].body, self._bodies[b].body, at_a, at_b)

    def always_in(self, name: str) -> bool:
        """Whether a body must be part of every step."""
        return not self._bodies[name].guest

    @property
    def restless(self) -> bool:
        """Whether a block moves, or may move."""
        return any(kept.body.awake for kept in self._pushed)

    def put(self, name: str, moving: Moving) -> None:
        """Set pose and velocity of a body, ignoring obstacles."""
        kept = self._bodies[name]
        x, y, yaw, v_x, v_y, omega = moving
        body = kept.body
        body.transform = self.origin.to_engine(x, y), yaw
        self.origin.keep_again(body, moving)
        if body.type != self._box2d.b2_staticBody:
            r_x, r_y = turned(cos(yaw), sin(yaw), *kept.com)
            body.linearVelocity = v_x - omega * r_y, v_y + omega * r_x
            body.angularVelocity = omega

    def drive(self, name: str, goal: Moving, dt: s) -> None:
        """Move a body to a goal during the next step, of length `dt`, regardless of contacts.

        It pushes other bodies with its velocity. Over more than `LEAP` it is teleported.
        """
        kept = self._bodies[name]
        x, y = self.origin.to_engine(goal.x, goal.y)
        d_x, d_y = x - kept.place.x, y - kept.place.y
        turn = remainder(goal.yaw - kept.body.angle, 2.0 * pi)
        leaps = hypot(d_x, d_y) > LEAP or abs(turn) > LEAP
        if leaps or kept.body.type != self._box2d.b2_kinematicBody:
            self.put(name, goal)
            return
        kept.body.linearVelocity, kept.body.angularVelocity = (d_x / dt, d_y / dt), turn / dt
        self._goals.append((kept, goal))

    def _arrive(self) -> None:
        """Set driven bodies exactly to their goals."""
        for kept, goal in self._goals:
            body = kept.body
            body.transform = self.origin.to_engine(goal.x, goal.y), goal.yaw
            self.origin.keep_again(body, goal)
        self._goals.clear()

    def at(self, name: str) -> Moving:
        kept = self._bodies[name]
        place, v, yaw, omega = kept.place, kept.velocity, kept.body.angle, kept.body.angularVelocity
        r_x, r_y = turned(cos(yaw), sin(yaw), *kept.com)
        x, y = self.origin.to_world(place.x, place.y)
        return Moving(x, y, yaw, v.x + omega * r_y, v.y - omega * r_x, omega)

    def places(self, names: Sequence[str]) -> list[Point]:
        """Positions x, y of bodies."""
        them = [self._bodies[name].place for name in names]
        return [self.origin.to_world(place.x, place.y) for place in them]

    def ways(self, names: Sequence[str], dt: s) -> list[Point]:
        """Displacements of bodies in a step at their current velocities."""
        them = [self._bodies[name].velocity for name in names]
        return [(dt * v.x, dt * v.y) for v in them]

    def step(self, dt: s, guests: Mapping[str, Moving], time: s = 0.0) -> dict[str, Moving]:
        """Make a step with these vehicles that ends at `time`; returns their motion after it."""
        # A vehicle remains in the solver while it is near something, so that the solver starts from
        # its previous impulses. Names are sorted, since the order of a set differs between runs.
        for name in sorted(self._inside - guests.keys()):
            self._admit(name, within=False)
        for name in sorted(guests.keys() - self._inside):
            self._admit(name, within=True)
        self._inside, self._carried = set(guests), set()
        self.origin.follow(guests.values())
        for name, moving in guests.items():
            self.put(name, moving)
        self._make(dt, self._in_motion(guests))
        self._arrive()
        self.touches.settle(time)
        return {name: self.at(name) for name in guests}

    def _make(self, dt: s, moving: Sequence[SolverBody]) -> None:
        """Make a step, in as many parts as needed."""
        imposed = [(kept, kept.motion) for kept in moving if kept.imposed and self._careful]
        parts = parts_of_step(dt, moving, careful=self._careful)
        for _ in range(parts):
            fine = parts_before_contact(self._box2d, dt / parts, moving) if self._careful else 1
            for _ in range(fine):
                for kept, motion in imposed:
                    kept.motion = motion
                self._joints.prepare(dt / (parts * fine))
                self._world.Step(dt / (parts * fine), *self._iterations)

    def _in_motion(self, guests: Iterable[str]) -> list[SolverBody]:
        them = (self._bodies[name] for name in guests)
        return [*them, *self._pushed, *(kept for kept, _ in self._goals)]

    def rest(self, time: s) -> None:
        """Account for a step in which no vehicle is near another body and no block moves."""
        self._arrive()
        if not (self._inside or self._carried):
            return
        for name in sorted(self._inside):
            self._admit(name, within=False)
        self.touches.settle(time, gone=self._inside | self._carried)
        self._inside, self._carried = set(), set()

    def _admit(self, name: str, *, within: bool) -> None:
        """Enable the contacts of a guest, or disable them and put it to rest.

        The guest keeps its position in the solver's lists, since their order decides ties.
        """
        kept = self._bodies[name]
        for fixture in kept.parts:
            fixture.filterData = self._within if within else self._without
        if not within:
            kept.body.linearVelocity, kept.body.angularVelocity = (0.0, 0.0), 0.0
        kept.body.awake = within

    @property
    def candidates(self) -> set[str]:
        """Names of the guests that may be `close` to something, and of all touching bodies."""
        return self._inside | self.touches.names

    def close(self, name: str, gap: m) -> bool:
        """Whether a body touches another one or is closer to it than `gap`."""
        kept = self._bodies[name]
        # The solver updates the contacts of a guest only in its next step, which may never come.
        if kept.guest and name not in self._inside:
            return name not in self._carried and name in self.touches.names
        return is_close(self._box2d, kept.body, gap)

    def dismiss(self, name: str) -> None:
        """Disable contacts of a guest until it is passed to a step again."""
        self._carried.discard(name)
        if name in self._inside and self._bodies[name].guest:
            self._admit(name, within=False)
            self._inside.remove(name)

    def carry(self, name: str, moving: Moving) -> None:
        """Teleport a guest, which ends its contacts."""
        self.dismiss(name)
        self.put(name, moving)
        self._carried.add(name)
