"""On-centre handling: the weave test (ISO 13674-1) and the transition test (ISO 13674-2).

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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
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
    beside_theory,
    chart,
    linear_drive,
)
from .steady_state import angle_line, slope_at_zero
from .subject import Subject, grip_needed, speed_needed, tyres_needed

FIRST = 1
"""Number of periods left out at the beginning, until the motion is periodic."""
NEAR: one = 0.5
"""Share of the largest angle up to which gradients are fitted."""
RESPONSES = {"a_y": "lateral_acceleration", "omega": "yaw_rate"}
"""Signals and their names in metrics."""
UNITS = {"a_y": "m/s²", "omega": "rad/s"}
GRADIENTS = {"a_y": ("steering_sensitivity", "m/s²/rad"), "omega": ("yaw_rate_gradient", "1/s")}


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
    """

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
        drive.must_tell("a_y", "the test is driven to its peak", changing=True)
        begin = steering.when - np.arcsin(0.5) / (2.0 * np.pi * self.frequency)
        moved = CaseRun(drive.label, drive.t - begin, drive.signals)
        part = moved.since(0.0, self._end)
        drive.must_last(part.t[-1], (FIRST + self.periods) / self.frequency, "g")
        sine = steering.side * np.sin(2.0 * np.pi * self.frequency * part.t)
        drive.must_follow(part["steer"][:, 0], sine, f"sine of {self.frequency:g} Hz")
        a_y = float(self._peak(part, "a_y", steering.side)[0])
        drive.must_turn(a_y, "at most")
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

        metrics: list[Metric] = []
        for signal in RESPONSES:
            loop = Loop(*np.mean([self.loop(run, signal, sign) for run, sign in pairs], axis=0))
            metrics += _metrics(signal, loop, self._linear(car, signal, angle))
        metrics += self.metrics(peak_angle=mean("steer"), peak_lateral_acceleration=mean("a_y"))
        done = all_done(runs)
        metrics = [replace(m, value=np.where(done, m.value, np.nan)) for m in metrics]
        return Findings(metrics, self._charts(car, runs[0], angle[0]), endings(runs))

    def _charts(self, car: Subject, run: CaseRun, angle: float) -> list[Chart]:
        """Charts of the last period of the first variant, with the ellipse of linear theory."""
        last = FIRST + self.periods
        shown = run.since((last - 1) / self.frequency, last / self.frequency)
        gains = car.theories(self.speed)[0].response(self.frequency)
        turn = np.exp(2.0j * np.pi * np.linspace(0.0, 1.0, 201))
        ellipse = {name: angle * (gain[0] * turn).imag for name, gain in gains.items()}
        charts: list[Chart] = []
        for name, own in RESPONSES.items():
            theory = Curve(ellipse["steer"], ellipse[name], "linear theory", "theory")
            title = f"Weave test: {own.replace('_', ' ')}"
            charts.append(chart(title, "steer", name, shown, theory))
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


def _metrics(signal: str, loop: Loop, linear: Loop) -> list[Metric]:
    own, (gradient, unit) = RESPONSES[signal], GRADIENTS[signal]
    words = own.replace("_", " ")
    return [
        Metric(
            gradient, loop.gradient, unit,
            f"Slope of {words} over the angle of the front wheels, at zero, of both branches of "
            "the loop.", linear.gradient,
        ),
        Metric(
            f"{own}_dead_band", loop.ordinate, UNITS[signal],
            f"Width of the loop where the front wheels are straight, in {words}; positive: behind.",
            linear.ordinate,
        ),
        Metric(
            f"{own}_angle_dead_band", loop.abscissa, "rad",
            f"Width of the loop where there is no {words}, in angle of the front wheels.",
            linear.abscissa,
        ),
        Metric(
            f"{own}_lag", loop.lag, "s",
            f"From the zeros of the angle of the front wheels to those of {words}.", linear.lag,
        ),
    ]  # fmt: skip


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
        metrics = beside_theory(runs, self.means(runs), self.means([linear]))
        return Findings(metrics, _charts(runs[0], linear, SIDES[self.sides[0]]), endings(runs))

    def adapted_to(self, drive: CaseRun) -> Transition:
        """Return the test with the speed, side and steering rate of a log."""
        steering = drive.steering()
        drive.must_tell("a_y", "how far the ramp goes is unknown")
        a_y, angle = (steering.side * drive[name][:, 0] for name in ("a_y", "steer"))
        shares = (CENTRE[0], 1.0)
        first, last = (first_time(drive.t, a_y[:, None], k * self.a_y)[0] for k in shares)
        rising = (drive.t >= first) & (drive.t <= last)
        if not np.isfinite(last) or rising.sum() < 5:
            most = f"{drive.label} turns with {a_y.max():.2f} m/s² at most"
            raise InvalidValue(f"{most}; {self.a_y:g} m/s² are needed")
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
        # What comes after the largest angle is the way back.
        way = begin.since(0.0, float(begin.t[peak]))
        return Findings(self.means([way]), _charts(way, None, 1.0), endings([way]))

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


def _charts(run: CaseRun, linear: CaseRun | None, side: one) -> list[Chart]:
    kept = run.since(0.0)
    charts: list[Chart] = []
    for name, own in RESPONSES.items():
        shown: list[CaseRun | Curve] = [kept]
        if linear is not None:
            x, y = (side * linear[one][:, 0] for one in ("steer", name))
            shown.append(Curve(x, y, "linear theory", "theory"))
        charts.append(chart(f"Transition test: {own.replace('_', ' ')}", "steer", name, *shown))
    return charts
