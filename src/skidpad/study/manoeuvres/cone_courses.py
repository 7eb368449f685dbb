"""Courses between cones, driven as fast as possible without touching a cone.

Double lane changes (ISO 3888): the driver follows a smooth path through the lanes. Slalom: past
cones in a row on alternating sides. Many speeds are driven at once, first far apart, then around
the highest clean one.

Autocross: the fastest lap on a track of cones. The racing line has the least curvature between the
cones that leaves the vehicle some clearance. Its speed profile is that of a point mass with the
vehicle's grip, times a factor. The largest factor at which no cone is hit is searched for, for all
vehicles at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...control.speed import Grip, least_curvature, speed_profile
from ...core.arrays import Array
from ...geometry.line import Line, smooth_loop
from ...units import m, m_s, one
from .case import KM_H, Case, Path, path_along, path_point
from .case_run import CaseRun, first_time, passing_time, values_at
from .manoeuvre import LABELS, Chart, Curve, Findings, Performing, StandardManoeuvre, chart, curve
from .search import highest_clean, known_understeer
from .subject import Subject, drive_needed, tyres_needed

DRIVERS_SPEED = (
    "speeds are those that our driver, who follows a path, masters; the car can be faster"
)
"""Note on the speeds of lane changes."""
CONE: m = 0.114
"""Radius of the base of a cone of 325 mm, as used in Formula Student."""


class Box(NamedTuple):
    """Bounding rectangle of a vehicle, relative to its centre of mass."""

    rear: m
    front: m
    right: m
    left: m

    @property
    def width(self) -> m:
        return self.left - self.right


def box_of(car: Subject) -> Box:
    """Bounding rectangle of a vehicle with its own parameters."""
    corners = corners_of(car)
    (rear, right), (front, left) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    return Box(rear, front, right, left)


def corners_of(car: Subject) -> Array:
    """Corners of all outlines of a vehicle, relative to its centre of mass, (n, 2)."""
    corners = np.concatenate([np.array(outline) for outline in car.geometry.outlines])
    return corners - np.array(car.geometry.centre_of_mass)


def reach(car: Subject, radius: m) -> tuple[m, m]:
    """Distances in m that a vehicle without slip extends outside and inside the circle of its
    centre of mass.
    """
    box, l_r = box_of(car), float(car.l_r[0])
    rear_axle = np.sqrt(max(radius**2 - l_r**2, 0.0))
    farthest = max(abs(box.front + l_r), abs(box.rear + l_r))
    outside = np.hypot(rear_axle + box.left, farthest) - radius
    return float(outside), float(radius - rear_axle - box.right)


def struck(car: Subject, run: CaseRun, cones: Array, until: m = np.inf) -> NDArray[np.bool_]:
    """Whether each variant hits each of the cones at positions (n, 2), as (n, V).

    A cone is hit when the bounding rectangle of the vehicle reaches its base. Hits beyond the
    distance `until` along the path do not count.
    """
    box = box_of(car)
    c, s = np.cos(run["yaw"]), np.sin(run["yaw"])
    # Position of the world's origin in the vehicle's frame.
    ahead, aside = run["x"] * c + run["y"] * s, run["y"] * c - run["x"] * s
    counts = run["progress"] <= until if until < np.inf else True
    hit = np.zeros((len(cones), run.variants), dtype=bool)
    for k, (x, y) in enumerate(cones.tolist()):
        along, across = x * c + y * s - ahead, y * c - x * s - aside
        out_x = np.maximum(np.maximum(along - box.front, box.rear - along), 0.0)
        out_y = np.maximum(np.maximum(across - box.left, box.right - across), 0.0)
        hit[k] = (counts & (out_x * out_x + out_y * out_y < CONE * CONE)).any(axis=0)
    return hit


def peak_between(run: CaseRun, name: str, begin: m, end: m) -> Array:
    """Largest magnitude of a signal while the x of the centre of mass is between two values,
    (V,)."""
    there = (run["x"] >= begin) & (run["x"] <= end)
    return np.where(there, np.abs(run[name]), 0.0).max(axis=0)


def value_at(run: CaseRun, name: str, x: m) -> Array:
    """Value of a signal where the centre of mass first reaches x, (V,); NaN where it never does."""
    return values_at(run.t, run[name], first_time(run.t, run["x"], x))


def width_needed(car: Subject, least: m, most: m) -> str:
    """Requirement: a vehicle as wide as the course allows."""
    width = box_of(car).width
    if least <= width <= most:
        return ""
    return f"{car.name} is {width:.2f} m wide; the course is one for {least:g} m to {most:g} m"


RESOLUTION: m_s = 0.5 * KM_H
"""Resolution of the search for the highest speed."""
SPACING: m = 3.0
"""Largest distance of the cones along a lane."""
LEAD: m = 30.0
"""Length of the straight before the first lane."""
AFTER: m = 20.0
"""Least length of the straight after the last lane."""
ROOM_USED = 0.5
"""Share of the free width beside the vehicle that the path uses."""
STYLES = ((0.2, 0.1), (0.2, 0.2), (0.25, 0.3), (0.35, 0.2), (0.35, 0.3), (0.5, 0.3), (0.5, 0.4))
"""Driver styles: settling time of deviations from the path, and preview time of the steering,
in s.

