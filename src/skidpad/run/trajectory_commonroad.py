"""Trajectories as sequences of points, as in commonroad-control, and as objects of CommonRoad.

`Points` views a table as points: a trajectory with states is in state mode, whatever else it holds;
one of inputs alone in input mode, one of disturbances alone in disturbance mode. Its points are the
records of that mode, at the steps 0 to len - 1. `CommonRoadTrajectory` adds goals, CommonRoad's
objects and the names of commonroad-control. The objects need `commonroad-io`
(`pip install "skidpad[commonroad]"`); polygon goals, reading CommonRoad's states (`read`) and all
else work without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import record
from ..core.arrays import Array, Mask
from ..core.body import body_of
from ..core.checks import not_negative, one_of, positive
from ..core.files import shown
from ..errors import InvalidValue, MissingExtra, require
from ..geometry.polygon import within
from ..geometry.pose import to_world
from ..units import m, m_s, m_s2, rad, rad_s
from . import trajectory_table as table
from .trajectory_table import PREFIXES, Column, Layout, Table, TrajectoryMode, interpolated, places

_NEEDED = {"orientation": ("yaw", rad), "velocity": ("v", m_s)}
_KNOWN = {
    "steering_angle": ("steer", rad),
    "slip_angle": ("beta", rad),
    "yaw_rate": ("omega", rad_s),
    "acceleration": ("a", m_s2),
}
"""Names and units of the columns for CommonRoad's fields."""


def read(kind: Any, source: Any, dt: float, name: str) -> Any:
    """See `Trajectory.from_commonroad`."""
    positive("dt", dt, "s")
    # The states of a list, a CommonRoad trajectory, or an obstacle with its initial state
    states: list[Any] = []
    if hasattr(source, "initial_state"):
        states.append(source.initial_state)
        source = getattr(getattr(source, "prediction", None), "trajectory", ())
    states += list(getattr(source, "state_list", source))
    if len(states) > 1 and getattr(states[0], "time_step", None) == states[1].time_step:
        states = states[
            1:
        ]  # skidpad's export has the first state twice: as initial state and in the list
    if not states:
        raise InvalidValue("there is no CommonRoad state to make a trajectory of")
    steps = _steps(states)
    fields = _NEEDED | {
        n: field
        for n, field in _KNOWN.items()
        if all(getattr(s, n, None) is not None for s in states)
    }
    columns = [_positions(states), *(_column(states, n) for n in fields)]
    values = np.column_stack(columns)
    values[:, 2] = np.unwrap(values[:, 2])
    hints: dict[str, Any] = {"x": m, "y": m} | {ours: unit for ours, unit in fields.values()}
    State = record.define("CommonRoadState", hints, doc="What CommonRoad's states have.")
    return kind.from_arrays(steps * dt, (State, values), name=name, meta={"dt": float(dt)})


def _steps(states: Sequence[Any]) -> Array:
    steps = _column(states, "time_step")
    if (np.diff(steps) <= 0.0).any():
        late = int(np.argmax(np.diff(steps) <= 0.0))
        raise InvalidValue(
            f"time_step = {steps[late + 1]:g} follows {steps[late]:g}; time steps must increase"
        )
    return steps


def _positions(states: Sequence[Any]) -> Array:
    for k, state in enumerate(states):
        place: Any = getattr(state, "position", None)
        if np.shape(place) != (2,):
            raise InvalidValue(
                f"state {k} has position = {place!r}; a trajectory "
                "needs a point (x, y), not an area"
            )
    return np.array([state.position for state in states], dtype=float)


def _column(states: Sequence[Any], name: str) -> Array:
    for k, state in enumerate(states):
        value = getattr(state, name, None)
        if not isinstance(value, Real):
            raise InvalidValue(
                f"state {k} has {name} = {value!r}; a trajectory needs a number, not a range"
            )
    return np.array([float(getattr(state, name)) for state in states])


_SPACING_SLACK = 1e-9
"""Relative difference of steps that still count as equal.

Times may result from summation, or from a file with few digits.
"""


