"""Steady turning: gradients over lateral acceleration, the limit, and the turning circle.

Steady circular driving (ISO 4138): the angle over lateral acceleration, on a circle of one radius
at several speeds, at one speed with several angles, or with one angle at several speeds. Each point
is a run of its own, until it is steady.

Slow ramp of the angle to the limit (ISO 4138): the largest lateral acceleration, and which axle
loses grip there. At constant speed the angle grows so slowly that the vehicle is always near
balance. A first, faster ramp finds the range of angles, so that all vehicles reach their limit at
one time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.files import brief_repr, counted
from ...errors import InvalidValue
from ...units import m, m_s, m_s2, one, rad, s
from .case import Case, circle, ramp, steered, step
from .case_run import OK, SIDES, CaseRun, endings, first_time, values_at
from .cone_courses import corners_of
from .manoeuvre import (
    LABELS,
    Chart,
    Curve,
    Findings,
    Performing,
    Rounds,
    StandardManoeuvre,
    chart,
    curve,
)
from .subject import (
    Bicycle,
    Subject,
    speed_needed,
    steering_needed,
    tyres_needed,
)

A_FIT: m_s2 = 2.0
"""Lateral acceleration up to which gradients are fitted."""
FADED = 0.25
"""Share of the fitted range beyond its end, over which the weights of points fall to zero."""
AVERAGED: s = 1.0
"""Time at the end of a run over which a point is averaged."""
CHANGE = 0.02
"""Relative change of lateral acceleration within that time up to which a vehicle is in
balance."""
WINDOW: s = 3.0
"""Time over which a point of a log is averaged, to reduce noise."""
TURNS, APART = 4, 0.1
"""Number of turns needed for the gradients of a log, and their smallest distance in m/s²."""
DRIFT = 0.05
"""Largest relative difference between the means of both halves of a window."""


class SteadyPoints(NamedTuple):
    """Steady states of all variants, each (P, V); NaN where a vehicle has no steady state at that
    point."""

    a_y: Array
    steer: Array
    kinematic: Array
    """Angle that a vehicle without tyre slip would need for the turn."""
    sideslip: Array
    """Sideslip angle in excess of that of a vehicle without tyre slip."""
    roll: Array


def steady_points(car: Subject, runs: Sequence[CaseRun]) -> SteadyPoints:
    """Steady states at the ends of runs, one point each."""
    points: list[SteadyPoints] = []
    for run in runs:
        end = run.since(run.t[-1] - AVERAGED)
        a_y, turning = end["a_y"], end["v_x"] * end["omega"]
        with np.errstate(invalid="ignore"):
            slack = CHANGE * np.abs(a_y).max(axis=0) + 0.01
            steady = (np.ptp(a_y, axis=0) < slack) & (np.abs(a_y - turning).max(axis=0) < slack)
            steady &= run.done & (np.abs(end["sideslip"]).max(axis=0) < 0.35)
        points.append(_averaged(car, end, steady))
    return SteadyPoints(*(np.stack(column) for column in zip(*points, strict=True)))


def _averaged(car: Subject, end: CaseRun, steady: NDArray[np.bool_]) -> SteadyPoints:
    """Mean signals over a part of a run; NaN where the motion is not steady."""
    a_y, curvature = end["a_y"], end["omega"] / np.maximum(end["v_x"], 0.1)
    columns = (
        a_y,
        end["steer"],
        np.arctan(car.wheel_base * curvature),
        end["sideslip"] - np.arctan(car.l_r * curvature),
        end["roll"] if "roll" in end else np.full_like(a_y, np.nan),
    )
    return SteadyPoints(*(np.where(steady, column.mean(axis=0), np.nan) for column in columns))


LEVELS = 24
"""Number of signal values at which the angle of a ramp is evaluated."""
AROUND = (0.85, 1.15)
"""Two angles to try, relative to the angle of linear theory."""
HELD: s = 2.0
"""Time for which each of them is held."""


def steady_angle(car: Subject, v: m_s, a_y: m_s2) -> Rounds:
    """Find the front wheel angle for a lateral acceleration at a speed, (V,), in a run.

    angle = yield from steady_angle(...)
    """
    guess = a_y / car.theory(v).gains["a_y"]
    low, high = AROUND
    first, second = step(0.0, 0.4), step(HELD, 0.4)

    def stairs(t: Array) -> Array:
        return low * first(t) + (high - low) * second(t)

    (tried,) = yield [steered("finds the angle", 2.0 * HELD, v, stairs, guess, run_in=0.5)]
    ends = (tried.since(end - 0.3, end)["a_y"] for end in (HELD, 2.0 * HELD))
    a_low, a_high = (np.abs(part.mean(axis=0)) for part in ends)
    # The cubic c_1 a + c_3 a³ through both; at the limit, where more angle gives no more, by
    # proportion.
    with np.errstate(invalid="ignore", divide="ignore"):
        square = (high / a_high - low / a_low) / (a_high**2 - a_low**2)
        cubic = a_y * (low / a_low + square * (a_y**2 - a_low**2))
        even = np.clip(a_y / np.maximum(a_high, 1e-3), 0.3, 3.0)
    curved = (a_high > 1.1 * a_low) & (cubic > 0.3) & (cubic < 3.0)
    return guess * np.where(curved, cubic, even)


class Line(NamedTuple):
    """Straight line fitted to the front wheel angle over a signal, each (V,)."""

    at_zero: Array
    """Angle at zero signal, in rad."""
    slope: Array
    """Slope in rad per unit of the signal."""


def angle_line(run: CaseRun, name: str, low: float, high: float) -> Line:
    """Linear regression of the front wheel angle over a signal within a range.

    A ramp to the right is mirrored. The angle is sampled at even steps of the signal: no sample
    enters or leaves the regression, which is then smooth in the vehicle's parameters. NaN for a
    ramp that does not reach the upper value.
    """
    kept = run.since(0.0)
    side = np.sign(kept["steer"][-1])
    signal, steer = side * kept[name], side * kept["steer"]
    levels = low + (high - low) * (np.arange(LEVELS) + 0.5) / LEVELS
    times = np.stack([first_time(kept.t, signal, level) for level in levels.tolist()])
    angles = np.stack([values_at(kept.t, steer, when) for when in times], axis=1)
    centred = levels - levels.mean()
    slope = angles @ centred / (centred @ centred)
    return Line(angles.mean(axis=1) - slope * levels.mean(), slope)


def slope_at_zero(x: Array, y: Array, most: float) -> Array:
    """Slope of y over x at zero, (P, V), for each variant, from points with |x| up to `most`.

    The fit is y = a + b x + c x³ by least squares. Weights fall from 1 at `most` to 0 a quarter
    beyond it, so that no point enters or leaves the fit abruptly: the slope is smooth in the
    points.
    """
    share = np.clip((np.abs(x) / most - 1.0) / FADED, 0.0, 1.0)
    used = (share < 1.0) & np.isfinite(y)
    weight = np.where(used, 1.0 - share * share * (3.0 - 2.0 * share), 0.0)
    x, y = np.where(used, x, 0.0), np.where(used, y, 0.0)
    terms = np.stack([np.ones_like(x), x, x**3], axis=-1)
    normal = np.einsum("pv,pvi,pvj->vij", weight, terms, terms)
    enough = used.sum(axis=0) >= 4
    normal[~enough] = np.eye(3)
    right = np.einsum("pv,pvi,pv->vi", weight, terms, y)
    slopes = np.linalg.solve(normal, right[..., None])[:, 1, 0]
    return np.where(enough, slopes, np.nan)


def _diagram(title: str, driven: Curve, bicycle: Bicycle, begin: m_s2) -> Chart:
    """Handling diagram with the line of linear theory from `begin` on."""
    ends = np.array([begin, 2.0 * A_FIT])
    theory = Curve(ends, bicycle.understeer_gradient * ends, "linear theory", "theory")
    return Chart(title, LABELS["a_y"], "angle beyond the kinematic one in rad", [driven, theory])


ON_CIRCLE = 0.05
"""Largest relative difference of lateral acceleration from that of the circle at the speed."""
SETTLED: s = 10.0
"""Time after which a turn is steady or will never be."""


def levels(car: Subject) -> Array:
    """Lateral accelerations of the points in m/s², to both sides.

    The levels are dense where gradients are fitted, and reach slightly beyond the grip limit.
    """
    small = np.array([0.25, 0.5, 0.75, 1.0]) * A_FIT
    large = np.linspace(0.4, 1.1, 15) * car.grip
    one_side = np.concatenate([small, large[large > A_FIT]])
    return np.concatenate([-one_side[::-1], one_side])


def speeds(car: Subject, radius: m) -> list[tuple[str, m_s2, m_s]]:
    """Label, lateral acceleration and speed of each point on a circle that the vehicle reaches."""
    turns = [(a, float(np.sqrt(abs(a) * radius))) for a in levels(car).tolist()]
    named = [(f"{v:.1f} m/s {'left' if a > 0.0 else 'right'}", a, v) for a, v in turns]
    return [turn for turn in named if turn[2] <= car.limits.v_max]


UNDERSTEER = """
    understeer_gradient [rad·s²/m]: Angle of the front wheels beyond the kinematic one per lateral
        acceleration, at zero; positive: understeer.
    """


class _SteadyTurns(StandardManoeuvre):
    """Base of the three kinds of steady circular driving."""

    METRICS = (
        UNDERSTEER
        + """
    sideslip_gradient [rad·s²/m]: Sideslip at the centre of mass beyond the kinematic one per
        lateral acceleration, at zero.
    characteristic_speed [m/s]: Where an understeering vehicle needs twice the kinematic angle:
        sqrt(L / K).
    critical_speed [m/s]: Above which an oversteering vehicle is unstable: sqrt(-L / K).
    largest_steady_lateral_acceleration [m/s²]: That of the fastest turn of the test that became
        steady; it is not the limit: of road cars `slow_ramp` finds 3 to 20 % more than turns of
        one radius or speed, and 26 to 66 % more than turns of one angle. | the fastest of a grid
        of turns that became steady
    roll_gradient [rad·s²/m]: Roll per lateral acceleration at zero; positive leans out of the turn.
    steering_sensitivity [m/s²/rad]: Lateral acceleration per angle of the front wheels at the
        speed, at zero.
    """
    )

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """Findings from a log of steady turns, however they were driven.

        Each window of constant lateral acceleration is a point.
        """
        drive.require_signal("a_y", "which turns are steady is unknown")
        points: list[SteadyPoints] = []
        for begin in np.arange(drive.t[0], drive.t[-1] - WINDOW, 0.5 * WINDOW).tolist():
            window = drive.since(begin, begin + WINDOW)
            halves = np.split(window["a_y"], [len(window.t) // 2])
            first, second = (part.mean(axis=0) for part in halves)
            steady = np.abs(second - first) < DRIFT * np.maximum(np.abs(first), 1.0)
            if (np.abs(first) > 0.1).all():
                points.append(_averaged(car, window, steady))
        told = np.sort([float(point.a_y[0]) for point in points if np.isfinite(point.a_y[0])])
        # Windows of a single turn differ only by noise, so they contain no gradient.
        different = int((np.diff(told) > APART).sum()) + 1 if len(told) else 0
        if different < TURNS:
            raise InvalidValue(
                f"{drive.label} has {counted(different, 'steady turn')} of {WINDOW:g} s that "
                f"differ by more than {APART:g} m/s²; gradients need {TURNS} at least"
            )
        at = SteadyPoints(*(np.stack(column) for column in zip(*points, strict=True)))
        return self._findings(car, at, float(drive["v_x"].mean()))

    def _findings(
        self, car: Subject, at: SteadyPoints, v: m_s, runs: Sequence[CaseRun] = ()
    ) -> Findings:
        """Gradients at zero and the fastest turn, with the linear theory at the speed `v`.

        `v` is the speed at which the gradients were found.
        """
        columns = at.steer - at.kinematic, at.sideslip, at.roll
        K, slip, roll = (slope_at_zero(at.a_y, row, A_FIT) for row in columns)
        most = np.nanmax(np.abs(at.a_y), axis=0, initial=-np.inf)
        L = car.wheel_base
        with np.errstate(invalid="ignore", divide="ignore"):
            characteristic, critical = np.sqrt(L / K), np.sqrt(-L / K)
        values = {
            "understeer_gradient": K,
            "sideslip_gradient": slip,
            "characteristic_speed": characteristic,
            "critical_speed": critical,
            "largest_steady_lateral_acceleration": np.where(np.isfinite(most), most, np.nan),
        }
        if np.isfinite(roll).any():
            values["roll_gradient"] = roll
        bicycles = [theory.bicycle for theory in car.theories(v)]
        theory = {name: [getattr(own, name) for own in bicycles] for name in list(values)[:4]}
        order = np.argsort(at.a_y[:, 0])
        a_y, angle = at.a_y[order, 0], (at.steer - at.kinematic)[order, 0]
        steady = np.isfinite(a_y)
        driven = Curve(a_y[steady], angle[steady], "steady turns")
        diagram = _diagram("Handling diagram", driven, bicycles[0], -2.0 * A_FIT)
        notes = endings(runs)
        # Beyond the limit no turn is expected to be steady; a note is made only if too few turns
        # are.
        if runs and (np.abs(a_y[steady]) <= A_FIT).sum() < TURNS:
            through = np.array([run.outcomes[0] == OK for run in runs])
            restless = int((through & ~np.isfinite(at.a_y[:, 0])).sum())
            notes.append(f"{restless} of {counted(len(runs), 'turn')} never became steady")
        return Findings(self.metrics(values, theory), [diagram], notes)


@dataclass(frozen=True)
class ConstantRadius(_SteadyTurns):
    """Steady circular driving on a circle at several speeds."""

    radius: m = 100.0
    """Radius; the default is the standard radius of ISO 4138, which allows 30 m and more."""
    name = "constant_radius"
    title = "Steady circle of constant radius"
    source = "ISO 4138:2021, constant radius"
    needs = (tyres_needed,)

    def perform(self, car: Subject) -> Performing:
        turns = speeds(car, self.radius)
        runs = yield [
            Case(label, SETTLED, v, speed=v, path=circle(np.copysign(self.radius, a)))
            for label, a, v in turns
        ]
        at = steady_points(car, runs)
        # A vehicle too fast for the circle may be steady on a wider one.
        a_circle = np.array([a for _, a, _ in turns])[:, None]
        with np.errstate(invalid="ignore"):
            on_circle = np.abs(at.a_y - a_circle) < ON_CIRCLE * np.abs(a_circle)
        points = SteadyPoints(*(np.where(on_circle, column, np.nan) for column in at))
        return self._findings(car, points, float(np.sqrt(0.5 * A_FIT * self.radius)), runs)


@dataclass(frozen=True)
class ConstantSpeed(_SteadyTurns):
    """Steady circular driving at one speed with several angles."""

    speed: m_s = 80.0 / 3.6
    name = "constant_speed"
    title = "Steady turns at constant speed"
    source = "ISO 4138:2021, constant speed"
    needs = (tyres_needed, speed_needed)

    def perform(self, car: Subject) -> Performing:
        """Drive to both sides with the angles of linear theory; near the limit the turns are
        wider."""
        v, shape = self.speed, step(0.0, 1.0)
        angles = levels(car) / car.theory(v).gains["a_y"]
        runs = yield [
            steered(f"{np.rad2deg(angle):.2f}° of the front wheels", SETTLED, v, shape, angle)
            for angle in angles.tolist()
            if abs(angle) <= car.limits.steer_max
        ]
        at = steady_points(car, runs)
        findings = self._findings(car, at, v, runs)
        per_angle = {"steering_sensitivity": 1.0 / slope_at_zero(at.a_y, at.steer, A_FIT)}
        gains = [theory.gains for theory in car.theories(v)]
        theory = {"steering_sensitivity": [own["a_y"] / own["steer"] for own in gains]}
        metrics = [*findings.metrics, *self.metrics(per_angle, theory)]
        return replace(findings, metrics=metrics)


@dataclass(frozen=True)
class ConstantSteer(_SteadyTurns):
    """Steady circular driving with one angle at several speeds."""

    angle: rad = 0.05
    name = "constant_steer"
    title = "Steady turns with constant angle"
    source = "ISO 4138:2021, constant steering-wheel angle"
    needs = (tyres_needed,)

    def perform(self, car: Subject) -> Performing:
        radius, shape = car.geometry.wheel_base / self.angle, step(0.0, 1.0)
        runs = yield [
            steered(label, SETTLED, v, shape, np.copysign(self.angle, a))
            for label, a, v in speeds(car, radius)
        ]
        v = float(np.sqrt(0.5 * A_FIT * radius))
        return self._findings(car, steady_points(car, runs), v, runs)


FAST: s = 16.0
"""Duration of the first ramp."""
FIRST: one = 4.0
"""Final steering angle of the first ramp, relative to the angle at which linear theory reaches
the grip."""
WIDEST: rad = 0.6
"""Largest angle of all ramps, if the vehicle can reach it."""
MOST_TRIES = 3
"""Number of tests with ever larger angles, for vehicles whose first ramp ended too soon."""
BEYOND: one = 1.5
"""Final angle of the test, relative to the angle at which the first ramp reached the limit."""
NEAR: one = 0.99
"""Share of the largest lateral acceleration that counts as the limit.

