"""Transition test (ISO 13674-2): how a vehicle begins to turn from straight ahead.

At constant speed the angle grows slowly and evenly. Over it, lateral acceleration and yaw rate are
nearly straight lines, found by linear regression. Their slope is the gradient. The angle at which
the line of the beginning crosses zero is the dead band, which is turned before the vehicle seems to
answer. For a linear vehicle it is the rate of the angle times the delay of the answer; friction and
play of a steering, which the vehicles here do not have, would add to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..brief import brief_repr
from ..errors import InvalidValue
from ..units import m_s, m_s2, one, s
from .blocks import with_theory
from .case import Case, ramp
from .case_run import CaseRun, all_done, endings
from .fitness import speed_needed, tyres_needed
from .how_driven import must_tell, steering_of
from .metric import Chart, Curve, Findings, Metric
from .proving_ground import Performing
from .steady_state import angle_line
from .step_response import first_time
from .subject import Subject

__all__ = ["Transition"]

PERIOD: s = 0.01
"""Between the samples of linear theory."""
BEYOND: one = 1.2
"""Final angle over the one at which linear theory reaches `a_y`."""
CENTRE: tuple[one, one] = 1.0 / 15.0, 1.0 / 3.0
"""Shares of lateral acceleration between which the vehicle begins to turn: 0.1 to 0.5 m/s²."""
TURNING: tuple[one, one] = 1.0 / 3.0, 1.0
"""Shares between which it turns: 0.5 to 1.5 m/s²."""
EVEN: one = 0.98
"""Least correlation of angle and time with which the angle of a log grows evenly."""
SIDES = {"left": 1.0, "right": -1.0}


@dataclass(frozen=True)
class Transition:
    """An angle that grows slowly from straight ahead, to the left and to the right."""

    speed: m_s = 100.0 / 3.6
    """That of the weave test."""
    a_y: m_s2 = 1.5
    """Lateral acceleration at the end of the evaluation, up to which tyres are nearly linear."""
    duration: s = 6.0
    """Time in which the angle grows to a fifth more than linear theory needs for `a_y`."""
    sides: tuple[str, ...] = tuple(SIDES)
    """To which it is driven; metrics are means of both."""
    name: ClassVar[str] = "transition"
    title: ClassVar[str] = "Transition test"
    source: ClassVar[str] = "ISO 13674-2:2016"

    __repr__ = brief_repr

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        lacks = tyres_needed(car) or speed_needed(car, self.speed)
        if not lacks and self.a_y > 0.5 * car.grip:
            return (
                f"{car.name} has grip for {car.grip:.1f} m/s²; up to {self.a_y:g} m/s² its tyres "
                "are far from linear"
            )
        return lacks

    def perform(self, car: Subject) -> Performing:
        """To each side."""
        gains = [theory.gains["a_y"] for theory in with_theory(car).theories(self.speed)]
        angle = np.full(car.variants, BEYOND * self.a_y / gains[0])
        angle[: len(gains)] = BEYOND * self.a_y / np.array(gains)
        runs = yield [
            Case(
                label=side,
                duration=self.duration,
                v=self.speed,
                speed=self.speed,
                steer=ramp(1.0 / self.duration),
                amplitude=SIDES[side] * angle,
                run_in=0.5,
            )
            for side in self.sides
        ]
        linear = self.linear(car, angle)
        done = all_done(runs)
        metrics = [
            replace(metric, value=np.where(done, metric.value, np.nan), theory=theory.value)
            for metric, theory in zip(self.metrics(runs), self.metrics([linear]), strict=True)
        ]
        return Findings(metrics, _charts(runs[0], linear, SIDES[self.sides[0]]), endings(runs))

    def adapted_to(self, drive: CaseRun) -> Transition:
        """The same test at the speed, to the side and with the steering rate of a log."""
        steering = steering_of(drive)
        must_tell(drive, "a_y", "how far the ramp goes is unknown")
        a_y, angle = (steering.side * drive[name][:, 0] for name in ("a_y", "steer"))
        shares = (CENTRE[0], 1.0)
        first, last = (first_time(drive.t, a_y[:, None], k * self.a_y)[0] for k in shares)
        rising = (drive.t >= first) & (drive.t <= last)
        if not np.isfinite(last) or rising.sum() < 5:
            raise InvalidValue(
                f"{drive.label} turns with {a_y.max():.2f} m/s² at most; {self.a_y:g} m/s² are "
                "needed"
            )
        if not np.corrcoef(drive.t[rising], angle[rising])[0, 1] > EVEN:
            raise InvalidValue(
                f"{drive.label} has no slow ramp up to {self.a_y:g} m/s²: its wheels are not "
                "turned evenly"
            )
        rate, at_zero = np.polyfit(drive.t[rising], angle[rising], 1)
        lasts = max(round(BEYOND * (last + at_zero / rate), 2), 0.1)
        side = next(name for name, sign in SIDES.items() if sign == steering.side)
        v = float(drive["v_x"][rising].mean())
        return replace(self, speed=v, duration=float(lasts), sides=(side,))

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """From a log of one ramp."""
        begin = CaseRun(drive.label, drive.t - drive.t[0], drive.signals, source=drive.source)
        peak = int(np.abs(drive["steer"][:, 0]).argmax())
        # What comes after the largest angle is the way back.
        way = begin.since(0.0, float(begin.t[peak]))
        return Findings(self.metrics([way]), _charts(way, None, 1.0), endings([way]))

    def linear(self, car: Subject, angle: Array) -> CaseRun:
        """Drives of linear theory on the same ramp, scaled by `angle`, (variants,), in rad.

        Columns of variants whose theory is not computed are NaN; see `with_theory`.
        """
        samples, few = round(self.duration / PERIOD) + 1, with_theory(car)
        answers = [one.ramp(self.duration, PERIOD, samples) for one in few.theories(self.speed)]
        columns: dict[str, Array] = {}
        for name in ("steer", "omega", "a_y"):
            columns[name] = np.full((samples, car.variants), np.nan)
            columns[name][:, : few.variants] = np.stack([one[name] for one in answers], axis=1)
            columns[name] *= angle
        t: Array = PERIOD * np.arange(samples, dtype=float)
        return CaseRun("linear theory", t, columns)

    def metrics(self, runs: Sequence[CaseRun]) -> list[Metric]:
        """Means of ramps to either side."""

        def mean(name: str, shares: tuple[one, one]) -> tuple[Array, Array]:
            """Gradient and dead band of a signal between shares of its largest value."""
            most = self.a_y if name == "a_y" else self.a_y / self.speed
            lines = [angle_line(run, name, *(share * most for share in shares)) for run in runs]
            gradients = np.mean([1.0 / line.slope for line in lines], axis=0)
            return gradients, np.mean([line.at_zero for line in lines], axis=0)

        across, _ = mean("a_y", TURNING)
        centre, dead = mean("a_y", CENTRE)
        yaw, _ = mean("omega", TURNING)
        _, yaw_dead = mean("omega", CENTRE)
        low, middle, high = (f"{k * self.a_y:.2g}" for k in (*CENTRE, TURNING[1]))
        return [
            Metric(
                "steering_sensitivity", across, "m/s²/rad",
                f"Lateral acceleration per angle of the front wheels from {middle} to {high} m/s².",
            ),
            Metric(
                "steering_sensitivity_at_centre", centre, "m/s²/rad",
                f"The same from {low} to {middle} m/s².",
            ),
            Metric(
                "lateral_acceleration_angle_dead_band", dead, "rad",
                f"Angle at which the line from {low} to {middle} m/s² has none.",
            ),
            Metric(
                "yaw_rate_gradient", yaw, "1/s",
                f"Yaw rate per angle of the front wheels, from {middle} to {high} m/s² by speed.",
            ),
            Metric(
                "yaw_rate_angle_dead_band", yaw_dead, "rad",
                f"Angle at which the line from {low} to {middle} m/s² by speed has no yaw rate.",
            ),
        ]  # fmt: skip


def _charts(run: CaseRun, linear: CaseRun | None, side: one) -> list[Chart]:
    named = {"a_y": "lateral acceleration in m/s²", "omega": "yaw rate in rad/s"}
    kept = run.since(0.0)
    charts: list[Chart] = []
    for name, label in named.items():
        curves = [Curve(kept["steer"][:, 0], kept[name][:, 0], run.label)]
        if linear is not None:
            x, y = (side * linear[one][:, 0] for one in ("steer", name))
            curves.append(Curve(x, y, "linear theory", "theory"))
        title = f"Transition test: {label.split(' in ')[0]}"
        charts.append(Chart(title, "angle of the front wheels in rad", label, curves))
    return charts
