"""Bodies of Box2D: what is kept of each, its shapes, and how near it is to others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import hypot, inf
from typing import Any

import numpy as np

from ...errors import InvalidValue
from ...plane.outline import width_of
from ...units import m, s
from .solids import Part, Point

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
    """Its shapes, in the order in which they were given."""
    stride: m = inf
    """How far it may move in one part of a step."""
    imposed: bool = False
    """Whether it goes on as it is told in every part of a step."""

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
            raise InvalidValue(_no_shape(body.userData, part, error)) from error
        fixtures.append(fixture)
    return fixtures


def _no_shape(name: str, part: Part, error: AssertionError) -> str:
    """Why Box2D, whose polygons are in single precision, refuses one."""
    corners = np.array([tuple(p) for p in part.outline])
    width, height = np.ptp(corners, axis=0).tolist()
    far = float(np.abs(corners).max())
    return (
        f"{name}: a part of {width:g} m x {height:g} m, up to {far:g} m from its origin, cannot "
        f"collide: its corners must be some mm apart, and not so far away that single precision "
        f"cannot tell them apart ({error})"
    )


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
