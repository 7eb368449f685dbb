"""The stage of recorded runs: one body per trajectory, a row per sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..errors import InvalidValue
from ..model import Vehicle
from ..road.road import Road
from ..trajectory.trajectory import Trajectory
from .computed import ComputedMotion
from .description import Body, Relief, Stage
from .layout import ATTITUDE, POSE, Named, Rows
from .relief import relief_of, road_box
from .road_attitude import attitude_on_road, road_under
from .shapes import BodyShape, drawn_wheels, shape_of
from .trailers import Trailers

__all__ = ["trajectory_stage"]


def trajectory_stage(
    runs: Mapping[str, Trajectory],
    vehicles: Mapping[str, Vehicle | BodyShape] | Vehicle | BodyShape,
    *,
    title: str = "",
    **still: Any,
) -> tuple[Stage, Array, Array]:
    """The stage of some runs by name, its times (T,) in s and rows (T, channels).

    Runs that differ in their times are shown at those of the first, the shorter ones standing
    still at their end. `still` are lines, polygons and discs on the ground, by the fields of
    `Stage`.
    """
    if not runs:
        raise InvalidValue("a stage needs at least one trajectory")
    times = _common_times(list(runs.values()))
    rows = Rows()
    drawn: list[tuple[Body, BodyShape]] = []
    columns: list[Array] = []
    roads: dict[Road, list[Array]] = {}
    for name, run in runs.items():
        vehicle = vehicles.get(name) if isinstance(vehicles, Mapping) else vehicles
        if vehicle is None:
            raise InvalidValue(f"no vehicle is given for the trajectory {name!r}")
        seen = _SeenRun(name, run, times, vehicle)
        drawn.append((seen.body(rows), seen.shape))
        if seen.road is not None:
            roads.setdefault(seen.road, []).append(seen.poses[:, :2])
        columns += seen.columns.values()
    trailers = Trailers(drawn, rows)
    bodies = (*(body for body, _ in drawn), *trailers.bodies)
    still.setdefault("reliefs", _reliefs(roads))
    stage = Stage(title or next(iter(runs)), tuple(rows.channels), bodies, **still)
    return stage, times, trailers.added(np.column_stack(columns))


class _SeenRun:
    """One run at the times of the stage: its columns by the names of their channels."""

    def __init__(
        self, name: str, run: Trajectory, times: Array, vehicle: Vehicle | BodyShape
    ) -> None:
        self._name, self._model = name, run.name
        self._named = [Named(c.name, c.unit.symbol, c.role) for c in run.columns]
        self.columns: dict[str, Array] = _sampled(run, times)
        if isinstance(vehicle, BodyShape):
            self.shape, self._pose = vehicle, tuple(one.name for one in POSE)
        else:
            self.shape, self._pose = shape_of(vehicle), self._computed(vehicle)
        missing = [field for field in self._pose if field not in self.columns]
        if missing:
            raise InvalidValue(
                f"the trajectory {name!r} has no {', '.join(missing)}, so it cannot be drawn"
            )
        self.road = road_under(vehicle)
        """What it drove on, if that is a road."""
        if isinstance(vehicle, Vehicle) and self.road is not None:
            self._lay_on_road(vehicle, self.road)

    @property
    def poses(self) -> Array:
        """x, y and yaw (T, 3)."""
        return np.column_stack([self.columns[field] for field in self._pose])

    def _lay_on_road(self, vehicle: Vehicle, road: Road) -> None:
        """Add height, pitch and roll, unless the run has such columns itself."""
        values = attitude_on_road(vehicle, road, self.poses)
        for named, column in zip(ATTITUDE, values, strict=True):
            if named.name not in self.columns:
                self.columns[named.name] = column
                self._named.append(named)

    def _computed(self, vehicle: Vehicle) -> tuple[str, ...]:
        """Add what the vehicle's body computes; returns the names of the columns of the pose."""
        motion, columns = ComputedMotion(vehicle), self.columns
        if motion.named:
            x = record.unflatten(vehicle.State, self._all(record.names(vehicle.State)))
            inputs = [f"u_{field}" for field in record.names(vehicle.Input)]
            u = record.unflatten(vehicle.Input, self._all(inputs))
            values = motion.values(x, u, vehicle.params)
            columns |= {n.name: v for n, v in zip(motion.named, values, strict=True)}
            self._named += motion.named
        return motion.pose

    def _all(self, names: Sequence[str]) -> list[Array]:
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise InvalidValue(
                f"the trajectory {self._name!r} has no {', '.join(missing)}, so that its place "
                "is not known"
            )
        return [self.columns[name] for name in names]

    def body(self, rows: Rows) -> Body:
        """The vehicle, with channels behind those that there are."""
        shape, places = self.shape, rows.add(self._name, self._named)
        at = (places[field] for field in self._pose)
        wheels = drawn_wheels(shape.wheels, places)
        vehicle = Body(self._name, "vehicle", shape.outlines, *at, wheels=wheels, channels=places)
        return replace(vehicle, model=self._model)


def _reliefs(roads: Mapping[Road, Sequence[Array]]) -> tuple[Relief, ...]:
    drawn = (relief_of(r, road_box(r, np.concatenate(paths))) for r, paths in roads.items())
    return tuple(relief for relief in drawn if relief is not None)


def _common_times(runs: Sequence[Trajectory]) -> Array:
    longest = max(runs, key=lambda run: run.t[-1])
    return longest.t


def _sampled(run: Trajectory, times: Array) -> dict[str, Array]:
    """The columns of a run at these times (T,); its ends beyond them."""
    inside = np.clip(times, run.t[0], run.t[-1])
    if len(times) == len(run) and np.array_equal(inside, run.t):
        return {column.name: column.values for column in run.columns}
    latest = np.searchsorted(run.t, inside, side="right") - 1
    return {
        column.name: column.values[latest]
        if column.role == "input"
        else np.interp(inside, run.t, column.values)
        for column in run.columns
    }
