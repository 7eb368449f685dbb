"""Manoeuvres on roads: holding and starting on a hill, ride on a rough road and over a bump.

On a hill: whether the handbrake holds, when the vehicle slides, and whether it can start. All
gradients are driven at once, each on a road of its own; for the kernel they are numbers.

Ride: acceleration at the seat and variation of the wheel loads, for vehicles with a sprung body.
The linear theory is that of the car's own springs, dampers and tyres about rest, times the spectrum
of the road; both tracks have the same heights:

    m z'' = S_f + S_r,    I_y θ'' = -l_f S_f + l_r S_r,    m_u u'' = -S + k_t (h - u) + c_t (h - u)'

with S = k (u - z_axle) + c (u - z_axle)' of each axle, all about rest. With I_y = m l_f l_r they
are two independent quarter cars.

Accelerations are weighted with W_k of ISO 2631-1, vertical at the seat. Its transfer function is
the product of a high pass and a low pass of second order, the transition from acceleration to
velocity, and a step (annex A; numbers of its table A.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import AnyArray, Array
from ...core.files import brief_repr
from ...core.model import Vehicle
from ...road.road import WAVELENGTHS, Road, psd
from ...units import N, N_m, N_s_m, kg, kg_m2, m, m_s, m_s2, one, s
from ...vehicles.parts.chassis import sprung_mass
from ...vehicles.parts.suspension import IndependentSuspension, corner_force, tyre_stiffness
from .case import KM_H, Case, G, straight
from .case_run import CaseRun, first_time
from .manoeuvre import (
    LABELS,
    Chart,
    Curve,
    Findings,
    Performing,
    StandardManoeuvre,
    chart,
    curve,
)
from .subject import Subject, drive_needed, road_needed, speed_needed

SLIDES: m_s = 0.5
"""Speed above which a braked vehicle counts as sliding.

