"""Delays between the channels of a log, with 95 % intervals.

Two channels that physics ties together, such as the rate of yaw and the yaw rate, differ in time by
the latencies of their sensors. `delay_between` estimates that difference far below a sample period
as the slope of the phase of their cross spectrum. Each frequency has the weight of its coherence,
which is the maximum likelihood estimate for Gaussian signals (C. H. Knapp and G. C. Carter, "The
generalized correlation method for estimation of time delay", IEEE Trans. ASSP 24, 1976). Because
the spectrum of the disturbance is estimated with the delay, the interval holds for noise of any
colour. `find_latencies` combines the delays of all related pairs of channels.

Only kinematic relations are used, which hold for every vehicle. The yaw rate that follows a
steering angle, or a command that is answered late, is the behaviour of the vehicle, and no latency.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...units import one, s
from .cleaning import Mask, on_grid, period, stretches
from .log import Channel

LONGEST: s = 0.5
"""Longest delay searched for, either way."""
_LOWEST = 0.05
"""Lowest frequency used, in Hz: below it offsets drift, and a delay hardly changes the phase."""
_ROUNDING = 1e-4
"""Disturbance that is always assumed, as a share of the signal: of rounding and interpolation."""
_TAPER: s = 0.5
"""Least time over which signals fade in and out at the borders of what is known."""
_SLOW: s = 2.0
"""Time of the moving mean that is subtracted from signals."""
_MAIN_LOBE, _LEAK = 6, 4.0
"""Half width of the main lobe of a window in bins, and power over that from side lobes which is
needed."""
_BLOCK: s = 2.0
"""Time over which disturbances are treated as dependent on each other."""
_WIDTH = 41
"""Most frequencies that spectra are averaged over."""
_LEAST_BINS = 12
"""Least number of frequencies that an estimate needs."""
_LEAST_EXPLAINED: one = 0.3
"""Least share of the slower half of one signal that another explains, for a delay between them."""
_CHANCE: one = 1e-4
"""Probability with which a frequency without common signal is used."""
_ROUNDS = 12
"""Most rounds of shifting one signal by whole samples."""
_FAR = 6.0
"""Number of samples within which the refinement has to stay."""
_PARTS = 5
"""Parts of the frequencies, with the same information, whose delays are compared."""
_USUAL = 1.5
"""Disagreement between them that is often exceeded by chance."""
_QUANTILE = 2.0
"""Half width of a 95 % interval in standard deviations; weights are estimated too."""
_WIDEST: s = 0.1
"""Half width of an interval above which nothing is known about a delay."""


class Latency(NamedTuple):
    """How late a channel is; negative if it is early."""

    value: s
    low: s
    """Lower end of the 95 % interval."""
    high: s
    """Upper end of the 95 % interval."""

    def __str__(self) -> str:
        return f"{self.value:.4f} s ({self.low:.4f} to {self.high:.4f} s)"


def delay_between(
    late: Array, early: Array, dt: s, *, longest: s = LONGEST, highest: float | None = None
) -> Latency | None:
    """Delay of one signal behind another, or None if it cannot be determined.

    Args:
        late: samples (n,) on an even grid, NaN where unknown.
        early: samples (n,) of a quantity proportional to `late`, up to an offset, a slow drift and
            independent disturbances of both.
        dt: period of the grid.
        longest: longest delay to search for, either way.
        highest: highest frequency in Hz that both contain; four fifths of half the sample rate if
            not given.
    """
    highest = 0.4 / dt if highest is None else highest
    lag, most = 0, int(longest / dt)
    for _ in range(_ROUNDS):  # shifted by whole samples, so that both have the same borders
        spectra = _Spectra.of(late, _shift(early, lag), dt, highest)
        if spectra is None:
            return None
        step = round(spectra.peak(longest) / dt)
        if abs(step) <= 1 or abs(lag) > most:
            break
        lag += step
    else:
        return None
    found = spectra.refine()
    if found is None or abs(lag) > most:
        return None
    value, half = lag * dt + found[0], _QUANTILE * found[1]
    if half > _WIDEST or abs(found[0]) > 3.0 * dt + half:
        return None
    return Latency(value, value - half, value + half)


def _shift(values: Array, lag: int) -> Array:
    """The samples moved by some places, NaN at the end that becomes empty."""
    moved = np.full(values.shape, np.nan)
    n = len(values)
    moved[max(lag, 0) : n + min(lag, 0)] = values[max(-lag, 0) : n - max(lag, 0)]
    return moved


class _Fitted(NamedTuple):
    """One signal as a multiple of another that is later by some delay."""

    score: float
    """Derivative of the log likelihood with respect to the delay."""
    information: float
    """Minus its second derivative."""
    disagreement: one
    """Variance of the delays that parts of the frequencies give, over that by disturbances.

    Above one if the signals differ by more than a delay, as when a part of a sum is unknown.
    """
    explained: one
    """Share of the power of the later signal that the earlier one explains."""
    rest: NDArray[np.complex128]
    """Disturbance by frequency, with unit variance."""
    slope: NDArray[np.complex128]
    """Derivative of the disturbance with respect to the delay, scaled alike."""


class _Spectra(NamedTuple):
    """Fourier transforms of two signals over the frequencies used."""

    omega: Array
    """Angular frequencies, (bins,)."""
    early: NDArray[np.complex128]
    late: NDArray[np.complex128]
    clear: Mask
    """Frequencies at which both signals are more than what leaks from others."""
    width: int
    """Number of neighbouring bins that spectra are averaged over."""
    samples: int
    dt: s
    band: slice
    """Places of the used frequencies in the Fourier transform."""
    loss: one
    """Factor by which fading in and out increases variances."""

    @classmethod
    def of(cls, late: Array, early: Array, dt: s, highest: float) -> _Spectra | None:
        """The spectra; None if too little is known of both signals at once."""
        known = np.isfinite(late) & np.isfinite(early)
        window = _window(known, int(_TAPER / dt))
        if window.sum() * dt * (highest - _LOWEST) < _LEAST_BINS:
            return None
        n = len(late)
        begin = max(int(np.ceil(_LOWEST * n * dt)), 1)
        band = slice(begin, min(int(highest * n * dt), (n - 1) // 2) + 1)
        # Slow motion is the largest, and would leak into all other frequencies.
        kernel = np.ones(min(int(_SLOW / dt) | 1, n // 4 | 1))
        count = np.maximum(np.convolve(known.astype(float), kernel, "same"), 1.0)
        whole: list[NDArray[np.complex128]] = []
        for signal in (early, late):
            filled = np.where(known, signal - signal[known].mean(), 0.0)
            fast = filled - np.convolve(filled, kernel, "same") / count
            whole.append(np.fft.rfft(np.where(known, fast, 0.0) * window))
        first, second = whole[0][band], whole[1][band]
        bins = len(first)
        if bins < _LEAST_BINS or not np.abs(first).any() or not np.abs(second).any():
            return None
        omega = 2.0 * np.pi / (n * dt) * np.arange(band.start, band.start + bins, dtype=float)
        width = int(np.clip(0.4 * n * dt, 9, np.clip(bins // 4, 9, _WIDTH))) | 1
        loss = float(len(late) * (window**4).sum() / (window**2).sum() ** 2) * known.mean()
        clear = _is_clear(whole[0], window)[band] & _is_clear(whole[1], window)[band]
        return cls(omega, first, second, clear, width, n, dt, band, loss)

    def peak(self, longest: s) -> s:
        """Delay at which the signals are most alike, weighted by coherence, without refinement."""
        cross = np.conj(self.early) * self.late
        power = self._mean(np.abs(self.early) ** 2) * self._mean(np.abs(self.late) ** 2)
        # The mean of the cross spectrum over neighbouring frequencies vanishes for a long delay,
        # so the coherence is computed at each delay.
        best, at = 0.0, 0.0
        for delay in self.dt * np.arange(-int(longest / self.dt), int(longest / self.dt) + 1):
            turned = self._mean((cross * np.exp(1j * self.omega * delay)).real)
            coherence = np.maximum(turned, 0.0) ** 2 / power
            alike = np.minimum(coherence[self.clear & (coherence > self.least)], 0.9999)
            merit = -float(np.log1p(-alike).sum())
            if merit > best:
                best, at = merit, float(delay)
        return at

    def refine(self) -> tuple[s, s] | None:
        """Delay near zero, and its standard deviation; None if the signals are not alike."""
        delay = 0.0
        fitted = self.fit(delay)
        for k in range(_ROUNDS):
            if fitted.explained < _LEAST_EXPLAINED or abs(delay) > _FAR * self.dt:
                return None
            step = fitted.score / fitted.information
            # Half steps, should steps alternate because a frequency is in and out by turns.
            delay += step if k < _ROUNDS // 2 else 0.5 * step
            fitted = self.fit(delay)
            if abs(step) < 1e-4 * self.dt:
                break
        # The scores over time, in blocks: they are larger where the disturbance is.
        scores = self._over_time(fitted.rest) * self._over_time(fitted.slope) * self.samples
        block = max(int(_BLOCK / self.dt), 1)
        count = max(self.samples // block, 1)
        sums = scores[: count * block].reshape(count, -1).sum(axis=1)
        by_blocks = float((sums**2).sum()) / fitted.information**2
        # Blocks are few and scatter, so that only half of what they add counts.
        expected = 1.0 / fitted.information
        variance = self.loss * max(expected, 0.5 * (expected + by_blocks))
        return delay, float(np.sqrt(variance * max(1.0, fitted.disagreement / _USUAL)))

    def fit(self, delay: s) -> _Fitted:
        """The later signal as a multiple of the earlier one by frequency, without phase."""
        e = self.early * np.exp(-1j * self.omega * delay)
        cross = np.conj(e) * self.late
        power, total = self._mean(np.abs(e) ** 2), self._mean(np.abs(self.late) ** 2)
        response = np.maximum(self._mean(cross.real), 0.0) / power
        # Frequencies at which the signals may be alike by chance do not count.
        alike = self.clear & (response**2 * power > self.least * total)
        response = np.where(alike, response, 0.0)
        rest = self.late - response * e
        disturbance = self._mean(np.abs(rest) ** 2) * (1.0 + 1.0 / self.width)
        disturbance += _ROUNDING**2 * (total + 1e-4 * total.max())
        # The phase of the cross spectrum at each frequency is minus the frequency times the delay.
        weight = 2.0 * self.omega * response / disturbance
        scores, informations = -weight * cross.imag, weight * self.omega * cross.real
        score, information = float(scores.sum()), float(informations.sum())
        parts = np.minimum(np.cumsum(informations) / (information or 1.0) * _PARTS, _PARTS - 1)
        told = [np.bincount(np.maximum(parts, 0.0).astype(int), v, _PARTS)
                for v in (scores, informations)]  # fmt: skip
        rest_of = told[0] - told[1] * score / (information or 1.0)
        disagreement = float((rest_of**2 / np.maximum(told[1], 1e-300)).sum() / (_PARTS - 1))
        scale = np.sqrt(disturbance)
        slope = 1j * self.omega * response * e / scale
        # Up to the mean frequency of what tells the delay; above, noise may prevail.
        middle = float((np.abs(slope) ** 2 * self.omega).sum()) / float(
            (np.abs(slope) ** 2).sum() or 1.0
        )
        slow = self.omega <= middle
        explained = float((np.abs(response * e) ** 2)[slow].sum())
        explained /= float((np.abs(self.late) ** 2)[slow].sum()) or 1.0
        return _Fitted(score, information, disagreement, explained, rest / scale, slope)

    @property
    def least(self) -> one:
        """Squared coherence that unrelated signals exceed at one frequency in ten thousand."""
        return 1.0 - _CHANCE ** (1.0 / (self.width - 1))

    def _mean(self, values: Array) -> Array:
        kernel = np.ones(self.width)
        count = np.convolve(np.ones(len(values)), kernel, "same")
        return np.convolve(values, kernel, "same") / count

    def _over_time(self, part: NDArray[np.complex128]) -> Array:
        full = np.zeros(self.samples // 2 + 1, dtype=complex)
        full[self.band] = part
        return np.fft.irfft(full, self.samples)


def _window(known: Mask, least: int) -> Array:
    """One within stretches of known samples, falling to zero at their borders as a cosine.

    A tenth of a stretch, and at least some samples, so that little leaks from slow motion.
    """
    window = np.zeros(known.shape)
    for begin, end in stretches(known):
        taper = max(least, (end - begin) // 10)
        inside = np.minimum(np.arange(1, end - begin + 1), np.arange(end - begin, 0, -1))
        if end - begin > 4 * taper:
            window[begin:end] = 0.5 - 0.5 * np.cos(np.pi * np.minimum(inside / (taper + 1), 1.0))
    return window


def _is_clear(spectrum: NDArray[np.complex128], window: Array) -> Mask:
    """Frequencies with more than what others leak into them through the side lobes of the window.

    What leaks has the phase of the window, and tells nothing about a delay.
    """
    from scipy.signal import fftconvolve

    power = np.abs(spectrum) ** 2
    lobes = np.abs(np.fft.rfft(window)) ** 2
    lobes = np.concatenate([lobes[:0:-1], lobes])
    lobes /= lobes.sum()
    middle = len(lobes) // 2
    lobes[middle - _MAIN_LOBE : middle + _MAIN_LOBE + 1] = 0.0
    return power > _LEAK * np.maximum(fftconvolve(power, lobes, "same"), 0.0)


REFERENCES = ("omega", "a_x", "a_y", "v_x", "yaw", "speed", "x")
"""Channels whose times are trusted, the first that a log has; an inertial unit is rarely late."""
_SHORTEST_GRID: s = 1e-3
_MOST_SAMPLES = 200_000
_IGNORED: one = 0.6
"""Share of a sample period below which a delay is not corrected: stamps do not show to which
moment of their period values belong."""
_SURE: one = 1.5
"""Delay over the half width of its interval above which it is taken out."""
_STRAIGHT: one = 0.4
"""Lateral over longitudinal acceleration up to which a lateral velocity does not matter."""
_DIRECTION: s = 0.5
"""Time over which the direction of a path is averaged."""


class Found(NamedTuple):
    """Latency of a channel, and what it was compared with."""

    latency: Latency
    against: str
    """The channel or quantity that it was compared with, in words."""
    matters: bool
    """Whether zero is far outside of the interval, and the delay is no fraction of a sample."""
    doubt: str = ""
    """Why the delay may have another cause than a sensor; empty otherwise."""


class _Relation(NamedTuple):
    """Two quantities that are equal for every vehicle, each from channels of one clock."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    others: tuple[str, ...]
    """Channels that the comparison needs in addition."""
    kind: str
    """Which quantities they are, see `_quantities`."""
    words: tuple[str, str]
    doubt: str = ""
    """Why a difference in time may be more than latency; such a channel is not aligned by it."""


