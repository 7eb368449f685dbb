"""A lap against the clock on a track of cones: what line, tyres, drive and brakes are good for.

The line is the one of least curvature between the cones that leaves the vehicle some room. Its
speeds are those of a point with the vehicle's grip, times a factor; the highest with which no cone
falls is looked for, with all vehicles at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...control.speed import Grip, least_curvature, speed_profile
from ...core.arrays import Array
from ...geometry.line import Line, smooth_loop
from ...units import m, one
from .case import Case, Path, path_along, path_point
from .case_run import CaseRun
from .cone_courses import reach, struck, width_needed
from .events import lap_time
from .manoeuvre import Performing, StandardManoeuvre
from .metric import Chart, Curve, Findings
from .search import highest_clean, known_understeer
from .subject import Subject, drive_needed, tyres_needed

# fmt: off
CORNERS = np.array([
    (0, 0), (25, 0), (48, 2), (60, 12), (56, 25), (42, 27), (33, 20), (22, 17), (14, 25), (16, 38),
    (6, 46), (-8, 42), (-14, 33), (-22, 27), (-34, 30), (-45, 24), (-46, 11), (-36, 4), (-20, 0),
], dtype=float)
# fmt: on
"""Points of the middle of the track in m, driven in this order; the start line is at the first."""
SPACING: m = 0.5
"""Of the points of lines."""
CONES: m = 4.0
"""Between the cones along the middle of the track."""
RUN_UP: m = 20.0
"""Before the start line, at speed."""
ROOM: m = 0.25
"""Between a vehicle on its line and the cones, in the tightest bend."""
BRAKING: one = 0.8
"""Share of the grip that is braked with."""
SECTORS = 3
STYLES = ((0.2, 0.15), (0.35, 0.1))
"""Of drivers: the time in s in which deviations die out, and how much earlier the wheel is turned.
"""
FACTORS: tuple[one, one] = (0.6, 1.1)
"""Between which the highest clean one is looked for."""
RESOLUTION: one = 0.0125


@cache
def middle() -> Line:
    """Of the track: a closed line."""
    return Line.through(smooth_loop(CORNERS, SPACING), closed=True)


def cones(width: m) -> Array:
    """Where they stand along both sides of a track of a width, (n, 2)."""
    line = middle()
    every = round(CONES / SPACING)
    return np.concatenate([line.beside(side)[::every] for side in (0.5 * width, -0.5 * width)])


class Plan(NamedTuple):
    """The reference of a lap."""

    path: Path
    lap: m
    """Length of it."""
    time: float
    """In s, of a point with the vehicle's grip."""
    v: float
    """In m/s, where the path begins."""


def room_beside(car: Subject, width: m) -> m:
    """Distance that a vehicle may keep from the middle of a track of a width."""
    tightest = 1.0 / np.abs(middle().curvature).max()
    return 0.5 * width - max(reach(car, tightest)) - ROOM


@cache
def best_line(room: m) -> Line:
    """The line of least curvature within a distance of the middle of the track."""
    points = smooth_loop(middle().beside(least_curvature(middle(), room)), SPACING)
    return Line.through(points, closed=True)


def plan(car: Subject, width: m) -> Plan:
    """The line for a vehicle on a track of a width, and speeds along it."""
    line = best_line(max(room_beside(car, width), 1e-3))
    points = line.vertices
    drive = min(car.limits.a_max, car.grip)
    v = speed_profile(line, Grip(car.grip, drive, BRAKING * car.grip, min(car.limits.v_max, 60.0)))
    mean = 0.5 * (v[1:] + v[:-1])
    lead = round(RUN_UP / SPACING)
    order = np.arange(-lead, len(points) + lead) % len(points)
    path, time = path_along(points[order], v[order]), float((np.diff(line.s) / mean).sum())
    return Plan(path, line.length, time, float(path_point(path, 0.0)[1]))


@dataclass(frozen=True)
class Autocross(StandardManoeuvre):
    """A flying lap of 280 m."""

    width: m = 4.0
    """Of the track."""
    name = "autocross"
    title = "Autocross lap"
    source = "a track of skidpad in the manner of Formula Student's autocross"
    rough = "of the fastest clean lap of our path-following driver, found to 1.25 % of the speeds"
    METRICS = f"""
    lap_time [s]: Fastest flying lap without a cone; theory: of a point with the same grip.
    sector_1 [s]: Part 1 of {SECTORS} of the lap.
    sector_2 [s]: Part 2 of {SECTORS} of the lap.
    sector_3 [s]: Part 3 of {SECTORS} of the lap.
    clean_factor []: Highest factor on the speeds of a point with the same grip without a cone.
    cones_touched []: On that lap; on the slowest where none was clean. | a count
    """

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        lacks = tyres_needed(car) or drive_needed(car) or width_needed(car, 0.8, self.width)
        if not lacks and room_beside(car, self.width) < 0.0:
            return f"{car.name} is too long or wide for the bends of a track of {self.width:g} m"
        return lacks

    def perform(self, car: Subject) -> Performing:
        """Factors ever closer to the highest clean one, by drivers of all styles."""
        lap, where = plan(car, self.width), cones(self.width)
        low, high = (np.full(car.variants, factor) for factor in FACTORS)

        def hit(run: CaseRun) -> NDArray[np.bool_]:
            return struck(car, run, where, until=RUN_UP + lap.lap)

        def clean_lap(run: CaseRun) -> NDArray[np.bool_]:
            arrived = run["progress"].max(axis=0) > RUN_UP + lap.lap
            return arrived & run.done & ~hit(run).any(axis=0)

        limit = yield from highest_clean(
            low,
            high,
            RESOLUTION,
            lambda factor: [_lap_case(car, factor, lap, *style) for style in STYLES],
            clean_lap,
        )
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
        return Findings(
            self.metrics(values, {"lap_time": lap.time}), _charts(run, lap, where), notes
        )


def _lap_case(car: Subject, factor: Array, lap: Plan, settling: float, ahead: float) -> Case:
    gains = {"speed.k_p": 6.0, "speed.k_i": 0.0, "speed.limit": car.grip}
    style = {"understeer": known_understeer(car, 10.0), "settling": settling}
    return Case(
        label=f"{np.ravel(factor)[0]:.3f} of the speeds",
        duration=1.15 * (lap.time * (1.0 + RUN_UP / lap.lap)) / float(np.min(factor)),
        v=factor * lap.v,
        path=lap.path,
        driving=gains | style | {"ahead": ahead, "v_gain": factor},
        run_in=0.0,
    )


def _charts(run: CaseRun, lap: Plan, where: Array) -> list[Chart]:
    on_track = run["progress"][:, 0] <= RUN_UP + lap.lap
    x, y, v, along = (run[name][on_track, 0] for name in ("x", "y", "speed", "progress"))
    a_x, a_y = run["a_x"][on_track, 0], run["a_y"][on_track, 0]
    track = [Curve(x, y, run.label), Curve(where[:, 0], where[:, 1], "cones", "cones")]
    return [
        Chart("Autocross lap", "x in m", "y in m", track, equal=True),
        Chart("Speed along the lap", "distance in m", "m/s", [Curve(along - RUN_UP, v, run.label)]),
        Chart("g-g", "a_y in m/s²", "a_x in m/s²", [Curve(a_y, a_x, run.label)], equal=True),
    ]
