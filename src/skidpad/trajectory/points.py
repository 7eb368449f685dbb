"""Points of a trajectory: its states, inputs or disturbances as records, by step and by time.

What commonroad-control's trajectories offer, on the columns of this one. A trajectory with states
is in state mode, whatever else it holds; one of inputs alone in input mode, one of disturbances
alone in disturbance mode. Its points are the records of that mode, at the steps 0 to len - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import record
from ..arrays import Array
from ..brief import shown
from ..errors import InvalidValue
from .columns import PREFIXES, Column, TrajectoryMode, span
from .interpolation import interpolated, places, slack, snapped
from .table import Layout, Table

_SPACING_SLACK = 1e-9
"""How far, relative to the spacing, steps may differ and still count as equal: times that were
added up or read from a file with few digits."""


class Points(Table):
    """A table seen as a sequence of points."""

    @property
    def mode(self) -> TrajectoryMode:
        """What the points are: states if there are any, else inputs, else disturbances."""
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
        """Numbers of the points: 0 to len - 1."""
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
        """Time from point to point in s; raises if it is not the same throughout."""
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
        # What was noted is not rounded by adding up times.
        fits = known is not None and abs(known - mean) <= self._spacing_slack(mean)
        return known if known is not None and fits else mean

    def _spacing_slack(self, mean: float) -> float:
        return _SPACING_SLACK * mean + 2.0 * slack(self.t)

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

        Both are the same where the time is that of a point, also when off by rounding.
        """
        at = places(self.t, self._inside([t]))
        before, after = int(at.before[0]), int(at.after[0])
        return self.point(before), self.point(after), before, after

    def point_at(self, t: float, *, held: bool | None = None) -> Any:
        """The point at a time in s, a record.

        States are interpolated linearly, headings the short way round, inputs and disturbances
        held; `held` says it for every mode. At a step, the result is that point.
        """
        return self._record(self._points_at([t], held)[0])

    def to_array(self, times: ArrayLike | None = None, *, interpolate: bool = False) -> Array:
        """The points as an array (times, dim); all of them if no times are given.

        Without `interpolate` the point nearest in time is taken, of two equally near the one with
        the even step; with it, values in between are linear in every mode.
        """
        if times is None:
            return self._rows_of_points
        if interpolate:
            return self._points_at(times, held=False)
        at = places(self.t, self._inside(times))
        up = (at.weight > 0.5) | ((at.weight == 0.5) & (at.before % 2 == 1))
        return self._rows_of_points[np.where(up, at.after, at.before)]

    def append(self, point: Any) -> Self:
        """A trajectory with one more point, a step after the last; this one stays as it is.

        The point is a record of the same class, a mapping of all its fields or an array.
        """
        mode = self.mode
        others = sorted({c.role for c in self.columns if c.role != mode.value})
        if others:
            raise InvalidValue(
                f"append takes {mode.value}s only, but this trajectory also has "
                f"{' and '.join(f'{role}s' for role in others)}; join another one with +"
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
        # A mapping has to name every field: what is left out is no zero here.
        blank = record.unflatten(kind, (None,) * record.size(kind))
        return record.build(kind, point, base=blank)

    @cached_property
    def _rows_of_points(self) -> Array:
        return self._matrix(self.mode.value)

    @cached_property
    def _record(self) -> Callable[[Array], Any]:
        """What makes a point of a row of numbers."""
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
        """Times as an array; those off a sample by rounding moved to it. Raises for others
        outside."""
        try:
            moments = np.atleast_1d(np.asarray(times, dtype=float))
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidValue(f"times = {shown(times)} must be numbers, in s") from error
        if moments.ndim != 1:
            raise InvalidValue(f"times have shape {moments.shape}; expected (n,), in s")
        near = snapped(self.t, moments)
        outside = ~((near >= self.t[0]) & (near <= self.t[-1]))
        if outside.any():
            raise InvalidValue(
                f"time {moments[outside][0]:g} s is outside the trajectory, {span(self.t)}"
            )
        return near
