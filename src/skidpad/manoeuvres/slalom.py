"""Slalom: past cones in a row on alternating sides, as fast as can be held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..units import m, m_s, one
from .case import Case
from .case_run import CaseRun
from .cones import CONE, box_of, peak_between, struck, width_needed
from .fitness import steering_needed, tyres_needed
from .metric import Chart, Curve, Findings, Metric
from .path import Path, path_along
from .proving_ground import Performing
from .search import highest_clean, known_understeer
from .step_response import first_time
from .subject import Subject

__all__ = ["LongSlalom", "Slalom"]

CONES = 6
CLEARANCE: m = 0.5
"""Between the side of a vehicle on its path and the cones; no standard tells it."""
LEAD: m = 40.0
"""Before the first cone, over which the path swings out, and after the last."""
STYLES = ((0.3, 0.2), (0.4, 0.2))
"""Of drivers: the time in s in which deviations die out, and how much earlier the wheel is turned.
"""
RESOLUTION: one = 0.02
"""To which the highest speed is found, over that of the closed form."""
ROUGH = "of the fastest clean drive of our path-following driver, found to 2 % of the closed form"
"""Why no metric has a derivative."""


def slalom_cones(spacing: m) -> Array:
    """Where they stand, (n, 2), along x from the origin on."""
    return np.stack([spacing * np.arange(CONES, dtype=float), np.zeros(CONES)], axis=1)


def slalom_path(spacing: m, amplitude: m) -> Path:
    """A wave that passes the first cone on its left, at 1 m/s."""
    x = np.arange(-LEAD, spacing * (CONES - 1) + LEAD, 0.25)
    swing = np.clip(np.minimum(x + LEAD, x[-1] - x) / (LEAD - 0.5 * spacing), 0.0, 1.0)
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
            RESOLUTION * theory,
            lambda v: [self._case(car, v, path, *style) for style in STYLES],
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
            driving={
                "understeer": understeer,
                "settling": settling,
                "ahead": ahead,
                "v_gain": v,
            },
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
                "of the same amplitude at the limit of grip.", theory, ROUGH,
            ),
            Metric("entry_speed", best, "m/s", "Highest held speed without a cone.", rough=ROUGH),
            Metric(
                "peak_lateral_acceleration", peak("a_y"), "m/s²",
                "Between the first cone and the last, at that speed.", rough=ROUGH,
            ),
            Metric("peak_yaw_rate", peak("omega"), "rad/s", "There.", rough=ROUGH),
            Metric("peak_sideslip", peak("sideslip"), "rad", "There.", rough=ROUGH),
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
