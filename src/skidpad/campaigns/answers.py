"""Numbers of all runs with how sure they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..checks import finite
from ..errors import InvalidValue
from ..run.monte_carlo.intervals import Probability, mean_bounds, quantile_ranks


class Interval(NamedTuple):
    """A number estimated from runs, with the interval that holds it."""

    value: float
    low: float
    """Lower end of the confidence interval; minus infinity where the runs are too few."""
    high: float
    """Upper end of the confidence interval; infinity where the runs are too few."""
    runs: int
    """That have a number."""
    level: float
    """Confidence of the interval, such as 0.95."""
    reason: str = ""
    """Why there is no interval, whose ends are NaN then; empty if there is one."""

    def __str__(self) -> str:
        if self.reason:
            return f"{self.value:.4g} ({self.runs} runs; no interval: {self.reason})"
        bounds = f"{self.low:.4g} to {self.high:.4g} with {self.level:.0%} confidence"
        return f"{self.value:.4g} ({bounds}; {self.runs} runs)"


class Share(Probability):
    """A share of runs that has no interval: its ends are NaN."""

    reason: str = ""
    """Why there is none."""

    def __str__(self) -> str:
        of = f"{self.happened} of {self.runs} runs"
        return f"{self.value:.4g} ({of}; no interval: {self.reason})"


def share_of(one: Probability, reason: str) -> Share:
    """The share without its interval."""
    made = Share(one.value, np.nan, np.nan, one.happened, one.runs, one.level)
    made.reason = reason
    return made


class QuantilePlaces(NamedTuple):
    """Which of values in order, counted from 0, a quantile and its interval are told from."""

    below: int
    above: int
    part: float
    """Of the way from the value at `below` to that at `above`."""
    low: int
    """Below 0 where the runs are too few."""
    high: int
    """Beyond the last where the runs are too few."""

    @classmethod
    def of(cls, runs: int, share: float, level: float) -> QuantilePlaces:
        """Of so many values."""
        place = share * (runs - 1)
        below = min(int(place), runs - 1)
        low, high = quantile_ranks(runs, share, level)
        return cls(below, min(below + 1, runs - 1), place - below, low - 1, high - 1)

    def interval(self, value_at: Callable[[int], float], runs: int, level: float) -> Interval:
        """The quantile, from the values at these places."""
        below, above = value_at(self.below), value_at(self.above)
        # Infinite values have no way between them.
        value = below if below == above or not self.part else below + self.part * (above - below)
        low = value_at(self.low) if self.low >= 0 else -np.inf
        high = value_at(self.high) if self.high < runs else np.inf
        # Of few runs the first already is beyond a quantile as far out as 0.1 %.
        return Interval(min(max(value, low), high), low, high, runs, level)


def mean_of(values: Array, level: float = 0.95) -> Interval:
    """Mean of independent values, with its interval by Student's distribution."""
    if not values.size:
        raise InvalidValue("no run has a number: there is no mean")
    if not np.isfinite(values).all():
        with np.errstate(invalid="ignore"):
            return mean_interval(float(values.mean()), math.nan, values.size, level)
    # Exact sums: neither the order of the values nor the machine shows.
    mean = math.fsum(values.tolist()) / values.size
    square = math.fsum(((values - mean) ** 2).tolist())
    return mean_interval(mean, math.sqrt(square / max(values.size - 1, 1)), values.size, level)


def mean_interval(mean: float, std: float, runs: int, level: float) -> Interval:
    """The mean of so many values that have this mean and standard deviation."""
    low, high = mean_bounds(np.asarray(mean), np.asarray(std), runs, level)
    if not np.isfinite(mean):
        return Interval(mean, -np.inf, np.inf, runs, level)
    return Interval(mean, float(low), float(high), runs, level)


def quantile_of(values: Array, share: float, level: float = 0.95) -> Interval:
    """The value below which a share of independent values lies, with its distribution-free
    interval."""
    if not 0.0 <= finite("share", share) <= 1.0:
        raise InvalidValue(f"share = {share} must be from 0 to 1")
    if not values.size:
        raise InvalidValue("no run has a number: there is no quantile")
    ordered = np.sort(values)
    places = QuantilePlaces.of(values.size, share, level)
    return places.interval(lambda k: float(ordered[k]), values.size, level)
