"""What the lasers of a world see: walls, grids and blocks that stand, and whatever moves."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..maps.raster import border_segments
from ..maps.shapes import edges_at, moved_edges
from ..raycast import Scene as Walls
from ..units import m
from .contacts import Part
from .scene import OccupancyGrid, Scene
from .standing import standing_parts

if TYPE_CHECKING:
    from .world import World

Array = NDArray[np.float64]
CIRCLE = np.array([(cos(a), sin(a)) for a in np.arange(16) * np.pi / 8.0])
"""Outline of an actor of radius 1."""

_AT_A_TIME = 32
"""Lasers whose surroundings are gathered together: so many stay in the nearest caches."""


class Sight:
    """Ranges along rays in a world as it is now."""

    def __init__(self, scene: Scene, world: World) -> None:
        animated = {b.name for b in scene.blocks if b.animation}
        grids = [e.grid for e in scene.elements if isinstance(e, OccupancyGrid)]
        # One grid is looked up cell by cell; further ones are their borders.
        borders = [border_segments(grid) for grid in grids[1:]]
        bodies = [
            edges_at([part.outline], (pose.x, pose.y, pose.yaw))
            for name, parts, pose in standing_parts(scene)
            if name not in animated
            for part in parts
        ]
        first = grids[0] if grids else None
        nothing = np.empty((0, 4))
        self._walls = Walls(np.concatenate([nothing, *borders, *bodies]), first)
        self._map = Walls(np.concatenate([nothing, *borders]), first)
        self._world = world
        self._vehicles = sorted(world.vehicles)
        self._others: list[str] = []
        outlines = [_outlines(world.vehicles[name].built.parts) for name in self._vehicles]
        for block in scene.blocks:
            if not block.intangible and (block.animation or not block.static):
                self._others.append(block.name)
                outlines.append([np.array(block.shape.outline)])
        for actor in scene.actors:
            self._others.append(actor.name)
            outlines.append([actor.collision_radius * CIRCLE])
        edges = [edges_at(them) for them in outlines]
        self._edges = np.concatenate([nothing, *edges])
        self._owner = np.repeat(np.arange(len(edges)), [len(e) for e in edges])
        self._radii = np.array([np.hypot(e[:, 0], e[:, 1]).max() for e in edges])
        self._number = {name: k for k, name in enumerate(self._vehicles)}

    def ranges(
        self,
        poses: Array,
        owners: Sequence[str],
        angles: Array,
        max_range: m,
        bodies_visible: bool = True,
    ) -> Array:
        """Ranges (B, rays) in m from poses (B, 3); inf where nothing is within `max_range`.

        `owners` are the vehicles that the lasers sit on and do not see; others see all.
        """
        if not bodies_visible:
            return self._map.scan(poses, angles, max_range=max_range)
        places = self._places()
        edges = moved_edges(self._edges, places[self._owner])
        out = np.empty((len(poses), len(angles)))
        for begin in range(0, len(poses), _AT_A_TIME):
            some = slice(begin, begin + _AT_A_TIME)
            movers = self._movers(places, edges, poses[some], owners[some], max_range)
            self._walls.scan(
                poses[some], angles, out[some], max_range=max_range, movers=movers, threads=1
            )
        return out

    def _movers(
        self, places: Array, edges: Array, poses: Array, owners: Sequence[str], max_range: m
    ) -> Array | None:
        """Edges (B, m, 4) of what moves that each laser could see."""
        if not len(edges):
            return None
        apart = np.hypot(*(poses[:, None, :2] - places[None, :, :2]).transpose(2, 0, 1))
        near = apart <= max_range + self._radii
        for row, name in enumerate(owners):
            if name in self._number:
                near[row, self._number[name]] = False
        seen = _facing(edges, poses) & near[:, self._owner]
        counts = seen.sum(axis=1)
        most = int(counts.max(initial=0))
        if most == 0:
            return None
        chosen = np.argsort(~seen, axis=1, kind="stable")[:, :most]
        # The rest of a row is a segment without length, which is not seen.
        chosen[np.arange(most) >= counts[:, None]] = len(edges)
        return np.concatenate([edges, np.zeros((1, 4))])[chosen]

    def _places(self) -> Array:
        """Poses of everything that moves, in the order of the edges' owners."""
        own = poses_of(self._world, self._vehicles)
        others = [self._world.block(name)[:3] for name in self._others]
        return np.concatenate([own, np.array(others).reshape(-1, 3)])


def poses_of(world: World, names: Sequence[str]) -> Array:
    """Poses x, y, yaw (n, 3) of vehicles."""
    found = np.empty((len(names), 3))
    handles = [world.vehicles[name] for name in names]
    for bodies in {id(v.bodies): v.bodies for v in handles}.values():
        at = [k for k, v in enumerate(handles) if v.bodies is bodies]
        found[at] = bodies.poses[[handles[k].row for k in at]]
    return found


def _facing(edges: Array, poses: Array) -> NDArray[np.bool_]:
    """Whether edges (E, 4) show lasers (B, 3) the outside of what they enclose, (B, E).

    An outline runs to the left around its inside, so the outside is to the right of its edges.
    """
    # From a laser and not from the origin, which may be far away.
    x0, y0, x1, y1 = (edges - np.tile(poses[0, :2], 2)).T
    along_x, along_y = x1 - x0, y1 - y0
    line = np.stack([-along_y, along_x, along_y * x0 - along_x * y0])
    places = poses[:, :2] - poses[0, :2]
    return np.concatenate([places, np.ones((len(poses), 1))], axis=1) @ line < 0.0


def _outlines(parts: Sequence[Part]) -> list[Array]:
    return [np.array(part.outline, dtype=float) for part in parts]
