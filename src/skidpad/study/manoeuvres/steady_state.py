"""What steady turning tells: gradients over lateral acceleration, and how far they go.

Steady circular driving (ISO 4138): how the angle grows with lateral acceleration.

Three ways to come there: on a circle of one radius at several speeds, at one speed with several
angles, or with one angle at several speeds. Each point is a drive of its own, until it is steady.

Slow ramp of the angle to the limit (ISO 4138): the largest lateral acceleration, and what gives
way there.

At constant speed the wheels are turned ever further, so slowly that the vehicle is always near
balance. A first, faster ramp finds how far, so that all vehicles come to their limit at one time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.files import brief_repr, counted
from ...errors import InvalidValue
from ...units import m, m_s, m_s2, one, rad, s
from .case import Case, circle, ramp, step
from .case_run import OK, CaseRun, endings, first_time, must_tell, steering_of
from .metric import Chart, Curve, Findings, Metric
from .proving_ground import Performing
from .subject import Subject, speed_needed, tyres_needed
from .theory import Bicycle, LinearCar

A_FIT: m_s2 = 2.0
"""Lateral acceleration up to which gradients are fitted."""
FADED = 0.25
"""Share of the fitted range beyond its end, over which the weights of points fall to zero."""
AVERAGED: s = 1.0
"""At the end of a drive, over which a point is averaged."""
CHANGE = 0.02
"""Share by which lateral acceleration may change within it, of a vehicle in balance."""
WINDOW: s = 3.0
"""Over which a point of a log is averaged, for its noise."""
TURNS, APART = 4, 0.1
"""How many turns gradients of a log need, and by how much in m/s² their neighbours differ."""
DRIFT = 0.05
"""Share by which the mean of one half of a window may differ from that of the other."""


class SteadyPoints(NamedTuple):
    """Points of balance of all variants, each (P, V); NaN where a vehicle found none."""

    a_y: Array
    steer: Array
    kinematic: Array
    """Angle that a vehicle without slip would need for the turn."""
    sideslip: Array
    """Beyond that of a vehicle without slip."""
    roll: Array


def steady_points(car: Subject, runs: Sequence[CaseRun]) -> SteadyPoints:
    """The ends of drives, one point each."""
    points = [_point(car, run.since(run.t[-1] - AVERAGED), run.done) for run in runs]
    return SteadyPoints(*(np.stack(column) for column in zip(*points, strict=True)))


def measured_points(car: Subject, drive: CaseRun) -> SteadyPoints:
    """Windows of a measured drive in which lateral acceleration stays, one point each."""
    must_tell(drive, "a_y", "which turns are steady is not told")
    starts = np.arange(drive.t[0], drive.t[-1] - WINDOW, 0.5 * WINDOW)
    points: list[SteadyPoints] = []
    for begin in starts.tolist():
        window = drive.since(begin, begin + WINDOW)
        middle = len(window.t) // 2
        first, second = (part.mean(axis=0) for part in np.split(window["a_y"], [middle]))
        steady = np.abs(second - first) < DRIFT * np.maximum(np.abs(first), 1.0)
        if (np.abs(first) > 0.1).all():
            points.append(_averaged(car, window, steady))
    told = np.sort([float(point.a_y[0]) for point in points if np.isfinite(point.a_y[0])])
    # Windows of one turn differ by its noise, and no gradient is in them.
    different = int((np.diff(told) > APART).sum()) + 1 if len(told) else 0
    if different < TURNS:
        raise InvalidValue(
            f"{drive.label} has {counted(different, 'steady turn')} of {WINDOW:g} s that differ by "
            f"more than {APART:g} m/s²; gradients need {TURNS} at least"
        )
    return SteadyPoints(*(np.stack(column) for column in zip(*points, strict=True)))


def _point(car: Subject, end: CaseRun, done: NDArray[np.bool_]) -> SteadyPoints:
    a_y, turning = end["a_y"], end["v_x"] * end["omega"]
    with np.errstate(invalid="ignore"):
        slack = CHANGE * np.abs(a_y).max(axis=0) + 0.01
        steady = (np.ptp(a_y, axis=0) < slack) & (np.abs(a_y - turning).max(axis=0) < slack)
        steady &= done & (np.abs(end["sideslip"]).max(axis=0) < 0.35)
    return _averaged(car, end, steady)


def _averaged(car: Subject, end: CaseRun, steady: NDArray[np.bool_]) -> SteadyPoints:
    """Means of a part of a drive, NaN where it is not steady."""
    a_y, curvature = end["a_y"], end["omega"] / np.maximum(end["v_x"], 0.1)
    columns = (
        a_y,
        end["steer"],
        np.arctan(car.wheel_base * curvature),
        end["sideslip"] - np.arctan(car.l_r * curvature),
        end["roll"] if "roll" in end else np.full_like(a_y, np.nan),
    )
    return SteadyPoints(*(np.where(steady, column.mean(axis=0), np.nan) for column in columns))


def steady_angle(
    car: Subject, v: m_s, a_y: m_s2
) -> Generator[Sequence[Case], Sequence[CaseRun], Array]:
    """The angle of the front wheels that holds a lateral acceleration at a speed, (V,), found in
    a drive: `angle = yield from steady_angle(...)`."""
    guess = a_y / car.theory(v).gains["a_y"]
    low, high = AROUND
    first, second = step(0.0, 0.4), step(HELD, 0.4)
    (tried,) = yield [
        Case(
            label="finds the angle",
            duration=2.0 * HELD,
            v=v,
            speed=v,
            steer=lambda t: low * first(t) + (high - low) * second(t),
            amplitude=guess,
            run_in=0.5,
        )
    ]
    ends = (tried.since(end - 0.3, end)["a_y"] for end in (HELD, 2.0 * HELD))
    a_low, a_high = (np.abs(part.mean(axis=0)) for part in ends)
    return guess * _share(a_y, a_low, a_high)


class Line(NamedTuple):
    """The angle of the front wheels over a signal, as a straight line, each (V,)."""

    at_zero: Array
    """Angle at which the line has no signal, in rad."""
    slope: Array
    """Rad per unit of the signal."""


def angle_line(run: CaseRun, name: str, low: float, high: float) -> Line:
    """Linear regression of the angle over a signal between two of its values, of a ramp to either
    side as of one to the left.

    The angle is taken at even steps of the signal: no sample enters or leaves the regression, which
    is then smooth in the vehicle's parameters. NaN for a ramp that does not reach the upper value.
    """
    kept = run.since(0.0)
    side = np.sign(kept["steer"][-1])
    signal, steer = side * kept[name], side * kept["steer"]
    levels = low + (high - low) * (np.arange(LEVELS) + 0.5) / LEVELS
    times = np.stack([first_time(kept.t, signal, level) for level in levels.tolist()])
    angles = np.stack(
        [np.interp(when, kept.t, row) for when, row in zip(times.T, steer.T, strict=True)]
    )
    centred = levels - levels.mean()
    slope = angles @ centred / (centred @ centred)
    return Line(angles.mean(axis=1) - slope * levels.mean(), slope)


LEVELS = 24
"""Of a signal at which the angle of a ramp is looked up."""
AROUND = (0.85, 1.15)
"""Of the angle that linear theory gives, the two that are tried."""
HELD: s = 2.0
"""How long each of them is."""


def _share(a_y: m_s2, a_low: Array, a_high: Array) -> Array:
    """Share of an angle for a lateral acceleration, where two shares gave two of them: by the cubic
    c_1 a + c_3 a³ through both; by proportion at the limit, where more angle gives no more."""
    low, high = AROUND
    with np.errstate(invalid="ignore", divide="ignore"):
        square = (high / a_high - low / a_low) / (a_high**2 - a_low**2)
        cubic = a_y * (low / a_low + square * (a_y**2 - a_low**2))
        even = np.clip(a_y / np.maximum(a_high, 1e-3), 0.3, 3.0)
    curved = (a_high > 1.1 * a_low) & (cubic > 0.3) & (cubic < 3.0)
    return np.where(curved, cubic, even)


def slope_at_zero(x: Array, y: Array, most: float) -> Array:
    """Slope at zero of y over x, (P, V), for each variant, from points with |x| up to a value.

    The fit is y = a + b x + c x³ by least squares. Weights fall from 1 at `most` to 0 a quarter
    beyond it, so that no point enters or leaves the fit at once: the slope is smooth in the points.
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


