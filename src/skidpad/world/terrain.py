"""Terrain: height of the ground from a road, elevation maps, horizontal planes, and tops of blocks.

A road or an elevation map is the base ground. Planes and blocks lie above it, possibly stacked: a
wheel stands on the highest surface that it can roll onto. Elsewhere the ground is at z = 0.
Upstream treats an elevation map like a plane: a map that begins above a vehicle does not affect the
    vehicle.

A ramp rises along its x axis and a bump is round across it, whether they stand or move, and whether
or not they are also obstacles. Any other block is ground only if it has no body: then its top is a
platform. The top moves with a block that is pushed or animated; vehicles on it are lifted and
tilted, but not carried along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..core.arrays import Array
from ..geometry.polygon import edges_at, moved_edges, rectangle
from ..geometry.pose import to_body
from ..road.records import FlatRoad
from ..units import m, s
from .contact.solids import CLIMBABLE, Moving
from .scene import BlockSpec, ElevationMap, HorizontalPlane, Pose, Scene
from .vehicle import keyframe_height, keyframe_pose

_EDGE: m = 1e-9
"""Tolerance by which a point may be outside of an outline and still count as inside."""


MotionOf = Callable[[str], Moving]
"""Current motion of a block by its name."""


@dataclass
class _BlockTop:
    block: BlockSpec
    edges: list[Array]
    """Edges of its convex pieces, (n, 4) each, counter-clockwise."""
    z: m
    """Height of its reference point, at rest."""
    moves: bool
    """Whether its pose changes."""

    def height(self, x: Array, y: Array, pose: Moving, z: m) -> Array:
        """Heights at points of the world of a block at a pose; NaN outside."""
        u, v = seen_from(pose, x, y)
        inside = np.zeros(u.shape, dtype=bool)
        for x0, y0, x1, y1 in (edges.T[:, :, None] for edges in self.edges):
            length = np.hypot(x1 - x0, y1 - y0)
            aside = ((x1 - x0) * (v.reshape(-1) - y0) - (y1 - y0) * (u.reshape(-1) - x0)) / length
            inside |= (aside >= -_EDGE).all(axis=0).reshape(u.shape)
        return np.where(inside, z + self._rise(u, v), np.nan)

    def _rise(self, u: Array, v: Array) -> Array | m:
        """Height of the top above the reference point, at points in the block's frame."""
        g = self.block.geometry
        if g is None or not _is_climbable(self.block):
            return self.block.shape.z_max
        if g.kind == "ramp":
            return g.l_z * (u / g.l_x)
        return g.l_z * np.sqrt(np.maximum(1.0 - (2.0 * v / g.l_y) ** 2, 0.0))


class BlockTops:
    def __init__(self) -> None:
        self.at: MotionOf | None = None
        """Current motion of a block with a body; None: its initial pose."""
        self._tops: list[_BlockTop] = []
        self._centres, self._radii = np.empty((0, 2)), np.empty(0)

    def add(self, block: BlockSpec, z: m) -> None:
        """Add the top of a block whose reference point is at height `z` at rest."""
        still = (block.static or block.intangible) and not block.animation
        edges = [edges_at([part]) for part in block.shape.parts]
        self._tops.append(_BlockTop(block, edges, z, moves=not still))
        self._centres = np.concatenate([self._centres, [[block.pose.x, block.pose.y]]])
        self._radii = np.append(self._radii, block.shape.radius + _EDGE)

    def __bool__(self) -> bool:
        return bool(self._tops)

    @property
    def sloping(self) -> bool:
        """Whether any top is not flat."""
        return any(_is_climbable(top.block) for top in self._tops)

    @property
    def edges(self) -> Array | None:
        """Edges (n, 4) of all tops in the world; None if one is not flat or may move."""
        if self.sloping or any(top.moves for top in self._tops):
            return None
        pieces = [
            moved_edges(edges, np.array([self._pose(top, 0.0)[:3]] * len(edges)))
            for top in self._tops
            for edges in top.edges
        ]
        return np.concatenate([np.empty((0, 4)), *pieces])

    @property
    def solid(self) -> bool:
        """Whether any block has a body, below which no other object can be."""
        return any(not top.block.intangible for top in self._tops)

    def heights(self, x: Array, y: Array, time: s, *, solid: bool = False) -> Iterator[Array]:
        """Heights at points of the world, of each top that is near one of them; NaN outside.

        With `solid`, only blocks that have a body count.
        """
        if not self._tops:
            return
        poses = [self._pose(top, time) for top in self._tops]
        for k, top in enumerate(self._tops):
            if top.moves:
                self._centres[k] = poses[k][:2]
        away_x = np.abs(np.reshape(x, -1) - self._centres[:, :1])
        away_y = np.abs(np.reshape(y, -1) - self._centres[:, 1:])
        near = (np.maximum(away_x, away_y) <= self._radii[:, None]).any(axis=1)
        for k in np.flatnonzero(near).tolist():
            top = self._tops[k]
            if solid and top.block.intangible:
                continue
            z = top.z + (keyframe_height(top.block.animation, time) if top.block.animation else 0.0)
            yield top.height(np.asarray(x), np.asarray(y), poses[k], z)

    def _pose(self, top: _BlockTop, time: s) -> Moving:
        block = top.block
        if top.moves and not block.intangible and self.at is not None:
            return self.at(block.name)
        if block.animation:
            return keyframe_pose(block.pose, block.animation, time)
        return Moving(block.pose.x, block.pose.y, block.pose.yaw)


