"""CommonRoad scenarios as skidpad's objects: road, lanes to follow, obstacles and their ways.

    scenario = read_scenario("USA_US101-1_1_T-1.xml")
    line = Reference.along(scenario.lanes[12].centre, v=15.0)
    other = scenario.obstacles[42].trajectory

The files are read by `commonroad-io` (`pip install "skidpad[commonroad]"`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.files import brief_repr, path_of
from ...errors import InvalidValue
from ...geometry.maps.load import Boundaries, opened, road_of
from ...geometry.maps.map import Map
from ...geometry.polygon import frozen
from ...run.trajectory import Trajectory
from ...units import m, s

__all__ = ["Lane", "Obstacle", "Scenario", "read_scenario"]


@dataclass(frozen=True, eq=False, repr=False)
class Lane:
    """A lanelet: its borders and its middle as lines (n, 2) in m, in the direction of travel."""

    __repr__ = brief_repr

    id: int
    left: Array
    right: Array
    centre: Array
    successors: tuple[int, ...]
    """Lanes that go on where this one ends."""
    left_neighbour: int | None
    right_neighbour: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Obstacle:
    """Something on the road, parked or on its way."""

    __repr__ = brief_repr

    id: int
    kind: str
    """CommonRoad's name of its type, such as "car"."""
    length: m
    width: m
    centre_ahead: m
    """How far the middle of its rectangle lies ahead of its positions."""
    trajectory: Trajectory
    """Its states at the scenario's time steps; a single one if it does not move."""


@dataclass(frozen=True, eq=False, repr=False)
class Scenario:
    """What a file holds."""

    __repr__ = brief_repr

    name: str
    dt: s
    """Time from step to step."""
    map: Map
    """The borders of the road as walls."""
    lanes: Mapping[int, Lane]
    obstacles: Mapping[int, Obstacle]
    problems: Mapping[int, Any]
    """CommonRoad's planning problems by id; `Trajectory.reached` takes them as goals."""


def read_scenario(path: str | os.PathLike[str], *, boundaries: Boundaries = "road") -> Scenario:
    """The scenario in a CommonRoad file; `boundaries` as for `Map.load`.

    Obstacles whose shape is no rectangle have the size of the one around them. Obstacles without a
    trajectory (a set of places, a phantom) are left out.
    """
    file = path_of(path)
    scenario, problems = opened(file)
    obstacles = [*scenario.static_obstacles, *scenario.dynamic_obstacles]
    return Scenario(
        str(scenario.scenario_id),
        float(scenario.dt),
        road_of(file, scenario, boundaries),
        {lane.lanelet_id: _lane(lane) for lane in scenario.lanelet_network.lanelets},
        {
            item.obstacle_id: _obstacle(item, float(scenario.dt))
            for item in obstacles
            if _has_way(item)
        },
        dict(problems.planning_problem_dict),
    )


def _lane(lanelet: Any) -> Lane:
    lines = (lanelet.left_vertices, lanelet.right_vertices, lanelet.center_vertices)
    left, right, centre = (frozen(np.array(line, dtype=float)[:, :2]) for line in lines)
    return Lane(
        lanelet.lanelet_id,
        left,
        right,
        centre,
        tuple(lanelet.successor),
        lanelet.adj_left,
        lanelet.adj_right,
    )


def _has_way(obstacle: Any) -> bool:
    prediction = getattr(obstacle, "prediction", None)
    return prediction is None or hasattr(prediction, "trajectory")


def _obstacle(obstacle: Any, dt: s) -> Obstacle:
    place = f"obstacle {obstacle.obstacle_id}"
    length, width, ahead = _size(obstacle.obstacle_shape, place)
    try:
        trajectory = Trajectory.from_commonroad(_complete(obstacle), dt, name=place)
    except InvalidValue as error:
        raise InvalidValue(f"{place}: {error}") from error
    kind = obstacle.obstacle_type.value
    return Obstacle(obstacle.obstacle_id, kind, length, width, ahead, trajectory)


def _complete(obstacle: Any) -> list[Any]:
    """Its states from the first on; one that stands need not say that its velocity is 0."""
    first = obstacle.initial_state
    if getattr(first, "velocity", None) is None:
        first.velocity = 0.0
    way = getattr(getattr(obstacle, "prediction", None), "trajectory", None)
    later = [] if way is None else way.state_list
    return [first, *(state for state in later if state.time_step > first.time_step)]


def _size(shape: Any, place: str) -> tuple[m, m, m]:
    """Length, width and how far the middle lies ahead, in m."""
    if hasattr(shape, "length") and hasattr(shape, "width"):
        return (
            float(shape.length),
            float(shape.width),
            -float(getattr(shape, "origin_x_shift", 0.0)),
        )
    if hasattr(shape, "radius"):
        return 2.0 * float(shape.radius), 2.0 * float(shape.radius), 0.0
    if hasattr(shape, "vertices"):
        rear, right = np.min(shape.vertices, axis=0)
        front, left = np.max(shape.vertices, axis=0)
        return float(front - rear), float(left - right), float(0.5 * (front + rear))
    raise InvalidValue(f"{place} has a shape of an unknown kind, {type(shape).__name__}")
