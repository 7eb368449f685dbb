"""What is around the truck: what its lidar sees and its body meets."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...plane.collision import Checker, Footprint
from ...plane.maps import Map
from ...plane.raycast import Scene, fan
from ...sensing.mounting import pose_in_world
from ...units import m
from ...vehicles.ackermann_truck import Params, State
from .model_file import LidarModel, TruckModel
from .mounting import LIDAR, level_mounting_of


class Surroundings(Protocol):
    """What an engine asks of the world around the truck. States are of the rear axle."""

    def scan(self, x: State) -> NDArray[Any]:
        """True ranges of all rays in m."""
        ...

    def shown(self, ranges: NDArray[Any]) -> NDArray[Any]:
        """What the lidar makes of ranges with their noise."""
        ...

    def touches(self, x: State) -> bool:
        """Whether the body meets an obstacle at a state."""
        ...

    def first_contact(self, path: Array) -> int | None:
        """The first step along states (n + 1, 5), from 0, during which the body meets one."""
        ...


class ExactSurroundings:
    """Rays meet obstacles exactly; the whole body does too, also on its way between two states."""

    def __init__(self, map: Map, model: TruckModel, tolerance: float) -> None:
        self._scene = Scene.of(map)
        self._mounting = level_mounting_of(model, LIDAR)
        self._lidar = model.lidar
        self._rays = fan(ray_angles(model.lidar))
        self._checker = Checker(map)
        self._footprint = footprint(model.params)
        self._room = Room(map, self._footprint.radius)

    def scan(self, x: State) -> NDArray[Any]:
        """True ranges in m; inf where nothing is within the largest range."""
        pose = pose_in_world(self._mounting, x.x, x.y, x.yaw)
        farthest = self._lidar.range_max
        return self._scene.scan([pose], self._rays, max_range=farthest, threads=1)[0]

    def shown(self, ranges: NDArray[Any]) -> NDArray[Any]:
        """The ranges, inf above the largest and -inf below the least, as ROS has it (REP 117)."""
        ranges[ranges > self._lidar.range_max] = np.inf
        ranges[ranges < self._lidar.range_min] = -np.inf
        return ranges

    def touches(self, x: State) -> bool:
        """Whether the body meets an obstacle, is within one or stands over one."""
        return bool(self._checker.hits(self._footprint, np.array([x[:3]]))[0])

    def first_contact(self, path: Array) -> int | None:
        """The first step in which the body, as it moves, meets an obstacle."""
        if self._room.has(path[:, :2]):
            return None
        met = self._checker.first_contact_along(self._footprint, path[:, :3])
        return None if met is None else max(math.ceil(met) - 1, 0)


class Room:
    """Knows at little cost, most of the time, that a body on its way has nothing near it.

    The distance to the nearest obstacle changes by no more than the body moves. So one distance
    tells for a while that there is room, or that a new one would be of no use.
    """

    def __init__(self, map: Map, radius: m) -> None:
        self._map, self._radius = map, radius
        self._x = self._y = self._distance = math.inf
        """Where the distance was looked up, and what it is; at first nowhere."""

    def has(self, places: Array) -> bool:
        """Whether no obstacle can touch a body that passes through these places (n, 2)."""
        x, y = places[:, 0], places[:, 1]
        if math.isfinite(self._x):
            if np.hypot(x - self._x, y - self._y).max() + self._radius < self._distance:
                return True
            most = self._distance + math.hypot(x[0] - self._x, y[0] - self._y)
        else:
            most = math.inf
        needed = float(np.hypot(x - x[0], y - y[0]).max()) + self._radius
        if needed >= most:
            return False
        self._x, self._y = float(x[0]), float(y[0])
        self._distance = float(self._map.distance(places[:1])[0])
        return needed < self._distance


def ray_angles(lidar: LidarModel) -> Array:
    """Angles of all rays from the lidar's x axis, counter-clockwise, in rad."""
    return lidar.angle_min + lidar.angle_increment * np.arange(round(lidar.spans), dtype=np.float64)


def footprint(p: Params) -> Footprint:
    """The outline of the body, from the middle of the rear axle."""
    return Footprint.rectangle(length=p.length, width=p.width, rear=p.base_to_tail - p.base_to_rear)
