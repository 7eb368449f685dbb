"""One run of a manoeuvre as specified: start, driver, ground and duration.

A `Path` is a line on the ground, stored as a record of grids over the distance along it, which the
driver follows. All paths have the same number of points, so that vehicles of one fleet, each on a
path of its own, share one kernel: the arrays are parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ... import ops
from ...core.arrays import Array
from ...core.body import Pose
from ...core.files import brief_repr
from ...geometry.line import Line, LinePoint
from ...ops import Grid1, cos, grid, interpolate, sin, where
from ...road.road import Road
from ...units import m, m_s, s

POINTS = 4096
"""Number of points of every path."""


class Path(NamedTuple):
    """A line on the ground: position, heading, curvature and speed over the distance along it."""

    x: Grid1
    """Position in m."""
    y: Grid1
    """Position in m."""
    heading: Grid1
    """Heading in rad, not wrapped."""
    curvature: Grid1
    """Curvature in 1/m, positive in a left turn."""
    v: Grid1
    """Speed in m/s, added to the reference speed of the driver."""

    @property
    def length(self) -> m:
        """Length of the path."""
        return self.x.step_0 * (self.x.count_0 - 1.0)


def path_along(points: Any, v: Any = 0.0, *, closed: bool = False) -> Path:
    """Path through points (n, 2) in m; the speed `v` in m/s is one number or one per point."""
    line = Line.through(points, closed=closed)
    s = np.linspace(0.0, line.length, POINTS)
    at = line.at(s)
    speeds = np.broadcast_to(np.asarray(v, dtype=float), len(np.asarray(points)))
    speeds = np.append(speeds, speeds[0]) if closed and len(line.s) > len(speeds) else speeds
    return _path(s, at.x, at.y, at.heading, at.curvature, np.interp(s, line.s, speeds))


@cache
def straight(length: m = 1.0e4) -> Path:
    """Path along the x axis; cached, so that its arrays outlive every fleet that drives along
    it."""
    s = np.linspace(0.0, length, POINTS)
    zero = np.zeros(POINTS)
    return _path(s, s, zero, zero, zero, zero)


def circle(radius: m, lead: m = 0.0, turns: float = 3.0, clothoid: m = 0.0) -> Path:
    """A straight of length `lead` from the origin along x, then a left turn with this radius.

    The curvature grows linearly from zero over the length `clothoid`. A negative radius turns
    right.
    """
    total = lead + clothoid + turns * 2.0 * np.pi * abs(radius)
    s = np.linspace(0.0, total, POINTS)
    begun = np.clip((s - lead) / max(clothoid, 1e-9), 0.0, 1.0)
    return path_of_curvature(s, begun / radius)


def path_of_curvature(s: Array, curvature: Array, v: Any = 0.0) -> Path:
    """Path from the origin along x with given curvature in 1/m at equidistant distances `s` in
    m."""
    step = np.diff(s, prepend=s[0])
    before = np.concatenate([curvature[:1], curvature[:-1]])
    heading = np.cumsum(step * 0.5 * (curvature + before))
    middle = heading - 0.5 * step * 0.5 * (curvature + before)
    x, y = np.cumsum(step * np.cos(middle)), np.cumsum(step * np.sin(middle))
    return _path(s, x, y, heading, curvature, np.broadcast_to(v, s.shape))


def _path(s: Array, *columns: Any) -> Path:
    at = np.linspace(s[0], s[-1], POINTS)
    step = float(at[1] - at[0])
    return Path(*(grid(np.interp(at, s, column), start=s[0], step=step) for column in columns))


def path_point(path: Path, s: Any) -> tuple[LinePoint, m_s]:
    """Point of a path at the distance `s`, and its speed; both ends are extended by straight
    lines."""
    end = path.x.step_0 * (path.x.count_0 - 1.0)
    inside = ops.clip(s, 0.0, end)
    beyond = s - inside
    x, y, heading, curvature, v = (interpolate(column, inside) for column in path)
    bend = where(beyond == 0.0, curvature, 0.0)
    return LinePoint(x + beyond * cos(heading), y + beyond * sin(heading), heading, bend), v


Signal = Callable[[Array], Array] | float
"""A constant, or a function that maps times in s, (T,), to values, (T,). Times before zero
belong to the run-in."""


@dataclass(frozen=True)
class Case:
    """One run of a manoeuvre as specified; all variants of a vehicle drive the same case.

    Values that may differ between variants are scalars or (V,).
    """

    label: str
    """Name that is unique among the cases of its manoeuvre, such as "80 km/h left"."""
    duration: s
    """Duration from time zero on."""
    v: Any = 0.0
    """Speed at the start in m/s, a number or (V,)."""
    _: KW_ONLY
    steer: Signal = 0.0
    """Steering angle of the front wheels in rad, positive to the left; multiplied by
    `amplitude`."""
    amplitude: Any = 1.0
    """Factor on the steering angle, a number or (V,)."""
    speed: Signal | None = None
    """Speed to hold in m/s, added to that of the path."""
    hold: Signal | None = None
    """1 to hold `speed`, 0 to apply `a` alone; None to hold if there is a speed or a path."""
    a: Signal = 0.0
    """Demanded acceleration in m/s²; multiplied by `a_gain`."""
    a_gain: Any = 1.0
    """Factor on the demanded acceleration, a number or (V,)."""
    omega: Signal = 0.0
    """Demanded yaw rate in rad/s, for a vehicle that turns on the spot."""
    handbrake: Signal = 0.0
    """Handbrake position, 0 to 1."""
    coast: Signal = 0.0
    """1 to release drive and brakes, else 0."""
    path: Path | None = None
    """Path to follow from its beginning; None to steer with `steer` alone."""
    pose: Pose | None = None
    """Start pose; if None, the beginning of the path, or the origin if there is no path."""
    driving: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of `Driving` that differ from their defaults, each a number or (V,)."""
    disturbance: Mapping[str, Signal] = field(default_factory=dict[str, Signal])
    """Fields of the vehicle's disturbance, such as the grip under each wheel."""
    road: Road | None = None
    """Road to drive on; None for level ground."""
    rests: bool = False
    """Whether the vehicle starts from rest or comes to rest.

    If so, an integrator for stiff motion is used, which wheels need at walking pace.
    """
    run_in: s = 1.0
    """Time before zero in which the vehicle settles at its speed."""
    start: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of the start state other than pose and speed."""

    __repr__ = brief_repr

    @property
    def holding(self) -> Signal:
        """Signal that is 1 where the speed is held, else 0."""
        if self.hold is None:
            return 0.0 if self.speed is None and self.path is None else 1.0
        return self.hold

    def over(self, signal: Signal | None, t: Array) -> Array:
        """Evaluate a signal at times (T,)."""
        if signal is None:
            return np.zeros(t.shape)
        return np.broadcast_to(signal(t) if callable(signal) else float(signal), t.shape)


def step(at: s = 0.0, rise: s = 0.0) -> Callable[[Array], Array]:
    """Step from 0 to 1 at the time `at`, with a rise over the time `rise`."""
    return lambda t: np.clip((t - at) / max(rise, 1e-12) + (0.0 if rise else 0.5), 0.0, 1.0)


def ramp(rate: float, at: s = 0.0, most: float = np.inf) -> Callable[[Array], Array]:
    """Zero until the time `at`, then growing by `rate` per second up to `most`."""
    return lambda t: np.clip(rate * (t - at), 0.0, most)


def steered(label: str, duration: s, v: m_s, steer: Signal, angle: Any, run_in: s = 1.0) -> Case:
    """Case at constant speed with a steering signal of a given shape, times the amplitude
    `angle`."""
    return Case(label, duration, v, speed=v, steer=steer, amplitude=angle, run_in=run_in)


def before(t: Array) -> Array:
    """1 before time zero, else 0."""
    return (t < 0.0).astype(float)
