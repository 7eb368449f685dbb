"""Ray casting written plainly: every ray against every wall, in extended precision."""

from __future__ import annotations

import numpy as np


def ranges(segments, x, y, angles) -> np.ndarray:
    """Ranges of rays from (x, y) along angles; a ray along a segment meets its nearer end."""
    walls = np.asarray(segments, dtype=np.longdouble).reshape(-1, 4)
    walls = walls[np.any(walls[:, :2] != walls[:, 2:], axis=1)]
    angles = np.asarray(angles, dtype=np.longdouble)[:, None]
    dx, dy = np.cos(angles), np.sin(angles)
    ax, ay, bx, by = (walls[:, k] - (x, y)[k % 2] for k in range(4))
    before, after = ax * dy - ay * dx, bx * dy - by * dx
    with np.errstate(all="ignore"):
        distance = (ax * by - ay * bx) / (after - before) * -1
        crossed = (before * after <= 0) & (before != after) & (distance >= 0)
        found = np.where(crossed, distance, np.inf)
    along = (before == 0) & (after == 0)
    near, far = (ax * dx + ay * dy, bx * dx + by * dy)
    ends = np.where(near * far <= 0, 0, np.minimum(near, far))
    found = np.where(along & (np.maximum(near, far) >= 0), ends, found)
    return np.min(found, axis=1, initial=np.inf)


def disagreement(found, segments, x, y, angles, turn=1e-13) -> float:
    """By how much ranges leave what rays find that are turned by rounding errors.

    Where a ray just passes an end, or runs along a wall, the least turn of it changes what it
    meets; elsewhere the turn changes less than 1e-11 m.
    """
    around = [ranges(segments, x, y, np.asarray(angles) + k * turn) for k in (-1, 0, 1)]
    low, high = np.min(around, axis=0), np.max(around, axis=0)
    with np.errstate(invalid="ignore"):
        outside = np.maximum(low - found, found - high)
    outside = np.where((found == low) | (found == high), 0, outside)
    return float(np.max(outside, initial=0.0))


def grid_range(grid, x, y, angle) -> float:
    """Range of a ray through a grid at the origin, not turned, from cell to cell."""
    rows, columns = grid.occupied.shape
    size = grid.resolution
    dx, dy = float(np.cos(angle)), float(np.sin(angle))
    i, j = int(np.floor(x / size)), int(np.floor(y / size))
    distance = 0.0
    while 0 <= i < columns and 0 <= j < rows:
        if grid.occupied[j, i]:
            return distance
        to_x = ((i + (dx > 0)) * size - x) / dx if dx else np.inf
        to_y = ((j + (dy > 0)) * size - y) / dy if dy else np.inf
        distance = min(to_x, to_y)
        if to_x < to_y:
            i += 1 if dx > 0 else -1
        else:
            j += 1 if dy > 0 else -1
    return np.inf


def clutter(count, seed=0, side=20.0) -> np.ndarray:
    """A square room with randomly turned squares in it: segments (4 count + 4, 4)."""
    rng = np.random.default_rng(seed)
    middle = rng.uniform(0.5, side - 0.5, (count, 1, 2))
    turned = rng.uniform(0.0, 2.0 * np.pi, (count, 1)) + 0.5 * np.pi * np.arange(4)
    corners = middle + 0.2 * np.stack([np.cos(turned), np.sin(turned)], axis=-1)
    room = side * np.array([[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]])
    rings = np.concatenate([room, corners])
    return np.concatenate([rings, np.roll(rings, -1, axis=1)], axis=2).reshape(-1, 4)


def poses(count, seed=0, side=20.0) -> np.ndarray:
    rng = np.random.default_rng([seed, 1])
    low, high = (0.0, 0.0, -np.pi), (side, side, np.pi)
    return rng.uniform(low, high, (count, 3))
