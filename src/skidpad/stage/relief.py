"""Ground with heights and grip, as it is drawn: a road or an elevation map on a lattice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arrays import Array
from ..plane.pose import to_world
from ..road.grip import FullGrip, GripGrid
from ..road.road import Road
from ..road.surfaces import FlatRoad
from ..shared_arrays import values_of
from ..units import m
from ..world.scene.scene import ElevationMap, Scene
from .description import Relief

Box = tuple[m, m, m, m]
"""Least x and y, largest x and y."""

MOST_POINTS = 60_000
"""Of a relief."""
LEAST_STEP: m = 0.1
AROUND: m = 40.0
"""How far a road without ends is drawn around what stands on it."""
BESIDE: m = 10.0
"""How far a road is drawn beside its line."""


def reliefs_of(scene: Scene) -> tuple[Relief, ...]:
    """What ground with heights a scene has."""
    maps = [e for e in scene.elements if isinstance(e, ElevationMap)]
    pieces = [(e.road, _lattice_box(e.road.surface.heights)) for e in maps]
    if scene.road is not None:
        pieces.append((scene.road, road_box(scene.road, _places(scene))))
    drawn = (relief_of(road, box) for road, box in pieces)
    return tuple(one for one in drawn if one is not None)


def relief_of(road: Road, box: Box) -> Relief | None:
    """A road within a box; None of one that is level and as grippy as usual."""
    if isinstance(road.surface, FlatRoad) and isinstance(road.friction, FullGrip):
        return None
    left, bottom, right, top = box
    wide, high = right - left, top - bottom
    step = max(LEAST_STEP, float(np.sqrt(wide * high / MOST_POINTS)))
    width, height = (max(2, int(extent / step) + 1) for extent in (wide, high))
    x, y = np.meshgrid(left + step * np.arange(width), bottom + step * np.arange(height))
    z, grip = np.asarray(road.height(x, y)), np.asarray(road.grip(x, y))
    low, most = float(z.min()), float(z.max())
    levels = np.rint((z - low) * (65535.0 / max(most - low, 1e-9)))
    shares = np.rint(255.0 * np.clip(grip, 0.0, 1.0)).astype(np.uint8)
    return Relief(
        left,
        bottom,
        step,
        width,
        height,
        low,
        most,
        levels.astype("<u2").tobytes(),
        b"" if isinstance(road.friction, FullGrip) else shares.tobytes(),
    )


def road_box(road: Road, places: Array) -> Box:
    """Where a road is drawn: where it has something, and around some places (n, 2)."""
    boxes = [box for box in (_surface_box(road.surface), _grip_box(road.friction)) if box]
    if len(places) and not boxes:
        low, high = places.min(axis=0) - AROUND, places.max(axis=0) + AROUND
        boxes.append((*low.tolist(), *high.tolist()))
    if not boxes:
        return -AROUND, -AROUND, AROUND, AROUND
    table = np.array(boxes)
    low, high = table[:, :2].min(axis=0), table[:, 2:].max(axis=0)
    return (*low.tolist(), *high.tolist())


def _places(scene: Scene) -> Array:
    poses = [spec.pose for spec in (*scene.vehicles, *scene.blocks, *scene.actors)]
    walls = [point for wall in scene.walls for point in (wall.start, wall.end)]
    return np.array([*((pose.x, pose.y) for pose in poses), *walls]).reshape(-1, 2)


def _lattice_box(grid: Any) -> Box:
    ends = (
        start + step * (count - 1.0)
        for start, step, count in (
            (grid.start_0, grid.step_0, grid.count_0),
            (grid.start_1, grid.step_1, grid.count_1),
        )
    )
    return (grid.start_0, grid.start_1, *ends)


def _grip_box(friction: Any) -> Box | None:
    return _lattice_box(friction.mu) if isinstance(friction, GripGrid) else None


def _surface_box(surface: Any) -> Box | None:
    """Where a surface has heights of its own; None of one without ends."""
    line = getattr(surface, "line", None)
    if line is None:
        heights = getattr(surface, "heights", None)
        return None if heights is None else _lattice_box(heights)
    if hasattr(line, "xs"):
        x, y = values_of(line.xs), values_of(line.ys)
        assert x is not None
        assert y is not None
        return _around(zip(x, y, strict=True))
    grid = surface.heights
    ways = (grid.start_0 - line.u, grid.start_0 + grid.step_0 * (grid.count_0 - 1.0) - line.u)
    return _around(to_world((line.x, line.y, line.yaw), way, 0.0) for way in ways)


def _around(points: Iterable[Any]) -> Box:
    table = np.array([(float(x), float(y)) for x, y in points])
    low, high = table.min(axis=0) - BESIDE, table.max(axis=0) + BESIDE
    return (*low.tolist(), *high.tolist())
