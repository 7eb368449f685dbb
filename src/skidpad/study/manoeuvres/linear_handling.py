"""Handling in the linear range: on-centre tests (ISO 13674) and frequency responses (ISO 7401).

Weave: the angle is a slow sine at constant speed. Over the angle, yaw rate and lateral acceleration
are loops. Their slope at zero angle is the gradient, their width there is the dead band: the
response at zero angle (ordinate), and the angle of the wheels at zero response (abscissa). For a
linear vehicle with gain G and phase p at the frequency, and an angle of amplitude A, the loop is an
ellipse with

    gradient = G cos p,   dead band = -2 A G sin p (ordinate),   -2 A sin p (abscissa)

so that its width comes from delay alone. Friction and play in the steering widen the loops; the
vehicles here have neither. They have no torque at the steering wheel either, so the gradients and
dead bands of the torque in the standard are not among the metrics.

Transition: at constant speed the angle grows slowly and linearly from straight ahead. Lateral
acceleration and yaw rate over the angle are nearly straight lines, fitted by linear regression.
Their slope is the gradient. The angle at which the line fitted to the beginning crosses zero is the
dead band: the angle steered before the vehicle seems to respond. For a linear vehicle it is the
rate of the angle times the delay of the response.

Frequency response (also ISO 8726): gain and phase from the angle of the front wheels to yaw rate
and lateral acceleration, by averaged spectra of all variants at once, with the coherence. The
coherence indicates how linear the vehicle's response is and how well it was excited.
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
from .case import Case, ramp, steered
from .case_run import (
    BEGINNINGS,
    SIDES,
    CaseRun,
    all_done,
    cubic_at,
    endings,
    first_time,
    passing_time,
    peak_of,
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
    linear_drive,
)
from .steady_state import angle_line, slope_at_zero
from .subject import LinearCar, Subject, grip_needed, speed_needed, tyres_needed

FIRST = 1
"""Number of periods left out at the beginning, until the motion is periodic."""
NEAR: one = 0.5
"""Share of the largest angle up to which gradients are fitted."""
RESPONSES = {"omega": "yaw_rate", "a_y": "lateral_acceleration", "roll": "roll"}
"""Signals and their names in metrics."""
ON_CENTRE = {
    "a_y": ("steering_sensitivity", "m/s²/rad", "m/s²"),
    "omega": ("yaw_rate_gradient", "1/s", "rad/s"),
}
"""Signals of the on-centre tests: name and unit of the gradient, and unit of the signal."""
LOOP = ("{slope}", "{name}_dead_band", "{name}_angle_dead_band", "{name}_lag")
"""Names of the metrics of a `Loop`, in the order of its fields."""


def words_of(signal: str) -> str:
    """Words for a signal, such as "yaw rate"."""
    return RESPONSES[signal].replace("_", " ")


@dataclass(frozen=True)
class Weave(StandardManoeuvre):
    """Weave test: a slow sine of the angle at constant speed, begun to the left and to the
    right."""

    speed: m_s = 100.0 / 3.6
    """Speed, that of ISO 13674-1."""
    frequency: per_s = 0.2
    """Frequency in Hz, that of ISO 13674-1."""
    a_y: m_s2 = 2.0
    """Peak of lateral acceleration, that of ISO 13674-1."""
    periods: int = 3
    """Number of evaluated periods, after a first one that is left out."""
    sides: tuple[str, ...] = tuple(BEGINNINGS)
    """Sides to which the sine begins; metrics are means of both."""
    one_drive = True
    name = "weave"
    title = "Weave test"
    source = "ISO 13674-1:2023"
    needs = (tyres_needed, speed_needed, grip_needed)
    METRICS = """
    peak_angle [rad]: Largest angle of the front wheels.
    peak_lateral_acceleration [m/s²]: Mean of all peaks of lateral acceleration.
    """ + "".join(
        f"""
    {slope} [{unit}]: Slope of {words_of(signal)} over the angle of the front wheels, at zero, of
        both branches of the loop.
    {RESPONSES[signal]}_dead_band [{own}]: Width of the loop where the front wheels are straight,
        in {words_of(signal)}; positive: behind.
    {RESPONSES[signal]}_angle_dead_band [rad]: Width of the loop where there is no
        {words_of(signal)}, in angle of the front wheels.
    {RESPONSES[signal]}_lag [s]: From the zeros of the angle of the front wheels to those of
        {words_of(signal)}.
    """
        for signal, (slope, unit, own) in ON_CENTRE.items()
    )

    __repr__ = brief_repr

    def perform(self, car: Subject) -> Performing:
        """Find the amplitude in a first run, then drive the test."""
        gain = float(np.abs(car.theory(self.speed).response(self.frequency)["a_y"][0]))
        guess = np.full(car.variants, self.a_y / gain)
        (tried,) = yield [self._case(car, "finds the amplitude", guess)]
        reached = self._peak(tried, "a_y", 1.0)
        angle = guess * np.clip(self.a_y / np.maximum(reached, 1e-3), 0.3, 3.0)
        runs = yield [self._case(car, side, BEGINNINGS[side] * angle) for side in self.sides]
        return self._findings(car, runs, angle)

    def adapted_to(self, drive: CaseRun) -> Weave:
        """Return the test with the speed, the peak lateral acceleration and the side of a log."""
        steering = drive.steering()
        drive.require_signal("a_y", "the test is driven to its peak", changing=True)
        begin = steering.when - np.arcsin(0.5) / (2.0 * np.pi * self.frequency)
        moved = CaseRun(drive.label, drive.t - begin, drive.signals)
        part = moved.since(0.0, self._end)
        drive.require_duration(part.t[-1], (FIRST + self.periods) / self.frequency, "g")
        sine = steering.side * np.sin(2.0 * np.pi * self.frequency * part.t)
        drive.require_steering(part["steer"][:, 0], sine, f"sine of {self.frequency:g} Hz")
        a_y = float(self._peak(part, "a_y", steering.side)[0])
        drive.require_turning(a_y, "at most")
        return replace(self, speed=steering.v, a_y=a_y, sides=steering.named(BEGINNINGS))

    @property
    def _end(self) -> s:
        """End of a run: a quarter of a period after the evaluated ones."""
        return float(np.ceil((FIRST + self.periods + 0.25) / self.frequency))

    def _case(self, car: Subject, label: str, angle: Array) -> Case:
        def sine(t: Array) -> Array:
            return np.sin(2.0 * np.pi * self.frequency * np.maximum(t, 0.0))

        most = car.limits.steer_max
        return steered(label, self._end, self.speed, sine, np.clip(angle, -most, most), run_in=0.5)

    def _halves(self, run: CaseRun, shift: one) -> list[tuple[one, CaseRun]]:
        """Evaluated half periods, with 1 for the first half of a period and -1 for the second.

        They begin `shift` periods later.
        """
        length, begin = 0.5 / self.frequency, FIRST / self.frequency + shift / self.frequency
        starts = [begin + k * length for k in range(2 * self.periods)]
        return [((-1.0) ** k, run.since(t, t + length)) for k, t in enumerate(starts)]

    def _peak(self, run: CaseRun, name: str, side: one) -> Array:
        """Mean of the peaks of a signal, (V,)."""
        halves = self._halves(run, 0.0)
        peaks = [peak_of(part.t, side * sign * part[name])[1] for sign, part in halves]
        return np.mean(peaks, axis=0)

    def _zeros(self, run: CaseRun, name: str, side: one) -> list[Array]:
        """Zero crossings of a signal, each (V,), alternately upwards and downwards."""
        times: list[Array] = []
        for sign, part in self._halves(run, -0.25):
            rising = side * sign * part[name]
            times.append(passing_time(part.t, rising, np.gradient(rising, part.t, axis=0), 0.0))
        return times

    def loop(self, run: CaseRun, name: str, side: one) -> Loop:
        """Loop of a signal over the angle in one run that begins to the left (1) or right (-1)."""
        angle = self._peak(run, "steer", side)
        straight, none = (self._zeros(run, signal, side) for signal in ("steer", name))
        signs = [side * sign for sign, _ in self._halves(run, 0.0)]
        crossings = list(zip(signs, straight, none, strict=True))
        left = [-sign * cubic_at(run.t, run[name], t) for sign, t, _ in crossings]
        turned = [sign * cubic_at(run.t, run["steer"], t) for sign, _, t in crossings]
        whole = run.since(FIRST / self.frequency, (FIRST + self.periods) / self.frequency)
        # The last sample is the first of the next period.
        x, y = whole["steer"][:-1], whole[name][:-1]
        lag = np.mean(none, axis=0) - np.mean(straight, axis=0)
        gradient = slope_at_zero(x / angle, y, NEAR) / angle
        return Loop(gradient, 2.0 * np.mean(left, axis=0), 2.0 * np.mean(turned, axis=0), lag)

    def _linear(self, car: Subject, name: str, angle: Array) -> Loop:
        """Loop of linear theory with the same amplitude; NaN for variants without one, see
        `with_theory`."""
        gains = np.full((2, car.variants), np.nan, dtype=complex)
        for k, theory in enumerate(car.with_theory().theories(self.speed)):
            gains[0, k] = theory.to_angle(self.frequency)[name][0]
            gains[1, k] = theory.response(self.frequency)["steer"][0]
        G, p, A = np.abs(gains[0]), np.angle(gains[0]), np.abs(gains[1]) * angle
        band = -2.0 * A * np.sin(p)
        return Loop(G * np.cos(p), G * band, band, -p / (2.0 * np.pi * self.frequency))

    def _findings(self, car: Subject, runs: Sequence[CaseRun], angle: Array) -> Findings:
        pairs = [(run, BEGINNINGS[side]) for run, side in zip(runs, self.sides, strict=True)]

        def mean(name: str) -> Array:
            return np.mean([self._peak(run, name, sign) for run, sign in pairs], axis=0)

        values, theory = dict[str, Array](), dict[str, Array]()
        for signal, (slope, *_) in ON_CENTRE.items():
            loop = np.mean([self.loop(run, signal, sign) for run, sign in pairs], axis=0)
            names = [name.format(slope=slope, name=RESPONSES[signal]) for name in LOOP]
            values |= dict(zip(names, loop, strict=True))
            theory |= dict(zip(names, self._linear(car, signal, angle), strict=True))
        values |= {"peak_angle": mean("steer"), "peak_lateral_acceleration": mean("a_y")}
        done = all_done(runs)
        kept = {name: np.where(done, row, np.nan) for name, row in values.items()}
        charts = self._charts(car, runs[0], angle[0])
        return Findings(self.metrics(kept, theory), charts, endings(runs))

    def _charts(self, car: Subject, run: CaseRun, angle: float) -> list[Chart]:
        """Charts of the last period of the first variant, with the ellipse of linear theory."""
        last = FIRST + self.periods
        shown = run.since((last - 1) / self.frequency, last / self.frequency)
        gains = car.theories(self.speed)[0].response(self.frequency)
        turn = np.exp(2.0j * np.pi * np.linspace(0.0, 1.0, 201))
        ellipse = {name: angle * (gain[0] * turn).imag for name, gain in gains.items()}
        charts: list[Chart] = []
        for name in ON_CENTRE:
            theory = Curve(ellipse["steer"], ellipse[name], "linear theory", "theory")
            charts.append(chart(f"Weave test: {words_of(name)}", "steer", name, shown, theory))
        return charts


class Loop(NamedTuple):
    """Loop of a signal over the angle: gradient, dead bands and lag, each (V,)."""

    gradient: Array
    ordinate: Array
    """Distance between the branches at zero angle; positive if the signal lags."""
    abscissa: Array
    """Distance between the branches at zero signal, in rad; positive if it lags."""
    lag: Array
    """Time from the zeros of the angle to those of the signal, in s."""


PERIOD: s = 0.01
"""Sample time of linear theory."""
BEYOND: one = 1.2
"""Final angle, relative to that at which linear theory reaches `a_y`."""
CENTRE: tuple[one, one] = 1.0 / 15.0, 1.0 / 3.0
"""Range of lateral acceleration in which the vehicle begins to turn, relative to `a_y`.

