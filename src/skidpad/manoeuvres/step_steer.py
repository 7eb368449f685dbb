"""Step steer (ISO 7401): how fast and how far a vehicle answers a sudden turn of the wheel.

The angle is the one that gives a lateral acceleration in the steady turn; it is found in drives
before the test, as the standard has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..brief import brief_repr
from ..units import m_s, m_s2, s
from .case import Case, step
from .case_run import CaseRun
from .fitness import speed_needed, tyres_needed
from .metric import Chart, Curve, Findings, Metric
from .proving_ground import Performing
from .steady_state import steady_angle
from .step_response import StepResponse, step_response
from .subject import Subject

__all__ = ["StepSteer"]


@dataclass(frozen=True)
class StepSteer:
    """A step of the angle at constant speed, to the left and to the right."""

    speed: m_s = 80.0 / 3.6
    a_y: m_s2 = 4.0
    """Lateral acceleration of the steady turn after the step."""
    rise: s = 0.05
    """In which the angle goes from 0 to its value."""
    duration: s = 4.0
    sides: tuple[str, ...] = ("left", "right")
    """To which it is driven; metrics are means of both."""
    name: ClassVar[str] = "step_steer"
    title: ClassVar[str] = "Step steer"
    source: ClassVar[str] = "ISO 7401:2011, step input"

    __repr__ = brief_repr

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        lacks = tyres_needed(car) or speed_needed(car, self.speed)
        if not lacks and self.a_y > 0.8 * car.grip:
            return f"{car.name} has grip for {car.grip:.1f} m/s²; {self.a_y:g} m/s² is its limit"
        return lacks

    def perform(self, car: Subject) -> Performing:
        """A first drive finds the angle, the others are the test."""
        angle = yield from steady_angle(car, self.speed, self.a_y)
        signs = {"left": 1.0, "right": -1.0}
        runs = yield [self._case(side, signs[side] * angle) for side in self.sides]
        yaw, across = (_mean(runs, name, 0.5 * self.rise) for name in ("omega", "a_y"))
        ends = [np.abs(run.since(run.t[-1] - 0.5)["sideslip"]).mean(axis=0) for run in runs]
        chart = self._chart(car, runs[0], signs[self.sides[0]] * angle)
        return Findings(_metrics(yaw, across, np.mean(ends, axis=0)), [chart])

    def _case(self, label: str, angle: Array) -> Case:
        return Case(
            label=label,
            duration=self.duration,
            v=self.speed,
            speed=self.speed,
            steer=step(0.0, self.rise),
            amplitude=angle,
            run_in=0.5,
        )

    def _chart(self, car: Subject, run: CaseRun, angle: Array) -> Chart:
        theory = car.theory(self.speed).step(run.t - 0.5 * self.rise)["omega"] * angle[0]
        curves = [
            Curve(run.t, run["omega"][:, 0], "yaw rate"),
            Curve(run.t, theory, "linear theory", "theory"),
        ]
        return Chart("Step steer", "time in s", "yaw rate in rad/s", curves)


def _mean(runs: Sequence[CaseRun], name: str, at: s) -> StepResponse:
    """Of both sides."""
    answers = [step_response(run, name, at) for run in runs]
    return StepResponse(*(np.mean(parts, axis=0) for parts in zip(*answers, strict=True)))


def _metrics(yaw: StepResponse, across: StepResponse, sideslip: Array) -> list[Metric]:
    slip = np.rad2deg(sideslip)
    return [
        Metric(
            "yaw_rate_rise_time",
            yaw.rise,
            "s",
            "From half the angle to 90 % of the steady yaw rate.",
        ),
        Metric(
            "yaw_rate_peak_time", yaw.peak_time, "s", "From half the angle to the peak of yaw rate."
        ),
        Metric("yaw_rate_overshoot", yaw.overshoot, "", "Peak over the steady yaw rate, less one."),
        Metric(
            "lateral_acceleration_rise_time",
            across.rise,
            "s",
            "From half the angle to 90 % of the steady lateral acceleration.",
        ),
        Metric(
            "lateral_acceleration_overshoot",
            across.overshoot,
            "",
            "Peak over the steady lateral acceleration, less one.",
        ),
        Metric(
            "steady_lateral_acceleration", across.steady, "m/s²", "Mean of the last half second."
        ),
        Metric(
            "tb_factor",
            slip * yaw.peak_time,
            "deg·s",
            "Steady sideslip in degrees times the peak time of yaw rate.",
        ),
    ]
