"""Things that lie in each other at the start: the solver would drive them apart with a jerk."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from math import cos, hypot, sin
from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ...plane.polygon import line_edges
from ...plane.pose import to_world
from ...units import m
from ..contact.solids import Moving, Points, solid_parts
from ..contact.standing import WALL, is_climbed, standing_parts
from ..errors import WorldWarning
from ..scene.scene import OccupancyGrid, Scene
from .animation import actor_pose
from .build import BuiltVehicle
from .placing import initial_motion

DEEP: m = 0.005
"""What lies in each other by less only touches."""
_MOST_NAMED = 12
"""Pairs that a warning names."""


class Solid(NamedTuple):
    """Something of a scene that can be touched, where it is at the start."""

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


def warn_of_overlaps(
    scene: Scene, built: Mapping[str, BuiltVehicle], meet: Callable[[str, str], bool]
) -> None:
    """Name the pairs that lie in each other at the start, in one warning.

    `meet` says whether two things are at the same height.
    """
    joined = {frozenset((joint.body_a, joint.body_b)) for joint in scene.joints}
    pairs = [
        f"{a} and {b} by {depth:.2g} m"
        for a, b, depth in overlaps(scene, built)
        if meet(a, b) and frozenset((a, b)) not in joined
    ]
    pairs += [f"{name} and an occupied cell" for name in _in_cells(scene, built)]
    if pairs:
        more = f" and {len(pairs) - _MOST_NAMED} more" if len(pairs) > _MOST_NAMED else ""
        text = "; ".join(pairs[:_MOST_NAMED]) + more
        warnings.warn(
            WorldWarning(
                f"in each other at the start, and driven apart by the first steps: {text}"
            ),
            stacklevel=4,
        )


def overlaps(scene: Scene, built: Mapping[str, BuiltVehicle]) -> Iterator[tuple[str, str, m]]:
    """Names of things that lie in each other at the start, and how far."""
    them = sorted(solids(scene, built), key=lambda one: one.name)
    if len(them) < 2:
        return
    boxes = np.array([one.box for one in them])
    for k, one in enumerate(them):
        rest = boxes[k + 1 :]
        near = (rest[:, :2] < boxes[k, 2:] - DEEP) & (rest[:, 2:] > boxes[k, :2] + DEEP)
        for j in (np.flatnonzero(near.all(axis=1)) + k + 1).tolist():
            if _can_touch(one, them[j]):
                pieces = [(a, b) for a in one.pieces for b in them[j].pieces]
                depth = max(_depth(a, b) for a, b in pieces)
                if depth > DEEP:
                    yield one.name, them[j].name, depth


def _can_touch(a: Solid, b: Solid) -> bool:
    if (a.climbed and b.is_vehicle) or (b.climbed and a.is_vehicle):
        return False
    return a.moves or b.moves


def solids(scene: Scene, built: Mapping[str, BuiltVehicle]) -> Iterator[Solid]:
    """Everything of a scene that can be touched, but for occupied cells."""
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
            outlines = [part.outline for part in solid_parts(block.shape.parts, WALL)]
            pieces = _at(initial_motion(block), outlines)
            yield Solid(block.name, pieces, moves=True, climbed=block.name in climbed)
    for actor in scene.actors:
        r = actor.collision_radius
        circle = [(r * cos(a), r * sin(a)) for a in (np.arange(8) * np.pi / 4).tolist()]
        yield Solid(actor.name, _at(actor_pose(actor, 0.0), [circle]), moves=False)


def _at(pose: Moving, outlines: list[Points]) -> list[Array]:
    return [np.array([to_world(pose[:3], x, y) for x, y in outline]) for outline in outlines]


def _depth(a: Array, b: Array) -> m:
    """How far two convex outlines lie in each other; negative: they are apart.

    The least overlap of their shadows along the normals of their edges (separating axes).
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


def _in_cells(scene: Scene, built: Mapping[str, BuiltVehicle]) -> Iterator[str]:
    """Vehicles and blocks that have a corner or their middle in an occupied cell."""
    grids = [e.grid for e in scene.elements if isinstance(e, OccupancyGrid)]
    if not grids:
        return
    for one in sorted(solids(scene, built), key=lambda one: one.name):
        if one.moves:
            middle = [piece.mean(axis=0, keepdims=True) for piece in one.pieces]
            points = np.concatenate([*one.pieces, *middle])
            if any(grid.at(points).any() for grid in grids):
                yield one.name