def find_latencies(
    channels: Mapping[str, Channel], *, reference: str = "omega", gap: s = 0.5, longest: s = LONGEST
) -> dict[str, Found]:
    """How late each channel is behind a reference channel, where kinematics determines it.

    The rate of `yaw` is compared with `omega`, the speed along `x` and `y` with `v_x`, and the rate
    of `v_x` with `a_x`. Delays add up along such comparisons. Channels with no connection to the
    reference are compared with the next of `REFERENCES` that they are related to. A lateral
    acceleration that is early looks like that of a sensor ahead; `correct_imu` finds both.

    `gap` is the longest stretch to interpolate, `longest` the longest delay to search for.
    """
    poses: tuple[str, ...] = ("x", "y")
    if {"x", "y", "yaw"} <= channels.keys():
        x, y, yaw = (channels[name].t for name in ("x", "y", "yaw"))
        own = "omega" not in channels or not np.array_equal(channels["omega"].t, yaw)
        if own and np.array_equal(x, y) and np.array_equal(x, yaw):
            poses = ("x", "y", "yaw")  # of one instrument, with times of its own
    found: dict[str, Found] = {}
    aligned: dict[str, Channel] = {}
    half_of: dict[str, s] = {}
    for start in dict.fromkeys((reference, *REFERENCES)):
        if start not in channels or start in aligned:
            continue
        for name in channels.keys() & poses if start in poses else (start,):
            aligned[name], half_of[name] = channels[name], 0.0
        while (step := _next(channels, aligned, poses, gap, longest)) is not None:
            relation, late, delay, dt = step
            old, words = relation.first, relation.words[0]
            if late is relation.first:
                old, words = relation.second, relation.words[1]
            half = float(np.hypot(delay.high - delay.value, half_of[old[0]]))
            latency = Latency(delay.value, delay.value - half, delay.value + half)
            matters = abs(delay.value) > max(_SURE * half, _IGNORED * dt)
            shift = delay.value if matters and not relation.doubt else 0.0
            for name in poses if late[0] in poses else late:
                found[name] = Found(latency, words, matters, relation.doubt)
                aligned[name] = channels[name]._replace(t=channels[name].t - shift)
                half_of[name] = half
    return found


