"""Lateral transient response (ISO 7401): step steer, single sine, random steer and sine sweep.

Step steer: delay and size of the response to a sudden change of the steering angle. The angle is
the one that gives a lateral acceleration in the steady turn; it is found in runs before the test,
as the standard requires.

Single sine: delay and size of the response to one period of a sine of the angle, which resembles a
lane change. The amplitude is the one whose first peak of lateral acceleration is as demanded; it is
found in a run before the test. Peaks are compared one by one: the first and the second of the
response with the first and the second of the angle of the front wheels.

Frequency response (also ISO 8726): gain and phase from the angle of the front wheels to yaw rate
and lateral acceleration, by averaged spectra of all variants at once, with the coherence. The
coherence shows how linear the vehicle is and how well it was excited.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import AnyArray, Array
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...units import m_s, m_s2, one, per_s, s
from .case import Case, steered, step
from .case_run import (
    BEGINNINGS,
    SIDES,
    CaseRun,
    StepResponse,
    all_done,
    endings,
    first_time,
    peak_of,
    step_response,
)
from .manoeuvre import (
    Chart,
    Curve,
    Findings,
    Metric,
    Performing,
    StandardManoeuvre,
    beside_theory,
    chart,
    curve,
    linear_drive,
)
from .steady_state import steady_angle
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
    """Speed; the standard one of ISO 7401, others differ from it in steps of 20 km/h."""
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
        metrics = beside_theory(runs, self._means(runs), self._means([linear]))
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
        drive.must_tell("a_y", "the test is driven to that of the steady turn")
        a_y = float(step_response(part, "a_y", steering.when).steady[0])
        drive.must_turn(a_y, "after the step")
        lasts = part.lasting(self.duration, steering.when)
        side = steering.named(SIDES)
        return replace(self, speed=steering.v, a_y=a_y, duration=lasts, sides=side)


AFTER: s = 2.0
"""Time after the sine."""


@dataclass(frozen=True)
class SingleSine(StandardManoeuvre):
    """One period of a sine of the angle at constant speed, to both sides."""

    speed: m_s = 100.0 / 3.6
    """Speed; the standard one of ISO 7401, others differ from it in steps of 20 km/h."""
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
        # A vehicle whose angle is an integral of its input has no theory.
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
        metrics = beside_theory(runs, self._means(runs), self._means([linear]))
        return Findings(metrics, charts, endings(runs))

    @property
    def _duration(self) -> s:
        return float(np.ceil(1.0 / self.frequency + AFTER))

    def _case(self, car: Subject, label: str, angle: Array) -> Case:
        most, T = car.limits.steer_max, self._duration
        angle = np.clip(angle, -most, most)
        return steered(label, T, self.speed, lambda t: one_period(self.frequency * t), angle, 0.5)

    def _linear(self, car: Subject, angle: Array) -> CaseRun:
        """Run of linear theory with the same amplitude, begun to the left."""
        samples = round(self._duration / PERIOD) + 1
        return linear_drive(
            car, self.speed, angle, PERIOD, lambda car: response(car, self.frequency, samples)
        )

    def _peaks(self, run: CaseRun, name: str) -> _Peaks:
        """Peaks to the side to which the sine begins, and to the other."""
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
        drive.must_tell("a_y", "the test is driven to the first peak of it", changing=True)
        begin = steering.when - np.arcsin(0.5) / (2.0 * np.pi * f)
        moved = CaseRun(drive.label, drive.t - begin, drive.signals)
        part = moved.since(-0.5 / f, 1.0 / f + AFTER)
        sine = steering.side * one_period(f * part.t)
        drive.must_follow(part["steer"][:, 0], sine, f"single sine of {f:g} Hz")
        drive.must_last(part.t[-1], 1.5 / f)
        a_y = float(self._peaks(part, "a_y").height[0, 0])
        drive.must_turn(a_y, "at most")
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


FALLEN = 1.0 / np.sqrt(2.0)
"""Share of the low-frequency gain at the bandwidth: -3 dB."""


class Response(NamedTuple):
    """Frequency response from the steering angle to a signal of the vehicle."""

    frequency: Array
    """Frequencies in Hz, (F,)."""
    gain: AnyArray
    """Complex gain, (F, V)."""
    coherence: Array
    """Coherence, (F, V); 1 where the response is entirely linear in the angle."""
    averaged: Array
    """Number of spectra averaged at each frequency, (F,)."""

    def where_coherent(self, least: float) -> Response:
        """The response with NaN for gains at frequencies of low coherence.

        Low is below `least`, or below the level that noise exceeds with a probability of 5 %:
        1 - 0.05^(1 / (n - 1)) for n spectra.
        """
        chance = 1.0 - 0.05 ** (1.0 / np.maximum(self.averaged - 1.0, 1e-3))
        with np.errstate(invalid="ignore"):
            coherent = self.coherence >= np.maximum(least, chance)[:, None]
        return self._replace(gain=np.where(coherent, self.gain, np.nan))

    @property
    def bandwidth(self) -> Array:
        """Bandwidth in Hz, (V,); NaN where the gain does not fall within the band."""
        columns = np.abs(self.gain).T
        return np.array([bandwidth_of(self.frequency, column) for column in columns])

    def phase_at(self, frequency: float) -> Array:
        """Phase in rad, (V,), unwrapped from the lowest frequency on; NaN where it is unknown."""
        return np.array([self._phase_at(frequency, gain) for gain in self.gain.T])

    def _phase_at(self, frequency: float, gain: AnyArray) -> float:
        phase, known = np.angle(gain), np.isfinite(gain)
        phase[known] = np.unwrap(phase[known])
        ends = {"left": np.nan, "right": np.nan}
        return float(np.interp(frequency, self.frequency, phase, **ends))


def bandwidth_of(frequency: Array, gain: Array) -> float:
    """Frequency in Hz at which a gain first falls below 0.707 of its first value; NaN if
    nowhere."""
    low = gain < FALLEN * gain[0]
    if not low.any():
        return float("nan")
    k = int(np.argmax(low))
    share = (gain[k - 1] - FALLEN * gain[0]) / (gain[k - 1] - gain[k])
    return float(frequency[k - 1] + share * (frequency[k] - frequency[k - 1]))


def estimated_response(
    runs: Sequence[CaseRun], angle: str, response: str, band: tuple[float, float]
) -> Response:
    """Frequency response by the H1 estimator, from spectra averaged over runs and neighbours."""
    cross: AnyArray = np.zeros(1)
    own = other = np.zeros(1)
    dt = runs[0].t[1] - runs[0].t[0]
    for run in runs:
        pair = (run[name] - run[name].mean(axis=0) for name in (angle, response))
        u, y = (np.fft.rfft(signal, axis=0) for signal in pair)
        cross, own, other = cross + y * u.conj(), own + np.abs(u) ** 2, other + np.abs(y) ** 2
    frequency = np.fft.rfftfreq(len(runs[0].t), dt)
    # The last sample makes a drive a little longer, and so no frequency exactly the band's end.
    near = 0.5 * frequency[1]
    kept = (frequency > band[0] - near) & (frequency < band[1] + near)
    cross, own, other = (_smoothed(part, frequency)[kept] for part in (cross, own, other))
    coherence = np.real(np.abs(cross) ** 2 / (own * other))
    low, high = _neighbours(frequency)
    averaged = len(runs) * (high - low)[kept].astype(float)
    return Response(frequency[kept], cross / own, coherence, averaged)


def _neighbours(
    frequency: Array, octaves: float = 0.06
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last index of the neighbours of each frequency, within a part of an octave."""
    step = frequency[1]
    low = np.floor(frequency * 2.0 ** (-0.5 * octaves) / step).astype(int)
    high = np.ceil(frequency * 2.0 ** (0.5 * octaves) / step).astype(int) + 1
    return low, np.minimum(high, len(frequency))


