"""Ray casting as others do it, written plainly: a sweep over all segments, and a march over a
distance field.

The sweep does what the truck simulator's engine does: every segment looks up the rays between its
two ends and keeps the nearest hit of each. The march does what f1tenth_gym does: steps as long as
the distance to the nearest wall, with directions from a table of 2000 angles. Both are compiled by
Numba, one thread.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array

ANGLES = 2000
"""Entries of the march's table of directions."""
CLOSE = 1e-4
"""Distance in m at which the march has arrived."""
FARTHEST = 100.0
"""Distance in m at which it gives up."""


@cache
def _kernels() -> tuple[Any, Any]:
    from numba import njit

    @njit(cache=True)
    def sweep(segments: Array, pose: Array, first: float, increment: float, out: Array) -> None:
        n = out.size
        x, y, yaw = pose
        out[:] = np.inf
        turn = 2.0 * np.pi
        for k in range(segments.shape[0]):
            ax, ay = segments[k, 0] - x, segments[k, 1] - y
            bx, by = segments[k, 2] - x, segments[k, 3] - y
            begin = (np.arctan2(ay, ax) - yaw - first) % turn
            end = (np.arctan2(by, bx) - yaw - first) % turn
            if ax * by - ay * bx < 0.0:
                begin, end = end, begin
            i, last = int(np.floor(begin / increment)), int(np.floor(end / increment)) + 1
            if last < i:
                last += n
            ex, ey = bx - ax, by - ay
            top = ax * ey - ay * ex
            for step in range(i, last + 1):
                ray = step % n
                angle = yaw + first + ray * increment
                c, s = np.cos(angle), np.sin(angle)
                cross = c * ey - s * ex
                if abs(cross) < 1e-8:
                    continue
                t = top / cross
                u = (ax * s - ay * c) / cross
                if t >= 0.0 and -1e-8 <= u <= 1.0 + 1e-8 and t < out[ray]:
                    out[ray] = t

    @njit(cache=True)
    def march(
        distance: Array, resolution: float, pose: Array, angles: Array, table: Array, out: Array
    ) -> None:
        rows, columns = distance.shape
        n = table.shape[0]
        for ray in range(out.size):
            index = int(np.floor((pose[2] + angles[ray]) / (2.0 * np.pi) * n)) % n
            c, s = table[index, 0], table[index, 1]
            x, y, total = pose[0], pose[1], 0.0
            while total < FARTHEST:
                i, j = int(y / resolution), int(x / resolution)
                if i < 0 or j < 0 or i >= rows or j >= columns:
                    total = np.inf
                    break
                d = distance[i, j]
                if d <= CLOSE:
                    break
                x += d * c
                y += d * s
                total += d
            out[ray] = total

    return sweep, march


def sweep_scan(segments: Array, poses: Array, angles: Array, out: Array) -> Array:
    """Ranges (B, rays) by the sweep; the rays make a full turn."""
    sweep, _ = _kernels()
    increment = float(angles[1] - angles[0])
    for k, pose in enumerate(poses):
        sweep(segments, pose, float(angles[0]), increment, out[k])
    return out


def march_field(occupied: NDArray[np.bool_], resolution: float) -> Array:
    """Distance in m from the middle of every cell to that of the nearest occupied one."""
    from scipy.ndimage import distance_transform_edt

    distance: Any = distance_transform_edt(~occupied)
    return resolution * np.asarray(distance, dtype=float)


def march_scan(
    distance: Array, resolution: float, poses: Array, angles: Array, out: Array
) -> Array:
    """Ranges (B, rays) by the march over a distance field."""
    _, march = _kernels()
    turns = 2.0 * np.pi * np.arange(ANGLES) / ANGLES
    table = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    for k, pose in enumerate(poses):
        march(distance, resolution, pose, angles, table, out[k])
    return out
