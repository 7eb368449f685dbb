"""Samples of a channel: faults among them, interpolation, filters, derivatives and noise.

Each of the first functions finds one kind of fault, such as spikes, and returns which samples to
keep; `preparation` applies them in order and reports what they found. `on_grid` interpolates what
is left to an even grid, `low_pass` filters it without delay.

`smoothed` fits a parabola to an odd number of neighbouring samples; its value and slope in the
middle replace the sample (A. Savitzky and M. Golay, Analytical Chemistry 36, 1964). Channels that
enter one equation are smoothed alike, so that they keep their phases and frequency responses.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.checks import increasing, positive
from ...errors import InvalidValue
from ...units import one, s

if TYPE_CHECKING:
    from .log import Channel

Mask = NDArray[np.bool_]

GAP = 5.0
"""Number of sample periods above which a stretch without a value counts as a gap."""
_SUSTAINED = 5
"""Number of samples after which a clock that went back has been set, and is not jittering."""
_REGULAR: one = 0.1
"""Largest share of repeats that are shorter than usual for a sensor with a slower clock."""
_ON_CLOCK: one = 0.95
"""Least share of the changes of a column that fall on the ticks of a clock it shares."""
_LEAST_RUNS = 10
"""Least number of changes from which a clock is recognised."""
_SLOWEST_ALONE: s = 0.25
"""Longest period of the clock of a single column; a longer one may be a stepwise motion."""
_MOVING = 0.5
"""Speed in m/s above which a vehicle moves."""
_ASIDE: one = 0.01
"""Speed aside over speed, below which a point moves along the vehicle."""
_FROZEN: s = 1.0
_FROZEN_SAMPLES = 20
"""Least duration, and least number of samples, of a stretch without any change that is a fault."""
_REPEATS: one = 0.1
"""Largest share of repeated values of a sensor that never repeats itself by resolution."""
_WIDEST_SPIKE = 3
"""Largest number of samples of a spike."""
_AROUND = 12
"""Number of samples before and after a sample from which the usual changes are computed."""
_SPIKE = 4.5
"""Height of a spike as a multiple of the changes that are usual around it."""


def period(t: Array) -> s:
    """Median time between samples; 0 for fewer than two."""
    return float(np.median(np.diff(t))) if len(t) > 1 else 0.0


def allowed_gap(t: Array, longest: s) -> s:
    """Longest stretch to interpolate: `longest`, or five periods if samples are rarer."""
    return max(longest, GAP * period(t))


class Stamps(NamedTuple):
    """Repaired stamps of a time base."""

    rows: NDArray[np.int64]
    """Rows to keep."""
    t: Array
    """Their times, strictly increasing."""
    repeated: int
    """Number of rows left out because an earlier row has the same stamp."""
    backward: int
    """Number of rows left out because their stamps are out of order or no numbers."""
    jumps: tuple[tuple[s, s], ...]
    """Where the clock was set back: stamp before, and by how much."""


def repair_stamps(t: Array) -> Stamps:
    """Make stamps strictly increasing.

    A clock that is set back and runs on from there has its later stamps moved, so that time
    continues with the usual period. Of the remaining rows the most that are in order are kept.
    """
    t = np.asarray(t, dtype=float)
    finite = np.flatnonzero(np.isfinite(t))
    kept = t[finite].copy()
    jumps: list[tuple[s, s]] = []
    steps = np.diff(kept)
    usual = float(np.median(steps[steps > 0.0])) if (steps > 0.0).any() else 1.0
    for i in np.flatnonzero(steps < 0.0):
        after = kept[i + 1 : i + 1 + _SUSTAINED]
        before = kept[max(i + 1 - _SUSTAINED, 0) : i + 1]
        if len(after) < _SUSTAINED or after.max() >= before.min() or (np.diff(after) < 0).any():
            continue  # a row out of order, or a single stamp too late
        back = float(kept[i] - kept[i + 1]) + usual
        jumps.append((float(kept[i]), back))
        kept[i + 1 :] += back
    repeated = int((np.diff(kept) == 0.0).sum())
    order = np.arange(len(kept)) if (np.diff(kept) > 0.0).all() else _longest_increasing(kept)
    backward = len(t) - len(order) - repeated
    return Stamps(finite[order], kept[order], repeated, max(backward, 0), tuple(jumps))


def _longest_increasing(values: Array) -> NDArray[np.int64]:
    """Rows of the longest strictly increasing subsequence, by patience sorting."""
    tops: list[float] = []
    rows: list[int] = []
    before = np.full(len(values), -1, dtype=np.int64)
    for row, value in enumerate(values.tolist()):
        place = bisect_left(tops, value)
        before[row] = rows[place - 1] if place else -1
        tops[place : place + 1] = [value]
        if place == len(rows):
            rows.append(row)
        elif values[rows[place]] != value:  # of equal stamps the first row is kept
            rows[place] = row
    chain: list[int] = []
    row = rows[-1] if rows else -1
    while row >= 0:
        chain.append(row)
        row = int(before[row])
    return np.array(chain[::-1], dtype=np.int64)


class Clock(NamedTuple):
    """A slower clock within rows of a faster one."""

    columns: tuple[str, ...]
    ticks: Mask
    """Rows at which a new sample came."""


def slower_clocks(columns: Mapping[str, Array], dt: s, alone: Sequence[str] = ()) -> list[Clock]:
    """Clocks of sensors whose values are repeated in the rows of a faster clock.

    Columns that change in the same rows share a clock. Its ticks are the rows in which any of them
    changes; where none changes for long, further ticks continue at the usual period.

    Args:
        columns: values by name, all on the same rows.
        dt: period of the rows in s.
        alone: columns that may have a clock of their own. Others only share one.
    """
    changes = {name: _changes(values) for name, values in columns.items()}
    clocks: list[tuple[list[str], Mask]] = []
    for name in sorted(changes, key=lambda each: -int(changes[each].sum())):
        changed = changes[name]
        count = int(changed[1:].sum())
        if not count:
            continue
        shared = (c for c in clocks if changed[c[1]].sum() >= _ON_CLOCK * changed.sum())
        if clock := next(shared, None):
            clock[0].append(name)
            clock[1][changed] = True
            continue
        runs = np.diff(np.flatnonzero(changed))
        usual = float(np.median(runs)) if len(runs) else 1.0
        if usual >= 2.0 and len(runs) >= _LEAST_RUNS and (runs < 0.6 * usual).mean() <= _REGULAR:
            clocks.append(([name], changed.copy()))
    found: list[Clock] = []
    for names, ticks in clocks:
        usual = int(np.median(np.diff(np.flatnonzero(ticks))))
        single = len(names) == 1 and (names[0] not in alone or usual * dt > _SLOWEST_ALONE)
        if usual < 2 or single:
            continue
        for begin, end in zip(*(np.flatnonzero(ticks)[k:] for k in (0, 1)), strict=False):
            ticks[begin : end - usual // 2 : usual] = True
        found.append(Clock(tuple(names), ticks))
    return found


def _changes(values: Array) -> Mask:
    """Rows whose value differs from the row before; the first row counts as a change."""
    changed = np.ones(values.shape, dtype=bool)
    changed[1:] = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    return changed


def frozen_stretches(channel: Channel) -> list[tuple[int, int]]:
    """Stretches of rows over which a sensor that otherwise never repeats a value is constant."""
    edges = np.append(np.flatnonzero(_changes(channel.values)), len(channel.values))
    runs = np.diff(edges)
    least = max(_FROZEN_SAMPLES, int(np.ceil(_FROZEN / max(period(channel.t), 1e-9))))
    long = runs >= least
    others = runs[~long]
    if not long.any() or others.sum() < least or 1.0 - len(others) / others.sum() > _REPEATS:
        return []
    return [(int(edges[k]), int(edges[k + 1])) for k in np.flatnonzero(long)]


def moves(channels: Mapping[str, Channel], begin: s, end: s, names: Sequence[str]) -> bool:
    """Whether some channels show that the vehicle moves between two times.

    A speed has to be high, and another channel has to vary half as much as in the whole log, which
    noise at standstill does not.
    """
    for name in names:
        if name not in channels:
            continue
        own = channels[name]
        every = own.values[np.isfinite(own.values)]
        values = own.values[(own.t >= begin) & (own.t <= end) & np.isfinite(own.values)]
        if not len(values):
            continue
        fast = name.startswith(("v_x", "speed", "wheel_speed")) and len(values)
        if fast and np.median(np.abs(values)) > _MOVING:
            return True
        if not fast and values.std() > 0.5 * every.std() > 0.0:
            return True
    return False


def rolls_along(channels: Mapping[str, Channel]) -> bool:
    """Whether positions and heading show a point that moves along the vehicle only, such as the
    middle of an axle whose wheels do not slip."""
    if not {"x", "y", "yaw"} <= channels.keys():
        return False
    x, y, yaw = (channels[name] for name in ("x", "y", "yaw"))
    if len(x.t) < 2 or not np.array_equal(x.t, y.t) or not np.array_equal(x.t, yaw.t):
        return False
    rates = [np.gradient(one.values, one.t) for one in (x, y)]
    aside = rates[1] * np.cos(yaw.values) - rates[0] * np.sin(yaw.values)
    return bool(np.nanmedian(np.abs(aside)) < _ASIDE * np.nanmedian(np.hypot(*rates)))


def spikes(values: Array, caution: one = 1.0) -> Mask:
    """Samples of isolated peaks: at most three that leave the signal, which then continues.

    A peak counts if it is several times as high as the changes from sample to sample around it.
    The samples before and after it have to agree with each other, so a step is no spike. Nor is a
    real impact that lasts longer, or rings. `caution` multiplies the height that is needed.
    """
    found = np.zeros(values.shape, dtype=bool)
    n = len(values)
    if n < 2 * _AROUND:
        return found
    for width in range(1, _WIDEST_SPIKE + 1):
        rest = np.flatnonzero(~found)
        v = values[rest]
        found[rest[_peaks(v, width, caution)]] = True
    return found


def _peaks(v: Array, width: int, caution: one) -> Mask:
    """Samples of peaks of one width."""
    from scipy.ndimage import median_filter

    peaks = np.zeros(v.shape, dtype=bool)
    n = len(v)
    first = np.arange(1, n - width)  # rows at which a peak may begin
    before, after = v[first - 1], v[first + width]
    inside = np.stack([v[first + k] for k in range(width)])
    side = np.sign(inside[0] - before)
    height = (np.minimum(side * (inside - before), side * (inside - after))).min(axis=0)
    # Of a sensor that is often constant, a change by its resolution is none.
    changed = np.abs(np.diff(v))
    resolution = 3.0 * float(np.quantile(changed[changed > 0.0], 0.05)) if changed.any() else 0.0
    # A first look, which is cheap, leaves few samples.
    usual_change = median_filter(changed, 2 * _AROUND + 1, mode="nearest")
    for k in np.flatnonzero(height > np.maximum(_SPIKE * usual_change[first], resolution)):
        begin, end = int(first[k]), int(first[k]) + width
        left, right = v[max(begin - _AROUND, 0) : begin], v[end : end + _AROUND]
        changes = np.abs(np.concatenate([np.diff(left), np.diff(right)]))
        across = abs(float(after[k] - before[k]))
        if len(changes) < _AROUND:
            continue
        usual = max(float(np.quantile(changes, 0.9)), across / (1.0 + width))
        if height[k] > caution * _SPIKE * max(usual, 1e-9 * float(np.abs(v).max())):
            peaks[begin:end] = True
    return peaks


FASTEST = 100.0
"""Speed in m/s above which a position jumps, if the log has no speed."""
_RESTART: one = 0.25
"""Share of the samples that has to be gained to accept a position that does not jump back."""
_MOST_PIECES = 2000


def jumps(t: Array, x: Array, y: Array, fastest: float) -> Mask:
    """Positions that jump away and, later, back to where the vehicle may have driven meanwhile.

    The path is cut where it is faster than `fastest`, in m/s, by several usual steps. Of the pieces
    a chain of most samples is kept, in which each can be reached from the one before it.
    """
    steps = np.hypot(np.diff(x), np.diff(y))
    margin = 5.0 * float(np.quantile(steps, 0.9)) if len(steps) else 0.0
    cuts = np.flatnonzero(steps > fastest * np.diff(t) + margin) + 1
    first, last = np.append(0, cuts), np.append(cuts, len(t)) - 1
    if not len(cuts) or len(first) > _MOST_PIECES:
        return np.zeros(t.shape, dtype=bool)
    best = np.zeros(len(first))
    before = np.full(len(first), -1)
    for k in range(len(first)):
        gains = np.zeros(k + 1)  # the last entry: nothing before
        a, b = last[:k], first[k]
        away = np.hypot(x[b] - x[a], y[b] - y[a]) > fastest * (t[b] - t[a]) + margin
        gains[:k] = best[:k] - _RESTART * len(t) * away
        before[k] = int(gains.argmax()) if gains.max() > 0.0 else -1
        best[k] = gains.max() + last[k] - first[k] + 1
    wrong = np.ones(t.shape, dtype=bool)
    k = int(best.argmax())
    while k >= 0:
        wrong[first[k] : last[k] + 1] = False
        k = int(before[k])
    return wrong


def on_grid(channel: Channel, t: Array, longest: s) -> Array:
    """Linear interpolation at some times; NaN outside of the channel and in gaps.

    A gap is a stretch between samples that is longer than `longest` and than five periods.
    """
    if len(channel.t) < 2:
        return np.full(t.shape, np.nan)
    values = np.interp(t, channel.t, channel.values)
    allowed = allowed_gap(channel.t, longest)
    after = np.clip(np.searchsorted(channel.t, t, side="left"), 1, len(channel.t) - 1)
    slack = 1e-6 * period(channel.t)
    first, last = channel.t[after - 1], channel.t[after]
    in_gap = (last - first > allowed) & (t > first + slack) & (t < last - slack)
    outside = (t < channel.t[0] - slack) | (t > channel.t[-1] + slack)
    return np.where(in_gap | outside, np.nan, values)


def stretches(known: Mask) -> list[tuple[int, int]]:
    """Begin and end of each stretch of rows that are true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def low_pass(values: Array, cutoff: float, dt: s) -> Array:
    """Values without the frequencies above a cutoff in Hz, without delay; NaN where unknown.

    A Butterworth filter of second order runs forwards and backwards over each known stretch.
    """
    from scipy.signal import butter, sosfiltfilt

    if cutoff * dt >= 0.5:
        return values
    sections = butter(2, cutoff, fs=1.0 / dt, output="sos")
    smooth = values.copy()
    for begin, end in stretches(np.isfinite(values)):
        pad = min(int(1.0 / (cutoff * dt)) + 1, end - begin - 1)
        if pad > 0:
            smooth[begin:end] = sosfiltfilt(sections, values[begin:end], padlen=pad)
    return smooth


