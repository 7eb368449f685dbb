"""Ride: over a rough road and over a bump, what reaches the seat and how evenly tyres are loaded.

For vehicles whose body moves on springs. The linear theory is that of the car's own springs,
dampers and tyres about rest, times the spectrum of the road.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import record
from ..arrays import AnyArray, Array
from ..brief import brief_repr
from ..road.iso8608 import psd
from ..road.road import Road
from ..units import m, m_s, s
from .case import Case
from .case_run import CaseRun
from .fitness import road_needed, speed_needed
from .half_car import half_car, standard_deviation
from .metric import Chart, Curve, Findings, Metric
from .path import straight
from .proving_ground import Performing
from .subject import Subject
from .vibration import W_k, weighted

__all__ = ["Bump", "RoughRoad"]

KM_H: m_s = 1.0 / 3.6
STEP: m = 0.05
"""Between the heights of roads."""
BAND = np.geomspace(0.1, 80.0, 4000)
"""Frequencies of theory, in Hz."""
SETTLED: s = 2.0
"""After which a drive on a rough road is looked at: what the start does has died out."""


def springs_needed(car: Subject, road: Road) -> str:
    """Why a vehicle has no ride, a sentence; empty if it has."""
    if "a_z" not in record.names(car.vehicle.model.Outputs):
        return f"{car.name} has no springs: it tells no vertical acceleration (output a_z)"
    return road_needed(car, road)


def loads(car: Subject, run: CaseRun) -> Array:
    """Of all wheels in N, (wheels, T, V)."""
    return np.stack([run[f"F_z_{wheel.name}"] for wheel in car.geometry.wheels])


@dataclass(frozen=True)
class RoughRoad:
    """Straight on over random roads of a class."""

    roughness: str = "C"
    """Class of ISO 8608."""
    speed: m_s = 80.0 * KM_H
    duration: s = 12.0
    seeds: tuple[int, ...] = (1, 2, 3, 4)
    """Of the roads, which are driven side by side."""
    name: ClassVar[str] = "rough_road"
    title: ClassVar[str] = "Ride over a rough road"
    source: ClassVar[str] = "ISO 8608:2016, ISO 2631-1:1997"

    __repr__ = brief_repr

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        return springs_needed(car, self.road(0)) or speed_needed(car, self.speed)

    def road(self, seed: int) -> Road:
        """One of its random roads, with the same heights under both tracks."""
        length = self.speed * (self.duration + 2.0)
        return Road.iso8608(self.roughness, seed, length=length, step=STEP, tracks=(0.0,))

    def perform(self, car: Subject) -> Performing:
        """All roads at once."""
        runs = yield [
            Case(
                label=f"seed {seed}",
                duration=self.duration,
                v=self.speed,
                speed=self.speed,
                path=straight(),
                road=self.road(seed),
                run_in=0.0,
            )
            for seed in self.seeds
        ]
        kept = [run.since(SETTLED) for run in runs]
        rate = 1.0 / float(runs[0].t[1] - runs[0].t[0])
        felt = [weighted(run["a_z"], rate)[round(SETTLED * rate) :] for run in runs]
        F_z = np.concatenate([loads(car, run) for run in kept], axis=1)
        unevenness = F_z.std(axis=1) / F_z.mean(axis=1)
        theory = [self._theory(car, variant) for variant in range(car.variants)]
        columns = np.array(theory).T
        metrics = [
            Metric(
                "weighted_acceleration", _rms(felt), "m/s²",
                "Root mean square of the vertical acceleration of the body with the weight W_k.",
                columns[0],
            ),
            Metric(
                "acceleration", _rms([run["a_z"] for run in kept]), "m/s²",
                "The same without weight.", columns[1],
            ),
            Metric(
                "dynamic_load_coefficient", unevenness.max(axis=0), "",
                "Standard deviation over mean of the load of a tyre, of the wheel that has the "
                "largest.", columns[2],
            ),
            Metric(
                "peak_acceleration", np.abs([run["a_z"] for run in kept]).max(axis=(0, 1)), "m/s²",
                "Largest vertical acceleration of the body.",
            ),
            Metric("peak_load", F_z.max(axis=(0, 1)), "N", "Largest load of a tyre."),
        ]  # fmt: skip
        return Findings(metrics, [self._chart(car, kept, rate)])

    def _theory(self, car: Subject, variant: int) -> tuple[float, float, float]:
        """Weighted and plain acceleration and the largest load coefficient; NaN without springs
        that tell their numbers."""
        linear = half_car(car.each[variant])
        if linear is None:
            return float("nan"), float("nan"), float("nan")
        gains = linear.response(BAND, self.speed)

        def deviation(gain: AnyArray) -> float:
            return standard_deviation(gain, BAND, self.speed, self.roughness)

        loads = zip(("F_front", "F_rear"), (linear.front, linear.rear), strict=True)
        uneven = max(deviation(gains[name]) / axle.load for name, axle in loads)
        return deviation(gains["a_z"] * W_k(BAND)), deviation(gains["a_z"]), uneven

    def _chart(self, car: Subject, runs: Sequence[CaseRun], rate: float) -> Chart:
        """Power spectral density of the acceleration, beside theory."""
        from scipy import signal

        columns = [run["a_z"][:, 0] for run in runs]
        spectra = [signal.welch(column, rate, nperseg=min(512, len(column))) for column in columns]
        f, density = spectra[0][0], np.mean([power for _, power in spectra], axis=0)
        shown = (f > 0.3) & (f < 0.4 * rate)
        curves = [Curve(f[shown], np.sqrt(density[shown]), "driven")]
        linear = half_car(car.each[0])
        if linear is not None:
            f = f[shown]
            gain = np.abs(linear.response(f, self.speed)["a_z"])
            road = psd(f / self.speed, self.roughness) / self.speed
            curves.append(Curve(f, gain * np.sqrt(road), "linear theory", "theory"))
        labels = "frequency in Hz", "vertical acceleration in m/s² per √Hz"
        return Chart("Ride", *labels, curves, x_log=True)


def _rms(runs: Sequence[Array]) -> Array:
    """Of all runs together, (V,)."""
    return np.sqrt(np.mean([(run**2).mean(axis=0) for run in runs], axis=0))


@dataclass(frozen=True)
class Bump:
    """Over a half sine across the road."""

    speed: m_s = 30.0 * KM_H
    height: m = 0.05
    """(settable)"""
    length: m = 0.8
    """(settable)"""
    duration: s = 4.0
    name: ClassVar[str] = "bump"
    title: ClassVar[str] = "Ride over a bump"
    source: ClassVar[str] = "the cleat test of suspension engineers; there is no standard"

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        return springs_needed(car, self.road()) or speed_needed(car, self.speed)

    def road(self) -> Road:
        """Level, with the bump where the front wheels are after half a second."""
        way = np.arange(0.0, self.length + STEP, STEP)
        inside = np.sin(np.pi * np.minimum(way / self.length, 1.0))
        return Road.profile(np.append(self.height * inside, 0.0), STEP, x=self.begin)

    @property
    def begin(self) -> m:
        """Along x."""
        return 0.5 * self.speed + 5.0

    def perform(self, car: Subject) -> Performing:
        """Once."""
        (run,) = yield [
            Case(
                label=f"{self.speed / KM_H:.0f} km/h",
                duration=self.duration,
                v=self.speed,
                speed=self.speed,
                path=straight(),
                road=self.road(),
                run_in=0.0,
            )
        ]
        F_z = loads(car, run)
        share = F_z.max(axis=(0, 1)), F_z.min(axis=(0, 1))
        metrics = [
            Metric(
                "peak_acceleration", np.abs(run["a_z"]).max(axis=0), "m/s²",
                "Largest vertical acceleration of the body.",
            ),
            Metric("peak_load", share[0], "N", "Largest load of a tyre."),
            Metric("least_load", share[1], "N", "Smallest load of a tyre; 0: it leaves the road."),
            Metric("peak_pitch", np.abs(run["pitch"]).max(axis=0), "rad", "Largest pitch angle."),
        ]  # fmt: skip
        wheels = [w.name for w in car.geometry.wheels if w.y > 0.0]
        tyres = [Curve(run.t, run[f"F_z_{name}"][:, 0], name) for name in wheels]
        body = [Curve(run.t, run["a_z"][:, 0], "body")]
        return Findings(
            metrics,
            [
                Chart("Bump", "time in s", "vertical acceleration in m/s²", body),
                Chart("Loads of the left tyres", "time in s", "N", tyres),
            ],
        )