Near it the curve is flat, so the exact position of the maximum is not meaningful.
"""
BALANCE: one = 0.05
"""Largest difference of lateral acceleration from speed times yaw rate, as a share of the grip.

Beyond it the vehicle is about to spin, and its values are not those of a steady turn.
"""
MOST_SLIP: rad = 0.35
"""Largest sideslip, in excess of the kinematic sideslip, with which the motion counts as a turn."""
LEAST_FIT: one = 0.15
"""Beginning of the range in which gradients are fitted, as a share of its end.

A vehicle takes a while until it follows a ramp steadily.
"""
REACHED: one = 0.97
"""Share of the last angle beyond which the limit may not have been reached."""
SLOWEST: s = 10.0
"""Least time of a log from a tenth of the limit to the limit."""


@dataclass(frozen=True)
class SlowRamp(StandardManoeuvre):
    """Slow ramp of the angle at constant speed, to the left and to the right."""

    speed: m_s = 80.0 / 3.6
    duration: s = 45.0
    """Time in which the angle grows to 1.5 times the angle at the limit."""
    sides: tuple[str, ...] = tuple(SIDES)
    """Sides to which the ramp is driven; metrics are means of both."""
    name = "slow_ramp"
    title = "Slow ramp to the limit"
    source = "ISO 4138:2021, constant speed, slowly growing angle"
    needs = (tyres_needed, speed_needed)
    METRICS = (
        UNDERSTEER
        + """
    max_lateral_acceleration [m/s²]: Largest lateral acceleration in balance: the limit.
    angle_at_limit [rad]: Of the front wheels, where lateral acceleration is first 99 % of the
        largest.
    sideslip_at_limit [rad]: There, of the centre of mass in a turn to the left; negative: the tail
        is outside.
    understeer_at_limit [rad]: Angle beyond the kinematic one there, less that of the gradient;
        positive: the front has slid further, negative: the rear.
    rear_gives_way []: 1: beyond the limit it spins, or the rear has slid further; 0: it goes wide.
        | either 0 or 1
    """
    )

    __repr__ = brief_repr

    def perform(self, car: Subject) -> Performing:
        """Find the angle at the limit in a faster ramp, then drive the test."""
        v, most = self.speed, min(car.limits.steer_max, WIDEST)
        gain = car.theory(v).gains["a_y"]
        wide = min(most, FIRST * car.grip / gain) if gain > 0.0 else most

        def squared(t: Array) -> Array:
            return (np.maximum(t, 0.0) / FAST) ** 2

        (fast,) = yield [steered("finds the limit", FAST, v, squared, wide)]
        limit = _limit(car, fast).angle
        top = np.minimum(np.where(np.isfinite(limit), BEYOND * limit, wide), most)
        even = ramp(1.0 / self.duration)
        runs: Sequence[CaseRun] = ()
        for _ in range(MOST_TRIES):
            runs = yield [
                steered(side, self.duration, v, even, SIDES[side] * top) for side in self.sides
            ]
            short = np.logical_or.reduce([_limit(car, run).grows for run in runs]) & (top < most)
            if not short.any():
                break
            top = np.where(short, np.minimum(2.0 * top, most), top)
        return self._findings(car, runs)

    def adapted_to(self, drive: CaseRun) -> SlowRamp:
        """Return the test with the speed and the side of a log."""
        steering = drive.steering()
        drive.require_signal("a_y", "how far the ramp goes is unknown")
        angle, a_y = (steering.side * drive[name] for name in ("steer", "a_y"))
        ends = [first_time(drive.t, a_y, share * a_y.max())[0] for share in (0.1, NEAR)]
        slow = np.isfinite(ends).all() and ends[1] - ends[0] > SLOWEST
        if not slow or angle.min() < -0.1 * steering.angle:
            raise InvalidValue(
                f"{drive.label} has no slow ramp: the angle has to grow to one side, for at least "
                f"{SLOWEST:g} s until lateral acceleration is at its largest"
            )
        return replace(self, speed=steering.v, sides=steering.named(SIDES))

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """Findings from a log of one ramp."""
        # What comes after the largest angle is the way back.
        end = drive.t[int(np.abs(drive["steer"][:, 0]).argmax())]
        return self._findings(car, [drive.since(-np.inf, float(end))])

    def _findings(self, car: Subject, runs: Sequence[CaseRun]) -> Findings:
        limit = _Limit(*np.mean([_limit(car, run) for run in runs], axis=0))
        bicycles = [theory.bicycle for theory in car.theories(self.speed)]
        metrics = self.metrics(
            theory={"understeer_gradient": [own.understeer_gradient for own in bicycles]},
            max_lateral_acceleration=limit.a_y,
            understeer_gradient=limit.gradient,
            angle_at_limit=limit.angle,
            sideslip_at_limit=limit.sideslip,
            understeer_at_limit=limit.beyond - limit.gradient * limit.a_y,
            rear_gives_way=limit.rear,
        )
        return Findings(metrics, [_chart(car, runs[0], bicycles[0])], _notes(runs, limit))


class _Limit(NamedTuple):
    """Limit of handling found in a ramp, each field (V,), mirrored to the left."""

    a_y: Array
    angle: Array
    sideslip: Array
    beyond: Array
    """Angle in excess of the kinematic angle."""
    gradient: Array
    """Gradient of the angle over lateral acceleration, at zero."""
    rear: Array
    """1 if the rear axle reaches its limit, 0 if the front axle does, NaN if unknown."""
    grows: NDArray[np.bool_]
    """Whether lateral acceleration still grows at the last angle."""


def _in_balance(car: Subject, run: CaseRun) -> tuple[Array, Array, Array, Array]:
    """Lateral acceleration, angle, sideslip and angle in excess of the kinematic one, (T, V) each.

    Turns to the right are mirrored. Values are NaN once a vehicle is no longer in balance.
    """
    side = np.sign(np.nansum(run["steer"], axis=0))
    a_y, steer, slip, omega = (side * run[name] for name in ("a_y", "steer", "sideslip", "omega"))
    curvature = omega / np.maximum(run["v_x"], 0.1)
    with np.errstate(invalid="ignore"):
        held = np.abs(a_y - run["v_x"] * omega) < BALANCE * car.grip
        # The sideslip may be missing in a log.
        held &= ~(np.abs(slip - np.arctan(car.l_r * curvature)) >= MOST_SLIP)
    for wheels in (("F_z_fl", "F_z_rl"), ("F_z_fr", "F_z_rr")):
        if all(name in run for name in wheels):
            held &= np.logical_or.reduce([run[name] > 1.0 for name in wheels])
    lost = np.logical_or.accumulate(~held, axis=0)
    beyond = steer - np.arctan(car.wheel_base * curvature)
    a_y, steer, slip, beyond = (np.where(lost, np.nan, row) for row in (a_y, steer, slip, beyond))
    return a_y, steer, slip, beyond


def _limit(car: Subject, run: CaseRun) -> _Limit:
    a_y, steer, slip, beyond = _in_balance(car, run)
    most = np.fmax.reduce(a_y, axis=0)
    when = first_time(run.t, a_y / most, NEAR)
    angle, sideslip, own = (values_at(run.t, row, when) for row in (steer, slip, beyond))
    even = (a_y > LEAST_FIT * A_FIT) & (run.t[:, None] < when)
    gradient = slope_at_zero(np.where(even, a_y, np.inf), beyond, A_FIT)
    spins = np.isnan(a_y[-1]) | (own < gradient * most)
    grows = np.isfinite(a_y[-1]) & (angle > REACHED * np.fmax.reduce(steer, axis=0))
    ended = [outcome in ("rolled over", "diverged") for outcome in run.outcomes]
    # Lateral acceleration derived from the yaw rate agrees with it in a spin, too.
    untold = np.array(ended) | np.isnan(most) | grows | ("a_y" in run.source.steady)
    rear = np.where(untold, np.nan, spins)
    return _Limit(most, angle, sideslip, own, gradient, rear, grows)


def _notes(runs: Sequence[CaseRun], limit: _Limit) -> list[str]:
    notes = endings(runs)
    if limit.rear[0] in (0.0, 1.0):
        notes.append(f"the {'rear' if limit.rear[0] else 'front'} gives way at the limit")
    if any("a_y" in run.source.steady for run in runs):
        notes.append(
            "the log has no a_y, v_y or sideslip, and cannot show a spin: where it ends in one, "
            "the largest lateral acceleration is too large"
        )
    if limit.grows[0]:
        last = np.abs(runs[0]["steer"][:, 0]).max()
        notes.append(f"lateral acceleration still grows at {last:.3g} rad, the largest angle")
    return notes


def _chart(car: Subject, run: CaseRun, bicycle: Bicycle) -> Chart:
    a_y, _, _, beyond = (row[:, 0] for row in _in_balance(car, run))
    seen = np.isfinite(a_y) & (run.t >= 0.0)
    driven = Curve(a_y[seen], beyond[seen], run.label)
    return _diagram("Handling diagram to the limit", driven, bicycle, 0.0)


@dataclass(frozen=True)
class TurningCircle(StandardManoeuvre):
    """Turning circle at walking pace."""

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
        """Drive a circle to the left at full lock."""
        lock, v = car.abilities.steer_max, min(self.speed, 0.9 * car.limits.v_max)
        (run,) = yield [Case("full lock", self.duration, v, speed=v, steer=lock, rests=True)]
        end = run.since(run.t[-1] - 1.0)
        # Centre of the turn, relative to the centre of mass.
        ahead = (-end["v_y"] / end["omega"]).mean(axis=0)
        aside = (end["v_x"] / end["omega"]).mean(axis=0)
        com = np.array(car.geometry.centre_of_mass)
        wheels, corners = np.array([(w.x, w.y) for w in car.geometry.wheels]) - com, corners_of(car)
        radii = (np.hypot(p[:, :1] - ahead, p[:, 1:] - aside) for p in (wheels, corners))
        kerb, wall = (2.0 * radius.max(axis=0) for radius in radii)
        # Kinematic values of a vehicle without slip whose mean front wheel has this angle.
        shapes = ((each.geometry.wheel_base, each.geometry.track) for each in car.each)
        ends = ((base / np.tan(lock) + 0.5 * track, base) for base, track in shapes)
        theory = [2.0 * float(np.hypot(*end)) for end in ends]
        values = {"kerb_to_kerb": kerb, "wall_to_wall": wall}
        metrics = self.metrics(values, {"kerb_to_kerb": theory})
        path = chart("Path", "x", "y", curve(run, "x", "y", "centre of mass"), equal=True)
        return Findings(metrics, [path])
