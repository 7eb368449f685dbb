"""Upstream's collision test: three edges of a box that begins at the rear axle, at one moment.

The closing edge of the box, at its tail, is lost; neither a truck within an obstacle nor an
obstacle under the truck is looked for.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Array
from ....vehicles.ackermann_truck import Params, State


def box(x: State, p: Params) -> Array:
    """Corners of the box in the world, from the rear right one counter-clockwise, (4, 2)."""
    half = 0.5 * p.width
    body = np.array([[0.0, -half], [p.length, -half], [p.length, half], [0.0, half]])
    c, s = np.cos(x.yaw), np.sin(x.yaw)
    return body @ np.array([[c, s], [-s, c]]) + (x.x, x.y)


def touches(x: State, segments: Array, p: Params, tolerance: float) -> bool:
    """Whether one of the three edges meets a segment."""
    corners = box(x, p)
    return any(bool(_meet(corners[k], corners[k + 1], segments, tolerance).any()) for k in range(3))


def _meet(a: Array, b: Array, segments: Array, tolerance: float) -> Array:
    """Which segments meet the one from a to b; ends and collinear overlaps count."""
    c, d = segments[:, :2], segments[:, 2:]
    side_c, side_d = _side(a, b, c, tolerance), _side(a, b, d, tolerance)
    side_a, side_b = _side(c, d, a, tolerance), _side(c, d, b, tolerance)
    crossing = (side_c != side_d) & (side_a != side_b)
    on_line = (
        ((side_c == 0) & _within(a, b, c))
        | ((side_d == 0) & _within(a, b, d))
        | ((side_a == 0) & _within(c, d, a))
        | ((side_b == 0) & _within(c, d, b))
    )
    return crossing | on_line


def _side(a: Array, b: Array, points: Array, tolerance: float) -> Array:
    """1 left of the line from a to b, -1 right of it, 0 on it."""
    along, to = b - a, points - a
    cross = along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0]
    return np.where(np.abs(cross) < tolerance, 0.0, np.sign(cross))


def _within(a: Array, b: Array, points: Array) -> Array:
    low, high = np.minimum(a, b), np.maximum(a, b)
    return np.all((points >= low) & (points <= high), axis=-1)
