"""Braking: straight on (ISO 21994), in a turn (ISO 7975), and with one side on a slippery road
(ISO 14512).

The driver demands a deceleration. Without anti-lock brakes, how hard can be braked before wheels
lock is part of the result, so ever closer decelerations are driven, and the best is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import record
from ...core.arrays import Array
from ...core.body import Wheel
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...units import m, m_s, m_s2, one, s
from .case import Case, before, straight
from .case_run import (
    SLOWER,
    CaseRun,
    Slowing,
    endings,
    first_time,
    locked_in,
    must_tell,
    must_turn,
    pick,
    slowing_of,
)
from .manoeuvre import Performing, Rounds, StandardManoeuvre
from .metric import Chart, Curve, Findings, Metric
from .search import LONGEST, Grid, hardest_stop, time_to_stop, tyre_deceleration
from .steady_state import steady_angle
from .subject import Subject, grip_needed, speed_needed, tyres_needed

AT_REST: m_s = 0.1
"""Speed below which a vehicle has stopped."""
LOCKED: one = 0.5
"""Share of the speed below which a wheel that still rolls counts as locked."""


def _way(run: CaseRun) -> Array:
    """Distance since the first sample in m, (T, V), by trapezia: exact for an even stop."""
    v = run["speed"]
    pieces = np.diff(run.t)[:, None] * 0.5 * (v[1:] + v[:-1])
    return np.concatenate([np.zeros((1, run.variants)), np.cumsum(pieces, axis=0)])


def stopping_distance(run: CaseRun) -> Array:
    """Distance from the brakes to rest in m, (V,); NaN of a vehicle that did not stop."""
    kept = run.since(0.0)
    way = _way(kept)
    when = first_time(kept.t, -kept["v_x"], -AT_REST)
    return np.array(
        [np.interp(time, kept.t, way[:, k], right=np.nan) for k, time in enumerate(when)]
    )


def mean_deceleration(run: CaseRun) -> Array:
    """Mean fully developed deceleration, from 0.8 to 0.1 of the speed, in m/s², (V,)."""
    kept = run.since(0.0)
    v_0 = kept["v_x"][0]
    way = _way(kept)
    ends: list[Array] = []
    for share in (0.8, 0.1):
        when = first_time(kept.t, -kept["v_x"] / v_0, -share)
        ends.append(np.array([np.interp(time, kept.t, way[:, k]) for k, time in enumerate(when)]))
    return (0.8**2 - 0.1**2) * v_0**2 / (2.0 * (ends[1] - ends[0]))


def spins(run: CaseRun, car: Subject) -> list[Wheel]:
    """Wheels whose spin is among the signals of a drive."""
    return [wheel for wheel in car.geometry.wheels if f"spin_{wheel.name}" in run]


def locked_wheels(run: CaseRun, car: Subject) -> NDArray[np.bool_]:
    """Whether each wheel stood while the vehicle moved, (wheels, V); one row of False where no
    spin is known."""
    kept = run.since(0.2)
    moving = kept["v_x"] > 3.0
    slow = [
        kept[f"spin_{wheel.name}"] * wheel.radius < LOCKED * kept["v_x"]
        for wheel in spins(kept, car)
    ]
    stood = [(moving & each).mean(axis=0) > 0.1 * moving.mean(axis=0) for each in slow]
    return np.stack(stood or [np.zeros(kept.variants, dtype=bool)])


def locks(run: CaseRun, car: Subject) -> NDArray[np.bool_]:
    """Whether any wheel stood while the vehicle moved, (V,)."""
    return np.logical_or.reduce(locked_wheels(run, car), axis=0)


def slowed_by(run: CaseRun) -> m_s2:
    """Mean deceleration of the first variant from half a second after the brakes on, as long as it
    moves."""
    kept = run.since(0.5)
    v = kept["v_x"][:, 0]
    moving = np.flatnonzero(v > 0.1 * v[0])
    last = int(moving[-1]) if len(moving) else 0
    return float((v[0] - v[last]) / max(kept.t[last] - kept.t[0], 1e-9))


HARDER = 2.0
"""Demand that locks all wheels, over what tyres give."""
TRIED = (0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7)
"""Decelerations demanded to find the demand for one that is to be reached, over that one."""
CLOSER = 9
"""Decelerations that are tried in the second round, between two of the first."""
LONGER = 1.3
"""Duration of a drive in which a deceleration is to be reached, over that of a stop with it."""
BRAKED: s = 3.0
"""Duration of a drive that brakes in a turn."""
LEAST_TURN: m_s2 = 0.5
"""Lateral acceleration before braking of a log of braking in a turn."""


def braking(t: Array) -> Array:
    """From 0 to -1 when the brakes are applied."""
    return -(t >= 0.0).astype(float)


def stop_case(speed: m_s, duration: s, a: Array | m_s2) -> Case:
    """A stop straight on from a speed with a deceleration that is demanded, one or (V,)."""
    return Case(
        label=f"{np.ravel(a)[0]:.2f} m/s² asked for",
        duration=duration,
        v=speed,
        speed=speed,
        hold=before,
        a=braking,
        a_gain=a,
        path=straight(),
        rests=True,
    )


@dataclass(frozen=True)
class StraightBraking(StandardManoeuvre):
    """From a speed to rest, as hard as wheels allow."""

    speed: m_s = 100.0 / 3.6
    deceleration: m_s2 | None = None
    """That one stop reaches, as a log does; if None, many are demanded and the shortest counts."""
    name = "straight_braking"
    title = "Straight braking"
    source = "ISO 21994:2007"
    needs = (tyres_needed, speed_needed)
    METRICS = """
    stopping_distance [m]: Shortest way to rest on which no wheel locks; theory: with all tyres at
        their longitudinal peak under the loads of a car that stands.
    mean_deceleration [m/s²]: Mean fully developed deceleration on it, from 0.8 to 0.1 of the speed.
    locked_stopping_distance [m]: Way to rest with all wheels locked.
    """

    def perform(self, car: Subject) -> Performing:
        """Ever closer to the hardest stop on which no wheel locks, then that one and a harder."""
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
        return Findings(metrics, [_speeds([stop, harder])], _limited_by(car, stop, harder))

    def _as_demanded(self, car: Subject, wanted: m_s2) -> Performing:
        """One stop that reaches a deceleration."""
        case = partial(stop_case, self.speed, LONGER * self.speed / wanted)
        demand = yield from level_for(wanted, case, lambda run: ~locks(run, car))
        runs = yield [case(demand)]
        metrics = self._of_stop(car, runs[0], np.fmin(tyre_deceleration(car), wanted))
        notes = missed(wanted, runs)
        if not np.isfinite(metrics[0].value[0]):
            notes.insert(0, f"no stop with {wanted:.2f} m/s² without a locked wheel")
        return Findings(metrics, [_speeds(runs)], notes)

    def _of_stop(self, car: Subject, run: CaseRun, tyres: Array) -> list[Metric]:
        """Metrics of a stop, NaN where a wheel locks; `tyres` (V,) can decelerate as hard."""
        way = np.where(locks(run, car), np.nan, 1.0) * stopping_distance(run)
        mean = np.where(np.isfinite(way), mean_deceleration(run), np.nan)
        known = np.isfinite(tyres).any()
        theory = {"stopping_distance": self.speed**2 / (2.0 * tyres), "mean_deceleration": tyres}
        values = {"stopping_distance": way, "mean_deceleration": mean}
        return self.metrics(values, theory if known else None)

    @property
    def one_drive(self) -> bool:
        """Whether it is one deceleration that counts."""
        return self.deceleration is not None

    def adapted_to(self, drive: CaseRun) -> StraightBraking:
        """With the speed and the deceleration of a log."""
        stop = stop_of(drive)
        if locked_in(drive):  # sliding tyres decelerate as they do, whatever is demanded
            raise InvalidValue(
                f"a wheel locks in {drive.label}: its deceleration does not tell how hard it brakes"
            )
        return replace(self, speed=stop.v, deceleration=stop.deceleration)


def _speeds(runs: Sequence[CaseRun]) -> Chart:
    curves = [Curve(run.t, run["v_x"][:, 0], run.label) for run in runs]
    return Chart("Straight braking", "time in s", "speed in m/s", curves)


def _limited_by(car: Subject, stop: CaseRun, harder: CaseRun) -> list[str]:
    """A note where something else than wheels that lock limits the stop of the first vehicle."""
    if locks(stop, car)[0]:
        return ["no stop without a locked wheel"]
    if np.isnan(stopping_distance(stop)[0]):
        return [weak_brakes(harder)]
    if locks(harder, car)[0] or (np.isfinite(tyre_deceleration(car)[0]) and not spins(harder, car)):
        return []
    return [f"no wheel locks: the brakes give no more than {mean_deceleration(harder)[0]:.2f} m/s²"]


def weak_brakes(run: CaseRun) -> str:
    """A note on a vehicle whose brakes do not stop it."""
    return (
        f"no stop within {run.t[-1]:.0f} s: brakes and resistance give no more than "
        f"{slowed_by(run):.2f} m/s²"
    )


def stop_of(drive: CaseRun) -> Slowing:
    """How a log slows down that ends at rest."""
    if not drive.done[0]:
        raise InvalidValue(f"the vehicle of {drive.label} is {drive.outcomes[0]}: that is no stop")
    told, slowest = slowing_of(drive), float(drive["v_x"].min())
    if slowest > AT_REST:
        raise InvalidValue(
            f"{drive.label} does not come to rest: it slows down from {told.v:.1f} m/s to "
            f"{slowest:.1f} m/s"
        )
    return told


def level_for(
    a: m_s2,
    case: Callable[[m_s2], Case],
    counts: Callable[[CaseRun], NDArray[np.bool_]] = lambda run: run.done,
) -> Rounds:
    """The deceleration to ask for so that one is reached, found in drives: brakes give what they
    are asked for, and air and tyres add to it. `case(a)` asks for one; `counts(run)` tells which
    drives, (V,), are such as the one that is to be found.

    A second round of drives is between the first level that is enough, or does not count, and the
    one before it: near the limit, wheels lock within a few per cent.
    """
    every = yield from _levels(a * np.array(TRIED), case, counts)
    falls_short = every.counts & (every.reached < a)
    k = max(int(np.argmin(falls_short)), 1)
    low, high = every.asked[k - 1 : k + 1].tolist()
    fine = yield from _levels(np.linspace(low, high, CLOSER), case, counts)
    for levels, fit in ((fine, fine.counts), (every, every.done)):
        asked, reached = levels.asked[fit], levels.reached[fit]
        if (reached >= a).any():
            # Beyond the limit of grip more gives less: the gentlest that reaches it is the one.
            k = max(int(np.argmax(reached >= a)), 1)
            return float(np.interp(a, reached[k - 1 : k + 1], asked[k - 1 : k + 1]))
    return a


class _Levels(NamedTuple):
    """Decelerations asked for, in rising order, each (L,)."""

    asked: Array
    reached: Array
    """NaN of a drive that did not come through."""
    done: NDArray[np.bool_]
    counts: NDArray[np.bool_]


def _levels(
    asked: Array, case: Callable[[m_s2], Case], counts: Callable[[CaseRun], NDArray[np.bool_]]
) -> Rounds:
    runs = yield [case(level) for level in asked.tolist()]
    done = np.array([run.done[0] for run in runs])
    reached = [slowing_of(run).deceleration if run.done[0] else np.nan for run in runs]
    return _Levels(asked, np.array(reached), done, done & [counts(run)[0] for run in runs])


def missed(a: m_s2 | None, runs: Sequence[CaseRun]) -> list[str]:
    """A note where the first vehicle does not reach a deceleration that is to be reached."""
    if not a:
        return []
    reached = slowing_of(runs[0]).deceleration
    if abs(reached - a) < 0.03 * a:
        return []
    return [f"it slows down with {reached:.2f} m/s²; {a:.2f} m/s² were to be reached"]


@dataclass(frozen=True)
class BrakingInTurn(StandardManoeuvre):
    """From a steady turn, with the wheel held: does it turn in, or go straight on?"""

    radius: float = 100.0
    """Of the turn, in m."""
    a_y: m_s2 = 5.0
    """Lateral acceleration of the turn."""
    levels: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    """Decelerations demanded, in m/s²."""
    deceleration: m_s2 | None = None
    """That the one drive reaches, as a log does; if None, `levels` are demanded."""
    name = "braking_in_turn"
    title = "Braking in a turn"
    source = "ISO 7975:2019"
    needs = (tyres_needed, speed_needed, grip_needed)

    __repr__ = brief_repr

    @property
    def speed(self) -> m_s:
        """Of the turn."""
        return float(np.sqrt(self.a_y * self.radius))

    def perform(self, car: Subject) -> Performing:
        """A first drive finds the angle; then all decelerations at once."""
        angle = yield from steady_angle(car, self.speed, self.a_y)
        levels = self.levels
        if self.deceleration:
            levels = ((yield from level_for(self.deceleration, partial(self._case, angle))),)
        runs = yield [self._case(angle, a) for a in levels]
        done = np.stack([run.done for run in runs])
        columns = zip(*(_one_second_after(run) for run in runs), strict=True)
        ratio, slip = (np.where(done, np.stack(column), np.nan) for column in columns)
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
        curve = Curve(np.array(levels), ratio[:, 0], "driven")
        labels = "deceleration asked for in m/s²", "yaw rate after 1 s over that of the turn"
        notes = endings(runs) + missed(self.deceleration, runs)
        return Findings(metrics, [Chart("Braking in a turn", *labels, [curve])], notes)

    def _case(self, angle: Array, a: m_s2) -> Case:
        return Case(
            label=f"{a:g} m/s² asked for",
            duration=BRAKED,
            v=self.speed,
            speed=self.speed,
            hold=before,
            a=lambda t: a * braking(t),
            steer=1.0,
            amplitude=angle,
            run_in=5.0,
            rests=True,
        )

    @property
    def one_drive(self) -> bool:
        """Whether it is one deceleration that counts."""
        return self.deceleration is not None

    def adapted_to(self, drive: CaseRun) -> BrakingInTurn:
        """With the turn and the deceleration of a log."""
        slowing = slowing_of(drive)
        must_tell(drive, "a_y", "how it turns before it brakes is not told")
        begun = slowing.when - (1.0 - SLOWER) * slowing.v / slowing.deceleration
        turn = drive.since(begun - 1.1, begun - 0.1)["a_y"]
        a_y = float(np.abs(turn.mean())) if len(turn) else 0.0
        must_turn(drive, a_y, "before it brakes", LEAST_TURN)
        radius, a = slowing.v**2 / a_y, slowing.deceleration
        return replace(self, radius=radius, a_y=a_y, deceleration=a)


def _one_second_after(run: CaseRun) -> tuple[Array, Array]:
    """Yaw rate over what the turn has at the speed left, and how sideslip changed, each (V,)."""
    begin, second = run.since(-1.0, 0.0), run.since(0.0, 1.0)
    curvature = (begin["omega"] / begin["v_x"]).mean(axis=0)
    left = second["omega"][-1] / (curvature * np.maximum(second["v_x"][-1], 1.0))
    change = second["sideslip"] - begin["sideslip"].mean(axis=0)
    return left, change[np.abs(change).argmax(axis=0), np.arange(run.variants)]


GRID = Grid(low=0.5, high=1.0, first=10, at_once=3, resolution=5e-3, rounds=3)
"""Of decelerations asked for, over the mean of both sides of the road: all drivers drive each."""
SPLIT_STYLES = (
    (0.1, 1.5, 1.5),
    (0.15, 1.5, 1.5),
    (0.2, 1.5, 3.0),
    (0.3, 1.5, 3.0),
    (0.5, 1.0, 3.0),
)
"""Of drivers: time in s and least distance in m, first and last, in which deviations die out, and
the damping ratio. Each vehicle has the driver who suits it."""
LANE: m = 1.0
"""Deviation up to which a vehicle has stayed in its lane."""


@dataclass(frozen=True)
class SplitBraking(StandardManoeuvre):
    """With the left wheels on a slippery road; the driver keeps the lane."""

    speed: m_s = 80.0 / 3.6
    low: one = 0.3
    """Grip on the left over that of the tyres."""
    deceleration: m_s2 | None = None
    """That one stop reaches, as a log does; if None, many are demanded and the shortest counts."""
    name = "split_braking"
    title = "Braking with one side on a slippery road"
    source = "ISO 14512:1999"
    rough = "of the shortest stop of a grid of decelerations and drivers"
    METRICS = f"""
    stopping_distance [m]: Shortest way to rest on which it stays within {LANE:g} m of its lane;
        theory: with all tyres at their longitudinal peak.
    peak_yaw_rate [rad/s]: On that way.
    deviation [m]: Largest, on that way.
    yaw_moment [N·m]: Difference of the brake forces of both sides times half the track, mean of the
        second after the first half; positive turns to the left.
    """

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        lacks = tyres_needed(car) or speed_needed(car, self)
        names = record.names(car.vehicle.model.Disturbance)
        if not lacks and not {"mu_fl", "mu_rl"} <= set(names):
            return f"{car.name} has no grip of its own at each wheel"
        return lacks

    def perform(self, car: Subject) -> Performing:
        """Ever closer to the hardest stop within the lane, each by drivers of all styles."""
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
        metrics = self.metrics(masked, {"stopping_distance": self._theory(most)})
        curve = Curve(run["x"][:, 0], run["y"][:, 0], run.label)
        notes = [] if in_lane[0] else [_why_not(runs)]
        notes += missed(self.deceleration, runs)
        return Findings(metrics, [Chart("Path", "x in m", "y in m", [curve])], notes)

    def _theory(self, most: Array) -> Array | None:
        a = most if self.deceleration is None else np.fmin(most, self.deceleration)
        return self.speed**2 / (2.0 * a) if np.isfinite(a).any() else None

    @property
    def one_drive(self) -> bool:
        """Whether it has one deceleration: drivers who differ are one for a log."""
        return self.deceleration is not None

    def adapted_to(self, drive: CaseRun) -> SplitBraking:
        """With the speed and the deceleration of a log."""
        told = stop_of(drive)
        return replace(self, speed=told.v, deceleration=told.deceleration)

    def _styles(self, a: Array | m_s2, duration: s) -> list[Case]:
        return [self.case(a, duration, style) for style in SPLIT_STYLES]

    def case(self, a: Array | m_s2, duration: s, style: tuple[float, float, float]) -> Case:
        """A stop with a deceleration that is demanded, one or (V,), by a driver of a style."""
        ice = {name: lambda t: np.where(t < 0.0, 1.0, self.low) for name in ("mu_fl", "mu_rl")}
        driving = dict(zip(("settling", "damping", "settling_least"), style, strict=True))
        return replace(stop_case(self.speed, duration, a), driving=driving, disturbance=ice)


def _aside(run: CaseRun) -> Array:
    """Largest deviation from the lane in m, (V,)."""
    return np.abs(run.since(0.0)["y"]).max(axis=0)


def _way_in_lane(run: CaseRun) -> Array:
    """Way to rest in m, (V,); infinite without an end or outside the lane."""
    way = stopping_distance(run)
    return np.where((_aside(run) < LANE) & np.isfinite(way) & run.done, way, inf)


def _why_not(runs: Sequence[CaseRun]) -> str:
    """A note on the first vehicle, which no driver stopped within its lane."""
    stayed = [run for run in runs if _aside(run)[0] < LANE and run.done[0]]
    return weak_brakes(stayed[0]) if stayed else f"it leaves its lane even with {runs[0].label}"


def brake_moment(car: Subject, run: CaseRun) -> Array:
    """Yaw moment of the forces along the wheels in N·m, positive to the left, mean of the second
    after the first half: (V,)."""
    kept = run.since(0.5, 1.5)
    wheels = car.geometry.wheels
    if any(f"F_x_{wheel.name}" not in kept for wheel in wheels):
        return np.full(run.variants, np.nan)
    return np.sum([-wheel.y * kept[f"F_x_{wheel.name}"] for wheel in wheels], axis=0).mean(axis=0)
