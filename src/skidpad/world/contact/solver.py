"""Contacts and joints, solved by Box2D: with the other modules here all that knows it.

Vehicles integrate themselves. A vehicle that is near something is put into Box2D for the step, at
the pose before it with the velocity that its own model gives; Box2D moves it on, and what it did to
the velocity goes back into the vehicle's state. Blocks and what hangs on joints live in Box2D all
the time. A step in which something moves far compared with its own width is made in several parts,
so that nothing gets past anything or into it (`parts_of_step`, `parts_before_contact`). Box2D knows
the plane only; bodies at different heights are kept apart by `Floors`.

`Joints` are hinges, ropes, springs and rods, made of what Box2D 2.3 has. A distance joint keeps the
distance of its two anchors between a least and a largest length. If it has a stiffness k in N/m, a
spring of its largest length as rest length acts in between, with a damping d in N·s/m: it pushes
with k (max_length - length) - d times the rate at which the length grows. Without stiffness no
force acts in between, and the damping has no effect. Where both lengths are equal it is a rigid
rod. That is the joint of Box2D 2.4, as upstream sets it up.

Box2D computes in single precision: 5 km from its origin a place is known to half a millimetre, and
its own margins are a few. So the `Origin` moves along with the vehicles that are in the solver. It
lies on a coarse lattice of whole metres and begins at that of the world: near to it nothing is
shifted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, cos, hypot, inf, pi, remainder, sin, sqrt
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue, require
from ...geometry.polygon import signed_area, width_of
from ...geometry.pose import turned
from ...units import kg, m, m_s2, per_s, rad, s
from ..scene import Inventory
from .solids import PLAIN, Inertia, Moving, Part, Point, Points, Pushed, Square, Surface
from .touches import ContactEvent, Touches, listener

SLOP: m = 0.005
"""Lengths below this count as 0, for Box2D too."""


class Ends(NamedTuple):
    """The ends of a joint: two bodies of Box2D and the anchors on them, in their own frames."""

    body_a: Any
    body_b: Any
    anchor_a: Point
    anchor_b: Point

    def options(self) -> dict[str, Any]:
        """Options of every joint; bodies on a joint do not collide with each other."""
        return {
            "bodyA": self.body_a,
            "bodyB": self.body_b,
            "localAnchorA": self.anchor_a,
            "localAnchorB": self.anchor_b,
            "collideConnected": False,
        }

    def places(self) -> tuple[Any, Any]:
        """The anchors in the solver's coordinates."""
        return self.body_a.GetWorldPoint(self.anchor_a), self.body_b.GetWorldPoint(self.anchor_b)

    def length_after(self, dt: s) -> m:
        """Distance of the anchors after a step if nothing stops them."""
        a, b = self.places()
        v_a = self.body_a.GetLinearVelocityFromLocalPoint(self.anchor_a)
        v_b = self.body_b.GetLinearVelocityFromLocalPoint(self.anchor_b)
        return hypot(b.x - a.x + dt * (v_b.x - v_a.x), b.y - a.y + dt * (v_b.y - v_a.y))

    def mass(self) -> kg | None:
        """Mass of the bodies along the joint, or None if nothing can move or the length is 0."""
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
    """In N/m."""
    damping: float = 0.0
    """In N·s/m."""


@dataclass
class Joints:
    """The joints of a Box2D world."""

    world: Any
    _before: list[Callable[[s], None]] = field(default_factory=list[Callable[[s], None]])

    def hinge(self, ends: Ends, limits: tuple[rad, rad] | None) -> None:
        """A pin; the angle between the bodies counts from the present one."""
        bounds: dict[str, Any] = {}
        if limits is not None:
            bounds = {"enableLimit": True, "lowerAngle": limits[0], "upperAngle": limits[1]}
        turned = ends.body_b.angle - ends.body_a.angle
        self.world.CreateRevoluteJoint(referenceAngle=turned, **bounds, **ends.options())

    def distance(self, ends: Ends, span: Span) -> None:
        """A rope, a spring or a rod."""
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
        """Make springs and struts ready for a step from where the bodies are now."""
        for act in self._before:
            act(dt)


