"""Double lane changes between cones (ISO 3888): how fast can it be entered without touching one?

The driver follows a smooth path through the lanes. Entry speeds are driven side by side, first far
apart and then about the highest that was clean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..units import m, m_s
from .case import Case
from .case_run import CaseRun
from .cones import peak_between, value_at
from .fitness import steering_needed, tyres_needed
from .metric import Chart, Curve, Findings, Metric
from .path import Path, path_along
from .proving_ground import Performing
from .search import highest_clean, known_understeer
from .subject import Subject

__all__ = ["DoubleLaneChange", "Lane", "ObstacleAvoidance"]

KM_H: m_s = 1.0 / 3.6
RESOLUTION: m_s = 0.5 * KM_H
"""To which the highest speed is found."""
ROUGH = "of the fastest clean drive of our path-following driver, found to 0.5 km/h"
"""Why no metric has a derivative."""
SPACING: m = 3.0
"""Of the cones along a lane, at most."""
LEAD: m = 30.0
"""Straight before the first lane."""
AFTER: m = 20.0
"""Straight after the last one that is driven, at least."""
ROOM_USED = 0.5
"""Share of the room beside a vehicle that the path uses."""
STYLES = ((0.2, 0.1), (0.2, 0.2), (0.25, 0.3), (0.35, 0.2), (0.35, 0.3), (0.5, 0.3), (0.5, 0.4))
"""Of drivers: the time in s in which deviations die out, and how much earlier the wheel is turned.
Each vehicle has the driver who suits it."""
WIDEST: m = 3.0
"""Wider than any car: a vehicle of another kind drives between other cones."""


class Lane(NamedTuple):
    """A stretch between two rows of cones."""

    begin: m
    """Along the course."""
    end: m
    right: m
    """Across the course, positive to the left."""
    left: m

    @property
    def middle(self) -> m:
        """Across the course."""
        return 0.5 * (self.left + self.right)


def double_lane_change(width: m) -> tuple[Lane, Lane, Lane]:
    """The lanes of ISO 3888-1 for a vehicle of a width: 15, 30, 25, 25 and twice 15 m, 125 m in all
    (table 1 of the edition of 1999; the last lane of 30 m also in Simscape Vehicle Templates)."""
    first, second, third = 1.1 * width + 0.25, 1.2 * width + 0.25, 1.3 * width + 0.25
    right = -0.5 * first
    return (
        Lane(0.0, 15.0, right, right + first),
        Lane(45.0, 70.0, right + 3.5, right + 3.5 + second),
        Lane(95.0, 125.0, right, right + third),
    )


def obstacle_avoidance(width: m) -> tuple[Lane, Lane, Lane]:
    """The lanes of ISO 3888-2 for a vehicle of a width."""
    first, second, third = 1.1 * width + 0.25, width + 1.0, max(1.3 * width + 0.25, 3.0)
    right = -0.5 * first
    left = right + first + 1.0
    return (
        Lane(0.0, 12.0, right, right + first),
        Lane(25.5, 36.5, left, left + second),
        Lane(49.0, 61.0, right + first - third, right + first),
    )


def cones(lanes: Sequence[Lane]) -> Array:
    """Where the cones stand, (n, 2), along and across."""
    rows: list[Array] = []
    for lane in lanes:
        count = int(np.ceil((lane.end - lane.begin) / SPACING)) + 1
        along = np.linspace(lane.begin, lane.end, count)
        rows += [np.stack([along, np.full(count, side)], 1) for side in (lane.right, lane.left)]
    return np.concatenate(rows)


def course(lanes: Sequence[Lane], width: m) -> Path:
    """The path with the least curvature through lanes, for a vehicle of a width.

    It uses a share of the room beside the vehicle; the rest is for what it deviates by. It is
    driven at 1 m/s, times the gain of the driver.
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
    # Straight at both ends, in the middle of the first and of the last lane.
    for end, lane in ((slice(0, 3), lanes[0]), (slice(-3, None), lanes[-1])):
        least[end], most[end] = lane.middle - 1e-6, lane.middle + 1e-6
    y = lsq_linear(bends, np.zeros(len(bends)), (least, most), method="bvls").x
    fine = np.arange(x[0], x[-1], 0.05)
    points = np.stack([fine, make_interp_spline(x, y, 3)(fine)], axis=1)
    after = np.array([[fine[-1] + 100.0, points[-1, 1]]])
    return path_along(np.concatenate([points, after]), 1.0)


def leaves(car: Subject, run: CaseRun, lanes: Sequence[Lane]) -> NDArray[np.bool_]:
    """Whether a corner of a vehicle left a lane while it was in it, or it tipped over or spun,
    (V,)."""
    com = np.array(car.geometry.centre_of_mass)
    corners = np.concatenate([np.array(outline) for outline in car.geometry.outlines]) - com
    c, s = np.cos(run["yaw"])[..., None], np.sin(run["yaw"])[..., None]
    x = run["x"][..., None] + c * corners[:, 0] - s * corners[:, 1]
    y = run["y"][..., None] + s * corners[:, 0] + c * corners[:, 1]
    out = ~run.done
    for lane in lanes:
        inside = (x >= lane.begin) & (x <= lane.end)
        out |= (inside & ((y < lane.right) | (y > lane.left))).any(axis=(0, 2))
    return out


def stops_short(run: CaseRun, lanes: Sequence[Lane]) -> NDArray[np.bool_]:
    """Who never comes through, (V,)."""
    return run["x"].max(axis=0) < lanes[-1].end


def touches(car: Subject, run: CaseRun, lanes: Sequence[Lane]) -> NDArray[np.bool_]:
    """Who has not passed, (V,)."""
    return leaves(car, run, lanes) | stops_short(run, lanes)