def steady_metrics(car: Subject, at: SteadyPoints, bicycles: Sequence[Bicycle]) -> list[Metric]:
    """Gradients at zero and the fastest turn, beside those of linear theory."""
    K = slope_at_zero(at.a_y, at.steer - at.kinematic, A_FIT)
    slip = slope_at_zero(at.a_y, at.sideslip, A_FIT)
    roll = slope_at_zero(at.a_y, at.roll, A_FIT)
    most = np.nanmax(np.abs(at.a_y), axis=0, initial=-np.inf)
    L = car.wheel_base
    with np.errstate(invalid="ignore", divide="ignore"):
        characteristic, critical = np.sqrt(L / K), np.sqrt(-L / K)
    metrics = [
        Metric(
            "understeer_gradient", K, "rad·s²/m",
            "Angle of the front wheels beyond the kinematic one per lateral acceleration, at zero; "
            "positive: understeer.",
            [own.understeer_gradient for own in bicycles],
        ),
        Metric(
            "sideslip_gradient", slip, "rad·s²/m",
            "Sideslip at the centre of mass beyond the kinematic one per lateral acceleration, "
            "at zero.",
            [own.sideslip_gradient for own in bicycles],
        ),
        Metric(
            "characteristic_speed", characteristic, "m/s",
            "Where an understeering vehicle needs twice the kinematic angle: sqrt(L / K).",
            [own.characteristic_speed for own in bicycles],
        ),
        Metric(
            "critical_speed", critical, "m/s",
            "Above which an oversteering vehicle is unstable: sqrt(-L / K).",
            [own.critical_speed for own in bicycles],
        ),
        Metric(
            "largest_steady_lateral_acceleration", np.where(np.isfinite(most), most, np.nan),
            "m/s²", "That of the fastest turn of the test that became steady; it is not the limit: "
            "of road cars `slow_ramp` finds 3 to 20 % more than turns of one radius or speed, and "
            "26 to 66 % more than turns of one angle.",
            rough="the fastest of a grid of turns that became steady",
        ),
    ]  # fmt: skip
    if np.isfinite(roll).any():
        definition = "Roll per lateral acceleration at zero; positive leans out of the turn."
        metrics.append(Metric("roll_gradient", roll, "rad·s²/m", definition))
    return metrics


