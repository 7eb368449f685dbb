"""One period of a sine of the angle (ISO 7401): how late and how far a vehicle answers a change of
lane.

The amplitude is the one whose first peak of lateral acceleration is as asked; it is found in a
drive before the test. Peaks are compared one by one: the first and the second of the answer with
the first and the second of the angle of the front wheels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...units import m_s, m_s2, one, per_s, s
from .case import Case
from .case_run import CaseRun, all_done, endings, must_tell, peak_of, steering_of
from .metric import Chart, Curve, Findings, Metric
from .proving_ground import Performing, with_theory
from .subject import Subject, speed_needed, tyres_needed
from .theory import LinearCar

PERIOD: s = 0.002
"""Between the samples of linear theory."""
AFTER: s = 2.0
"""How long a drive goes on after the sine."""
ALIKE: one = 0.95
"""Correlation with the angle of the test from which on a log is one of it."""
LEAST_TURN: m_s2 = 0.3
"""Peak of lateral acceleration of a log of it."""
SIDES = {"left first": 1.0, "right first": -1.0}


@dataclass(frozen=True)
class SingleSine:
    """One period of a sine of the angle at constant speed, to both sides."""

    speed: m_s = 100.0 / 3.6
    """The standard one of ISO 7401; others differ from it in steps of 20 km/h."""
    frequency: per_s = 0.5
    """In Hz."""
    a_y: m_s2 = 4.0
    """Lateral acceleration at its first peak."""
    sides: tuple[str, ...] = tuple(SIDES)
    """To which it begins; metrics are means of both."""
    one_drive: ClassVar[bool] = True
    name: ClassVar[str] = "single_sine"
    title: ClassVar[str] = "Single sine"
    source: ClassVar[str] = "ISO 7401:2011, sinusoidal input, one period"

    __repr__ = brief_repr

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        lacks = tyres_needed(car) or speed_needed(car, self.speed)
        if not lacks and self.a_y > 0.8 * car.grip:
            return f"{car.name} has grip for {car.grip:.1f} m/s²; {self.a_y:g} m/s² is its limit"
        return lacks

    def perform(self, car: Subject) -> Performing:
        """A first drive finds the amplitude, the others are the test."""
        per_rad = _peaks(self._linear(car, np.ones(car.variants)), "a_y", self.frequency)
        # Of a vehicle whose angle is an integral of what it is told there is no theory.
        told = np.isfinite(car.theory(self.speed).gains["a_y"])
        guess = self.a_y / per_rad.height[0, :1] if told else np.array([np.nan])
        (tried,) = yield [self._case(car, "finds the amplitude", guess)]
        reached = _peaks(tried, "a_y", self.frequency).height[0]
        angle = guess * np.clip(self.a_y / np.maximum(reached, 1e-3), 0.3, 3.0)
        runs = yield [self._case(car, side, SIDES[side] * angle) for side in self.sides]
        linear = self._linear(car, angle)
        done = all_done(runs)
        metrics = [
            replace(metric, value=np.where(done, metric.value, np.nan), theory=theory.value)
            for metric, theory in zip(self._metrics(runs), self._metrics([linear]), strict=True)
        ]
        return Findings(metrics, _charts(runs[0], linear, SIDES[self.sides[0]]), endings(runs))

    def adapted_to(self, drive: CaseRun) -> SingleSine:
        """With the speed, the first peak of lateral acceleration and the side of a log."""
        told = steering_of(drive)
        must_tell(drive, "a_y", "the test is driven to the first peak of it", changing=True)
        begin = told.when - np.arcsin(0.5) / (2.0 * np.pi * self.frequency)
        moved = CaseRun(drive.label, drive.t - begin, drive.signals)
        part = moved.since(-0.5 / self.frequency, 1.0 / self.frequency + AFTER)
        asked = told.side * one_period(self.frequency * part.t)
        if not np.corrcoef(asked, part["steer"][:, 0])[0, 1] > ALIKE:
            raise InvalidValue(
                f"{drive.label} has no single sine of {self.frequency:g} Hz: its wheels are turned "
                "otherwise"
            )
        if part.t[-1] < 1.5 / self.frequency:
            raise InvalidValue(
                f"{drive.label} ends {part.t[-1]:.2f} s after the wheels are turned; "
                f"{1.5 / self.frequency:.2f} s are needed"
            )
        a_y = float(_peaks(part, "a_y", self.frequency).height[0, 0])
        if not a_y > LEAST_TURN:
            raise InvalidValue(
                f"{drive.label} turns with {a_y:.2f} m/s² at most; at least {LEAST_TURN:g} m/s² "
                "are needed"
            )
        side = next(name for name, sign in SIDES.items() if sign == told.side)
        return replace(self, speed=told.v, a_y=a_y, sides=(side,))

    def _case(self, car: Subject, label: str, angle: Array) -> Case:
        most = car.limits.steer_max
        return Case(
            label=label,
            duration=_lasts(self.frequency),
            v=self.speed,
            speed=self.speed,
            steer=lambda t: one_period(self.frequency * t),
            amplitude=np.clip(angle, -most, most),
            run_in=0.5,
        )

    def _linear(self, car: Subject, angle: Array) -> CaseRun:
        """What linear theory does with the same amplitude, begun to the left; of many variants it
        is known of the first alone, as each takes longer than its drive."""
        t: Array = PERIOD * np.arange(round(_lasts(self.frequency) / PERIOD) + 1, dtype=float)
        few = with_theory(car)
        answers = [answer(theory, self.frequency, len(t)) for theory in few.theories(self.speed)]
        columns = {name: np.full((len(t), car.variants), np.nan) for name in LinearCar.OUTPUTS}
        for name, rows in columns.items():
            rows[:, : few.variants] = np.stack([one[name] for one in answers], axis=1)
            rows *= angle
        return CaseRun("linear theory", t, columns)

    def _metrics(self, runs: Sequence[CaseRun]) -> list[Metric]:
        f = self.frequency
        yaw, across = (_Answer.of(runs, name, f) for name in ("omega", "a_y"))
        return [
            Metric("yaw_rate_delay", yaw.delay[0], "s",
                   "From the first peak of the angle of the front wheels to that of yaw rate."),
            Metric("yaw_rate_second_delay", yaw.delay[1], "s", "From the second peak to that."),
            Metric("lateral_acceleration_delay", across.delay[0], "s",
                   "From the first peak of the angle of the front wheels to that of lateral "
                   "acceleration."),
            Metric("lateral_acceleration_second_delay", across.delay[1], "s",
                   "From the second peak to that."),
            Metric("peak_yaw_rate", yaw.height[0], "rad/s", "At the first peak."),
            Metric("peak_lateral_acceleration", across.height[0], "m/s²", "At the first peak."),
            Metric("yaw_rate_gain", yaw.gain[0], "1/s",
                   "First peak of yaw rate over that of the angle of the front wheels."),
            Metric("lateral_acceleration_gain", across.gain[0], "m/s²/rad",
                   "First peak of lateral acceleration over that of the angle."),
            Metric("yaw_rate_gain_ratio", yaw.gain[1] / yaw.gain[0], "",
                   "Gain of yaw rate at the second peak over that at the first."),
            Metric("lateral_acceleration_gain_ratio", across.gain[1] / across.gain[0], "",
                   "Gain of lateral acceleration at the second peak over that at the first."),
        ]  # fmt: skip


def one_period(turns: Array) -> Array:
    """A sine from 0 to 1 turn, nothing else."""
    return np.where((turns < 0.0) | (turns > 1.0), 0.0, np.sin(2.0 * np.pi * turns))


def _lasts(frequency: per_s) -> s:
    return float(np.ceil(1.0 / frequency + AFTER))


def answer(theory: LinearCar, frequency: per_s, samples: int) -> dict[str, Array]:
    """Of a linear system to one period of height 1, each (samples,): the sine is taken as straight
    from sample to sample, and each such piece is a ramp whose answer is exact."""
    angle = one_period(frequency * PERIOD * np.arange(samples, dtype=float))
    size = 2 * samples
    pieces = np.fft.rfft(np.diff(angle), size)
    return {
        name: np.fft.irfft(pieces * np.fft.rfft(ramp, size), size)[:samples]
        for name, ramp in theory.ramp(PERIOD, PERIOD, samples).items()
    }


class _Peaks(NamedTuple):
    """Of one drive, each (2, V): the first and the second peak."""

    time: Array
    height: Array


def _peaks(run: CaseRun, name: str, frequency: per_s) -> _Peaks:
    """To the side to which the drive begins, and to the other."""
    kept = run.since(0.0)
    early = kept.since(0.0, 0.5 / frequency)
    side = np.sign(early["steer"].sum(axis=0))
    answer = side * kept[name]
    first = peak_of(kept.t, np.where(kept.t[:, None] < 0.75 / frequency, answer, -np.inf))
    late = kept.t > 0.5 / frequency
    second = peak_of(kept.t[late], -answer[late])
    return _Peaks(*(np.stack(pair) for pair in zip(first, second, strict=True)))


class _Answer(NamedTuple):
    """Means of both sides, each (2, V): at the first and the second peak."""

    delay: Array
    height: Array
    gain: Array

    @staticmethod
    def of(runs: Sequence[CaseRun], name: str, frequency: per_s) -> _Answer:
        """Of a signal."""
        sides: list[tuple[Array, Array, Array]] = []
        for run in runs:
            angle, own = (_peaks(run, one, frequency) for one in ("steer", name))
            gain = own.height / angle.height
            sides.append((own.time - angle.time, own.height, gain))
        return _Answer(*(np.mean(parts, axis=0) for parts in zip(*sides, strict=True)))


def _charts(run: CaseRun, linear: CaseRun, side: one) -> list[Chart]:
    named = {"omega": "yaw rate in rad/s", "a_y": "lateral acceleration in m/s²"}
    return [
        Chart(
            f"Single sine: {label.split(' in ')[0]}",
            "time in s",
            label,
            [
                Curve(run.t, run[name][:, 0], run.label),
                Curve(linear.t, side * linear[name][:, 0], "linear theory", "theory"),
            ],
        )
        for name, label in named.items()
    ]