The style that suits a vehicle best is used for it.
"""
PEAKS = {
    **{"peak_lateral_acceleration": "a_y", "peak_yaw_rate": "omega", "peak_sideslip": "sideslip"},
    "peak_angle": "steer",
}
"""Signals whose peaks are metrics; a slalom has those of the motion alone."""
WIDEST: m = 3.0
"""Upper limit of the width of a car; a wider vehicle needs another course."""


class Lane(NamedTuple):
    """A lane between two rows of cones."""

    begin: m
    """Position along the course."""
    end: m
    right: m
    """Position across the course, positive to the left."""
    left: m

    @property
    def middle(self) -> m:
        return 0.5 * (self.left + self.right)


def double_lane_change(width: m) -> tuple[Lane, Lane, Lane]:
    """Lanes of ISO 3888-1 for a vehicle of this width.

    Lengths of 15, 30, 25, 25 and twice 15 m, 125 m in all (table 1 of the edition of 1999; the last
    lane of 30 m also in Simscape Vehicle Templates).
    """
    first, second, third = (share * width + 0.25 for share in (1.1, 1.2, 1.3))
    right = -0.5 * first
    return (
        Lane(0.0, 15.0, right, right + first),
        Lane(45.0, 70.0, right + 3.5, right + 3.5 + second),
        Lane(95.0, 125.0, right, right + third),
    )


def obstacle_avoidance(width: m) -> tuple[Lane, Lane, Lane]:
    """Lanes of ISO 3888-2 for a vehicle of this width."""
    first, second, third = 1.1 * width + 0.25, width + 1.0, max(1.3 * width + 0.25, 3.0)
    right = -0.5 * first
    left = right + first + 1.0
    return (
        Lane(0.0, 12.0, right, right + first),
        Lane(25.5, 36.5, left, left + second),
        Lane(49.0, 61.0, right + first - third, right + first),
    )


def cones(lanes: Sequence[Lane]) -> Array:
    """Positions of the cones along and across the course, (n, 2) in m."""
    rows: list[Array] = []
    for lane in lanes:
        count = int(np.ceil((lane.end - lane.begin) / SPACING)) + 1
        along = np.linspace(lane.begin, lane.end, count)
        rows += [np.stack([along, np.full(count, side)], 1) for side in (lane.right, lane.left)]
    return np.concatenate(rows)


def course(lanes: Sequence[Lane], width: m) -> Path:
    """Path of least curvature through the lanes, for a vehicle of this width.

    It uses a share of the free width beside the vehicle; the rest is for deviations. Its speed is
    1 m/s, multiplied by the speed gain of the driver.
    """
    from scipy.interpolate import make_interp_spline
    from scipy.optimize import lsq_linear

    x = np.arange(-LEAD, lanes[-1].end + LEAD + 1.0, 1.5)
    least, most = np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
    for lane in lanes:
        inside = (x >= lane.begin - 0.75) & (x <= lane.end + 0.75)
        room = ROOM_USED * 0.5 * (lane.left - lane.right - width)
        least[inside], most[inside] = lane.middle - room, lane.middle + room
    bends = np.diff(np.eye(len(x)), 2, axis=0)
    # The path is straight at both ends, in the middle of the first and of the last lane.
    for end, lane in ((slice(0, 3), lanes[0]), (slice(-3, None), lanes[-1])):
        least[end], most[end] = lane.middle - 1e-6, lane.middle + 1e-6
    y = lsq_linear(bends, np.zeros(len(bends)), (least, most), method="bvls").x
    fine = np.arange(x[0], x[-1], 0.05)
    points = np.stack([fine, make_interp_spline(x, y, 3)(fine)], axis=1)
    after = np.array([[fine[-1] + 100.0, points[-1, 1]]])
    return path_along(np.concatenate([points, after]), 1.0)


def leaves(car: Subject, run: CaseRun, lanes: Sequence[Lane]) -> NDArray[np.bool_]:
    """Whether a corner of the vehicle left its lane, or it rolled over, spun or diverged, (V,)."""
    corners = corners_of(car)
    c, s = np.cos(run["yaw"])[..., None], np.sin(run["yaw"])[..., None]
    x = run["x"][..., None] + c * corners[:, 0] - s * corners[:, 1]
    y = run["y"][..., None] + s * corners[:, 0] + c * corners[:, 1]
    out = ~run.done
    for lane in lanes:
        inside = (x >= lane.begin) & (x <= lane.end)
        out |= (inside & ((y < lane.right) | (y > lane.left))).any(axis=(0, 2))
    return out


def stops_short(run: CaseRun, lanes: Sequence[Lane]) -> NDArray[np.bool_]:
    """Whether a vehicle does not reach the end of the last lane, (V,)."""
    return run["x"].max(axis=0) < lanes[-1].end


def touches(car: Subject, run: CaseRun, lanes: Sequence[Lane]) -> NDArray[np.bool_]:
    """Whether a vehicle left a lane or stopped short, (V,)."""
    return leaves(car, run, lanes) | stops_short(run, lanes)


class _LaneChange(StandardManoeuvre):
    """Base of both lane changes."""

    speeds: tuple[m_s, m_s]
    lanes_for: ClassVar[Callable[[m], tuple[Lane, ...]]]
    """Function that returns the lanes of the course for a vehicle width."""
    released: ClassVar[m] = np.inf
    """Distance inside the first lane at which the throttle is released."""
    rough = "of the fastest clean drive of our path-following driver, found to 0.5 km/h"
    METRICS = """
    entry_speed [m/s]: Speed at the first cones of the fastest run in which the built-in driver,
        who follows a path, touches none; the car could be faster.
    peak_lateral_acceleration [m/s²]: Largest lateral acceleration between the first and the
        last cones of that run.
    peak_yaw_rate [rad/s]: Largest yaw rate there.
    peak_sideslip [rad]: Largest sideslip there.
    peak_angle [rad]: Largest angle of the front wheels.
    """

    def lanes(self, car: Subject) -> tuple[Lane, ...]:
        return type(self).lanes_for(_width(car))

    def unfit(self, car: Subject) -> str:
        width, limits = _width(car), "the course is one for cars, 1 m to 3 m"
        fits = "" if 1.0 <= width <= WIDEST else f"{car.name} is {width:.2f} m wide; {limits}"
        return tyres_needed(car) or fits

    def perform(self, car: Subject) -> Performing:
        """Search for the highest entry speed at which a driver of any style hits no cone."""
        lanes = self.lanes(car)
        path = course(lanes, _width(car))
        least, most = self.speeds[0], min(self.speeds[1], car.limits.v_max)
        limit = yield from highest_clean(
            np.full(car.variants, least if least < most else 0.5 * most),
            np.full(car.variants, most),
            RESOLUTION,
            lambda v: [self._case(car, v, path, *style) for style in STYLES],
            lambda run: ~touches(car, run, lanes),
            lambda run: stops_short(run, lanes) & ~leaves(car, run, lanes),
        )
        notes = list[str]()
        if np.isnan(limit.best[0]):
            notes.append(f"no speed was clean, not even {limit.run.label}")
        elif np.isclose(limit.best[0], most, rtol=1e-12):
            notes.append(f"clean even at the highest speed that was driven, {limit.run.label}")
        run, passed = limit.run, np.isfinite(limit.best)
        begin, end = lanes[0].begin, lanes[-1].end
        values = {"entry_speed": value_at(run, "speed", begin)}
        for name in (name for name, signal in PEAKS.items() if signal in run):
            values[name] = peak_between(run, PEAKS[name], begin, end)
        metrics = self.metrics({n: np.where(passed, row, np.nan) for n, row in values.items()})
        shown = chart("Path", "x", "y", run, cones_curve(cones(lanes)), equal=True)
        a_y = [curve(run, "x", "a_y", "a_y")]
        across = Chart("Lateral acceleration", LABELS["x"], "m/s²", a_y)
        return Findings(metrics, [shown, across], [*notes, DRIVERS_SPEED])

    def _case(self, car: Subject, v: Array, path: Path, settling: float, ahead: float) -> Case:
        """Case with the entry speed `v`, held until the throttle is released."""
        end = self.lanes(car)[-1].end
        # A coasting vehicle that slows down evenly passes the course within twice the time, or
        # never.
        rolling = max(end - self.released, 0.0)
        label = f"{np.ravel(v)[0] / KM_H:.1f} km/h"
        duration = float((LEAD + end + max(rolling, AFTER)) / np.min(v))
        driving = style_of(car, 20.0, v, settling, ahead)
        driving["hold_until"] = LEAD + min(self.released, end + LEAD)
        return Case(label, duration, v, path=path, driving=driving, run_in=0.0)


@dataclass(frozen=True)
class DoubleLaneChange(_LaneChange):
    """Severe double lane change, ISO 3888-1."""

    speeds: tuple[m_s, m_s] = (40.0 * KM_H, 180.0 * KM_H)
    """Range in which the highest clean speed is searched."""
    name = "double_lane_change"
    title = "Double lane change"
    source = "ISO 3888-1:2018"
    lanes_for: ClassVar[Callable[[m], tuple[Lane, ...]]] = staticmethod(double_lane_change)


@dataclass(frozen=True)
class ObstacleAvoidance(_LaneChange):
    """Obstacle avoidance, ISO 3888-2: an evasive lane change and back."""

    speeds: tuple[m_s, m_s] = (25.0 * KM_H, 120.0 * KM_H)
    """Range in which the highest clean speed is searched."""
    name = "obstacle_avoidance"
    title = "Obstacle avoidance"
    source = "ISO 3888-2:2011"
    released: ClassVar[m] = 2.0
    lanes_for: ClassVar[Callable[[m], tuple[Lane, ...]]] = staticmethod(obstacle_avoidance)


def cones_curve(cones: Array) -> Curve:
    return Curve(cones[:, 0], cones[:, 1], "cones", "cones")


def style_of(car: Subject, v: m_s, v_gain: Any, settling: float, ahead: float) -> dict[str, Any]:
    """Parameters of a driver who knows the understeer gradient at the speed `v`."""
    style = {"understeer": known_understeer(car, v), "settling": settling}
    return style | {"ahead": ahead, "v_gain": v_gain}


def _width(car: Subject) -> m:
    corners = np.concatenate([np.array(outline) for outline in car.geometry.outlines])
    return float(np.ptp(corners[:, 1]))


CONES = 6
CLEARANCE: m = 0.5
"""Distance between the side of a vehicle on its path and the cones; not set by any standard."""
SLALOM_LEAD: m = 40.0
"""Length of path after the last cone, and before the first cone, where the vehicle swings out."""
SLALOM_STYLES = ((0.3, 0.2), (0.4, 0.2))
"""Driver styles: settling time of deviations from the path, and preview time of the steering,
in s."""
SLALOM_RESOLUTION: one = 0.02
"""Resolution of the highest speed, relative to the speed of the closed form."""


@dataclass(frozen=True)
class Slalom(StandardManoeuvre):
    """Slalom around cones 18 m apart."""

    spacing: m = 18.0
    speeds: tuple[one, one] = (0.5, 1.3)
    """Search range of the highest clean speed, relative to the speed of the closed form."""
    name = "slalom_18_m"
    title = "Slalom, cones 18 m apart"
    source = "the slalom of car magazines; there is no standard"
    needs = (tyres_needed, lambda car, test: width_needed(car, 0.8, 3.0))
    rough = (
        "of the fastest clean drive of our path-following driver, found to 2 % of the closed form"
    )
    METRICS = """
    passing_speed [m/s]: Mean speed from the first cone to the last in the fastest clean run;
        theory: a sine path of the same amplitude at the limit of grip.
    entry_speed [m/s]: Highest constant speed without touching a cone.
    peak_lateral_acceleration [m/s²]: Largest lateral acceleration between the first and the
        last cone at that speed.
    peak_yaw_rate [rad/s]: Largest yaw rate there.
    peak_sideslip [rad]: Largest sideslip there.
    """

    def perform(self, car: Subject) -> Performing:
        """Search for the highest constant speed at which a driver of any style hits no cone."""
        amplitude = 0.5 * box_of(car).width + CONE + CLEARANCE
        path, cones, d = self.path(amplitude), self.cones, self.spacing

        def clean(run: CaseRun) -> NDArray[np.bool_]:
            touched = struck(car, run, cones).any(axis=0)
            return run.done & ~touched & ~self.wrong_side(run)

        # At the cones the path y = A cos(π x / d) has the curvature A (π / d)².
        theory = float(d / np.pi * np.sqrt(car.grip / amplitude))
        ends = (min(share * theory, car.limits.v_max) for share in self.speeds)

        def cases(v: Array) -> list[Case]:
            duration, label = float(1.05 * path.length / np.min(v)), f"{np.ravel(v)[0]:.1f} m/s"
            styles = [style_of(car, 15.0, v, *style) for style in SLALOM_STYLES]
            return [Case(label, duration, v, path=path, driving=own, run_in=0.0) for own in styles]

        low, high = (np.full(car.variants, v) for v in ends)
        limit = yield from highest_clean(low, high, SLALOM_RESOLUTION * theory, cases, clean)
        run, passed, way = limit.run, np.isfinite(limit.best), float(np.ptp(cones[:, 0]))
        time = first_time(run.t, run["x"], way) - first_time(run.t, run["x"], 0.0)
        values = {"passing_speed": np.where(passed, way / time, np.nan), "entry_speed": limit.best}
        for name, signal in list(PEAKS.items())[:3]:
            values[name] = np.where(passed, peak_between(run, signal, 0.0, way), np.nan)
        notes = [] if passed[0] else [f"no speed was clean, not even {run.label}"]
        shown = chart("Path", "x", "y", run, cones_curve(cones))
        return Findings(self.metrics(values, {"passing_speed": theory}), [shown], notes)

    @property
    def cones(self) -> Array:
        """Positions of the cones, (n, 2), along x from the origin."""
        return np.stack([self.spacing * np.arange(CONES, dtype=float), np.zeros(CONES)], axis=1)

    def path(self, amplitude: m) -> Path:
        """Slalom path of this amplitude that passes left of the first cone, at 1 m/s."""
        d, lead = self.spacing, SLALOM_LEAD
        x = np.arange(-lead, d * (CONES - 1) + lead, 0.25)
        swing = np.clip(np.minimum(x + lead, x[-1] - x) / (lead - 0.5 * d), 0.0, 1.0)
        y = swing**2 * (3.0 - 2.0 * swing) * amplitude * np.cos(np.pi * x / d)
        return path_along(np.stack([x, y], axis=1), 1.0)

    def wrong_side(self, run: CaseRun) -> NDArray[np.bool_]:
        """Whether a cone was passed on the same side as the previous one, or not at all, (V,)."""
        wrong: Any = ~np.isfinite(run["x"]).all(axis=0)
        for k in range(CONES):
            row = np.argmax(run["x"] >= k * self.spacing, axis=0)
            y = run["y"][row, np.arange(run.variants)]
            wrong = wrong | (row == 0) | (y * (-1.0) ** k <= 0.0)
        return wrong


@dataclass(frozen=True)
class LongSlalom(Slalom):
    """Slalom around cones 36 m apart."""

    spacing: m = 36.0
    name = "slalom_36_m"
    title = "Slalom, cones 36 m apart"


# fmt: off
CORNERS = np.array([
    (0, 0), (25, 0), (48, 2), (60, 12), (56, 25), (42, 27), (33, 20), (22, 17), (14, 25), (16, 38),
    (6, 46), (-8, 42), (-14, 33), (-22, 27), (-34, 30), (-45, 24), (-46, 11), (-36, 4), (-20, 0),
], dtype=float)
# fmt: on
"""Points of the centre line of the track in m, in driving order; the start line is at the
first."""
LINE_SPACING: m = 0.5
"""Distance between the points of lines."""
CONE_DISTANCE: m = 4.0
"""Distance between cones, along the centre line of the track."""
RUN_UP: m = 20.0
"""Distance driven before the start line, at speed."""
ROOM: m = 0.25
"""Clearance between a vehicle on its line and the cones, in the tightest bend."""
BRAKING: one = 0.8
"""Share of the grip used for braking."""
SECTORS = 3
LAP_STYLES = ((0.2, 0.15), (0.35, 0.1))
"""Driver styles: settling time of deviations from the path, and preview time of the steering,
in s."""
FACTORS: tuple[one, one] = (0.6, 1.1)
"""Range in which the highest clean speed factor is searched."""
LAP_RESOLUTION: one = 0.0125


@cache
def middle() -> Line:
    """Return the centre line of the track, a closed line."""
    return Line.through(smooth_loop(CORNERS, LINE_SPACING), closed=True)


def track_cones(width: m) -> Array:
    """Positions of the cones along both sides of a track of this width, (n, 2) in m."""
    line = middle()
    every = round(CONE_DISTANCE / LINE_SPACING)
    return np.concatenate([line.beside(side)[::every] for side in (0.5 * width, -0.5 * width)])


class LapPlan(NamedTuple):
    """Plan of a lap: reference path, length, time and initial speed."""

    path: Path
    lap: m
    time: float
    """Lap time in s of a point mass with the vehicle's grip."""
    v: float
    """Speed in m/s at the beginning of the path."""

    @classmethod
    def of(cls, car: Subject, width: m) -> LapPlan:
        """Racing line of a vehicle on a track of this width, and the speed profile along it."""
        line = best_line(max(room_beside(car, width), 1e-3))
        points, limits = line.vertices, car.limits
        drive, fastest = min(limits.a_max, car.grip), min(limits.v_max, 60.0)
        grip = Grip(car.grip, drive, BRAKING * car.grip, fastest)
        v = speed_profile(line, grip)
        mean = 0.5 * (v[1:] + v[:-1])
        lead = round(RUN_UP / LINE_SPACING)
        order = np.arange(-lead, len(points) + lead) % len(points)
        path, time = path_along(points[order], v[order]), float((np.diff(line.s) / mean).sum())
        return cls(path, line.length, time, float(path_point(path, 0.0)[1]))