def _next(
    channels: Mapping[str, Channel],
    aligned: Mapping[str, Channel],
    poses: tuple[str, ...],
    gap: s,
    longest: s,
) -> tuple[_Relation, tuple[str, ...], Latency, s] | None:
    """The next relation between aligned and other channels, the names of the others, how late they
    are, and the shortest period of all."""
    for relation in _relations(channels):
        for old, new in ((relation.first, relation.second), (relation.second, relation.first)):
            group = poses if new[0] in poses else new
            needed = {*old, *group, *relation.others}
            if not channels.keys() >= needed or any(name in aligned for name in group):
                continue
            # Nothing tells how late a lateral velocity is, so its times are taken as they are.
            if not aligned.keys() >= needed - {*group, "v_y", "sideslip"}:
                continue
            used = {name: aligned.get(name, channels[name]) for name in needed}
            periods = [period(one.t) for one in used.values()]
            begin = max(one.t[0] for one in used.values())
            end = min(one.t[-1] for one in used.values())
            if min(periods) <= 0.0 or end - begin < 10.0 * max(periods):
                continue
            dt = max(min(periods), _SHORTEST_GRID, (end - begin) / _MOST_SAMPLES)
            t = begin + dt * np.arange(int((end - begin) / dt) + 1, dtype=float)
            columns = {name: on_grid(one, t, gap) for name, one in used.items()}
            first, second = _quantities(relation.kind, columns, dt)
            late, early = (second, first) if new is relation.second else (first, second)
            highest = 0.4 / max(periods)
            delay = delay_between(late, early, dt, longest=longest, highest=highest)
            if delay is not None:
                return relation, new, delay, min(periods)
    return None


