"""Trajectories as CommonRoad objects, and CommonRoad's goals; by `commonroad-io`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import positive
from ..errors import InvalidValue, MissingExtra
from ..extras import require
from .points import Points

_TURN = 2.0 * math.pi


def _module(name: str, purpose: str = "This conversion") -> Any:
    return require(f"commonroad.{name}", purpose=purpose)


class _Motion(NamedTuple):
    """What CommonRoad wants to know of a vehicle, one value per sample."""

    position: Array
    orientation: Array
    velocity: Array
    """Speed in m/s, negative in reverse."""
    acceleration: Array
    yaw_rate: Array
    slip_angle: Array
    steering_angle: Array | None


def _motion(trajectory: Points) -> _Motion:
    columns = {c.name.split(".")[-1]: c.values for c in reversed(trajectory.columns)}
    if "yaw" not in columns:
        raise InvalidValue(
            "this trajectory has no heading: a CommonRoad state needs the state yaw, there are "
            + ", ".join(trajectory.names)
        )
    none = np.zeros(len(trajectory))
    ahead = columns.get("v", columns.get("v_x", none))
    aside = none if "v" in columns else columns.get("v_y", none)
    way = np.where(ahead < 0.0, -1.0, 1.0)
    turns = np.rint(columns["yaw"] / _TURN)
    return _Motion(
        position=trajectory.positions,
        orientation=columns["yaw"] - _TURN * turns,
        velocity=way * np.hypot(ahead, aside),
        acceleration=columns.get("a_x", none),
        yaw_rate=columns.get("omega", none),
        slip_angle=columns.get("beta", np.arctan2(way * aside, np.abs(ahead))),
        steering_angle=columns.get("steer"),
    )


def _attributes(motion: _Motion, k: int) -> dict[str, Any]:
    """The fields of a CommonRoad state at sample k."""
    values = {n: v[k] for n, v in motion._asdict().items() if v is not None}
    return {n: v if n == "position" else float(v) for n, v in values.items()}


def states(trajectory: Points, first: int) -> list[Any]:
    """See `Trajectory.to_commonroad_states`."""
    custom = _module("scenario.state").CustomState
    motion = _motion(trajectory)
    return [custom(time_step=first + k, **_attributes(motion, k)) for k in range(len(trajectory))]


def trajectory(points: Points, first: int) -> Any:
    """See `Trajectory.to_commonroad_trajectory`."""
    return _module("scenario.trajectory").Trajectory(first, states(points, first))


def dynamic_obstacle(
    points: Points, width: float, length: float, id: int, kind: str, first: int
) -> Any:
    """See `Trajectory.to_commonroad_dynamic_obstacle`."""
    positive("width", width, "m")
    positive("length", length, "m")
    obstacles = _module("scenario.obstacle")
    kinds = {k.value: k for k in obstacles.ObstacleType}
    if kind not in kinds:
        raise InvalidValue(f"kind = {kind!r} is unknown; allowed are {', '.join(kinds)}")
    start = _attributes(_motion(points), 0)
    start.pop("steering_angle", None)
    shape = _rectangle(width, length)
    predicted = _module("prediction.prediction").TrajectoryPrediction(
        trajectory=trajectory(points, first), shape=shape
    )
    return obstacles.DynamicObstacle(
        obstacle_id=id,
        obstacle_type=kinds[kind],
        obstacle_shape=shape,
        initial_state=_module("scenario.state").InitialState(time_step=first, **start),
        prediction=predicted,
    )


def _rectangle(width: float, length: float) -> Any:
    try:
        shapes = _module("geometry.obstacle_shapes.rect_obstacle_shape")
    except MissingExtra:  # commonroad-io before 2026
        return _module("geometry.shape").Rectangle(length=length, width=width)
    return shapes.RectObstacleShape(width=width, length=length)


def in_goal(
    points: Points, goal: Any, margin: float, lanelets: Any, first: int
) -> NDArray[np.bool_]:
    """Which states are in the goal region of a planning problem; see `Trajectory.reached`."""
    region = getattr(goal, "goal", goal)
    kept = states(points, first)
    inside = np.array([bool(region.is_reached(state)) for state in kept])
    if margin > 0.0:
        for area in _areas(region, lanelets):
            inside |= _within(area, points.positions, margin)
    return inside


def _areas(region: Any, lanelets: Any) -> list[Any]:
    """The shapes of a goal region, as shapely geometries."""
    by_state = region.lanelets_of_goal_position
    if by_state:
        if lanelets is None:
            raise InvalidValue(
                "this goal is given by lanelets: a margin needs lanelet_network=, the scenario's"
            )
        ids = [number for numbers in by_state.values() for number in numbers]
        return [lanelets.find_lanelet_by_id(number).polygon.shapely_object for number in ids]
    positions = (getattr(state, "position", None) for state in region.state_list)
    return [shape.shapely_object for position in positions for shape in _parts(position)]


def _parts(position: Any) -> list[Any]:
    """The single shapes of a goal position; none if it is not an area."""
    if position is None:
        return []
    # A ShapeGroup of commonroad-io before 2026 has no geometry of its own.
    group = getattr(position, "shapes", None)
    return list(group) if group is not None else [position]


def _within(area: Any, positions: Array, margin: float) -> NDArray[np.bool_]:
    import shapely

    return np.asarray(shapely.distance(area, shapely.points(positions)) <= margin)
