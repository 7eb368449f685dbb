"""Upstream's surroundings: bare segments, seen by its lidar and touched by its box."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ....brief import brief_repr
from ....errors import InvalidValue
from ....plane.maps import Map
from ....vehicles.ackermann_truck import Params, State, body_point
from ..model_file import TruckModel
from ..mounting import LIDAR
from ..records import Pose
from .scan import scan


def box(x: State, p: Params) -> Array:
    """Corners of the box in the world, from the rear right one counter-clockwise, (4, 2)."""
    half = 0.5 * p.width
    body = np.array([[0.0, -half], [p.length, -half], [p.length, half], [0.0, half]])
    c, s = np.cos(x.yaw), np.sin(x.yaw)
    return body @ np.array([[c, s], [-s, c]]) + (x.x, x.y)


def touches(x: State, segments: Array, p: Params, tolerance: float) -> bool:
    """Whether one of three edges of a box that begins at the rear axle meets a segment.

    The closing edge of the box, at its tail, is lost; neither a truck within an obstacle nor an
    obstacle under the truck is looked for.
    """
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


class UpstreamSurroundings:
    """The segments of a map."""

    __repr__ = brief_repr

    def __init__(self, map: Map, model: TruckModel, tolerance: float) -> None:
        if map.grid is not None:
            raise InvalidValue(
                f"map {map.name!r} has a grid; under compat='upstream' there are segments only"
            )
        self._segments = map.segments
        self._model, self._tolerance = model, tolerance
        # The rear axle seen from the lidar, in a file that has the axle ahead of the base: the two
        # faults cancel as long as that file and the wheel base agree.
        offset = model.frames.pose("rear_axle", seen_from=LIDAR).translation
        self._ahead, self._left = offset[:2].tolist()

    def scan(self, x: State) -> NDArray[Any]:
        """Ranges in m, float32; the rotation of the lidar on the truck is not looked at."""
        place = body_point(x, self._ahead, self._left)
        pose = Pose(place.x, place.y, x.yaw)
        return scan(self._segments, pose, self._model.lidar, self._tolerance)

    def shown(self, ranges: NDArray[Any]) -> NDArray[Any]:
        """The ranges as they are, beyond the range limits or negative by noise."""
        return ranges

    def touches(self, x: State) -> bool:
        """Whether the box meets a segment."""
        return touches(x, self._segments, self._model.params, self._tolerance)

    def first_contact(self, path: Array) -> int | None:
        """Only the last state is looked at."""
        return len(path) - 2 if self.touches(State(*path[-1].tolist())) else None