def sensitivity(at: SteadyPoints, theories: Sequence[LinearCar]) -> Metric:
    """Of turns at one speed."""
    per_angle = 1.0 / slope_at_zero(at.a_y, at.steer, A_FIT)
    definition = "Lateral acceleration per angle of the front wheels at the speed, at zero."
    own = [theory.gains["a_y"] / theory.gains["steer"] for theory in theories]
    return Metric("steering_sensitivity", per_angle, "m/s²/rad", definition, own)


def unsteady(at: SteadyPoints, runs: Sequence[CaseRun]) -> list[str]:
    """Notes on turns of the first variant: how they ended, and where too few for gradients are left
    how many came through and are still not steady. Beyond the limit none is expected to be."""
    through = np.array([run.outcomes[0] == OK for run in runs])
    steady = np.isfinite(at.a_y[:, 0])
    notes = endings(runs)
    if (np.abs(at.a_y[steady, 0]) <= A_FIT).sum() < TURNS:
        restless = int((through & ~steady).sum())
        notes.append(f"{restless} of {counted(len(runs), 'turn')} never became steady")
    return notes


def handling_chart(at: SteadyPoints, bicycle: Bicycle) -> Chart:
    """The handling diagram: the angle beyond the kinematic one over lateral acceleration."""
    order = np.argsort(at.a_y[:, 0])
    a_y, angle = at.a_y[order, 0], (at.steer - at.kinematic)[order, 0]
    steady = np.isfinite(a_y)
    curves = [Curve(a_y[steady], angle[steady], "steady turns")]
    ends = np.array([-2.0 * A_FIT, 2.0 * A_FIT])
    curves.append(Curve(ends, bicycle.understeer_gradient * ends, "linear theory", "theory"))
    labels = "lateral acceleration in m/s²", "angle beyond the kinematic one in rad"
    return Chart("Handling diagram", *labels, curves)


