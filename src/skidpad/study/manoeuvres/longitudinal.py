"""Accelerating, coasting down and braking on level ground.

Braking is in a straight line (ISO 21994), in a turn (ISO 7975), and on split friction (ISO 14512).
The driver demands a deceleration. Without anti-lock brakes, how hard the vehicle can brake before
wheels lock is part of the result; the search narrows the demanded deceleration down to the best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import record
from ...core.arrays import Array
from ...core.body import Wheel
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...units import m, m_s, m_s2, one, rad, s
from .case import KM_H, Case, before, steered, straight
from .case_run import (
    LOCKED,
    MOVING,
    SLOWER,
    CaseRun,
    Slowdown,
    cumulative_integral,
    endings,
    first_time,
    pick,
    values_at,
)
from .manoeuvre import (
    Chart,
    Curve,
    Findings,
    Metric,
    Performing,
    Rounds,
    StandardManoeuvre,
    chart,
    curve,
)
from .search import LONGEST, Grid, hardest_stop, time_to_stop, tyre_deceleration
from .steady_state import steady_angle
from .subject import (
    Subject,
    drive_needed,
    grip_needed,
    speed_needed,
    tyres_needed,
)

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
        # Index of the launch in which the first variant goes farthest before it leaves its course.
        ways = [run["x"][on_course(run)[:, 0], 0].max(initial=-inf) for run in kept]
        shown = kept[int(np.argmax(ways))].variant(0)
        part = on_course(shown)[:, 0]
        speed = Curve(shown.t[part], shown["v_x"][part, 0], shown.label)
        notes, full = list[str](), on_course(kept[-1])[:, 0]
        if not full.all():
            when, best = kept[-1].t[int(np.argmin(full))], "each value is of the best launch for it"
            left = f"with {kept[-1].label} it leaves its course after {when:.1f} s"
            notes.append(f"{left}: more than tyres hold; {best}")
        return Findings(metrics, [chart("Acceleration", "t", "v_x", speed)], notes)

    def _case(self, a: m_s2) -> Case:
        told: Any = {"a": lambda t: np.where(t >= 0.0, a, 0.0), "hold": 0.0}
        label, road = f"{a:.1f} m/s² asked for", straight()
        return Case(label, self.duration, path=road, rests=True, run_in=0.5, **told)


def on_course(run: CaseRun) -> NDArray[np.bool_]:
    """Whether a vehicle has been on course up to each sample, (T, V)."""
    askew = (np.abs(run["sideslip"]) > ASKEW) & (run["speed"] > MOVING)
    # A log may lack the path; the vehicle then counts as going straight on.
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
        slowing = drive.slowdown()
        begun = slowing.when - (1.0 - SLOWER) * slowing.v / slowing.deceleration
        return replace(
            self, speed=slowing.v, duration=drive.comparable_duration(self.duration, begun)
        )


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


AT_REST: m_s = 0.1
"""Speed below which a vehicle counts as stopped."""


def stopping_distance(run: CaseRun) -> Array:
    """Distance from brake application to rest in m, (V,); NaN for a vehicle that did not stop."""
    kept = run.since(0.0)
    when = first_time(kept.t, -kept["v_x"], -AT_REST)
    return values_at(kept.t, cumulative_integral(kept.t, kept["speed"]), when, np.nan)


def mean_deceleration(run: CaseRun) -> Array:
    """Mean fully developed deceleration, from 0.8 to 0.1 of the initial speed, in m/s², (V,)."""
    kept = run.since(0.0)
    v_0, way = kept["v_x"][0], cumulative_integral(kept.t, kept["speed"])
    times = (first_time(kept.t, -kept["v_x"] / v_0, -share) for share in (0.8, 0.1))
    begin, end = (values_at(kept.t, way, when) for when in times)
    return (0.8**2 - 0.1**2) * v_0**2 / (2.0 * (end - begin))


def spins(run: CaseRun, car: Subject) -> list[Wheel]:
    """Names of the wheels whose spin is among the signals of a run."""
    return [wheel for wheel in car.geometry.wheels if f"spin_{wheel.name}" in run]


def locked_wheels(run: CaseRun, car: Subject) -> NDArray[np.bool_]:
    """Whether each wheel was locked while the vehicle moved, (wheels, V).

    One row of False if no spin is known.
    """
    kept = run.since(0.2)
    moving = kept["v_x"] > 3.0
    rolling = (kept[f"spin_{wheel.name}"] * wheel.radius for wheel in spins(kept, car))
    slow = (moving & (v < LOCKED * kept["v_x"]) for v in rolling)
    stood = [each.mean(axis=0) > 0.1 * moving.mean(axis=0) for each in slow]
    return np.stack(stood or [np.zeros(kept.variants, dtype=bool)])


def locks(run: CaseRun, car: Subject) -> NDArray[np.bool_]:
    """Whether any wheel was locked while the vehicle moved, (V,)."""
    return np.logical_or.reduce(locked_wheels(run, car), axis=0)


HARDER = 2.0
"""Demand that locks all wheels, relative to the deceleration the tyres can transmit."""
TRIED = (0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7)
"""Demands tried to reach a target deceleration, relative to the target."""
CLOSER = 9
"""Number of demands in the second round, between two of the first."""
LONGER = 1.3
"""Duration of a run that has to reach a target, relative to the duration of a stop at the
target."""
BRAKED: s = 3.0
"""Duration of a run of braking in a turn."""
TURNING: m_s2 = 0.5
"""Least lateral acceleration before braking that a log of braking in a turn needs."""


def braking(t: Array) -> Array:
    """Brake signal over time: 0 before time zero, then a ramp to -1."""
    return -(t >= 0.0).astype(float)


def stop_case(speed: m_s, duration: s, a: Array | m_s2) -> Case:
    """Case of a stop in a straight line; `a` is the demanded deceleration, a number or (V,)."""
    told: Any = {"hold": before, "a": braking, "a_gain": a}
    label = f"{np.ravel(a)[0]:.2f} m/s² asked for"
    return Case(label, duration, speed, speed=speed, path=straight(), rests=True, **told)


class _Braking(StandardManoeuvre):
    """Base of the braking tests, which can have a single deceleration to reach."""

    deceleration: m_s2 | None

    @property
    def one_drive(self) -> bool:
        """Whether a deceleration is given; runs that differ in the driver alone count as one."""
        return self.deceleration is not None


@dataclass(frozen=True)
class StraightBraking(_Braking):
    """Stop in a straight line from a speed, as hard as possible without locking wheels."""

    speed: m_s = 100.0 / 3.6
    deceleration: m_s2 | None = None
    """Deceleration to reach in a single stop, as in a log; None to search for the shortest
    stop."""
    name = "straight_braking"
    title = "Straight braking"
    source = "ISO 21994:2007"
    needs = (tyres_needed, speed_needed)
    METRICS = """
    stopping_distance [m]: Shortest stopping distance without a locked wheel; theory: all tyres
        at their longitudinal peak under static loads.
    mean_deceleration [m/s²]: Mean fully developed deceleration of that stop, from 0.8 to 0.1 of
        the speed.
    locked_stopping_distance [m]: Stopping distance with all wheels locked.
    """

    def perform(self, car: Subject) -> Performing:
        """Search for the hardest stop without a locked wheel, then drive it and a harder one."""
        if self.deceleration:
            return (yield from self._as_demanded(car, self.deceleration))
        tyres = tyre_deceleration(car)

        def rolling_way(run: CaseRun) -> Array:
            way = stopping_distance(run)
            return np.where(np.isnan(way) | locks(run, car), inf, way)

        demand, ways = yield from hardest_stop(
            self.speed,
            np.where(np.isfinite(tyres), tyres, car.grip),
            lambda a, duration: [stop_case(self.speed, duration, a)],
            rolling_way,
        )
        lasts = min(2.0 * time_to_stop(self.speed, ways), LONGEST)
        most = HARDER * np.fmax(demand, tyres)
        stop, harder = yield [stop_case(self.speed, lasts, a) for a in (demand, most)]
        slid = locked_wheels(harder, car).all(axis=0)
        locked = np.where(slid, stopping_distance(harder), np.nan)
        metrics = self._of_stop(car, stop, tyres)
        metrics += self.metrics({"locked_stopping_distance": locked})
        shown = chart(self.title, "t", "v_x", stop, harder)
        notes = list[str]()  # other limits of the stop than locking wheels, for the first variant
        if locks(stop, car)[0]:
            notes = ["no stop without a locked wheel"]
        elif np.isnan(stopping_distance(stop)[0]):
            notes = [weak_brakes(harder)]
        elif not locks(harder, car)[0] and (spins(harder, car) or not np.isfinite(tyres[0])):
            most_given = f"{mean_deceleration(harder)[0]:.2f} m/s²"
            notes = [f"no wheel locks: the brakes give no more than {most_given}"]
        return Findings(metrics, [shown], notes)

    def _as_demanded(self, car: Subject, wanted: m_s2) -> Performing:
        """Make one stop that reaches the deceleration `wanted`."""
        case = partial(stop_case, self.speed, LONGER * self.speed / wanted)
        demand = yield from level_for(wanted, case, lambda run: ~locks(run, car))
        runs = yield [case(demand)]
        metrics = self._of_stop(car, runs[0], np.fmin(tyre_deceleration(car), wanted))
        notes = missed(wanted, runs)
        if not np.isfinite(metrics[0].value[0]):
            notes.insert(0, f"no stop with {wanted:.2f} m/s² without a locked wheel")
        return Findings(metrics, [chart(self.title, "t", "v_x", *runs)], notes)

    def _of_stop(self, car: Subject, run: CaseRun, tyres: Array) -> list[Metric]:
        """Metrics of a stop, NaN where a wheel locks.

        `tyres` (V,) is the deceleration that the tyres can transmit.
        """
        way = np.where(locks(run, car), np.nan, 1.0) * stopping_distance(run)
        mean = np.where(np.isfinite(way), mean_deceleration(run), np.nan)
        known = np.isfinite(tyres).any()
        theory = {"stopping_distance": self.speed**2 / (2.0 * tyres), "mean_deceleration": tyres}
        values = {"stopping_distance": way, "mean_deceleration": mean}
        return self.metrics(values, theory if known else None)

    def adapted_to(self, drive: CaseRun) -> StraightBraking:
        """Return the test with the speed and the deceleration of a log."""
        stop = stop_of(drive)
        if drive.locks():  # the deceleration of locked wheels does not depend on the demand
            why = "its deceleration does not depend on the demanded one"
            raise InvalidValue(f"a wheel locks in {drive.label}: {why}")
        return replace(self, speed=stop.v, deceleration=stop.deceleration)


def weak_brakes(run: CaseRun) -> str:
    """A note for a vehicle whose brakes do not bring it to rest.

    The note states the mean deceleration from 0.5 s after brake application until the first variant
    almost stops.
    """
    kept = run.since(0.5)
    v = kept["v_x"][:, 0]
    last = int(np.flatnonzero(v > 0.1 * v[0]).max(initial=0))
    most = float((v[0] - v[last]) / max(kept.t[last] - kept.t[0], 1e-9))
    ends = f"brakes and resistance give no more than {most:.2f} m/s²"
    return f"no stop within {run.t[-1]:.0f} s: {ends}"


def stop_of(drive: CaseRun) -> Slowdown:
    """Speed, time and deceleration of a log that ends at rest; raises InvalidValue if it does
    not."""
    if not drive.done[0]:
        raise InvalidValue(
            f"the vehicle of {drive.label} is {drive.outcomes[0]}, so it does not show a stop"
        )
    stop, slowest = drive.slowdown(), float(drive["v_x"].min())
    if slowest > AT_REST:
        change = f"it slows down from {stop.v:.1f} m/s to {slowest:.1f} m/s"
        raise InvalidValue(f"{drive.label} does not come to rest: {change}")
    return stop


def level_for(
    a: m_s2,
    case: Callable[[m_s2], Case],
    counts: Callable[[CaseRun], NDArray[np.bool_]] = lambda run: run.done,
) -> Rounds:
    """Find the deceleration to demand so that the deceleration `a` is reached: a generator of
    cases.

    Demanded and reached deceleration differ, because drag and tyres add to the brakes. `case(a)`
    makes the case for a demand; `counts(run)` says which variants (V,) of a run are valid.

    A second round lies between the first demand that suffices or is invalid and the one before it:
    near the limit, wheels lock within a few per cent.
    """
    every = yield from _levels(a * np.array(TRIED), case, counts)
    falls_short = every.counts & (every.reached < a)
    k = max(int(np.argmin(falls_short)), 1)
    low, high = every.asked[k - 1 : k + 1].tolist()
    fine = yield from _levels(np.linspace(low, high, CLOSER), case, counts)
    for levels, fit in ((fine, fine.counts), (every, every.done)):
        asked, reached = levels.asked[fit], levels.reached[fit]
        if (reached >= a).any():
            # Beyond the limit of grip, a larger demand gives less deceleration, so the smallest
            # sufficient demand counts.
            k = max(int(np.argmax(reached >= a)), 1)
            return float(np.interp(a, reached[k - 1 : k + 1], asked[k - 1 : k + 1]))
    return a


class _Levels(NamedTuple):
    """Demanded decelerations in rising order and the results of their runs, each (L,)."""

    asked: Array
    reached: Array
    """Deceleration reached in m/s²; NaN for a run that failed."""
    done: NDArray[np.bool_]
    counts: NDArray[np.bool_]


def _levels(
    asked: Array, case: Callable[[m_s2], Case], counts: Callable[[CaseRun], NDArray[np.bool_]]
) -> Rounds:
    runs = yield [case(level) for level in asked.tolist()]
    done = np.array([run.done[0] for run in runs])
    reached = [run.slowdown().deceleration if run.done[0] else np.nan for run in runs]
    return _Levels(asked, np.array(reached), done, done & [counts(run)[0] for run in runs])


def missed(a: m_s2 | None, runs: Sequence[CaseRun]) -> list[str]:
    """A note if the first variant misses its target deceleration by more than 3 %."""
    reached = runs[0].slowdown().deceleration if a else 0.0
    if not a or abs(reached - a) < 0.03 * a:
        return []
    return [f"it slows down with {reached:.2f} m/s²; {a:.2f} m/s² were to be reached"]


@dataclass(frozen=True)
class BrakingInTurn(_Braking):
    """Braking from a steady turn with the steering wheel held: does the vehicle turn in or run
    wide?"""

    radius: float = 100.0
    """Radius of the turn in m."""
    a_y: m_s2 = 5.0
    """Lateral acceleration of the turn before braking."""
    levels: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    """Decelerations demanded, in m/s²."""
    deceleration: m_s2 | None = None
    """Deceleration to reach in a single run, as in a log; None to demand all of `levels`."""
    name = "braking_in_turn"
    title = "Braking in a turn"
    source = "ISO 7975:2019"
    needs = (tyres_needed, speed_needed, grip_needed)

    __repr__ = brief_repr

    @property
    def speed(self) -> m_s:
        return float(np.sqrt(self.a_y * self.radius))

    def perform(self, car: Subject) -> Performing:
        """Find the steering angle in a first run, then drive all decelerations at once."""
        angle = yield from steady_angle(car, self.speed, self.a_y)
        levels = self.levels
        if self.deceleration:
            levels = ((yield from level_for(self.deceleration, partial(self._case, angle))),)
        runs = yield [self._case(angle, a) for a in levels]
        ratios, changes = list[Array](), list[Array]()
        for run in runs:
            begin, second = run.since(-1.0, 0.0), run.since(0.0, 1.0)
            curvature = (begin["omega"] / begin["v_x"]).mean(axis=0)
            left = curvature * np.maximum(second["v_x"][-1], 1.0)
            ratios.append(second["omega"][-1] / left)
            change = second["sideslip"] - begin["sideslip"].mean(axis=0)
            changes.append(change[np.abs(change).argmax(axis=0), np.arange(run.variants)])
        done = np.stack([run.done for run in runs])
        ratio, slip = (np.where(done, np.stack(each), np.nan) for each in (ratios, changes))
        near = int(np.argmin(np.abs(np.array(levels) - 4.0)))
        at = round(self.deceleration or levels[near], 2)
        metrics = [
            Metric("yaw_ratio_at_1_s", ratio[near], "",
                   "Yaw rate over that of the turn at the speed left, 1 s after braking at "
                   f"{at:g} m/s²; above 1: it turns in."),
            Metric("largest_yaw_ratio", np.fmax.reduce(ratio), "",
                   "Largest of all decelerations."),
            Metric("sideslip_change", np.fmax.reduce(np.abs(slip)), "rad",
                   "Largest change of sideslip within the first second, of all decelerations."),
        ]  # fmt: skip
        driven = Curve(np.array(levels), ratio[:, 0], "driven")
        labels = "deceleration asked for in m/s²", "yaw rate after 1 s over that of the turn"
        notes = endings(runs) + missed(self.deceleration, runs)
        return Findings(metrics, [Chart("Braking in a turn", *labels, [driven])], notes)

    def _case(self, angle: Array, a: m_s2) -> Case:
        turning = steered(f"{a:g} m/s² asked for", BRAKED, self.speed, 1.0, angle, run_in=5.0)
        return replace(turning, hold=before, a=lambda t: a * braking(t), rests=True)

    def adapted_to(self, drive: CaseRun) -> BrakingInTurn:
        """Return the test with the turn and the deceleration of a log."""
        slowing = drive.slowdown()
        drive.require_signal("a_y", "how it turns before it brakes is unknown")
        begun = slowing.when - (1.0 - SLOWER) * slowing.v / slowing.deceleration
        turn = drive.since(begun - 1.1, begun - 0.1)["a_y"]
        a_y = float(np.abs(turn.mean())) if len(turn) else 0.0
        drive.require_turning(a_y, "before it brakes", TURNING)
        radius, a = slowing.v**2 / a_y, slowing.deceleration
        return replace(self, radius=radius, a_y=a_y, deceleration=a)


GRID = Grid(low=0.5, high=1.0, first=10, at_once=3, resolution=5e-3, rounds=3)
"""Search grid of demands relative to the mean of both sides of the road; all drivers drive
each."""
SPLIT_STYLES = (
    (0.1, 1.5, 1.5),
    (0.15, 1.5, 1.5),
    (0.2, 1.5, 3.0),
    (0.3, 1.5, 3.0),
    (0.5, 1.0, 3.0),
)
"""Driver styles: settling time in s, first and last settling distance in m, and damping ratio.