def seen_from(pose: Moving, x: Array, y: Array) -> tuple[Array, Array]:
    """Coordinates of world points in the frame of a pose."""
    return to_body(pose[:3], np.asarray(x), np.asarray(y))


def _is_climbable(block: BlockSpec) -> bool:
    return block.geometry is not None and block.geometry.kind in CLIMBABLE


class Surface(Protocol):
    """Interface of a piece of ground."""

    def height(self, x: Array, y: Array, time: s) -> Array:
        """Heights in m at points of the world at a time; NaN outside."""
        ...


class Terrain:
    """All ground of a scene at its initial state; see `follow`."""

    def __init__(self, scene: Scene) -> None:
        upstream = scene.compat == "upstream"
        lattices: list[Surface] = [
            Lattice(e, flat_triangles=upstream)
            for e in scene.elements
            if isinstance(e, ElevationMap)
        ]
        planes = [e for e in scene.elements if isinstance(e, HorizontalPlane)]
        self._planes = planes
        self._at_zero = all(e.z + e.pose.z == 0.0 and not e.animation for e in planes)
        self._solid = [] if upstream else lattices
        road = scene.road
        self._road = None if road is None or isinstance(road.surface, FlatRoad) else road
        self._over: list[Surface] = [Plane(e) for e in planes]
        if upstream:
            self._over += lattices
        self._tops = BlockTops()
        # Only blocks that are ground are used, ordered from low to high.
        blocks = [block for block in scene.blocks if block.intangible or _is_climbable(block)]
        for block in sorted(blocks, key=lambda block: (block.pose.z, block.name)):
            stands = not block.skip_elevation_adjust
            z = self.start(block.pose, block.shape.z_max) if stands else block.pose.z
            self._tops.add(block, z)
        self.sloping = self._road is not None or bool(lattices) or self._tops.sloping
        """Whether the ground is not horizontal somewhere, edges aside."""
        self.has_more = bool(lattices) or bool(planes) or bool(self._tops)
        """Whether there is ground other than a road."""

    @property
    def level(self) -> bool:
        """Whether the ground is at z = 0 everywhere and at all times."""
        return self._at_zero and not self.sloping and not self._tops

    @property
    def edges(self) -> Array | None:
        """Edges (n, 4) of the flat pieces of the ground; None if it slopes or a piece can move.

        Between the edges the height is constant in space and time.
        """
        tops = self._tops.edges
        moves = any(e.animation for e in self._planes)
        if self.sloping or moves or tops is None:
            return None
        planes = (
            edges_at(
                [rectangle(e.x_min, e.x_max, e.y_min, e.y_max)], (e.pose.x, e.pose.y, e.pose.yaw)
            )
            for e in self._planes
        )
        return np.concatenate([tops, *planes])

    def follow(self, at: MotionOf) -> None:
        """Use `at` for the current positions of movable blocks from now on."""
        self._tops.at = at

    def height(self, x: Array, y: Array, reach: Array, time: s = 0.0) -> Array:
        """Height in m of the ground at points of the world.

        Planes and blocks above `reach`, in m, are left out: they are overhead, or obstacles like
        walls.
        """
        ground = self.road_height(x, y)
        for surface in self._solid:
            ground = np.fmax(ground, surface.height(x, y, time))
        for surface in self._over:
            here = surface.height(x, y, time)
            ground = np.fmax(ground, np.where(here <= reach, here, np.nan))
        for here in self._tops.heights(x, y, time):
            ground = np.fmax(ground, np.where(here <= reach, here, np.nan))
        return np.where(np.isnan(ground), 0.0, ground)

    def road_height(self, x: Array, y: Array) -> Array:
        """Height in m of the road at points of the world; NaN without a road."""
        return np.full(np.shape(x), np.nan) if self._road is None else self._road.height(x, y)

    def solid_height(self, x: Array, y: Array, time: s = 0.0) -> Array | None:
        """Heights of ramps and bumps that have a body, at points of the world; NaN elsewhere.

        These blocks count at any height, since nothing can be under them. None if the scene has no
        such blocks.
        """
        if not self._tops.solid:
            return None
        ground = np.full(np.shape(x), np.nan)
        for here in self._tops.heights(x, y, time, solid=True):
            ground = np.fmax(ground, here)
        return ground

    def start(self, pose: Pose, z_max: m) -> m:
        """Height of the ground on which a body stands at the start.

        `z_max` is the height of the body: it is placed on ground up to half of that above `pose.z`.
        """
        x, y, reach = (np.array([v]) for v in (pose.x, pose.y, pose.z + 0.5 * z_max))
        return float(self.height(x, y, reach)[0])


