"""Lateral transient response: step steer and single sine (ISO 7401), sine with dwell (FMVSS 126).

Step steer: delay and size of the response to a sudden change of the steering angle. The angle is
the one that gives a lateral acceleration in the steady turn; it is found in runs before the test,
as the standard requires.

Single sine: delay and size of the response to one period of a sine of the angle, which resembles a
lane change. The amplitude is the one whose first peak of lateral acceleration is as demanded; it is
found in a run before the test. Peaks are compared one by one: the first and the second of the
response with the first and the second of the angle of the front wheels.

Sine with dwell (also UN R140): whether the vehicle stays stable and still responds. One period of a
sine of 0.7 Hz that dwells at its second peak, with the throttle released, at ever larger angles.
The unit of the angle, A in the standards, is that at 0.3 g in slow ramps to both sides, found
beforehand by linear regression. The angles grow from 1.5 A by 0.5 A to the larger of 6.5 A and 270°
of the steering wheel, at most 300° (49 CFR 571.126, S7.9.4). That needs a vehicle with a steering
wheel, or `steering_ratio`; without either the last angle is 6.5 A, and a note says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...units import kg, m_s, m_s2, one, per_s, rad, s
from .case import Case, G, before, steered, step
from .case_run import (
    BEGINNINGS,
    SIDES,
    CaseRun,
    StepResponse,
    endings,
    first_time,
    peak_of,
    step_response,
    values_at,
)
from .manoeuvre import (
    Chart,
    Curve,
    Findings,
    Metric,
    Performing,
    StandardManoeuvre,
    chart,
    compare_with_theory,
    curve,
    linear_drive,
)
from .steady_state import angle_line, steady_angle
from .subject import LinearCar, Subject, grip_needed, speed_needed, tyres_needed

PERIOD: s = 0.002
"""Sample time of linear theory."""
LONGEST_RISE: s = 1.0
"""Longest rise time of the angle of a log, from 10 to 90 %, that still counts as a step."""
HELD = 0.8
"""Least share of the largest angle that remains at the end of a step."""


@dataclass(frozen=True)
class StepSteer(StandardManoeuvre):
    """Step of the angle at constant speed, to the left and to the right."""

    speed: m_s = 100.0 / 3.6
    """Speed; the default is the standard speed of ISO 7401, others differ from it in steps of 20
    km/h."""
    a_y: m_s2 = 4.0
    """Lateral acceleration of the steady turn after the step."""
    rise: s = 0.05
    """Time in which the angle rises from 0 to its final value."""
    duration: s = 4.0
    sides: tuple[str, ...] = tuple(SIDES)
    """Sides to which the step is driven; metrics are means of both."""
    one_drive = True
    name = "step_steer"
    title = "Step steer"
    source = "ISO 7401:2011, step input"
    needs = (tyres_needed, speed_needed, grip_needed)
    METRICS = """
    yaw_rate_rise_time [s]: Time from half the angle to 90 % of the steady yaw rate.
    yaw_rate_peak_time [s]: Time from half the angle to the peak of yaw rate.
    yaw_rate_overshoot []: Peak relative to the steady yaw rate, minus one.
    lateral_acceleration_rise_time [s]: Time from half the angle to 90 % of the steady lateral
        acceleration.
    lateral_acceleration_overshoot []: Peak relative to the steady lateral acceleration, minus
        one.
    steady_lateral_acceleration [m/s²]: Mean lateral acceleration of the last half second.
    tb_factor [deg·s]: Steady sideslip in degrees times the peak time of yaw rate.
    """

    __repr__ = brief_repr

    def perform(self, car: Subject) -> Performing:
        """Find the angle in a first run, then drive the test."""
        angle = yield from steady_angle(car, self.speed, self.a_y)
        shape = step(0.0, self.rise)
        runs = yield [
            steered(side, self.duration, self.speed, shape, SIDES[side] * angle, run_in=0.5)
            for side in self.sides
        ]
        samples, first = round(self.duration / PERIOD) + 1, SIDES[self.sides[0]] * angle
        linear = linear_drive(
            car, self.speed, first, PERIOD, lambda theory: theory.ramp(self.rise, PERIOD, samples)
        )
        metrics = compare_with_theory(runs, self._means(runs), self._means([linear]))
        notes = endings(runs)
        if all(run.done[0] for run in runs) and np.isnan(metrics[1].value[0]):
            notes.append("yaw rate creeps up: it has no peak, and so no TB factor")
        shown = curve(runs[0], "t", "omega", "yaw rate"), curve(linear, "t", "omega", kind="theory")
        return Findings(metrics, [chart("Step steer", "t", "omega", *shown)], notes)

    def _means(self, runs: Sequence[CaseRun]) -> list[Metric]:
        """Metrics as means of the runs to both sides."""
        at = 0.5 * self.rise  # when the angle has half of its value
        each = ([step_response(run, name, at) for run in runs] for name in ("omega", "a_y"))
        yaw, across = (StepResponse(*np.mean(responses, axis=0)) for responses in each)
        ends = [np.abs(run.since(run.t[-1] - 0.5)["sideslip"]).mean(axis=0) for run in runs]
        return self.metrics(
            yaw_rate_rise_time=yaw.rise,
            yaw_rate_peak_time=yaw.peak_time,
            yaw_rate_overshoot=yaw.overshoot,
            lateral_acceleration_rise_time=across.rise,
            lateral_acceleration_overshoot=across.overshoot,
            steady_lateral_acceleration=across.steady,
            tb_factor=np.rad2deg(np.mean(ends, axis=0)) * yaw.peak_time,
        )

    def adapted_to(self, drive: CaseRun) -> StepSteer:
        """Return the test with the speed, the lateral acceleration and the side of a log."""
        steering = drive.steering()
        part = drive.since(steering.when - 0.5 * self.rise, steering.when + self.duration)
        angle = steering.side * part["steer"]
        ends = [first_time(part.t, angle, share * steering.angle)[0] for share in (0.1, 0.9)]
        held = angle[part.t > part.t[-1] - 0.5].mean() / steering.angle
        if not (ends[1] - ends[0] < LONGEST_RISE and held > HELD):
            raise InvalidValue(
                f"{drive.label} has no step of the wheels: their angle has to rise within "
                f"{LONGEST_RISE:g} s and to stay"
            )
        drive.require_signal("a_y", "the test is driven to that of the steady turn")
        a_y = float(step_response(part, "a_y", steering.when).steady[0])
        drive.require_turning(a_y, "after the step")
        lasts = part.comparable_duration(self.duration, steering.when)
        side = steering.named(SIDES)
        return replace(self, speed=steering.v, a_y=a_y, duration=lasts, sides=side)


AFTER: s = 2.0
"""Time after the sine."""


@dataclass(frozen=True)
class SingleSine(StandardManoeuvre):
    """One period of a sine of the angle at constant speed, to both sides."""

    speed: m_s = 100.0 / 3.6
    """Speed; the default is the standard speed of ISO 7401, others differ from it in steps of 20
    km/h."""
    frequency: per_s = 0.5
    """Frequency in Hz."""
    a_y: m_s2 = 4.0
    """First peak of lateral acceleration."""
    sides: tuple[str, ...] = tuple(BEGINNINGS)
    """Sides to which the sine begins; metrics are means of both."""
    one_drive = True
    name = "single_sine"
    title = "Single sine"
    source = "ISO 7401:2011, sinusoidal input, one period"
    needs = (tyres_needed, speed_needed, grip_needed)
    METRICS = """
    yaw_rate_delay [s]: Time from the first peak of the angle of the front wheels to the first
        peak of yaw rate.
    yaw_rate_second_delay [s]: Time between the second peaks of the two.
    lateral_acceleration_delay [s]: Time from the first peak of the angle of the front wheels to
        the first peak of lateral acceleration.
    lateral_acceleration_second_delay [s]: Time between the second peaks of the two.
    peak_yaw_rate [rad/s]: Yaw rate at its first peak.
    peak_lateral_acceleration [m/s²]: Lateral acceleration at its first peak.
    yaw_rate_gain [1/s]: First peak of yaw rate divided by that of the angle of the front
        wheels.
    lateral_acceleration_gain [m/s²/rad]: First peak of lateral acceleration divided by that of
        the angle.
    yaw_rate_gain_ratio []: Gain of yaw rate at the second peak divided by that at the first.
    lateral_acceleration_gain_ratio []: Gain of lateral acceleration at the second peak divided
        by that at the first.
    """

    __repr__ = brief_repr

    def perform(self, car: Subject) -> Performing:
        """Find the amplitude in a first run, then drive the test."""
        per_rad = self._peaks(self._linear(car, np.ones(car.variants)), "a_y")
        # Linear theory does not exist for a vehicle whose input is a steering rate.
        known = np.isfinite(car.theory(self.speed).gains["a_y"])
        guess = self.a_y / per_rad.height[0, :1] if known else np.array([np.nan])
        (tried,) = yield [self._case(car, "finds the amplitude", guess)]
        reached = self._peaks(tried, "a_y").height[0]
        angle = guess * np.clip(self.a_y / np.maximum(reached, 1e-3), 0.3, 3.0)
        runs = yield [self._case(car, side, BEGINNINGS[side] * angle) for side in self.sides]
        linear, side = self._linear(car, angle), BEGINNINGS[self.sides[0]]
        charts: list[Chart] = []
        for name, words in (("omega", "yaw rate"), ("a_y", "lateral acceleration")):
            theory = Curve(linear.t, side * linear[name][:, 0], linear.label, "theory")
            charts.append(chart(f"Single sine: {words}", "t", name, runs[0], theory))
        metrics = compare_with_theory(runs, self._means(runs), self._means([linear]))
        return Findings(metrics, charts, endings(runs))

    @property
    def _duration(self) -> s:
        return float(np.ceil(1.0 / self.frequency + AFTER))

    def _case(self, car: Subject, label: str, angle: Array) -> Case:
        most, T = car.limits.steer_max, self._duration
        angle = np.clip(angle, -most, most)
        return steered(label, T, self.speed, lambda t: one_period(self.frequency * t), angle, 0.5)

    def _linear(self, car: Subject, angle: Array) -> CaseRun:
        """Run according to linear theory with the same amplitude, first to the left."""
        samples = round(self._duration / PERIOD) + 1
        return linear_drive(
            car, self.speed, angle, PERIOD, lambda car: response(car, self.frequency, samples)
        )

    def _peaks(self, run: CaseRun, name: str) -> _Peaks:
        """Peaks to the side on which the sine begins, and to the other side."""
        kept = run.since(0.0)
        early = kept.since(0.0, 0.5 / self.frequency)
        signal = np.sign(early["steer"].sum(axis=0)) * kept[name]
        begins = kept.t[:, None] < 0.75 / self.frequency
        late = kept.t > 0.5 / self.frequency
        first = peak_of(kept.t, np.where(begins, signal, -np.inf))
        second = peak_of(kept.t[late], -signal[late])
        return _Peaks(*(np.stack(pair) for pair in zip(first, second, strict=True)))

    def _means(self, runs: Sequence[CaseRun]) -> list[Metric]:
        angles = [self._peaks(run, "steer") for run in runs]

        def means(name: str) -> tuple[Array, Array, Array]:
            """Delay, height and gain of a signal at its first and its second peak, each (2, V)."""
            pairs = [(self._peaks(run, name), a) for run, a in zip(runs, angles, strict=True)]
            each = [(own.time - a.time, own.height, own.height / a.height) for own, a in pairs]
            delay, height, gain = np.mean(each, axis=0)
            return delay, height, gain

        (yaw_delay, yaw, yaw_gain), (delay, a_y, gain) = means("omega"), means("a_y")
        return self.metrics(
            yaw_rate_delay=yaw_delay[0],
            yaw_rate_second_delay=yaw_delay[1],
            lateral_acceleration_delay=delay[0],
            lateral_acceleration_second_delay=delay[1],
            peak_yaw_rate=yaw[0],
            peak_lateral_acceleration=a_y[0],
            yaw_rate_gain=yaw_gain[0],
            lateral_acceleration_gain=gain[0],
            yaw_rate_gain_ratio=yaw_gain[1] / yaw_gain[0],
            lateral_acceleration_gain_ratio=gain[1] / gain[0],
        )

    def adapted_to(self, drive: CaseRun) -> SingleSine:
        """Return the test with the speed, the first peak of lateral acceleration and the side of a
        log."""
        steering, f = drive.steering(), self.frequency
        drive.require_signal("a_y", "the test is driven to the first peak of it", changing=True)
        begin = steering.when - np.arcsin(0.5) / (2.0 * np.pi * f)
        moved = CaseRun(drive.label, drive.t - begin, drive.signals)
        part = moved.since(-0.5 / f, 1.0 / f + AFTER)
        sine = steering.side * one_period(f * part.t)
        drive.require_steering(part["steer"][:, 0], sine, f"single sine of {f:g} Hz")
        drive.require_duration(part.t[-1], 1.5 / f)
        a_y = float(self._peaks(part, "a_y").height[0, 0])
        drive.require_turning(a_y, "at most")
        return replace(self, speed=steering.v, a_y=a_y, sides=steering.named(BEGINNINGS))


class _Peaks(NamedTuple):
    """The first and the second peak of a signal, each (2, V)."""

    time: Array
    height: Array


def one_period(turns: Array) -> Array:
    """One period of a sine over `turns` from 0 to 1, zero elsewhere."""
    return np.where((turns < 0.0) | (turns > 1.0), 0.0, np.sin(2.0 * np.pi * turns))


def response(theory: LinearCar, frequency: per_s, samples: int) -> dict[str, Array]:
    """Response of a linear system to one period of a sine of amplitude 1, each (samples,).

    The sine is linear from sample to sample; each such piece is a ramp, whose response is exact.
    """
    angle = one_period(frequency * PERIOD * np.arange(samples, dtype=float))
    size = 2 * samples
    pieces = np.fft.rfft(np.diff(angle), size)
    return {
        name: np.fft.irfft(pieces * np.fft.rfft(ramp, size), size)[:samples]
        for name, ramp in theory.ramp(PERIOD, PERIOD, samples).items()
    }


FREQUENCY = 0.7
"""Frequency of the sine in Hz."""
DWELL: s = 0.5
"""Dwell time at the second peak."""
END: s = 1.0 / FREQUENCY + DWELL
"""Time at which the angle is back at zero."""
UNIT: m_s2 = 0.3 * G
"""Lateral acceleration that defines the unit of the angle."""
REGRESSION: tuple[m_s2, m_s2] = 0.1 * G, 0.375 * G
"""Range of lateral acceleration of the regression of the angle (NHTSA's procedure TP-126)."""
RAMP: s = 18.0
"""Duration of a slow ramp, which ends at 0.54 g by linear theory; 0.375 g are needed."""
LAST_ANGLES: tuple[rad, rad] = np.deg2rad(270.0), np.deg2rad(300.0)
"""Bounds of the last angle of the steering wheel."""
MOST_FACTORS = 60
"""Largest number of angles, for vehicles that need little angle for 0.3 g."""
LATER = ((1.0, 0.35), (1.75, 0.20))
"""Times after the end of steering, and the largest allowed yaw rate as a share of its peak."""
ASIDE_AT: s = 1.07
"""Time after the beginning at which the lateral displacement is evaluated."""
HEAVY: kg = 3500.0
"""Mass above which the required lateral displacement is smaller."""


@dataclass(frozen=True)
class SineWithDwell(StandardManoeuvre):
    """Sines with dwell of growing amplitude to both sides."""

    speed: m_s = 80.0 / 3.6
    factors: tuple[float, ...] = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5)
    """Amplitudes in units of A; larger ones, up to 270° of the steering wheel, continue in the
    last step size."""
    steering_ratio: one | None = None
    """Steering ratio: angle of the steering wheel over angle of the front wheels.

    If None, the ratio of the vehicle itself, if it has a steering wheel.
    """
    aside_from: one = 5.0
    """Factor from which on the lateral displacement is required."""
    angles: tuple[rad, ...] = ()
    """Angles of the front wheels instead of `factors`; the unit is then not determined."""
    sides: tuple[str, ...] = tuple(BEGINNINGS)
    """Sides to which the sine begins."""
    name = "sine_with_dwell"
    title = "Sine with dwell"
    source = "FMVSS 126, UN Regulation 140"
    METRICS = """
    unit_angle [rad]: Angle of the front wheels at 0.3 g, by linear regression from 0.1 to 0.375
        g.
    largest_factor_passed []: Largest angle relative to the unit up to which all criteria hold
        and the car neither spins nor rolls over; 0 if there is no such angle. | the largest of a
        grid of factors
    yaw_rate_left_after_1_s []: Largest yaw rate 1 s after the end of steering, relative to its
        peak; at most 0.35.
    yaw_rate_left_after_1.75_s []: Largest yaw rate 1.75 s after the end of steering, relative
        to its peak; at most 0.20.
    least_displacement [m]: Smallest lateral displacement 1.07 s after the beginning of
        steering, over the large angles.
    """

    __repr__ = brief_repr

    def unfit(self, car: Subject) -> str:
        weak = f"{car.name} has grip for {car.grip:.1f} m/s² alone" * (car.grip < 1.5 * UNIT)
        return tyres_needed(car) or speed_needed(car, self) or weak

    def perform(self, car: Subject) -> Performing:
        """Find the unit of the angle in slow ramps, then drive all angles at once."""
        if self.angles:
            given = {f"{angle:.4g} rad": np.array(angle) for angle in self.angles}
            return self._of_angles((yield self._cases(car, given)))
        v, rate = self.speed, UNIT / car.theory(self.speed).gains["a_y"] / 10.0
        slow = yield [
            steered(f"slow ramp {side}", RAMP, v, lambda t: rate * np.maximum(t, 0.0), sign)
            for side, sign in SIDES.items()
        ]
        lines = [angle_line(run, "a_y", *REGRESSION) for run in slow]
        unit = np.mean([line.at_zero + UNIT * line.slope for line in lines], axis=0)
        series = self._series(car, unit)
        runs = yield self._cases(car, series)
        return self._findings(car, runs, unit, np.stack(list(series.values())) / unit)

    def _series(self, car: Subject, unit: Array) -> dict[str, Array]:
        """Angles of all runs to one side, each (V,), by label.

        A variant with a shorter series repeats its last angle.
        """
        ratio = ratio_of(car, self.steering_ratio)
        if ratio is None:
            return {f"{k:g} times": k * unit for k in self.factors}
        least, most = (angle / ratio for angle in LAST_ANGLES)
        last = np.minimum(np.maximum(self.factors[-1] * unit, least), most)
        factors = list(self.factors)
        step = factors[-1] - factors[-2] if len(factors) > 1 else 0.5
        while factors[-1] + step < np.max(last / unit) and len(factors) < MOST_FACTORS:
            factors.append(factors[-1] + step)
        series = {f"{k:g} times": np.minimum(k * unit, last) for k in factors}
        return series | {"last angle": last}

    @property
    def one_drive(self) -> bool:
        """Whether the test has a single angle to one side."""
        return len(self.angles) == len(self.sides) == 1

    def adapted_to(self, drive: CaseRun) -> SineWithDwell:
        """Return the test with the speed, the largest angle and the side of a log."""
        steering = drive.steering()
        begin = steering.when - np.arcsin(0.5) / (2.0 * np.pi * FREQUENCY)
        angle = steering.side * drive["steer"][:, 0] / steering.angle
        what = f"sine of {FREQUENCY:g} Hz that pauses for {DWELL:g} s at its second peak"
        drive.require_steering(angle, sine_with_dwell(drive.t - begin), what)
        drive.require_duration(drive.t[-1] - steering.when, END + LATER[-1][0])
        sides = steering.named(BEGINNINGS)
        return replace(self, speed=steering.v, angles=(steering.angle,), sides=sides)

    def _cases(self, car: Subject, angles: Mapping[str, Array]) -> list[Case]:
        v, most = self.speed, car.limits.steer_max
        amplitudes = {
            f"{label}, {side}": np.clip(BEGINNINGS[side] * angle, -most, most)
            for label, angle in angles.items()
            for side in self.sides
        }
        told: Any = {"speed": v, "hold": before, "steer": sine_with_dwell}
        return [Case(n, END + 2.0, v, amplitude=a, **told) for n, a in amplitudes.items()]

    def _of_angles(self, runs: Sequence[CaseRun]) -> Findings:
        left, aside = _left(runs), np.stack([moved_aside(run) for run in runs])
        notes = endings(runs)
        if any("y" in run.source.steady for run in runs):
            notes.append("the way aside is not known: the log has neither v_y nor y")
        return Findings(self._criteria(left, aside), [self._chart(runs)], notes)

    def _findings(
        self, car: Subject, runs: Sequence[CaseRun], unit: Array, factors: Array
    ) -> Findings:
        """Findings of the runs; `factors` are the amplitudes in units of `unit`, (angles, V)."""
        left, aside = _left(runs), np.stack([moved_aside(run) for run in runs])
        factors = np.repeat(factors, len(self.sides), axis=0)
        pairs = zip(left, LATER, strict=True)
        stable = np.logical_and.reduce([share <= most for share, (_, most) in pairs])
        least = np.array([1.52 if v.geometry.mass > HEAVY else 1.83 for v in car.each])
        responds = (aside >= least) | (factors < self.aside_from - 1e-9)
        done = np.stack([run.done for run in runs])
        failed = np.where(stable & responds & done, np.inf, factors).min(axis=0)
        passed = np.where(factors < failed, factors, 0.0).max(axis=0)
        large = np.where(factors >= self.aside_from - 1e-9, aside, np.inf)
        metrics = self.metrics({"unit_angle": unit, "largest_factor_passed": passed})
        notes = endings(runs)
        if ratio_of(car, self.steering_ratio) is None:
            notes.append(
                f"the last angle is {self.factors[-1]:g} times the unit: of a vehicle without a "
                "steering wheel only steering_ratio says how much 270° of it are"
            )
        return Findings([*metrics, *self._criteria(left, large)], [self._chart(runs)], notes)

    def _criteria(self, left: Sequence[Array], aside: Array) -> list[Metric]:
        pairs = zip(LATER, left, strict=True)
        yaw = {f"yaw_rate_left_after_{t:g}_s": share.max(axis=0) for (t, _), share in pairs}
        return self.metrics(yaw, least_displacement=aside.min(axis=0))

    def _chart(self, runs: Sequence[CaseRun]) -> Chart:
        return chart("Sine with dwell", "t", "omega", *runs[:: len(self.sides)])


