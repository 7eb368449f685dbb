"""Robots: how exactly they turn on the spot, drive straight, in an arc and round a square.

They are commanded a speed and a yaw rate over time, without feedback. The path that follows from
their wheels by odometry is compared with the true one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...units import m, m_s, rad_s, s
from .case import Case
from .case_run import SIDES, CaseRun, params_of
from .manoeuvre import Performing, StandardManoeuvre
from .metric import Chart, Curve, Findings
from .subject import Subject, loop_needed, takes


@dataclass(frozen=True, eq=False)
class Track:
    """Pose of the middle of the wheels over time from where it was, each (T, V)."""

    label: str
    x: Array
    """Along the vehicle as it stood at the start, in m."""
    y: Array
    """To the left of it, in m."""
    yaw: Array
    """In rad, not wrapped."""

    @property
    def distance(self) -> Array:
        """From the start, in m."""
        return np.hypot(self.x, self.y)

    @property
    def travelled(self) -> Array:
        """Length of the path, in m."""
        steps = np.hypot(np.diff(self.x, axis=0), np.diff(self.y, axis=0))
        return np.concatenate([np.zeros_like(self.x[:1]), np.cumsum(steps, axis=0)])


def track_of(car: Subject, run: CaseRun) -> Track:
    """The true track, from time zero on."""
    kept = run.since(0.0)
    com = car.geometry.centre_of_mass
    ahead, aside = _middle(car) - com[0], -com[1]
    c, s = np.cos(kept["yaw"]), np.sin(kept["yaw"])
    x, y = kept["x"] + ahead * c - aside * s, kept["y"] + ahead * s + aside * c
    return _from_start(run.label, x, y, kept["yaw"])


def odometry_track(car: Subject, run: CaseRun) -> Track:
    """The track by dead reckoning with `Body.odometry`, sample by sample."""
    vehicle, kept = car.vehicle, run.since(0.0)
    assert vehicle.body.odometry is not None
    assert kept.states is not None
    assert kept.inputs is not None
    x = record.unflatten(vehicle.State, list(np.moveaxis(kept.states, -1, 0)))
    u = record.unflatten(vehicle.Input, list(np.moveaxis(kept.inputs, -1, 0)))
    told: Any = vehicle.body.odometry(x, u, params_of(vehicle, car.params))
    middle = _middle(car)
    v_x, v_y, omega = (np.broadcast_to(part, kept["yaw"].shape) for part in told)
    yaw = kept["yaw"][:1] + _summed(kept.t, omega)
    c, s = np.cos(yaw), np.sin(yaw)
    v_y = v_y + middle * omega
    way = _summed(kept.t, v_x * c - v_y * s), _summed(kept.t, v_x * s + v_y * c)
    return _from_start(run.label, *way, yaw)


def _middle(car: Subject) -> float:
    """Position of the middle of the wheels, forward of the reference point."""
    return 0.5 * (car.geometry.front_axle + car.geometry.rear_axle)


def _summed(t: Array, rate: Array) -> Array:
    """Integral from the first sample on, by trapezia."""
    parts = 0.5 * (rate[1:] + rate[:-1]) * np.diff(t)[:, None]
    return np.concatenate([np.zeros_like(rate[:1]), np.cumsum(parts, axis=0)])


def _from_start(label: str, x: Array, y: Array, yaw: Array) -> Track:
    """Seen from the pose at the start."""
    c, s = np.cos(yaw[:1]), np.sin(yaw[:1])
    x, y = x - x[:1], y - y[:1]
    return Track(label, c * x + s * y, c * y - s * x, yaw - yaw[:1])


RISE: s = 0.2
"""In which a command goes from one value to the next."""
PAUSE: s = 1.0
"""At rest after a drive, or between two parts of it."""
STEADY: s = 1.0
"""At the end of a drive, over which a rate is averaged."""


def robot_needed(car: Subject, test: Any = None) -> str:
    """A robot that turns on the spot."""
    turns = not car.steers and car.limits.omega_max > 0.0 and bool(takes(car, "omega"))
    return "" if turns else f"{car.name} does not turn on the spot"


@dataclass(frozen=True)
class SpinInPlace(StandardManoeuvre):
    """Whole turns on the spot, to both sides."""

    omega: rad_s = 1.0
    """Yaw rate asked for; half of what slower ones can."""
    turns: float = 2.0
    name = "spin_in_place"
    title = "Spin in place"
    source = "ISO 18646-1:2016 (paraphrased): turning of wheeled robots"
    needs = (robot_needed,)
    METRICS = """
    yaw_error [rad]: Angle turned less {test.turns:g} turns, of the side on which it is larger.
    yaw_rate_share []: Steady yaw rate over the one asked for, mean of both sides.
    centre_drift [m]: Largest distance of the middle of the wheels from where it was.
    odometry_yaw_error [rad]: Angle turned as the wheels tell it less the true one, of the worse
        side.
    """

    def perform(self, car: Subject) -> Performing:
        """Both sides at once."""
        omega = min(self.omega, 0.5 * car.limits.omega_max)
        lasts = 2.0 * np.pi * self.turns / omega
        runs = yield [
            Case(
                label=side,
                duration=lasts + RISE + PAUSE,
                omega=lambda t, sign=sign: sign * omega * _during(t, 0.0, lasts),
                speed=0.0,
                rests=True,
                run_in=0.2,
            )
            for side, sign in SIDES.items()
        ]
        asked = 2.0 * np.pi * self.turns
        tracks = [track_of(car, run) for run in runs]
        errors = np.stack([np.abs(track.yaw[-1]) - asked for track in tracks])
        drift = np.stack([track.distance.max(axis=0) for track in tracks])
        rates = [run.since(lasts - STEADY, lasts)["omega"].mean(axis=0) for run in runs]
        shares = np.abs(rates) / omega
        worst, column = np.argmax(np.abs(errors), axis=0), np.arange(car.variants)
        values = {
            "yaw_error": errors[worst, column],
            "yaw_rate_share": shares.mean(axis=0),
            "centre_drift": drift.max(axis=0),
        }
        if seen := _seen(car, runs):
            values["odometry_yaw_error"] = _yaw_error(seen, tracks)
        chart = _path_chart("Middle of the wheels", tracks, seen)
        return Findings(self.metrics(values), [chart])


STRAIGHT = ("deviation", "heading_error", "arc_asymmetry")
"""Metrics of `StraightAndArc` that an exact robot has none of."""


@dataclass(frozen=True)
class StraightAndArc(StandardManoeuvre):
    """A straight way and an arc to either side, at one speed."""

    length: m = 10.0
    radius: m = 2.0
    """Of those that turn on the spot; 1.5 times the tightest turn of those that steer."""
    speed: m_s = 1.0
    """Of those that turn on the spot; half of what slower ones can."""
    car_speed: m_s = 3.0
    """Of those that steer."""
    name = "straight_and_arc"
    title = "Straight and arc"
    source = "ISO 18646-2:2019 (paraphrased): accuracy of motion of wheeled robots"
    METRICS = """
    deviation [m]: Distance to the left of the straight way at its end.
    heading_error [rad]: Heading at its end.
    speed_share []: Steady speed over the one asked for.
    radius_error []: Radius of the steady arcs over the one asked for, less one.
    arc_asymmetry []: Radius of the left arc less that of the right one, over the one asked for.
    odometry_distance_error []: Way as the wheels tell it over the true one, less one, straight on.
    odometry_yaw_error [rad]: Angle turned as the wheels tell it less the true one, of the worse
        side.
    """

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        if not robot_needed(car):
            return ""
        if car.vehicle.body.odometry is None:
            return f"{car.name} neither turns on the spot nor has odometry"
        return loop_needed(car)

    def perform(self, car: Subject) -> Performing:
        """The straight one and both arcs at once."""
        wanted = self.car_speed if car.steers else self.speed
        v, radius = min(wanted, 0.5 * car.limits.v_max), self._radius(car)
        lasts = self.length / v
        # One that steers is commanded the angle, from which its yaw rate follows.
        angle = float(np.arctan(car.geometry.wheel_base / radius)) if car.steers else 0.0
        omega = 0.0 if car.steers else v / radius
        turns = {"straight": 0.0, "left arc": 1.0, "right arc": -1.0}
        runs = yield [
            Case(
                label=label,
                duration=lasts + RISE,
                speed=lambda t: v * _during(t, 0.0, 2.0 * lasts),
                steer=sign * angle,
                omega=lambda t, sign=sign: sign * omega * _during(t, 0.0, 2.0 * lasts),
                rests=True,
                run_in=0.2,
            )
            for label, sign in turns.items()
        ]
        tracks = [track_of(car, run) for run in runs]
        radii = np.stack([_radius(run, lasts) for run in runs[1:]])
        straight = tracks[0]
        values = {
            "deviation": straight.y[-1],
            "heading_error": straight.yaw[-1],
            "speed_share": runs[0].since(lasts - STEADY)["v_x"].mean(axis=0) / v,
            "radius_error": np.abs(radii).mean(axis=0) / radius - 1.0,
            "arc_asymmetry": (np.abs(radii[0]) - np.abs(radii[1])) / radius,
        }
        if seen := _seen(car, runs):
            far = straight.travelled[-1]
            values["odometry_distance_error"] = seen[0].travelled[-1] / far - 1.0
            values["odometry_yaw_error"] = _yaw_error(seen[1:], tracks[1:])
        metrics = self.metrics(values, dict.fromkeys(STRAIGHT, 0.0))
        return Findings(metrics, [_path_chart("Straight and arcs", tracks, seen)])

    def _radius(self, car: Subject) -> m:
        if not car.steers:
            return self.radius
        tightest = car.geometry.wheel_base / np.tan(car.abilities.steer_max)
        return float(max(self.radius, 1.5 * tightest))


@dataclass(frozen=True)
class SquarePath(StandardManoeuvre):
    """Once round a square, to both sides: where it ends, and where its wheels say it ends."""

    side: m = 4.0
    speed: m_s = 0.5
    """Half of what slower ones can."""
    omega: rad_s = 0.5
    """In the corners; half of what slower ones can."""
    name = "square_path"
    title = "Square, both ways round"
    source = "J. Borenstein, L. Feng: UMBmark, University of Michigan, 1994"
    needs = (robot_needed,)
    METRICS = """
    closing_error [m]: Distance from start to end of the square as driven, the larger of both ways.
    closing_yaw_error [rad]: Angle turned less one turn, without sign, the larger of both ways.
    odometry_error_ccw [m]: Distance from where it ends to where its wheels say so.
    odometry_error_cw [m]: Distance from where it ends to where its wheels say so.
    odometry_error [m]: The larger of both: systematic error of odometry after UMBmark.
    """

    def perform(self, car: Subject) -> Performing:
        """Drive the square in both directions, as one batch."""
        v = min(self.speed, 0.5 * car.limits.v_max)
        omega = min(self.omega, 0.5 * car.limits.omega_max)
        go, turn = self.side / v, 0.5 * np.pi / omega
        leg = go + turn + 2.0 * (RISE + PAUSE)
        corner = go + RISE + PAUSE

        def in_all(t: Array, begin: s, end: s) -> Array:
            return np.sum([_during(t, k * leg + begin, k * leg + end) for k in range(4)], axis=0)

        runs = yield [
            Case(
                label=label,
                duration=4.0 * leg,
                speed=lambda t: v * in_all(t, 0.0, go),
                omega=lambda t, sign=sign: sign * omega * in_all(t, corner, corner + turn),
                rests=True,
                run_in=0.2,
            )
            for label, sign in (("counter-clockwise", 1.0), ("clockwise", -1.0))
        ]
        tracks = [track_of(car, run) for run in runs]
        ends = np.stack([np.hypot(track.x[-1], track.y[-1]) for track in tracks])
        turned = np.stack([np.abs(track.yaw[-1]) - 2.0 * np.pi for track in tracks])
        values = {
            "closing_error": ends.max(axis=0),
            "closing_yaw_error": np.abs(turned).max(axis=0),
        }
        theory = dict.fromkeys(values, 0.0)
        if seen := _seen(car, runs):
            off = [
                np.hypot(wheels.x[-1] - true.x[-1], wheels.y[-1] - true.y[-1])
                for wheels, true in zip(seen, tracks, strict=True)
            ]
            values |= {"odometry_error_ccw": off[0], "odometry_error_cw": off[1]}
            values["odometry_error"] = np.fmax(*off)
        chart = _path_chart("Square", tracks, seen)
        return Findings(self.metrics(values, theory), [chart])


def _during(t: Array, begin: s, end: s) -> Array:
    """1 between two times, with a rise at each, so that its integral is their difference."""
    return np.clip((t - begin) / RISE, 0.0, 1.0) - np.clip((t - end) / RISE, 0.0, 1.0)


def _radius(run: CaseRun, end: s) -> Array:
    last = run.since(end - STEADY, end)
    with np.errstate(divide="ignore", invalid="ignore"):
        return last["v_x"].mean(axis=0) / last["omega"].mean(axis=0)


def _seen(car: Subject, runs: Sequence[CaseRun]) -> list[Track]:
    """Tracks by odometry of each drive; empty for a vehicle without odometry."""
    if car.vehicle.body.odometry is None:
        return []
    return [odometry_track(car, run) for run in runs]


def _yaw_error(seen: Sequence[Track], tracks: Sequence[Track]) -> Array:
    """Angle turned by odometry less the true one, of the worse side, (V,)."""
    error = np.stack([w.yaw[-1] - true.yaw[-1] for w, true in zip(seen, tracks, strict=True)])
    return error[np.argmax(np.abs(error), axis=0), np.arange(error.shape[1])]


def _path_chart(title: str, tracks: Sequence[Track], seen: Sequence[Track]) -> Chart:
    curves = [Curve(track.x[:, 0], track.y[:, 0], track.label) for track in tracks]
    curves += [
        Curve(track.x[:, 0], track.y[:, 0], f"{track.label}, as wheels tell", "measured")
        for track in seen
    ]
    return Chart(title, "x in m", "y in m", curves, equal=True)