Lower speeds are creep of tyre models without stiction.
"""
COARSE, FINE = 0.05, 0.01
"""Steps between gradients."""
LEAST: m_s2 = 0.5
"""Acceleration demanded in excess of gravity along the hill, to test whether the vehicle
starts."""
STEEPEST: one = 1.3
"""Largest gradient tried."""


def hill(gradient: one) -> Road:
    """Road of constant slope, uphill along x, as a height profile."""
    return Road.profile(gradient * np.array([-200.0, 400.0]), 600.0, x=-200.0)


def percent(gradient: one) -> str:
    """Text of a gradient in per cent, such as "20 %"."""
    return f"{100.0 * gradient:.0f} %"


def gradients(step: one, low: one = 0.0, high: one = STEEPEST) -> Array:
    """Gradients from `low` (excluded) to `high`."""
    return low + step * np.arange(1, round((high - low) / step) + 1, dtype=float)


def highest(tried: Array, mastered: Array) -> Array:
    """Largest of the gradients (N,) below the first one that failed, from `mastered` (N, V); 0 if
    there is none."""
    first = np.where(mastered.all(axis=0), len(tried), np.argmin(mastered, axis=0))
    return np.where(first > 0, tried[np.maximum(first - 1, 0)], 0.0)


def between(coarse: Array) -> Array:
    """Finer gradients above the largest one mastered by each variant, (V,)."""
    steps = [gradients(FINE, low, low + COARSE)[:-1] for low in np.unique(coarse)]
    return np.unique(np.concatenate(steps).round(6))


@dataclass(frozen=True)
class HillHold(StandardManoeuvre):
    """Holding on a hill with the handbrake."""

    gradient: one = 0.2
    """Gradient on which the vehicle has to hold."""
    duration: s = 10.0
    name = "hill_hold"
    title = "Parked on a hill"
    source = "UN Regulation 13-H, parking brake (20 %)"
    METRICS = f"""
    creep_speed [m/s]: Mean speed on {{test.percent}} in the second half of the test.
    way [m]: Distance rolled down {{test.percent}} in {{test.duration:g}} s.
    sliding_gradient []: Smallest gradient (rise over horizontal distance) on which the car
        slides with the handbrake pulled; theory: load on the braked wheels times their largest
        grip.
        | found to a gradient of {100.0 * FINE:g} %
    """

    @property
    def percent(self) -> str:
        return percent(self.gradient)

    def unfit(self, car: Subject) -> str:
        if not car.limits.handbrake:
            return f"{car.name} has no handbrake"
        return drive_needed(car) or road_needed(car, hill(self.gradient))

    def perform(self, car: Subject) -> Performing:
        """Drive the gradient of the test, then finer gradients around the one at which the vehicle
        slides."""
        coarse = gradients(COARSE)
        parked, *tried = yield [
            self._case(self.gradient, self.duration),
            *(self._case(gradient) for gradient in coarse.tolist()),
        ]
        held = highest(coarse, np.stack([holds(run) for run in tried]))
        fine = between(held)
        runs = yield [self._case(gradient) for gradient in fine.tolist()]
        ok = np.stack([holds(run) for run in runs])
        # For each variant, only gradients above the largest gradient that it held are evaluated.
        best = [
            highest(fine[fine > low], ok[fine > low, k : k + 1])[0] for k, low in enumerate(held)
        ]
        slides = np.maximum(held, best) + 0.5 * FINE
        kept = parked.since(0.5 * self.duration)
        way = np.abs(parked["x"] - parked["x"][0]) * np.hypot(1.0, self.gradient)
        by_grip = grip_gradient(car, parked, self.gradient, tried)
        metrics = self.metrics(
            theory={"creep_speed": 0.0, "way": 0.0, "sliding_gradient": by_grip},
            creep_speed=np.abs(kept["v_x"]).mean(axis=0),
            way=way[-1],
            sliding_gradient=np.where(slides < STEEPEST, slides, np.nan),
        )
        down = Curve(parked.t, way[:, 0], self.percent)
        notes = [] if slides[0] < STEEPEST else [f"it does not slide up to {100.0 * STEEPEST:g} %"]
        return Findings(metrics, [Chart(self.title, LABELS["t"], "way down in m", [down])], notes)

    def _case(self, gradient: one, duration: s = 4.0) -> Case:
        told: Any = {"coast": 1.0, "handbrake": 1.0}
        label, road = percent(gradient), hill(gradient)
        return Case(label, duration, road=road, rests=True, run_in=0.0, **told)


def holds(run: CaseRun) -> Array:
    """Whether a vehicle does not slide at the end of the run, (V,)."""
    return np.abs(run["v_x"][-1]) < SLIDES


class Axles(NamedTuple):
    """Longitudinal forces and loads of the front and the rear axle in N, each (T, V)."""

    F_front: Array
    F_rear: Array
    load_front: Array
    load_rear: Array


def axles(car: Subject, run: CaseRun) -> Axles:
    """Forces of the axles of a vehicle; NaN if its wheels have no such signals."""
    shape, nothing = car.geometry, np.full(run["x"].shape, np.nan)
    middle = 0.5 * (shape.front_axle + shape.rear_axle)

    def of(kind: str, rear: bool) -> Array:
        names = [f"{kind}_{wheel.name}" for wheel in shape.wheels if (wheel.x < middle) == rear]
        told = bool(names) and all(name in run for name in names)
        return np.sum([run[name] for name in names], axis=0) if told else nothing

    return Axles(of("F_x", False), of("F_x", True), of("F_z", False), of("F_z", True))


def grip_gradient(car: Subject, standing: CaseRun, gradient: one, runs: Sequence[CaseRun]) -> Array:
    """Gradient at which gravity along the hill equals the grip of the driven or braked wheels,
    (V,).

    With rear wheels μ (l_f + h tan) = L tan, with front ones μ (l_r - h tan) = L tan. The height h
    of the centre of mass follows from the axle loads on a gradient; μ is the largest friction that
    these wheels used in the runs. NaN if the wheel forces are unknown.
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
    """Start from rest up a hill, with an immediate change from brakes to drive."""

    gradient: one = 0.2
    speed: m_s = 20.0 / 3.6
    """Final speed of the time that is reported."""
    a: m_s2 = 1.5
    """Acceleration demanded in excess of gravity along the hill."""
    duration: s = 10.0
    name = "hill_start"
    title = "Start on a hill"
    source = "practice of drivers and drivetrain engineers; there is no standard"
    needs = (drive_needed, lambda car, test: road_needed(car, hill(test.gradient)))
    METRICS = f"""
    roll_back [m]: Largest distance rolled back on {{test.percent}} before the car climbs.
    time_to_speed [s]: Time from rest to {{test.km_h:.0f}} km/h.
    steepest_start []: Steepest gradient, in steps of 5 %, on which the car starts with little
        more drive than the slope force; theory: drive over weight, or load on the driven wheels
        times their largest grip. | found to a gradient of {100.0 * COARSE:g} %
    """

    @property
    def percent(self) -> str:
        return percent(self.gradient)

    @property
    def km_h(self) -> float:
        return 3.6 * self.speed

    def perform(self, car: Subject) -> Performing:
        """Drive the gradient of the test, and many gradients with little more acceleration than
        they need."""
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
        theory = {
            "time_to_speed": self.speed / self.a,
            "steepest_start": np.fmin(by_drive, by_grip),
        }
        metrics = self.metrics(
            theory=theory,
            roll_back=np.maximum(-way.min(axis=0), 0.0),
            time_to_speed=first_time(started.t, started["v_x"], self.speed),
            steepest_start=highest(tried, climbs),
        )
        return Findings(metrics, [chart("Start on a hill", "t", "v_x", started)])

    def _case(self, car: Subject, gradient: one, a: m_s2, duration: s) -> Case:
        # The command of a car whose model includes a road already compensates for the slope.
        uphill = G * gradient / float(np.hypot(1.0, gradient))
        knows = "road" in car.vehicle.model.Params._fields
        ways: Any = {"road": hill(gradient), "path": straight()}
        told: Any = {"hold": 0.0, "a": a if knows else a + uphill}
        return Case(percent(gradient), duration, rests=True, run_in=0.0, **told, **ways)


