"""One drive of a manoeuvre as it is specified: start, driver, ground and duration.

A `Path` is a line on the ground as a record of grids over the distance along it, which the driver
follows. All paths have the same number of points, so that vehicles of one fleet, each on a path of
its own, share one kernel: the arrays are parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
"""Points of each path."""


class Path(NamedTuple):
    """A line: where it is, how it turns and how fast to drive it, over the distance along it."""

    x: Grid1
    """Position in m."""
    y: Grid1
    """Position in m."""
    heading: Grid1
    """Direction in rad, not wrapped."""
    curvature: Grid1
    """In 1/m, positive in a left turn."""
    v: Grid1
    """Speed in m/s, added to the reference speed of the driver."""

    @property
    def length(self) -> m:
        """From end to end."""
        return self.x.step_0 * (self.x.count_0 - 1.0)


def path_along(points: Any, v: Any = 0.0, *, closed: bool = False) -> Path:
    """The path through points (n, 2) in m, with a speed for all or one for each of them."""
    line = Line.through(points, closed=closed)
    s = np.linspace(0.0, line.length, POINTS)
    at = line.at(s)
    speeds = np.broadcast_to(np.asarray(v, dtype=float), len(np.asarray(points)))
    speeds = np.append(speeds, speeds[0]) if closed and len(line.s) > len(speeds) else speeds
    return _path(s, at.x, at.y, at.heading, at.curvature, np.interp(s, line.s, speeds))


@cache
def straight(length: m = 1.0e4) -> Path:
    """The x axis; cached, so that its arrays outlive every fleet that drives along it."""
    s = np.linspace(0.0, length, POINTS)
    zero = np.zeros(POINTS)
    return _path(s, s, zero, zero, zero, zero)


def circle(radius: m, lead: m = 0.0, turns: float = 3.0, clothoid: m = 0.0) -> Path:
    """A straight of length `lead` from the origin along x, then a left turn of a radius.

    Over the length `clothoid` the curvature grows from zero. A negative radius turns right.
    """
    total = lead + clothoid + turns * 2.0 * np.pi * abs(radius)
    s = np.linspace(0.0, total, POINTS)
    begun = np.clip((s - lead) / max(clothoid, 1e-9), 0.0, 1.0)
    return path_of_curvature(s, begun / radius)


def path_of_curvature(s: Array, curvature: Array, v: Any = 0.0) -> Path:
    """The path from the origin along x whose curvature is known at distances in equal steps."""
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
    """The point of a path at a distance and its speed; beyond its ends it goes straight on."""
    end = path.x.step_0 * (path.x.count_0 - 1.0)
    inside = ops.clip(s, 0.0, end)
    beyond = s - inside
    x, y, heading, curvature, v = (interpolate(column, inside) for column in path)
    return (
        LinePoint(
            x + beyond * cos(heading),
            y + beyond * sin(heading),
            heading,
            where(beyond == 0.0, curvature, 0.0),
        ),
        v,
    )


Signal = Callable[[Array], Array] | float
"""A number that is held, or a function of the times in s, (T,), that gives (T,) numbers. Times
before zero are those of the run-in."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A drive. All variants of a vehicle drive the same case; numbers that may differ between
    variants are scalars or (V,)."""

    label: str
    """Distinguishes it from other cases of its manoeuvre, such as "80 km/h left"."""
    duration: s
    """From time zero on."""
    v: Any = 0.0
    """Speed at the start in m/s, a number or (V,)."""
    steer: Signal = 0.0
    """Angle of the front wheels in rad, positive to the left; times `amplitude`."""
    amplitude: Any = 1.0
    """Factor on the angle, a number or (V,)."""
    speed: Signal | None = None
    """Speed to hold in m/s, added to that of the path."""
    hold: Signal | None = None
    """1 to hold it, 0 to demand `a` alone; None to hold it if there is a speed or a path."""
    a: Signal = 0.0
    """Acceleration demanded in m/s²; times `a_gain`."""
    a_gain: Any = 1.0
    """Factor on the acceleration demanded, a number or (V,)."""
    omega: Signal = 0.0
    """Yaw rate demanded in rad/s, of a vehicle that turns on the spot."""
    handbrake: Signal = 0.0
    """0 to 1."""
    coast: Signal = 0.0
    """1 to let go of drive and brakes, 0 else."""
    path: Path | None = None
    """Path to follow from its beginning; None to steer by `steer` alone."""
    pose: Pose | None = None
    """Where it starts; at the beginning of the path, else at the origin, if None."""
    driving: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of `Driving` that differ from their defaults, numbers or (V,)."""
    disturbance: Mapping[str, Signal] = field(default_factory=dict[str, Signal])
    """Fields of the vehicle's disturbance, such as grip under each wheel."""
    road: Road | None = None
    """Road to drive on; level if None."""
    rests: bool = False
    """Whether it comes to rest or starts from rest: then the integrator is one for stiff motion,
    which wheels at walking pace need."""
    run_in: s = 1.0
    """Time before zero in which the vehicle settles at its speed."""
    start: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of the start state other than pose and speed."""

    __repr__ = brief_repr

    @property
    def holding(self) -> Signal:
        """Whether the speed is held."""
        if self.hold is None:
            return 0.0 if self.speed is None and self.path is None else 1.0
        return self.hold

    def over(self, signal: Signal | None, t: Array) -> Array:
        """A signal at times, (T,)."""
        if signal is None:
            return np.zeros(t.shape)
        return np.broadcast_to(signal(t) if callable(signal) else float(signal), t.shape)


def step(at: s = 0.0, rise: s = 0.0) -> Callable[[Array], Array]:
    """From 0 to 1 at a time, over a time in which it rises."""
    return lambda t: np.clip((t - at) / max(rise, 1e-12) + (0.0 if rise else 0.5), 0.0, 1.0)


def ramp(rate: float, at: s = 0.0, most: float = np.inf) -> Callable[[Array], Array]:
    """Zero until a time, then growing by a rate per second up to a largest value."""
    return lambda t: np.clip(rate * (t - at), 0.0, most)


def steered(label: str, duration: s, v: m_s, steer: Signal, angle: Any, run_in: s = 1.0) -> Case:
    """A case at a held speed with an angle of a shape, times an amplitude."""
    return Case(
        label=label, duration=duration, v=v, speed=v, steer=steer, amplitude=angle, run_in=run_in
    )


def before(t: Array) -> Array:
    """1 before time zero, then 0."""
    return (t < 0.0).astype(float)
