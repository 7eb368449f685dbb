"""Hinges, ropes, springs and rods between bodies, made of what Box2D 2.3 has.

A distance joint keeps the distance of its two anchors between a least and a largest length. If it
has a stiffness k in N/m, a spring of its largest length as rest length acts in between, with a
damping d in N·s/m: it pushes with k (max_length - length) - d times the rate at which the length
grows. Without stiffness there is no force in between, and the damping has no effect. Where both
lengths are equal it is a rigid rod. That is the joint of Box2D 2.4, as upstream sets it up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import hypot, pi, sqrt
from typing import Any, NamedTuple

from ...units import kg, m, rad, s

Point = tuple[float, float]
SLOP: m = 0.005
"""Lengths below this are none, for Box2D too."""


class Ends(NamedTuple):
    """Two bodies of Box2D and the anchors on them, in their own frames."""

    body_a: Any
    body_b: Any
    anchor_a: Point
    anchor_b: Point

    def options(self) -> dict[str, Any]:
        """What every joint is created with; bodies on a joint do not collide with each other."""
        return {
            "bodyA": self.body_a,
            "bodyB": self.body_b,
            "localAnchorA": self.anchor_a,
            "localAnchorB": self.anchor_b,
            "collideConnected": False,
        }


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
        mass = _mass_between(self.ends)
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
        too_near = _length_after(self.ends, dt) < self.length
        if too_near and self.joint is None:
            rod = self.world.CreateDistanceJoint(length=self.length, **self.ends.options())
            self.joint = rod
        elif not too_near and self.joint is not None:
            self.world.DestroyJoint(self.joint)
            self.joint = None


def _length_after(ends: Ends, dt: s) -> m:
    """Distance of the anchors after a step if nothing stops them."""
    a = ends.body_a.GetWorldPoint(ends.anchor_a)
    b = ends.body_b.GetWorldPoint(ends.anchor_b)
    v_a = ends.body_a.GetLinearVelocityFromLocalPoint(ends.anchor_a)
    v_b = ends.body_b.GetLinearVelocityFromLocalPoint(ends.anchor_b)
    return hypot(b.x - a.x + dt * (v_b.x - v_a.x), b.y - a.y + dt * (v_b.y - v_a.y))


def _mass_between(ends: Ends) -> kg | None:
    """Mass that the bodies have along the joint; None if nothing can move or nothing is between."""
    a = ends.body_a.GetWorldPoint(ends.anchor_a)
    b = ends.body_b.GetWorldPoint(ends.anchor_b)
    length = hypot(b.x - a.x, b.y - a.y)
    if length <= SLOP:
        return None
    u = (b.x - a.x) / length, (b.y - a.y) / length
    ease = _ease(ends.body_a, a, u) + _ease(ends.body_b, b, u)
    return 1.0 / ease if ease > 0.0 else None


def _ease(body: Any, at: Any, u: Point) -> float:
    """How much an impulse of 1 N·s along `u` at a point moves that point along `u`, in 1/kg."""
    mass = body.mass
    if mass == 0.0:
        return 0.0
    middle, offset = body.worldCenter, body.localCenter
    # Box2D tells the inertia about the body's origin.
    inertia = body.inertia - mass * (offset.x * offset.x + offset.y * offset.y)
    arm = (at.x - middle.x) * u[1] - (at.y - middle.y) * u[0]
    return 1.0 / mass + (arm * arm / inertia if inertia > 0.0 else 0.0)
