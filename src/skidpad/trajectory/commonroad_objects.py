"""Trajectories as CommonRoad objects, and CommonRoad's goals; by `commonroad-io`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import record
from ..arrays import Array
from ..body import body_of
from ..checks import positive
from ..errors import InvalidValue, MissingExtra
from ..extras import require
from ..plane.pose import to_world
from .points import Points

_TURN = 2.0 * math.pi
_STILL = 1e-9
"""Speed in m/s below which a car has no direction of travel."""


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


def _motion(trajectory: Points, vehicle: Any = None) -> _Motion:
    """The motion of the state's point, or of the middle of a vehicle's outline."""
    if len(trajectory) > 1:
        _ = trajectory.delta_t  # CommonRoad counts equal time steps: raises if they are not
    return _recorded(trajectory) if vehicle is None else _of_body(trajectory, vehicle)


def _recorded(trajectory: Points) -> _Motion:
    columns = {c.name.split(".")[-1]: c.values for c in reversed(trajectory.columns)}
    if "yaw" not in columns:
        raise InvalidValue(
            "this trajectory has no heading: a CommonRoad state needs the state yaw, there are "
            + ", ".join(trajectory.names)
        )
    none = np.zeros(len(trajectory))
    ahead = columns.get("v", columns.get("v_x", none))
    aside = none if "v" in columns else columns.get("v_y", none)
    motion = _moving(trajectory.t, trajectory.positions, columns["yaw"], ahead, aside)
    return motion._replace(
        yaw_rate=columns.get("omega", none),
        slip_angle=columns.get("beta", motion.slip_angle),
        steering_angle=columns.get("steer"),
    )


def _of_body(trajectory: Points, vehicle: Any) -> _Motion:
    body, p = body_of(vehicle, "a CommonRoad obstacle"), vehicle.params
    u = record.build(vehicle.Input)
    states = [trajectory.point(k) for k in trajectory.steps]
    if not isinstance(states[0], vehicle.State):
        raise InvalidValue(
            f"the trajectory has states of {', '.join(type(states[0])._fields)}, and those of "
            f"{vehicle.name!r} are {', '.join(vehicle.State._fields)}"
        )
    x, y, yaw = np.array([body.pose(state, p)[:3] for state in states]).T
    v_x, v_y, omega = np.array([body.velocity(state, u, p)[:3] for state in states]).T
    left, right, rear, front = _extent(vehicle)
    middle = np.column_stack(to_world((x, y, yaw), 0.5 * (front + rear), 0.5 * (left + right)))
    ahead, aside = v_x - omega * 0.5 * (left + right), v_y + omega * 0.5 * (front + rear)
    steer = next((c.values for c in trajectory.columns if c.name == "steer"), None)
    motion = _moving(trajectory.t, middle, yaw, ahead, aside)
    return motion._replace(yaw_rate=omega, steering_angle=steer)


def _extent(vehicle: Any) -> tuple[float, float, float, float]:
    """Where a vehicle ends on its left, right, rear and front, from its reference point in m."""
    outlines = body_of(vehicle, "a CommonRoad obstacle").geometry(vehicle.params).outlines
    points = np.array([point for outline in outlines for point in outline], dtype=float)
    (rear, right), (front, left) = points.min(axis=0), points.max(axis=0)
    return float(left), float(right), float(rear), float(front)


def _moving(t: Array, position: Array, yaw: Array, v_x: Array, v_y: Array) -> _Motion:
    """Motion from velocities along the body's axes; yaw rate and steering are left open."""
    way = np.where(v_x < 0.0, -1.0, 1.0)
    speed = np.hypot(v_x, v_y)
    return _Motion(
        position=position,
        orientation=yaw - _TURN * np.rint(yaw / _TURN),
        velocity=way * speed,
        acceleration=_along_the_path(t, v_x, v_y, speed),
        yaw_rate=np.zeros(len(t)),
        slip_angle=np.arctan2(way * v_y, np.abs(v_x)),
        steering_angle=None,
    )


def _along_the_path(t: Array, v_x: Array, v_y: Array, speed: Array) -> Array:
    """Rate of the speed, which is negative in reverse; at rest that of the speed ahead."""
    if len(t) < 2:
        return np.zeros(len(t))
    a_x, a_y = np.gradient(v_x, t), np.gradient(v_y, t)
    still = speed < _STILL
    way = np.where(v_x < 0.0, -1.0, 1.0)
    along = way * (v_x * a_x + v_y * a_y) / np.where(still, 1.0, speed)
    return np.where(still, a_x, along)


def _attributes(motion: _Motion, k: int) -> dict[str, Any]:
    """The fields of a CommonRoad state at sample k."""
    values = {n: v[k] for n, v in motion._asdict().items() if v is not None}
    return {n: v if n == "position" else float(v) for n, v in values.items()}


def states(trajectory: Points, first: int) -> list[Any]:
    """See `Trajectory.to_commonroad_states`."""
    return _states(_motion(trajectory), first)


def _states(motion: _Motion, first: int) -> list[Any]:
    custom = _module("scenario.state").CustomState
    count = len(motion.orientation)
    return [custom(time_step=first + k, **_attributes(motion, k)) for k in range(count)]


def trajectory(points: Points, first: int) -> Any:
    """See `Trajectory.to_commonroad_trajectory`."""
    return _trajectory(_motion(points), first)


def _trajectory(motion: _Motion, first: int) -> Any:
    return _module("scenario.trajectory").Trajectory(first, _states(motion, first))


def dynamic_obstacle(
    points: Points,
    width: float | None,
    length: float | None,
    id: int,
    kind: str,
    first: int,
    vehicle: Any,
) -> Any:
    """See `Trajectory.to_commonroad_dynamic_obstacle`."""
    if vehicle is not None:
        left, right, rear, front = _extent(vehicle)
        width = left - right if width is None else width
        length = front - rear if length is None else length
    width, length = positive("width", width, "m"), positive("length", length, "m")
    obstacles = _module("scenario.obstacle")
    kinds = {k.value: k for k in obstacles.ObstacleType}
    if kind not in kinds:
        raise InvalidValue(f"kind = {kind!r} is unknown; allowed are {', '.join(kinds)}")
    motion = _motion(points, vehicle)
    start = _attributes(motion, 0)
    start.pop("steering_angle", None)
    shape = _rectangle(width, length)
    predicted = _module("prediction.prediction").TrajectoryPrediction(
        trajectory=_trajectory(motion, first), shape=shape
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