@dataclass
class _Spring:
    """A soft joint whose frequency and damping ratio are set for the masses that it feels.

    Box2D 2.3 asks for these; they are those of a mass m on a spring, where 1/m is the sum over both
    bodies of 1/mass + (r x u)²/I, with the lever arm r and the direction u of the joint.
    """

    ends: Ends
    joint: Any
    stiffness: float
    damping: float

    def tune(self, dt: s) -> None:
        """Set stiffness and damping for the present lever arms."""
        mass = self.ends.mass()
        if mass is None:
            return
        omega = sqrt(self.stiffness / mass)
        self.joint.frequency = omega / (2.0 * pi)
        self.joint.dampingRatio = self.damping / (2.0 * mass * omega)


@dataclass
class _Strut:
    """Keeps two anchors from coming nearer than a length.

    It is a rod in the steps in which they would come nearer by themselves, and else is not there.
    """

    world: Any
    ends: Ends
    length: m
    joint: Any = None

    def brace(self, dt: s) -> None:
        """Put the rod in, or take it out."""
        too_near = self.ends.length_after(dt) < self.length
        if too_near and self.joint is None:
            rod = self.world.CreateDistanceJoint(length=self.length, **self.ends.options())
            self.joint = rod
        elif not too_near and self.joint is not None:
            self.world.DestroyJoint(self.joint)
            self.joint = None


def _ease(body: Any, at: Any, u: Point) -> float:
    """How much an impulse of 1 N·s along `u` at a point moves that point along `u`, in 1/kg."""
    mass = body.mass
    if mass == 0.0:
        return 0.0
    middle, offset = body.worldCenter, body.localCenter
    # Box2D gives the inertia about the body's origin.
    inertia = body.inertia - mass * (offset.x * offset.x + offset.y * offset.y)
    arm = (at.x - middle.x) * u[1] - (at.y - middle.y) * u[0]
    return 1.0 / mass + (arm * arm / inertia if inertia > 0.0 else 0.0)


_LATTICE: m = 1024.0
"""Distance of the places at which the origin may lie."""
_FAR: m = 2048.0
"""How far the middle of the vehicles may be from the origin along an axis."""


class Origin:
    """The origin of a Box2D world in the world of the scene."""

    def __init__(self, world: Any) -> None:
        self._world = world
        self._x, self._y = 0.0, 0.0
        self._standing: dict[int, tuple[Any, Moving]] = {}

    def to_engine(self, x: m, y: m) -> Point:
        """Coordinates seen from the origin."""
        return x - self._x, y - self._y

    def to_world(self, x: m, y: m) -> Point:
        """Coordinates in the world of what is seen from the origin."""
        return x + self._x, y + self._y

    def whole(self, x: m, y: m) -> Point:
        """A place near another one that can be kept without rounding."""
        return float(round(x)), float(round(y))

    def keep(self, body: Any, pose: Moving) -> None:
        """Remember where a body stands that the solver does not move, to all digits."""
        self._standing[int(body.this)] = body, pose

    def keep_again(self, body: Any, pose: Moving) -> None:
        """The same for one that has been put elsewhere, if it is such a body."""
        if int(body.this) in self._standing:
            self.keep(body, pose)

    def follow(self, guests: Iterable[Moving]) -> None:
        """Go to where the vehicles are, if they are far away."""
        places = [(moving.x, moving.y) for moving in guests]
        if not places:
            return
        x = 0.5 * (min(p[0] for p in places) + max(p[0] for p in places))
        y = 0.5 * (min(p[1] for p in places) + max(p[1] for p in places))
        if abs(x - self._x) > _FAR or abs(y - self._y) > _FAR:
            self.move(_LATTICE * round(x / _LATTICE), _LATTICE * round(y / _LATTICE))

    def move(self, x: m, y: m) -> None:
        """Put the origin elsewhere; nothing changes its place in the world."""
        self._world.ShiftOrigin((x - self._x, y - self._y))
        self._x, self._y = x, y
        for body, pose in self._standing.values():
            body.transform = self.to_engine(pose.x, pose.y), pose.yaw

    @property
    def place(self) -> Point:
        """Where it lies in the world."""
        return self._x, self._y