class Lattice:
    """Elevation map with bilinear interpolation between the points of its lattice.

    With `flat_triangles` each cell is two triangles, split along the diagonal from its lowest
    corner.
    """

    def __init__(self, element: ElevationMap, *, flat_triangles: bool = False) -> None:
        self._heights, self._corner = np.ascontiguousarray(element.heights), element.corner
        self._resolution = element.resolution
        self._flat_triangles = flat_triangles

    def height(self, x: Array, y: Array, time: s) -> Array:
        """See `Surface`."""
        nx, ny = self._heights.shape
        u = (np.asarray(x) - self._corner[0]) / self._resolution
        v = (np.asarray(y) - self._corner[1]) / self._resolution
        # Coordinates are non-negative within the lattice, so truncation rounds down.
        i = np.minimum(np.maximum(u, 0.0), nx - 2.0).astype(np.int64)
        j = np.minimum(np.maximum(v, 0.0), ny - 2.0).astype(np.int64)
        a, b = u - i, v - j
        row, at = self._heights.reshape(-1), i * ny + j
        z00, z01, z10, z11 = row[at], row[at + 1], row[at + ny], row[at + ny + 1]
        if self._flat_triangles:
            upper = z00 + b * (z01 - z00) + a * (z11 - z01)
            z = np.where(b >= a, upper, z00 + a * (z10 - z00) + b * (z11 - z10))
        else:
            near = z00 + b * (z01 - z00)
            z = near + a * (z10 + b * (z11 - z10) - near)
        inside = (u >= 0.0) & (u <= nx - 1) & (v >= 0.0) & (v <= ny - 1)
        return np.where(inside, z, np.nan)


class Plane:
    """A horizontal rectangle, which may move."""

    def __init__(self, element: HorizontalPlane) -> None:
        self._element = element

    def height(self, x: Array, y: Array, time: s) -> Array:
        """See `Surface`."""
        e = self._element
        pose, z = Moving(e.pose.x, e.pose.y, e.pose.yaw), e.z + e.pose.z
        if e.animation:
            pose = keyframe_pose(e.pose, e.animation, time)
            z += keyframe_height(e.animation, time)
        u, v = seen_from(pose, x, y)
        inside = (u >= e.x_min) & (u <= e.x_max) & (v >= e.y_min) & (v <= e.y_max)
        return np.where(inside, z, np.nan)
