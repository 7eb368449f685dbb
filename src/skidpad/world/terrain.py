"""How high the ground is: elevation maps, horizontal planes, and the ramps and bumps of blocks.

An elevation map is the ground itself, nothing is under it. Planes, ramps and bumps lie over it, one
above the other if need be: a wheel stands on the highest that it can roll onto. Where there is
nothing the ground is at z = 0.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..units import m, s
from .animation import keyframe_pose
from .contacts import Moving
from .scene import BlockSpec, ElevationMap, HorizontalPlane, Scene

Array = NDArray[np.float64]
CLIMBABLE = ("ramp", "semi_cylinder_bump")
"""Solids of blocks whose upper side is ground."""


class Surface(Protocol):
    """A piece of ground."""

    def height(self, x: Array, y: Array, time: s) -> Array:
        """Heights in m at points of the world at a time; NaN outside."""
        ...


class Terrain:
    """All ground of a scene."""

    def __init__(self, scene: Scene) -> None:
        elements = scene.elements
        self._solid: list[Surface] = [Lattice(e) for e in elements if isinstance(e, ElevationMap)]
        self._over: list[Surface] = [Plane(e) for e in elements if isinstance(e, HorizontalPlane)]
        self._over += [Solid(block) for block in scene.blocks if _is_climbable(block)]

    @property
    def level(self) -> bool:
        """Whether the ground is at z = 0 everywhere, for ever."""
        return not self._solid and not self._over

    def height(self, x: Array, y: Array, reach: Array, time: s = 0.0) -> Array:
        """Height in m of the ground at points of the world.

        Planes, ramps and bumps above `reach`, in m, are left out: one is under them, or before them
        as before a wall.
        """
        found = np.full(np.shape(x), np.nan)
        for surface in self._solid:
            found = np.fmax(found, surface.height(x, y, time))
        for surface in self._over:
            here = surface.height(x, y, time)
            found = np.fmax(found, np.where(here <= reach, here, np.nan))
        return np.where(np.isnan(found), 0.0, found)


class Lattice:
    """An elevation map: bilinear between the points of its lattice."""

    def __init__(self, element: ElevationMap) -> None:
        self._heights, self._corner = element.heights, element.corner
        self._resolution = element.resolution

    def height(self, x: Array, y: Array, time: s) -> Array:
        """See `Surface`."""
        heights = self._heights
        nx, ny = heights.shape
        u = (np.asarray(x) - self._corner[0]) / self._resolution
        v = (np.asarray(y) - self._corner[1]) / self._resolution
        i = np.clip(np.floor(u), 0, nx - 2).astype(np.int64)
        j = np.clip(np.floor(v), 0, ny - 2).astype(np.int64)
        a, b = u - i, v - j
        near = heights[i, j] + b * (heights[i, j + 1] - heights[i, j])
        far = heights[i + 1, j] + b * (heights[i + 1, j + 1] - heights[i + 1, j])
        inside = (u >= 0.0) & (u <= nx - 1) & (v >= 0.0) & (v <= ny - 1)
        return np.where(inside, near + a * (far - near), np.nan)


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
            times = [frame.time for frame in e.animation]
            now = time % times[-1] if times[-1] > 0.0 else 0.0
            z += float(np.interp(now, times, [frame.pose.z for frame in e.animation]))
        u, v = _seen_from(pose, x, y)
        return np.where(_within(u, v, _Box(e.x_min, e.x_max, e.y_min, e.y_max)), z, np.nan)


class Solid:
    """The upper side of a ramp, which rises along its x axis, or of a bump, round across it."""

    def __init__(self, block: BlockSpec) -> None:
        assert block.geometry is not None
        self._geometry, self._pose = block.geometry, block.pose

    def height(self, x: Array, y: Array, time: s) -> Array:
        """See `Surface`."""
        g, pose = self._geometry, self._pose
        u, v = _seen_from(Moving(pose.x, pose.y, pose.yaw), x, y)
        half = 0.5 * g.l_y
        if g.kind == "ramp":
            box, share = _Box(0.0, g.l_x, -half, half), u / g.l_x
        else:
            box = _Box(-0.5 * g.l_x, 0.5 * g.l_x, -half, half)
            share = np.sqrt(np.maximum(1.0 - (v / half) ** 2, 0.0))
        return np.where(_within(u, v, box), pose.z + g.l_z * share, np.nan)


class _Box(NamedTuple):
    x_min: m
    x_max: m
    y_min: m
    y_max: m


def _within(x: Array, y: Array, box: _Box) -> NDArray[np.bool_]:
    return (x >= box.x_min) & (x <= box.x_max) & (y >= box.y_min) & (y <= box.y_max)


def _seen_from(pose: Moving, x: Array, y: Array) -> tuple[Array, Array]:
    """Points of the world in the frame of a pose."""
    c, s_ = np.cos(pose.yaw), np.sin(pose.yaw)
    dx, dy = np.asarray(x) - pose.x, np.asarray(y) - pose.y
    return c * dx + s_ * dy, c * dy - s_ * dx


def _is_climbable(block: BlockSpec) -> bool:
    still = (block.static or block.intangible) and not block.animation
    return still and block.geometry is not None and block.geometry.kind in CLIMBABLE
