"""Braking with one side on a slippery road (ISO 14512): how short, and does it keep its lane?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import ClassVar

import numpy as np

from .. import record
from ..arrays import Array
from ..units import m, m_s, m_s2, one, s
from .braking import LONGER, level_for, missed, stop_case, stop_of, weak_brakes
from .case import Case
from .case_run import CaseRun, picked
from .fitness import speed_needed, tyres_needed
from .hardest_stop import LONGEST, Grid, hardest_stop, time_to_stop, tyre_deceleration
from .metric import Chart, Curve, Findings, Metric
from .proving_ground import Performing
from .stopping import stopping_distance
from .subject import Subject

__all__ = ["SplitBraking"]

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
ROUGH = "of the shortest stop of a grid of decelerations and drivers"
"""Why no metric has a derivative."""


@dataclass(frozen=True)
class SplitBraking:
    """With the left wheels on a slippery road; the driver keeps the lane."""

    speed: m_s = 80.0 / 3.6
    low: one = 0.3
    """Grip on the left over that of the tyres."""
    deceleration: m_s2 | None = None
    """That one stop reaches, as a log does; if None, many are asked for and the shortest counts."""
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
        """Ever closer to the hardest stop within the lane, each by drivers of all styles."""
        tyres = tyre_deceleration(car)
        most = 0.5 * (1.0 + self.low) * tyres
        if self.deceleration:
            longest = LONGER * self.speed / self.deceleration
            demand = yield from level_for(self.deceleration, partial(self._tried, longest))
        else:
            guess = np.where(np.isfinite(tyres), most, 0.5 * (1.0 + self.low) * car.grip)
            search = hardest_stop(self.speed, guess, self._styles, _way_in_lane, GRID)
            demand, shortest = yield from search
            longest = min(time_to_stop(self.speed, shortest), LONGEST)
        runs = yield self._styles(demand, longest)
        ways = np.stack([stopping_distance(run) for run in runs])
        deviations = np.stack([_aside(run) for run in runs])
        stayed = np.isfinite([_way_in_lane(run) for run in runs])
        best, column = np.argmin(np.where(stayed, ways, inf), axis=0), np.arange(car.variants)
        best_run = picked(runs, best)
        in_lane = stayed[best, column]

        def masked(values: Array) -> Array:
            return np.where(in_lane, values, np.nan)

        metrics = [
            Metric(
                "stopping_distance", masked(ways[best, column]), "m",
                f"Shortest way to rest on which it stays within {LANE:g} m of its lane; theory: "
                "with all tyres at their longitudinal peak.",
                self._theory(most), ROUGH,
            ),
            Metric(
                "peak_yaw_rate", masked(np.abs(best_run.since(0.0)["omega"]).max(axis=0)), "rad/s",
                "On that way.", rough=ROUGH,
            ),
            Metric("deviation", masked(deviations[best, column]), "m", "Largest, on that way.",
                   rough=ROUGH),
            Metric(
                "yaw_moment", masked(brake_moment(car, best_run)), "N·m",
                "Difference of the brake forces of both sides times half the track, mean of the "
                "second after the first half; positive turns to the left.", rough=ROUGH,
            ),
        ]  # fmt: skip
        curve = Curve(best_run["x"][:, 0], best_run["y"][:, 0], best_run.label)
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

    def _tried(self, duration: s, a: m_s2) -> Case:
        return self.case(a, duration, *SPLIT_STYLES[1])

    def _styles(self, a: Array | m_s2, duration: s) -> list[Case]:
        return [self.case(a, duration, *style) for style in SPLIT_STYLES]

    def case(
        self, a: Array | m_s2, duration: s, settling: float, damping: float, least: float
    ) -> Case:
        """A stop with a deceleration that is asked for, one or (V,), by a driver of a style."""
        ice = {name: lambda t: np.where(t < 0.0, 1.0, self.low) for name in ("mu_fl", "mu_rl")}
        style = {"settling": settling, "damping": damping, "settling_least": least}
        return replace(stop_case(self.speed, duration, a), driving=style, disturbance=ice)


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
