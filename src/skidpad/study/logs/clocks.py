"""Offsets between the clocks of files that recorded one drive.

The speed and the rate of the course look alike in every file of a drive, so that their correlation
shows by how much the clocks differ. `delay_between` then refines the offset, with a 95 % interval.
The course is yaw plus sideslip; where the sideslip is unknown, the interval is wider.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...units import one, s
from .cleaning import low_pass, on_grid, spikes
from .imu import local_axes
from .latency import Latency, delay_between
from .log import Channel, Log

_DURATIONS: one = 0.2
"""Largest difference of the durations of two files of one drive, as a share of the longer."""
_OVERLAP: one = 0.7
"""Least share of the shorter file that both have in common."""
_STEP: s = 0.05
_BAND = 1.0
"""Frequency in Hz below which motions are compared."""
_LEAST_ALIKE: one = 0.9
_SECOND: one = 0.1
"""Least difference of the correlation of the best offset and of any more than `_NEAR` away."""
_NEAR: s = 3.0
_LEAST_TIME: s = 20.0
_SIDESLIP: s = 0.1
"""Time by which the rate of the course may be ahead of or behind the yaw rate."""
_LATE_SIDESLIP: s = 0.01
"""The same where the sideslip is known, as its sensor may be late."""
_TURNING = "rate of the course"
_LEAST: Mapping[str, float] = {"speed": 0.5, _TURNING: 0.02}
"""Standard deviations of motion in m/s and rad/s below which nothing is compared."""


def on_one_clock(logs: Sequence[Log]) -> list[tuple[s, str]] | None:
    """Offset to add to the times of each log, and a note; None if the motion does not show it.

    The first log keeps its times. The logs are in SI, with the names of skidpad.
    """
    first, *others = map(_motion, logs)
    result = [(0.0, "")]
    for log, other in zip(logs[1:], others, strict=True):
        found = _offset(first, other)
        if found is None:
            return None
        offset, by = found
        result.append(
            (
                offset.value,
                f"{offset.value:.6g} s ({offset.low:.6g} to {offset.high:.6g} s) added to its "
                f"times, since its clock is not that of {logs[0].name}: found by the {by} in both; "
                f"{log.name}@SECONDS gives another offset",
            )
        )
    return result


def _motion(log: Log) -> dict[str, Channel]:
    """Speed and yaw rate of a log, each at even times."""
    channels = dict(log.channels)
    for name in ("latitude", "longitude", "height"):
        if name in channels:
            known = np.isfinite(channels[name].values)
            own = channels[name]
            channels[name] = own._replace(t=own.t[known], values=own.values[known])
    if {"latitude", "longitude"} <= channels.keys() and "x" not in channels:
        used = {k: channels[k] for k in ("latitude", "longitude", "height") if k in channels}
        channels |= local_axes(log.name, used)[0]
    found: dict[str, Channel] = {}
    for name in ("speed", "v_x", "wheel_speed"):
        if name in channels:
            found["speed"] = channels[name]
            break
    if "course" in channels:
        found[_TURNING] = _rate(channels["course"])
    elif {"x", "y"} <= channels.keys():
        x, y = (_even(channels[axis]) for axis in ("x", "y"))
        if x is not None and y is not None and len(x.t) == len(y.t):
            v_x, v_y = (np.gradient(own.values, _STEP) for own in (x, y))
            speed = np.hypot(v_x, v_y)
            found.setdefault("speed", Channel(x.t, speed))
            rate = np.gradient(np.unwrap(np.arctan2(v_y, v_x)), _STEP)
            found[_TURNING] = Channel(x.t, np.where(speed > 1.0, rate, np.nan))
    elif {"omega", "yaw"} & channels.keys():
        own = channels["omega"] if "omega" in channels else _rate(channels["yaw"])
        found[_TURNING] = own
        if (even := _even(own)) is not None and "sideslip" in channels:
            slip = _even(channels["sideslip"])
            if slip is not None:
                growth = np.interp(even.t, slip.t, np.gradient(slip.values, _STEP))
                found[_TURNING] = even._replace(values=even.values + growth)
                return {k: v for k in found if (v := _even(found[k])) is not None}
        found[_TURNING] = found[_TURNING]._replace(source=_WITHOUT)
    even = {name: _even(own) for name, own in found.items()}
    return {name: own for name, own in even.items() if own is not None}


_WITHOUT = "without sideslip"


def _even(channel: Channel) -> Channel | None:
    """Samples at even times without fast motion; None if there are few."""
    known = np.isfinite(channel.values)
    t, values = channel.t[known], channel.values[known]
    kept = ~spikes(values)
    t, values = t[kept], values[kept]
    if len(t) < 2 or t[-1] - t[0] < _LEAST_TIME:
        return None
    even: Array = t[0] + _STEP * np.arange(int((t[-1] - t[0]) / _STEP) + 1)
    values = on_grid(Channel(t, values), even, 1.0)
    return channel._replace(t=even, values=low_pass(values, _BAND, _STEP))


def _rate(channel: Channel) -> Channel:
    known = np.isfinite(channel.values)
    t, values = channel.t[known], np.unwrap(channel.values[known])
    return Channel(t, np.gradient(values, t)) if len(t) > 1 else Channel(t, values)


def _offset(
    first: Mapping[str, Channel], other: Mapping[str, Channel]
) -> tuple[Latency, str] | None:
    """Offset to add to the times of other motion, and the quantity that shows it."""
    pairs = {name: (first[name], other[name]) for name in first.keys() & other.keys()}
    pairs = {
        name: (a, b)
        for name, (a, b) in pairs.items()
        if abs(np.ptp(a.t) - np.ptp(b.t)) <= _DURATIONS * max(np.ptp(a.t), np.ptp(b.t))
        and min(np.nanstd(a.values), np.nanstd(b.values)) >= _LEAST[name]
    }
    if not pairs:
        return None
    # Steps by which the begin of the other signals is moved behind that of the first.
    begins = min(a.t[0] for a, _ in pairs.values()), min(b.t[0] for _, b in pairs.values())
    lengths = [max(len(pair[k].t) for pair in pairs.values()) for k in (0, 1)]
    least = int(_OVERLAP * min(lengths))
    lags = np.arange(least - lengths[1], lengths[0] - least + 1)
    alike = np.mean([_alike(*_on_grids(pair, begins), lags) for pair in pairs.values()], axis=0)
    top = int(alike.argmax())
    far = np.abs(lags - lags[top]) * _STEP > _NEAR
    if alike[top] < _LEAST_ALIKE or alike[top] - alike[far].max(initial=-1.0) < _SECOND:
        return None
    coarse = begins[0] - begins[1] + lags[top] * _STEP
    best: tuple[Latency, str] | None = None
    for name, (a, b) in pairs.items():
        values = np.interp(a.t, b.t + coarse, b.values, np.nan, np.nan)
        late = delay_between(values, a.values, _STEP, highest=_BAND)
        if late is None:
            continue
        half = late.high - late.value
        if name == _TURNING:
            half += _SIDESLIP if _WITHOUT in (a.source, b.source) else _LATE_SIDESLIP
        offset = coarse - late.value
        if best is None or half < best[0].high - best[0].value:
            best = Latency(offset, offset - half, offset + half), name
    return best


def _on_grids(pair: tuple[Channel, Channel], begins: tuple[s, s]) -> tuple[Array, Array]:
    """Values of two channels from common begins, NaN where one begins later."""
    a, b = (
        np.concatenate([np.full(round((own.t[0] - begin) / _STEP), np.nan), own.values])
        for own, begin in zip(pair, begins, strict=True)
    )
    return a, b


def _alike(first: Array, other: Array, lags: NDArray[np.int64]) -> Array:
    """Correlations of two signals, of which the other is moved later by numbers of samples."""
    from scipy.signal import fftconvolve

    there = np.isfinite(first), np.isfinite(other)
    a = np.where(there[0], first - np.nanmean(first), 0.0)
    b = np.where(there[1], other - np.nanmean(other), 0.0)
    known = there[0].astype(float), there[1].astype(float)

    def sums(x: Array, y: Array) -> Array:
        every = fftconvolve(x, y[::-1])
        places = lags + len(y) - 1
        inside = (places >= 0) & (places < len(every))
        return np.where(inside, every[np.clip(places, 0, len(every) - 1)], 0.0)

    count = sums(*known)
    n = np.maximum(count, 1.0)
    means = sums(a, known[1]) / n, sums(known[0], b) / n
    squares = sums(a * a, known[1]) / n - means[0] ** 2, sums(known[0], b * b) / n - means[1] ** 2
    product = sums(a, b) / n - means[0] * means[1]
    alike = product / np.sqrt(np.maximum(squares[0] * squares[1], 1e-12))
    return np.where(count * _STEP < 0.5 * _LEAST_TIME, -1.0, alike)