ON_CIRCLE = 0.05
"""Share by which lateral acceleration may differ from that of the circle at the speed."""
SETTLED: s = 10.0
"""After which a turn is steady, or will not become so."""


def levels(car: Subject) -> Array:
    """Lateral accelerations of the points in m/s²: dense where gradients are fitted, and up to
    a little more than the grip, to both sides."""
    small = np.array([0.25, 0.5, 0.75, 1.0]) * A_FIT
    large = np.linspace(0.4, 1.1, 15) * car.grip
    one_side = np.concatenate([small, large[large > A_FIT]])
    return np.concatenate([-one_side[::-1], one_side])


def _measured(car: Subject, drive: CaseRun) -> Findings:
    return _findings(car, measured_points(car, drive), float(drive["v_x"].mean()))


def _findings(car: Subject, at: SteadyPoints, v: m_s, runs: Sequence[CaseRun] = ()) -> Findings:
    """With the linear theory at a speed, that at which the gradients were found."""
    bicycles = [theory.bicycle for theory in car.theories(v)]
    metrics, charts = steady_metrics(car, at, bicycles), [handling_chart(at, bicycles[0])]
    return Findings(metrics, charts, unsteady(at, runs) if runs else ())


@dataclass(frozen=True)
class ConstantRadius:
    """On a circle at several speeds."""

    radius: m = 100.0
    """The standard one of ISO 4138; 30 m is the least that it allows."""
    name: ClassVar[str] = "constant_radius"
    title: ClassVar[str] = "Steady circle of constant radius"
    source: ClassVar[str] = "ISO 4138:2021, constant radius"

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        return tyres_needed(car)

    def perform(self, car: Subject) -> Performing:
        """Both ways round."""
        speeds = {a: float(np.sqrt(abs(a) * self.radius)) for a in levels(car).tolist()}
        runs = yield [
            Case(
                label=f"{v:.1f} m/s {'left' if a > 0.0 else 'right'}",
                duration=SETTLED,
                v=v,
                speed=v,
                path=circle(np.copysign(self.radius, a)),
            )
            for a, v in speeds.items()
            if v <= car.limits.v_max
        ]
        at = steady_points(car, runs)
        # Who is too fast for the circle turns in balance, too, but elsewhere.
        a_circle = np.array([a for a, v in speeds.items() if v <= car.limits.v_max])[:, None]
        with np.errstate(invalid="ignore"):
            on_circle = np.abs(at.a_y - a_circle) < ON_CIRCLE * np.abs(a_circle)
        points = SteadyPoints(*(np.where(on_circle, column, np.nan) for column in at))
        return _findings(car, points, float(np.sqrt(0.5 * A_FIT * self.radius)), runs)

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """From a log of steady turns, however they were driven."""
        return _measured(car, drive)