def ratio_of(car: Subject, supplied: one | None) -> Array | None:
    """Steering ratio, steering wheel over front wheels, (V,) or (); None without a steering
    wheel."""
    if supplied is not None:
        return np.array(supplied)
    ratios = [getattr(getattr(v.params, "steering", None), "ratio", None) for v in car.each]
    known = [float(ratio) for ratio in ratios if ratio is not None]
    return np.array(known) if len(known) == len(ratios) else None


def _left(runs: Sequence[CaseRun]) -> list[Array]:
    """Remaining yaw rate, relative to its peak, at the times of `LATER`, each (runs, V)."""
    return [np.stack([yaw_left(run, after) for run in runs]) for after, _ in LATER]


def sine_with_dwell(t: Array) -> Array:
    """Steering signal over time, of amplitude 1."""
    pause = 0.75 / FREQUENCY
    after = np.where(t < pause, t, np.maximum(t - DWELL, pause))
    wave = np.sin(2.0 * np.pi * FREQUENCY * after)
    return np.where((t < 0.0) | (t > END), 0.0, wave)


def yaw_left(run: CaseRun, after: s) -> Array:
    """Yaw rate at a time after the end of steering, relative to its peak since the sign change,
    (V,)."""
    # The second peak follows the zero crossing of the angle.
    turned = run.since(0.5 / FREQUENCY, END)
    peak = np.abs(turned["omega"]).max(axis=0)
    then = values_at(run.t, run["omega"], np.full(run.variants, END + after))
    return np.where(np.isfinite(then), np.abs(then) / np.maximum(peak, 1e-9), np.inf)


def moved_aside(run: CaseRun) -> Array:
    """Lateral displacement of the centre of mass at `ASIDE_AT`, across its initial direction, (V,).

    NaN for a log that lacks the signals for it.
    """
    if "y" in run.source.steady:
        return np.full(run.variants, np.nan)
    begin = run.since(0.0)
    c, sine = np.cos(begin["yaw"][0]), np.sin(begin["yaw"][0])
    across = -sine * (begin["x"] - begin["x"][0]) + c * (begin["y"] - begin["y"][0])
    aside = values_at(begin.t, np.abs(across), np.full(run.variants, ASIDE_AT))
    return np.nan_to_num(aside, nan=0.0)
