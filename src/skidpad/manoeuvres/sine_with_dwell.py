"""Sine with dwell (FMVSS 126, UN R140): does the vehicle stay stable, and does it still answer?

One period of a sine of 0.7 Hz that pauses at its second peak, with the throttle released, at ever
larger angles. The unit of the angle is what holds 0.3 g in a steady turn, found beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..brief import brief_repr
from ..units import kg, m_s, m_s2, one, s
from .case import Case, ramp
from .case_run import CaseRun
from .fitness import speed_needed, tyres_needed
from .metric import Chart, Curve, Findings, Metric
from .proving_ground import Performing
from .step_response import first_time
from .subject import Subject

__all__ = ["SineWithDwell"]

FREQUENCY = 0.7
"""Of the sine, in Hz."""
DWELL: s = 0.5
"""At its second peak."""
END: s = 1.0 / FREQUENCY + DWELL
"""When the angle is back at zero."""
UNIT: m_s2 = 0.3 * 9.81
"""Lateral acceleration of the steady turn whose angle is the unit."""
LATER = ((1.0, 0.35), (1.75, 0.20))
"""Times after the end, and the largest share of its peak that the yaw rate may still have."""
ASIDE_AT: s = 1.07
"""After the beginning, when the vehicle must have moved aside."""
HEAVY: kg = 3500.0
"""Mass above which it may have moved less far."""
SIDES = {"left first": 1.0, "right first": -1.0}


@dataclass(frozen=True)
class SineWithDwell:
    """Angles of growing size to both sides."""

    speed: m_s = 80.0 / 3.6
    factors: tuple[float, ...] = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5)
    """Of the unit."""
    aside_from: one = 5.0
    """Factor from which on the vehicle must move aside far enough."""
    __repr__ = brief_repr
    name: ClassVar[str] = "sine_with_dwell"
    title: ClassVar[str] = "Sine with dwell"
    source: ClassVar[str] = "FMVSS 126, UN Regulation 140"

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        lacks = tyres_needed(car) or speed_needed(car, self.speed)
        if not lacks and car.grip < 1.5 * UNIT:
            return f"{car.name} has grip for {car.grip:.1f} m/s² alone"
        return lacks

    def perform(self, car: Subject) -> Performing:
        """A slow ramp finds the unit; then all angles at once."""
        (slow,) = yield [self._slow(car)]
        unit = _angle_at(slow, UNIT)
        most = car.limits.steer_max
        runs = yield [
            Case(
                label=f"{factor:g} times, {label}",
                duration=END + 2.0,
                v=self.speed,
                speed=self.speed,
                hold=lambda t: (t < 0.0).astype(float),
                steer=sine_with_dwell,
                amplitude=np.clip(side * factor * unit, -most, most),
            )
            for factor in self.factors
            for label, side in SIDES.items()
        ]
        return self._findings(car, runs, unit)

    def _slow(self, car: Subject) -> Case:
        rate = UNIT / car.theory(self.speed).gains["a_y"] / 10.0
        v = self.speed
        return Case(label="slow ramp", duration=14.0, v=v, speed=v, steer=ramp(rate))

    def _findings(self, car: Subject, runs: Sequence[CaseRun], unit: Array) -> Findings:
        left = [np.stack([yaw_left(run, after) for run in runs]) for after, _ in LATER]
        aside = np.stack([moved_aside(run) for run in runs])
        factors = np.repeat(self.factors, len(SIDES))[:, None]
        stable = np.logical_and.reduce(
            [share <= most for share, (_, most) in zip(left, LATER, strict=True)]
        )
        least = np.array([1.52 if v.geometry.mass > HEAVY else 1.83 for v in car.each])
        answers = (aside >= least) | (factors < self.aside_from)
        failed = np.where(stable & answers, np.inf, factors).min(axis=0)
        passed = np.where(factors < failed, factors, 0.0).max(axis=0)
        large = np.where(factors >= self.aside_from, aside, np.inf)
        metrics = [
            Metric("unit_angle", unit, "rad", "Angle of the front wheels at 0.3 g."),
            Metric("largest_factor_passed", passed, "",
                   "Largest angle over the unit up to which all criteria hold; 0: none."),
            Metric("yaw_rate_left_after_1_s", left[0].max(axis=0), "",
                   "Largest yaw rate 1 s after the steering over its peak; at most 0.35."),
            Metric("yaw_rate_left_after_1.75_s", left[1].max(axis=0), "",
                   "Largest yaw rate 1.75 s after the steering over its peak; at most 0.20."),
            Metric("least_displacement", large.min(axis=0), "m",
                   "Least way aside 1.07 s after the beginning, of the large angles."),
        ]  # fmt: skip
        notes = [f"{run.label}: {run.outcomes[0]}" for run in runs if run.outcomes[0] != "done"]
        return Findings(metrics, [_chart(runs)], notes)


def sine_with_dwell(t: Array) -> Array:
    """The angle over time, of height 1."""
    pause = 0.75 / FREQUENCY
    after = np.where(t < pause, t, np.maximum(t - DWELL, pause))
    wave = np.sin(2.0 * np.pi * FREQUENCY * after)
    return np.where((t < 0.0) | (t > END), 0.0, wave)


def _angle_at(run: CaseRun, a_y: m_s2) -> Array:
    """The angle at which a ramp reached a lateral acceleration, (V,)."""
    kept = run.since(0.0)
    when = first_time(kept.t, kept["a_y"], a_y)
    return np.array([np.interp(time, kept.t, kept["steer"][:, k]) for k, time in enumerate(when)])


def yaw_left(run: CaseRun, after: s) -> Array:
    """Yaw rate a time after the steering over its peak since the angle changed its side, (V,)."""
    # The second peak is the one after the angle has gone through zero.
    turned = run.since(0.5 / FREQUENCY, END)
    peak = np.abs(turned["omega"]).max(axis=0)
    then = np.array([np.interp(END + after, run.t, column) for column in run["omega"].T])
    return np.where(np.isfinite(then), np.abs(then) / np.maximum(peak, 1e-9), np.inf)


def moved_aside(run: CaseRun) -> Array:
    """Way of the centre of mass across its first direction at the time that counts, (V,)."""
    begin = run.since(0.0)
    c, sine = np.cos(begin["yaw"][0]), np.sin(begin["yaw"][0])
    across = -sine * (begin["x"] - begin["x"][0]) + c * (begin["y"] - begin["y"][0])
    aside = [np.interp(ASIDE_AT, begin.t, column) for column in np.abs(across).T]
    return np.nan_to_num(np.array(aside), nan=0.0)


def _chart(runs: Sequence[CaseRun]) -> Chart:
    curves = [Curve(run.t, run["omega"][:, 0], run.label) for run in runs[:: len(SIDES)]]
    return Chart("Sine with dwell", "time in s", "yaw rate in rad/s", curves)