@dataclass(frozen=True)
class ConstantSpeed:
    """At one speed with several angles."""

    speed: m_s = 80.0 / 3.6
    name: ClassVar[str] = "constant_speed"
    title: ClassVar[str] = "Steady turns at constant speed"
    source: ClassVar[str] = "ISO 4138:2021, constant speed"

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        return tyres_needed(car) or speed_needed(car, self.speed)

    def perform(self, car: Subject) -> Performing:
        """To both sides, with the angles of linear theory; tyres at their limit turn it less."""
        angles = levels(car) / car.theory(self.speed).gains["a_y"]
        runs = yield [
            Case(
                label=f"{np.rad2deg(angle):.2f}° of the front wheels",
                duration=SETTLED,
                v=self.speed,
                speed=self.speed,
                steer=step(0.0, 1.0),
                amplitude=angle,
            )
            for angle in angles.tolist()
            if abs(angle) <= car.limits.steer_max
        ]
        at = steady_points(car, runs)
        findings = _findings(car, at, self.speed, runs)
        return replace(
            findings, metrics=[*findings.metrics, sensitivity(at, car.theories(self.speed))]
        )

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """From a log of steady turns, however they were driven."""
        return _measured(car, drive)


@dataclass(frozen=True)
class ConstantSteer:
    """With one angle at several speeds."""

    angle: rad = 0.05
    name: ClassVar[str] = "constant_steer"
    title: ClassVar[str] = "Steady turns with constant angle"
    source: ClassVar[str] = "ISO 4138:2021, constant steering-wheel angle"

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        return tyres_needed(car)

    def perform(self, car: Subject) -> Performing:
        """To both sides."""
        radius = car.geometry.wheel_base / self.angle
        runs = yield [
            Case(
                label=f"{v:.1f} m/s {'left' if a > 0.0 else 'right'}",
                duration=SETTLED,
                v=v,
                speed=v,
                steer=step(0.0, 1.0),
                amplitude=np.copysign(self.angle, a),
            )
            for a, v in ((a, float(np.sqrt(abs(a) * radius))) for a in levels(car).tolist())
            if v <= car.limits.v_max
        ]
        v = float(np.sqrt(0.5 * A_FIT * radius))
        return _findings(car, steady_points(car, runs), v, runs)

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """From a log of steady turns, however they were driven."""
        return _measured(car, drive)


SIDES = {"left": 1.0, "right": -1.0}
FAST: s = 16.0
"""How long the first ramp takes."""
FIRST: one = 4.0
"""Angle to which it goes, over that of linear theory at the grip of the tyres."""
WIDEST: rad = 0.6
"""Largest angle of all ramps, if the vehicle can."""
MOST_TRIES = 3
"""Tests with ever larger angles, of vehicles whose first ramp ended too soon."""
BEYOND: one = 1.5
"""Angle of the test over that at which the first ramp came to the limit."""
NEAR: one = 0.99
"""Share of the largest lateral acceleration that counts as the limit: about it more angle changes
little, and where exactly the largest is says nothing."""
BALANCE: one = 0.05
"""Share of grip by which lateral acceleration may differ from speed times yaw rate; beyond, the
vehicle is about to spin, and what it has there no steady turn does."""
MOST_SLIP: rad = 0.35
"""Sideslip beyond the kinematic one from which on it does not count as a turn, either."""
LEAST_FIT: one = 0.15
"""Share of the lateral acceleration up to which gradients are fitted, from which on they are: it
takes a while until a vehicle follows a ramp evenly."""
REACHED: one = 0.97
"""Share of the last angle beyond which the limit may lie further."""
SLOWEST: s = 10.0
"""From a tenth of the limit to it, that a log has to take."""


