"""Braking: straight on (ISO 21994), in a turn (ISO 7975), with one side on ice (ISO 14512).

The driver asks for a deceleration. Without anti-lock brakes, how hard can be braked before wheels
lock is part of the answer, so several decelerations are driven, and the best is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from .. import record
from ..arrays import Array
from ..brief import brief_repr
from ..units import m, m_s, m_s2, one, s
from .case import Case
from .case_run import CaseRun, picked
from .fitness import speed_needed, tyres_needed
from .metric import Chart, Curve, Findings, Metric
from .path import straight
from .proving_ground import Performing
from .steady_state import steady_angle
from .step_response import first_time
from .subject import Subject

__all__ = ["BrakingInTurn", "SplitBraking", "StraightBraking"]

LEVELS = (0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.1, 1.3)
"""Decelerations asked for, over the grip."""
AT_REST: m_s = 0.1
"""Speed below which a vehicle has stopped."""
SPLIT_LEVELS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Decelerations asked for with one side on a slippery road, over the mean grip."""
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
LOCKED: one = 0.5
"""Share of the speed below which a wheel that still rolls counts as locked."""


def _before(t: Array) -> Array:
    """1 until the brakes are applied."""
    return (t < 0.0).astype(float)


def braking(t: Array) -> Array:
    """From 0 to -1 when the brakes are applied."""
    return -(t >= 0.0).astype(float)


def _way(run: CaseRun) -> Array:
    """Since the first sample in m, (T, V), by trapezia: exact of an even stop."""
    v = run["speed"]
    pieces = np.diff(run.t)[:, None] * 0.5 * (v[1:] + v[:-1])
    return np.concatenate([np.zeros((1, run.variants)), np.cumsum(pieces, axis=0)])


def stopping_distance(run: CaseRun) -> Array:
    """Way from the brakes to rest in m, (V,); NaN of one that did not stop."""
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


def locks(run: CaseRun, radius: float) -> Array:
    """Whether a wheel stood while the vehicle moved, (V,); never where wheels tell nothing."""
    kept = run.since(0.2)
    moving = kept["v_x"] > 3.0
    locked = np.zeros(kept.variants, dtype=bool)
    for name in (name for name in kept.signals if name.startswith("spin_")):
        slow = kept[name] * radius < LOCKED * kept["v_x"]
        locked |= (moving & slow).mean(axis=0) > 0.1 * moving.mean(axis=0)
    return locked


@dataclass(frozen=True)
class StraightBraking:
    """From a speed to rest, as hard as wheels allow."""

    speed: m_s = 100.0 / 3.6
    name: ClassVar[str] = "straight_braking"
    title: ClassVar[str] = "Straight braking"
    source: ClassVar[str] = "ISO 21994:2007"

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        return tyres_needed(car) or speed_needed(car, self.speed)

    def perform(self, car: Subject) -> Performing:
        """Several decelerations at once."""
        asked = np.array(LEVELS) * car.grip
        runs = yield [
            Case(
                label=f"{a:.1f} m/s² asked for",
                duration=2.0 * self.speed / (LEVELS[0] * car.grip),
                v=self.speed,
                speed=self.speed,
                hold=_before,
                a=lambda t, a=a: a * braking(t),
                path=straight(),
                rests=True,
            )
            for a in asked.tolist()
        ]
        ways = np.stack([stopping_distance(run) for run in runs])
        mean = np.stack([mean_deceleration(run) for run in runs])
        radius = car.geometry.wheels[0].radius
        locked = np.stack([locks(run, radius) for run in runs])
        rolling = np.where(locked, np.nan, ways)
        best = np.argmin(np.nan_to_num(rolling, nan=inf), axis=0)
        column = np.arange(car.variants)
        metrics = [
            Metric(
                "stopping_distance", rolling[best, column], "m",
                "Shortest way to rest on which no wheel locks.",
                self.speed**2 / (2.0 * car.grip),
            ),
            Metric(
                "mean_deceleration", mean[best, column], "m/s²",
                "Mean fully developed deceleration on it, from 0.8 to 0.1 of the speed.",
                car.grip,
            ),
            Metric(
                "locked_stopping_distance", ways[-1], "m",
                f"Way to rest with {LEVELS[-1]:g} times the grip asked for: with locked wheels.",
            ),
        ]  # fmt: skip
        curves = [Curve(run.t, run["v_x"][:, 0], run.label) for run in runs]
        chart = Chart("Straight braking", "time in s", "speed in m/s", curves)
        return Findings(metrics, [chart])


