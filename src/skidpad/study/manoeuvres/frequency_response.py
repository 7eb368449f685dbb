"""Frequency response to steering (ISO 7401, ISO 8726): a random angle or one that sweeps.

Gain and phase from the angle of the front wheels to yaw rate and lateral acceleration by averaged
spectra of all variants at once, with the coherence, which shows how linear the vehicle and how well
excited it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import AnyArray, Array
from ...errors import InvalidValue
from ...units import m_s, m_s2, one, s
from .case import steered
from .case_run import BEGINNINGS, CaseRun, all_done, endings, steering_of
from .manoeuvre import Performing, StandardManoeuvre
from .metric import Chart, Curve, Findings, Metric
from .subject import Subject, speed_needed, tyres_needed

FALLEN = 1.0 / np.sqrt(2.0)
"""Share of the slow gain at which a band ends: -3 dB."""


class Response(NamedTuple):
    """From an angle to a response of the vehicle."""

    frequency: Array
    """In Hz, (F,)."""
    gain: AnyArray
    """Complex, (F, V)."""
    coherence: Array
    """(F, V), 1 where the response is wholly linear in the angle."""
    averaged: Array
    """(F,), number of spectra that each value is the mean of."""

    def where_coherent(self, least: float) -> Response:
        """The same with NaN for gains at frequencies of low coherence: below `least`, or below what
        noise reaches in one of twenty cases, 1 - 0.05^(1 / (n - 1)) with n spectra."""
        chance = 1.0 - 0.05 ** (1.0 / np.maximum(self.averaged - 1.0, 1e-3))
        with np.errstate(invalid="ignore"):
            coherent = self.coherence >= np.maximum(least, chance)[:, None]
        return self._replace(gain=np.where(coherent, self.gain, np.nan))

    @property
    def bandwidth(self) -> Array:
        """In Hz, (V,); NaN where the gain does not fall within the band."""
        columns = np.abs(self.gain).T
        return np.array([bandwidth_of(self.frequency, column) for column in columns])

    def phase_at(self, frequency: float) -> Array:
        """In rad, (V,), not wrapped from the lowest frequency on; NaN where it is not known."""
        return np.array([self._phase_at(frequency, gain) for gain in self.gain.T])

    def _phase_at(self, frequency: float, gain: AnyArray) -> float:
        phase, known = np.angle(gain), np.isfinite(gain)
        phase[known] = np.unwrap(phase[known])
        ends = {"left": np.nan, "right": np.nan}
        return float(np.interp(frequency, self.frequency, phase, **ends))


def bandwidth_of(frequency: Array, gain: Array) -> float:
    """Where a gain first falls below 0.707 of its first value, in Hz; NaN if nowhere."""
    low = gain < FALLEN * gain[0]
    if not low.any():
        return float("nan")
    k = int(np.argmax(low))
    share = (gain[k - 1] - FALLEN * gain[0]) / (gain[k - 1] - gain[k])
    return float(frequency[k - 1] + share * (frequency[k] - frequency[k - 1]))


def estimated_response(
    runs: Sequence[CaseRun], angle: str, response: str, band: tuple[float, float]
) -> Response:
    """The response over the angle (H1 estimate), from spectra averaged over runs and neighbours."""
    cross: AnyArray = np.zeros(1)
    own = other = np.zeros(1)
    dt = runs[0].t[1] - runs[0].t[0]
    for run in runs:
        pair = (run[name] - run[name].mean(axis=0) for name in (angle, response))
        u, y = (np.fft.rfft(signal, axis=0) for signal in pair)
        cross, own, other = cross + y * u.conj(), own + np.abs(u) ** 2, other + np.abs(y) ** 2
    frequency = np.fft.rfftfreq(len(runs[0].t), dt)
    # The last sample makes a drive a little longer, and so no frequency exactly the band's end.
    near = 0.5 * frequency[1]
    kept = (frequency > band[0] - near) & (frequency < band[1] + near)
    cross, own, other = (_smoothed(part, frequency)[kept] for part in (cross, own, other))
    coherence = np.real(np.abs(cross) ** 2 / (own * other))
    low, high = _neighbours(frequency)
    averaged = len(runs) * (high - low)[kept].astype(float)
    return Response(frequency[kept], cross / own, coherence, averaged)


def _neighbours(
    frequency: Array, octaves: float = 0.06
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Begin and end of the neighbours of each frequency within a part of an octave."""
    step = frequency[1]
    low = np.floor(frequency * 2.0 ** (-0.5 * octaves) / step).astype(int)
    high = np.ceil(frequency * 2.0 ** (0.5 * octaves) / step).astype(int) + 1
    return low, np.minimum(high, len(frequency))


def _smoothed(spectrum: AnyArray, frequency: Array) -> AnyArray:
    """The mean over neighbours, more of them at high frequencies."""
    sums = np.concatenate([np.zeros_like(spectrum[:1]), np.cumsum(spectrum, axis=0)])
    low, high = _neighbours(frequency)
    return (sums[high] - sums[low]) / (high - low)[:, None]


BAND = (0.2, 4.0)
"""Frequencies in Hz that are shown and looked at."""
QUIET: s = 2.0
"""At the end of a drive, in which the vehicle comes to rest."""
COHERENT: one = 0.8
"""Coherence that a frequency of a log needs: below, a fifth of the response has other causes."""
STEADY_SPEED: one = 0.1
"""Share by which the speed of a log may differ from its median where a response is taken."""
COVERED: one = 0.9
"""Share of the frequencies that have to be coherent for a peak among them."""
PERIODS = 3
"""Of the lowest frequency that a log has to last."""
RESPONSES = {"omega": "yaw_rate", "a_y": "lateral_acceleration", "roll": "roll"}
"""Signals and the names that metrics give them."""
STEADY_GAIN = "_steady_gain"
"""End of the name of the only metric of a signal that is right in a steady state alone."""


