"""Trajectory: the recording of a run, as named columns with units over time, and its files.

Column names follow from the records of the vehicle:

* a state keeps its name: `v_x`, `steer`;
* an input always gets the prefix `u_`: `u_steer` is the target, `steer` the state that follows it;
* a disturbance always gets the prefix `w_`;
* an output keeps its name (`a_y`), or gets the prefix `out_` where that name is already taken.

Row i holds the state and the outputs at `t[i]`, and the input and the disturbance in effect from
`t[i]` to `t[i + 1]`. Between samples, states and outputs are therefore linear and the others held;
`trajectory_table.interpolated` describes the treatment of wrapped headings.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..core import record
from ..core.arrays import Array
from ..core.checks import finite, number, positive
from ..core.files import shortened
from ..errors import InvalidValue
from ..units import Unit
from . import trajectory_table
from . import trajectory_table as table
from .trajectory_commonroad import CommonRoadTrajectory
from .trajectory_table import Group, Role, Sample, TrajectoryMode, interpolated, slack, span

if TYPE_CHECKING:
    from pandas import DataFrame


class Trajectory(CommonRoadTrajectory):
    """Named columns with units over strictly increasing time. Immutable; arrays are read-only.

    `traj["v_x"]` and `traj.v_x` are the column; `traj[10:20:2]` is a part by samples, `traj[-1]`
    one sample, `traj.between(1.0, 2.0)` a part by time. Iteration yields samples. A column whose
    name is also an attribute of this class (`name`, `plot`, ...) is accessed with brackets.

    It is also a sequence of points, records of one kind (`mode`): `traj.point(3)`,
    `traj.final_point`, `traj.point_at(0.25)`.
    """

    @classmethod
    def from_arrays(
        cls,
        t: ArrayLike,
        states: Group | None = None,
        inputs: Group | None = None,
        outputs: Group | None = None,
        *,
        disturbances: Group | None = None,
        name: str = "",
        meta: Mapping[str, Any] | None = None,
        error: Exception | None = None,
    ) -> Trajectory:
        """Build a trajectory from record classes and (samples, fields) arrays.

        Columns are named as in the module text.
        """
        time = table.frozen("t", t)
        groups: dict[Role, Group | None] = {
            "state": states,
            "input": inputs,
            "disturbance": disturbances,
            "output": outputs,
        }
        columns = table.columns_of_records(time.size, groups)
        points = next((g for g in (states, inputs, disturbances) if g is not None), None)
        return cls(
            time,
            columns,
            name,
            meta or {},
            error,
            None if states is None else states[0],
            None if points is None else points[0],
        )

    @classmethod
    def from_points(
        cls,
        points: Sequence[Any] | Mapping[int, Any],
        *,
        delta_t: float,
        mode: TrajectoryMode | str = TrajectoryMode.State,
        t_0: float = 0.0,
        name: str = "",
    ) -> Trajectory:
        """Build a trajectory from records of one class, `delta_t` in s apart.

        `points` is a sequence in order, or a mapping from step numbers 0, 1, ... to points.
        """
        delta_t, t_0 = positive("delta_t", delta_t, "s"), finite("t_0", t_0, "s")
        kind, rows = _rows_of(points)
        try:
            role = TrajectoryMode(mode).value
        except ValueError:
            allowed = ", ".join(repr(m.value) for m in TrajectoryMode)
            raise InvalidValue(f"mode = {mode!r} is unknown; allowed are {allowed}") from None
        t = t_0 + delta_t * np.arange(len(rows))
        groups = {role: (kind, rows)}
        return cls.from_arrays(
            t,
            groups.get("state"),
            groups.get("input"),
            disturbances=groups.get("disturbance"),
            name=name,
            meta={"dt": float(delta_t)},
        )

    @property
    def states(self) -> Array:
        """The state columns as one (samples, fields) array."""
        return self._matrix("state")

    @property
    def inputs(self) -> Array:
        """The input columns as one (samples, fields) array.

        The last sample has no step of its own and repeats the input before it;
        `Simulator.run(trajectory)` drives the steps again.
        """
        return self._matrix("input")

    @property
    def disturbances(self) -> Array:
        """The disturbance columns as one (samples, fields) array."""
        return self._matrix("disturbance")

    @property
    def outputs(self) -> Array:
        """The output columns as one (samples, fields) array."""
        return self._matrix("output")

    def state(self, i: int, State: type | None = None) -> Any:
        """The state record at sample i.

        After reading from a file, `State` names the record class.
        """
        kind = State or self.State
        if kind is None:
            raise InvalidValue(
                "this trajectory does not know its state record (files keep names and units only); "
                "give it: state(i, State=vehicle.State)"
            )
        row = self._position(i)
        return record.unflatten(
            kind, [float(self.column(leaf).values[row]) for leaf in record.names(kind)]
        )

    def between(self, t0: float, t1: float) -> Trajectory:
        """Return the samples with t0 <= t <= t1, in s; both ends are included, also if off by
        rounding.
        """
        rounding, t0, t1 = slack(self.t), number("t0", t0, "s"), number("t1", t1, "s")
        inside = (self.t >= t0 - rounding) & (self.t <= t1 + rounding)
        if not inside.any():
            raise InvalidValue(f"no sample between {t0:g} and {t1:g} s; there are {span(self.t)}")
        first = int(inside.argmax())
        return self[first : first + int(inside.sum())]

    def at(self, t: float) -> Sample:
        """Return all columns at one time in s: states and outputs interpolated, the others held."""
        moments = self._inside([number("t", t, "s")])
        values = {c.name: float(interpolated(c, self.t, moments)[0]) for c in self.columns}
        return Sample(float(moments[0]), values)

    def resample(self, times: ArrayLike | None = None, *, dt: float | None = None) -> Trajectory:
        """Return the same motion at other times, an array (n,) or a spacing dt, in s.

        States and outputs are interpolated linearly, inputs and disturbances held. Times outside
        raise InvalidValue.
        """
        if (times is None) == (dt is None):
            raise InvalidValue("resample takes either times or dt")
        moments = self._inside(self._every(dt) if dt is not None else times)
        columns = tuple(c._replace(values=interpolated(c, self.t, moments)) for c in self.columns)
        return replace(self, t=moments, columns=columns)

    def starting_at(self, t0: float) -> Trajectory:
        """Return the same samples with time shifted so that the first one is at t0, in s."""
        return replace(self, t=self.t - self.t[0] + finite("t0", t0, "s"))

    def __add__(self, other: Trajectory) -> Trajectory:
        if not isinstance(other, Trajectory):
            return NotImplemented
        return Trajectory.concat([self, other])

    @staticmethod
    def concat(parts: Sequence[Trajectory]) -> Trajectory:
        """Join runs that follow each other into one trajectory.

        The parts need the same columns, and time must increase. A part may begin at the very time
        at which the one before ended if the state is the same there, as in two runs of one
        simulator. That sample is kept once, with the input that was applied after it.
        """
        wrong = (
            f"concat needs at least one trajectory and nothing else, got {shortened(repr(parts))}"
        )
        if not isinstance(parts, Iterable):
            raise InvalidValue(wrong)
        members = list(parts)
        if not members or not all(isinstance(part, Trajectory) for part in members):
            raise InvalidValue(wrong)
        first, *others = members
        t, columns, meta, error = first.t, first.columns, dict(first.meta), first.error
        for part in others:
            t, columns = table.joined((t, columns), (part.t, part.columns))
            meta.update(part.meta)
            error = part.error or error
        return replace(first, t=t, columns=columns, meta=meta, error=error)

    def to_pandas(self) -> DataFrame:
        """Return a DataFrame indexed by `t` in s; `frame.attrs["units"]` has the unit symbols."""
        return trajectory_table.to_pandas(self)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write one Parquet file; units, roles, name and notes are in its metadata."""
        trajectory_table.to_parquet(self, path)

    @staticmethod
    def from_parquet(path: str | os.PathLike[str]) -> Trajectory:
        """Read a file written by `to_parquet`, bit for bit."""
        return trajectory_table.from_parquet(Trajectory, path)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a text table with a header of `name [unit]`; every float is written exactly."""
        trajectory_table.to_csv(self, path)

    @staticmethod
    def from_csv(
        path: str | os.PathLike[str], *, units: Mapping[str, Unit] | None = None
    ) -> Trajectory:
        """Read a file written by `to_csv`. Columns `u_...` are inputs, all others states.

        `units` gives the unit of columns whose symbol is not one of `skidpad.units`.
        """
        return trajectory_table.from_csv(Trajectory, path, units or {})

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        columns: Sequence[str] | None = None,
        backend: str = "matplotlib",
        size: tuple[float, float] | None = None,
    ) -> Any:
        """Draw a figure of the run: path, speeds, accelerations, steering, yaw rate, torques.

        Only recorded quantities are drawn; `columns` selects other columns instead, one panel per
        unit. With `path` the figure is written as PNG, SVG or PDF by its suffix. Angles are in
        degrees; `size` is width and height in inches. Returns a Matplotlib figure.
        `skidpad.view.plots` has more; `show` has an interactive picture.
        """
        from ..view.plots.runs import trajectory

        return trajectory(self, path=path, title=title, columns=columns, backend=backend, size=size)

    def show(self, vehicle: Any, *, height: int = 560, limit_mb: float = 5.0) -> Any:
        """Return the replay page of the run for a notebook, as the last value of a cell.

        `vehicle` is drawn at its recorded poses; `height` is that of the frame in pixels. The page
        becomes part of the notebook's file, so it is thinned to `limit_mb` (10^6 bytes).
        """
        from ..view.pages.page import show_trajectory

        return show_trajectory(self, vehicle, height=height, limit_mb=limit_mb)

    def _repr_html_(self) -> str:
        from ..view.plots.notebook import trajectory_html

        return trajectory_html(self)

    def _every(self, dt: float) -> Array:
        positive("dt", dt, "s")
        count = int(np.floor((self.duration + slack(self.t)) / dt))
        return self.t[0] + dt * np.arange(count + 1)


def _rows_of(points: Sequence[Any] | Mapping[int, Any]) -> tuple[type, Array]:
    """Record class of some points, and their values as an array (points, fields)."""
    if isinstance(points, Mapping):
        steps = sorted(points)
        if steps != list(range(len(steps))):
            raise InvalidValue(f"points must have the steps 0, 1, 2, ... without gaps, got {steps}")
        points = [points[k] for k in steps]
    if not len(points):
        raise InvalidValue("a trajectory needs at least one point, got none")
    kind = type(points[0])
    for k, point in enumerate(points):
        if type(point) is not kind or not record.is_record_type(kind):
            raise InvalidValue(
                f"point {k} is a {type(point).__qualname__}; points must be records of one class"
                + (f", that of the first: {kind.__qualname__}" if k else "")
            )
    rows = [record.flatten(record.build(kind, point)) for point in points]
    return kind, np.array(rows, dtype=float)