def _smoothed(spectrum: AnyArray, frequency: Array) -> AnyArray:
    """Spectrum averaged over neighbouring frequencies, more of them at high frequencies."""
    sums = np.concatenate([np.zeros_like(spectrum[:1]), np.cumsum(spectrum, axis=0)])
    low, high = _neighbours(frequency)
    return (sums[high] - sums[low]) / (high - low)[:, None]


BAND = (0.2, 4.0)
"""Frequencies in Hz that are shown and evaluated."""
QUIET: s = 2.0
"""Time at the end of a run in which the response dies away."""
COHERENT: one = 0.8
"""Least coherence of a frequency of a log; below it, a fifth of the response has other
causes."""
STEADY_SPEED: one = 0.1
"""Share by which the speed of a log may differ from its median where a response is
estimated."""
COVERED: one = 0.9
"""Least share of coherent frequencies in a band for a peak in it to be determined."""
PERIODS = 3
"""Least duration of a log in periods of the lowest frequency."""
RESPONSES = {"omega": "yaw_rate", "a_y": "lateral_acceleration", "roll": "roll"}
"""Signals and their names in metrics."""
STEADY_GAIN = "_steady_gain"
"""Suffix of the only metric of a signal that is valid in a steady state only."""


class _FrequencyResponse(StandardManoeuvre):
    """Base of both frequency response tests."""

    speed: m_s
    needs = (tyres_needed, speed_needed)

    def adapted_to(self, drive: CaseRun) -> Any:
        """Return the test with the mean speed of a log."""
        drive.steering()
        settings: Any = self
        return replace(settings, speed=float(_at_one_speed(drive)["v_x"].mean()))

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """Findings from a whole log, whatever its steering signal."""
        part = _at_one_speed(drive)
        whole = CaseRun(drive.label, part.t - part.t[0], part.signals, source=drive.source)
        drive.steering()
        found = _findings(car, [whole], float(part["v_x"].mean()), COHERENT)
        if len(part.t) == len(drive.t):
            return found
        note = (
            f"taken from {part.t[0]:.4g} to {part.t[-1]:.4g} s of the log, where the speed is "
            f"within {100.0 * STEADY_SPEED:g} % of its median, {np.median(drive['v_x']):.4g} m/s"
        )
        return replace(found, notes=[*found.notes, note])


