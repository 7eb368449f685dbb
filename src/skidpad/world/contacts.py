"""Contacts and joints, solved by Box2D: the one file that knows it.

Vehicles integrate themselves. A vehicle that is near something is put into Box2D for the step, at
the pose before it with the velocity that its own model gives; Box2D moves it on, and what it did to
the velocity goes back into the vehicle's state. Blocks and what hangs on joints live in Box2D all
the time. It computes in single precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import cos, sin
from typing import Any, NamedTuple

import numpy as np

from ..units import kg, kg_m2, m, m_s, m_s2, one, per_s, rad, rad_s, s
from .by_name import ByName
from .outline import area

Point = tuple[float, float]
Points = Sequence[Point]


class Moving(NamedTuple):
    """A body: pose of its reference point and velocity of that point, in world axes."""

    x: m
    y: m
    yaw: rad
    v_x: m_s = 0.0
    v_y: m_s = 0.0
    omega: rad_s = 0.0


class Surface(NamedTuple):
    """What a shape is like to touch."""

    friction: one = 0.5
    restitution: one = 0.01
    skin: m = 0.0025
    """How far from its outline it is felt already."""


PLAIN = Surface()


class Part(NamedTuple):
    """A convex polygon of a body, in the frame of the body."""

    outline: Points
    surface: Surface = PLAIN


class Inertia(NamedTuple):
    """Mass properties about the reference point's frame."""

    mass: kg
    com_x: m
    com_y: m
    I_z: kg_m2
    """About the centre of mass."""


class Contact(NamedTuple):
    """Two things that touch."""

    a: str
    b: str
    x: m
    y: m
    impulse: float
    """Along the normal during the step, in N·s."""


@dataclass
class _Body:
    body: Any
    com: tuple[m, m]
    guest: bool
    """Whether it is in the solver only while it is near something."""


