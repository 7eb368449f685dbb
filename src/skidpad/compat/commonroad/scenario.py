"""CommonRoad scenarios as objects of skidpad: road, lanes, obstacles and their trajectories.

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
from ...geometry.maps.files import Boundaries, opened, road_of
from ...geometry.maps.map import Map
from ...geometry.polygon import frozen
from ...run.trajectory import Trajectory
from ...units import m, s


@dataclass(frozen=True, eq=False, repr=False)
class Lane:
    """A lanelet: its borders and its centre line (n, 2) in m, in the direction of travel."""

    __repr__ = brief_repr

    id: int
    left: Array
    right: Array
    centre: Array
    successors: tuple[int, ...]
    """Ids of the lanes that continue this one."""
    left_neighbour: int | None
    right_neighbour: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Obstacle:
    """An obstacle on the road, parked or moving."""

    __repr__ = brief_repr

    id: int
    kind: str
    """CommonRoad's name of the obstacle type, such as "car"."""
    length: m
    width: m
    centre_ahead: m
    """Distance in m from its position forward to the centre of its rectangle."""
    trajectory: Trajectory
    """States at the time steps of the scenario; a single one if it does not move."""


@dataclass(frozen=True, eq=False, repr=False)
class Scenario:
    """The content of a scenario file."""

    __repr__ = brief_repr

    name: str
    dt: s
    """Time step."""
    map: Map
    """Borders of the road, as walls."""
    lanes: Mapping[int, Lane]
    obstacles: Mapping[int, Obstacle]
    problems: Mapping[int, Any]
    """CommonRoad's planning problems by id; `Trajectory.reached` takes them as goals."""


def read_scenario(path: str | os.PathLike[str], *, boundaries: Boundaries = "road") -> Scenario:
    """Read the scenario in a CommonRoad file; `boundaries` as for `Map.load`.

    Obstacles of other shapes have the size of their bounding rectangle. Obstacles without a
    trajectory (a set of positions, a phantom) are left out.
    """
    file = path_of(path)
    scenario, problems = opened(file)
    name, dt = str(scenario.scenario_id), float(scenario.dt)
    road = road_of(file, scenario, boundaries)
    lanes = {lane.lanelet_id: _lane(lane) for lane in scenario.lanelet_network.lanelets}
    obstacles = {
        item.obstacle_id: _obstacle(item, dt)
        for item in (*scenario.static_obstacles, *scenario.dynamic_obstacles)
        if getattr(item, "prediction", None) is None or hasattr(item.prediction, "trajectory")
    }
    return Scenario(name, dt, road, lanes, obstacles, dict(problems.planning_problem_dict))


def _lane(lanelet: Any) -> Lane:
    lines = (lanelet.left_vertices, lanelet.right_vertices, lanelet.center_vertices)
    left, right, centre = (frozen(np.array(line, dtype=float)[:, :2]) for line in lines)
    after, number = tuple(lanelet.successor), lanelet.lanelet_id
    return Lane(number, left, right, centre, after, lanelet.adj_left, lanelet.adj_right)


def _obstacle(obstacle: Any, dt: s) -> Obstacle:
    place = f"obstacle {obstacle.obstacle_id}"
    length, width, ahead = _size(obstacle.obstacle_shape, place)
    first = obstacle.initial_state
    if getattr(first, "velocity", None) is None:  # a parked obstacle need not have one
        first.velocity = 0.0
    prediction = getattr(obstacle, "prediction", None)
    states = getattr(getattr(prediction, "trajectory", None), "state_list", ())
    later = [state for state in states if state.time_step > first.time_step]
    try:
        trajectory = Trajectory.from_commonroad([first, *later], dt, name=place)
    except InvalidValue as error:
        raise InvalidValue(f"{place}: {error}") from error
    kind = obstacle.obstacle_type.value
    return Obstacle(obstacle.obstacle_id, kind, length, width, ahead, trajectory)


def _size(shape: Any, place: str) -> tuple[m, m, m]:
    """Length, width and distance of the centre ahead of the position, in m."""
    if hasattr(shape, "length") and hasattr(shape, "width"):
        shift = float(getattr(shape, "origin_x_shift", 0.0))
        return float(shape.length), float(shape.width), -shift
    if hasattr(shape, "radius"):
        return 2.0 * float(shape.radius), 2.0 * float(shape.radius), 0.0
    if hasattr(shape, "vertices"):
        rear, right = np.min(shape.vertices, axis=0)
        front, left = np.max(shape.vertices, axis=0)
        return float(front - rear), float(left - right), float(0.5 * (front + rear))
    raise InvalidValue(f"{place} has a shape of an unknown kind, {type(shape).__name__}")