class Points(Table):
    """A trajectory table viewed as a sequence of points at equal steps."""

    @property
    def mode(self) -> TrajectoryMode:
        """Kind of the points: states if there are any, else inputs, else disturbances."""
        layout: Layout | None = self.__dict__.get("_layout")
        roles = {layout.role} if layout is not None else {column.role for column in self.columns}
        for mode in TrajectoryMode:
            if mode.value in roles:
                return mode
        raise InvalidValue(
            "this trajectory has no points: it has neither states nor inputs nor disturbances"
        )

    @property
    def dim(self) -> int:
        """Number of values of a point."""
        return self._rows_of_points.shape[1]

    @property
    def steps(self) -> list[int]:
        """Step numbers of the points: 0 to len - 1."""
        return list(range(len(self)))

    @property
    def t_0(self) -> float:
        """Time of the first point in s."""
        return float(self.t[0])

    @property
    def t_final(self) -> float:
        """Time of the last point in s."""
        return float(self.t[-1])

    @property
    def delta_t(self) -> float:
        """Time between successive points in s; raises if it is not constant."""
        noted = self.meta.get("dt")
        known = float(noted) if isinstance(noted, (int, float)) else None
        if len(self) == 1:
            if known is not None:
                return known
            raise InvalidValue("one sample has no spacing, so delta_t is not known")
        mean = self.duration / (len(self) - 1)
        gaps = np.diff(self.t)
        worst = int(np.abs(gaps - mean).argmax())
        if abs(gaps[worst] - mean) > self._spacing_slack(mean):
            raise InvalidValue(
                f"delta_t is not one number: t[{worst}] = {self.t[worst]:g} s is followed by "
                f"{self.t[worst + 1]:g} s, the mean spacing is {mean:g} s; `resample` makes it even"
            )
        # Prefer the step length stored in the notes, which has no rounding from summed times.
        fits = known is not None and abs(known - mean) <= self._spacing_slack(mean)
        return known if known is not None and fits else mean

    def _spacing_slack(self, mean: float) -> float:
        return _SPACING_SLACK * mean + 2.0 * table.slack(self.t)

    @property
    def initial_point(self) -> Any:
        """The first point, a record."""
        return self.point(0)

    @property
    def final_point(self) -> Any:
        """The last point, a record."""
        return self.point(-1)

    @property
    def points(self) -> dict[int, Any]:
        """The points by step."""
        return {k: self.point(k) for k in range(len(self))}

    def point(self, k: int) -> Any:
        """The point at a step, a record; negative steps count from the end."""
        return self._record(self._rows_of_points[self._position(k)])

    def points_around(self, t: float) -> tuple[Any, Any, int, int]:
        """The points before and after a time in s, and their steps.

        Both are the same if the time is that of a point, also if off by rounding.
        """
        at = places(self.t, self._inside([t]))
        before, after = int(at.before[0]), int(at.after[0])
        return self.point(before), self.point(after), before, after

    def point_at(self, t: float, *, held: bool | None = None) -> Any:
        """The point at a time in s, a record.

        States are interpolated linearly, headings along the shorter arc, inputs and disturbances
        held; `held` overrides this for every mode. At a step, the result is that point.
        """
        return self._record(self._points_at([t], held)[0])

    def to_array(self, times: ArrayLike | None = None, *, interpolate: bool = False) -> Array:
        """The points as an array (times, dim), by default all of them.

        Without `interpolate` the point nearest in time is taken; of two equally near points, the
        one with the even step. With it, values in between are linear in every mode.
        """
        if times is None:
            return self._rows_of_points
        if interpolate:
            return self._points_at(times, held=False)
        at = places(self.t, self._inside(times))
        up = (at.weight > 0.5) | ((at.weight == 0.5) & (at.before % 2 == 1))
        return self._rows_of_points[np.where(up, at.after, at.before)]

    def append(self, point: Any) -> Self:
        """Return a trajectory with one more point, a step after the last; this one is unchanged.

        The point is a record of the same class, a mapping of all its fields or an array.
        """
        mode = self.mode
        others = sorted({c.role for c in self.columns if c.role != mode.value})
        if others:
            raise InvalidValue(
                f"append works only on a trajectory of {mode.value}s alone, but this one also has "
                f"{' and '.join(f'{role}s' for role in others)}; use + to join it with another "
                "trajectory"
            )
        values = np.array(record.flatten(self._fitting(point)))
        columns = tuple(
            c._replace(values=np.append(c.values, value))
            for c, value in zip(self.columns, values, strict=True)
        )
        return replace(self, t=np.append(self.t, self.t[-1] + self.delta_t), columns=columns)

    def _fitting(self, point: Any) -> Any:
        kind = self._known_point()
        if hasattr(point, "convert_to_array"):
            point = point.convert_to_array()
        # A mapping has to name every field.
        blank = record.unflatten(kind, (None,) * record.size(kind))
        return record.build(kind, point, base=blank)

    @cached_property
    def _rows_of_points(self) -> Array:
        return self._matrix(self.mode.value)

    @cached_property
    def _record(self) -> Callable[[Array], Any]:
        """Function that makes a point from a row of numbers."""
        kind: Any = self._known_point()
        if len(kind._fields) == record.size(kind):
            return lambda row: kind._make(row.tolist())
        return lambda row: record.unflatten(kind, row.tolist())

    def _known_point(self) -> type:
        layout: Layout | None = self.__dict__.get("_layout")
        if layout is not None:
            return layout.Point
        if self.Point is None:
            raise InvalidValue(
                "this trajectory does not know the record of its points (files keep names and "
                "units only); give it: dataclasses.replace(trajectory, Point=vehicle.State)"
            )
        expected = [PREFIXES[self.mode.value] + name for name in record.names(self.Point)]
        names = [c.name for c in self._columns_of_points()]
        if expected != names:
            raise InvalidValue(
                f"points of {self.Point.__name__} need the columns {', '.join(expected)}; "
                f"this trajectory has {', '.join(names)}"
            )
        return self.Point

    def _columns_of_points(self) -> list[Column]:
        role = self.mode.value
        return [column for column in self.columns if column.role == role]

    def _points_at(self, times: ArrayLike, held: bool | None) -> Array:
        moments = self._inside(times)
        columns = self._columns_of_points()
        return np.column_stack([interpolated(c, self.t, moments, held=held) for c in columns])

    def _inside(self, times: Any) -> Array:
        """Times as an array, moved to a sample if off by rounding; raises for times outside."""
        try:
            moments = np.atleast_1d(np.asarray(times, dtype=float))
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidValue(f"times = {shown(times)} must be numbers, in s") from error
        if moments.ndim != 1:
            raise InvalidValue(f"times have shape {moments.shape}; expected (n,), in s")
        near = table.snapped(self.t, moments)
        outside = ~((near >= self.t[0]) & (near <= self.t[-1]))
        if outside.any():
            raise InvalidValue(
                f"time {moments[outside][0]:g} s is outside the trajectory, {table.span(self.t)}"
            )
        return near


