"""Manoeuvres without a drive, or with a short one, for what is done with their findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import skidpad as sp
from skidpad.study.manoeuvres import (
    Case,
    Chart,
    Curve,
    Evaluation,
    Findings,
    Limits,
    Manoeuvre,
    Metric,
    Performing,
    Subject,
    perform,
)
from skidpad.study.manoeuvres.kernels import Kernels

KERNELS = Kernels()
"""Of all tests, which then compile what they drive once."""
COARSE = Kernels(dt=0.005, every=2)
"""Where no value that is looked at depends on the step: with the samples of the usual ones, in a
fifth of their time."""
STOPS = Kernels(dt=0.01, every=1)
"""Likewise for drives to rest, by steps that are stable whatever their length."""


@dataclass(frozen=True)
class Told:
    """Finds what it is told."""

    metrics: Sequence[Metric] = ()
    charts: Sequence[Chart] = ()
    notes: Sequence[str] = ()
    only: str = ""
    """The vehicle that can do it; all if empty."""
    name: ClassVar[str] = "step_steer"
    title: ClassVar[str] = "What is <told> & found"
    source: ClassVar[str] = "no standard"

    def unfit(self, car: Subject) -> str:
        return "" if self.only in ("", car.name) else f"{car.name} is not {self.only}"

    def perform(self, car: Subject) -> Performing:
        return Findings(self.metrics, self.charts, self.notes)
        yield ()


@dataclass(frozen=True)
class Drive:
    """Drives straight on for a while and draws where."""

    duration: float = 1.0
    name: ClassVar[str] = "drive"
    title: ClassVar[str] = "A drive"
    source: ClassVar[str] = "no standard"

    def unfit(self, car: Subject) -> str:
        return ""

    def perform(self, car: Subject) -> Performing:
        cases = [
            Case(label=f"{v:g} m/s", duration=self.duration, v=v, speed=v) for v in (5.0, 10.0)
        ]
        runs = yield cases
        reached = runs[-1]["x"][-1] - runs[-1]["x"][0]
        cones = np.array([1.0, 5.0, 9.0])
        curves = [Curve(run["x"][:, 0], run["y"][:, 0], run.label) for run in runs]
        curves.append(Curve(cones, np.ones(3), "cones", "cones"))
        return Findings(
            [Metric("distance", reached, "m", "From end to end.", 20.0)],
            [Chart("Ground", "x in m", "y in m", curves, equal=True)],
        )


def metric(name: str, *values: float, theory: Any = None) -> Metric:
    return Metric(name, np.array(values), "m/s²", f"What {name} is.", theory)


def car(name: str = "") -> Subject:
    return Subject(sp.vehicles.single_track(), name=name)


def evaluated(
    *metrics: Metric, limits: Any = None, names: Sequence[str] = ("single_track",), only: str = ""
) -> Evaluation:
    """These metrics, found by every vehicle of these names."""
    tests: list[Manoeuvre] = [Told(metrics, only=only)]
    results = perform(tests, [car(name) for name in names])
    return Evaluation(results, limits=None if limits is None else Limits.of(limits))