NUDGE = 1e-3
"""Travel in m and rate in m/s of the difference quotients about rest."""


class HalfAxle(NamedTuple):
    """Springs, dampers, tyres and unsprung mass of both wheels of an axle together."""

    m_u: kg
    k: N_m
    c: N_s_m
    k_t: N_m
    c_t: N_s_m
    load: N
    """Static load."""


class HalfCar(NamedTuple):
    """Half-car model: a sprung body on two axles."""

    m: kg
    I_y: kg_m2
    l_f: m
    l_r: m
    front: HalfAxle
    rear: HalfAxle

    def response(self, f: Array, v: m_s) -> dict[str, AnyArray]:
        """Frequency response to the road height, per metre, at the speed `v`, each (F,).

        Frequencies in Hz. The outputs are the acceleration of the body, "a_z", and the axle loads
        "F_front" and "F_rear".
        """
        s = 2.0j * np.pi * f[:, None, None]
        road = np.array([1.0, 1.0]) * np.exp(-s[:, 0] * np.array([0.0, (self.l_f + self.l_r) / v]))
        axles = np.array([self.front, self.rear])
        m_u, k, c, k_t, c_t, _ = axles.T
        # Heights of the body over the axles from z and θ, positive with the nose down.
        T = np.array([[1.0, -self.l_f], [1.0, self.l_r]])
        spring, tyre = k + c * s[:, 0], k_t + c_t * s[:, 0]
        A = np.zeros((len(f), 4, 4), dtype=complex)
        A[:, :2, :2] = np.diag([self.m, self.I_y]) * s**2 + T.T @ (spring[:, :, None] * T)
        A[:, :2, 2:] = -T.T * spring[:, None, :]
        A[:, 2:, :2] = -spring[:, :, None] * T
        A[:, [2, 3], [2, 3]] = m_u * s[:, 0] ** 2 + spring + tyre
        b = np.concatenate([np.zeros((len(f), 2)), tyre * road], axis=1)
        motion = np.linalg.solve(A, b[..., None])[..., 0]
        loads = tyre * (road - motion[:, 2:])
        front, rear = loads.T
        return {"a_z": s[:, 0, 0] ** 2 * motion[:, 0], "F_front": front, "F_rear": rear}