def _within(area: Any, positions: Array, margin: float) -> Mask:
    """Mask of the positions (n, 2) that lie within `margin` in m of a shapely geometry; the border
    counts as inside.
    """
    import shapely

    return np.asarray(shapely.distance(area, shapely.points(positions)) <= margin)


class CommonRoadTrajectory(Points):
    """Points with goals, CommonRoad's objects and the names of commonroad-control."""

    def reached(
        self,
        goal: Any,
        *,
        margin: float = 0.0,
        lanelet_network: Any = None,
        initial_time_step: int = 0,
    ) -> bool:
        """Whether some state of this trajectory is in a goal.

        Args:
            goal: a polygon as vertices (m, 2) in m, a shapely geometry, a function of a point, or
                a CommonRoad planning problem or goal region, which also bound time, orientation and
                speed.
            margin: distance in m that a position may be outside. For a CommonRoad goal a position
                within a margin above 0 is enough, whatever the other bounds: the rule of
                commonroad-control, whose margin is 1 m.
            lanelet_network: needed if the goal is given by lanelets and margin is above 0.
            initial_time_step: time step of the first point, for the bounds of a CommonRoad goal.
        """
        return bool(self._in_goal(goal, margin, lanelet_network, initial_time_step).any())

    def when_reached(
        self,
        goal: Any,
        *,
        margin: float = 0.0,
        lanelet_network: Any = None,
        initial_time_step: int = 0,
    ) -> float | None:
        """Time in s of the first point in a goal, or None; see `reached`."""
        inside = self._in_goal(goal, margin, lanelet_network, initial_time_step)
        return float(self.t[inside.argmax()]) if inside.any() else None

    def _in_goal(self, goal: Any, margin: float, lanelets: Any, first: int) -> Mask:
        self._must_hold_states("a goal test")
        margin = not_negative("margin", margin, "m")
        if hasattr(goal, "goal") or hasattr(goal, "is_reached"):
            region = getattr(goal, "goal", goal)
            states = _states(_motion(self), first)
            inside: Mask = np.array([bool(region.is_reached(state)) for state in states])
            if margin > 0.0:
                for area in _areas(region, lanelets):
                    inside |= _within(area, self.positions, margin)
            return inside
        if callable(goal):
            return np.array([bool(goal(self.point(k))) for k in self.steps])
        if hasattr(goal, "geom_type") and hasattr(goal, "distance"):
            return _within(goal, self.positions, margin)
        # The vertices (m, 2) of a polygon; raises for anything else
        try:
            vertices: NDArray[Any] = np.asarray(goal, dtype=float)
        except (TypeError, ValueError, OverflowError):
            vertices = np.empty(0)
        if vertices.ndim != 2 or vertices.shape[1] != 2 or len(vertices) < 3:
            raise InvalidValue(
                f"goal = {shown(goal)} must be a polygon (at least 3 vertices, shape (m, 2)), a "
                "shapely geometry, a function of a point, or a CommonRoad planning problem or goal "
                "region"
            )
        if not np.isfinite(vertices).all():
            raise InvalidValue("goal has a vertex that is not finite")
        return within(self.positions, vertices, margin)

    @property
    def positions(self) -> Array:
        """The columns `x` and `y` as one (samples, 2) array, in m; also if nested."""
        groups = [
            [c.values for c in self.columns if c.role == "state" and c.name.split(".")[-1] == axis]
            for axis in ("x", "y")
        ]
        if not all(groups):
            raise InvalidValue(
                "this trajectory has no positions: it needs the states x and y, and has "
                + ", ".join(c.name for c in self.columns if c.role == "state")
            )
        return np.column_stack([columns[0] for columns in groups])

    def to_commonroad_states(self, initial_time_step: int = 0) -> list[Any]:
        """Convert each point to a CommonRoad `CustomState`, with time steps from the given one on.

        The speed is negative in reverse, the acceleration is its rate along the path, the slip
        angle relative to the direction of travel, the orientation wrapped to ±π. A yaw rate that
        was not recorded is zero. Points must be equally far apart in time, as CommonRoad counts
        steps.
        """
        self._must_hold_states("to_commonroad_states")
        return _states(_motion(self), initial_time_step)

    def to_commonroad_trajectory(self, initial_time_step: int = 0) -> Any:
        """Convert to a CommonRoad `Trajectory`; the spacing should be the scenario's."""
        self._must_hold_states("to_commonroad_trajectory")
        return _trajectory(_motion(self), initial_time_step)

    def to_commonroad_dynamic_obstacle(
        self,
        width: float | None = None,
        length: float | None = None,
        id: int = 1,
        *,
        vehicle: Any = None,
        kind: str = "car",
        initial_time_step: int = 0,
    ) -> Any:
        """Convert to a CommonRoad `DynamicObstacle`, a rectangle of this size in m.

        The rectangle is centred on the positions of the states, which in `commonroad_ks` and
        Autoware's models is the rear axle. With the simulated `vehicle`, rectangle and states refer
        to the middle of its body, and the size need not be given. `kind` is one of CommonRoad's
        obstacle types.
        """
        self._must_hold_states("to_commonroad_dynamic_obstacle")
        if vehicle is not None:
            left, right, rear, front = _extent(vehicle)
            width = left - right if width is None else width
            length = front - rear if length is None else length
        width, length = positive("width", width, "m"), positive("length", length, "m")
        obstacles = _module("scenario.obstacle")
        kinds = {k.value: k for k in obstacles.ObstacleType}
        one_of("kind", kind, kinds)
        motion, shape = _motion(self, vehicle), _rectangle(width, length)
        start = _attributes(motion, 0)
        start.pop("steering_angle", None)
        predicted = _module("prediction.prediction").TrajectoryPrediction(
            trajectory=_trajectory(motion, initial_time_step), shape=shape
        )
        start_state = _module("scenario.state").InitialState(time_step=initial_time_step, **start)
        return obstacles.DynamicObstacle(
            obstacle_id=id,
            obstacle_type=kinds[kind],
            obstacle_shape=shape,
            initial_state=start_state,
            prediction=predicted,
        )

    @classmethod
    def from_commonroad(cls, source: Any, dt: float, *, name: str = "") -> Self:
        """Convert a CommonRoad trajectory, a dynamic obstacle or a list of states.

        Each time step is dt in s, from time step 0 at t = 0. The result has the states x, y, yaw
        (continuous) and v, and of steer, beta, omega and a those that every CommonRoad state has.
        """
        return read(cls, source, dt, name)

    def _must_hold_states(self, what: str) -> None:
        if self.mode is not TrajectoryMode.State:
            raise InvalidValue(f"{what} is for states; this trajectory holds {self.mode.value}s")

    def get_point_at_time_step(self, time_step: int) -> Any:
        """Alias of `point` for commonroad-control; None for a step that does not exist."""
        return self.point(time_step) if 0 <= time_step < len(self) else None

    def get_point_before_and_after_time(self, time: float) -> tuple[Any, Any, int, int]:
        """Alias of `points_around` for commonroad-control."""
        return self.points_around(time)

    def get_point_at_time(self, time: float, sidt_factory: Any = None) -> Any:
        """Like `point_at`, but linear in every mode, as in commonroad-control.

        With a factory of commonroad-control, that factory makes the point.
        """
        if sidt_factory is None:
            return self.point_at(time, held=False)
        make = getattr(sidt_factory, f"{self.mode.value}_from_numpy_array")
        return make(self.to_array([time], interpolate=True)[0])

    def append_point(self, next_point: Any) -> Any:
        """Alias of `append` for commonroad-control; returns the longer trajectory."""
        return self.append(next_point)

    def convert_to_numpy_array(
        self, time: ArrayLike, linear_interpolate: bool = False, sidt_factory: Any = None
    ) -> Array:
        """Like `to_array`, but (dim, times) as in commonroad-control; the factory is ignored."""
        return self.to_array(time, interpolate=linear_interpolate).T

    def check_goal_reached(self, planning_problem: Any, lanelet_network: Any = None) -> bool:
        """Like `reached`, with commonroad-control's margin of 1 m; False for other modes."""
        if self.mode is not TrajectoryMode.State:
            return False
        return self.reached(planning_problem, margin=1.0, lanelet_network=lanelet_network)

    def to_cr_dynamic_obstacle(
        self, vehicle_width: float, vehicle_length: float, vehicle_id: int
    ) -> Any:
        """Alias of `to_commonroad_dynamic_obstacle` for commonroad-control."""
        return self.to_commonroad_dynamic_obstacle(vehicle_width, vehicle_length, vehicle_id)


