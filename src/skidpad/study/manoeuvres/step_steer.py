"""Step steer (ISO 7401): how fast and how far a vehicle responds to a sudden turn of the wheel.

The angle is the one that gives a lateral acceleration in the steady turn; it is found in drives
before the test, as the standard has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.files import brief_repr
from ...errors import InvalidValue
from ...units import m_s, m_s2, s
from .case import steered, step
from .case_run import (
    SIDES,
    CaseRun,
    StepResponse,
    endings,
    first_time,
    lasting,
    must_tell,
    must_turn,
    steering_of,
    step_response,
)
from .manoeuvre import Performing, StandardManoeuvre, beside_theory, linear_drive
from .metric import Chart, Curve, Findings, Metric
from .steady_state import steady_angle
from .subject import Subject, grip_needed, speed_needed, tyres_needed

PERIOD: s = 0.002
"""Between the samples of linear theory."""
LONGEST_RISE: s = 1.0
"""Rise of the angle of a log, from 10 to 90 %, that is still a step."""
HELD = 0.8
"""Share of the largest angle that has to be left at the end of a step."""


@dataclass(frozen=True)
class StepSteer(StandardManoeuvre):
    """A step of the angle at constant speed, to the left and to the right."""

    speed: m_s = 100.0 / 3.6
    """The standard one of ISO 7401; others differ from it in steps of 20 km/h."""
    a_y: m_s2 = 4.0
    """Lateral acceleration of the steady turn after the step."""
    rise: s = 0.05
    """Time in which the angle goes from 0 to its value."""
    duration: s = 4.0
    sides: tuple[str, ...] = tuple(SIDES)
    """Sides to which it is driven; metrics are means of both."""
    one_drive = True
    name = "step_steer"
    title = "Step steer"
    source = "ISO 7401:2011, step input"
    needs = (tyres_needed, speed_needed, grip_needed)
    METRICS = """
    yaw_rate_rise_time [s]: From half the angle to 90 % of the steady yaw rate.
    yaw_rate_peak_time [s]: From half the angle to the peak of yaw rate.
    yaw_rate_overshoot []: Peak over the steady yaw rate, less one.
    lateral_acceleration_rise_time [s]: From half the angle to 90 % of the steady lateral
        acceleration.
    lateral_acceleration_overshoot []: Peak over the steady lateral acceleration, less one.
    steady_lateral_acceleration [m/s²]: Mean of the last half second.
    tb_factor [deg·s]: Steady sideslip in degrees times the peak time of yaw rate.
    """

    __repr__ = brief_repr

    def perform(self, car: Subject) -> Performing:
        """A first drive finds the angle, the others are the test."""
        angle = yield from steady_angle(car, self.speed, self.a_y)
        shape = step(0.0, self.rise)
        runs = yield [
            steered(side, self.duration, self.speed, shape, SIDES[side] * angle, run_in=0.5)
            for side in self.sides
        ]
        samples = round(self.duration / PERIOD) + 1
        first = SIDES[self.sides[0]] * angle
        linear = linear_drive(
            car, self.speed, first, PERIOD, lambda theory: theory.ramp(self.rise, PERIOD, samples)
        )
        metrics = beside_theory(runs, self._means(runs), self._means([linear]))
        curves = [
            Curve(runs[0].t, runs[0]["omega"][:, 0], "yaw rate"),
            Curve(linear.t, linear["omega"][:, 0], "linear theory", "theory"),
        ]
        notes = endings(runs)
        if all(run.done[0] for run in runs) and np.isnan(metrics[1].value[0]):
            notes.append("yaw rate creeps up: it has no peak, and so no TB factor")
        chart = Chart("Step steer", "time in s", "yaw rate in rad/s", curves)
        return Findings(metrics, [chart], notes)

    def _means(self, runs: Sequence[CaseRun]) -> list[Metric]:
        """Means of drives to both sides."""
        at = 0.5 * self.rise  # when the angle has half of its value
        yaw, across = (
            StepResponse(*np.mean([step_response(run, name, at) for run in runs], axis=0))
            for name in ("omega", "a_y")
        )
        ends = [np.abs(run.since(run.t[-1] - 0.5)["sideslip"]).mean(axis=0) for run in runs]
        return self.metrics(
            {
                "yaw_rate_rise_time": yaw.rise,
                "yaw_rate_peak_time": yaw.peak_time,
                "yaw_rate_overshoot": yaw.overshoot,
                "lateral_acceleration_rise_time": across.rise,
                "lateral_acceleration_overshoot": across.overshoot,
                "steady_lateral_acceleration": across.steady,
                "tb_factor": np.rad2deg(np.mean(ends, axis=0)) * yaw.peak_time,
            }
        )

    def adapted_to(self, drive: CaseRun) -> StepSteer:
        """With the speed, the lateral acceleration and the side of a log."""
        steering = steering_of(drive)
        part = drive.since(steering.when - 0.5 * self.rise, steering.when + self.duration)
        angle = steering.side * part["steer"]
        ends = [first_time(part.t, angle, share * steering.angle)[0] for share in (0.1, 0.9)]
        held = angle[part.t > part.t[-1] - 0.5].mean() / steering.angle
        if not (ends[1] - ends[0] < LONGEST_RISE and held > HELD):
            raise InvalidValue(
                f"{drive.label} has no step of the wheels: their angle has to rise within "
                f"{LONGEST_RISE:g} s and to stay"
            )
        must_tell(drive, "a_y", "the test is driven to that of the steady turn")
        a_y = float(step_response(part, "a_y", steering.when).steady[0])
        must_turn(drive, a_y, "after the step")
        lasts = lasting(self.duration, part, steering.when)
        side = steering.named(SIDES)
        return replace(self, speed=steering.v, a_y=a_y, duration=lasts, sides=side)