def half_car(vehicle: Vehicle) -> HalfCar | None:
    """Half-car model of a vehicle with a spring at each wheel, about rest; None for other
    vehicles."""
    p = vehicle.params
    chassis: Any = getattr(p, "chassis", None)
    if not hasattr(chassis, "front") or not hasattr(getattr(chassis, "body", None), "m_u_f"):
        return None
    springs: IndependentSuspension = chassis
    layout, k_t = springs.body, tyre_stiffness(p)
    body, L = sprung_mass(layout, p), p.l_f + p.l_r
    corners = (springs.front, springs.rear)
    unsprung, c_t = (layout.m_u_f, layout.m_u_r), (layout.c_t_f, layout.c_t_r)
    loads = p.m * p.g * p.l_r / L, p.m * p.g * p.l_f / L
    front, rear = (
        HalfAxle(unsprung[k], *_slopes(corners[k]), 2.0 * k_t[2 * k], 2.0 * c_t[k], loads[k])
        for k in range(2)
    )
    return HalfCar(body.m, layout.I_y, body.l_f, body.l_r, front, rear)


def _slopes(held: object) -> tuple[N_m, N_s_m]:
    """Stiffness and damping of both corners of an axle that move in parallel, about rest."""
    by = 1.0 / NUDGE  # two corners, over twice the nudge
    k = corner_force(held, NUDGE, 0.0, NUDGE) - corner_force(held, -NUDGE, 0.0, -NUDGE)
    c = corner_force(held, 0.0, NUDGE, 0.0) - corner_force(held, 0.0, -NUDGE, 0.0)
    return float(by * k), float(by * c)


def standard_deviation(gain: AnyArray, f: Array, v: m_s, roughness: str) -> float:
    """Standard deviation of a response on a road of ISO 8608.

    `gain` is the frequency response per metre of road height at frequencies in Hz.
    """
    n = f / v
    within = (n >= 1.0 / WAVELENGTHS[1]) & (n <= 1.0 / WAVELENGTHS[0])
    height = np.where(within, psd(n, roughness) / v, 0.0)
    return float(np.sqrt(np.trapezoid(np.abs(gain) ** 2 * height, f)))


HIGH_PASS, LOW_PASS = 0.4, 100.0
"""Cut-off frequencies of the band in Hz, both with a quality factor of 1 / sqrt(2)."""
F_3, F_4, Q_4 = 12.5, 12.5, 0.63
"""Frequencies in Hz and quality factor of the transition from acceleration to velocity."""
F_5, Q_5, F_6, Q_6 = 2.37, 0.91, 3.35, 0.91
"""Frequencies in Hz and quality factors of the upward step."""
FINE_RATE = 2000.0
"""Sample rate of the filter in Hz; high enough that the bilinear transform does not warp the
band."""


def _sections() -> tuple[tuple[list[float], list[float]], ...]:
    """Coefficients of numerators and denominators in s, highest power first."""
    cut_offs = HIGH_PASS, LOW_PASS, F_3, F_4, F_5, F_6
    w_1, w_2, w_3, w_4, w_5, w_6 = (2.0 * np.pi * f for f in cut_offs)
    root = float(np.sqrt(2.0))
    return (
        ([1.0, 0.0, 0.0], [1.0, root * w_1, w_1**2]),
        ([w_2**2], [1.0, root * w_2, w_2**2]),
        ([w_4**2 / w_3, w_4**2], [1.0, w_4 / Q_4, w_4**2]),
        ([1.0, w_5 / Q_5, w_5**2], [1.0, w_6 / Q_6, w_6**2]),
    )