@dataclass(frozen=True)
class RandomSteer(_FrequencyResponse):
    """Random steering with a flat spectrum over the band, in several runs."""

    speed: m_s = 100.0 / 3.6
    a_y: m_s2 = 1.0
    """Lateral acceleration at low frequency; within the linear range."""
    drives: int = 8
    duration: s = 20.0
    seed: int = 0
    name = "random_steer"
    title = "Frequency response to random steering"
    source = "ISO 7401:2011, random input"

    def perform(self, car: Subject) -> Performing:
        v, T = self.speed, self.duration
        angle = self.a_y / car.theory(v).gains["a_y"]
        seeds = range(self.seed, self.seed + self.drives)
        runs = yield [steered(f"seed {k}", T, v, random_steer(k, T), angle) for k in seeds]
        return _findings(car, runs, v)


@dataclass(frozen=True)
class SineSweep(_FrequencyResponse):
    """Sine sweep with the same number of periods in each octave."""

    speed: m_s = 100.0 / 3.6
    a_y: m_s2 = 1.0
    """Lateral acceleration at low frequency."""
    duration: s = 40.0
    name = "sine_sweep"
    title = "Frequency response to a sine sweep"
    source = "ISO 7401:2011, continuous sinusoidal input"

    def perform(self, car: Subject) -> Performing:
        """Drive one sweep that begins to the left and one that begins to the right."""
        v, T = self.speed, self.duration
        angle = self.a_y / car.theory(v).gains["a_y"]
        runs = yield [
            steered(label, T, v, _sweep(T), side * angle) for label, side in BEGINNINGS.items()
        ]
        return _findings(car, runs, v)


