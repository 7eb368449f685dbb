"""Longitudinal manoeuvres on level ground and on a hill, and the tightest turn.

On level ground: acceleration from rest and coasting down. On a hill: whether the handbrake holds,
when the vehicle slides, and whether it can start. All gradients are driven at once, each on a road
of its own; for the kernel they are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.files import brief_repr
from ...road.road import Road
from ...units import m, m_s, m_s2, one, rad, s
from .case import Case, before, straight
from .case_run import MOVING, SLOWER, CaseRun, first_time
from .cone_courses import corners_of
from .manoeuvre import (
    LABELS,
    Chart,
    Curve,
    Findings,
    Metric,
    Performing,
    StandardManoeuvre,
    chart,
    curve,
)
from .subject import Subject, drive_needed, road_needed, steering_needed

KM_H = 1.0 / 3.6
LAUNCHES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
"""Demanded accelerations, relative to the largest of the drive."""
ASIDE: m = 1.0
"""Lateral deviation up to which a launch counts as on course."""
ASKEW: rad = 0.05
"""Sideslip up to which a launch counts as on course."""
NEXT_TO_NOTHING = 1e-9
"""Difference in s or m/s between launches that are equal up to rounding."""
SETTLED: s = 1.0
"""Time after which the remaining drive torque does not affect coasting."""


@dataclass(frozen=True)
class Acceleration(StandardManoeuvre):
    """Acceleration from rest as fast as drive and tyres allow.

    The full drive is used, unless spinning wheels make that slower or push the vehicle off its
    course.
    """

    speeds: tuple[m_s, ...] = (50.0 * KM_H, 100.0 * KM_H)
    """Speeds to which times are reported."""
    ways: tuple[m, ...] = (75.0, 400.0)
    """Distances over which times are reported."""
    duration: s = 30.0
    one_drive = True
    name = "acceleration"
    title = "Acceleration from rest"
    source = "SAE J1491 (paraphrased)"
    needs = (drive_needed,)

    __repr__ = brief_repr

    def perform(self, car: Subject) -> Performing:
        """Drive several launches at once; each metric is that of its best launch."""
        most = car.limits.a_max if car.limits.a_max < inf else 1.5 * min(car.grip, 20.0)
        runs = yield [self._case(share * most) for share in LAUNCHES]
        kept = [run.since(0.0) for run in runs]
        goals = [
            (f"time_to_{round(v / KM_H)}_km_h", "v_x", v, f"to {v / KM_H:.0f} km/h.")
            for v in self.speeds
        ]
        goals += [(f"time_over_{d:g}_m", "x", d, f"over {d:g} m.") for d in self.ways]
        metrics = [
            _best(name, _times(kept, signal, change), "s", f"From rest {words}")
            for name, signal, change, words in goals
        ]
        ends = [np.where(on_course(run)[-1], -run["v_x"][-1], np.nan) for run in kept]
        last = _best("speed_at_end", ends, "m/s", f"After {self.duration:g} s.")
        metrics.append(replace(last, value=-last.value))
        # The launch in which the first vehicle goes farthest before it leaves its course.
        ways = [run["x"][on_course(run)[:, 0], 0].max(initial=-inf) for run in kept]
        shown = kept[int(np.argmax(ways))].variant(0)
        part = on_course(shown)[:, 0]
        speed = Curve(shown.t[part], shown["v_x"][part, 0], shown.label)
        return Findings(metrics, [chart("Acceleration", "t", "v_x", speed)], _left_course(kept[-1]))

    def _case(self, a: m_s2) -> Case:
        told: Any = {"a": lambda t: np.where(t >= 0.0, a, 0.0), "hold": 0.0}
        label, road = f"{a:.1f} m/s² asked for", straight()
        return Case(label, self.duration, path=road, rests=True, run_in=0.5, **told)


def on_course(run: CaseRun) -> NDArray[np.bool_]:
    """Whether a vehicle has been on course up to a sample, (T, V)."""
    askew = (np.abs(run["sideslip"]) > ASKEW) & (run["speed"] > MOVING)
    # A log may not tell where it went; then it went straight on.
    gone = (np.abs(run["y"]) > ASIDE) | askew | ~np.isfinite(run["v_x"])
    return np.logical_and.accumulate(~gone, axis=0)


def _times(runs: Sequence[CaseRun], name: str, change: float) -> list[Array]:
    """Time at which a signal has first grown by `change` in each launch, (V,); NaN if never."""
    grown = [np.where(on_course(run), run[name] - run[name][0], -inf) for run in runs]
    return [first_time(run.t, rows, change) for run, rows in zip(runs, grown, strict=True)]


def _best(name: str, launches: Sequence[Array], unit: str, definition: str) -> Metric:
    """Metric with the least value of all launches, each (V,).

    With the full drive it is smooth in the parameters; where a weaker launch is better, it is one
    of a fixed grid.
    """
    best, full = np.fmin.reduce(launches), launches[-1]
    weaker = np.isfinite(best) & ~(full <= best + NEXT_TO_NOTHING)
    rough = f"of the best of {len(launches)} launches, a grid" if weaker.any() else ""
    return Metric(name, best, unit, definition, rough=rough)


def _left_course(run: CaseRun) -> list[str]:
    """A note if the first variant does not stay on course with its full drive."""
    kept = on_course(run)[:, 0]
    if kept.all():
        return []
    k = int(np.argmin(kept))
    best = "more than tyres hold; each value is of the launch that is best for it"
    return [f"with {run.label} it leaves its course after {run.t[k]:.1f} s: {best}"]


@dataclass(frozen=True)
class CoastDown(StandardManoeuvre):
    """Coasting down from a speed without drive and brakes: the driving resistance."""

    speed: m_s = 100.0 * KM_H
    slow: m_s = 15.0 * KM_H
    """Speed down to which the resistance is fitted."""
    duration: s = 60.0
    name = "coast_down"
    title = "Coast-down"
    source = "ISO 10521-1:2015"
    needs = (drive_needed,)
    METRICS = """
    resistance_constant [m/s²]: Deceleration at very low speed.
    resistance_linear [1/s]: Coefficient of the deceleration proportional to speed.
    resistance_square [1/m]: Coefficient of the deceleration proportional to speed squared,
        aerodynamic drag.
    way [m]: Distance driven in {test.duration:g} s.
    """

    def perform(self, car: Subject) -> Performing:
        v = min(self.speed, 0.9 * car.limits.v_max)
        told: Any = {"hold": before, "coast": lambda t: (t >= 0.0).astype(float)}
        (run,) = yield [
            Case("coasting", self.duration, v, speed=v, path=straight(), rests=True, **told)
        ]
        kept = run.since(SETTLED)
        fits = [_resistance(kept.t, kept["v_x"][:, k], self.slow) for k in range(run.variants)]
        constant, linear, square = np.array(fits).T
        metrics = self.metrics(
            resistance_constant=constant,
            resistance_linear=linear,
            resistance_square=square,
            way=kept["x"][-1] - kept["x"][0],
        )
        driven = curve(run, "t", "v_x", "driven")
        return Findings(metrics, [chart("Coast-down", "t", "v_x", driven)])

    def adapted_to(self, drive: CaseRun) -> CoastDown:
        """Return the test with the initial speed and the duration of a log."""
        slowing = drive.slowing()
        begun = slowing.when - (1.0 - SLOWER) * slowing.v / slowing.deceleration
        return replace(self, speed=slowing.v, duration=drive.lasting(self.duration, begun))


def _resistance(t: Array, v: Array, slow: m_s) -> Array:
    """Coefficients of a deceleration f_0 + f_1 v + f_2 v², by least squares of the speed loss.

    The integral form needs no derivative: v(0) - v(t) = ∫ (f_0 + f_1 v + f_2 v²) dt.
    """
    used = v > slow
    if used.sum() < 10:
        return np.full(3, np.nan)
    t, v = t[used], v[used]
    step = np.diff(t, prepend=t[0])
    middle = 0.5 * (v + np.concatenate([v[:1], v[:-1]]))
    terms = np.stack([np.cumsum(step * middle**k) for k in range(3)], axis=1)
    return np.linalg.lstsq(terms, v[0] - v, rcond=None)[0]


@dataclass(frozen=True)
class TurningCircle(StandardManoeuvre):
    """Turning circle at walking pace."""

    speed: m_s = 1.5
    duration: s = 12.0
    name = "turning_circle"
    title = "Turning circle"
    source = "ISO 789-3 (kerb to kerb, wall to wall)"
    needs = (steering_needed,)
    METRICS = """
    kerb_to_kerb [m]: Diameter of the path of the outermost wheel.
    wall_to_wall [m]: Diameter of the path of the outermost corner.
    """

    def perform(self, car: Subject) -> Performing:
        """Drive a circle to the left at full lock."""
        lock, v = car.abilities.steer_max, min(self.speed, 0.9 * car.limits.v_max)
        (run,) = yield [Case("full lock", self.duration, v, speed=v, steer=lock, rests=True)]
        end = run.since(run.t[-1] - 1.0)
        # Where it turns about, seen from the centre of mass.
        ahead = (-end["v_y"] / end["omega"]).mean(axis=0)
        aside = (end["v_x"] / end["omega"]).mean(axis=0)
        com = np.array(car.geometry.centre_of_mass)
        wheels, corners = np.array([(w.x, w.y) for w in car.geometry.wheels]) - com, corners_of(car)
        radii = (np.hypot(p[:, :1] - ahead, p[:, 1:] - aside) for p in (wheels, corners))
        kerb, wall = (2.0 * radius.max(axis=0) for radius in radii)
        # Of a vehicle without slip whose mean front wheel has the angle.
        shapes = ((each.geometry.wheel_base, each.geometry.track) for each in car.each)
        ends = ((base / np.tan(lock) + 0.5 * track, base) for base, track in shapes)
        theory = [2.0 * float(np.hypot(*end)) for end in ends]
        values = {"kerb_to_kerb": kerb, "wall_to_wall": wall}
        metrics = self.metrics(values, {"kerb_to_kerb": theory})
        path = chart("Path", "x", "y", curve(run, "x", "y", "centre of mass"), equal=True)
        return Findings(metrics, [path])


G: m_s2 = 9.81
SLIDES: m_s = 0.5
"""Speed above which a braked vehicle counts as sliding.

