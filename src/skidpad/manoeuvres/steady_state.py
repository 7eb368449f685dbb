"""What steady turning tells: gradients over lateral acceleration, and how far they go."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..brief import counted
from ..errors import InvalidValue
from ..units import m_s, m_s2, s
from .case import Case, step
from .case_run import OK, CaseRun, endings
from .how_driven import must_tell
from .metric import Chart, Curve, Metric
from .step_response import first_time
from .subject import Subject
from .theory import Bicycle, LinearCar

__all__ = [
    "Line",
    "SteadyPoints",
    "angle_line",
    "handling_chart",
    "measured_points",
    "sensitivity",
    "slope_at_zero",
    "steady_angle",
    "steady_metrics",
    "steady_points",
    "unsteady",
]

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