@dataclass(frozen=True)
class SlowRamp:
    """An angle that grows evenly at constant speed, to the left and to the right."""

    speed: m_s = 80.0 / 3.6
    duration: s = 45.0
    """In which the angle grows to one and a half of that at the limit."""
    sides: tuple[str, ...] = ("left", "right")
    """To which it is driven; metrics are means of both."""
    name: ClassVar[str] = "slow_ramp"
    title: ClassVar[str] = "Slow ramp to the limit"
    source: ClassVar[str] = "ISO 4138:2021, constant speed, slowly growing angle"

    __repr__ = brief_repr

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        return tyres_needed(car) or speed_needed(car, self.speed)

    def perform(self, car: Subject) -> Performing:
        """A faster ramp finds the angle at the limit, the others are the test."""
        most = min(car.limits.steer_max, WIDEST)
        gain = car.theory(self.speed).gains["a_y"]
        wide = min(most, FIRST * car.grip / gain) if gain > 0.0 else most
        squared = self._case("finds the limit", FAST, lambda t: (np.maximum(t, 0.0) / FAST) ** 2)
        (fast,) = yield [replace(squared, amplitude=wide)]
        limit = _limit(car, fast).angle
        top = np.minimum(np.where(np.isfinite(limit), BEYOND * limit, wide), most)
        even = [self._case(side, self.duration, ramp(1.0 / self.duration)) for side in self.sides]
        runs: Sequence[CaseRun] = ()
        for _ in range(MOST_TRIES):
            runs = yield [replace(case, amplitude=SIDES[case.label] * top) for case in even]
            short = np.logical_or.reduce([_limit(car, run).grows for run in runs]) & (top < most)
            if not short.any():
                break
            top = np.where(short, np.minimum(2.0 * top, most), top)
        return _slow_ramp_findings(car, runs, self.speed)

    def _case(self, label: str, duration: s, steer: Callable[[Array], Array]) -> Case:
        v = self.speed
        return Case(label=label, duration=duration, v=v, speed=v, steer=steer)

    def adapted_to(self, drive: CaseRun) -> SlowRamp:
        """With the speed and the side of a log."""
        told = steering_of(drive)
        must_tell(drive, "a_y", "how far the ramp goes is unknown")
        angle, a_y = (told.side * drive[name] for name in ("steer", "a_y"))
        ends = [first_time(drive.t, a_y, share * a_y.max())[0] for share in (0.1, NEAR)]
        slow = np.isfinite(ends).all() and ends[1] - ends[0] > SLOWEST
        if not slow or angle.min() < -0.1 * told.angle:
            raise InvalidValue(
                f"{drive.label} has no slow ramp: the angle has to grow to one side, for at least "
                f"{SLOWEST:g} s until lateral acceleration is at its largest"
            )
        side = next(name for name, sign in SIDES.items() if sign == told.side)
        return replace(self, speed=told.v, sides=(side,))

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """From a log of one ramp."""
        # What comes after the largest angle is the way back.
        end = drive.t[int(np.abs(drive["steer"][:, 0]).argmax())]
        return _slow_ramp_findings(car, [drive.since(-np.inf, float(end))], self.speed)


class _Limit(NamedTuple):
    """What one ramp tells, each (V,), as of one to the left."""

    a_y: Array
    angle: Array
    sideslip: Array
    beyond: Array
    """Angle beyond the kinematic one."""
    gradient: Array
    """Of that over lateral acceleration, at zero."""
    rear: Array
    """1 if the rear gives way, 0 if the front does, NaN where neither is told."""
    grows: NDArray[np.bool_]
    """Whether lateral acceleration still grows at the last angle."""


