"""Reference: position and speed of a vehicle over time, for controllers that follow it.

A reference is a line with a time at each of its points. Between points everything is linear; before
the first and after the last point it continues straight at the speed there, and a closed reference
continues lap after lap. It is driven forwards: headings are those of the line, from which the
heading of a slipping car differs.

Controllers read it in one of three ways: as `Point` records by time or by distance, as rows for the
references of a compiled policy (`rows`), or as a pure function of distance (`table`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import Array
from ..core.checks import positive, whole
from ..core.files import brief_repr, shown
from ..errors import InvalidValue
from ..geometry.line import Line, Nearest, arc_length, directions, vertices
from ..geometry.polygon import frozen
from ..ops import clip, cos, floor, logical_or, lookup, sin, where
from ..units import Unit, m, m_s, m_s2, per_m, rad

per_m2 = Annotated[float, Unit("1/m²", length=-2)]

STANDS = 1e-6
"""Distance in m and speed in m/s below which a vehicle counts as standing."""
KNOTS = 64
"""Default number of points of a compiled-in line."""


class Point(NamedTuple):
    """Point of a reference in the world frame; the reference of a policy at one step."""

    x: m = 0.0
    """x in the world frame."""
    y: m = 0.0
    """y in the world frame."""
    heading: rad = 0.0
    """Direction of the line from the world x axis, positive to the left, not wrapped."""
    curvature: per_m = 0.0
    """Derivative of the heading by distance, positive in a left turn."""
    v: m_s = 0.0
    """Speed along the line."""
    a: m_s2 = 0.0
    """Time derivative of the speed."""
    sharpness: per_m2 = 0.0
    """Derivative of the curvature by distance."""


@dataclass(frozen=True, eq=False)
class Reference:
    """A line driven at known times; see the module docstring. Made by `from_...` and `along`."""

    t: Array
    """Time of each point in s, increasing."""
    s: Array
    """Distance along the line to each point in m, non-decreasing."""
    points: Any
    """Points of the reference, as a `Point` of arrays."""
    closed: bool = False
    """Whether the last point equals the first, one lap later."""

    __repr__ = brief_repr

    @classmethod
    def from_arrays(
        cls,
        t: ArrayLike,
        x: ArrayLike,
        y: ArrayLike,
        *,
        heading: ArrayLike | None = None,
        curvature: ArrayLike | None = None,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
    ) -> Reference:
        """Reference from times in s and positions in m, each (n,); other values are derived if
        missing.

        While the position does not change, heading and curvature are those of the previous point.
        """
        time = _column("t", t)
        if len(time) < 2 or (np.diff(time) <= 0.0).any():
            raise InvalidValue("t must have at least 2 times, and they must increase")
        places = np.column_stack([_column("x", x, len(time)), _column("y", y, len(time))])
        moves = _moving(places)
        line = vertices(places[moves], "x, y")
        leg = np.cumsum(moves) - 1
        headings, curvatures = (column[leg] for column in directions(line))
        distance = arc_length(line)[leg]
        speed = np.gradient(distance, time) if v is None else _column("v", v, len(time))
        if (speed < 0.0).any():
            raise InvalidValue(
                f"v = {speed.min():g} m/s: a reference is driven forwards, so its speed must not "
                "be negative"
            )
        rate = np.gradient(speed, time) if a is None else _column("a", a, len(time))
        if heading is not None:
            headings = np.unwrap(_column("heading", heading, len(time)))
        if curvature is not None:
            curvatures = _column("curvature", curvature, len(time))
        sharpness = _slope(curvatures, distance)
        return cls._of(time, distance, *places.T, headings, curvatures, speed, rate, sharpness)

    @classmethod
    def from_trajectory(cls, trajectory: Any) -> Reference:
        """Reference along the columns `x` and `y` of a Trajectory, at its times."""
        for name in ("v", "v_x"):
            if name in trajectory and (slowest := float(trajectory[name].min())) < -STANDS:
                raise InvalidValue(
                    f"the trajectory reverses ({name} = {slowest:g} m/s); a reference is driven "
                    "forwards"
                )
        return cls.from_arrays(trajectory.t, trajectory["x"], trajectory["y"])

    @classmethod
    def along(
        cls,
        line: ArrayLike,
        v: Any,
        *,
        t_0: float = 0.0,
        spacing: float | None = None,
        closed: bool = False,
    ) -> Reference:
        """Reference along a line of points (n, 2), with a speed profile.

        A `closed` line continues from its last point to its first, lap after lap; the first point
        may or may not be repeated at the end.

        `v` is one speed in m/s, one for each point, or a function of the distance in m that takes
        and returns arrays. Between points the acceleration is constant. With `spacing` in m, points
        are inserted until all are at most `spacing` apart; a line of few points with a varying
        speed needs that, as everything is linear in time between points.
        """
        points = vertices(line, "line")
        if closed:
            points = _loop(points)
        columns = np.vstack(
            [points.T, *directions(points[:-1] if closed else points, closed=closed)]
        )
        s = arc_length(points)
        v = v if callable(v) else _speeds(v, s, closed)
        if spacing is not None:
            # Insert evenly spaced distances, so that neighbours are at most `spacing` apart.
            positive("spacing", spacing, "m")
            pieces = np.ceil(np.diff(s) / spacing).astype(int)
            inner = [
                np.linspace(a, b, n, endpoint=False)
                for a, b, n in zip(s, s[1:], pieces, strict=False)
            ]
            finer = np.append(np.concatenate(inner), s[-1])
            v = v if callable(v) else np.interp(finer, s, v)
            columns = np.array([np.interp(finer, s, column) for column in columns])
            s = finer
        speed = _profile(v, s)
        mean = 0.5 * (speed[1:] + speed[:-1])
        if (speed < 0.0).any() or (mean == 0.0).any():
            raise InvalidValue(
                f"v has {speed.min():g} m/s; speeds must not be negative, and not 0 at two "
                "successive points, between which the vehicle would stand still"
            )
        t = t_0 + np.concatenate([[0.0], np.cumsum(np.diff(s) / mean)])
        # Acceleration of the segment that follows each point; the last point has that of the
        # segment before it.
        rate = np.diff(speed) / np.diff(t)
        rate = np.append(rate, rate[0] if closed else rate[-1])
        return cls._of(t, s, *columns, speed, rate, _slope(columns[3], s), closed=closed)

    @classmethod
    def _of(cls, t: Array, s: Array, *points: Any, closed: bool = False) -> Reference:
        columns = [frozen(np.ascontiguousarray(c, dtype=float)) for c in (t, s, *points)]
        return cls(columns[0], columns[1], Point._make(columns[2:]), closed)

    @property
    def duration(self) -> float:
        """Time from the first to the last point in s."""
        return float(self.t[-1] - self.t[0])

    @property
    def length(self) -> float:
        """Distance from the first to the last point in m."""
        return float(self.s[-1])

    @cached_property
    def line(self) -> Line:
        """Line of the reference; points at which the reference stands still occur only once."""
        moves = np.concatenate([[True], np.diff(self.s) > 0.0])
        x, y, heading, curvature = (column[moves] for column in self.points[:4])
        return Line(self.s[moves], x, y, heading, curvature, self.closed)

    def at_time(self, t: ArrayLike) -> Point:
        """Reference at one or many (n,) times in s."""
        moments, laps = self._lap(self.t, numbers("t", t))
        inside = np.clip(moments, self.t[0], self.t[-1])
        point = self._between(self.t, inside, laps)
        return _numeric(_continued(point, (moments - inside) * point.v, moments != inside))

    def at_distance(self, s: ArrayLike) -> Point:
        """Reference at one or many (n,) distances along its line in m."""
        distances, laps = self._lap(self.s, numbers("s", s))
        inside = np.clip(distances, 0.0, self.length)
        point = self._between(self.s, inside, laps)
        return _numeric(_continued(point, distances - inside, distances != inside))

    def distance_at(self, t: ArrayLike) -> Any:
        """Distance along the line in m at one or many (n,) times in s."""
        moments, laps = self._lap(self.t, numbers("t", t))
        inside = np.clip(moments, self.t[0], self.t[-1])
        speed = np.interp(inside, self.t, self.points.v)
        here = np.interp(inside, self.t, self.s) + (moments - inside) * speed
        return _plain(here + laps * self.length)

    def nearest(self, x: ArrayLike, y: ArrayLike) -> Nearest:
        """Distance along the line to the point nearest to a position, and the position's offset to
        the left, in m.

        Places may be arrays (n,). An open line continues straight before its start and after its
        end, so that distances may be negative, or larger than its length.
        """
        first, second = np.broadcast_arrays(numbers("x", x), numbers("y", y))
        places = np.column_stack([first.ravel(), second.ravel()])
        feet = self.line.project(places, beyond=True)
        return Nearest(*(_plain(column.reshape(first.shape)) for column in feet))

    def offset(self, x: ArrayLike, y: ArrayLike) -> Any:
        """Offset in m of one or many (n,) positions from the line; positive to its left."""
        return self.nearest(x, y).left

    def ahead(
        self, x: ArrayLike, y: ArrayLike, *, distance: float = 0.0, time: float = 0.0
    ) -> Point:
        """Reference `distance` in m and then `time` in s, at its own speed, beyond the nearest
        point.

        Places may be arrays (n,).
        """
        s = np.asarray(self.nearest(x, y).s)
        here = np.clip(s, 0.0, self.length)
        moment = np.interp(here, self.s, self.t)
        return self.at_distance(self.distance_at(moment + time) + (s - here) + distance)

    def horizon(self, t: float, steps: int, dt: float) -> Point:
        """Reference at `steps` + 1 times from t on, dt apart, in s: the horizon of an MPC."""
        dt = positive("dt", dt, "s")
        return self.at_time(t + dt * np.arange(whole("steps", steps, "at least 1") + 1))

    def rows(self, steps: int, dt: float, *, t_0: float | None = None, ahead: float = 0.0) -> Array:
        """References of a compiled policy, (steps, 1, 7): the `Point` of each step, as numbers.

        Step k receives the reference at t_0 + k dt, in s; t_0 is its first time if None. With
        `ahead`, in s, position, heading and curvature are those at that much later time; the speed
        is not.
        """
        begin = self.t[0] if t_0 is None else t_0
        moments = begin + positive("dt", dt, "s") * np.arange(whole("steps", steps, "at least 1"))
        now = self.at_time(moments)
        points = self.at_time(moments + ahead)._replace(v=now.v, a=now.a)
        return np.stack(points, axis=-1)[:, None]

    def table(self, knots: int = KNOTS) -> Callable[[Any], Point]:
        """Reference as a pure function of the distance, to be compiled into a policy.

        Between `knots` points at equal distances it consists of arcs with the line's own curvature;
        the computing time grows with their number. Distances along a closed line keep growing lap
        by lap.
        """
        at = np.linspace(0.0, self.length, whole("knots", knots, "at least 2", least=2))
        columns: list[Any] = [np.asarray(column).tolist() for column in self.at_distance(at)]
        places, spacing, lap = at.tolist(), float(at[1]), self.length
        closed, turn = self.closed, self._turn

        def point(s: Any) -> Point:
            laps = floor(s * (1.0 / lap)) if closed else 0.0
            s = s - laps * lap
            inside = clip(s, 0.0, places[-1])
            chord = Point(*(lookup(inside, places, column) for column in columns))
            share = inside * (1.0 / spacing) - floor(inside * (1.0 / spacing))
            # An arc lies outside its chord: to the right of the chord in a left turn.
            right = 0.5 * spacing * spacing * chord.curvature * share * (1.0 - share)
            arc = chord._replace(
                x=chord.x + right * sin(chord.heading), y=chord.y - right * cos(chord.heading)
            )
            if closed:
                return arc._replace(heading=arc.heading + laps * turn)
            return _continued(arc, s - inside, logical_or(s < 0.0, s > places[-1]))

        return point

    @property
    def _turn(self) -> float:
        """Total change of the heading over a lap, in rad."""
        return float(self.points.heading[-1] - self.points.heading[0])

    def _lap(self, knots: Array, at: Array) -> tuple[Array, Array]:
        """Times or distances within the first lap, and the number of laps before; unchanged if
        open."""
        if not self.closed:
            return at, np.zeros(at.shape)
        laps = np.floor((at - knots[0]) / (knots[-1] - knots[0]))
        return at - laps * (knots[-1] - knots[0]), laps

    def _between(self, knots: Array, at: Array, laps: Array) -> Point:
        point = Point._make(np.interp(at, knots, column) for column in self.points)
        return point._replace(heading=point.heading + laps * self._turn)


def reference_of(path: Any) -> Reference:
    """Return `path` if it is a Reference; raises for anything else, such as an array of points."""
    if isinstance(path, Reference):
        return path
    kind = type(path).__qualname__
    raise InvalidValue(
        f"path must be a Reference, got a {kind}: Reference.along and Reference.from_trajectory "
        "make one"
    )


def _continued(point: Point, distance: Any, outside: Any) -> Point:
    """Point extended straight by a distance where `outside` holds."""
    return Point(
        point.x + distance * cos(point.heading),
        point.y + distance * sin(point.heading),
        point.heading,
        where(outside, 0.0, point.curvature),
        point.v,
        where(outside, 0.0, point.a),
        where(outside, 0.0, point.sharpness),
    )


def _loop(points: Array) -> Array:
    """Points of a closed line with the first repeated at the end."""
    if len(points) > 3 and (points[0] == points[-1]).all():
        return points
    if len(points) < 3:
        raise InvalidValue(f"a closed line has at least 3 points, got {len(points)}")
    return np.vstack([points, points[:1]])


def _speeds(v: Any, s: Array, closed: bool) -> Array:
    """Speeds at distances s; the last may be missing on a closed line, as it equals the first."""
    speeds = numbers("v", v)
    if closed and speeds.shape == (len(s) - 1,):
        speeds = np.append(speeds, speeds[0])
    return _profile(speeds, s)


def _moving(places: Array) -> NDArray[np.bool_]:
    """Mask of the positions that have moved, beyond rounding and creeping, since the previous such
    position."""
    moves = np.zeros(len(places), dtype=bool)
    moves[0], (x, y) = True, places[0]
    for k, (x_k, y_k) in enumerate(places.tolist()):
        if abs(x_k - x) + abs(y_k - y) > STANDS:
            moves[k], x, y = True, x_k, y_k
    return moves


def _slope(values: Array, s: Array) -> Array:
    """Derivative of values by distance; 0 where the distance does not grow."""
    moves = np.concatenate([[True], np.diff(s) > 0.0])
    if moves.sum() < 2:
        return np.zeros(len(s))
    slope = np.gradient(values[moves], s[moves])
    return slope[np.cumsum(moves) - 1]


def _numeric(point: Point) -> Point:
    return Point._make(map(_plain, point))


def _plain(value: Any) -> Any:
    """Convert an array of shape () to a number; return other arrays unchanged."""
    return float(value) if np.ndim(value) == 0 else value


def numbers(name: str, values: ArrayLike, shape: tuple[int, ...] | None = None) -> Array:
    """Finite numbers as an array, of this shape unless it is None; raises otherwise."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(
            f"{name} = {shown(values)} must be a number or an array of them"
        ) from None
    if shape is not None and array.shape != shape:
        raise InvalidValue(f"{name} has shape {array.shape}; expected {shape}")
    if not np.isfinite(array).all():
        raise InvalidValue(f"{name} must be finite, got {array[~np.isfinite(array)][0]}")
    return array


def _column(name: str, values: ArrayLike, count: int | None = None) -> Array:
    array = numbers(name, values)
    if array.ndim != 1 or (count is not None and len(array) != count):
        raise InvalidValue(
            f"{name} has shape {array.shape}; expected ({'n' if count is None else count},)"
        )
    return array


def _profile(v: Any, s: Array) -> Array:
    """Speeds at distances s, from one speed, one per point or a function."""
    values: Any = v(s) if callable(v) else v
    speeds = numbers("v", values)
    if speeds.shape not in ((), s.shape):
        raise InvalidValue(f"v has shape {speeds.shape}; expected one speed or {s.shape}")
    return np.broadcast_to(speeds, s.shape)