@dataclass(frozen=True)
class BrakingInTurn:
    """From a steady turn, with the wheel held: does it turn in, or go straight on?"""

    radius: float = 100.0
    """Of the turn, in m."""
    a_y: m_s2 = 5.0
    """Lateral acceleration of the turn."""
    levels: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    """Decelerations asked for, in m/s²."""
    __repr__ = brief_repr
    name: ClassVar[str] = "braking_in_turn"
    title: ClassVar[str] = "Braking in a turn"
    source: ClassVar[str] = "ISO 7975:2019"

    @property
    def speed(self) -> m_s:
        """Of the turn."""
        return float(np.sqrt(self.a_y * self.radius))

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        lacks = tyres_needed(car) or speed_needed(car, self.speed)
        if not lacks and self.a_y > 0.8 * car.grip:
            return f"{car.name} has grip for {car.grip:.1f} m/s²; {self.a_y:g} m/s² is its limit"
        return lacks

    def perform(self, car: Subject) -> Performing:
        """A first drive finds the angle; then all decelerations at once."""
        angle = yield from steady_angle(car, self.speed, self.a_y)
        runs = yield [
            Case(
                label=f"{a:g} m/s² asked for",
                duration=3.0,
                v=self.speed,
                speed=self.speed,
                hold=_before,
                a=lambda t, a=a: a * braking(t),
                steer=1.0,
                amplitude=angle,
                run_in=5.0,
                rests=True,
            )
            for a in self.levels
        ]
        after = [_one_second_after(run) for run in runs]
        ratio, slip = (np.stack(column) for column in zip(*after, strict=True))
        metrics = [
            Metric(
                "yaw_ratio_at_1_s", ratio[_near(self.levels, 4.0)], "",
                "Yaw rate over that of the turn at the speed left, 1 s after braking at 4 m/s²; "
                "above 1: it turns in.",
            ),
            Metric(
                "largest_yaw_ratio", np.nanmax(ratio, axis=0), "", "Largest of all decelerations."
            ),
            Metric(
                "sideslip_change", np.nanmax(np.abs(slip), axis=0), "rad",
                "Largest change of sideslip within the first second, of all decelerations.",
            ),
        ]  # fmt: skip
        curve = Curve(np.array(self.levels), ratio[:, 0], "driven")
        labels = "deceleration asked for in m/s²", "yaw rate after 1 s over that of the turn"
        notes = [f"{run.label}: {run.outcomes[0]}" for run in runs if run.outcomes[0] != "done"]
        return Findings(metrics, [Chart("Braking in a turn", *labels, [curve])], notes)


def _one_second_after(run: CaseRun) -> tuple[Array, Array]:
    """Yaw rate over what the turn has at the speed left, and how sideslip changed, each (V,)."""
    begin, second = run.since(-1.0, 0.0), run.since(0.0, 1.0)
    curvature = (begin["omega"] / begin["v_x"]).mean(axis=0)
    left = second["omega"][-1] / (curvature * np.maximum(second["v_x"][-1], 1.0))
    change = second["sideslip"] - begin["sideslip"].mean(axis=0)
    return left, change[np.abs(change).argmax(axis=0), np.arange(run.variants)]


def _near(values: Sequence[float], wanted: float) -> int:
    return int(np.argmin(np.abs(np.array(values) - wanted)))


