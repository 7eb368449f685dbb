"""Frequency response to steering (ISO 7401, ISO 8726): a random angle or one that sweeps.

Gain and phase from the angle of the front wheels to yaw rate and lateral acceleration by averaged
spectra, with the coherence that tells how linear and how well excited the vehicle was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..arrays import AnyArray, Array
from ..errors import InvalidValue
from ..units import m_s, m_s2, one, s
from .case import Case
from .case_run import CaseRun, all_done, endings
from .fitness import speed_needed, tyres_needed
from .how_driven import steering_of
from .metric import Chart, Curve, Findings, Metric
from .proving_ground import Performing
from .spectra import Response, bandwidth_of, estimated_response
from .subject import Subject

__all__ = ["RandomSteer", "SineSweep"]

BAND = (0.2, 4.0)
"""Frequencies in Hz that are shown and looked at."""
QUIET: s = 2.0
"""At the end of a drive, in which the vehicle comes to rest."""
COHERENT: one = 0.8
"""Coherence that a frequency of a log needs: below, a fifth of the answer has other causes."""
STEADY_SPEED: one = 0.1
"""Share by which the speed of a log may differ from its median where a response is taken."""
COVERED: one = 0.9
"""Share of the frequencies that have to be coherent for a peak among them."""
PERIODS = 3
"""Of the lowest frequency that a log has to last."""
ANSWERS = {"omega": "yaw_rate", "a_y": "lateral_acceleration", "roll": "roll"}
"""Signals and what they are called."""
STEADY_GAIN = "_steady_gain"
"""The end of the name of the metric that a signal tells which is right in a steady state alone."""


@dataclass(frozen=True)
class RandomSteer:
    """Angles drawn at random, even over the band, in several drives."""

    speed: m_s = 100.0 / 3.6
    a_y: m_s2 = 1.0
    """Lateral acceleration that the angles give where they are slow: within the linear range."""
    drives: int = 8
    duration: s = 20.0
    seed: int = 0
    name: ClassVar[str] = "random_steer"
    title: ClassVar[str] = "Frequency response to random steering"
    source: ClassVar[str] = "ISO 7401:2011, random input"

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        return tyres_needed(car) or speed_needed(car, self.speed)

    def perform(self, car: Subject) -> Performing:
        """All drives at once."""
        angle = self.a_y / car.theory(self.speed).gains["a_y"]
        runs = yield [
            Case(
                label=f"seed {self.seed + k}",
                duration=self.duration,
                v=self.speed,
                speed=self.speed,
                steer=random_steer(self.seed + k, self.duration),
                amplitude=angle,
            )
            for k in range(self.drives)
        ]
        return _findings(car, runs, self.speed)

    def adapted_to(self, drive: CaseRun) -> RandomSteer:
        """At the mean speed of a log."""
        return replace(self, speed=_speed(drive))

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """From a whole log, however it was steered."""
        return _measured(car, drive)


@dataclass(frozen=True)
class SineSweep:
    """A sine whose frequency grows, the same number of periods in each octave."""

    speed: m_s = 100.0 / 3.6
    a_y: m_s2 = 1.0
    """Lateral acceleration that the angle gives where it is slow."""
    duration: s = 40.0
    name: ClassVar[str] = "sine_sweep"
    title: ClassVar[str] = "Frequency response to a sine sweep"
    source: ClassVar[str] = "ISO 7401:2011, continuous sinusoidal input"

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        return tyres_needed(car) or speed_needed(car, self.speed)

    def perform(self, car: Subject) -> Performing:
        """Once, beginning to either side."""
        angle = self.a_y / car.theory(self.speed).gains["a_y"]
        runs = yield [
            Case(
                label=label,
                duration=self.duration,
                v=self.speed,
                speed=self.speed,
                steer=_sweep(self.duration),
                amplitude=side * angle,
            )
            for label, side in (("left first", 1.0), ("right first", -1.0))
        ]
        return _findings(car, runs, self.speed)

    def adapted_to(self, drive: CaseRun) -> SineSweep:
        """At the mean speed of a log."""
        return replace(self, speed=_speed(drive))

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """From a whole log, however it was steered."""
        return _measured(car, drive)


def _speed(drive: CaseRun) -> m_s:
    steering_of(drive)
    return float(_at_one_speed(drive)["v_x"].mean())


def _at_one_speed(drive: CaseRun) -> CaseRun:
    """The longest part of a log with a speed about its median; raises if that is too short."""
    lasts, least = float(np.ptp(drive.t)), PERIODS / BAND[0]
    takes = f"{PERIODS} periods of {BAND[0]:g} Hz take {least:g} s"
    if lasts < least:
        raise InvalidValue(f"{drive.label} lasts {lasts:.1f} s; {takes}")
    v = drive["v_x"][:, 0]
    about = float(np.median(v))
    steady = np.abs(v - about) <= STEADY_SPEED * abs(about)
    edges = np.flatnonzero(np.diff(np.r_[0, steady.astype(int), 0]))
    begin, end = max(edges.reshape(-1, 2).tolist(), key=lambda part: part[1] - part[0])
    part = drive.since(float(drive.t[begin]), float(drive.t[end - 1]))
    if np.ptp(part.t) < least:
        raise InvalidValue(
            f"{drive.label} has speeds from {v.min():.1f} to {v.max():.1f} m/s, and keeps "
            f"{about:.1f} m/s within {100.0 * STEADY_SPEED:g} % for {np.ptp(part.t):.1f} s at "
            f"most; a frequency response is that of one speed, and {takes}"
        )
    return part


def _measured(car: Subject, drive: CaseRun) -> Findings:
    part = _at_one_speed(drive)
    whole = CaseRun(drive.label, part.t - part.t[0], part.signals, source=drive.source)
    found = _findings(car, [whole], _speed(drive), COHERENT)
    if len(part.t) == len(drive.t):
        return found
    note = (
        f"taken from {part.t[0]:.4g} to {part.t[-1]:.4g} s of the log, where the speed is within "
        f"{100.0 * STEADY_SPEED:g} % of its median, {np.median(drive['v_x']):.4g} m/s"
    )
    return replace(found, notes=[*found.notes, note])


def _swell(t: Array, duration: s) -> Array:
    """From 0 to 1 and back before the end, so that all answers have died away: spectra of the
    whole drive are then exact."""
    return np.clip(np.minimum(t, duration - QUIET - t), 0.0, 1.0)


def random_steer(seed: int, duration: s) -> Callable[[Array], Array]:
    """Sines of the band with random phases, of root mean square 1, swelling up and dying away."""
    draw = np.random.default_rng(seed)
    frequencies = np.arange(0.5 * BAND[0], 1.3 * BAND[1], 1.0 / duration)
    phases = draw.uniform(0.0, 2.0 * np.pi, len(frequencies))
    share = np.sqrt(2.0 / len(frequencies))

    def angle(t: Array) -> Array:
        # The frequencies are in even steps: a polynomial of the turn by one step, by Horner.
        turn, waves = np.exp(2.0j * np.pi / duration * t), np.zeros(t.shape, dtype=complex)
        for phase in phases[::-1]:
            waves *= turn
            waves += np.exp(1.0j * phase)
        waves *= np.exp(2.0j * np.pi * frequencies[0] * t)
        return share * waves.imag * _swell(t, duration)

    return angle


def _sweep(duration: s) -> Callable[[Array], Array]:
    low, high = 0.5 * BAND[0], 1.3 * BAND[1]
    rate = np.log(high / low) / duration

    def angle(t: Array) -> Array:
        turned = 2.0 * np.pi * low / rate * np.expm1(rate * np.clip(t, 0.0, duration))
        return np.sin(turned) * _swell(t, duration)

    return angle


def _findings(
    car: Subject, runs: Sequence[CaseRun], v: m_s, coherent: one | None = None
) -> Findings:
    """The findings of drives; with `coherent`, only where coherence is at least that."""
    parts = [run.since(0.0) for run in runs]
    seen = {
        signal: estimated_response(parts, "steer", signal, BAND)
        for signal in ANSWERS
        if all(signal in part for part in parts)
    }
    notes: list[str] = []
    if coherent is not None:
        all_of, seen = seen, {name: each.where_coherent(coherent) for name, each in seen.items()}
        notes = [n for name in seen for n in _left_out(name, all_of[name], seen[name], coherent)]
    done = all_done(runs)
    slow = {signal for signal in seen if any(signal in part.source.steady for part in parts)}
    metrics = [
        replace(metric, value=np.where(done & told, metric.value, np.nan))
        for signal in seen
        for metric in _metrics(car, signal, seen[signal], v)
        for told in [signal not in slow or metric.name.endswith(STEADY_GAIN)]
    ]
    known = {signal: response for signal, response in seen.items() if signal not in slow}
    return Findings(metrics, _charts(car, known, v), [*endings(runs), *notes])


def _left_out(signal: str, seen: Response, known: Response, least: one) -> list[str]:
    """A note on the frequencies of a log whose coherence is too low, of a signal that it has."""
    coherent = np.isfinite(known.gain[:, 0])
    if coherent.all() or not np.isfinite(seen.gain[:, 0]).any():
        return []
    f, low = seen.frequency, seen.coherence[~coherent, 0]
    ends = f[coherent][[0, -1]] if coherent.any() else None
    where = "" if ends is None else f", from {ends[0]:.3g} to {ends[1]:.3g} Hz"
    first = f"{seen.coherence[0, 0]:.2g} at {f[0]:.3g} Hz"
    slow = "" if coherent[0] else f"; it is {first}: no steady gain"
    return [
        f"{ANSWERS[signal]} has a coherence of {least:g} with the angle at {coherent.sum()} of "
        f"{len(f)} frequencies{where}; at the others, down to {low.min():.2g}, there is no value"
        f"{slow}"
    ]


def _largest(seen: Response) -> Array:
    """The largest gain up to the bandwidth, (V,); NaN where too little of that is known."""
    gain, f = np.abs(seen.gain), seen.frequency[:, None]
    within = ~(f > seen.bandwidth)  # all of them where there is no bandwidth
    share = (np.isfinite(gain) & within).sum(axis=0) / within.sum(axis=0)
    largest = np.where(np.isfinite(gain), gain, -np.inf).max(axis=0)
    return np.where(share >= COVERED, largest, np.nan)


def _metrics(car: Subject, signal: str, seen: Response, v: m_s) -> list[Metric]:
    name, theories = ANSWERS[signal], car.theories(v)
    unit = {"omega": "1/s", "a_y": "m/(s²·rad)", "roll": ""}[signal]
    told = signal in theories[0].OUTPUTS
    at_one = [theory.to_angle(1.0)[signal][0] for theory in theories] if told else []
    return [
        Metric(
            f"{name}{STEADY_GAIN}", np.abs(seen.gain[0]), unit,
            f"Gain at the lowest frequency, {BAND[0]:g} Hz, per angle of the front wheels.",
            [abs(t.to_angle(seen.frequency[0])[signal][0]) for t in theories] if told else None,
        ),
        Metric(
            f"{name}_bandwidth", seen.bandwidth, "Hz",
            "Where the gain falls below 0.707 of that at the lowest frequency.",
            [_bandwidth(t.to_angle, signal) for t in theories] if told else None,
        ),
        Metric(
            f"{name}_phase_at_1_hz", seen.phase_at(1.0), "rad",
            "Phase behind the angle at 1 Hz, negative: behind.",
            np.angle(at_one) if told else None,
        ),
        Metric(
            f"{name}_peak_ratio", _largest(seen) / np.abs(seen.gain[0]), "",
            "Largest gain of the band over that at the lowest frequency.",
        ),
        Metric(f"{name}_coherence", seen.coherence.min(axis=0), "", "Least coherence of the band."),
    ]  # fmt: skip


def _bandwidth(response: Callable[[Array], dict[str, AnyArray]], signal: str) -> float:
    """Of linear theory."""
    frequency = np.linspace(BAND[0], BAND[1], 400)
    return bandwidth_of(frequency, np.abs(response(frequency)[signal]))


def _charts(car: Subject, seen: dict[str, Response], v: m_s) -> list[Chart]:
    """Gain and phase of each answer of the first variant, and the coherence of all."""
    charts: list[Chart] = []
    theory = car.theories(v)[0]
    across = "frequency in Hz"
    for signal, response in seen.items():
        name, known = ANSWERS[signal].replace("_", " "), np.isfinite(response.gain[:, 0])
        if not known.any():
            continue
        f, own = response.frequency[known], response.gain[known, 0]
        gain, phase = np.abs(own), np.unwrap(np.angle(own))
        gains, phases = [Curve(f, gain, "driven")], [Curve(f, np.rad2deg(phase), "driven")]
        if signal in theory.OUTPUTS:
            linear = theory.to_angle(f)[signal]
            gains.append(Curve(f, np.abs(linear), "linear theory", "theory"))
            degrees = np.rad2deg(np.unwrap(np.angle(linear)))
            phases.append(Curve(f, degrees, "linear theory", "theory"))
        charts.append(Chart(f"Gain of {name}", across, "gain per rad", gains, x_log=True))
        charts.append(Chart(f"Phase of {name}", across, "phase in degrees", phases, x_log=True))
    curves = [
        Curve(r.frequency, r.coherence[:, 0], ANSWERS[s].replace("_", " ")) for s, r in seen.items()
    ]
    return [*charts, Chart("Coherence", across, "coherence", curves, x_log=True)]
