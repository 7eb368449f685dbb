"""Sine with dwell (FMVSS 126, UN R140): does the vehicle stay stable, and does it still respond?

One period of a sine of 0.7 Hz that dwells at its second peak, with the throttle released, at ever
larger angles. The unit of the angle, A in the standards, is that at 0.3 g in slow ramps to both
sides, found beforehand by linear regression.

The angles grow from 1.5 A by 0.5 A to the larger of 6.5 A and 270° of the steering wheel, at most
300° (49 CFR 571.126, S7.9.4). That needs a vehicle with a steering wheel, or `steering_ratio`;
without either the last angle is 6.5 A, and a note says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.files import brief_repr
from ...units import kg, m_s, m_s2, one, rad, s
from .case import Case, before, steered
from .case_run import BEGINNINGS, SIDES, CaseRun, endings, values_at
from .manoeuvre import Chart, Findings, Metric, Performing, StandardManoeuvre, chart
from .steady_state import angle_line
from .subject import Subject, speed_needed, tyres_needed

FREQUENCY = 0.7
"""Frequency of the sine in Hz."""
DWELL: s = 0.5
"""Dwell time at the second peak."""
END: s = 1.0 / FREQUENCY + DWELL
"""Time at which the angle is back at zero."""
G: m_s2 = 9.81
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
    """Angle of the steering wheel over that of the front wheels.

    None for the vehicle's own, if it has a steering wheel.
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
        drive.must_follow(angle, sine_with_dwell(drive.t - begin), what)
        drive.must_last(drive.t[-1] - steering.when, END + LATER[-1][0])
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
                "steering wheel only steering_ratio tells what 270° of it are"
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
    """Yaw rate ratios at the times of `LATER`, each (runs, V)."""
    return [np.stack([yaw_left(run, after) for run in runs]) for after, _ in LATER]


def sine_with_dwell(t: Array) -> Array:
    """Steering signal over time, of amplitude 1."""
    pause = 0.75 / FREQUENCY
    after = np.where(t < pause, t, np.maximum(t - DWELL, pause))
    wave = np.sin(2.0 * np.pi * FREQUENCY * after)
    return np.where((t < 0.0) | (t > END), 0.0, wave)


def yaw_left(run: CaseRun, after: s) -> Array:
    """Yaw rate at a time after the steering, relative to its peak since the sign change, (V,)."""
    # The second peak is the one after the angle has gone through zero.
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
