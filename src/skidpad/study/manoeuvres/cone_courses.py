"""Double lane changes between cones (ISO 3888): how fast can it be entered without touching one?

The driver follows a smooth path through the lanes. Entry speeds are driven side by side, first far
apart and then about the highest that was clean.

Cones, and whether a vehicle strikes them.

Slalom: past cones in a row on alternating sides, as fast as can be held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...units import m, m_s, one
from .case import Case, Path, path_along
from .case_run import CaseRun, first_time
from .metric import Chart, Curve, Findings, Metric
from .proving_ground import Performing
from .search import highest_clean, known_understeer
from .subject import Subject, steering_needed, tyres_needed

DRIVERS_SPEED = (
    "speeds are those that our driver, who follows a path, masters; the car can be faster"
)
"""Note with the speeds of lane changes."""
CONE: m = 0.114
"""Radius of the base of a cone of 325 mm, as Formula Student has them."""


class Box(NamedTuple):
    """The rectangle about a vehicle, seen from its centre of mass."""

    rear: m
    front: m
    right: m
    left: m

    @property
    def width(self) -> m:
        """Across the vehicle."""
        return self.left - self.right


def box_of(car: Subject) -> Box:
    """That of a vehicle with its own parameters."""
    corners = np.concatenate([np.array(outline) for outline in car.geometry.outlines])
    (rear, right), (front, left) = (
        edge - np.array(car.geometry.centre_of_mass)
        for edge in (corners.min(axis=0), corners.max(axis=0))
    )
    return Box(float(rear), float(front), float(right), float(left))


def reach(car: Subject, radius: m) -> tuple[m, m]:
    """How far a vehicle without slip reaches out of a circle, which its centre of mass drives
    along, and how far inside of it."""
    box, l_r = box_of(car), float(car.l_r[0])
    rear_axle = np.sqrt(max(radius**2 - l_r**2, 0.0))
    farthest = max(abs(box.front + l_r), abs(box.rear + l_r))
    outside = np.hypot(rear_axle + box.left, farthest) - radius
    return float(outside), float(radius - rear_axle - box.right)


def struck(car: Subject, run: CaseRun, cones: Array, until: m = np.inf) -> NDArray[np.bool_]:
    """Which cones, at places (n, 2), each variant drives over, (n, V).

    A cone is struck when the rectangle about the vehicle reaches its base. What happens after a
    distance along the path, `until`, does not count.
    """
    box = box_of(car)
    c, s = np.cos(run["yaw"]), np.sin(run["yaw"])
    # Where the origin of the world is, seen from the vehicle.
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
    """The largest magnitude of a signal while the centre of mass is between two x, (V,)."""
    there = (run["x"] >= begin) & (run["x"] <= end)
    return np.where(there, np.abs(run[name]), 0.0).max(axis=0)


def value_at(run: CaseRun, name: str, x: m) -> Array:
    """A signal where the centre of mass first comes to x, (V,); NaN where it never does."""
    times = first_time(run.t, run["x"], x)
    pairs = zip(times, run[name].T, strict=True)
    return np.array([np.interp(time, run.t, own) for time, own in pairs])


def width_needed(car: Subject, least: m, most: m) -> str:
    """Why a vehicle does not fit a course for widths, a sentence; empty if it does."""
    width = box_of(car).width
    if least <= width <= most:
        return ""
    return f"{car.name} is {width:.2f} m wide; the course is one for {least:g} m to {most:g} m"


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
        return Findings(metrics, [path, across], [*notes, DRIVERS_SPEED])


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


CONES = 6
CLEARANCE: m = 0.5
"""Between the side of a vehicle on its path and the cones; no standard tells it."""
SLALOM_LEAD: m = 40.0
"""Before the first cone, over which the path swings out, and after the last."""
SLALOM_STYLES = ((0.3, 0.2), (0.4, 0.2))
"""Of drivers: the time in s in which deviations die out, and how much earlier the wheel is turned.
"""
SLALOM_RESOLUTION: one = 0.02
"""To which the highest speed is found, over that of the closed form."""
SLALOM_ROUGH = (
    "of the fastest clean drive of our path-following driver, found to 2 % of the closed form"
)
"""Why no metric has a derivative."""


def slalom_cones(spacing: m) -> Array:
    """Where they stand, (n, 2), along x from the origin on."""
    return np.stack([spacing * np.arange(CONES, dtype=float), np.zeros(CONES)], axis=1)


def slalom_path(spacing: m, amplitude: m) -> Path:
    """A wave that passes the first cone on its left, at 1 m/s."""
    x = np.arange(-SLALOM_LEAD, spacing * (CONES - 1) + SLALOM_LEAD, 0.25)
    swing = np.clip(
        np.minimum(x + SLALOM_LEAD, x[-1] - x) / (SLALOM_LEAD - 0.5 * spacing), 0.0, 1.0
    )
    y = swing**2 * (3.0 - 2.0 * swing) * amplitude * np.cos(np.pi * x / spacing)
    return path_along(np.stack([x, y], axis=1), 1.0)


def wrong_side(run: CaseRun, spacing: m) -> NDArray[np.bool_]:
    """Who passed a cone on the side on which the one before was passed, or never came by, (V,)."""
    wrong: Any = ~np.isfinite(run["x"]).all(axis=0)
    for k in range(CONES):
        row = np.argmax(run["x"] >= k * spacing, axis=0)
        y = run["y"][row, np.arange(run.variants)]
        wrong = wrong | (row == 0) | (y * (-1.0) ** k <= 0.0)
    return wrong


@dataclass(frozen=True)
class Slalom:
    """Cones 18 m apart."""

    spacing: m = 18.0
    speeds: tuple[one, one] = (0.5, 1.3)
    """Between which the highest clean one is looked for, over that of the closed form."""
    name: ClassVar[str] = "slalom_18_m"
    title: ClassVar[str] = "Slalom, cones 18 m apart"
    source: ClassVar[str] = "the slalom of car magazines; there is no standard"

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        return steering_needed(car) or tyres_needed(car) or width_needed(car, 0.8, 3.0)

    def perform(self, car: Subject) -> Performing:
        """Held speeds ever closer to the highest clean one, by drivers of all styles."""
        amplitude = 0.5 * box_of(car).width + CONE + CLEARANCE
        path, cones = slalom_path(self.spacing, amplitude), slalom_cones(self.spacing)

        def clean(run: CaseRun) -> NDArray[np.bool_]:
            touched = struck(car, run, cones).any(axis=0)
            return run.done & ~touched & ~wrong_side(run, self.spacing)

        # The bends of y = A cos(π x / d) at the cones have the curvature A (π / d)².
        theory = float(self.spacing / np.pi * np.sqrt(car.grip / amplitude))
        ends = (min(share * theory, car.limits.v_max) for share in self.speeds)
        low, high = (np.full(car.variants, v) for v in ends)
        limit = yield from highest_clean(
            low,
            high,
            SLALOM_RESOLUTION * theory,
            lambda v: [self._case(car, v, path, *style) for style in SLALOM_STYLES],
            clean,
        )
        return self._findings(limit.run, limit.best, theory, cones)

    def _case(self, car: Subject, v: Array, path: Path, settling: float, ahead: float) -> Case:
        understeer = known_understeer(car, 15.0)
        return Case(
            label=f"{np.ravel(v)[0]:.1f} m/s",
            duration=float(1.05 * path.length / np.min(v)),
            v=v,
            path=path,
            driving={"understeer": understeer, "settling": settling, "ahead": ahead, "v_gain": v},
            run_in=0.0,
        )

    def _findings(self, run: CaseRun, best: Array, theory: m_s, cones: Array) -> Findings:
        passed, way = np.isfinite(best), float(np.ptp(cones[:, 0]))
        time = first_time(run.t, run["x"], way) - first_time(run.t, run["x"], 0.0)

        def peak(name: str) -> Array:
            return np.where(passed, peak_between(run, name, 0.0, way), np.nan)

        metrics = [
            Metric(
                "passing_speed", np.where(passed, way / time, np.nan), "m/s",
                "Mean from the first cone to the last, at the highest clean speed; theory: a wave "
                "of the same amplitude at the limit of grip.", theory, SLALOM_ROUGH,
            ),
            Metric(
                "entry_speed", best, "m/s", "Highest held speed without a cone.",
                rough=SLALOM_ROUGH,
            ),
            Metric(
                "peak_lateral_acceleration", peak("a_y"), "m/s²",
                "Between the first cone and the last, at that speed.", rough=SLALOM_ROUGH,
            ),
            Metric("peak_yaw_rate", peak("omega"), "rad/s", "There.", rough=SLALOM_ROUGH),
            Metric("peak_sideslip", peak("sideslip"), "rad", "There.", rough=SLALOM_ROUGH),
        ]  # fmt: skip
        curves = [
            Curve(run["x"][:, 0], run["y"][:, 0], run.label),
            Curve(cones[:, 0], cones[:, 1], "cones", "cones"),
        ]
        notes = [] if passed[0] else [f"no speed was clean, not even {run.label}"]
        return Findings(metrics, [Chart("Path", "x in m", "y in m", curves)], notes)


@dataclass(frozen=True)
class LongSlalom(Slalom):
    """Cones 36 m apart."""

    spacing: m = 36.0
    name: ClassVar[str] = "slalom_36_m"
    title: ClassVar[str] = "Slalom, cones 36 m apart"
