"""How high things stand and reach, so that those on different floors do not touch."""

from __future__ import annotations

from math import inf

from ...units import m
from ..scene.scene import BlockSpec, ElevationMap, Scene, VerticalPlane
from .terrain import Terrain

Span = tuple[m, m]
"""Lowest and highest point of a thing in the world."""


def spans(scene: Scene, terrain: Terrain) -> dict[str, Span]:
    """Of everything but vehicles and grids, by the names that contacts have.

    On an elevation map a thing may be anywhere between its lowest and highest place, on a road
    anywhere at all.
    """
    maps = [e.heights for e in scene.elements if isinstance(e, ElevationMap)]
    lowest = min((float(heights.min()) for heights in maps), default=0.0)
    highest = max((float(heights.max()) for heights in maps), default=0.0)
    reach = max(highest, 0.0) - min(lowest, 0.0)
    if scene.road is not None:
        reach = inf
    things = {wall.name: (0.0, wall.height) for wall in scene.walls}
    things |= {block.name: _block(block, terrain) for block in scene.blocks}
    for k, e in enumerate(scene.elements):
        if isinstance(e, VerticalPlane):
            things[f"vertical_plane_{k}"] = (e.z, e.z + e.height)
    for actor in scene.actors:
        z = actor.pose.z
        things[actor.name] = (z, z + actor.collision_height)
    return {name: (low - reach, high + reach) for name, (low, high) in things.items()}


def _block(block: BlockSpec, terrain: Terrain) -> Span:
    z, shape = block.pose.z, block.shape
    if not block.skip_elevation_adjust:
        z = terrain.start(block.pose, shape.z_max)
    ways = [frame.pose.z for frame in block.animation] or [0.0]
    return z + shape.z_min + min(ways), z + shape.z_max + max(ways)
