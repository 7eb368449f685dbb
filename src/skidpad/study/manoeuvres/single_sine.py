"""One period of a sine of the angle (ISO 7401): how late and how far a vehicle responds to a change
of lane.

The amplitude is the one whose first peak of lateral acceleration is as demanded; it is found in a
drive before the test. Peaks are compared one by one: the first and the second of the response with
the first and the second of the angle of the front wheels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.files import brief_repr
from ...units import m_s, m_s2, per_s, s
from .case import Case, steered
from .case_run import (
    BEGINNINGS,
    CaseRun,
    endings,
    must_follow,
    must_last,
    must_tell,
    must_turn,
    peak_of,
    steering_of,
)
from .manoeuvre import Performing, StandardManoeuvre, beside_theory, linear_drive
from .metric import Chart, Curve, Findings, Metric
from .subject import Subject, grip_needed, speed_needed, tyres_needed
from .theory import LinearCar

PERIOD: s = 0.002
"""Between the samples of linear theory."""
AFTER: s = 2.0
"""Duration of a drive after the sine."""


@dataclass(frozen=True)
class SingleSine(StandardManoeuvre):
    """One period of a sine of the angle at constant speed, to both sides."""

    speed: m_s = 100.0 / 3.6
    """The standard one of ISO 7401; others differ from it in steps of 20 km/h."""
    frequency: per_s = 0.5
    """In Hz."""
    a_y: m_s2 = 4.0
    """Lateral acceleration at its first peak."""
    sides: tuple[str, ...] = tuple(BEGINNINGS)
    """Sides to which it begins; metrics are means of both."""
    one_drive = True
    name = "single_sine"
    title = "Single sine"
    source = "ISO 7401:2011, sinusoidal input, one period"
    needs = (tyres_needed, speed_needed, grip_needed)
    METRICS = """
    yaw_rate_delay [s]: From the first peak of the angle of the front wheels to that of yaw rate.
    yaw_rate_second_delay [s]: From the second peak to that.
    lateral_acceleration_delay [s]: From the first peak of the angle of the front wheels to that of
        lateral acceleration.
    lateral_acceleration_second_delay [s]: From the second peak to that.
    peak_yaw_rate [rad/s]: At the first peak.
    peak_lateral_acceleration [m/s²]: At the first peak.
    yaw_rate_gain [1/s]: First peak of yaw rate over that of the angle of the front wheels.
    lateral_acceleration_gain [m/s²/rad]: First peak of lateral acceleration over that of the angle.
    yaw_rate_gain_ratio []: Gain of yaw rate at the second peak over that at the first.
    lateral_acceleration_gain_ratio []: Gain of lateral acceleration at the second peak over that
        at the first.
    """

    __repr__ = brief_repr

    def perform(self, car: Subject) -> Performing:
        """A first drive finds the amplitude, the others are the test."""
        per_rad = self._peaks(self._linear(car, np.ones(car.variants)), "a_y")
        # A vehicle whose angle is an integral of its input has no theory.
        known = np.isfinite(car.theory(self.speed).gains["a_y"])
        guess = self.a_y / per_rad.height[0, :1] if known else np.array([np.nan])
        (tried,) = yield [self._case(car, "finds the amplitude", guess)]
        reached = self._peaks(tried, "a_y").height[0]
        angle = guess * np.clip(self.a_y / np.maximum(reached, 1e-3), 0.3, 3.0)
        runs = yield [self._case(car, side, BEGINNINGS[side] * angle) for side in self.sides]
        linear, side = self._linear(car, angle), BEGINNINGS[self.sides[0]]
        charts = [
            Chart(
                f"Single sine: {words}",
                "time in s",
                f"{words} in {unit}",
                [
                    Curve(runs[0].t, runs[0][name][:, 0], runs[0].label),
                    Curve(linear.t, side * linear[name][:, 0], "linear theory", "theory"),
                ],
            )
            for name, words, unit in (
                ("omega", "yaw rate", "rad/s"),
                ("a_y", "lateral acceleration", "m/s²"),
            )
        ]
        metrics = beside_theory(runs, self._means(runs), self._means([linear]))
        return Findings(metrics, charts, endings(runs))

    @property
    def _duration(self) -> s:
        return float(np.ceil(1.0 / self.frequency + AFTER))

    def _case(self, car: Subject, label: str, angle: Array) -> Case:
        most, f = car.limits.steer_max, self.frequency
        angle = np.clip(angle, -most, most)
        duration = self._duration
        return steered(label, duration, self.speed, lambda t: one_period(f * t), angle, run_in=0.5)

    def _linear(self, car: Subject, angle: Array) -> CaseRun:
        """The drive of linear theory with the same amplitude, begun to the left."""
        samples = round(self._duration / PERIOD) + 1
        return linear_drive(
            car, self.speed, angle, PERIOD, lambda car: response(car, self.frequency, samples)
        )

    def _peaks(self, run: CaseRun, name: str) -> _Peaks:
        """Peaks to the side to which the drive begins, and to the other."""
        kept = run.since(0.0)
        early = kept.since(0.0, 0.5 / self.frequency)
        signal = np.sign(early["steer"].sum(axis=0)) * kept[name]
        begins = kept.t[:, None] < 0.75 / self.frequency
        first = peak_of(kept.t, np.where(begins, signal, -np.inf))
        late = kept.t > 0.5 / self.frequency
        second = peak_of(kept.t[late], -signal[late])
        return _Peaks(*(np.stack(pair) for pair in zip(first, second, strict=True)))

    def _means(self, runs: Sequence[CaseRun]) -> list[Metric]:
        """Means of drives to both sides."""
        angles = [self._peaks(run, "steer") for run in runs]

        def means(name: str) -> tuple[Array, Array, Array]:
            """Delay, height and gain of a signal at its first and its second peak, each (2, V)."""
            pairs = [(self._peaks(run, name), a) for run, a in zip(runs, angles, strict=True)]
            each = [(own.time - a.time, own.height, own.height / a.height) for own, a in pairs]
            delay, height, gain = np.mean(each, axis=0)
            return delay, height, gain

        (yaw_delay, yaw, yaw_gain), (delay, a_y, gain) = means("omega"), means("a_y")
        return self.metrics(
            {
                "yaw_rate_delay": yaw_delay[0],
                "yaw_rate_second_delay": yaw_delay[1],
                "lateral_acceleration_delay": delay[0],
                "lateral_acceleration_second_delay": delay[1],
                "peak_yaw_rate": yaw[0],
                "peak_lateral_acceleration": a_y[0],
                "yaw_rate_gain": yaw_gain[0],
                "lateral_acceleration_gain": gain[0],
                "yaw_rate_gain_ratio": yaw_gain[1] / yaw_gain[0],
                "lateral_acceleration_gain_ratio": gain[1] / gain[0],
            }
        )

    def adapted_to(self, drive: CaseRun) -> SingleSine:
        """With the speed, the first peak of lateral acceleration and the side of a log."""
        steering, f = steering_of(drive), self.frequency
        must_tell(drive, "a_y", "the test is driven to the first peak of it", changing=True)
        begin = steering.when - np.arcsin(0.5) / (2.0 * np.pi * f)
        moved = CaseRun(drive.label, drive.t - begin, drive.signals)
        part = moved.since(-0.5 / f, 1.0 / f + AFTER)
        sine = steering.side * one_period(f * part.t)
        must_follow(drive, part["steer"][:, 0], sine, f"single sine of {f:g} Hz")
        must_last(drive, part.t[-1], 1.5 / f)
        a_y = float(self._peaks(part, "a_y").height[0, 0])
        must_turn(drive, a_y, "at most")
        return replace(self, speed=steering.v, a_y=a_y, sides=steering.named(BEGINNINGS))


class _Peaks(NamedTuple):
    """The first and the second peak of a signal, each (2, V)."""

    time: Array
    height: Array


def one_period(turns: Array) -> Array:
    """A sine from 0 to 1 turn, zero elsewhere."""
    return np.where((turns < 0.0) | (turns > 1.0), 0.0, np.sin(2.0 * np.pi * turns))


def response(theory: LinearCar, frequency: per_s, samples: int) -> dict[str, Array]:
    """Response of a linear system to one period of height 1, each (samples,).

    The sine is taken as straight from sample to sample; each such piece is a ramp, whose response
    is exact.
    """
    angle = one_period(frequency * PERIOD * np.arange(samples, dtype=float))
    size = 2 * samples
    pieces = np.fft.rfft(np.diff(angle), size)
    return {
        name: np.fft.irfft(pieces * np.fft.rfft(ramp, size), size)[:samples]
        for name, ramp in theory.ramp(PERIOD, PERIOD, samples).items()
    }