class _LaneChange:
    """What both courses share."""

    speeds: tuple[m_s, m_s]
    lanes_for: ClassVar[Callable[[m], tuple[Lane, ...]]]
    """The lanes of the course for a vehicle of a width."""
    released: ClassVar[m] = np.inf
    """How far inside the first lane the throttle is released."""

    def lanes(self, car: Subject) -> tuple[Lane, ...]:
        """Between which the vehicle drives."""
        return type(self).lanes_for(_width(car))

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        width = _width(car)
        if steering_needed(car) or tyres_needed(car):
            return steering_needed(car) or tyres_needed(car)
        if not 1.0 <= width <= WIDEST:
            return f"{car.name} is {width:.2f} m wide; the course is one for cars, 1 m to 3 m"
        return ""

    def perform(self, car: Subject) -> Performing:
        """Speeds ever closer to the highest clean one, by drivers of all styles."""
        lanes = self.lanes(car)
        path = course(lanes, _width(car))
        least, most = self.speeds[0], min(self.speeds[1], car.limits.v_max)
        low, high = (
            np.full(car.variants, v) for v in (least if least < most else 0.5 * most, most)
        )
        limit = yield from highest_clean(
            low,
            high,
            RESOLUTION,
            lambda v: [self._case(car, v, path, *style) for style in STYLES],
            lambda run: ~touches(car, run, lanes),
            lambda run: stops_short(run, lanes) & ~leaves(car, run, lanes),
        )
        notes = list[str]()
        if np.isnan(limit.best[0]):
            notes.append(f"no speed was clean, not even {limit.run.label}")
        elif np.isclose(limit.best[0], high[0], rtol=1e-12):
            notes.append(f"clean even at the highest speed that was driven, {limit.run.label}")
        return self._findings(limit.run, np.isfinite(limit.best), lanes, notes)

    def _case(self, car: Subject, v: Array, path: Path, settling: float, ahead: float) -> Case:
        """Entered at a speed that is held up to where the throttle is released."""
        understeer = known_understeer(car, 20.0)
        end = self.lanes(car)[-1].end
        # Who rolls, and slows down evenly, is through in twice the time or never.
        rolling = max(end - self.released, 0.0)
        return Case(
            label=f"{np.ravel(v)[0] / KM_H:.1f} km/h",
            duration=float((LEAD + end + max(rolling, AFTER)) / np.min(v)),
            v=v,
            path=path,
            driving={
                "understeer": understeer,
                "settling": settling,
                "ahead": ahead,
                "v_gain": v,
                "hold_until": LEAD + min(self.released, end + LEAD),
            },
            run_in=0.0,
        )

    def _findings(
        self, run: CaseRun, passed: NDArray[np.bool_], lanes: Sequence[Lane], notes: Sequence[str]
    ) -> Findings:
        begin, end = lanes[0].begin, lanes[-1].end

        def peak(name: str) -> Array:
            return np.where(passed, peak_between(run, name, begin, end), np.nan)

        metrics = [
            Metric(
                "entry_speed", np.where(passed, value_at(run, "speed", begin), np.nan), "m/s",
                "At the first cones, of the fastest drive without a touch by our driver, who "
                "follows a path: the driver's speed, below what the car can do.", rough=ROUGH,
            ),
            Metric(
                "peak_lateral_acceleration", peak("a_y"), "m/s²",
                "Between the first cones and the last, in that drive.", rough=ROUGH,
            ),
            Metric("peak_yaw_rate", peak("omega"), "rad/s", "There.", rough=ROUGH),
            Metric("peak_sideslip", peak("sideslip"), "rad", "There.", rough=ROUGH),
        ]  # fmt: skip
        if "steer" in run:
            angle = Metric("peak_angle", peak("steer"), "rad", "Of the front wheels.", rough=ROUGH)
            metrics.append(angle)
        where = cones(lanes)
        curves = [
            Curve(run["x"][:, 0], run["y"][:, 0], run.label),
            Curve(where[:, 0], where[:, 1], "cones", "cones"),
        ]
        path = Chart("Path", "x in m", "y in m", curves, equal=True)
        across = Chart(
            "Lateral acceleration",
            "x in m",
            "m/s²",
            [Curve(run["x"][:, 0], run["a_y"][:, 0], "a_y")],
        )
        return Findings(metrics, [path, across], notes)


@dataclass(frozen=True)
class DoubleLaneChange(_LaneChange):
    """ISO 3888-1: a severe lane change and back."""

    speeds: tuple[m_s, m_s] = (40.0 * KM_H, 180.0 * KM_H)
    """Between which the highest clean one is looked for."""
    name: ClassVar[str] = "double_lane_change"
    title: ClassVar[str] = "Double lane change"
    source: ClassVar[str] = "ISO 3888-1:2018"
    lanes_for: ClassVar[Callable[[m], tuple[Lane, ...]]] = staticmethod(double_lane_change)


@dataclass(frozen=True)
class ObstacleAvoidance(_LaneChange):
    """ISO 3888-2: around an obstacle that was not there before."""

    speeds: tuple[m_s, m_s] = (25.0 * KM_H, 120.0 * KM_H)
    """Between which the highest clean one is looked for."""
    name: ClassVar[str] = "obstacle_avoidance"
    title: ClassVar[str] = "Obstacle avoidance"
    source: ClassVar[str] = "ISO 3888-2:2011"
    released: ClassVar[m] = 2.0
    lanes_for: ClassVar[Callable[[m], tuple[Lane, ...]]] = staticmethod(obstacle_avoidance)


def _width(car: Subject) -> m:
    corners = np.concatenate([np.array(outline) for outline in car.geometry.outlines])
    return float(np.ptp(corners[:, 1]))