By default 0.1 to 0.5 m/s².
"""
TURNING: tuple[one, one] = 1.0 / 3.0, 1.0
"""Range of lateral acceleration in which the vehicle turns, relative to `a_y`: 0.5 to 1.5
m/s²."""
EVEN: one = 0.98
"""Least correlation of angle and time at which the angle of a log counts as a linear ramp."""


@dataclass(frozen=True)
class Transition(StandardManoeuvre):
    """Transition test: an angle that grows slowly from straight ahead, to either side."""

    speed: m_s = 100.0 / 3.6
    """Speed, that of the weave test."""
    a_y: m_s2 = 1.5
    """Lateral acceleration at the end of the evaluation, up to which tyres are nearly
    linear."""
    duration: s = 6.0
    """Time in which the angle grows to 1.2 times what linear theory needs for `a_y`."""
    sides: tuple[str, ...] = tuple(SIDES)
    """Sides to which the ramp is driven; metrics are means of both."""
    name = "transition"
    title = "Transition test"
    source = "ISO 13674-2:2016"
    METRICS = """
    steering_sensitivity [m/s²/rad]: Lateral acceleration per angle of the front wheels
        {test.ranges[1]}.
    steering_sensitivity_at_centre [m/s²/rad]: The same {test.ranges[0]}.
    lateral_acceleration_angle_dead_band [rad]: Angle at which the line {test.ranges[0]} has no
        lateral acceleration.
    yaw_rate_gradient [1/s]: Yaw rate per angle of the front wheels, {test.ranges[1]} by speed.
    yaw_rate_angle_dead_band [rad]: Angle at which the line {test.ranges[0]} by speed has no yaw
        rate.
    """

    __repr__ = brief_repr

    def unfit(self, car: Subject) -> str:
        if lacks := tyres_needed(car) or speed_needed(car, self):
            return lacks
        far = f"up to {self.a_y:g} m/s² its tyres are far from linear"
        grip = f"{car.name} has grip for {car.grip:.1f} m/s²; {far}"
        return grip if self.a_y > 0.5 * car.grip else ""

    def perform(self, car: Subject) -> Performing:
        gains = [theory.gains["a_y"] for theory in car.with_theory().theories(self.speed)]
        angle = np.full(car.variants, BEYOND * self.a_y / gains[0])
        angle[: len(gains)] = BEYOND * self.a_y / np.array(gains)
        shape = ramp(1.0 / self.duration)
        runs = yield [
            steered(side, self.duration, self.speed, shape, SIDES[side] * angle, run_in=0.5)
            for side in self.sides
        ]
        linear = self.linear(car, angle)
        metrics = compare_with_theory(runs, self.means(runs), self.means([linear]))
        return Findings(metrics, _ramp_charts(runs[0], linear, SIDES[self.sides[0]]), endings(runs))

    def adapted_to(self, drive: CaseRun) -> Transition:
        """Return the test with the speed, side and steering rate of a log."""
        steering = drive.steering()
        drive.require_signal("a_y", "how far the ramp goes is unknown")
        a_y, angle = (steering.side * drive[name][:, 0] for name in ("a_y", "steer"))
        shares = (CENTRE[0], 1.0)
        first, last = (first_time(drive.t, a_y[:, None], k * self.a_y)[0] for k in shares)
        rising = (drive.t >= first) & (drive.t <= last)
        if not np.isfinite(last) or rising.sum() < 5:
            most = f"{drive.label} reaches {a_y.max():.2f} m/s² at most"
            raise InvalidValue(f"{most}; at least {self.a_y:g} m/s² are needed")
        if not np.corrcoef(drive.t[rising], angle[rising])[0, 1] > EVEN:
            slow = f"{drive.label} has no slow ramp up to {self.a_y:g} m/s²"
            raise InvalidValue(f"{slow}: its wheels are not turned evenly")
        rate, at_zero = np.polyfit(drive.t[rising], angle[rising], 1)
        lasts = max(round(BEYOND * (last + at_zero / rate), 2), 0.1)
        v, side = float(drive["v_x"][rising].mean()), steering.named(SIDES)
        return replace(self, speed=v, duration=float(lasts), sides=side)

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        begin = CaseRun(drive.label, drive.t - drive.t[0], drive.signals, source=drive.source)
        peak = int(np.abs(drive["steer"][:, 0]).argmax())
        # Samples after the largest angle belong to the return of the steering.
        way = begin.since(0.0, float(begin.t[peak]))
        return Findings(self.means([way]), _ramp_charts(way, None, 1.0), endings([way]))

    def linear(self, car: Subject, angle: Array) -> CaseRun:
        """Run of linear theory on the same ramp, scaled by `angle`, (V,), in rad."""
        samples = round(self.duration / PERIOD) + 1
        return linear_drive(
            car, self.speed, angle, PERIOD, lambda car: car.ramp(self.duration, PERIOD, samples)
        )

    def means(self, runs: Sequence[CaseRun]) -> list[Metric]:
        """Metrics as means of the ramps to either side."""

        def mean(name: str, shares: tuple[one, one]) -> tuple[Array, Array]:
            """Gradient and dead band of a signal between two shares of its largest value."""
            most = self.a_y if name == "a_y" else self.a_y / self.speed
            lines = [angle_line(run, name, *(share * most for share in shares)) for run in runs]
            gradients = np.mean([1.0 / line.slope for line in lines], axis=0)
            return gradients, np.mean([line.at_zero for line in lines], axis=0)

        across, _ = mean("a_y", TURNING)
        centre, dead = mean("a_y", CENTRE)
        yaw, _ = mean("omega", TURNING)
        _, yaw_dead = mean("omega", CENTRE)
        return self.metrics(
            steering_sensitivity=across,
            steering_sensitivity_at_centre=centre,
            lateral_acceleration_angle_dead_band=dead,
            yaw_rate_gradient=yaw,
            yaw_rate_angle_dead_band=yaw_dead,
        )

    @property
    def ranges(self) -> tuple[str, str]:
        """Ranges of lateral acceleration near the centre and in the turn, as texts."""
        low, middle, high = (f"{k * self.a_y:.2g}" for k in (*CENTRE, TURNING[1]))
        return f"from {low} to {middle} m/s²", f"from {middle} to {high} m/s²"


def _ramp_charts(run: CaseRun, linear: CaseRun | None, side: one) -> list[Chart]:
    kept = run.since(0.0)
    charts: list[Chart] = []
    for name in ON_CENTRE:
        shown: list[CaseRun | Curve] = [kept]
        if linear is not None:
            x, y = (side * linear[one][:, 0] for one in ("steer", name))
            shown.append(Curve(x, y, "linear theory", "theory"))
        charts.append(chart(f"Transition test: {words_of(name)}", "steer", name, *shown))
    return charts


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

    @classmethod
    def estimate(
        cls, runs: Sequence[CaseRun], angle: str, response: str, band: tuple[float, float]
    ) -> Response:
        """Frequency response by the H1 estimator, from spectra averaged over runs and
        neighbouring frequencies."""
        cross: AnyArray = np.zeros(1)
        own = other = np.zeros(1)
        dt = runs[0].t[1] - runs[0].t[0]
        for run in runs:
            pair = (run[name] - run[name].mean(axis=0) for name in (angle, response))
            u, y = (np.fft.rfft(signal, axis=0) for signal in pair)
            cross, own, other = cross + y * u.conj(), own + np.abs(u) ** 2, other + np.abs(y) ** 2
        frequency = np.fft.rfftfreq(len(runs[0].t), dt)
        # The last sample makes the run slightly longer than its duration, so no frequency falls
        # exactly on the band's end.
        near = 0.5 * frequency[1]
        kept = (frequency > band[0] - near) & (frequency < band[1] + near)
        cross, own, other = (_smoothed(part, frequency)[kept] for part in (cross, own, other))
        coherence = np.real(np.abs(cross) ** 2 / (own * other))
        low, high = _neighbours(frequency)
        averaged = len(runs) * (high - low)[kept].astype(float)
        return cls(frequency[kept], cross / own, coherence, averaged)

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
FREQUENCY = "frequency in Hz"
"""Label of axes."""
PERIODS = 3
"""Least duration of a log in periods of the lowest frequency."""


class _FrequencyResponse(StandardManoeuvre):
    """Base of both frequency response tests."""

    speed: m_s
    needs = (tyres_needed, speed_needed)
    METRICS = "".join(
        f"""
    {name}_steady_gain [{unit}]: Gain at the lowest frequency, {BAND[0]:g} Hz, per angle of the
        front wheels.
    {name}_bandwidth [Hz]: Where the gain falls below 0.707 of that at the lowest frequency.
    {name}_phase_at_1_hz [rad]: Phase behind the angle at 1 Hz, negative: behind.
    {name}_peak_ratio []: Largest gain of the band over that at the lowest frequency.
    {name}_coherence []: Least coherence of the band.
    """
        for name, unit in zip(RESPONSES.values(), ("1/s", "m/(s²·rad)", ""), strict=True)
    )

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
        found = self._findings(car, [whole], float(part["v_x"].mean()), COHERENT)
        if len(part.t) == len(drive.t):
            return found
        note = (
            f"taken from {part.t[0]:.4g} to {part.t[-1]:.4g} s of the log, where the speed is "
            f"within {100.0 * STEADY_SPEED:g} % of its median, {np.median(drive['v_x']):.4g} m/s"
        )
        return replace(found, notes=[*found.notes, note])

    def _findings(
        self, car: Subject, runs: Sequence[CaseRun], v: m_s, coherent: one | None = None
    ) -> Findings:
        """Findings of runs; with `coherent`, only frequencies of at least that coherence."""
        parts = [run.since(0.0) for run in runs]
        notes = endings(runs)
        known = dict[str, Response]()
        for signal in RESPONSES:
            if not all(signal in part for part in parts):
                continue
            seen = known[signal] = Response.estimate(parts, "steer", signal, BAND)
            if coherent is not None:
                known[signal] = seen.where_coherent(coherent)
                notes += _left_out(signal, seen, known[signal], coherent)
        theories, done = car.theories(v), all_done(runs)
        values, theory = dict[str, Array](), dict[str, Any]()
        charts, slow = list[Chart](), set[str]()
        for signal, seen in known.items():
            name, lowest, steady = RESPONSES[signal], seen.frequency[0], np.abs(seen.gain[0])
            values[f"{name}_steady_gain"] = np.where(done, steady, np.nan)
            changing = {
                f"{name}_bandwidth": seen.bandwidth,
                f"{name}_phase_at_1_hz": seen.phase_at(1.0),
                f"{name}_peak_ratio": _largest(seen) / steady,
                f"{name}_coherence": seen.coherence.min(axis=0),
            }
            if any(signal in part.source.steady for part in parts):
                slow.add(signal)
            told = done & (signal not in slow)
            values |= {n: np.where(told, row, np.nan) for n, row in changing.items()}
            if signal in theories[0].OUTPUTS:
                gains, band = [own.to_angle(lowest) for own in theories], np.linspace(*BAND, 400)
                theory[f"{name}_steady_gain"] = [abs(gain[signal][0]) for gain in gains]
                over_band = (np.abs(own.to_angle(band)[signal]) for own in theories)
                theory[f"{name}_bandwidth"] = [bandwidth_of(band, gain) for gain in over_band]
                at_one = [own.to_angle(1.0)[signal][0] for own in theories]
                theory[f"{name}_phase_at_1_hz"] = np.angle(at_one)
            if signal not in slow:
                charts += _bode_charts(signal, seen, theories[0])
        curves = [
            Curve(seen.frequency, seen.coherence[:, 0], words_of(signal))
            for signal, seen in known.items()
            if signal not in slow
        ]
        charts.append(Chart("Coherence", FREQUENCY, "coherence", curves, x_log=True))
        return Findings(self.metrics(values, theory), charts, notes)


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
        return self._findings(car, runs, v)


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
        return self._findings(car, runs, v)


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
        # Frequencies are evenly spaced, so the sum is a polynomial in the rotation per step
        # (Horner's scheme).
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
    within = ~(f > seen.bandwidth)  # all frequencies where no bandwidth was found
    share = (np.isfinite(gain) & within).sum(axis=0) / within.sum(axis=0)
    largest = np.where(np.isfinite(gain), gain, -np.inf).max(axis=0)
    return np.where(share >= COVERED, largest, np.nan)


def _bode_charts(signal: str, seen: Response, theory: LinearCar) -> list[Chart]:
    """Charts of gain and phase of a response of the first variant; none if no gain is known."""
    known = np.isfinite(seen.gain[:, 0])
    if not known.any():
        return []
    f = seen.frequency[known]
    gains = [("driven", "run", seen.gain[known, 0])]
    if signal in theory.OUTPUTS:
        gains.append(("linear theory", "theory", theory.to_angle(f)[signal]))
    sizes = [Curve(f, np.abs(gain), label, kind) for label, kind, gain in gains]
    phases = [
        Curve(f, np.rad2deg(np.unwrap(np.angle(gain))), label, kind) for label, kind, gain in gains
    ]
    name = words_of(signal)
    return [
        Chart(f"Gain of {name}", FREQUENCY, "gain per rad", sizes, x_log=True),
        Chart(f"Phase of {name}", FREQUENCY, "phase in degrees", phases, x_log=True),
    ]