def _relations(channels: Mapping[str, Channel]) -> Iterator[_Relation]:
    """The relations that the channels of a log allow, the most certain first."""
    have = channels.keys()
    sideways = next(
        (names for names in (("v_y",), ("sideslip",), ("x", "y", "yaw")) if {*names} <= have), ()
    )
    yield _Relation(("omega",), ("yaw",), (), "yaw", ("omega", "the rate of yaw"))
    aside = sideways if sideways in (("v_y",), ("sideslip",)) else ()
    for speed in ("v_x", "speed"):
        others = aside if speed == "v_x" else ()
        words = ("the speed along x and y", speed)
        yield _Relation(("x", "y"), (speed,), others, "path", words)
    doubt = "without v_y that includes the share of turning"
    told = channels.get("v_x", channels.get("speed"))
    if told is not None and {"omega", "a_x"} <= have:
        rate = np.sqrt(np.nanmean(channels["omega"].values ** 2))
        turning = rate * np.nanmedian(np.abs(told.values))
        if turning < _STRAIGHT * np.nanstd(channels["a_x"].values):
            doubt = ""
    for speed in ("v_x", "speed"):
        words = ("a_x", f"the rate of {speed}")
        if sideways:
            yield _Relation(("a_x",), (speed,), ("omega", *sideways), "along", words)
        yield _Relation(("a_x",), (speed,), (), "along", words, doubt)
    if not sideways:
        doubt = "without v_y that includes the growth of sideslip and the place of the sensor"
        yield _Relation(("omega",), ("a_y",), ("v_x",), "across", ("v_x times omega", "a_y"), doubt)
    yield _Relation(("speed",), ("v_x",), (), "speed", ("speed", "v_x"))


