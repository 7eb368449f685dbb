"""Courses between cones, driven as fast as can be without touching one.

Double lane changes (ISO 3888): the driver follows a smooth path through the lanes. Slalom: past
cones in a row on alternating sides. Speeds are driven side by side, first far apart and then about
the highest that was clean.
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
from .manoeuvre import Performing, StandardManoeuvre
from .metric import Chart, Curve, Findings
from .search import highest_clean, known_understeer
from .subject import Subject, tyres_needed

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
    """The rectangle about a vehicle with its own parameters."""
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
    """A width of the vehicle for which the course is made."""
    width = box_of(car).width
    if least <= width <= most:
        return ""
    return f"{car.name} is {width:.2f} m wide; the course is one for {least:g} m to {most:g} m"


KM_H: m_s = 1.0 / 3.6
RESOLUTION: m_s = 0.5 * KM_H
"""To which the highest speed is found."""
SPACING: m = 3.0
"""Of the cones along a lane, at most."""
LEAD: m = 30.0
"""Straight before the first lane."""
AFTER: m = 20.0
"""Straight after the last one that is driven, at least."""
ROOM_USED = 0.5
"""Share of the room to the sides of a vehicle that the path uses."""
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

    It uses a share of the room to the sides of the vehicle; the rest is for deviations. It is
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
    """Whether a vehicle never comes through, (V,)."""
    return run["x"].max(axis=0) < lanes[-1].end


def touches(car: Subject, run: CaseRun, lanes: Sequence[Lane]) -> NDArray[np.bool_]:
    """Whether a vehicle has not passed, (V,)."""
    return leaves(car, run, lanes) | stops_short(run, lanes)


class _LaneChange(StandardManoeuvre):
    """Base of both lane changes."""

    speeds: tuple[m_s, m_s]
    lanes_for: ClassVar[Callable[[m], tuple[Lane, ...]]]
    """The lanes of the course for a vehicle of a width."""
    released: ClassVar[m] = np.inf
    """Distance inside the first lane at which the throttle is released."""
    rough = "of the fastest clean drive of our path-following driver, found to 0.5 km/h"
    METRICS = """
    entry_speed [m/s]: At the first cones, of the fastest drive without a touch by our driver, who
        follows a path: the driver's speed, below what the car can do.
    peak_lateral_acceleration [m/s²]: Between the first cones and the last, in that drive.
    peak_yaw_rate [rad/s]: There.
    peak_sideslip [rad]: There.
    peak_angle [rad]: Of the front wheels.
    """

    def lanes(self, car: Subject) -> tuple[Lane, ...]:
        """Lanes between which the vehicle drives."""
        return type(self).lanes_for(_width(car))

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        width = _width(car)
        if lacks := tyres_needed(car):
            return lacks
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
        end = self.lanes(car)[-1].end
        # A vehicle that rolls, and slows down evenly, is through in twice the time or never.
        rolling = max(end - self.released, 0.0)
        return Case(
            label=f"{np.ravel(v)[0] / KM_H:.1f} km/h",
            duration=float((LEAD + end + max(rolling, AFTER)) / np.min(v)),
            v=v,
            path=path,
            driving={
                "understeer": known_understeer(car, 20.0),
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
        peaks = {"peak_lateral_acceleration": "a_y", "peak_yaw_rate": "omega",
                 "peak_sideslip": "sideslip", "peak_angle": "steer"}  # fmt: skip
        values = {"entry_speed": value_at(run, "speed", begin)} | {
            name: peak_between(run, signal, begin, end)
            for name, signal in peaks.items()
            if signal in run
        }
        metrics = self.metrics({n: np.where(passed, row, np.nan) for n, row in values.items()})
        path = Chart("Path", "x in m", "y in m", path_curves(run, cones(lanes)), equal=True)
        curve = Curve(run["x"][:, 0], run["a_y"][:, 0], "a_y")
        across = Chart("Lateral acceleration", "x in m", "m/s²", [curve])
        return Findings(metrics, [path, across], [*notes, DRIVERS_SPEED])


@dataclass(frozen=True)
class DoubleLaneChange(_LaneChange):
    """ISO 3888-1: a severe lane change and back."""

    speeds: tuple[m_s, m_s] = (40.0 * KM_H, 180.0 * KM_H)
    """Between which the highest clean one is looked for."""
    name = "double_lane_change"
    title = "Double lane change"
    source = "ISO 3888-1:2018"
    lanes_for: ClassVar[Callable[[m], tuple[Lane, ...]]] = staticmethod(double_lane_change)


@dataclass(frozen=True)
class ObstacleAvoidance(_LaneChange):
    """ISO 3888-2: around an obstacle that was not there before."""

    speeds: tuple[m_s, m_s] = (25.0 * KM_H, 120.0 * KM_H)
    """Between which the highest clean one is looked for."""
    name = "obstacle_avoidance"
    title = "Obstacle avoidance"
    source = "ISO 3888-2:2011"
    released: ClassVar[m] = 2.0
    lanes_for: ClassVar[Callable[[m], tuple[Lane, ...]]] = staticmethod(obstacle_avoidance)


def path_curves(run: CaseRun, cones: Array) -> list[Curve]:
    """The path of the first vehicle and the cones."""
    return [
        Curve(run["x"][:, 0], run["y"][:, 0], run.label),
        Curve(cones[:, 0], cones[:, 1], "cones", "cones"),
    ]


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


@dataclass(frozen=True)
class Slalom(StandardManoeuvre):
    """Cones 18 m apart."""

    spacing: m = 18.0
    speeds: tuple[one, one] = (0.5, 1.3)
    """Between which the highest clean one is looked for, over that of the closed form."""
    name = "slalom_18_m"
    title = "Slalom, cones 18 m apart"
    source = "the slalom of car magazines; there is no standard"
    needs = (tyres_needed, lambda car, test: width_needed(car, 0.8, 3.0))
    rough = (
        "of the fastest clean drive of our path-following driver, found to 2 % of the closed form"
    )
    METRICS = """
    passing_speed [m/s]: Mean from the first cone to the last, at the highest clean speed; theory: a
        wave of the same amplitude at the limit of grip.
    entry_speed [m/s]: Highest held speed without a cone.
    peak_lateral_acceleration [m/s²]: Between the first cone and the last, at that speed.
    peak_yaw_rate [rad/s]: There.
    peak_sideslip [rad]: There.
    """

    def perform(self, car: Subject) -> Performing:
        """Held speeds ever closer to the highest clean one, by drivers of all styles."""
        amplitude = 0.5 * box_of(car).width + CONE + CLEARANCE
        path, cones, d = self.path(amplitude), self.cones, self.spacing

        def clean(run: CaseRun) -> NDArray[np.bool_]:
            touched = struck(car, run, cones).any(axis=0)
            return run.done & ~touched & ~self.wrong_side(run)

        # The bends of y = A cos(π x / d) at the cones have the curvature A (π / d)².
        theory = float(d / np.pi * np.sqrt(car.grip / amplitude))
        ends = (min(share * theory, car.limits.v_max) for share in self.speeds)
        low, high = (np.full(car.variants, v) for v in ends)
        limit = yield from highest_clean(
            low,
            high,
            SLALOM_RESOLUTION * theory,
            lambda v: [self._case(car, v, path, *style) for style in SLALOM_STYLES],
            clean,
        )
        run, passed, way = limit.run, np.isfinite(limit.best), float(np.ptp(cones[:, 0]))
        time = first_time(run.t, run["x"], way) - first_time(run.t, run["x"], 0.0)
        a_y, omega, sideslip = (
            np.where(passed, peak_between(run, name, 0.0, way), np.nan)
            for name in ("a_y", "omega", "sideslip")
        )
        values = {
            "passing_speed": np.where(passed, way / time, np.nan),
            "entry_speed": limit.best,
            "peak_lateral_acceleration": a_y,
            "peak_yaw_rate": omega,
            "peak_sideslip": sideslip,
        }
        notes = [] if passed[0] else [f"no speed was clean, not even {run.label}"]
        chart = Chart("Path", "x in m", "y in m", path_curves(run, cones))
        return Findings(self.metrics(values, {"passing_speed": theory}), [chart], notes)

    @property
    def cones(self) -> Array:
        """Positions of the cones, (n, 2), along x from the origin."""
        return np.stack([self.spacing * np.arange(CONES, dtype=float), np.zeros(CONES)], axis=1)

    def path(self, amplitude: m) -> Path:
        """A wave that passes the first cone on its left, at 1 m/s."""
        d, lead = self.spacing, SLALOM_LEAD
        x = np.arange(-lead, d * (CONES - 1) + lead, 0.25)
        swing = np.clip(np.minimum(x + lead, x[-1] - x) / (lead - 0.5 * d), 0.0, 1.0)
        y = swing**2 * (3.0 - 2.0 * swing) * amplitude * np.cos(np.pi * x / d)
        return path_along(np.stack([x, y], axis=1), 1.0)

    def wrong_side(self, run: CaseRun) -> NDArray[np.bool_]:
        """Whether a cone was passed on the side of the one before, or not at all, (V,)."""
        wrong: Any = ~np.isfinite(run["x"]).all(axis=0)
        for k in range(CONES):
            row = np.argmax(run["x"] >= k * self.spacing, axis=0)
            y = run["y"][row, np.arange(run.variants)]
            wrong = wrong | (row == 0) | (y * (-1.0) ** k <= 0.0)
        return wrong

    def _case(self, car: Subject, v: Array, path: Path, settling: float, ahead: float) -> Case:
        understeer = known_understeer(car, 15.0)
        style = {"understeer": understeer, "settling": settling, "ahead": ahead, "v_gain": v}
        return Case(
            label=f"{np.ravel(v)[0]:.1f} m/s",
            duration=float(1.05 * path.length / np.min(v)),
            v=v,
            path=path,
            driving=style,
            run_in=0.0,
        )


@dataclass(frozen=True)
class LongSlalom(Slalom):
    """Cones 36 m apart."""

    spacing: m = 36.0
    name = "slalom_36_m"
    title = "Slalom, cones 36 m apart"