THING, VEHICLE, CLIMBED, ALL = 0x1, 0x2, 0x4, 0xFFFF
"""Kinds of bodies, and all of them, as Box2D filters collisions."""


@dataclass
class SolverBody:
    """A body and what the solver does not know of it."""

    body: Any
    com: Point = (0.0, 0.0)
    guest: bool = False
    """Whether it is in the solver only while it is near something."""
    parts: list[Any] = field(default_factory=list[Any])
    """Shapes of the body, in the order of its parts."""
    stride: m = inf
    """How far it may move in one part of a step."""
    imposed: bool = False
    """Whether its motion is imposed in every part of a step."""

    def __post_init__(self) -> None:
        # Views of Box2D's own memory: asking for them costs more than reading them.
        self.place: Any = self.body.position
        self.velocity: Any = self.body.linearVelocity

    @property
    def motion(self) -> tuple[Point, float]:
        """Velocity of its centre of mass, in m/s, and yaw rate."""
        return (self.velocity.x, self.velocity.y), self.body.angularVelocity

    @motion.setter
    def motion(self, motion: tuple[Point, float]) -> None:
        self.body.linearVelocity, self.body.angularVelocity = motion

    def way(self, dt: s) -> m:
        """How far it moves in a time."""
        return dt * hypot(self.velocity.x, self.velocity.y)


def fixtures_of(
    box2d: Any, body: Any, parts: Sequence[Part], density: float, climbed: bool = False
) -> list[Any]:
    """Shapes on a body; vehicles do not collide with what is `climbed`."""
    kind, others = (CLIMBED, ALL - VEHICLE) if climbed else (THING, ALL)
    fixtures: list[Any] = []
    for part in parts:
        try:
            shape = box2d.b2PolygonShape(vertices=[tuple(p) for p in part.outline])
            shape.radius = part.surface.skin
            fixture = body.CreateFixture(
                shape=shape,
                density=density,
                friction=part.surface.friction,
                restitution=part.surface.restitution,
                categoryBits=kind,
                maskBits=others,
            )
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


def stride_of(parts: Sequence[Part]) -> m:
    """A quarter of the width of the widest part: its middle is not past what it has just met."""
    return 0.25 * max(width_of(part.outline) for part in parts)


def is_close(box2d: Any, body: Any, gap: m) -> bool:
    """Whether a body touches another one or is nearer to it than `gap`."""
    for edge in body.contacts:
        contact = edge.contact
        if contact.touching or _gap(box2d, contact) < gap:
            return True
    return False


def _gap(box2d: Any, contact: Any) -> m:
    """Distance between the two shapes of a pair, skins included."""
    a, b = contact.fixtureA, contact.fixtureB
    measured = box2d.b2Distance(
        shapeA=a.shape,
        shapeB=b.shape,
        transformA=a.body.transform,
        transformB=b.body.transform,
        useRadii=True,
    )
    return measured.distance


MOST_PARTS = 1000
"""In which one step is made."""
IN_SIGHT: m = 0.1
"""How far away the solver knows what a body may meet next."""
NEARLY: m = 0.005
"""How far a body moves in one part of a step in which it meets something."""


def parts_of_step(dt: s, moving: Iterable[SolverBody], *, careful: bool) -> int:
    """In how many parts a step is made, so that nothing gets past anything in between.

    Box2D's own continuous collision does not notice skins as thin as ours.
    """
    most = 1.0
    for kept in moving:
        stride = min(kept.stride, IN_SIGHT) if careful else kept.stride
        most = max(most, kept.way(dt) / stride)
    return min(ceil(most - 1e-6), MOST_PARTS)


