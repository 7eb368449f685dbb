"""What there is to say of each column, read from the folder some runs at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...arrays import AnyArray, Array
from ...campaigns.answers import Interval, QuantilePlaces, mean_interval, share_of
from ...campaigns.drawn import independent, reason_against, reason_for_no_interval
from ...campaigns.experiment import FAILED, RUN
from ...campaigns.study import Study
from ...run.monte_carlo.intervals import Probability, proportion
from .order_statistics import order_statistics

__all__ = ["SHARES", "Extent", "Spread", "Totals", "probabilities", "spread_of", "totals_of"]

SHARES = (0.01, 0.05, 0.5, 0.95, 0.99)
"""Quantiles that are told."""
_MOST_BARS = 60
_LARGEST = 1e150
"""Numbers beyond count as infinite."""
_FAR = 2.0
"""Of the way between the 5 and 95 % quantiles: what lies further beyond them is out of sight."""


def within_reach(values: Array) -> AnyArray:
    """Which are numbers whose squares are numbers; runs that diverge leave some that are not."""
    return np.abs(values) < _LARGEST


@dataclass
class Extent:
    """The finite numbers of a column."""

    runs: int = 0
    without: int = 0
    """Runs with no number."""
    infinite: int = 0
    low: float = math.inf
    high: float = -math.inf
    mean: float = 0.0
    squares: float = 0.0
    """Sum of squared deviations from the mean."""

    def add(self, values: Array) -> None:
        """Take more runs in (T. F. Chan et al., COMPSTAT 1982)."""
        known = values[within_reach(values)]
        lost = int(np.isnan(values).sum())
        self.without += lost
        self.infinite += values.size - known.size - lost
        if not known.size:
            return
        self.low, self.high = min(self.low, known.min()), max(self.high, known.max())
        mean, before = float(known.mean()), self.runs
        self.runs += known.size
        apart = mean - self.mean
        self.mean += apart * known.size / self.runs
        self.squares += float(((known - mean) ** 2).sum())
        self.squares += apart**2 * before * known.size / self.runs

    @property
    def std(self) -> float:
        """Standard deviation of the runs."""
        return math.sqrt(self.squares / (self.runs - 1)) if self.runs > 1 else 0.0

    @property
    def varies(self) -> bool:
        """Whether there are different numbers."""
        return self.runs > 1 and self.high > self.low


@dataclass
class Totals:
    """All runs, counted once."""

    runs: int = 0
    failed: int = 0
    first_failed: list[int] = field(default_factory=list[int])
    extents: dict[str, Extent] = field(default_factory=dict[str, Extent])
    """Of factors and numbers."""


def totals_of(study: Study, most_failed: int) -> Totals:
    """One pass over all runs."""
    numbers = [*study.factors, *study.names("number")]
    totals = Totals(extents={name: Extent() for name in numbers})
    for rows in study.folder.batches((RUN, FAILED, *numbers)):
        totals.runs += len(rows[RUN])
        totals.failed += int(rows[FAILED].sum())
        wanted = most_failed - len(totals.first_failed)
        totals.first_failed += rows[RUN][rows[FAILED]][:wanted].tolist()
        for name, extent in totals.extents.items():
            extent.add(rows[name])
    return totals


@dataclass(frozen=True)
class Spread:
    """How the numbers of a column are distributed."""

    name: str
    extent: Extent
    mean: Interval
    """Where no interval holds, with the reason."""
    quantiles: tuple[Interval, ...]
    """At `SHARES`."""
    edges: Array
    """Of the histogram, (bars + 1,); empty where all numbers are one."""
    counts: AnyArray
    """(bars,)"""

    below: int = 0
    """Runs that are out of sight to the left."""
    above: int = 0
    """And to the right."""


def spread_of(study: Study, name: str, level: float) -> Spread | None:
    """The distribution of a column over independent runs; None where no run has a finite number.

    Passes over this column alone: one for what it reaches, four for the quantiles, one for bars.
    """
    extent = Extent()
    for values in _drawn(study, name):
        extent.add(values)
    if not extent.runs:
        return None
    count = extent.runs + extent.infinite
    places = [QuantilePlaces.of(count, share, level) for share in SHARES]
    ranks = sorted({k for place in places for k in _ranks(place, count)})
    values = dict(zip(ranks, order_statistics(lambda: _known(study, name), ranks), strict=True))
    quantiles = tuple(place.interval(lambda k: float(values[k]), count, level) for place in places)
    middle = math.inf if extent.infinite else extent.mean
    mean = mean_interval(middle, extent.std, count, level)
    if reason := reason_for_no_interval(study.plan, name):
        none = {"low": math.nan, "high": math.nan, "reason": reason}
        mean, quantiles = mean._replace(**none), tuple(one._replace(**none) for one in quantiles)
    if not extent.varies:
        return Spread(name, extent, mean, quantiles, np.empty(0), np.empty(0, np.int64))
    edges = _edges(extent, quantiles)
    counts, beyond = np.zeros(len(edges) - 1, np.int64), [0, 0]
    for batch in _drawn(study, name):
        known = batch[within_reach(batch)]
        counts += np.histogram(known, edges)[0]
        beyond[0] += int((known < edges[0]).sum())
        beyond[1] += int((known > edges[-1]).sum())
    return Spread(name, extent, mean, quantiles, edges, counts, *beyond)


def _ranks(place: QuantilePlaces, count: int) -> Iterator[int]:
    yield from (place.below, place.above)
    yield from (k for k in (place.low, place.high) if 0 <= k < count)


def _drawn(study: Study, name: str) -> Iterator[Array]:
    """A column of independent runs."""
    for rows in study.folder.batches((RUN, name)):
        yield rows[name][independent(study.plan, rows[RUN])]


def _known(study: Study, name: str) -> Iterator[Array]:
    """The numbers in it."""
    for values in _drawn(study, name):
        yield values[~np.isnan(values)]


def _edges(extent: Extent, quantiles: Sequence[Interval]) -> Array:
    """Of bars between what most runs are, or all where none is far out."""
    bars = int(np.clip(2.0 * extent.runs ** (1.0 / 3.0), 8, _MOST_BARS))
    inner = [quantiles[SHARES.index(share)].value for share in (0.05, 0.95)]
    low, high = extent.low, extent.high
    reach = _FAR * (inner[1] - inner[0])
    if math.isfinite(reach) and reach > 0.0:
        low, high = max(low, inner[0] - reach), min(high, inner[1] + reach)
    edges = np.linspace(low, high, bars + 1)
    return edges if (np.diff(edges) > 0.0).all() else np.array([low, np.nextafter(high, math.inf)])


def probabilities(study: Study, names: Sequence[str], level: float) -> Mapping[str, Probability]:
    """Of columns that are true or false, over independent runs; empty where there are none.

    Where no interval holds its ends are NaN.
    """
    happened, runs = dict.fromkeys(names, 0), 0
    for rows in study.folder.batches((RUN, *names)):
        drawn = independent(study.plan, rows[RUN])
        runs += int(drawn.sum())
        for name in names:
            happened[name] += int(rows[name][drawn].sum())
    if not runs or reason_against(study.plan, listed=True):
        return {}
    estimates = {name: proportion(count, runs, level) for name, count in happened.items()}
    reasons = {name: reason_for_no_interval(study.plan, name) for name in names}
    return {
        name: share_of(one, reasons[name]) if reasons[name] else one
        for name, one in estimates.items()
    }