def W_k(f: Array) -> AnyArray:
    """Complex frequency weighting W_k of ISO 2631-1 at frequencies in Hz."""
    s = 2.0j * np.pi * np.asarray(f, dtype=float)
    return np.prod([np.polyval(b, s) / np.polyval(a, s) for b, a in _sections()], axis=0)


def weighted(a: Array, rate: float) -> Array:
    """Acceleration (T, V), sampled at `rate` in Hz, filtered with W_k along T."""
    from scipy import signal

    up = max(round(FINE_RATE / rate), 1)
    fine: Any = signal.resample_poly(a, up, 1, axis=0, padtype="line")
    for b, poles in _sections():
        fine = signal.lfilter(*signal.bilinear(b, poles, rate * up), fine, axis=0)
    return fine[::up]


STEP: m = 0.05
"""Distance between the heights of roads."""
BAND = np.geomspace(0.1, 80.0, 4000)
"""Frequencies of the theory in Hz."""
SETTLED: s = 2.0
"""Time after which the effect of the start has died out."""


def springs_needed(car: Subject, road: Road) -> str:
    """Requirement: a sprung body, and a vehicle that can be put on the road."""
    if "a_z" not in record.names(car.vehicle.model.Outputs):
        return f"{car.name} has no springs: it has no vertical acceleration (output a_z)"
    return road_needed(car, road)


def _along(label: str, duration: s, v: m_s, road: Road) -> Case:
    return Case(label, duration, v, speed=v, path=straight(), road=road, run_in=0.0)


def loads(car: Subject, run: CaseRun) -> Array:
    """Loads of all wheels in N, (wheels, T, V)."""
    return np.stack([run[f"F_z_{wheel.name}"] for wheel in car.geometry.wheels])


@dataclass(frozen=True)
class RoughRoad(StandardManoeuvre):
    """Rough road: straight on over random roads of a class."""

    roughness: str = "C"
    """Class of ISO 8608."""
    speed: m_s = 80.0 * KM_H
    duration: s = 12.0
    seeds: tuple[int, ...] = (1, 2, 3, 4)
    """Seeds of the random roads, which are driven at once."""
    name = "rough_road"
    title = "Ride over a rough road"
    source = "ISO 8608:2016, ISO 2631-1:1997"
    METRICS = """
    weighted_acceleration [m/s²]: Root mean square of the vertical acceleration of the body,
        weighted by W_k.
    acceleration [m/s²]: Root mean square of that acceleration without weighting.
    dynamic_load_coefficient []: Standard deviation of a tyre's load divided by its mean, for
        the wheel with the largest value.
    peak_acceleration [m/s²]: Largest vertical acceleration of the body.
    peak_load [N]: Largest load of a tyre.
    """

    __repr__ = brief_repr

    def unfit(self, car: Subject) -> str:
        return springs_needed(car, self.road(0)) or speed_needed(car, self)

    def road(self, seed: int) -> Road:
        """Random road with this seed, with the same heights under both tracks."""
        length = self.speed * (self.duration + 2.0)
        return Road.iso8608(self.roughness, seed, length=length, step=STEP, tracks=(0.0,))

    def perform(self, car: Subject) -> Performing:
        v, T = self.speed, self.duration
        runs = yield [_along(f"seed {seed}", T, v, self.road(seed)) for seed in self.seeds]
        kept = [run.since(SETTLED) for run in runs]
        rate = 1.0 / float(runs[0].t[1] - runs[0].t[0])
        felt = [weighted(run["a_z"], rate)[round(SETTLED * rate) :] for run in runs]
        F_z = np.concatenate([loads(car, run) for run in kept], axis=1)
        unevenness = F_z.std(axis=1) / F_z.mean(axis=1)
        theory = [self._theory(half_car(vehicle)) for vehicle in car.each]
        names = "weighted_acceleration", "acceleration", "dynamic_load_coefficient"
        metrics = self.metrics(
            theory=dict(zip(names, np.array(theory).T, strict=True)),
            weighted_acceleration=_rms(felt),
            acceleration=_rms([run["a_z"] for run in kept]),
            dynamic_load_coefficient=unevenness.max(axis=0),
            peak_acceleration=np.abs([run["a_z"] for run in kept]).max(axis=(0, 1)),
            peak_load=F_z.max(axis=(0, 1)),
        )
        return Findings(metrics, [self._chart(car, kept, rate)])

    def _theory(self, linear: HalfCar | None) -> tuple[float, float, float]:
        """Weighted acceleration, unweighted acceleration and largest load coefficient according to
        linear theory; NaN without a linear theory."""
        if linear is None:
            return np.nan, np.nan, np.nan
        gains = linear.response(BAND, self.speed)

        def deviation(gain: AnyArray) -> float:
            return standard_deviation(gain, BAND, self.speed, self.roughness)

        loads = zip(("F_front", "F_rear"), (linear.front, linear.rear), strict=True)
        uneven = max(deviation(gains[name]) / axle.load for name, axle in loads)
        return deviation(gains["a_z"] * W_k(BAND)), deviation(gains["a_z"]), uneven

    def _chart(self, car: Subject, runs: Sequence[CaseRun], rate: float) -> Chart:
        """Power spectral density of the acceleration, compared with theory."""
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
    """Root mean square of all runs together, (V,)."""
    return np.sqrt(np.mean([(run**2).mean(axis=0) for run in runs], axis=0))