_TURN = 2.0 * math.pi
_STILL = 1e-9
"""Speed in m/s below which a car has no direction of travel."""


def _module(name: str, purpose: str = "This conversion") -> Any:
    return require(f"commonroad.{name}", purpose=purpose)


class _Motion(NamedTuple):
    """The quantities of a CommonRoad state, one value per sample."""

    position: Array
    orientation: Array
    velocity: Array
    """Speed in m/s, negative in reverse."""
    acceleration: Array
    yaw_rate: Array
    slip_angle: Array
    steering_angle: Array | None


def _motion(trajectory: Points, vehicle: Any = None) -> _Motion:
    """Motion of the reference point of the states or, if `vehicle` is given, of its outline's
    centre."""
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
    """Distances from a vehicle's reference point to its left, right, rear and front end, in m."""
    outlines = body_of(vehicle, "a CommonRoad obstacle").geometry(vehicle.params).outlines
    points = np.array([point for outline in outlines for point in outline], dtype=float)
    (rear, right), (front, left) = points.min(axis=0), points.max(axis=0)
    return float(left), float(right), float(rear), float(front)


def _moving(t: Array, position: Array, yaw: Array, v_x: Array, v_y: Array) -> _Motion:
    """Motion from velocities in body axes; yaw rate and steering are left empty."""
    direction = np.where(v_x < 0.0, -1.0, 1.0)
    speed = np.hypot(v_x, v_y)
    return _Motion(
        position=position,
        orientation=yaw - _TURN * np.rint(yaw / _TURN),
        velocity=direction * speed,
        acceleration=_along_the_path(t, v_x, v_y, speed),
        yaw_rate=np.zeros(len(t)),
        slip_angle=np.arctan2(direction * v_y, np.abs(v_x)),
        steering_angle=None,
    )