@dataclass
class Contacts:
    """The bodies of a world and what is between them.

    Args:
        gravity: for the friction of blocks on the ground, in m/s².
        velocity_iterations, position_iterations: of the solver.
    """

    gravity: m_s2 = 9.81
    velocity_iterations: int = 8
    position_iterations: int = 3
    _bodies: ByName[_Body] = field(default_factory=lambda: ByName("body"))

    def __post_init__(self) -> None:
        import Box2D

        self._box2d: Any = Box2D
        self._world: Any = Box2D.b2World(gravity=(0.0, 0.0), doSleep=True)
        self._ground: Any = self._world.CreateStaticBody(userData="ground")
        self._inside: set[str] = set()
        self._touching: tuple[Contact, ...] | None = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All bodies that can move or be moved."""
        return tuple(self._bodies)

    def add_static(self, name: str, parts: Sequence[Part], pose: Moving) -> None:
        """Something that never moves, or only when it is put elsewhere."""
        body = self._world.CreateStaticBody(
            position=(pose.x, pose.y), angle=pose.yaw, userData=name
        )
        self._shape(body, parts, 0.0)
        self._bodies[name] = _Body(body, (0.0, 0.0), guest=False)

    def add_walls(self, name: str, segments: Any, surface: Surface = PLAIN) -> None:
        """Segments (n, 4) without thickness, in the world."""
        body = self._world.CreateStaticBody(userData=name)
        for x0, y0, x1, y1 in np.asarray(segments, dtype=float).tolist():
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
        *,
        mass: kg,
        ground_friction: one,
        radius: m,
        linear_damping: per_s,
        angular_damping: per_s,
    ) -> None:
        """A block that can be pushed; the ground holds it with friction at two points."""
        body = self._dynamic(name, pose, linear_damping, angular_damping)
        ground = sum(area(part.outline) for part in parts)
        self._shape(body, parts, mass / ground)
        self._bodies[name] = _Body(body, tuple(body.localCenter), guest=False)
        self._set_velocity(self._bodies[name], pose)
        hold = 0.5 * ground_friction * mass * self.gravity
        for x in (-radius, radius):
            anchor = body.GetWorldPoint((x, 0.0))
            self._world.CreateFrictionJoint(
                bodyA=self._ground,
                bodyB=body,
                localAnchorA=anchor,
                localAnchorB=(x, 0.0),
                maxForce=hold,
                maxTorque=0.0,
            )

    def add_vehicle(self, name: str, parts: Sequence[Part], pose: Moving, inertia: Inertia) -> None:
        """A vehicle, which damps and drives itself."""
        body = self._dynamic(name, pose, 0.0, 0.0)
        self._shape(body, parts, 1.0)
        com = (inertia.com_x, inertia.com_y)
        about_origin = inertia.I_z + inertia.mass * (com[0] * com[0] + com[1] * com[1])
        body.massData = self._box2d.b2MassData(mass=inertia.mass, center=com, I=about_origin)
        self._bodies[name] = _Body(body, com, guest=True)
        self._admit(name, within=False)

    def _dynamic(self, name: str, pose: Moving, linear: per_s, angular: per_s) -> Any:
        return self._world.CreateDynamicBody(
            position=(pose.x, pose.y),
            angle=pose.yaw,
            linearDamping=linear,
            angularDamping=angular,
            userData=name,
        )

    def _shape(self, body: Any, parts: Sequence[Part], density: float) -> None:
        for part in parts:
            shape = self._box2d.b2PolygonShape(vertices=[tuple(p) for p in part.outline])
            shape.radius = part.surface.skin
            body.CreateFixture(
                shape=shape,
                density=density,
                friction=part.surface.friction,
                restitution=part.surface.restitution,
            )

    def add_hinge(
        self, a: str, b: str, at_a: Point, at_b: Point, limits: tuple[rad, rad] | None
    ) -> None:
        """A hinge between two bodies, which then do not collide with each other."""
        body_a, body_b = self._joined(a, b)
        options: dict[str, Any] = {}
        if limits is not None:
            options = {"enableLimit": True, "lowerAngle": limits[0], "upperAngle": limits[1]}
        self._world.CreateRevoluteJoint(
            bodyA=body_a,
            bodyB=body_b,
            localAnchorA=at_a,
            localAnchorB=at_b,
            referenceAngle=body_b.angle - body_a.angle,
            collideConnected=False,
            **options,
        )

    def add_rope(self, a: str, b: str, at_a: Point, at_b: Point, length: m) -> None:
        """A rope of a largest length between two bodies."""
        body_a, body_b = self._joined(a, b)
        self._world.CreateRopeJoint(
            bodyA=body_a,
            bodyB=body_b,
            localAnchorA=at_a,
            localAnchorB=at_b,
            maxLength=length,
            collideConnected=False,
        )

    def _joined(self, a: str, b: str) -> tuple[Any, Any]:
        for name in (a, b):
            # What hangs on a joint is never out of reach.
            self._bodies[name].guest = False
            self._admit(name, within=True)
            self._inside.add(name)
        return self._bodies[a].body, self._bodies[b].body

    def always_in(self, name: str) -> bool:
        """Whether a body has to be given to every step."""
        return not self._bodies[name].guest

    def put(self, name: str, moving: Moving) -> None:
        """Move a body without regard to what is in its way."""
        kept = self._bodies[name]
        kept.body.transform = ((moving.x, moving.y), moving.yaw)
        if kept.body.type == self._box2d.b2_dynamicBody:
            self._set_velocity(kept, moving)

    def at(self, name: str) -> Moving:
        """Pose and velocity of a body."""
        kept = self._bodies[name]
        body = kept.body
        p, v, yaw, omega = body.position, body.linearVelocity, body.angle, body.angularVelocity
        r_x, r_y = _turned(kept.com, yaw)
        return Moving(p.x, p.y, yaw, v.x + omega * r_y, v.y - omega * r_x, omega)

    def _set_velocity(self, kept: _Body, moving: Moving) -> None:
        r_x, r_y = _turned(kept.com, moving.yaw)
        kept.body.linearVelocity = (
            moving.v_x - moving.omega * r_y,
            moving.v_y + moving.omega * r_x,
        )
        kept.body.angularVelocity = moving.omega

    def step(self, dt: s, guests: Mapping[str, Moving]) -> dict[str, Moving]:
        """One step with these vehicles in it; returns where they are afterwards."""
        # A guest stays as long as it is near: the solver starts from the impulses before.
        for name in self._inside - guests.keys():
            self._admit(name, within=False)
        for name in guests.keys() - self._inside:
            self._admit(name, within=True)
        self._inside = set(guests)
        for name, moving in guests.items():
            self.put(name, moving)
        self._world.Step(dt, self.velocity_iterations, self.position_iterations)
        found = {name: self.at(name) for name in guests}
        self._touching = None
        return found

    def _admit(self, name: str, *, within: bool) -> None:
        """Let a guest touch things, or put it to rest where nothing touches it.

        It keeps its place in the solver's lists, whose order decides between equal choices.
        """
        body = self._bodies[name].body
        for fixture in body.fixtures:
            fixture.filterData = self._box2d.b2Filter(maskBits=0xFFFF if within else 0)
        if not within:
            body.linearVelocity, body.angularVelocity = (0.0, 0.0), 0.0
        body.awake = within

    @property
    def touching(self) -> tuple[Contact, ...]:
        """What touched in the last step; listed when asked for, which costs more than the step."""
        if self._touching is None:
            self._touching = self._contacts()
        return self._touching

    @touching.setter
    def touching(self, known: tuple[Contact, ...]) -> None:
        self._touching = known

    def close(self, name: str, gap: m) -> bool:
        """Whether a body touches another one or is nearer to it than `gap`."""
        for edge in self._bodies[name].body.contacts:
            contact = edge.contact
            if contact.touching or self._gap(contact) < gap:
                return True
        return False

    def _gap(self, contact: Any) -> m:
        """Distance between the two shapes of a pair, skins included."""
        a, b = contact.fixtureA, contact.fixtureB
        measured = self._box2d.b2Distance(
            shapeA=a.shape,
            shapeB=b.shape,
            transformA=a.body.transform,
            transformB=b.body.transform,
            useRadii=True,
        )
        return measured.distance

    def _contacts(self) -> tuple[Contact, ...]:
        found: list[Contact] = []
        for contact in self._world.contacts:
            if contact.touching and contact.enabled:
                a, b = contact.fixtureA.body.userData, contact.fixtureB.body.userData
                points = contact.worldManifold.points
                x, y = points[0] if points else (0.0, 0.0)
                impulse = sum(point.normalImpulse for point in contact.manifold.points)
                found.append(Contact(min(a, b), max(a, b), x, y, impulse))
        return tuple(sorted(found))


def _turned(point: tuple[float, float], yaw: rad) -> tuple[float, float]:
    c, s_ = cos(yaw), sin(yaw)
    return c * point[0] - s_ * point[1], s_ * point[0] + c * point[1]