def room_beside(car: Subject, width: m) -> m:
    """Largest distance of the vehicle from the centre line on a track of this width."""
    tightest = 1.0 / np.abs(middle().curvature).max()
    return 0.5 * width - max(reach(car, tightest)) - ROOM


@cache
def best_line(room: m) -> Line:
    """Line of least curvature that stays within `room` of the centre line of the track."""
    points = smooth_loop(middle().beside(least_curvature(middle(), room)), LINE_SPACING)
    return Line.through(points, closed=True)


def lap_time(run: CaseRun, begin: m, end: m) -> Array:
    """Time between two distances along the path in s, (V,)."""
    rate = np.gradient(run["progress"], run.t, axis=0)
    start, stop = (passing_time(run.t, run["progress"], rate, at) for at in (begin, end))
    return stop - start


@dataclass(frozen=True)
class Autocross(StandardManoeuvre):
    """A flying lap of 280 m on a track of cones."""

    width: m = 4.0
    """Width of the track."""
    name = "autocross"
    title = "Autocross lap"
    source = "a track of skidpad in the manner of Formula Student's autocross"
    rough = "of the fastest clean lap of our path-following driver, found to 1.25 % of the speeds"
    METRICS = f"""
    lap_time [s]: Fastest flying lap without touching a cone; theory: a point mass with the same
        grip.
    sector_1 [s]: Part 1 of {SECTORS} of the lap.
    sector_2 [s]: Part 2 of {SECTORS} of the lap.
    sector_3 [s]: Part 3 of {SECTORS} of the lap.
    clean_factor []: Highest factor on the speeds of a point mass with the same grip at which no
        cone is touched.
    cones_touched []: Cones touched on that lap, or on the slowest lap if none was clean. | a
        count
    """

    def unfit(self, car: Subject) -> str:
        lacks = tyres_needed(car) or drive_needed(car) or width_needed(car, 0.8, self.width)
        if not lacks and room_beside(car, self.width) < 0.0:
            return f"{car.name} is too long or wide for the bends of a track of {self.width:g} m"
        return lacks

    def perform(self, car: Subject) -> Performing:
        """Search for the highest factor on the planned speeds at which a driver of any style
        completes a lap without touching a cone."""
        lap, where = LapPlan.of(car, self.width), track_cones(self.width)
        low, high = (np.full(car.variants, factor) for factor in FACTORS)

        def hit(run: CaseRun) -> NDArray[np.bool_]:
            return struck(car, run, where, until=RUN_UP + lap.lap)

        def clean_lap(run: CaseRun) -> NDArray[np.bool_]:
            arrived = run["progress"].max(axis=0) > RUN_UP + lap.lap
            return arrived & run.done & ~hit(run).any(axis=0)

        def cases(factor: Array) -> list[Case]:
            gains = {"speed.k_p": 6.0, "speed.k_i": 0.0, "speed.limit": car.grip}
            label = f"{np.ravel(factor)[0]:.3f} of the speeds"
            duration = 1.15 * (lap.time * (1.0 + RUN_UP / lap.lap)) / float(np.min(factor))
            drivers = [gains | style_of(car, 10.0, factor, *style) for style in LAP_STYLES]
            how: Any = {"path": lap.path, "run_in": 0.0}
            return [Case(label, duration, factor * lap.v, driving=own, **how) for own in drivers]

        limit = yield from highest_clean(low, high, LAP_RESOLUTION, cases, clean_lap)
        run, clean = limit.run, np.isfinite(limit.best)
        marks = np.linspace(RUN_UP, RUN_UP + lap.lap, SECTORS + 1)
        times = [
            np.where(clean, lap_time(run, begin, end), np.nan) for begin, end in pairwise(marks)
        ]
        values = {
            "lap_time": sum(times),
            **{f"sector_{k}": time for k, time in enumerate(times, 1)},
            "clean_factor": limit.best,
            "cones_touched": hit(run).sum(axis=0),
        }
        notes = [] if clean[0] else [f"no lap was clean, not even with {run.label}"]
        metrics = self.metrics(values, {"lap_time": lap.time})
        return Findings(metrics, _charts(run, lap, where), notes)


def _charts(run: CaseRun, lap: LapPlan, where: Array) -> list[Chart]:
    on_track = run["progress"][:, 0] <= RUN_UP + lap.lap
    x, y, v, along = (run[name][on_track, 0] for name in ("x", "y", "speed", "progress"))
    a_x, a_y = run["a_x"][on_track, 0], run["a_y"][on_track, 0]
    track = Curve(x, y, run.label), cones_curve(where)
    return [
        chart("Autocross lap", "x", "y", *track, equal=True),
        Chart("Speed along the lap", "distance in m", "m/s", [Curve(along - RUN_UP, v, run.label)]),
        Chart("g-g", "a_y in m/s²", "a_x in m/s²", [Curve(a_y, a_x, run.label)], equal=True),
    ]