The style that suits a vehicle best is used for it.
"""
LANE: m = 1.0
"""Deviation up to which a vehicle counts as having stayed in its lane."""


@dataclass(frozen=True)
class SplitBraking(_Braking):
    """Braking with the left wheels on a slippery surface; the driver keeps the lane."""

    speed: m_s = 80.0 / 3.6
    low: one = 0.3
    """Grip on the left relative to that of the tyres."""
    deceleration: m_s2 | None = None
    """Deceleration to reach in a single stop, as in a log; None to search for the shortest
    stop."""
    name = "split_braking"
    title = "Braking with one side on a slippery road"
    source = "ISO 14512:1999"
    rough = "of the shortest stop of a grid of decelerations and drivers"
    METRICS = f"""
    stopping_distance [m]: Shortest stopping distance at which the car stays within {LANE:g} m
        of its lane; theory: all tyres at their longitudinal peak.
    peak_yaw_rate [rad/s]: Largest yaw rate during that stop.
    deviation [m]: Largest lateral deviation during that stop.
    yaw_moment [N·m]: Difference between the brake forces of the two sides times half the track,
        mean over the second after the first half second; positive turns the car to the left.
    """

    def unfit(self, car: Subject) -> str:
        if {"mu_fl", "mu_rl"} <= set(record.names(car.vehicle.model.Disturbance)):
            return tyres_needed(car) or speed_needed(car, self)
        own = f"{car.name} has no grip of its own at each wheel"
        return tyres_needed(car) or speed_needed(car, self) or own

    def perform(self, car: Subject) -> Performing:
        """Search for the hardest stop within the lane, with drivers of all styles."""
        tyres = tyre_deceleration(car)
        most = 0.5 * (1.0 + self.low) * tyres
        if self.deceleration:
            longest = LONGER * self.speed / self.deceleration
            one = partial(self.case, duration=longest, style=SPLIT_STYLES[1])
            demand = yield from level_for(self.deceleration, one)
        else:
            guess = np.where(np.isfinite(tyres), most, 0.5 * (1.0 + self.low) * car.grip)
            search = hardest_stop(self.speed, guess, self._styles, _way_in_lane, GRID)
            demand, shortest = yield from search
            longest = min(time_to_stop(self.speed, shortest), LONGEST)
        runs = yield self._styles(demand, longest)
        ways = np.stack([stopping_distance(run) for run in runs])
        stayed = np.isfinite([_way_in_lane(run) for run in runs])
        best, column = np.argmin(np.where(stayed, ways, inf), axis=0), np.arange(car.variants)
        run, in_lane = pick(runs, best), stayed[best, column]
        values = {
            "stopping_distance": ways[best, column],
            "peak_yaw_rate": np.abs(run.since(0.0)["omega"]).max(axis=0),
            "deviation": np.stack([_aside(run) for run in runs])[best, column],
            "yaw_moment": brake_moment(car, run),
        }
        masked = {name: np.where(in_lane, row, np.nan) for name, row in values.items()}
        a = most if self.deceleration is None else np.fmin(most, self.deceleration)
        theory = self.speed**2 / (2.0 * a) if np.isfinite(a).any() else None
        metrics = self.metrics(masked, {"stopping_distance": theory})
        notes = list[str]()
        if not in_lane[0]:  # no driver stopped the first variant within its lane
            stayed = [one for one in runs if _aside(one)[0] < LANE and one.done[0]]
            left = f"it leaves its lane even with {runs[0].label}"
            notes.append(weak_brakes(stayed[0]) if stayed else left)
        notes += missed(self.deceleration, runs)
        return Findings(metrics, [chart("Path", "x", "y", run)], notes)

    def adapted_to(self, drive: CaseRun) -> SplitBraking:
        """Return the test with the speed and the deceleration of a log."""
        told = stop_of(drive)
        return replace(self, speed=told.v, deceleration=told.deceleration)

    def _styles(self, a: Array | m_s2, duration: s) -> list[Case]:
        return [self.case(a, duration, style) for style in SPLIT_STYLES]

    def case(self, a: Array | m_s2, duration: s, style: tuple[float, float, float]) -> Case:
        """Case of a stop by a driver of this style; `a` is the demanded deceleration, a number or
        (V,)."""
        ice = {name: lambda t: np.where(t < 0.0, 1.0, self.low) for name in ("mu_fl", "mu_rl")}
        driving = dict(zip(("settling", "damping", "settling_least"), style, strict=True))
        return replace(stop_case(self.speed, duration, a), driving=driving, disturbance=ice)


def _aside(run: CaseRun) -> Array:
    """Largest lateral deviation from the lane centre in m, (V,)."""
    return np.abs(run.since(0.0)["y"]).max(axis=0)


def _way_in_lane(run: CaseRun) -> Array:
    """Stopping distance in m, (V,); infinite without a stop or outside the lane."""
    way = stopping_distance(run)
    return np.where((_aside(run) < LANE) & np.isfinite(way) & run.done, way, inf)


def brake_moment(car: Subject, run: CaseRun) -> Array:
    """Mean yaw moment of the longitudinal wheel forces in N·m, positive to the left, (V,).

    The mean is taken from 0.5 to 1.5 s after brake application.
    """
    kept, wheels = run.since(0.5, 1.5), car.geometry.wheels
    if any(f"F_x_{wheel.name}" not in kept for wheel in wheels):
        return np.full(run.variants, np.nan)
    return np.sum([-wheel.y * kept[f"F_x_{wheel.name}"] for wheel in wheels], axis=0).mean(axis=0)