@dataclass(frozen=True)
class SplitBraking:
    """With the left wheels on a slippery road; the driver keeps the lane."""

    speed: m_s = 80.0 / 3.6
    low: one = 0.3
    """Grip on the left over that of the tyres."""
    name: ClassVar[str] = "split_braking"
    title: ClassVar[str] = "Braking with one side on a slippery road"
    source: ClassVar[str] = "ISO 14512:1999"

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        lacks = tyres_needed(car) or speed_needed(car, self.speed)
        names = record.names(car.vehicle.model.Disturbance)
        if not lacks and not {"mu_fl", "mu_rl"} <= set(names):
            return f"{car.name} has no grip of its own at each wheel"
        return lacks

    def perform(self, car: Subject) -> Performing:
        """Several decelerations at once, each by drivers of all styles."""
        most = 0.5 * (1.0 + self.low) * car.grip
        asked = [share * most for share in SPLIT_LEVELS]
        longest = 1.3 * self.speed / asked[0]
        runs = yield [self.case(a, longest, *style) for a in asked for style in SPLIT_STYLES]
        ways = np.stack([stopping_distance(run) for run in runs])
        left = np.stack([np.abs(run.since(0.0)["y"]).max(axis=0) for run in runs])
        stayed = (left < LANE) & np.isfinite(ways) & np.stack([run.done for run in runs])
        best, column = np.argmin(np.where(stayed, ways, inf), axis=0), np.arange(car.variants)
        kept = picked(runs, best)
        found = stayed[best, column]

        def where_found(values: Array) -> Array:
            return np.where(found, values, np.nan)

        metrics = [
            Metric(
                "stopping_distance", where_found(ways[best, column]), "m",
                f"Shortest way to rest on which it stays within {LANE:g} m of its lane; theory: "
                "with all tyres at their peak.",
                self.speed**2 / (2.0 * most),
            ),
            Metric(
                "peak_yaw_rate", where_found(np.abs(kept.since(0.0)["omega"]).max(axis=0)), "rad/s",
                "On that way.",
            ),
            Metric("deviation", where_found(left[best, column]), "m", "Largest, on that way."),
            Metric(
                "yaw_moment", where_found(brake_moment(car, kept)), "N·m",
                "Difference of the brake forces of both sides times half the track, mean of the "
                "second after the first half; positive turns to the left.",
            ),
        ]  # fmt: skip
        first = np.arange(len(runs)).reshape(len(asked), -1)
        closest = [runs[row[np.argmin(left[row, 0])]] for row in first]
        curves = [Curve(run["x"][:, 0], run["y"][:, 0], run.label) for run in closest]
        notes = [] if found[0] else [f"it leaves its lane even with {runs[0].label}"]
        return Findings(metrics, [Chart("Path", "x in m", "y in m", curves)], notes)

    def case(self, a: m_s2, duration: s, settling: float, damping: float, least: float) -> Case:
        """A stop with a deceleration that is asked for, by a driver of a style."""
        ice = {name: lambda t: np.where(t < 0.0, 1.0, self.low) for name in ("mu_fl", "mu_rl")}
        return Case(
            label=f"{a:.1f} m/s² asked for",
            duration=duration,
            v=self.speed,
            speed=self.speed,
            hold=_before,
            a=lambda t: a * braking(t),
            path=straight(),
            driving={"settling": settling, "damping": damping, "settling_least": least},
            disturbance=ice,
            rests=True,
        )


def brake_moment(car: Subject, run: CaseRun) -> Array:
    """Yaw moment of the forces along the wheels in N·m, positive to the left, mean of the second
    after the first half: (V,)."""
    kept = run.since(0.5, 1.5)
    wheels = car.geometry.wheels
    if any(f"F_x_{wheel.name}" not in kept for wheel in wheels):
        return np.full(run.variants, np.nan)
    return np.sum([-wheel.y * kept[f"F_x_{wheel.name}"] for wheel in wheels], axis=0).mean(axis=0)