def _quantities(kind: str, columns: Mapping[str, Array], dt: s) -> tuple[Array, Array]:
    """The two quantities of a relation, (n,) each."""
    if kind == "yaw":
        return columns["omega"], np.gradient(columns["yaw"], dt)
    if kind == "speed":
        return columns["speed"], np.abs(columns["v_x"])
    if kind == "across":
        return columns["v_x"] * columns["omega"], columns["a_y"]
    told = columns["v_x"] if "v_x" in columns else columns["speed"]
    if kind == "path":
        # Speed in the mean direction of the path, so that noise of positions cancels.
        rates = [np.gradient(columns[axis], dt) for axis in ("x", "y")]
        width = max(min(int(_DIRECTION / dt), len(rates[0]) - 1), 1) | 1
        x, y = (np.convolve(rate, np.ones(width), "same") for rate in rates)
        if "v_x" in columns:
            aside = told * np.tan(columns["sideslip"]) if "sideslip" in columns else 0.0
            told = np.hypot(told, columns.get("v_y", aside))
        return (rates[0] * x + rates[1] * y) / np.maximum(np.hypot(x, y), 1e-9), told
    if "omega" not in columns:
        return columns["a_x"], np.gradient(told, dt)
    if "v_y" in columns:
        aside = columns["v_y"]
    elif "sideslip" in columns:
        aside = told * (np.tan if "v_x" in columns else np.sin)(columns["sideslip"])
    else:
        x, y = (np.gradient(columns[axis], dt) for axis in ("x", "y"))
        aside = y * np.cos(columns["yaw"]) - x * np.sin(columns["yaw"])
    if "v_x" not in columns:
        told = told * np.cos(np.arcsin(np.clip(aside / np.maximum(told, 1.0), -1.0, 1.0)))
    return columns["a_x"] + aside * columns["omega"], np.gradient(told, dt)