def noise_level(values: Array) -> float:
    """Standard deviation of the noise of an evenly sampled signal; NaN if too little is known.

    By differences of the sixth order, which vanish for any motion that is slow compared with the
    samples. White noise has to fill the highest third of the frequencies; noise that was filtered
    before is found too small. The 68 % quantile ignores steps and what is left of spikes.
    """
    sums: list[Array] = []
    for begin, end in stretches(np.isfinite(values)):
        sums.append(np.abs(np.diff(values[begin:end], 6)))
    differences = np.concatenate([*sums, []])
    if not differences.size:
        return float("nan")
    # The squared coefficients of a difference of order 6 add up to C(12, 6).
    return float(np.quantile(differences, 0.6827) / np.sqrt(924.0))


FEWEST = 5
"""Fewest samples of a parabola."""


def even_times(t: Array) -> tuple[Array, s]:
    """Times as an array (n,), and their step in s; raises unless they are evenly spaced."""
    times = increasing("t", t, "s")
    if len(times) < FEWEST:
        raise InvalidValue(f"t has {len(times)} samples; at least {FEWEST} are needed")
    steps = np.diff(times)
    dt = float(np.median(steps))
    if np.abs(steps - dt).max() > 0.01 * dt:
        raise InvalidValue(
            f"t must be evenly spaced, but its steps are {steps.min():.4g} to {steps.max():.4g} s: "
            "prepare the log first"
        )
    return times, dt


def samples_of(window: s, dt: s) -> int:
    """Odd number of samples of a parabola that covers a window in s."""
    return max(FEWEST, round(positive("window", window, "s") / dt) | 1)


def smoothed(values: Array, count: int, dt: float, order: int = 0) -> Array:
    """Values, or their rate for `order` 1, by parabolas through `count` samples; NaN within gaps
    and in stretches that are shorter than a parabola."""
    from scipy.signal import savgol_filter

    result = np.full(len(values), np.nan)
    for begin, end in stretches(np.isfinite(values)):
        if end - begin >= count:
            result[begin:end] = savgol_filter(values[begin:end], count, 2, deriv=order, delta=dt)
    return result


def noise_passed(count: int, dt: float, order: int) -> float:
    """Standard deviation that white noise of 1 has after `smoothed`."""
    from scipy.signal import savgol_coeffs

    return float(np.linalg.norm(savgol_coeffs(count, 2, deriv=order, delta=dt)))
