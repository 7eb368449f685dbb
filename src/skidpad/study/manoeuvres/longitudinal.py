"""Along the road: acceleration from rest, coasting down, and the tightest turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.files import brief_repr
from ...units import m, m_s, m_s2, rad, s
from .case import Case, before, straight
from .case_run import MOVING, SLOWER, CaseRun, first_time, lasting, slowing_of
from .manoeuvre import Performing, StandardManoeuvre
from .metric import Chart, Curve, Findings, Metric
from .subject import Subject, drive_needed, steering_needed

KM_H = 1.0 / 3.6
LAUNCHES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
"""Accelerations demanded, over the most that the drive gives."""
ASIDE: m = 1.0
"""Deviation up to which a launch has stayed on its course."""
ASKEW: rad = 0.05
"""Sideslip up to which it has."""
NEXT_TO_NOTHING = 1e-9
"""In s or m/s, between launches that are the same but for rounding."""
SETTLED: s = 1.0
"""After which what is left of the drive's torque does not matter for coasting."""


@dataclass(frozen=True)
class Acceleration(StandardManoeuvre):
    """From rest as fast as drive and tyres allow: with all that the drive gives, unless wheels that
    spin make it slower or throw it off its course."""

    speeds: tuple[m_s, ...] = (50.0 * KM_H, 100.0 * KM_H)
    """Speeds to which times are reported."""
    ways: tuple[m, ...] = (75.0, 400.0)
    """Distances over which times are reported."""
    duration: s = 30.0
    one_drive = True
    name = "acceleration"
    title = "Acceleration from rest"
    source = "SAE J1491 (paraphrased)"
    needs = (drive_needed,)

    __repr__ = brief_repr

    def perform(self, car: Subject) -> Performing:
        """Several launches at once; each value is of the best for it."""
        most = car.limits.a_max if car.limits.a_max < inf else 1.5 * min(car.grip, 20.0)
        runs = yield [self._case(share * most) for share in LAUNCHES]
        kept = [run.since(0.0) for run in runs]
        metrics = [
            *(_best(f"time_to_{round(v / KM_H)}_km_h", _times(kept, "v_x", v), "s",
                    f"From rest to {v / KM_H:.0f} km/h.") for v in self.speeds),
            *(_best(f"time_over_{d:g}_m", _times(kept, "x", d), "s", f"From rest over {d:g} m.")
              for d in self.ways),
        ]  # fmt: skip
        ends = [np.where(on_course(run)[-1], -run["v_x"][-1], np.nan) for run in kept]
        last = _best("speed_at_end", ends, "m/s", f"After {self.duration:g} s.")
        metrics.append(replace(last, value=-last.value))
        # The launch in which the first vehicle goes farthest before it leaves its course.
        ways = [run["x"][on_course(run)[:, 0], 0].max(initial=-inf) for run in kept]
        shown = kept[int(np.argmax(ways))].variant(0)
        part = on_course(shown)[:, 0]
        curve = Curve(shown.t[part], shown["v_x"][part, 0], shown.label)
        chart = Chart("Acceleration", "time in s", "speed in m/s", [curve])
        return Findings(metrics, [chart], _left_course(kept[-1]))

    def _case(self, a: m_s2) -> Case:
        return Case(
            label=f"{a:.1f} m/s² asked for",
            duration=self.duration,
            a=lambda t: np.where(t >= 0.0, a, 0.0),
            hold=0.0,
            path=straight(),
            rests=True,
            run_in=0.5,
        )


def on_course(run: CaseRun) -> NDArray[np.bool_]:
    """Whether a vehicle has gone straight on up to a sample, (T, V)."""
    askew = (np.abs(run["sideslip"]) > ASKEW) & (run["speed"] > MOVING)
    # A log may not tell where it went; then it went straight on.
    gone = (np.abs(run["y"]) > ASIDE) | askew | ~np.isfinite(run["v_x"])
    return np.logical_and.accumulate(~gone, axis=0)


def _times(runs: Sequence[CaseRun], name: str, change: float) -> list[Array]:
    """When a signal has first grown by a value in each launch, (V,); NaN if it never has."""
    grown = [np.where(on_course(run), run[name] - run[name][0], -inf) for run in runs]
    return [first_time(run.t, rows, change) for run, rows in zip(runs, grown, strict=True)]


def _best(name: str, launches: Sequence[Array], unit: str, definition: str) -> Metric:
    """The least value of all launches, each (V,). With all that the drive gives it is smooth in
    the parameters; where a weaker launch is better, it is one of a grid, which they do not move."""
    best, full = np.fmin.reduce(launches), launches[-1]
    weaker = np.isfinite(best) & ~(full <= best + NEXT_TO_NOTHING)
    rough = f"of the best of {len(launches)} launches, a grid" if weaker.any() else ""
    return Metric(name, best, unit, definition, rough=rough)


