"""Braking with one side on a slippery road (ISO 14512): how short, and does it keep its lane?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import ClassVar

import numpy as np

from .. import record
from ..arrays import Array
from ..units import m, m_s, m_s2, one, s
from .braking import LONGER, before, braking, level_for, missed, stop_of, stopping_distance
from .case import Case
from .case_run import CaseRun, picked
from .fitness import speed_needed, tyres_needed
from .metric import Chart, Curve, Findings, Metric
from .path import straight
from .proving_ground import Performing
from .subject import Subject

__all__ = ["SplitBraking"]

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
        """Several decelerations at once, each by drivers of all styles."""
        most = 0.5 * (1.0 + self.low) * car.grip
        asked = [share * most for share in SPLIT_LEVELS]
        longest = LONGER * self.speed / (self.deceleration or asked[0])
        if self.deceleration:
            asked = [(yield from level_for(self.deceleration, partial(self._tried, longest)))]
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
                self.speed**2 / (2.0 * min(most, self.deceleration or most)),
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
        notes += missed(self.deceleration, runs)
        return Findings(metrics, [Chart("Path", "x in m", "y in m", curves)], notes)

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

    def case(self, a: m_s2, duration: s, settling: float, damping: float, least: float) -> Case:
        """A stop with a deceleration that is asked for, by a driver of a style."""
        ice = {name: lambda t: np.where(t < 0.0, 1.0, self.low) for name in ("mu_fl", "mu_rl")}
        return Case(
            label=f"{a:.1f} m/s² asked for",
            duration=duration,
            v=self.speed,
            speed=self.speed,
            hold=before,
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