def _at_one_speed(drive: CaseRun) -> CaseRun:
    """Longest part of a log at about its median speed; raises InvalidValue if it is too short."""
    lasts, least = float(np.ptp(drive.t)), PERIODS / BAND[0]
    takes = f"{PERIODS} periods of {BAND[0]:g} Hz take {least:g} s"
    if lasts < least:
        raise InvalidValue(f"{drive.label} lasts {lasts:.1f} s; {takes}")
    v = drive["v_x"][:, 0]
    about = float(np.median(v))
    steady = np.abs(v - about) <= STEADY_SPEED * abs(about)
    edges = np.flatnonzero(np.diff(np.r_[0, steady.astype(int), 0]))
    begin, end = max(edges.reshape(-1, 2).tolist(), key=lambda part: part[1] - part[0])
    part = drive.since(float(drive.t[begin]), float(drive.t[end - 1]))
    if np.ptp(part.t) < least:
        raise InvalidValue(
            f"{drive.label} has speeds from {v.min():.1f} to {v.max():.1f} m/s and stays within "
            f"{100.0 * STEADY_SPEED:g} % of {about:.1f} m/s for at most {np.ptp(part.t):.1f} s; a "
            f"frequency response needs one speed throughout, and {takes}"
        )
    return part


def _swell(t: Array, duration: s) -> Array:
    """Window that rises from 0 to 1 and falls back before the end, so that all responses die away.

    Spectra of the whole run are then exact.
    """
    return np.clip(np.minimum(t, duration - QUIET - t), 0.0, 1.0)


def random_steer(seed: int, duration: s) -> Callable[[Array], Array]:
    """Sum of sines of the band with random phases, of root mean square 1, with a fade-in and
    fade-out."""
    draw = np.random.default_rng(seed)
    frequencies = np.arange(0.5 * BAND[0], 1.3 * BAND[1], 1.0 / duration)
    phases = draw.uniform(0.0, 2.0 * np.pi, len(frequencies))
    share = np.sqrt(2.0 / len(frequencies))

    def angle(t: Array) -> Array:
        # The frequencies are in even steps: a polynomial of the turn by one step, by Horner.
        turn, waves = np.exp(2.0j * np.pi / duration * t), np.zeros(t.shape, dtype=complex)
        for phase in phases[::-1]:
            waves *= turn
            waves += np.exp(1.0j * phase)
        waves *= np.exp(2.0j * np.pi * frequencies[0] * t)
        return share * waves.imag * _swell(t, duration)

    return angle


def _sweep(duration: s) -> Callable[[Array], Array]:
    low, high = 0.5 * BAND[0], 1.3 * BAND[1]
    rate = np.log(high / low) / duration

    def angle(t: Array) -> Array:
        turned = 2.0 * np.pi * low / rate * np.expm1(rate * np.clip(t, 0.0, duration))
        return np.sin(turned) * _swell(t, duration)

    return angle


def _findings(
    car: Subject, runs: Sequence[CaseRun], v: m_s, coherent: one | None = None
) -> Findings:
    """Findings of runs; with `coherent`, only frequencies of at least that coherence."""
    parts = [run.since(0.0) for run in runs]
    seen = {
        signal: estimated_response(parts, "steer", signal, BAND)
        for signal in RESPONSES
        if all(signal in part for part in parts)
    }
    notes: list[str] = []
    if coherent is not None:
        all_of, seen = seen, {name: each.where_coherent(coherent) for name, each in seen.items()}
        notes = [n for name in seen for n in _left_out(name, all_of[name], seen[name], coherent)]
    done = all_done(runs)
    slow = {signal for signal in seen if any(signal in part.source.steady for part in parts)}
    metrics = [
        replace(metric, value=np.where(done & told, metric.value, np.nan))
        for signal in seen
        for metric in _metrics(car, signal, seen[signal], v)
        for told in [signal not in slow or metric.name.endswith(STEADY_GAIN)]
    ]
    known = {signal: response for signal, response in seen.items() if signal not in slow}
    return Findings(metrics, _charts(car, known, v), [*endings(runs), *notes])


def _left_out(signal: str, seen: Response, known: Response, least: one) -> list[str]:
    """A note on the frequencies of a log that are left out because the coherence is too low."""
    coherent = np.isfinite(known.gain[:, 0])
    if coherent.all() or not np.isfinite(seen.gain[:, 0]).any():
        return []
    f, low = seen.frequency, seen.coherence[~coherent, 0]
    ends = f[coherent][[0, -1]] if coherent.any() else None
    where = "" if ends is None else f", from {ends[0]:.3g} to {ends[1]:.3g} Hz"
    first = f"{seen.coherence[0, 0]:.2g} at {f[0]:.3g} Hz"
    slow = "" if coherent[0] else f"; it is {first}: no steady gain"
    return [
        f"{RESPONSES[signal]} has a coherence of {least:g} with the angle at {coherent.sum()} of "
        f"{len(f)} frequencies{where}; at the others, down to {low.min():.2g}, there is no value"
        f"{slow}"
    ]


