"""What the lasers of a world see: walls, grids and blocks that stand, and whatever moves."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin

import numpy as np

from ..core.arrays import Array
from ..geometry.maps.map import border_segments
from ..geometry.polygon import edges_at, moved_edges
from ..geometry.raycast.scene import Scene as Walls
from ..units import m
from .contact.solids import Part, is_climbed, standing_parts
from .scene import OccupancyGrid, Scene
from .vehicle import Surroundings

CIRCLE = np.array([(cos(a), sin(a)) for a in np.arange(16) * np.pi / 8.0])
"""Outline of an actor of radius 1."""

_AT_A_TIME = 32
"""Lasers whose surroundings are gathered together: these fit into the nearest caches."""


class Sight:
    """Ranges along rays in a world as it is now."""

    def __init__(self, scene: Scene, world: Surroundings) -> None:
        # What vehicles drive onto is not seen from there, as things that move are not from within.
        moving = [
            b
            for b in scene.blocks
            if not b.intangible and (b.animation or not b.static or is_climbed(b, scene))
        ]
        passed = {b.name for b in moving}
        grids = [e.grid for e in scene.elements if isinstance(e, OccupancyGrid)]
        # One grid is looked up cell by cell; further ones are their borders.
        borders = [border_segments(grid) for grid in grids[1:]]
        bodies = [
            edges_at([part.outline], (pose.x, pose.y, pose.yaw))
            for name, parts, pose in standing_parts(scene)
            if name not in passed
            for part in parts
        ]
        first = grids[0] if grids else None
        nothing = np.empty((0, 4))
        self._map = Walls(np.concatenate([nothing, *borders]), first)
        # Upstream looks at maps and at bodies apart, and the angles of rays err on maps only.
        self._apart = scene.compat == "upstream"
        both = [nothing, *bodies] if self._apart else [nothing, *borders, *bodies]
        self._walls = Walls(np.concatenate(both), None if self._apart else first)
        self._mapped = bool(grids)
        self._world = world
        self._vehicles = sorted(world.vehicles)
        self._others: list[str] = []
        outlines = [_outlines(world.vehicles[name].built.parts) for name in self._vehicles]
        for block in moving:
            self._others.append(block.name)
            outlines.append([np.array(block.shape.outline)])
        for actor in scene.actors:
            self._others.append(actor.name)
            outlines.append([actor.collision_radius * CIRCLE])
        edges = [edges_at(them) for them in outlines]
        self._edges = np.concatenate([nothing, *edges])
        counts = [len(e) for e in edges]
        self._owner = np.repeat(np.arange(len(edges)), counts)
        self._begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._radii = np.array([np.hypot(e[:, 0], e[:, 1]).max() for e in edges])
        handles = enumerate(world.vehicles[name] for name in self._vehicles)
        self._towing = [(k, it) for k, it in handles if it.built.geometry.trailer is not None]
        for k, vehicle in self._towing:
            self._radii[k] = vehicle.built.radius
        self._number = {name: k for k, name in enumerate(self._vehicles)}

    def ranges(
        self,
        poses: Array,
        owners: Sequence[str],
        angles: Array,
        max_range: m,
        bodies_visible: bool = True,
        jitter: Array | None = None,
    ) -> Array:
        """Ranges (B, rays) in m from poses (B, 3); inf where nothing is within `max_range`.

        `owners` are the vehicles that the lasers sit on and do not see; others see all. `jitter`
        (B, rays) is how far the rays of each laser are off their angles, in rad.
        """
        if not bodies_visible:
            return self._map.scan(poses, angles, max_range=max_range, jitter=jitter)
        if not self._apart:
            return self._of_all(poses, owners, angles, max_range, jitter)
        ranges = self._of_all(poses, owners, angles, max_range, None)
        if not self._mapped:
            return ranges
        mapped = self._map.scan(poses, angles, max_range=max_range, jitter=jitter)
        return np.minimum(ranges, mapped)

    def _of_all(
        self,
        poses: Array,
        owners: Sequence[str],
        angles: Array,
        max_range: m,
        jitter: Array | None,
    ) -> Array:
        """Ranges to walls, maps and whatever moves."""
        places = self._places()
        self._turn_trailers()
        edges = moved_edges(self._edges, places[self._owner])
        out = np.empty((len(poses), len(angles)))
        for begin in range(0, len(poses), _AT_A_TIME):
            part = slice(begin, begin + _AT_A_TIME)
            movers = self._movers(places, edges, poses[part], owners[part], max_range)
            self._walls.scan(
                poses[part],
                angles,
                out[part],
                max_range=max_range,
                movers=movers,
                jitter=None if jitter is None else jitter[part],
                threads=1,
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
        facing, counts = np.empty((len(poses), len(edges), 4)), np.empty(len(poses), np.int64)
        from ..geometry.raycast.walking import gather_facing  # here, since it imports numba

        most = gather_facing(edges, self._begin, near, poses, facing, counts)
        return facing[:, :most]

    def _turn_trailers(self) -> None:
        """Put the edges of trailers where they are on their vehicles."""
        for k, vehicle in self._towing:
            bodies, trails = vehicle.bodies, [p for p in vehicle.built.turning if p.trails]
            fields = [field for part in trails for field in part.fields]
            (angles,) = bodies.fields(fields, [vehicle.row], bodies.group.state)
            outlines, next_angle = _outlines(vehicle.built.parts), iter(angles)
            for part in trails:
                own = [next(next_angle) for _ in part.fields]
                outlines[part.number] = np.array(part.outline(*own))
            self._edges[self._begin[k] : self._begin[k + 1]] = edges_at(outlines)

    def _places(self) -> Array:
        """Poses of everything that moves, in the order of the edges' owners."""
        own = poses_of(self._world, self._vehicles)
        others = [self._world.block(name)[:3] for name in self._others]
        return np.concatenate([own, np.array(others).reshape(-1, 3)])


def poses_of(world: Surroundings, names: Sequence[str]) -> Array:
    """Poses x, y, yaw (n, 3) of vehicles."""
    poses = np.empty((len(names), 3))
    handles = [world.vehicles[name] for name in names]
    for bodies in {id(v.bodies): v.bodies for v in handles}.values():
        at = [k for k, v in enumerate(handles) if v.bodies is bodies]
        poses[at] = bodies.poses[[handles[k].row for k in at]]
    return poses


def _outlines(parts: Sequence[Part]) -> list[Array]:
    return [np.array(part.outline, dtype=float) for part in parts]
