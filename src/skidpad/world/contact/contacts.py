"""Contacts and joints, solved by Box2D: with the files beside it all that knows it.

Vehicles integrate themselves. A vehicle that is near something is put into Box2D for the step, at
the pose before it with the velocity that its own model gives; Box2D moves it on, and what it did to
the velocity goes back into the vehicle's state. Blocks and what hangs on joints live in Box2D all
the time. It computes in single precision, so its origin goes along with what is in it (`origin`),
and a step in which something moves far compared with its own width is made in several parts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from math import cos, hypot, pi, remainder, sin
from typing import Any

import numpy as np

from ...extras import require
from ...plane.polygon import signed_area
from ...plane.pose import turned
from ...units import m, m_s2, per_s, rad, s
from ..inventory import Inventory
from .joints import Ends, Joints, Span
from .origin import Origin
from .solids import PLAIN, Inertia, Moving, Part, Point, Points, Pushed, Square, Surface
from .solver_bodies import ALL, CLIMBED, VEHICLE, SolverBody, fixtures_of, is_close, stride_of
from .step_parts import parts_before_contact, parts_of_step
from .storeys import Obstacle, Storeys, contact_filter
from .touches import ContactEvent, Touches, listener

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
        self._storeys, self._filter = Storeys(), None
        self._goals: list[tuple[SolverBody, Moving]] = []
        self._inside: set[str] = set()
        self._carried: set[str] = set()
        """Guests that were moved away since the last step."""
        self._joints = Joints(self._world)
        self.touches = Touches(deque() if events is None else events, self._origin.to_world)
        """What touches what."""
        # Box2D does not keep it alive.
        self._listener = listener(Box2D, self.touches)
        self._world.contactListener = self._listener
        self._within = Box2D.b2Filter(categoryBits=VEHICLE, maskBits=ALL - CLIMBED)
        self._without = Box2D.b2Filter(categoryBits=VEHICLE, maskBits=0)

    def may_meet(self, a: str, b: str) -> bool:
        """Whether two bodies are at the same height, as far as that is known."""
        return self._storeys.meet(a, b)

    def tell_heights(self, spans: Mapping[str, tuple[m, m]]) -> None:
        """Let bodies from now on touch only what is at their own height; see `Storeys`.

        Who was told before and is not named stays where it was.
        """
        if self._filter is None:
            # Box2D does not keep it alive.
            self._filter = contact_filter(self._box2d, self._storeys)
            self._world.contactFilter = self._filter
        self._storeys.spans |= spans
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
        """Segments (n, 4) without thickness, in the world."""
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

        What it meets is pushed on with its velocity. A leap is none: the body is put there.
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
        told = [(kept, kept.motion) for kept in moving if kept.imposed and self._careful]
        parts = parts_of_step(dt, moving, careful=self._careful)
        for _ in range(parts):
            fine = parts_before_contact(self._box2d, dt / parts, moving) if self._careful else 1
            for _ in range(fine):
                for kept, motion in told:
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
