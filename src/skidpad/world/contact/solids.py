"""Solids of a world: records of what can be touched, and what stands still in a scene.

The records say how things move, what they are made of and what they weigh. Walls, static blocks,
planes and grids stand still; they are given as convex polygons (`standing_parts`) and as segments
(`standing_segments`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import atan2, hypot
from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...geometry.maps.map import border_segments
from ...geometry.polygon import edges_at, with_few_corners
from ...geometry.pose import to_world
from ...units import kg, kg_m2, m, m_s, one, per_s, rad, rad_s
from ..scene import BlockSpec, OccupancyGrid, Scene, VerticalPlane

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
    """Contact properties of a shape."""

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
    """Yaw inertia about the centre of mass."""


class Pushed(NamedTuple):
    """Mass, friction and damping of a block that can be pushed."""

    mass: kg
    ground_friction: one
    radius: m
    """Radius of its outline about the reference point: there the ground holds it, on both sides."""
    linear_damping: per_s
    angular_damping: per_s


class Square(NamedTuple):
    """An obstacle of a moment."""

    x: m
    y: m
    """Middle of the square."""
    half: m
    """Half of its side."""
    surface: Surface
    axis: Point = (1.0, 0.0)
    """Direction of two of its sides."""


WALL = Surface(friction=0.5, restitution=0.01)
CLIMBABLE = ("ramp", "semi_cylinder_bump")
"""Solids of blocks whose upper side is ground."""


def is_climbed(block: BlockSpec, scene: Scene) -> bool:
    """Whether vehicles drive onto a block where others would collide with it: a ramp or a bump.

    What is too steep of it stops them as steep ground does. Upstream's vehicles collide with ramps
    and bumps as with boxes unless these are intangible.
    """
    geometry = block.geometry
    return scene.compat != "upstream" and geometry is not None and geometry.kind in CLIMBABLE


def standing_parts(scene: Scene) -> Iterator[tuple[str, list[Part], Moving]]:
    """Names, convex polygons and poses of everything solid that does not move on its own."""
    for wall in scene.walls:
        yield wall.name, *_from_their_middle([Part(wall.outline, WALL)])
    for block in scene.blocks:
        if block.static and not block.intangible:
            surface = Surface(block.lateral_friction, block.restitution)
            parts = solid_parts(block.shape.parts, surface)
            yield block.name, parts, Moving(block.pose.x, block.pose.y, block.pose.yaw)
    for k, element in enumerate(scene.elements):
        if isinstance(element, VerticalPlane):
            surface = Surface(0.5, element.restitution)
            parts = [Part(p, surface) for p in plane_parts(element)]
            if parts:
                yield f"vertical_plane_{k}", *_from_their_middle(parts)


def _from_their_middle(parts: list[Part]) -> tuple[list[Part], Moving]:
    """Parts given in the world, seen from their middle: solvers of few digits want small numbers.

    The middle is rounded to whole metres, so that the corners keep theirs.
    """
    corners = [corner for part in parts for corner in part.outline]
    x, y = (float(round(sum(c[k] for c in corners) / len(corners))) for k in (0, 1))
    seen = [Part([(a - x, b - y) for a, b in p.outline], p.surface) for p in parts]
    return seen, Moving(x, y, 0.0)


def plane_parts(plane: VerticalPlane) -> list[tuple[tuple[float, float], ...]]:
    """The pieces of a wall between its doors, in the world. Windows leave the wall below."""
    (x0, y0), (x1, y1) = (plane.x0, plane.y0), (plane.x1, plane.y1)
    length = hypot(x1 - x0, y1 - y0)
    angle = atan2(y1 - y0, x1 - x0)
    doors = sorted(
        (o.position * length - 0.5 * o.width, o.position * length + 0.5 * o.width)
        for o in plane.openings
        if o.kind == "door"
    )
    pieces, at = [], 0.0
    for begin, end in [*doors, (length, length)]:
        if begin - at > 1e-3:
            pieces.append((at, begin))
        at = max(at, end)
    half = 0.5 * plane.thickness

    def world(u: float, v: float) -> tuple[float, float]:
        return to_world((x0, y0, angle), u, v)

    return [(world(a, -half), world(b, -half), world(b, half), world(a, half)) for a, b in pieces]


def standing_solids(scene: Scene) -> Iterator[tuple[list[Part], Moving]]:
    """Convex polygons and poses of all that stands still and stops vehicles, grids aside."""
    passed = {b.name for b in scene.blocks if b.animation or is_climbed(b, scene)}
    for name, parts, pose in standing_parts(scene):
        if name not in passed:
            yield parts, pose


def standing_segments(scene: Scene) -> Array:
    """Edges (n, 4) of all that stands still and stops vehicles, grids included, in the world."""
    segments = [np.empty((0, 4))]
    for parts, pose in standing_solids(scene):
        segments.append(edges_at([part.outline for part in parts], pose[:3]))
    for element in scene.elements:
        if isinstance(element, OccupancyGrid):
            segments.append(border_segments(element.grid))
    return np.concatenate(segments)