def _left_course(run: CaseRun) -> list[str]:
    """A note where the first vehicle does not go straight on with all that its drive gives."""
    kept = on_course(run)[:, 0]
    if kept.all():
        return []
    k = int(np.argmin(kept))
    return [
        f"with {run.label} it leaves its course after {run.t[k]:.1f} s: more than tyres hold; "
        "each value is of the launch that is best for it"
    ]


@dataclass(frozen=True)
class CoastDown(StandardManoeuvre):
    """From a speed without drive and brakes: what resists."""

    speed: m_s = 100.0 * KM_H
    slow: m_s = 15.0 * KM_H
    """Down to which the resistance is fitted."""
    duration: s = 60.0
    name = "coast_down"
    title = "Coast-down"
    source = "ISO 10521-1:2015"
    needs = (drive_needed,)
    METRICS = """
    resistance_constant [m/s²]: Deceleration of slow rolling.
    resistance_linear [1/s]: What grows with speed.
    resistance_square [1/m]: What grows with its square: air.
    way [m]: In {test.duration:g} s.
    """

    def perform(self, car: Subject) -> Performing:
        """Once."""
        v = min(self.speed, 0.9 * car.limits.v_max)
        (run,) = yield [
            Case(
                label="coasting",
                duration=self.duration,
                v=v,
                speed=v,
                hold=before,
                coast=lambda t: (t >= 0.0).astype(float),
                path=straight(),
                rests=True,
            )
        ]
        kept = run.since(SETTLED)
        fits = [_resistance(kept.t, kept["v_x"][:, k], self.slow) for k in range(run.variants)]
        constant, linear, square = np.array(fits).T
        metrics = self.metrics(
            {
                "resistance_constant": constant,
                "resistance_linear": linear,
                "resistance_square": square,
                "way": kept["x"][-1] - kept["x"][0],
            }
        )
        curve = Curve(run.t, run["v_x"][:, 0], "driven")
        return Findings(metrics, [Chart("Coast-down", "time in s", "speed in m/s", [curve])])

    def adapted_to(self, drive: CaseRun) -> CoastDown:
        """From the speed of a log, for as long as it lasts."""
        slowing = slowing_of(drive)
        begun = slowing.when - (1.0 - SLOWER) * slowing.v / slowing.deceleration
        return replace(self, speed=slowing.v, duration=lasting(self.duration, drive, begun))


def _resistance(t: Array, v: Array, slow: m_s) -> Array:
    """Coefficients of a deceleration f_0 + f_1 v + f_2 v² by least squares of the speed lost.

    The integral form needs no derivative of the record: v(0) - v(t) = ∫ (f_0 + f_1 v + f_2 v²) dt.
    """
    used = v > slow
    if used.sum() < 10:
        return np.full(3, np.nan)
    t, v = t[used], v[used]
    step = np.diff(t, prepend=t[0])
    middle = 0.5 * (v + np.concatenate([v[:1], v[:-1]]))
    terms = np.stack([np.cumsum(step * middle**k) for k in range(3)], axis=1)
    return np.linalg.lstsq(terms, v[0] - v, rcond=None)[0]


@dataclass(frozen=True)
class TurningCircle(StandardManoeuvre):
    """The tightest turn at walking pace."""

    speed: m_s = 1.5
    duration: s = 12.0
    name = "turning_circle"
    title = "Turning circle"
    source = "ISO 789-3 (kerb to kerb, wall to wall)"
    needs = (steering_needed,)
    METRICS = """
    kerb_to_kerb [m]: Diameter of the path of the outermost wheel.
    wall_to_wall [m]: Diameter of the path of the outermost corner.
    """

    def perform(self, car: Subject) -> Performing:
        """To the left with full lock."""
        lock, v = car.abilities.steer_max, min(self.speed, 0.9 * car.limits.v_max)
        (run,) = yield [
            Case(label="full lock", duration=self.duration, v=v, speed=v, steer=lock, rests=True)
        ]
        end = run.since(run.t[-1] - 1.0)
        # Where it turns about, seen from the centre of mass.
        ahead = (-end["v_y"] / end["omega"]).mean(axis=0)
        aside = (end["v_x"] / end["omega"]).mean(axis=0)
        com = np.array(car.geometry.centre_of_mass)
        wheels = np.array([(w.x, w.y) for w in car.geometry.wheels]) - com
        corners = np.concatenate([np.array(o) for o in car.geometry.outlines]) - com
        kerb, wall = (
            2.0 * np.hypot(p[:, :1] - ahead, p[:, 1:] - aside).max(axis=0)
            for p in (wheels, corners)
        )
        # Of a vehicle without slip whose mean front wheel has the angle.
        shapes = ((each.geometry.wheel_base, each.geometry.track) for each in car.each)
        theory = [
            2.0 * float(np.hypot(base / np.tan(lock) + 0.5 * track, base)) for base, track in shapes
        ]
        values = {"kerb_to_kerb": kerb, "wall_to_wall": wall}
        metrics = self.metrics(values, {"kerb_to_kerb": theory})
        curve = Curve(run["x"][:, 0], run["y"][:, 0], "centre of mass")
        return Findings(metrics, [Chart("Path", "x in m", "y in m", [curve], equal=True)])
