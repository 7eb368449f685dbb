"""Events of Formula Student against the clock: skidpad and acceleration.

Any car that fits may drive them. The skidpad is driven at several held speeds side by side, and the
fastest lap without a cone counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..components.powertrain.wheel_motors import WheelMotors
from ..units import m, m_s, m_s2, s
from ..vehicles.two_track_pedals import WHEEL_DRIVES
from .case import Case
from .case_run import CaseRun
from .cones import reach, struck, width_needed
from .fitness import drive_needed, tyres_needed
from .hardest_stop import tyre_deceleration
from .metric import Chart, Curve, Findings, Metric
from .path import POINTS, Path, path_of_curvature, straight
from .proving_ground import Performing
from .search import highest_clean, known_understeer
from .step_response import first_time
from .subject import Subject

__all__ = ["FormulaAcceleration", "FormulaSkidpad"]

INNER: m = 0.5 * 15.25
"""Radius of the rows of cones inside the lanes."""
OUTER: m = 0.5 * 21.25
"""Radius of those outside."""
APART: m = 18.25
"""Between the centres of the circles; the middles of the lanes have this diameter and touch."""
RADIUS: m = 0.5 * APART
LAP: m = 2.0 * np.pi * RADIUS
LEAD: m = 15.0
"""Straight before the first circle and after the last."""
EASED: m = 4.0
"""Over which the path goes from a circle to the next, half of it on each."""
STYLES = ((0.2, 0.15), (0.35, 0.1))
"""Of drivers: the time in s in which deviations die out, and how much earlier the wheel is turned.
"""
RESOLUTION: m_s = 0.1
"""To which the highest speed is found."""
LAUNCHES = (0.4, 0.6, 0.75, 0.9, 1.0, 1.2)
"""Accelerations asked for over the grip: more is not faster where wheels spin."""


def skidpad_path() -> Path:
    """Along the lanes: in, twice round to the right, twice to the left, and out, at 1 m/s."""
    turns = [(0.0, LEAD), (-1.0 / RADIUS, 2.0 * LAP), (1.0 / RADIUS, 2.0 * LAP), (0.0, LEAD)]
    ends = np.cumsum([length for _, length in turns])
    at = np.linspace(0.0, ends[-1], 4 * POINTS)
    # The mean over a stretch: it turns as far as the circles do.
    heading = np.concatenate([[0.0], np.cumsum([bend * length for bend, length in turns])])
    marks = np.concatenate([[0.0], ends])
    before, after = (np.interp(at + side * 0.5 * EASED, marks, heading) for side in (-1.0, 1.0))
    return path_of_curvature(at, (after - before) / EASED, v=1.0)


def skidpad_cones() -> Array:
    """Where cones stand, (n, 2), seen from the start of the path: inner circles, and those parts
    of the outer ones that are neither lane nor way in or out."""
    angle = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    centres = np.array([[LEAD, -RADIUS], [LEAD, RADIUS]])
    inside = np.concatenate([centre + INNER * ring for centre in centres])
    outside = np.concatenate([centre + OUTER * ring for centre in centres])
    away = np.hypot(*(outside[:, None] - centres).transpose(2, 0, 1)).min(axis=1)
    free = (away > OUTER - 1e-6) & (np.abs(outside[:, 1]) > OUTER - RADIUS)
    return np.concatenate([inside, outside[free]])


def off_circles(run: CaseRun) -> NDArray[np.bool_]:
    """Who left the lanes with the centre of mass or did not come through, (V,)."""
    x, y = run["x"] - LEAD, run["y"]
    off = np.abs(np.hypot(x, np.abs(y) - RADIUS) - RADIUS) > 0.5 * (OUTER - INNER)
    begun = (run["progress"] > LEAD) & (run["progress"] < LEAD + 4.0 * LAP)
    left = (begun & off).any(axis=0) | ~np.isfinite(run["x"]).all(axis=0)
    return left | ~(run["progress"].max(axis=0) > LEAD + 4.0 * LAP)


@dataclass(frozen=True)
class FormulaSkidpad:
    """A figure of eight; the second lap on each side is timed."""

    name: ClassVar[str] = "formula_skidpad"
    title: ClassVar[str] = "Formula Student skidpad"
    source: ClassVar[str] = "Formula Student Rules, dynamic events, skidpad"

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        lacks = tyres_needed(car) or width_needed(car, 0.8, OUTER - INNER)
        if lacks:
            return lacks
        ring = sum(reach(car, RADIUS))
        if ring > 0.95 * (OUTER - INNER):
            return f"{car.name} covers {ring:.2f} m across; the lane is {OUTER - INNER:g} m wide"
        tightest = np.hypot(car.wheel_base[0] / np.tan(car.abilities.steer_max), car.l_r[0])
        if tightest > 0.9 * RADIUS:
            return f"{car.name} turns on {tightest:.1f} m at best; the circles have {RADIUS:g} m"
        return ""

    def perform(self, car: Subject) -> Performing:
        """Held speeds ever closer to the highest clean one, by drivers of all styles."""
        fastest = float(np.sqrt(car.grip * RADIUS))
        path, cones = skidpad_path(), skidpad_cones()

        def clean(run: CaseRun) -> NDArray[np.bool_]:
            return ~(off_circles(run) | struck(car, run, cones).any(axis=0) | ~run.done)

        limit = yield from highest_clean(
            np.full(car.variants, 0.65 * fastest),
            np.full(car.variants, 1.1 * fastest),
            RESOLUTION,
            lambda v: [_round(v, path, *style, car) for style in STYLES],
            clean,
        )
        return _skidpad_findings(limit.run, limit.best, fastest, cones)


def _round(v: Array, path: Path, settling: float, ahead: float, car: Subject) -> Case:
    understeer = known_understeer(car, 10.0)
    return Case(
        label=f"{np.ravel(v)[0]:.2f} m/s",
        # A car that pushes wide at the limit goes farther than the path.
        duration=float(1.1 * (path.length - 0.5 * LEAD) / np.min(v)),
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


def lap_time(run: CaseRun, begin: m, end: m) -> Array:
    """From one distance along the path to another in s, (V,)."""
    return first_time(run.t, run["progress"], end) - first_time(run.t, run["progress"], begin)


def _skidpad_findings(run: CaseRun, best: Array, fastest: m_s, cones: Array) -> Findings:
    passed = np.isfinite(best)
    right = np.where(passed, lap_time(run, LEAD + LAP, LEAD + 2.0 * LAP), np.nan)
    left = np.where(passed, lap_time(run, LEAD + 3.0 * LAP, LEAD + 4.0 * LAP), np.nan)
    mean, theory = 0.5 * (left + right), LAP / fastest
    metrics = [
        Metric("time", mean, "s", "Mean of the two timed laps, no cone touched.", theory),
        Metric("time_right", right, "s", "Second lap to the right.", theory),
        Metric("time_left", left, "s", "Second lap to the left.", theory),
        Metric("speed", best, "m/s", "Highest that can be held without a cone.", fastest),
        Metric(
            "lateral_acceleration", (2.0 * np.pi / mean) ** 2 * RADIUS, "m/s²",
            f"Of a lap in the mean time on the circle of {RADIUS:g} m: (2π / t)² R.",
            fastest**2 / RADIUS,
        ),
    ]  # fmt: skip
    curves = [
        Curve(run["x"][:, 0], run["y"][:, 0], run.label),
        Curve(cones[:, 0], cones[:, 1], "cones", "cones"),
    ]
    chart = Chart("Skidpad", "x in m", "y in m", curves, equal=True)
    notes = [] if passed[0] else [f"a cone falls even at {run.label}: {run.outcomes[0]}"]
    return Findings(metrics, [chart], notes)


@dataclass(frozen=True)
class FormulaAcceleration:
    """From rest over a straight, the clock starts a little after the car."""

    way: m = 75.0
    before: m = 0.3
    """From where it stands to the line where the clock starts."""
    name: ClassVar[str] = "formula_acceleration"
    title: ClassVar[str] = "Formula Student acceleration"
    source: ClassVar[str] = "Formula Student Rules, dynamic events, acceleration"

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        return drive_needed(car)

    def perform(self, car: Subject) -> Performing:
        """Several accelerations at once; the fastest counts."""
        along, across = float(tyre_deceleration(car)[0]), car.grip if car.grip < inf else 9.81
        most = min(car.limits.a_max, along if np.isfinite(along) else across)
        runs = yield [
            Case(
                label=f"{share * most:.1f} m/s² asked for",
                duration=self.longest(most),
                a=share * most,
                path=straight(),
                rests=True,
                hold=0.0,
                run_in=0.0,
            )
            for share in LAUNCHES
        ]
        passages = [self.passage(run) for run in runs]
        times, speeds = (np.stack(rows) for rows in zip(*passages, strict=True))
        best, column = np.argmin(np.nan_to_num(times, nan=inf), axis=0), np.arange(car.variants)
        theory = self.theory(car, most)
        metrics = [
            Metric(
                "time", times[best, column], "s",
                f"Over {self.way:g} m, from {self.before:g} m after the start on.",
                theory and theory[0],
            ),
            Metric(
                "end_speed", speeds[best, column], "m/s", "At the end of it.",
                theory and theory[1],
            ),
        ]  # fmt: skip
        driven = [(run, run["x"][:, 0] <= 1.1 * self.way) for run in runs]
        curves = [Curve(run["x"][on, 0], run["v_x"][on, 0], run.label) for run, on in driven]
        chart = Chart("Acceleration", "way in m", "speed in m/s", curves)
        notes = [
            f"{run.label}: {run.outcomes[0]}, not over the line within {run.t[-1]:.0f} s"
            for run, time in zip(runs, times[:, 0], strict=True)
            if not np.isfinite(time)
        ]
        return Findings(metrics, [chart], notes)

    def passage(self, run: CaseRun) -> tuple[Array, Array]:
        """Time over the way and speed at its end, each (V,); NaN of one that did not arrive."""
        way = run["x"] - run["x"][0]
        end = first_time(run.t, way, self.before + self.way)
        time = np.where(run.done, end - first_time(run.t, way, self.before), np.nan)
        v = [np.interp(at, run.t, column) for at, column in zip(end, run["v_x"].T, strict=True)]
        return time, np.where(np.isfinite(time), v, np.nan)

    def closed_form(self, a: float) -> s:
        """Time of an even acceleration in m/s²."""
        return float(np.sqrt(2.0 * (self.before + self.way) / a) - np.sqrt(2.0 * self.before / a))

    def theory(self, car: Subject, a: m_s2) -> tuple[s, m_s] | None:
        """Time and end speed with an acceleration that power and speed of the motors limit; None
        where a powertrain has more than that, such as gears."""
        powertrain, v_max = getattr(car.vehicle.params, "powertrain", None), car.limits.v_max
        if powertrain is not None and not isinstance(powertrain, WHEEL_DRIVES):
            return None
        if not isinstance(powertrain, WheelMotors):
            return self.closed_form(a), float(np.sqrt(2.0 * a * (self.before + self.way)))
        by_mass = powertrain.efficiency * powertrain.P_max / car.geometry.mass
        return self.limited(a, by_mass, v_max)

    def limited(self, a: m_s2, power_by_mass: float, v_max: m_s) -> tuple[s, m_s]:
        """Time and end speed of an even acceleration, then of a power in W/kg, then of a speed."""
        x = np.linspace(0.0, self.before + self.way, 20_001)
        v_even = min(power_by_mass / a, v_max)
        x_even = 0.5 * v_even**2 / a
        # At a power v² dv = P / m dx.
        powered = np.cbrt(v_even**3 + 3.0 * power_by_mass * np.maximum(x - x_even, 0.0))
        v = np.minimum(np.where(x < x_even, np.sqrt(2.0 * a * x), powered), v_max)
        middle = 0.5 * (v[1:] + v[:-1])
        t = np.concatenate([[0.0], np.cumsum(np.diff(x) / middle)])
        return float(t[-1] - np.interp(self.before, x, t)), float(v[-1])

    def longest(self, a: float) -> s:
        """How long is waited: the slowest launch, and as long again for what drives weakly."""
        return 2.0 * float(np.sqrt(2.0 * (self.before + self.way) / (LAUNCHES[0] * a)))
