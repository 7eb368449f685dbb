"""Which of several vehicles recorded runs support: a paired comparison and a verdict.

All vehicles replay the same windows, so an easy or a difficult stretch of road counts alike for all
of them. The difference of two vehicles, window by window, therefore has a much narrower interval
than either error. The supported model is the simplest vehicle, the one with the fewest parameters,
whose error is not certainly larger than the smallest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.files import brief_repr, counted
from ...errors import InvalidValue
from ...run.monte_carlo_runs import mean_bounds
from ...units import one
from .window_errors import ReplayedLog

ENOUGH = 8
"""Number of windows that decide between two vehicles."""
LEVEL: one = 0.95
"""Confidence of the intervals."""
_MOST_DEPENDENT: one = 0.9
"""Largest correlation of neighbouring stretches that is taken into account."""


class Pair(NamedTuple):
    """Difference of two vehicles over the same windows, relative to the error of the second.

    The error of a window is the root mean square over its channels, each divided by the smallest
    error that any vehicle has in it. Windows that overlap count as one. The interval is that of
    Student's distribution for the mean difference; neighbouring windows that are alike count less.
    """

    vehicle: str
    other: str
    """The vehicle with the smallest error."""
    difference: one
    """Mean difference over the mean error of `other`."""
    low: one
    """Lower end of the 95 % interval; minus infinity if the windows are too few."""
    high: one
    """Upper end of the 95 % interval."""
    windows: int

    @property
    def is_certain(self) -> bool:
        """Whether the first vehicle is worse than the second in 95 of 100 such recordings."""
        return self.low > 0.0

    __repr__ = brief_repr


def choose(vehicles: Sequence[str], replays: Sequence[ReplayedLog]) -> tuple[tuple[Pair, ...], str]:
    """Compare all vehicles with the one with the smallest error, and say which model is supported.

    Args:
        vehicles: names, from the simplest to the most detailed vehicle.
        replays: every log replayed by every vehicle, over the same windows.

    Returns:
        The comparisons with the best vehicle, without vehicles that diverge, and the verdict in
        sentences; for one vehicle only whether it diverges.
    """
    pairs = _pairs(_scores(vehicles, replays)) if len(vehicles) > 1 else []
    return tuple(pairs), _verdict(vehicles, pairs, replays)


class _Scores(NamedTuple):
    """Errors of vehicles in separate stretches of the logs."""

    by_vehicle: dict[str, Array]
    """Errors of the stretches, (n,), infinite where the vehicle diverges."""
    log: NDArray[np.int64]
    """Number of the log of every stretch."""


def _scores(vehicles: Sequence[str], replays: Sequence[ReplayedLog]) -> _Scores:
    """Errors in the channels that all vehicles have, as `Pair` defines them.

    A stretch holds the windows that begin within the length of one: those that overlap.
    """
    by_vehicle = {v: [run for run in replays if run.vehicle == v] for v in vehicles}
    common = [
        name
        for name in replays[0].compared
        if all(name in run.compared for runs in by_vehicle.values() for run in runs)
    ]
    if not common:
        raise InvalidValue("the vehicles have no channel in common to be compared in")
    # Mean squares by vehicle, channel and window; NaN where nothing was measured.
    squares = np.array(
        [
            [np.concatenate([_mean_squares(run, name) for run in runs]) for name in common]
            for runs in by_vehicle.values()
        ]
    )
    finite = np.isfinite(squares)
    means = np.where(finite, squares, 0.0).sum(axis=2) / np.maximum(finite.sum(axis=2), 1)
    least = np.where(finite.any(axis=2), means, np.inf).min(axis=0)
    # An error of zero, as of a vehicle that replays its own simulation, is no scale.
    scales = np.maximum(least, np.maximum(1e-12 * means.max(axis=0), np.finfo(float).tiny))
    measured = ~np.isnan(squares[0])
    shares = np.where(measured, squares / scales[:, None], 0.0)
    errors = np.sqrt(shares.sum(axis=1) / np.maximum(measured.sum(axis=0), 1))
    known = measured.any(axis=0)
    runs = by_vehicle[replays[0].vehicle]
    labels = np.array([(k, place) for k, run in enumerate(runs) for place in _stretches(run.t)])
    labels, rows = np.unique(labels[known], axis=0, return_inverse=True)
    counts = np.bincount(rows.ravel())
    scores = {
        vehicle: np.bincount(rows.ravel(), errors[k, known]) / counts
        for k, vehicle in enumerate(vehicles)
    }
    return _Scores(scores, labels[:, 0])


def _mean_squares(run: ReplayedLog, channel: str) -> Array:
    """Mean squares of the errors of every window, NaN where nothing was measured."""
    errors, known = run.error(channel)
    total = np.where(known, errors**2, 0.0).sum(axis=1)
    counts = known.sum(axis=1)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def _stretches(t: Array) -> NDArray[np.int64]:
    """Number of the stretch in which each window begins, of windows at some times."""
    return ((t[:, 0] - t[0, 0]) / (t[0, -1] - t[0, 0]) + 1e-6).astype(np.int64)


def _pairs(scores: _Scores) -> list[Pair]:
    """Every vehicle against the one with the smallest error, without those that diverge."""
    sound = {name: own for name, own in scores.by_vehicle.items() if np.isfinite(own).all()}
    if not sound:
        return []
    best = min(sound, key=lambda name: float(sound[name].mean()))
    least = max(float(sound[best].mean()), np.finfo(float).tiny)
    found: list[Pair] = []
    for name, own in sound.items():
        if name != best:
            apart = (own - sound[best]) / least
            std = float(np.std(apart, ddof=1)) if len(apart) > 1 else 0.0
            std *= _sequence_excess(apart, scores.log)
            low, high = mean_bounds(np.asarray(apart.mean()), np.asarray(std), len(apart), LEVEL)
            found.append(Pair(name, best, float(apart.mean()), float(low), float(high), len(apart)))
    return found


def _sequence_excess(values: Array, log: NDArray[np.int64]) -> float:
    """Factor by which the standard deviation of a mean exceeds that of independent values.

    Neighbouring stretches of one log may be alike. Their correlation, of a sequence in which each
    value depends on the one before it, is estimated with a correction for short sequences.
    """
    count = len(values)
    off = values - np.array([values[log == one].mean() for one in log])
    square = float(np.sum(off**2))
    if count < 3 or square == 0.0:
        return 1.0
    alike = float(np.sum((off[1:] * off[:-1])[log[1:] == log[:-1]])) / square + 1.0 / count
    alike = min(max(alike, 0.0), _MOST_DEPENDENT)
    return float(np.sqrt((1.0 + alike) / (1.0 - alike)))


def _verdict(vehicles: Sequence[str], pairs: Sequence[Pair], replays: Sequence[ReplayedLog]) -> str:
    lost: list[str] = []
    sound: list[str] = []
    for name in vehicles:
        runs = [run for run in replays if run.vehicle == name]
        count = sum(int((~np.isfinite(run.replayed)).any(axis=(0, 2)).sum()) for run in runs)
        if count:
            of = counted(sum(len(run.t) for run in runs), "window")
            left_out = " and is left out of the choice" if len(vehicles) > 1 else ""
            lost.append(f"{name} diverges in {count} of {of}{left_out}.")
        else:
            sound.append(name)
    if len(sound) < 2:
        only = [f"The logs support {name}." for name in sound if len(vehicles) > 1]
        return " ".join([*only, *lost])
    by_name = {pair.vehicle: pair for pair in pairs}
    best = pairs[0].other
    chosen = next(name for name in sound if name == best or not by_name[name].is_certain)
    sentences = [f"The logs support {chosen}."]
    if chosen != best:
        sentences.append(
            f"{best} has the smallest error, and it is not certain that the error of {chosen} is "
            f"larger: {_times(by_name[chosen])}."
        )
    else:
        sentences.append("Its error is the smallest.")
    for name in sound:
        if name in (best, chosen):
            continue
        certain = "certainly larger" if by_name[name].is_certain else "not certainly larger"
        sentences.append(f"That of {name} is {certain}: {_times(by_name[name])}.")
    if pairs[0].windows < ENOUGH:
        sentences.append(
            f"{counted(pairs[0].windows, 'window')} that do not overlap are few: a longer log or "
            "shorter windows would tell more."
        )
    return " ".join([*sentences, *lost])


def _times(pair: Pair) -> str:
    """Error relative to the smallest one, with its interval, as text."""
    if not np.isfinite(pair.low):
        return f"{1.0 + pair.difference:.3g} times that of {pair.other}, from one window"
    low, high = max(1.0 + pair.low, 0.0), 1.0 + pair.high
    return f"{1.0 + pair.difference:.3g} times that of {pair.other} ({low:.3g} to {high:.3g})"
