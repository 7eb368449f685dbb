"""The tops of blocks that vehicles can get onto: ramps, bumps, and platforms without a body.

A ramp rises along its x axis and a bump is round across it, whether they stand or move, and whether
or not they are felt as obstacles too. Any other block is ground only if it has no body: then its
top is a platform. A block carries its top along when it is pushed or animated; vehicles on it are
lifted and tilted, but not taken along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...plane.polygon import edges_at, moved_edges
from ...plane.pose import to_body
from ...units import m, s
from ..contact.contacts import Moving
from ..motion.animation import keyframe_height, keyframe_pose
from ..scene.scene import BlockSpec, Scene

CLIMBABLE = ("ramp", "semi_cylinder_bump")
"""Solids of blocks whose upper side is ground."""
_EDGE: m = 1e-9
"""How far outside of an outline a point may be by rounding and still count as inside."""


@dataclass
class _BlockTop:
    """The top of one block."""

    block: BlockSpec
    edges: list[Array]
    """Of its convex pieces, (n, 4) each, counter-clockwise."""
    z: m
    """Height of its reference point, at rest."""
    moves: bool
    """Whether its pose has to be asked for."""

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
        """How far the top is above the reference point, at points seen from it."""
        g = self.block.geometry
        if g is None or not _is_climbable(self.block):
            return self.block.shape.z_max
        if g.kind == "ramp":
            return g.l_z * (u / g.l_x)
        return g.l_z * np.sqrt(np.maximum(1.0 - (2.0 * v / g.l_y) ** 2, 0.0))


class BlockTops:
    """The tops of blocks, which are added one by one."""

    def __init__(self) -> None:
        self.at: Callable[[str], Moving] | None = None
        """Where a block is that has a body and may move; None: where it starts."""
        self._tops: list[_BlockTop] = []
        self._centres, self._radii = np.empty((0, 2)), np.empty(0)

    def add(self, block: BlockSpec, z: m) -> None:
        """Add the top of a block whose reference point is at a height when it is at rest."""
        still = (block.static or block.intangible) and not block.animation
        edges = [edges_at([part]) for part in block.shape.parts]
        self._tops.append(_BlockTop(block, edges, z, moves=not still))
        self._centres = np.concatenate([self._centres, [[block.pose.x, block.pose.y]]])
        self._radii = np.append(self._radii, block.shape.radius + _EDGE)

    def __bool__(self) -> bool:
        return bool(self._tops)

    @property
    def sloping(self) -> bool:
        """Whether one of them is not flat."""
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
        """Whether one of them has a body: nothing can be under that."""
        return any(not top.block.intangible for top in self._tops)

    def heights(self, x: Array, y: Array, time: s, *, solid: bool = False) -> Iterator[Array]:
        """Heights at points of the world, of each top that is near one of them; NaN outside.

        With `solid`, only of those that have a body.
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
    """Points of the world in the frame of a pose."""
    return to_body(pose[:3], np.asarray(x), np.asarray(y))


def blocks_with_tops(scene: Scene) -> list[BlockSpec]:
    """The blocks of a scene that are ground, the lower ones first."""
    blocks = [block for block in scene.blocks if block.intangible or _is_climbable(block)]
    return sorted(blocks, key=lambda block: (block.pose.z, block.name))


def _is_climbable(block: BlockSpec) -> bool:
    return block.geometry is not None and block.geometry.kind in CLIMBABLE
