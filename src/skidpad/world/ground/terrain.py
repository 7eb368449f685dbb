"""How high the ground is: a road, elevation maps, horizontal planes, and the tops of blocks.

A road or an elevation map is the ground itself, nothing is under it. Planes and blocks lie over it,
one above the other if need be: a wheel stands on the highest that it can roll onto. Where there is
nothing the ground is at z = 0.

To upstream an elevation map is like the others: one that begins above a vehicle is not seen by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ...arrays import Array
from ...plane.outline import rectangle
from ...plane.polygon import edges_at
from ...road.surfaces import FlatRoad
from ...units import m, s
from ..contact.contacts import Moving
from ..motion.animation import keyframe_height, keyframe_pose
from ..scene.scene import ElevationMap, HorizontalPlane, Pose, Scene
from .block_tops import BlockTops, blocks_with_tops, seen_from


class Surface(Protocol):
    """A piece of ground."""

    def height(self, x: Array, y: Array, time: s) -> Array:
        """Heights in m at points of the world at a time; NaN outside."""
        ...


class Terrain:
    """All ground of a scene, as it lies at the start; see `follow`."""

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
        for block in blocks_with_tops(scene):
            stands = not block.skip_elevation_adjust
            z = self.start(block.pose, block.shape.z_max) if stands else block.pose.z
            self._tops.add(block, z)
        self.sloping = self._road is not None or bool(lattices) or self._tops.sloping
        """Whether the ground is anything but horizontal somewhere, edges aside."""
        self.has_more = bool(lattices) or bool(planes) or bool(self._tops)
        """Whether there is other ground than a road."""

    @property
    def level(self) -> bool:
        """Whether the ground is at z = 0 everywhere, for ever."""
        return self._at_zero and not self.sloping and not self._tops

    @property
    def edges(self) -> Array | None:
        """Edges (n, 4) of the flat pieces that it is made of; None if it is not, or if one moves.

        Between them the ground is the same everywhere, for ever.
        """
        tops = self._tops.edges
        moves = any(e.animation for e in self._planes)
        if self.sloping or moves or tops is None:
            return None
        return np.concatenate([tops, *(plane_edges(e) for e in self._planes)])

    def follow(self, at: Callable[[str], Moving]) -> None:
        """Ask from now on where blocks are that can be pushed."""
        self._tops.at = at

    def height(self, x: Array, y: Array, reach: Array, time: s = 0.0) -> Array:
        """Height in m of the ground at points of the world.

        Planes and blocks above `reach`, in m, are left out: one is under them, or before them as
        before a wall.
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
        """Height in m of the road at points of the world; NaN where there is none."""
        return np.full(np.shape(x), np.nan) if self._road is None else self._road.height(x, y)

    def solid_height(self, x: Array, y: Array, time: s = 0.0) -> Array | None:
        """Heights of ramps and bumps that have a body, at points of the world; NaN beside them.

        However high they are, nothing is under them. None: there are no such things.
        """
        if not self._tops.solid:
            return None
        ground = np.full(np.shape(x), np.nan)
        for here in self._tops.heights(x, y, time, solid=True):
            ground = np.fmax(ground, here)
        return ground

    def start(self, pose: Pose, z_max: m) -> m:
        """Height of the ground on which something stands at the start.

        `z_max` is how high it reaches itself: it is put onto what is not higher than half of that.
        """
        x, y, reach = (np.array([v]) for v in (pose.x, pose.y, pose.z + 0.5 * z_max))
        return float(self.height(x, y, reach)[0])


class Lattice:
    """An elevation map: bilinear between the points of its lattice.

    With `flat_triangles` a cell is two of them, split along the diagonal from its lowest corner.
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
        # Within the lattice, where cutting off the fraction rounds down.
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


def plane_edges(element: HorizontalPlane) -> Array:
    """Edges (4, 4) of a horizontal plane in the world."""
    e = element
    corners = rectangle(e.x_min, e.x_max, e.y_min, e.y_max)
    return edges_at([corners], (e.pose.x, e.pose.y, e.pose.yaw))


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
