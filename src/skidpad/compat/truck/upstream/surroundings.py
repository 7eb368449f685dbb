"""Upstream's surroundings: bare segments, seen by its lidar and touched by its box."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ....arrays import Array
from ....errors import InvalidValue
from ....plane.maps import Map
from ....vehicles.ackermann_truck import State, body_point
from ..model_file import TruckModel
from ..mounting import LIDAR
from ..records import Pose
from .collision import touches
from .scan import scan


class UpstreamSurroundings:
    """The segments of a map."""

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
