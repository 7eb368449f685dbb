"""What stands still in a scene, as polygons and segments: walls, static blocks, planes, grids."""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2, hypot

import numpy as np

from ...core.arrays import Array
from ...geometry.maps.map import border_segments
from ...geometry.polygon import edges_at
from ...geometry.pose import to_world
from ..ground.terrain import CLIMBABLE
from ..scene import BlockSpec, OccupancyGrid, Scene, VerticalPlane
from .solids import Moving, Part, Surface, solid_parts

WALL = Surface(friction=0.5, restitution=0.01)


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