def parts_before_contact(box2d: Any, dt: s, moving: Iterable[SolverBody]) -> int:
    """In how many parts a step is made, so that what meets something stops at it.

    Box2D notices what touches at the end of a step: all the way of one may lie inside, and one
    corner of two may be held alone.
    """
    most = 1.0
    for kept in moving:
        way = kept.way(dt)
        if way > most * NEARLY and is_close(box2d, kept.body, way):
            most = way / NEARLY
    return ceil(min(most, IN_SIGHT / NEARLY) - 1e-6)


_TOUCH: m = 1e-3
"""Overlap in height below which one thing lies on the other."""
_EVERYWHERE = (-inf, inf)


class Obstacle(str):
    """Name of an obstacle in front of its owner, at whose height it is."""

    owner: str

    def __new__(cls, name: str, owner: str) -> Obstacle:
        """The name of one for an owner."""
        made = super().__new__(cls, name)
        made.owner = owner
        return made


class Floors:
    """Heights of bodies by name; one without heights is met at any height."""

    def __init__(self) -> None:
        self.spans: dict[str, tuple[m, m]] = {}
        """Lowest and highest point of each."""

    def meet(self, a: str, b: str) -> bool:
        """Whether two bodies are at the same height somewhere."""
        low_a, high_a = self.spans.get(getattr(a, "owner", a), _EVERYWHERE)
        low_b, high_b = self.spans.get(getattr(b, "owner", b), _EVERYWHERE)
        return low_a < high_b - _TOUCH and low_b < high_a - _TOUCH


def contact_filter(box2d: Any, floors: Floors) -> Any:
    """The filter that Box2D calls to find out whether two shapes can touch."""

    class Filter(box2d.b2ContactFilter):
        def ShouldCollide(self, fixture_a: Any, fixture_b: Any) -> bool:
            a, b = fixture_a.filterData, fixture_b.filterData
            if not (a.maskBits & b.categoryBits and a.categoryBits & b.maskBits):
                return False
            return floors.meet(fixture_a.body.userData, fixture_b.body.userData)

    return Filter()


OBSTACLE = "steep ground"
"""Name of obstacles of a moment."""
LEAP = 0.5
"""In m or rad: what moves on by more in a step leaps."""


