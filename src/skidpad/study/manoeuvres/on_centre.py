"""On-centre handling: the weave test (ISO 13674-1) and the transition test (ISO 13674-2).

Weave: the angle is a slow sine at constant speed. Over the angle, yaw rate and lateral acceleration
are loops. Their slope where the angle is zero is the gradient, their width there is the dead band:
the response that remains when the wheels are straight (ordinate), and the angle of the wheels when
the response is zero (abscissa). For a linear vehicle with gain G and phase p at the frequency, and
an angle of amplitude A, the loop is an ellipse with

    gradient = G cos p,   dead band = -2 A G sin p (ordinate),   -2 A sin p (abscissa)

so that its width comes from delay alone. Friction and play of a steering make loops wider; the
vehicles here have neither. They have no torque at the steering wheel either, so the gradients and
dead bands of the torque that the standard has are not among the metrics.

Transition: at constant speed the angle grows slowly and evenly from straight ahead. Over it,
lateral acceleration and yaw rate are nearly straight lines, found by linear regression. Their slope
is the gradient. The angle at which the line of the beginning crosses zero is the dead band, which
is turned before the vehicle seems to respond. For a linear vehicle it is the rate of the angle
times the delay of the response.
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
    must_follow,
    must_last,
    must_tell,
    must_turn,
    passing_time,
    peak_of,
    steering_of,
)
from .manoeuvre import Performing, StandardManoeuvre, beside_theory, linear_drive
from .metric import Chart, Curve, Findings, Metric
from .steady_state import angle_line, slope_at_zero
from .subject import Subject, grip_needed, speed_needed, tyres_needed

FIRST = 1
"""Periods at the beginning that are left out, until the motion repeats itself."""
NEAR: one = 0.5
"""Share of the largest angle up to which gradients are fitted."""
RESPONSES = {"a_y": "lateral_acceleration", "omega": "yaw_rate"}
"""Signals and the names that metrics give them."""
UNITS = {"a_y": "m/s²", "omega": "rad/s"}
GRADIENTS = {"a_y": ("steering_sensitivity", "m/s²/rad"), "omega": ("yaw_rate_gradient", "1/s")}


@dataclass(frozen=True)
class Weave(StandardManoeuvre):
    """A slow sine of the angle at constant speed, begun to the left and to the right."""

    speed: m_s = 100.0 / 3.6
    """That of ISO 13674-1."""
    frequency: per_s = 0.2
    """In Hz; that of ISO 13674-1."""
    a_y: m_s2 = 2.0
    """Peak of lateral acceleration; that of ISO 13674-1."""
    periods: int = 3
    """Number of periods that are measured, after a first one that is not."""
    sides: tuple[str, ...] = tuple(BEGINNINGS)
    """Sides to which the sine begins; metrics are means of both."""
    one_drive = True
    name = "weave"
    title = "Weave test"
    source = "ISO 13674-1:2023"
    needs = (tyres_needed, speed_needed, grip_needed)
    METRICS = """
    peak_angle [rad]: Of the front wheels.
    peak_lateral_acceleration [m/s²]: Mean of all peaks.
    """

    __repr__ = brief_repr

    def perform(self, car: Subject) -> Performing:
        """A first drive finds the amplitude, the others are the test."""
        gain = float(np.abs(car.theory(self.speed).response(self.frequency)["a_y"][0]))
        guess = np.full(car.variants, self.a_y / gain)
        (tried,) = yield [self._case(car, "finds the amplitude", guess)]
        reached = self._peak(tried, "a_y", 1.0)
        angle = guess * np.clip(self.a_y / np.maximum(reached, 1e-3), 0.3, 3.0)
        runs = yield [self._case(car, side, BEGINNINGS[side] * angle) for side in self.sides]
        return self._findings(car, runs, angle)

    def adapted_to(self, drive: CaseRun) -> Weave:
        """With the speed, the peak of lateral acceleration and the side of a log."""
        steering = steering_of(drive)
        must_tell(drive, "a_y", "the test is driven to its peak", changing=True)
        begin = steering.when - np.arcsin(0.5) / (2.0 * np.pi * self.frequency)
        moved = CaseRun(drive.label, drive.t - begin, drive.signals)
        part = moved.since(0.0, self._end)
        must_last(drive, part.t[-1], (FIRST + self.periods) / self.frequency, "g")
        sine = steering.side * np.sin(2.0 * np.pi * self.frequency * part.t)
        must_follow(drive, part["steer"][:, 0], sine, f"sine of {self.frequency:g} Hz")
        a_y = float(self._peak(part, "a_y", steering.side)[0])
        must_turn(drive, a_y, "at most")
        return replace(self, speed=steering.v, a_y=a_y, sides=steering.named(BEGINNINGS))

    @property
    def _end(self) -> s:
        """Of a drive: a quarter of a period after those that are measured."""
        return float(np.ceil((FIRST + self.periods + 0.25) / self.frequency))

    def _case(self, car: Subject, label: str, angle: Array) -> Case:
        def sine(t: Array) -> Array:
            return np.sin(2.0 * np.pi * self.frequency * np.maximum(t, 0.0))

        most = car.limits.steer_max
        return steered(label, self._end, self.speed, sine, np.clip(angle, -most, most), run_in=0.5)

    def _halves(self, run: CaseRun, shift: one) -> list[tuple[one, CaseRun]]:
        """Half periods that are measured, with 1 for the first of a period and -1 for the second;
        begun by a share of a period later."""
        length = 0.5 / self.frequency
        begin = FIRST / self.frequency + shift / self.frequency
        parts: list[tuple[one, CaseRun]] = []
        for k in range(2 * self.periods):
            start = begin + k * length
            parts.append(((-1.0) ** k, run.since(start, start + length)))
        return parts

    def _peak(self, run: CaseRun, name: str, side: one) -> Array:
        """Mean of the peaks of a signal, (V,)."""
        halves = self._halves(run, 0.0)
        peaks = [peak_of(part.t, side * sign * part[name])[1] for sign, part in halves]
        return np.mean(peaks, axis=0)

    def _zeros(self, run: CaseRun, name: str, side: one) -> list[Array]:
        """When a signal goes through zero, each (V,): upwards, downwards and so on."""
        times: list[Array] = []
        for sign, part in self._halves(run, -0.25):
            rising = side * sign * part[name]
            times.append(passing_time(part.t, rising, np.gradient(rising, part.t, axis=0), 0.0))
        return times

    def loop(self, run: CaseRun, name: str, side: one) -> Loop:
        """Of a signal over the angle, of one drive that begins to the left (1) or right (-1)."""
        angle = self._peak(run, "steer", side)
        straight, none = (self._zeros(run, signal, side) for signal in ("steer", name))
        signs = [side * sign for sign, _ in self._halves(run, 0.0)]
        left = [
            -sign * cubic_at(run.t, run[name], t) for sign, t in zip(signs, straight, strict=True)
        ]
        turned = [
            sign * cubic_at(run.t, run["steer"], t) for sign, t in zip(signs, none, strict=True)
        ]
        whole = run.since(FIRST / self.frequency, (FIRST + self.periods) / self.frequency)
        # The last sample is the first of the next period.
        x, y = whole["steer"][:-1], whole[name][:-1]
        lag = np.mean(none, axis=0) - np.mean(straight, axis=0)
        gradient = slope_at_zero(x / angle, y, NEAR) / angle
        return Loop(gradient, 2.0 * np.mean(left, axis=0), 2.0 * np.mean(turned, axis=0), lag)

    def _linear(self, car: Subject, name: str, angle: Array) -> Loop:
        """The loop of linear theory with the same amplitude; NaN of variants without a theory, see
        `with_theory`."""
        gains = np.full((2, car.variants), np.nan, dtype=complex)
        for k, theory in enumerate(car.with_theory().theories(self.speed)):
            gains[0, k] = theory.to_angle(self.frequency)[name][0]
            gains[1, k] = theory.response(self.frequency)["steer"][0]
        G, p, A = np.abs(gains[0]), np.angle(gains[0]), np.abs(gains[1]) * angle
        band = -2.0 * A * np.sin(p)
        return Loop(G * np.cos(p), G * band, band, -p / (2.0 * np.pi * self.frequency))

    def _findings(self, car: Subject, runs: Sequence[CaseRun], angle: Array) -> Findings:
        signs = [BEGINNINGS[side] for side in self.sides]

        def mean(name: str) -> Array:
            peaks = [self._peak(run, name, sign) for run, sign in zip(runs, signs, strict=True)]
            return np.mean(peaks, axis=0)

        metrics: list[Metric] = []
        for signal in RESPONSES:
            pairs = zip(runs, signs, strict=True)
            loop = Loop(*np.mean([self.loop(run, signal, sign) for run, sign in pairs], axis=0))
            metrics += _metrics(signal, loop, self._linear(car, signal, angle))
        peaks = {"peak_angle": mean("steer"), "peak_lateral_acceleration": mean("a_y")}
        metrics += self.metrics(peaks)
        done = all_done(runs)
        metrics = [replace(m, value=np.where(done, m.value, np.nan)) for m in metrics]
        return Findings(metrics, self._charts(car, runs[0], angle[0]), endings(runs))

    def _charts(self, car: Subject, run: CaseRun, angle: float) -> list[Chart]:
        """The last period of the first variant, and the ellipse of linear theory."""
        last = FIRST + self.periods
        shown = run.since((last - 1) / self.frequency, last / self.frequency)
        theory, turn = (
            car.theories(self.speed)[0],
            np.exp(2.0j * np.pi * np.linspace(0.0, 1.0, 201)),
        )
        response = {name: gain[0] for name, gain in theory.response(self.frequency).items()}
        x = angle * (response["steer"] * turn).imag
        return [
            Chart(
                f"Weave test: {words}",
                "angle of the front wheels in rad",
                f"{words} in {UNITS[name]}",
                [
                    Curve(shown["steer"][:, 0], shown[name][:, 0], run.label),
                    Curve(x, angle * (response[name] * turn).imag, "linear theory", "theory"),
                ],
            )
            for name, words in ((name, own.replace("_", " ")) for name, own in RESPONSES.items())
        ]


class Loop(NamedTuple):
    """A signal over the angle, each (V,)."""

    gradient: Array
    ordinate: Array
    """Distance between the branches where the angle is zero; positive if the signal lags."""
    abscissa: Array
    """Distance between the branches where the signal is zero, in rad; positive if it lags."""
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
"""Between the samples of linear theory."""
BEYOND: one = 1.2
"""Final angle over the one at which linear theory reaches `a_y`."""
CENTRE: tuple[one, one] = 1.0 / 15.0, 1.0 / 3.0
"""Shares of lateral acceleration between which the vehicle begins to turn: 0.1 to 0.5 m/s²."""
TURNING: tuple[one, one] = 1.0 / 3.0, 1.0
"""Shares between which it turns: 0.5 to 1.5 m/s²."""
EVEN: one = 0.98
"""Least correlation of angle and time with which the angle of a log grows evenly."""


@dataclass(frozen=True)
class Transition(StandardManoeuvre):
    """An angle that grows slowly from straight ahead, to the left and to the right."""

    speed: m_s = 100.0 / 3.6
    """That of the weave test."""
    a_y: m_s2 = 1.5
    """Lateral acceleration at the end of the evaluation, up to which tyres are nearly linear."""
    duration: s = 6.0
    """Time in which the angle grows to a fifth more than linear theory needs for `a_y`."""
    sides: tuple[str, ...] = tuple(SIDES)
    """To which it is driven; metrics are means of both."""
    name = "transition"
    title = "Transition test"
    source = "ISO 13674-2:2016"

    __repr__ = brief_repr

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        lacks = tyres_needed(car) or speed_needed(car, self)
        if not lacks and self.a_y > 0.5 * car.grip:
            return (
                f"{car.name} has grip for {car.grip:.1f} m/s²; up to {self.a_y:g} m/s² its tyres "
                "are far from linear"
            )
        return lacks

    def perform(self, car: Subject) -> Performing:
        """To each side."""
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
        v, side = float(drive["v_x"][rising].mean()), steering.named(SIDES)
        return replace(self, speed=v, duration=float(lasts), sides=side)

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """From a log of one ramp."""
        begin = CaseRun(drive.label, drive.t - drive.t[0], drive.signals, source=drive.source)
        peak = int(np.abs(drive["steer"][:, 0]).argmax())
        # What comes after the largest angle is the way back.
        way = begin.since(0.0, float(begin.t[peak]))
        return Findings(self.means([way]), _charts(way, None, 1.0), endings([way]))

    def linear(self, car: Subject, angle: Array) -> CaseRun:
        """Drive of linear theory on the same ramp, scaled by `angle`, (V,), in rad."""
        samples = round(self.duration / PERIOD) + 1
        return linear_drive(
            car, self.speed, angle, PERIOD, lambda car: car.ramp(self.duration, PERIOD, samples)
        )

    def means(self, runs: Sequence[CaseRun]) -> list[Metric]:
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
        near, far = f"from {low} to {middle} m/s²", f"from {middle} to {high} m/s²"
        per_angle = "per angle of the front wheels"
        return [
            Metric("steering_sensitivity", across, "m/s²/rad",
                   f"Lateral acceleration {per_angle} {far}."),
            Metric("steering_sensitivity_at_centre", centre, "m/s²/rad",
                   f"The same {near}."),
            Metric("lateral_acceleration_angle_dead_band", dead, "rad",
                   f"Angle at which the line {near} has none."),
            Metric("yaw_rate_gradient", yaw, "1/s",
                   f"Yaw rate {per_angle}, {far} by speed."),
            Metric("yaw_rate_angle_dead_band", yaw_dead, "rad",
                   f"Angle at which the line {near} by speed has no yaw rate."),
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
