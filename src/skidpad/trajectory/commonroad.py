"""What CommonRoad's users ask of a trajectory: its objects, goals, and commonroad-control's names.

The objects need `commonroad-io` (`pip install "skidpad[commonroad]"`); goals that are polygons and
the other methods do not.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, Mask
from ..brief import shown
from ..checks import not_negative
from ..errors import InvalidValue
from ..plane.polygon import within
from .columns import TrajectoryMode
from .points import Points


def in_area(goal: Any, positions: Array, margin: float) -> Mask:
    """Which positions (n, 2) lie in an area or within `margin` in m of it; the border counts.

    The area is a polygon, as vertices (m, 2) in m, or a shapely geometry.
    """
    if hasattr(goal, "geom_type") and hasattr(goal, "distance"):
        return _in_geometry(goal, positions, margin)
    return within(positions, vertices_of(goal), margin)


def vertices_of(goal: Any) -> Array:
    """The vertices (m, 2) of a polygon; raises for anything else."""
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
    return vertices


def _in_geometry(area: Any, positions: Array, margin: float) -> Mask:
    import shapely

    return np.asarray(shapely.distance(area, shapely.points(positions)) <= margin)


class CommonRoadTrajectory(Points):
    """Points that can be handed to CommonRoad."""

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
            lanelet_network: where the goal is given by lanelets and margin is above 0.
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
        """Time in s of the first point in a goal, None if there is none; see `reached`."""
        inside = self._in_goal(goal, margin, lanelet_network, initial_time_step)
        return float(self.t[inside.argmax()]) if inside.any() else None

    def _in_goal(self, goal: Any, margin: float, lanelets: Any, first: int) -> Mask:
        self._must_hold_states("a goal test")
        margin = not_negative("margin", margin, "m")
        if hasattr(goal, "goal") or hasattr(goal, "is_reached"):
            from . import commonroad_objects as commonroad

            return commonroad.in_goal(self, goal, margin, lanelets, first)
        if callable(goal):
            return np.array([bool(goal(self.point(k))) for k in self.steps])
        return in_area(goal, self.positions, margin)

    @property
    def positions(self) -> Array:
        """The columns `x` and `y` as one (samples, 2) array, in m; also of a nested record."""
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
        """A CommonRoad `CustomState` per point, with time steps counted from the given one.

        The speed is negative in reverse, the acceleration its rate along the path, the slip angle
        seen in the direction of travel, the orientation wrapped to ±π. A yaw rate that was not
        recorded is zero. Points must be equally far apart in time, as CommonRoad counts steps.
        """
        self._must_hold_states("to_commonroad_states")
        from . import commonroad_objects as commonroad

        return commonroad.states(self, initial_time_step)

    def to_commonroad_trajectory(self, initial_time_step: int = 0) -> Any:
        """The same as a CommonRoad `Trajectory`; its spacing should be the scenario's."""
        self._must_hold_states("to_commonroad_trajectory")
        from . import commonroad_objects as commonroad

        return commonroad.trajectory(self, initial_time_step)

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
        """A CommonRoad `DynamicObstacle`: a rectangle of this size in m around each position.

        Positions are those of the states, which of `commonroad_ks` and Autoware's models is the
        rear axle. With the `vehicle` that was driven the rectangle lies around the middle of its
        body, whose motion the states have then, and its size need not be given. `kind` is one of
        CommonRoad's obstacle types.
        """
        self._must_hold_states("to_commonroad_dynamic_obstacle")
        from . import commonroad_objects as commonroad

        return commonroad.dynamic_obstacle(
            self, width, length, id, kind, initial_time_step, vehicle
        )

    @classmethod
    def from_commonroad(cls, source: Any, dt: float, *, name: str = "") -> Self:
        """From a CommonRoad trajectory, a dynamic obstacle or a list of states, each step dt in s.

        Its states have x, y, yaw (continuous) and v, and of steer, beta, omega and a what all of
        the CommonRoad states have; the time is that of their time steps.
        """
        from .commonroad_states import read

        return read(cls, source, dt, name)

    def _must_hold_states(self, what: str) -> None:
        if self.mode is not TrajectoryMode.State:
            raise InvalidValue(f"{what} is for states; this trajectory holds {self.mode.value}s")

    def get_point_at_time_step(self, time_step: int) -> Any:
        """commonroad-control's name of `point`; None for a step that does not exist."""
        return self.point(time_step) if 0 <= time_step < len(self) else None

    def get_point_before_and_after_time(self, time: float) -> tuple[Any, Any, int, int]:
        """commonroad-control's name of `points_around`."""
        return self.points_around(time)

    def get_point_at_time(self, time: float, sidt_factory: Any = None) -> Any:
        """As `point_at`, but linear in every mode, as in commonroad-control.

        With a factory of commonroad-control's kind, the point is made by it.
        """
        if sidt_factory is None:
            return self.point_at(time, held=False)
        make = getattr(sidt_factory, f"{self.mode.value}_from_numpy_array")
        return make(self.to_array([time], interpolate=True)[0])

    def append_point(self, next_point: Any) -> Any:
        """commonroad-control's name of `append`: use what it returns, this one does not change."""
        return self.append(next_point)

    def convert_to_numpy_array(
        self, time: ArrayLike, linear_interpolate: bool = False, sidt_factory: Any = None
    ) -> Array:
        """As `to_array`, but (dim, times) as in commonroad-control; the factory is not needed."""
        return self.to_array(time, interpolate=linear_interpolate).T

    def check_goal_reached(self, planning_problem: Any, lanelet_network: Any = None) -> bool:
        """As `reached` with commonroad-control's margin of 1 m; False for other modes."""
        if self.mode is not TrajectoryMode.State:
            return False
        return self.reached(planning_problem, margin=1.0, lanelet_network=lanelet_network)

    def to_cr_dynamic_obstacle(
        self, vehicle_width: float, vehicle_length: float, vehicle_id: int
    ) -> Any:
        """commonroad-control's name of `to_commonroad_dynamic_obstacle`."""
        return self.to_commonroad_dynamic_obstacle(vehicle_width, vehicle_length, vehicle_id)
