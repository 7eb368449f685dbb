"""On a hill: does the handbrake hold, when does it slide, and can it start?

All gradients are driven side by side, each on a road of its own; for the kernel they are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...road.road import Road
from ...units import m_s, m_s2, one, s
from .case import Case, straight
from .case_run import CaseRun, first_time
from .manoeuvre import Performing, StandardManoeuvre
from .metric import Chart, Curve, Findings
from .subject import Subject, drive_needed, road_needed

G: m_s2 = 9.81
SLIDES: m_s = 0.5
"""Speed from which on a vehicle that is braked slides: less is the creep of tyres whose model does
not know standing still."""
COARSE, FINE = 0.05, 0.01
"""Steps between gradients."""
LEAST: m_s2 = 0.5
"""Acceleration demanded, beyond what the hill takes, to see whether the vehicle starts at all."""
STEEPEST: one = 1.3
"""Largest gradient that is tried."""


def hill(gradient: one) -> Road:
    """An even slope, upwards along x: a profile, as the roads of other tests."""
    return Road.profile(gradient * np.array([-200.0, 400.0]), 600.0, x=-200.0)


def percent(gradient: one) -> str:
    """A gradient as text, such as "20 %"."""
    return f"{100.0 * gradient:.0f} %"


def gradients(step: one, low: one = 0.0, high: one = STEEPEST) -> Array:
    """From `low` on, without it, to `high`."""
    return low + step * np.arange(1, round((high - low) / step) + 1, dtype=float)


def highest(tried: Array, mastered: Array) -> Array:
    """The highest of gradients (N,) below the first that was not mastered, (N, V); 0 if none."""
    first = np.where(mastered.all(axis=0), len(tried), np.argmin(mastered, axis=0))
    return np.where(first > 0, tried[np.maximum(first - 1, 0)], 0.0)


def between(coarse: Array) -> Array:
    """Finer gradients above each of the highest that were mastered, (V,)."""
    steps = [gradients(FINE, low, low + COARSE)[:-1] for low in np.unique(coarse)]
    return np.unique(np.concatenate(steps).round(6))


@dataclass(frozen=True)
class HillHold(StandardManoeuvre):
    """Parked with the handbrake."""

    gradient: one = 0.2
    """On which it has to hold."""
    duration: s = 10.0
    name = "hill_hold"
    title = "Parked on a hill"
    source = "UN Regulation 13-H, parking brake (20 %)"
    METRICS = f"""
    creep_speed [m/s]: Mean speed on {{test.percent}}, after half of the time.
    way [m]: Down {{test.percent}} in {{test.duration:g}} s.
    sliding_gradient []: Rise over horizontal way from which on it slides with the handbrake pulled;
        theory: load on the braked wheels times the most grip that they show.
        | found to a gradient of {100.0 * FINE:g} %
    """

    @property
    def percent(self) -> str:
        """The gradient as text."""
        return percent(self.gradient)

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        if not car.limits.handbrake:
            return f"{car.name} has no handbrake"
        return drive_needed(car) or road_needed(car, hill(self.gradient))

    def perform(self, car: Subject) -> Performing:
        """The gradient of the test, and ever finer ones about that on which it begins to slide."""
        coarse = gradients(COARSE)
        parked, *tried = yield [
            self._case(self.gradient, self.duration),
            *(self._case(gradient) for gradient in coarse.tolist()),
        ]
        held = highest(coarse, np.stack([holds(run) for run in tried]))
        fine = between(held)
        runs = yield [self._case(gradient) for gradient in fine.tolist()]
        ok = np.stack([holds(run) for run in runs])
        # Each variant is asked about the gradients above its own.
        best = [
            highest(fine[fine > low], ok[fine > low, k : k + 1])[0] for k, low in enumerate(held)
        ]
        slides = np.maximum(held, best) + 0.5 * FINE
        kept = parked.since(0.5 * self.duration)
        way = np.abs(parked["x"] - parked["x"][0]) * np.hypot(1.0, self.gradient)
        metrics = self.metrics(
            {
                "creep_speed": np.abs(kept["v_x"]).mean(axis=0),
                "way": way[-1],
                "sliding_gradient": np.where(slides < STEEPEST, slides, np.nan),
            },
            {
                "creep_speed": 0.0,
                "way": 0.0,
                "sliding_gradient": grip_gradient(car, parked, self.gradient, tried),
            },
        )
        curve = Curve(parked.t, way[:, 0], self.percent)
        chart = Chart("Parked on a hill", "time in s", "way down in m", [curve])
        notes = [] if slides[0] < STEEPEST else [f"it does not slide up to {100.0 * STEEPEST:g} %"]
        return Findings(metrics, [chart], notes)

    def _case(self, gradient: one, duration: s = 4.0) -> Case:
        return Case(
            label=percent(gradient),
            duration=duration,
            coast=1.0,
            handbrake=1.0,
            road=hill(gradient),
            rests=True,
            run_in=0.0,
        )


def holds(run: CaseRun) -> Array:
    """Whether a vehicle does not slide at the end, (V,)."""
    return np.abs(run["v_x"][-1]) < SLIDES


class Axles(NamedTuple):
    """Forces along and loads of the front and the rear wheels in N, each (T, V)."""

    F_front: Array
    F_rear: Array
    load_front: Array
    load_rear: Array


def axles(car: Subject, run: CaseRun) -> Axles:
    """Forces on the axles of a vehicle; NaN where its wheels have no such signals."""
    shape, nothing = car.geometry, np.full(run["x"].shape, np.nan)
    middle = 0.5 * (shape.front_axle + shape.rear_axle)

    def of(kind: str, rear: bool) -> Array:
        names = [f"{kind}_{wheel.name}" for wheel in shape.wheels if (wheel.x < middle) == rear]
        told = bool(names) and all(name in run for name in names)
        return np.sum([run[name] for name in names], axis=0) if told else nothing

    return Axles(of("F_x", False), of("F_x", True), of("F_z", False), of("F_z", True))


def grip_gradient(car: Subject, standing: CaseRun, gradient: one, runs: Sequence[CaseRun]) -> Array:
    """Where the weight down the hill is as large as the grip of the wheels that act, (V,).

    With rear wheels μ (l_f + h tan) = L tan, with front ones μ (l_r - h tan) = L tan. The height h
    of the centre of mass is what the loads on a gradient tell, μ the most that these wheels gave in
    the runs. NaN where wheels tell no forces.
    """
    L, at = car.wheel_base, Axles(*(row[-1] for row in axles(car, standing)))
    l_f = L - car.l_r
    h = (at.load_rear / (at.load_front + at.load_rear) * L - l_f) / gradient
    front, rear = at.F_front > 0.1 * at.F_rear, at.F_rear > 0.1 * at.F_front
    shares = [
        (front * each.F_front + rear * each.F_rear)
        / np.maximum(front * each.load_front + rear * each.load_rear, 1.0)
        for each in (axles(car, run) for run in runs)
    ]
    mu = np.max([share.max(axis=0) for share in shares], axis=0)
    one_axle = np.where(rear, mu * l_f / (L - mu * h), mu * car.l_r / (L + mu * h))
    return np.where(front & rear, mu, one_axle)


@dataclass(frozen=True)
class HillStart(StandardManoeuvre):
    """From rest up a hill, drive and brakes changing places at once."""

    gradient: one = 0.2
    speed: m_s = 20.0 / 3.6
    """Speed up to which the time is reported."""
    a: m_s2 = 1.5
    """Acceleration demanded, beyond what the hill takes."""
    duration: s = 10.0
    name = "hill_start"
    title = "Start on a hill"
    source = "practice of drivers and drivetrain engineers; there is no standard"
    METRICS = f"""
    roll_back [m]: Farthest way down {{test.percent}} before it climbs.
    time_to_speed [s]: From rest to {{test.km_h:.0f}} km/h.
    steepest_start []: Steepest gradient, in steps of 5 %, up which it starts with little more than
        the hill takes; theory: drive over weight, or load on the driven wheels times the most grip
        that they show. | found to a gradient of {100.0 * COARSE:g} %
    """

    @property
    def percent(self) -> str:
        """The gradient as text."""
        return percent(self.gradient)

    @property
    def km_h(self) -> float:
        """The speed in km/h."""
        return 3.6 * self.speed

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        return drive_needed(car) or road_needed(car, hill(self.gradient))

    def perform(self, car: Subject) -> Performing:
        """The gradient of the test, and many with little more than they take."""
        tried = gradients(COARSE, 0.0, 1.0)
        started, *runs = yield [
            self._case(car, self.gradient, self.a, self.duration),
            *(self._case(car, gradient, LEAST, 5.0) for gradient in tried.tolist()),
        ]
        climbs = np.stack([run["x"][-1] - run["x"][0] > 1.0 for run in runs])
        way = (started["x"] - started["x"][0]) * np.hypot(1.0, self.gradient)
        drive = car.limits.a_max / G
        by_drive = drive / np.sqrt(1.0 - drive**2) if drive < 1.0 else inf
        by_grip = grip_gradient(car, started, self.gradient, runs)
        metrics = self.metrics(
            {
                "roll_back": np.maximum(-way.min(axis=0), 0.0),
                "time_to_speed": first_time(started.t, started["v_x"], self.speed),
                "steepest_start": highest(tried, climbs),
            },
            {"time_to_speed": self.speed / self.a, "steepest_start": np.fmin(by_drive, by_grip)},
        )
        curve = Curve(started.t, started["v_x"][:, 0], started.label)
        chart = Chart("Start on a hill", "time in s", "speed in m/s", [curve])
        return Findings(metrics, [chart])

    def _case(self, car: Subject, gradient: one, a: m_s2, duration: s) -> Case:
        # A car with a road of its own makes up for its slope by itself.
        uphill = G * gradient / float(np.hypot(1.0, gradient))
        knows = "road" in car.vehicle.model.Params._fields
        return Case(
            label=percent(gradient),
            duration=duration,
            hold=0.0,
            a=a if knows else a + uphill,
            road=hill(gradient),
            path=straight(),
            rests=True,
            run_in=0.0,
        )
