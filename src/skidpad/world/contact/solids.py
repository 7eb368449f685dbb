"""Records of things that can be touched: how they move, what they are made of, what they weigh."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...geometry.polygon import with_few_corners
from ...units import kg, kg_m2, m, m_s, one, per_s, rad, rad_s

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


MOST_CORNERS = 16
"""Corners that the solver takes of one convex polygon."""


def solid_parts(outlines: Iterable[Points], surface: Surface) -> list[Part]:
    """Parts of convex outlines; those with too many corners are cut into pieces."""
    pieces = (piece for o in outlines for piece in with_few_corners(tuple(o), MOST_CORNERS))
    return [Part(piece, surface) for piece in pieces]


class Inertia(NamedTuple):
    """Mass properties about the reference point's frame."""

    mass: kg
    com_x: m
    com_y: m
    I_z: kg_m2
    """About the centre of mass."""


class Pushed(NamedTuple):
    """What a block is like that can be pushed."""

    mass: kg
    ground_friction: one
    radius: m
    """Of its outline about the reference point: there the ground holds it, on both sides."""
    linear_damping: per_s
    angular_damping: per_s


class Square(NamedTuple):
    """An obstacle of a moment."""

    x: m
    y: m
    """Of its middle."""
    half: m
    """Half of its side."""
    surface: Surface
    axis: Point = (1.0, 0.0)
    """Direction of two of its sides."""