def _largest(seen: Response) -> Array:
    """Largest gain up to the bandwidth, (V,); NaN if too little of that range is known."""
    gain, f = np.abs(seen.gain), seen.frequency[:, None]
    within = ~(f > seen.bandwidth)  # all of them where there is no bandwidth
    share = (np.isfinite(gain) & within).sum(axis=0) / within.sum(axis=0)
    largest = np.where(np.isfinite(gain), gain, -np.inf).max(axis=0)
    return np.where(share >= COVERED, largest, np.nan)


def _metrics(car: Subject, signal: str, seen: Response, v: m_s) -> list[Metric]:
    name, unit = RESPONSES[signal], {"omega": "1/s", "a_y": "m/(s²·rad)", "roll": ""}[signal]
    band = np.linspace(*BAND, 400)
    slow, steady, at_one = seen.frequency[0], np.abs(seen.gain[0]), None
    theory: Any = [None, None]
    theories = car.theories(v)
    if signal in theories[0].OUTPUTS:
        theory = [
            [abs(own.to_angle(slow)[signal][0]) for own in theories],
            [bandwidth_of(band, np.abs(own.to_angle(band)[signal])) for own in theories],
        ]
        at_one = np.angle([own.to_angle(1.0)[signal][0] for own in theories])
    return [
        Metric(
            f"{name}{STEADY_GAIN}",
            steady,
            unit,
            f"Gain at the lowest frequency, {BAND[0]:g} Hz, per angle of the front wheels.",
            theory[0],
        ),
        Metric(
            f"{name}_bandwidth",
            seen.bandwidth,
            "Hz",
            "Where the gain falls below 0.707 of that at the lowest frequency.",
            theory[1],
        ),
        Metric(
            f"{name}_phase_at_1_hz",
            seen.phase_at(1.0),
            "rad",
            "Phase behind the angle at 1 Hz, negative: behind.",
            at_one,
        ),
        Metric(
            f"{name}_peak_ratio",
            _largest(seen) / steady,
            "",
            "Largest gain of the band over that at the lowest frequency.",
        ),
        Metric(f"{name}_coherence", seen.coherence.min(axis=0), "", "Least coherence of the band."),
    ]


def _charts(car: Subject, seen: dict[str, Response], v: m_s) -> list[Chart]:
    """Charts of gain and phase of each response of the first variant, and of the coherence."""
    charts: list[Chart] = []
    theory = car.theories(v)[0]
    across = "frequency in Hz"
    for signal, response in seen.items():
        name, known = RESPONSES[signal].replace("_", " "), np.isfinite(response.gain[:, 0])
        if not known.any():
            continue
        f, own = response.frequency[known], response.gain[known, 0]
        gain, phase = np.abs(own), np.unwrap(np.angle(own))
        gains, phases = [Curve(f, gain, "driven")], [Curve(f, np.rad2deg(phase), "driven")]
        if signal in theory.OUTPUTS:
            linear = theory.to_angle(f)[signal]
            gains.append(Curve(f, np.abs(linear), "linear theory", "theory"))
            degrees = np.rad2deg(np.unwrap(np.angle(linear)))
            phases.append(Curve(f, degrees, "linear theory", "theory"))
        charts.append(Chart(f"Gain of {name}", across, "gain per rad", gains, x_log=True))
        charts.append(Chart(f"Phase of {name}", across, "phase in degrees", phases, x_log=True))
    curves = [
        Curve(r.frequency, r.coherence[:, 0], RESPONSES[name].replace("_", " "))
        for name, r in seen.items()
    ]
    return [*charts, Chart("Coherence", across, "coherence", curves, x_log=True)]
