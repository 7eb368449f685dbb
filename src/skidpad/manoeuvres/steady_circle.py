"""Steady circular driving (ISO 4138): how the angle grows with lateral acceleration.

Three ways to come there: on a circle of one radius at several speeds, at one speed with several
angles, or with one angle at several speeds. Each point is a drive of its own, until it is steady.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..units import m, m_s, rad, s
from .case import Case, step
from .case_run import CaseRun
from .fitness import speed_needed, tyres_needed
from .metric import Findings
from .path import circle
from .proving_ground import Performing
from .steady_state import (
    A_FIT,
    SteadyPoints,
    handling_chart,
    measured_points,
    sensitivity,
    steady_metrics,
    steady_points,
    unsteady,
)
from .subject import Subject

__all__ = ["ConstantRadius", "ConstantSpeed", "ConstantSteer"]

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