def _along_the_path(t: Array, v_x: Array, v_y: Array, speed: Array) -> Array:
    """Rate of the signed speed, which is negative in reverse; at rest the forward acceleration."""
    if len(t) < 2:
        return np.zeros(len(t))
    a_x, a_y = np.gradient(v_x, t), np.gradient(v_y, t)
    still = speed < _STILL
    way = np.where(v_x < 0.0, -1.0, 1.0)
    along = way * (v_x * a_x + v_y * a_y) / np.where(still, 1.0, speed)
    return np.where(still, a_x, along)


def _attributes(motion: _Motion, k: int) -> dict[str, Any]:
    values = {n: v[k] for n, v in motion._asdict().items() if v is not None}
    return {n: v if n == "position" else float(v) for n, v in values.items()}


def _states(motion: _Motion, first: int) -> list[Any]:
    custom = _module("scenario.state").CustomState
    count = len(motion.orientation)
    return [custom(time_step=first + k, **_attributes(motion, k)) for k in range(count)]


def _trajectory(motion: _Motion, first: int) -> Any:
    return _module("scenario.trajectory").Trajectory(first, _states(motion, first))


def _rectangle(width: float, length: float) -> Any:
    try:
        shapes = _module("geometry.obstacle_shapes.rect_obstacle_shape")
    except MissingExtra:  # commonroad-io before 2026
        return _module("geometry.shape").Rectangle(length=length, width=width)
    return shapes.RectObstacleShape(width=width, length=length)


def _areas(region: Any, lanelets: Any) -> list[Any]:
    """Shapes of a goal region as shapely geometries."""
    by_state = region.lanelets_of_goal_position
    if by_state:
        if lanelets is None:
            raise InvalidValue(
                "this goal is given by lanelets: a margin needs the scenario's "
                "network as lanelet_network="
            )
        ids = [number for numbers in by_state.values() for number in numbers]
        return [lanelets.find_lanelet_by_id(number).polygon.shapely_object for number in ids]
    positions = (getattr(state, "position", None) for state in region.state_list)
    return [shape.shapely_object for position in positions for shape in _parts(position)]


def _parts(position: Any) -> list[Any]:
    """Split a goal position into single shapes; empty if it is not an area."""
    if position is None:
        return []
    # A ShapeGroup of commonroad-io before 2026 has no geometry of its own.
    group = getattr(position, "shapes", None)
    return list(group) if group is not None else [position]
