"""Ground with heights as triangles in space."""

from __future__ import annotations

import numpy as np

from ..arrays import AnyArray, Array
from ..stage import Relief

MOST_POINTS = 16_000
"""Of a mesh; those of a finer relief are taken some apart."""


def relief_mesh(relief: Relief) -> tuple[Array, AnyArray]:
    """Points x, y, z (n, 3) and the three corners (m, 3) of each triangle, counter-clockwise."""
    levels = np.frombuffer(relief.heights, "<u2").reshape(relief.height, relief.width)
    stride = int(np.ceil(np.sqrt(max(levels.size / MOST_POINTS, 1.0))))
    rows, columns = (_every(stride, count) for count in levels.shape)
    z = relief.low + (relief.high - relief.low) / 65535.0 * levels[np.ix_(rows, columns)]
    x, y = np.meshgrid(relief.x + relief.step * columns, relief.y + relief.step * rows)
    numbers = np.arange(z.size, dtype=np.uint32).reshape(z.shape)
    a, b = numbers[:-1, :-1].ravel(), numbers[:-1, 1:].ravel()
    c, d = numbers[1:, 1:].ravel(), numbers[1:, :-1].ravel()
    corners = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1), corners


def _every(stride: int, count: int) -> AnyArray:
    """Every so many numbers below a count, and the last one."""
    return np.unique([*range(0, count, stride), count - 1])