def _in_balance(car: Subject, run: CaseRun) -> tuple[Array, Array, Array, Array]:
    """Lateral acceleration, angle, sideslip and angle beyond the kinematic one, (T, V) each, as of
    a ramp to the left; NaN from where on a vehicle is no longer in balance."""
    side = np.sign(np.nansum(run["steer"], axis=0))
    a_y, steer, slip, omega = (side * run[name] for name in ("a_y", "steer", "sideslip", "omega"))
    curvature = omega / np.maximum(run["v_x"], 0.1)
    with np.errstate(invalid="ignore"):
        held = np.abs(a_y - run["v_x"] * omega) < BALANCE * car.grip
        # A log need not tell the sideslip.
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
    angle, sideslip, own = (
        np.array([np.interp(when[k], run.t, row[:, k]) for k in range(run.variants)])
        for row in (steer, slip, beyond)
    )
    even = (a_y > LEAST_FIT * A_FIT) & (run.t[:, None] < when)
    gradient = slope_at_zero(np.where(even, a_y, np.inf), beyond, A_FIT)
    spins = np.isnan(a_y[-1]) | (own < gradient * most)
    grows = np.isfinite(a_y[-1]) & (angle > REACHED * np.fmax.reduce(steer, axis=0))
    ended = [outcome in ("rolled over", "diverged") for outcome in run.outcomes]
    # Where lateral acceleration is made of the yaw rate, both agree in a spin, too.
    untold = np.array(ended) | np.isnan(most) | grows | ("a_y" in run.source.steady)
    rear = np.where(untold, np.nan, spins)
    return _Limit(most, angle, sideslip, own, gradient, rear, grows)


def _slow_ramp_findings(car: Subject, runs: Sequence[CaseRun], v: m_s) -> Findings:
    each = [_limit(car, run) for run in runs]
    limit = _Limit(*(np.mean(parts, axis=0) for parts in zip(*each, strict=True)))
    bicycles = [theory.bicycle for theory in car.theories(v)]
    metrics = [
        Metric(
            "max_lateral_acceleration", limit.a_y, "m/s²",
            "Largest lateral acceleration in balance: the limit.",
        ),
        Metric(
            "understeer_gradient", limit.gradient, "rad·s²/m",
            "Angle of the front wheels beyond the kinematic one per lateral acceleration, at zero; "
            "positive: understeer.",
            [own.understeer_gradient for own in bicycles],
        ),
        Metric(
            "angle_at_limit", limit.angle, "rad",
            "Of the front wheels, where lateral acceleration is first 99 % of the largest.",
        ),
        Metric(
            "sideslip_at_limit", limit.sideslip, "rad",
            "There, of the centre of mass in a turn to the left; negative: the tail is outside.",
        ),
        Metric(
            "understeer_at_limit", limit.beyond - limit.gradient * limit.a_y, "rad",
            "Angle beyond the kinematic one there, less that of the gradient; positive: the front "
            "has slid further, negative: the rear.",
        ),
        Metric(
            "rear_gives_way", limit.rear, "",
            "1: beyond the limit it spins, or the rear has slid further; 0: it goes wide.",
            rough="either 0 or 1",
        ),
    ]  # fmt: skip
    return Findings(metrics, [_chart(car, runs[0], bicycles[0])], _notes(runs, limit))


def _notes(runs: Sequence[CaseRun], limit: _Limit) -> list[str]:
    """What happens at the limit of the first variant."""
    notes = endings(runs)
    if limit.rear[0] in (0.0, 1.0):
        notes.append(f"the {'rear' if limit.rear[0] else 'front'} gives way at the limit")
    if any("a_y" in run.source.steady for run in runs):
        notes.append(
            "the log has no a_y, v_y or sideslip, and does not tell a spin: where it ends in one, "
            "the largest lateral acceleration is too large"
        )
    if limit.grows[0]:
        last = np.abs(runs[0]["steer"][:, 0]).max()
        notes.append(f"lateral acceleration still grows at {last:.3g} rad, the largest angle")
    return notes


def _chart(car: Subject, run: CaseRun, bicycle: Bicycle) -> Chart:
    a_y, _, _, beyond = (row[:, 0] for row in _in_balance(car, run))
    seen = np.isfinite(a_y) & (run.t >= 0.0)
    ends = np.array([0.0, 2.0 * A_FIT])
    curves = [
        Curve(a_y[seen], beyond[seen], run.label),
        Curve(ends, bicycle.understeer_gradient * ends, "linear theory", "theory"),
    ]
    labels = "lateral acceleration in m/s²", "angle beyond the kinematic one in rad"
    return Chart("Handling diagram to the limit", *labels, curves)