@dataclass(frozen=True)
class Bump(StandardManoeuvre):
    """Bump: a half sine across the road."""

    speed: m_s = 30.0 * KM_H
    height: m = 0.05
    length: m = 0.8
    duration: s = 4.0
    name = "bump"
    title = "Ride over a bump"
    source = "the cleat test of suspension engineers; there is no standard"
    METRICS = """
    peak_acceleration [m/s²]: Largest vertical acceleration of the body.
    peak_load [N]: Largest load of a tyre.
    least_load [N]: Smallest load of a tyre; 0 if it leaves the road.
    peak_pitch [rad]: Largest pitch angle.
    """

    def unfit(self, car: Subject) -> str:
        return springs_needed(car, self.road()) or speed_needed(car, self)

    def road(self) -> Road:
        """Level road with the bump where the front wheels are after half a second."""
        way = np.arange(0.0, self.length + STEP, STEP)
        inside = np.sin(np.pi * np.minimum(way / self.length, 1.0))
        return Road.profile(np.append(self.height * inside, 0.0), STEP, x=self.begin)

    @property
    def begin(self) -> m:
        """Position of the beginning of the bump along x."""
        return 0.5 * self.speed + 5.0

    def perform(self, car: Subject) -> Performing:
        v = self.speed
        (run,) = yield [_along(f"{v / KM_H:.0f} km/h", self.duration, v, self.road())]
        F_z = loads(car, run)
        metrics = self.metrics(
            peak_acceleration=np.abs(run["a_z"]).max(axis=0),
            peak_load=F_z.max(axis=(0, 1)),
            least_load=F_z.min(axis=(0, 1)),
            peak_pitch=np.abs(run["pitch"]).max(axis=0),
        )
        wheels = [w.name for w in car.geometry.wheels if w.y > 0.0]
        tyres = [curve(run, "t", f"F_z_{name}", name) for name in wheels]
        body = [curve(run, "t", "a_z", "body")]
        moved = Chart("Bump", LABELS["t"], "vertical acceleration in m/s²", body)
        return Findings(metrics, [moved, Chart("Loads of the left tyres", LABELS["t"], "N", tyres)])
