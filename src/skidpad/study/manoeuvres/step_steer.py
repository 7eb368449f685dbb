"""Step steer (ISO 7401): how fast and how far a vehicle answers a sudden turn of the wheel.

The angle is the one that gives a lateral acceleration in the steady turn; it is found in drives
before the test, as the standard has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...core.arrays import Array
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...units import m_s, m_s2, s
from .case import Case, step
from .case_run import (
    CaseRun,
    StepResponse,
    all_done,
    endings,
    first_time,
    lasting,
    must_tell,
    steering_of,
    step_response,
)
from .metric import Chart, Curve, Findings, Metric
from .proving_ground import Performing, with_theory
from .steady_state import steady_angle
from .subject import Subject, speed_needed, tyres_needed

PERIOD: s = 0.002
"""Between the samples of linear theory."""
SIDES = {"left": 1.0, "right": -1.0}
LONGEST_RISE: s = 1.0
"""Of the angle of a log, from 10 to 90 %, that is still a step."""
HELD = 0.8
"""Share of the largest angle that has to be left at the end of a step."""
LEAST_TURN: m_s2 = 0.3
"""Steady lateral acceleration of a log with a step in it."""


@dataclass(frozen=True)
class StepSteer:
    """A step of the angle at constant speed, to the left and to the right."""

    speed: m_s = 100.0 / 3.6
    """The standard one of ISO 7401; others differ from it in steps of 20 km/h."""
    a_y: m_s2 = 4.0
    """Lateral acceleration of the steady turn after the step."""
    rise: s = 0.05
    """In which the angle goes from 0 to its value."""
    duration: s = 4.0
    sides: tuple[str, ...] = ("left", "right")
    """To which it is driven; metrics are means of both."""
    one_drive: ClassVar[bool] = True
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
        runs = yield [self._case(side, SIDES[side] * angle) for side in self.sides]
        linear = self._linear(car, SIDES[self.sides[0]] * angle)
        at = 0.5 * self.rise
        done = all_done(runs)
        metrics = [
            replace(metric, value=np.where(done, metric.value, np.nan), theory=theory.value)
            for metric, theory in zip(_metrics(runs, at), _metrics([linear], at), strict=True)
        ]
        curves = [
            Curve(runs[0].t, runs[0]["omega"][:, 0], "yaw rate"),
            Curve(linear.t, linear["omega"][:, 0], "linear theory", "theory"),
        ]
        chart = Chart("Step steer", "time in s", "yaw rate in rad/s", curves)
        notes = endings(runs)
        if done[0] and np.isnan(metrics[1].value[0]):
            notes.append("yaw rate creeps up: it has no peak, and so no TB factor")
        return Findings(metrics, [chart], notes)

    def _linear(self, car: Subject, angle: Array) -> CaseRun:
        """What linear theory does with the same angle of each variant; of many variants it is known
        of the first alone, as each takes longer than its drive."""
        samples = round(self.duration / PERIOD) + 1
        few = with_theory(car)
        answers = [theory.ramp(self.rise, PERIOD, samples) for theory in few.theories(self.speed)]
        columns: dict[str, Array] = {}
        for name in ("v_y", "omega", "a_y"):
            columns[name] = np.full((samples, car.variants), np.nan)
            columns[name][:, : few.variants] = np.stack([one[name] for one in answers], axis=1)
            columns[name] *= angle
        columns["sideslip"] = columns["v_y"] / self.speed
        t: Array = PERIOD * np.arange(samples, dtype=float)
        return CaseRun("linear theory", t, columns)

    def adapted_to(self, drive: CaseRun) -> StepSteer:
        """With the speed, the lateral acceleration and the side of a log."""
        told = steering_of(drive)
        part = drive.since(told.when - 0.5 * self.rise, told.when + self.duration)
        angle = told.side * part["steer"]
        rise = np.diff([first_time(part.t, angle, share * told.angle)[0] for share in (0.1, 0.9)])
        held = angle[part.t > part.t[-1] - 0.5].mean() / told.angle
        if not (rise < LONGEST_RISE and held > HELD):
            raise InvalidValue(
                f"{drive.label} has no step of the wheels: their angle has to rise within "
                f"{LONGEST_RISE:g} s and to stay"
            )
        must_tell(drive, "a_y", "the test is driven to that of the steady turn")
        a_y = float(step_response(part, "a_y", told.when).steady[0])
        if not a_y > LEAST_TURN:
            raise InvalidValue(
                f"{drive.label} turns with {a_y:.2f} m/s² after the step; at least "
                f"{LEAST_TURN:g} m/s² are needed"
            )
        side = next(name for name, sign in SIDES.items() if sign == told.side)
        lasts = lasting(self.duration, part, told.when)
        return replace(self, speed=told.v, a_y=a_y, duration=lasts, sides=(side,))

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


def _mean(runs: Sequence[CaseRun], name: str, at: s) -> StepResponse:
    """Of both sides."""
    answers = [step_response(run, name, at) for run in runs]
    return StepResponse(*(np.mean(parts, axis=0) for parts in zip(*answers, strict=True)))


def _metrics(runs: Sequence[CaseRun], at: s) -> list[Metric]:
    """Means of drives whose angle has half of its value at a time."""
    yaw, across = (_mean(runs, name, at) for name in ("omega", "a_y"))
    ends = [np.abs(run.since(run.t[-1] - 0.5)["sideslip"]).mean(axis=0) for run in runs]
    slip = np.rad2deg(np.mean(ends, axis=0))
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