class _FrequencyResponse(StandardManoeuvre):
    """Base of both tests."""

    speed: m_s
    needs = (tyres_needed, speed_needed)

    def adapted_to(self, drive: CaseRun) -> Any:
        """At the mean speed of a log."""
        settings: Any = self
        return replace(settings, speed=_speed(drive))

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """From a whole log, however it was steered."""
        part = _at_one_speed(drive)
        whole = CaseRun(drive.label, part.t - part.t[0], part.signals, source=drive.source)
        found = _findings(car, [whole], _speed(drive), COHERENT)
        if len(part.t) == len(drive.t):
            return found
        note = (
            f"taken from {part.t[0]:.4g} to {part.t[-1]:.4g} s of the log, where the speed is "
            f"within {100.0 * STEADY_SPEED:g} % of its median, {np.median(drive['v_x']):.4g} m/s"
        )
        return replace(found, notes=[*found.notes, note])


@dataclass(frozen=True)
class RandomSteer(_FrequencyResponse):
    """Angles drawn at random, even over the band, in several drives."""

    speed: m_s = 100.0 / 3.6
    a_y: m_s2 = 1.0
    """Lateral acceleration that the angles give where they are slow: within the linear range."""
    drives: int = 8
    duration: s = 20.0
    seed: int = 0
    name = "random_steer"
    title = "Frequency response to random steering"
    source = "ISO 7401:2011, random input"

    def perform(self, car: Subject) -> Performing:
        """All drives at once."""
        v, T = self.speed, self.duration
        angle = self.a_y / car.theory(v).gains["a_y"]
        seeds = range(self.seed, self.seed + self.drives)
        runs = yield [steered(f"seed {k}", T, v, random_steer(k, T), angle) for k in seeds]
        return _findings(car, runs, v)


@dataclass(frozen=True)
class SineSweep(_FrequencyResponse):
    """A sine whose frequency grows, the same number of periods in each octave."""

    speed: m_s = 100.0 / 3.6
    a_y: m_s2 = 1.0
    """Lateral acceleration that the angle gives where it is slow."""
    duration: s = 40.0
    name = "sine_sweep"
    title = "Frequency response to a sine sweep"
    source = "ISO 7401:2011, continuous sinusoidal input"

    def perform(self, car: Subject) -> Performing:
        """Once, beginning to either side."""
        v, T = self.speed, self.duration
        angle = self.a_y / car.theory(v).gains["a_y"]
        runs = yield [
            steered(label, T, v, _sweep(T), side * angle) for label, side in BEGINNINGS.items()
        ]
        return _findings(car, runs, v)


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
            f"{drive.label} has speeds from {v.min():.1f} to {v.max():.1f} m/s and stays within "
            f"{100.0 * STEADY_SPEED:g} % of {about:.1f} m/s for at most {np.ptp(part.t):.1f} s; a "
            f"frequency response needs one speed throughout, and {takes}"
        )
    return part


def _swell(t: Array, duration: s) -> Array:
    """From 0 to 1 and back before the end, so that all responses have died away: spectra of the
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
        for signal in RESPONSES
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
        f"{RESPONSES[signal]} has a coherence of {least:g} with the angle at {coherent.sum()} of "
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
    name, unit = RESPONSES[signal], {"omega": "1/s", "a_y": "m/(s²·rad)", "roll": ""}[signal]
    band = np.linspace(*BAND, 400)
    slow, steady, at_one = seen.frequency[0], np.abs(seen.gain[0]), None
    theory: Any = [None, None]
    theories = car.theories(v)
    if signal in theories[0].OUTPUTS:
        theory = [
            [abs(own.to_angle(slow)[signal][0]) for own in theories],
            [bandwidth_of(band, np.abs(own.to_angle(band)[signal])) for own in theories],
        ]
        at_one = np.angle([own.to_angle(1.0)[signal][0] for own in theories])
    return [
        Metric(f"{name}{STEADY_GAIN}", steady, unit,
               f"Gain at the lowest frequency, {BAND[0]:g} Hz, per angle of the front wheels.",
               theory[0]),
        Metric(f"{name}_bandwidth", seen.bandwidth, "Hz",
               "Where the gain falls below 0.707 of that at the lowest frequency.", theory[1]),
        Metric(f"{name}_phase_at_1_hz", seen.phase_at(1.0), "rad",
               "Phase behind the angle at 1 Hz, negative: behind.", at_one),
        Metric(f"{name}_peak_ratio", _largest(seen) / steady, "",
               "Largest gain of the band over that at the lowest frequency."),
        Metric(f"{name}_coherence", seen.coherence.min(axis=0), "", "Least coherence of the band."),
    ]  # fmt: skip


def _charts(car: Subject, seen: dict[str, Response], v: m_s) -> list[Chart]:
    """Gain and phase of each response of the first variant, and the coherence of all."""
    charts: list[Chart] = []
    theory = car.theories(v)[0]
    across = "frequency in Hz"
    for signal, response in seen.items():
        name, known = RESPONSES[signal].replace("_", " "), np.isfinite(response.gain[:, 0])
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
        Curve(r.frequency, r.coherence[:, 0], RESPONSES[name].replace("_", " "))
        for name, r in seen.items()
    ]
    return [*charts, Chart("Coherence", across, "coherence", curves, x_log=True)]
