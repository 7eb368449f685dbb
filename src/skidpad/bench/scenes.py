"""Maps and poses that lidars are measured on, made with a seed: everybody gets the same ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..plane.maps import Map
from ..plane.pose import to_world

SEED = 20240917
ROOM = 50.0
"""Side of the room of `clutter` in m."""
SQUARE = 0.3
"""Side of a square in it, in m."""
CELLS = 1600
"""Rows and columns of `corridor`."""
RESOLUTION = 0.05
"""Side of its cells in m."""


class Scenery(NamedTuple):
    """A map with free poses x, y, yaw (B, 3) of sensors in it."""

    map: Map
    poses: Array


def clutter(segments: int, poses: int) -> Scenery:
    """A square room with randomly turned squares in it, `segments` edges altogether."""
    rng = np.random.default_rng(SEED)
    count = (segments - 4) // 4
    centres = rng.uniform(SQUARE, ROOM - SQUARE, (count, 2))
    turns = rng.uniform(0.0, 0.5 * np.pi, count)
    corners = SQUARE / np.sqrt(2.0) * np.stack([np.cos(_QUARTERS), np.sin(_QUARTERS)], axis=1)
    x, y = to_world((centres[:, :1], centres[:, 1:], turns[:, None]), *corners.T)
    rings = [np.stack(ring, axis=1) for ring in zip(x, y, strict=True)]
    room = ROOM * np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    map_ = Map.from_polylines([room, *rings], closed=True, name=f"clutter{segments}")
    free = _random_poses(rng, 4 * poses, ROOM)
    nearest = np.full(len(free), np.inf)
    for centre in centres:
        nearest = np.minimum(nearest, np.hypot(*(free[:, :2] - centre).T))
    return Scenery(map_, free[nearest > SQUARE][:poses])


_QUARTERS = np.pi * (0.25 + 0.5 * np.arange(4))


def ring(segments: int, poses: int) -> Scenery:
    """A winding annular track between two closed polylines."""
    rng = np.random.default_rng(SEED)
    angle = np.linspace(0.0, 2.0 * np.pi, segments // 2, endpoint=False)
    radius = 20.0 + 3.0 * np.sin(3.0 * angle) + 1.5 * np.cos(7.0 * angle)
    direction = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lines = [(radius + half)[:, None] * direction for half in (-1.5, 1.5)]
    at = rng.integers(len(angle), size=poses)
    places = (radius[at] + rng.uniform(-1.0, 1.0, poses))[:, None] * direction[at]
    turned = rng.uniform(-np.pi, np.pi, poses)
    map_ = Map.from_polylines(lines, closed=True, name=f"ring{segments}")
    return Scenery(map_, np.column_stack([places, turned]))


def corridor(poses: int) -> Scenery:
    """A raster of 80 m by 80 m: a winding corridor about 3 m wide in solid ground."""
    rng = np.random.default_rng(SEED)
    side = CELLS * RESOLUTION
    t = np.linspace(0.0, 1.0, 20_000)
    # Back and forth in nine rows, with waves.
    rows = 9
    row = np.minimum((t * rows).astype(int), rows - 1)
    along = t * rows - row
    x = 6.0 + (side - 12.0) * np.where(row % 2 == 0, along, 1.0 - along)
    y = 6.0 + (side - 12.0) * (row + np.clip((along - 0.9) / 0.1, 0.0, 1.0)) / rows
    y = np.clip(y + 1.2 * np.sin(0.35 * x), 3.0, side - 3.0)
    line = np.stack([x, y], axis=1)
    centre = (np.arange(CELLS) + 0.5) * RESOLUTION
    occupied = np.ones((CELLS, CELLS), bool)
    reach = int(1.6 / RESOLUTION)
    for p, q in line[::8]:
        i, j = int(q / RESOLUTION), int(p / RESOLUTION)
        part = slice(max(i - reach, 0), i + reach), slice(max(j - reach, 0), j + reach)
        distance = np.hypot(centre[part[1]][None, :] - p, centre[part[0]][:, None] - q)
        occupied[part] &= distance > 1.5
    map_ = Map.from_grid(occupied, resolution=RESOLUTION, name="corridor")
    at = rng.integers(len(line), size=poses)
    shift = rng.uniform(-0.7, 0.7, (poses, 2))
    return Scenery(map_, np.column_stack([line[at] + shift, rng.uniform(-np.pi, np.pi, poses)]))


def _random_poses(rng: np.random.Generator, count: int, side: float) -> Array:
    places = rng.uniform(1.0, side - 1.0, (count, 2))
    return np.column_stack([places, rng.uniform(-np.pi, np.pi, count)])