class Contacts:
    """The bodies of a world and what is between them.

    Args:
        events: where beginnings and ends of contacts are noted.
        middle: where the world is; the solver begins near it.
        gravity: for the friction of blocks on the ground, in m/s².
        velocity_iterations, position_iterations: of the solver.
        careful: make the last millimetres before a contact in short parts of a step.
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
        self._origin = Origin(self._world)
        self._origin.follow([Moving(*middle, 0.0)])
        self._gravity = gravity
        self._iterations = velocity_iterations, position_iterations
        self._careful = careful
        self._bodies: Inventory[SolverBody] = Inventory("body")
        self._pushed: list[SolverBody] = []
        self._obstacles: dict[str, Any] = {}
        self._floors, self._filter = Floors(), None
        self._goals: list[tuple[SolverBody, Moving]] = []
        self._inside: set[str] = set()
        self._carried: set[str] = set()
        """Guests that were moved away since the last step."""
        self._joints = Joints(self._world)
        self.touches = Touches(deque() if events is None else events, self._origin.to_world)
        """Contacts and their events."""
        # Box2D does not keep it alive.
        self._listener = listener(Box2D, self.touches)
        self._world.contactListener = self._listener
        self._within = Box2D.b2Filter(categoryBits=VEHICLE, maskBits=ALL - CLIMBED)
        self._without = Box2D.b2Filter(categoryBits=VEHICLE, maskBits=0)

    def may_meet(self, a: str, b: str) -> bool:
        """Whether two bodies are at the same height, as far as that is known."""
        return self._floors.meet(a, b)

    def set_heights(self, spans: Mapping[str, tuple[m, m]]) -> None:
        """Let bodies from now on touch only what is at their own height; see `Floors`.

        Bodies that are not named keep their heights.
        """
        if self._filter is None:
            # Box2D does not keep it alive.
            self._filter = contact_filter(self._box2d, self._floors)
            self._world.contactFilter = self._filter
        self._floors.spans |= spans
        for name in spans:
            for fixture in self._bodies[name].parts if name in self._bodies else ():
                fixture.Refilter()

    @property
    def names(self) -> tuple[str, ...]:
        """All bodies that can move or be moved."""
        return tuple(self._bodies)

    def add_static(
        self,
        name: str,
        parts: Sequence[Part],
        pose: Moving,
        *,
        climbed: bool = False,
        driven: bool = False,
    ) -> None:
        """Something that never moves, or only when it is put elsewhere or, if `driven`, driven.

        Vehicles do not collide with what is `climbed`: it is ground to them.
        """
        create = self._world.CreateKinematicBody if driven else self._world.CreateStaticBody
        at = self._origin.to_engine(pose.x, pose.y)
        body = create(position=at, angle=pose.yaw, userData=name)
        self._origin.keep(body, pose)
        shapes = fixtures_of(self._box2d, body, parts, 0.0, climbed)
        self._bodies[name] = SolverBody(body, parts=shapes, stride=stride_of(parts))

    def add_walls(self, name: str, segments: Any, surface: Surface = PLAIN) -> None:
        """Add walls of zero thickness: segments (n, 4) in world coordinates."""
        lines = np.asarray(segments, dtype=float).reshape(-1, 4)
        middle = (
            self._origin.whole(*lines.reshape(-1, 2).mean(axis=0)) if len(lines) else (0.0, 0.0)
        )
        body = self._world.CreateStaticBody(position=self._origin.to_engine(*middle), userData=name)
        self._origin.keep(body, Moving(*middle, 0.0))
        for x0, y0, x1, y1 in (lines - np.tile(middle, 2)).tolist():
            body.CreateEdgeFixture(
                vertices=[(x0, y0), (x1, y1)],
                friction=surface.friction,
                restitution=surface.restitution,
            )

    def add_block(
        self,
        name: str,
        parts: Sequence[Part],
        pose: Moving,
        pushed: Pushed,
        *,
        climbed: bool = False,
    ) -> None:
        """A block that can be pushed; the ground holds it with friction at two points."""
        body = self._dynamic(name, pose, pushed.linear_damping, pushed.angular_damping)
        ground = sum(signed_area(part.outline) for part in parts)
        shapes = fixtures_of(self._box2d, body, parts, pushed.mass / ground, climbed)
        kept = SolverBody(body, tuple(body.localCenter), parts=shapes, stride=stride_of(parts))
        self._bodies[name] = kept
        self._pushed.append(kept)
        self.put(name, pose)
        hold = 0.5 * pushed.ground_friction * pushed.mass * self._gravity
        for x in (-pushed.radius, pushed.radius):
            self._world.CreateFrictionJoint(
                bodyA=self._ground,
                bodyB=body,
                localAnchorA=body.GetWorldPoint((x, 0.0)),
                localAnchorB=(x, 0.0),
                maxForce=hold,
                maxTorque=0.0,
            )

    def add_vehicle(
        self,
        name: str,
        parts: Sequence[Part],
        pose: Moving,
        inertia: Inertia,
        *,
        imposed: bool = False,
    ) -> None:
        """A vehicle, which damps and drives itself; see `Body.imposed`."""
        body = self._dynamic(name, pose, 0.0, 0.0)
        shapes = fixtures_of(self._box2d, body, parts, 1.0)
        com = (inertia.com_x, inertia.com_y)
        about_origin = inertia.I_z + inertia.mass * (com[0] * com[0] + com[1] * com[1])
        body.massData = self._box2d.b2MassData(mass=inertia.mass, center=com, I=about_origin)
        self._bodies[name] = SolverBody(
            body, com, guest=True, parts=shapes, stride=stride_of(parts), imposed=imposed
        )
        if imposed and self._careful:
            self.touches.pressing.add(name)
        self._admit(name, within=False)

    def _dynamic(self, name: str, pose: Moving, linear: per_s, angular: per_s) -> Any:
        return self._world.CreateDynamicBody(
            position=self._origin.to_engine(pose.x, pose.y),
            angle=pose.yaw,
            linearDamping=linear,
            angularDamping=angular,
            userData=name,
        )

    def obstruct(self, owner: str, squares: Sequence[Square]) -> None:
        """Put squares in place of those put for the same owner before."""
        body = self._obstacles.get(owner)
        if body is None:
            name = Obstacle(OBSTACLE, owner)
            body = self._obstacles[owner] = self._world.CreateStaticBody(userData=name)
        for fixture in body.fixtures:
            body.DestroyFixture(fixture)
        body.transform = (0.0, 0.0), 0.0
        away = self._origin.to_world(0.0, 0.0)
        for x, y, half, surface, (u, v) in squares:
            # Seen from the body, which goes along when the origin does.
            x, y = x - away[0], y - away[1]
            sides = [(-half, -half), (half, -half), (half, half), (-half, half)]
            corners = [(x + (u * a - v * b), y + (v * a + u * b)) for a, b in sides]
            fixtures_of(self._box2d, body, [Part(corners, surface)], 0.0)

    def outlines(self, name: str) -> list[Points]:
        """Outlines of the parts of a body, in its own axes."""
        return [list(part.shape.vertices) for part in self._bodies[name].parts]

    def reshape(self, name: str, part: int, outline: Points) -> None:
        """Give a part of a body another outline; mass and inertia stay. Takes effect with `put`."""
        self._bodies[name].parts[part].shape.vertices = [tuple(p) for p in outline]

    def add_hinge(
        self, a: str, b: str, at_a: Point, at_b: Point, limits: tuple[rad, rad] | None
    ) -> None:
        """A hinge between two bodies, which then do not collide with each other."""
        self._joints.hinge(self._ends(a, b, at_a, at_b), limits)

    def add_distance(self, a: str, b: str, at_a: Point, at_b: Point, span: Span) -> None:
        """A rope, a spring or a rod between two bodies, which then do not collide."""
        self._joints.distance(self._ends(a, b, at_a, at_b), span)

    def _ends(self, a: str, b: str, at_a: Point, at_b: Point) -> Ends:
        for name in (a, b):
            # What hangs on a joint is never out of reach.
            if self._bodies[name].guest:
                self._admit(name, within=True)
                self._inside.add(name)
            self._bodies[name].guest = False
        return Ends(self._bodies[a].body, self._bodies[b].body, at_a, at_b)

    def always_in(self, name: str) -> bool:
        """Whether a body has to be given to every step."""
        return not self._bodies[name].guest

    @property
    def restless(self) -> bool:
        """Whether a block moves, or may."""
        return any(kept.body.awake for kept in self._pushed)

    @property
    def origin(self) -> Point:
        """Where the solver has its origin; what is set here changes digits only."""
        return self._origin.place

    @origin.setter
    def origin(self, place: Point) -> None:
        self._origin.move(*place)

    def put(self, name: str, moving: Moving) -> None:
        """Move a body without regard to what is in its way."""
        kept = self._bodies[name]
        x, y, yaw, v_x, v_y, omega = moving
        body = kept.body
        body.transform = self._origin.to_engine(x, y), yaw
        self._origin.keep_again(body, moving)
        if body.type != self._box2d.b2_staticBody:
            r_x, r_y = turned(cos(yaw), sin(yaw), *kept.com)
            body.linearVelocity = v_x - omega * r_y, v_y + omega * r_x
            body.angularVelocity = omega

    def drive(self, name: str, goal: Moving, dt: s) -> None:
        """Let the next step, of `dt`, move a body to where nothing keeps it from going.

        What it meets is pushed on with its velocity. Over more than `LEAP` the body is put there.
        """
        kept = self._bodies[name]
        x, y = self._origin.to_engine(goal.x, goal.y)
        d_x, d_y = x - kept.place.x, y - kept.place.y
        turn = remainder(goal.yaw - kept.body.angle, 2.0 * pi)
        leaps = hypot(d_x, d_y) > LEAP or abs(turn) > LEAP
        if leaps or kept.body.type != self._box2d.b2_kinematicBody:
            self.put(name, goal)
            return
        kept.body.linearVelocity, kept.body.angularVelocity = (d_x / dt, d_y / dt), turn / dt
        self._goals.append((kept, goal))

    def _arrive(self) -> None:
        """Put what is driven exactly where it goes."""
        for kept, goal in self._goals:
            body = kept.body
            body.transform = self._origin.to_engine(goal.x, goal.y), goal.yaw
            self._origin.keep_again(body, goal)
        self._goals.clear()

    def at(self, name: str) -> Moving:
        """Pose and velocity of a body."""
        kept = self._bodies[name]
        place, v, yaw, omega = kept.place, kept.velocity, kept.body.angle, kept.body.angularVelocity
        r_x, r_y = turned(cos(yaw), sin(yaw), *kept.com)
        x, y = self._origin.to_world(place.x, place.y)
        return Moving(x, y, yaw, v.x + omega * r_y, v.y - omega * r_x, omega)

    def places(self, names: Sequence[str]) -> list[Point]:
        """Positions x, y of bodies."""
        them = [self._bodies[name].place for name in names]
        return [self._origin.to_world(place.x, place.y) for place in them]

    def ways(self, names: Sequence[str], dt: s) -> list[Point]:
        """How far bodies have come in a step that they are about to make, or have made."""
        them = [self._bodies[name].velocity for name in names]
        return [(dt * v.x, dt * v.y) for v in them]

    def step(self, dt: s, guests: Mapping[str, Moving], time: s = 0.0) -> dict[str, Moving]:
        """One step with these vehicles in it, which ends at a time; returns where they are then."""
        # A guest stays as long as it is near: the solver starts from the impulses before.
        # In the order of names, not of a set, which is another in every run.
        for name in sorted(self._inside - guests.keys()):
            self._admit(name, within=False)
        for name in sorted(guests.keys() - self._inside):
            self._admit(name, within=True)
        self._inside, self._carried = set(guests), set()
        self._origin.follow(guests.values())
        for name, moving in guests.items():
            self.put(name, moving)
        self._make(dt, self._in_motion(guests))
        self._arrive()
        self.touches.settle(time)
        return {name: self.at(name) for name in guests}

    def _make(self, dt: s, moving: Sequence[SolverBody]) -> None:
        """Make a step, in as many parts as it takes."""
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
        """In place of a step in which no vehicle is near anything and no block moves."""
        self._arrive()
        if not (self._inside or self._carried):
            return
        for name in sorted(self._inside):
            self._admit(name, within=False)
        self.touches.settle(time, gone=self._inside | self._carried)
        self._inside, self._carried = set(), set()

    def _admit(self, name: str, *, within: bool) -> None:
        """Let a guest touch things, or put it to rest where nothing touches it.

        It keeps its place in the solver's lists, whose order decides between equal choices.
        """
        kept = self._bodies[name]
        for fixture in kept.parts:
            fixture.filterData = self._within if within else self._without
        if not within:
            kept.body.linearVelocity, kept.body.angularVelocity = (0.0, 0.0), 0.0
        kept.body.awake = within

    @property
    def candidates(self) -> set[str]:
        """Names of the guests that may be `close` to something, and of what touches."""
        touching = (name for it in self.touches.contacts for name in (it.a, it.b))
        return self._inside.union(touching)

    def close(self, name: str, gap: m) -> bool:
        """Whether a body touches another one or is nearer to it than `gap`."""
        kept = self._bodies[name]
        # The solver forgets what a guest touched only in its next step, which may never come.
        if kept.guest and name not in self._inside:
            touches = self.touches.contacts
            return name not in self._carried and any(name in (it.a, it.b) for it in touches)
        return is_close(self._box2d, kept.body, gap)

    def dismiss(self, name: str) -> None:
        """Let a guest touch nothing until it is given to a step again."""
        self._carried.discard(name)
        if name in self._inside and self._bodies[name].guest:
            self._admit(name, within=False)
            self._inside.remove(name)

    def carry(self, name: str, moving: Moving) -> None:
        """Move a guest away from whatever it touched."""
        self.dismiss(name)
        self.put(name, moving)
        self._carried.add(name)
