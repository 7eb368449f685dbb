"""Numbers of all runs with how sure they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..checks import finite
from ..errors import InvalidValue
from ..run.monte_carlo.intervals import mean_bounds, quantile_ranks


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

    def __str__(self) -> str:
        bounds = f"{self.low:.4g} to {self.high:.4g} with {self.level:.0%} confidence"
        return f"{self.value:.4g} ({bounds}; {self.runs} runs)"


def mean_of(values: Array, level: float = 0.95) -> Interval:
    """Mean of independent values, with its interval by Student's distribution."""
    if not values.size:
        raise InvalidValue("no run has a number: there is no mean")
    mean = values.mean()
    std = values.std(ddof=1) if values.size > 1 else np.float64(0.0)
    low, high = mean_bounds(np.asarray(mean), np.asarray(std), values.size, level)
    return Interval(float(mean), float(low), float(high), values.size, level)


def quantile_of(values: Array, share: float, level: float = 0.95) -> Interval:
    """The value below which a share of independent values lies, with its distribution-free
    interval."""
    if not 0.0 <= finite("share", share) <= 1.0:
        raise InvalidValue(f"share = {share} must be from 0 to 1")
    if not values.size:
        raise InvalidValue("no run has a number: there is no quantile")
    ordered = np.sort(values)
    low, high = quantile_ranks(values.size, share, level)
    return Interval(
        float(np.quantile(ordered, share)),
        float(ordered[low - 1]) if low >= 1 else -np.inf,
        float(ordered[high - 1]) if high <= values.size else np.inf,
        values.size,
        level,
    )
