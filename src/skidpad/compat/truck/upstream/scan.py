"""Upstream's lidar: each segment is swept from ray to ray between the bearings of its ends.

Rays past the last one wrap to the first as if the rays filled the circle. Where they do not, a
segment across the first ray is written to the wrong rays, and one whose ends are both out of view
is not seen at all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ..model_file import LidarModel
from ..records import Pose

NOTHING = np.finfo(np.float32).max
"""Range of a ray that hits nothing, in m."""


def scan(segments: Array, pose: Pose, lidar: LidarModel, tolerance: float) -> NDArray[np.float32]:
    """Ranges in m of all rays of a lidar at a pose; the range limits are not looked at."""
    rays = int(lidar.spans)
    ranges = np.full(rays, NOTHING, dtype=np.float32)
    first = pose.yaw + lidar.angle_min
    for segment in segments:
        ends = (segment.reshape(2, 2) - (pose.x, pose.y)).tolist()
        swept = _swept(ends, first, lidar.angle_increment, rays, tolerance)
        if swept is None:
            continue
        # Directions go on past the last ray, while the places of the ranges wrap.
        directions: Array = first + lidar.angle_increment * swept.astype(np.float64)
        at = swept % rays
        ranges[at] = np.minimum(ranges[at], _hit(ends, directions, tolerance))
    return ranges


def _swept(
    ends: list[Any], first: float, increment: float, rays: int, tolerance: float
) -> NDArray[np.int64] | None:
    """Numbers of the rays that are tried on a segment, or None if it is skipped."""
    (x0, y0), (x1, y1) = ends
    leftwards = math.atan2(x0 * y1 - y0 * x1, x0 * x1 + y0 * y1) > 0.0
    begin, end = (_bearing(x, y, first) / increment for x, y in ends)
    if leftwards:
        begin = _raised(begin, tolerance)
    else:
        end = _raised(end, tolerance)
    start, stop = int(begin), int(end)
    if start >= rays and stop >= rays:
        return None
    start, stop = min(start, rays - 1), min(stop, rays - 1)
    sign = 1 if leftwards else -1
    count = (sign * (stop - start)) % rays + 1
    return start + sign * np.arange(count)


def _bearing(x: float, y: float, first: float) -> float:
    """Angle of a point from the first ray, from 0 to below 2π."""
    c, s = math.cos(first), math.sin(first)
    return math.atan2(c * y - s * x, c * x + s * y) % math.tau


def _raised(value: float, tolerance: float) -> float:
    """The next multiple of the tolerance; meant was the next whole number."""
    return math.ceil(value / tolerance) * tolerance


def _hit(ends: list[Any], directions: Array, tolerance: float) -> NDArray[np.float32]:
    """Ranges of rays in some directions to one segment, seen from the lidar."""
    (x0, y0), (x1, y1) = ends
    c, s = np.cos(directions), np.sin(directions)
    across = (x1 - x0) * s - (y1 - y0) * c
    crosses = np.abs(across) >= tolerance
    divisor = np.where(crosses, across, 1.0)
    t = ((x1 - x0) * y0 - (y1 - y0) * x0) / divisor
    u = (c * y0 - s * x0) / divisor
    hits = crosses & (t >= -tolerance) & (u >= -tolerance) & (u <= 1.0 + tolerance)
    return np.where(hits, np.abs(t), NOTHING).astype(np.float32)