Lower speeds are creep of tyre models without stiction.
"""
COARSE, FINE = 0.05, 0.01
"""Steps between gradients."""
LEAST: m_s2 = 0.5
"""Acceleration demanded in excess of gravity along the hill, to test whether the vehicle
starts."""
STEEPEST: one = 1.3
"""Largest gradient tried."""


def hill(gradient: one) -> Road:
    """Road of constant slope, uphill along x, as a height profile."""
    return Road.profile(gradient * np.array([-200.0, 400.0]), 600.0, x=-200.0)


def percent(gradient: one) -> str:
    """A gradient as text, such as "20 %"."""
    return f"{100.0 * gradient:.0f} %"


def gradients(step: one, low: one = 0.0, high: one = STEEPEST) -> Array:
    """Gradients from `low` (excluded) to `high`."""
    return low + step * np.arange(1, round((high - low) / step) + 1, dtype=float)


def highest(tried: Array, mastered: Array) -> Array:
    """Largest of the gradients (N,) below the first that failed, from `mastered` (N, V); else 0."""
    first = np.where(mastered.all(axis=0), len(tried), np.argmin(mastered, axis=0))
    return np.where(first > 0, tried[np.maximum(first - 1, 0)], 0.0)


def between(coarse: Array) -> Array:
    """Finer gradients above the largest one mastered by each variant, (V,)."""
    steps = [gradients(FINE, low, low + COARSE)[:-1] for low in np.unique(coarse)]
    return np.unique(np.concatenate(steps).round(6))


@dataclass(frozen=True)
class HillHold(StandardManoeuvre):
    """Holding on a hill with the handbrake."""

    gradient: one = 0.2
    """Gradient on which the vehicle has to hold."""
    duration: s = 10.0
    name = "hill_hold"
    title = "Parked on a hill"
    source = "UN Regulation 13-H, parking brake (20 %)"
    METRICS = f"""
    creep_speed [m/s]: Mean speed on {{test.percent}} in the second half of the test.
    way [m]: Distance rolled down {{test.percent}} in {{test.duration:g}} s.
    sliding_gradient []: Smallest gradient (rise over horizontal distance) on which the car
        slides with the handbrake pulled; theory: load on the braked wheels times their largest
        grip.
        | found to a gradient of {100.0 * FINE:g} %
    """

    @property
    def percent(self) -> str:
        return percent(self.gradient)

    def unfit(self, car: Subject) -> str:
        if not car.limits.handbrake:
            return f"{car.name} has no handbrake"
        return drive_needed(car) or road_needed(car, hill(self.gradient))

    def perform(self, car: Subject) -> Performing:
        """Drive the gradient of the test, and ever finer ones around that on which the vehicle
        slides."""
        coarse = gradients(COARSE)
        parked, *tried = yield [
            self._case(self.gradient, self.duration),
            *(self._case(gradient) for gradient in coarse.tolist()),
        ]
        held = highest(coarse, np.stack([holds(run) for run in tried]))
        fine = between(held)
        runs = yield [self._case(gradient) for gradient in fine.tolist()]
        ok = np.stack([holds(run) for run in runs])
        # Each variant is asked about the gradients above its own.
        best = [
            highest(fine[fine > low], ok[fine > low, k : k + 1])[0] for k, low in enumerate(held)
        ]
        slides = np.maximum(held, best) + 0.5 * FINE
        kept = parked.since(0.5 * self.duration)
        way = np.abs(parked["x"] - parked["x"][0]) * np.hypot(1.0, self.gradient)
        by_grip = grip_gradient(car, parked, self.gradient, tried)
        metrics = self.metrics(
            theory={"creep_speed": 0.0, "way": 0.0, "sliding_gradient": by_grip},
            creep_speed=np.abs(kept["v_x"]).mean(axis=0),
            way=way[-1],
            sliding_gradient=np.where(slides < STEEPEST, slides, np.nan),
        )
        down = Curve(parked.t, way[:, 0], self.percent)
        notes = [] if slides[0] < STEEPEST else [f"it does not slide up to {100.0 * STEEPEST:g} %"]
        return Findings(metrics, [Chart(self.title, LABELS["t"], "way down in m", [down])], notes)

    def _case(self, gradient: one, duration: s = 4.0) -> Case:
        told: Any = {"coast": 1.0, "handbrake": 1.0}
        label, road = percent(gradient), hill(gradient)
        return Case(label, duration, road=road, rests=True, run_in=0.0, **told)


def holds(run: CaseRun) -> Array:
    """Whether a vehicle does not slide at the end of the run, (V,)."""
    return np.abs(run["v_x"][-1]) < SLIDES


class Axles(NamedTuple):
    """Longitudinal forces and loads of the front and the rear axle in N, each (T, V)."""

    F_front: Array
    F_rear: Array
    load_front: Array
    load_rear: Array


def axles(car: Subject, run: CaseRun) -> Axles:
    """Forces of the axles of a vehicle; NaN if its wheels have no such signals."""
    shape, nothing = car.geometry, np.full(run["x"].shape, np.nan)
    middle = 0.5 * (shape.front_axle + shape.rear_axle)

    def of(kind: str, rear: bool) -> Array:
        names = [f"{kind}_{wheel.name}" for wheel in shape.wheels if (wheel.x < middle) == rear]
        told = bool(names) and all(name in run for name in names)
        return np.sum([run[name] for name in names], axis=0) if told else nothing

    return Axles(of("F_x", False), of("F_x", True), of("F_z", False), of("F_z", True))


def grip_gradient(car: Subject, standing: CaseRun, gradient: one, runs: Sequence[CaseRun]) -> Array:
    """Gradient at which gravity along the hill equals the grip of the driven or braked wheels,
    (V,).

    With rear wheels μ (l_f + h tan) = L tan, with front ones μ (l_r - h tan) = L tan. The height h
    of the centre of mass follows from the axle loads on a gradient; μ is the largest friction that
    these wheels used in the runs. NaN if the wheel forces are unknown.
    """
    L, at = car.wheel_base, Axles(*(row[-1] for row in axles(car, standing)))
    l_f = L - car.l_r
    h = (at.load_rear / (at.load_front + at.load_rear) * L - l_f) / gradient
    front, rear = at.F_front > 0.1 * at.F_rear, at.F_rear > 0.1 * at.F_front
    shares = [
        (front * each.F_front + rear * each.F_rear)
        / np.maximum(front * each.load_front + rear * each.load_rear, 1.0)
        for each in (axles(car, run) for run in runs)
    ]
    mu = np.max([share.max(axis=0) for share in shares], axis=0)
    one_axle = np.where(rear, mu * l_f / (L - mu * h), mu * car.l_r / (L + mu * h))
    return np.where(front & rear, mu, one_axle)


@dataclass(frozen=True)
class HillStart(StandardManoeuvre):
    """Start from rest up a hill, with an immediate change from brakes to drive."""

    gradient: one = 0.2
    speed: m_s = 20.0 / 3.6
    """Final speed of the time that is reported."""
    a: m_s2 = 1.5
    """Acceleration demanded in excess of gravity along the hill."""
    duration: s = 10.0
    name = "hill_start"
    title = "Start on a hill"
    source = "practice of drivers and drivetrain engineers; there is no standard"
    needs = (drive_needed, lambda car, test: road_needed(car, hill(test.gradient)))
    METRICS = f"""
    roll_back [m]: Largest distance rolled back on {{test.percent}} before the car climbs.
    time_to_speed [s]: Time from rest to {{test.km_h:.0f}} km/h.
    steepest_start []: Steepest gradient, in steps of 5 %, on which the car starts with little
        more drive than the slope force; theory: drive over weight, or load on the driven wheels
        times their largest grip. | found to a gradient of {100.0 * COARSE:g} %
    """

    @property
    def percent(self) -> str:
        return percent(self.gradient)

    @property
    def km_h(self) -> float:
        return 3.6 * self.speed

    def perform(self, car: Subject) -> Performing:
        """Drive the gradient of the test, and many with little more acceleration than they need."""
        tried = gradients(COARSE, 0.0, 1.0)
        started, *runs = yield [
            self._case(car, self.gradient, self.a, self.duration),
            *(self._case(car, gradient, LEAST, 5.0) for gradient in tried.tolist()),
        ]
        climbs = np.stack([run["x"][-1] - run["x"][0] > 1.0 for run in runs])
        way = (started["x"] - started["x"][0]) * np.hypot(1.0, self.gradient)
        drive = car.limits.a_max / G
        by_drive = drive / np.sqrt(1.0 - drive**2) if drive < 1.0 else inf
        by_grip = grip_gradient(car, started, self.gradient, runs)
        theory = {
            "time_to_speed": self.speed / self.a,
            "steepest_start": np.fmin(by_drive, by_grip),
        }
        metrics = self.metrics(
            theory=theory,
            roll_back=np.maximum(-way.min(axis=0), 0.0),
            time_to_speed=first_time(started.t, started["v_x"], self.speed),
            steepest_start=highest(tried, climbs),
        )
        return Findings(metrics, [chart("Start on a hill", "t", "v_x", started)])

    def _case(self, car: Subject, gradient: one, a: m_s2, duration: s) -> Case:
        # A car with a road of its own makes up for its slope by itself.
        uphill = G * gradient / float(np.hypot(1.0, gradient))
        knows = "road" in car.vehicle.model.Params._fields
        ways: Any = {"road": hill(gradient), "path": straight()}
        told: Any = {"hold": 0.0, "a": a if knows else a + uphill}
        return Case(percent(gradient), duration, rests=True, run_in=0.0, **told, **ways)
