"""Data of a campaign report, read from the folder in batches of runs.

For each column: extent, distribution and quantiles, means and bands over the bins of one factor,
and means over the bins of two. Quantiles are exact for columns larger than memory: the bits of
floating-point numbers, read as integers, have the order of the numbers, and each of four passes
over the column determines 16 bits of the wanted values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...core.arrays import AnyArray, Array
from ...random.factors import Factor, Levels, LogRange, Steps
from ...run.monte_carlo import Probability, proportion
from ...study.experiment import FAILED, RUN
from ...study.results import (
    Interval,
    QuantilePlaces,
    Study,
    independent,
    mean_interval,
    reason_against,
    reason_for_no_interval,
    share_of,
)

_BITS = 16
_SIGN = np.uint64(1 << 63)


def order_statistics(batches: Callable[[], Iterable[Array]], ranks: Sequence[int]) -> Array:
    """Values at these ranks among all numbers, rank 0 being the smallest; NaN is not allowed.

    Each call of `batches` yields the same numbers in batches.
    """
    if not ranks:
        return np.empty(0)
    places = sorted(set(ranks))
    prefixes: list[int] = [0] * len(places)
    rest = list(places)
    for shift in range(64 - _BITS, -1, -_BITS):
        distinct = sorted(set(prefixes))
        # Histograms of the next 16 bits of the numbers that begin with the wanted bits.
        wanted = np.array(distinct, np.uint64)
        counts = np.zeros((len(wanted), 1 << _BITS), np.int64)
        for values in batches():
            above, digits = np.divmod(_keys(values) >> np.uint64(shift), np.uint64(1 << _BITS))
            place = np.minimum(np.searchsorted(wanted, above), len(wanted) - 1)
            inside = wanted[place] == above
            codes = (place[inside] << _BITS) + digits[inside].astype(np.int64)
            found, many = np.unique(codes, return_counts=True)
            counts.reshape(-1)[found] += many
        for k, prefix in enumerate(prefixes):
            row = counts[distinct.index(prefix)].cumsum()
            # The last one, if there are fewer numbers than in the pass before.
            digit = min(int(np.searchsorted(row, rest[k], side="right")), (1 << _BITS) - 1)
            rest[k] -= int(row[digit - 1]) if digit else 0
            prefixes[k] = (prefix << _BITS) | digit
    ordered = _numbers(np.array(prefixes, np.uint64))
    return ordered[np.searchsorted(places, ranks)]


def _keys(values: Array) -> AnyArray:
    """Integers in the order of the values."""
    bits = (np.ascontiguousarray(values, np.float64) + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _numbers(keys: AnyArray) -> Array:
    return np.where(keys & _SIGN, keys & ~_SIGN, ~keys).astype(np.uint64).view(np.float64)


SHARES = (0.01, 0.05, 0.5, 0.95, 0.99)
"""Quantiles that are reported."""
_MOST_BARS = 60
_LARGEST = 1e150
"""Magnitude from which numbers count as infinite."""
_FAR = 2.0
"""Distance from the 5 to 95 % range, as a share of its width, beyond which values are cut
off."""


def within_reach(values: Array) -> AnyArray:
    """Mask of values whose squares are finite; diverged runs leave larger ones."""
    return np.abs(values) < _LARGEST


@dataclass
class Extent:
    """Range and moments of the finite values of a column."""

    runs: int = 0
    without: int = 0
    """Number of runs without a finite value."""
    infinite: int = 0
    low: float = math.inf
    high: float = -math.inf
    mean: float = 0.0
    squares: float = 0.0
    """Sum of squared deviations from the mean."""

    def add(self, values: Array) -> None:
        """Add a batch of runs (T. F. Chan et al., COMPSTAT 1982)."""
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
        return math.sqrt(self.squares / (self.runs - 1)) if self.runs > 1 else 0.0

    @property
    def varies(self) -> bool:
        """Whether there are at least two distinct values."""
        return self.runs > 1 and self.high > self.low


@dataclass
class Totals:
    """Counts and extents over all runs."""

    runs: int = 0
    failed: int = 0
    first_failed: list[int] = field(default_factory=list[int])
    extents: dict[str, Extent] = field(default_factory=dict[str, Extent])
    """Extents of factors and numeric columns, by name."""


def totals_of(study: Study, most_failed: int) -> Totals:
    """Totals of a campaign, in one pass over all runs."""
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
    """Distribution of a numeric column."""

    name: str
    extent: Extent
    mean: Interval
    """Mean with its interval; without a valid interval, the reason."""
    quantiles: tuple[Interval, ...]
    """Quantiles at `SHARES`."""
    edges: Array
    """Edges of the histogram, (bars + 1,); empty if all numbers are equal."""
    counts: AnyArray
    """Runs per bar, (bars,)."""

    below: int = 0
    """Number of runs below the histogram."""
    above: int = 0
    """Number of runs above the histogram."""


def spread_of(study: Study, name: str, level: float) -> Spread | None:
    """Distribution of a column over independent runs; None if no run has a finite value.

    Reads the column six times: once for its range, four times for the quantiles, once for the bars.
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
    """Batches of a column of the independent runs."""
    for rows in study.folder.batches((RUN, name)):
        yield rows[name][independent(study.plan, rows[RUN])]


def _known(study: Study, name: str) -> Iterator[Array]:
    """Batches of a column's finite values."""
    for values in _drawn(study, name):
        yield values[~np.isnan(values)]


def _edges(extent: Extent, quantiles: Sequence[Interval]) -> Array:
    """Histogram edges around most of the runs, or around all if there are no outliers."""
    bars = int(np.clip(2.0 * extent.runs ** (1.0 / 3.0), 8, _MOST_BARS))
    inner = [quantiles[SHARES.index(share)].value for share in (0.05, 0.95)]
    low, high = extent.low, extent.high
    reach = _FAR * (inner[1] - inner[0])
    if math.isfinite(reach) and reach > 0.0:
        low, high = max(low, inner[0] - reach), min(high, inner[1] + reach)
    edges = np.linspace(low, high, bars + 1)
    return edges if (np.diff(edges) > 0.0).all() else np.array([low, np.nextafter(high, math.inf)])


def probabilities(study: Study, names: Sequence[str], level: float) -> Mapping[str, Probability]:
    """Probabilities of true-or-false columns over independent runs; empty without such runs.

    The ends of an interval that is not valid are NaN.
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


_MOST_LEVELS = 40
"""Largest number of distinct levels of a listed factor."""


class Bins(NamedTuple):
    """Bins of a factor, in increasing order."""

    edges: Array
    """Edges, (bins + 1,)."""
    centres: Array
    """Centres, (bins,): for a listed factor, its levels."""
    log: bool = False

    @property
    def parts(self) -> int:
        """Number of bins."""
        return len(self.centres)

    def place(self, values: Array) -> AnyArray:
        """Index of the bin that contains each value."""
        return np.clip(np.searchsorted(self.edges, values, side="right") - 1, 0, self.parts - 1)


def bins_of(factor: Factor, extent: Extent, most: int) -> Bins | None:
    """At most `most` bins over the range of a factor, more for a list; None if it is constant."""
    if not extent.varies:
        return None
    if isinstance(factor, (Levels, Steps)):
        shares = (np.arange(factor.count) + 0.5) / factor.count
        levels = np.unique(factor.value(shares))
        if len(levels) <= _MOST_LEVELS:
            middles = 0.5 * (levels[1:] + levels[:-1])
            ends = 1.5 * levels[[0, -1]] - 0.5 * levels[[1, -2]]
            return Bins(np.concatenate([ends[:1], middles, ends[1:]]), levels)
    if isinstance(factor, LogRange):
        edges = np.geomspace(extent.low, extent.high, most + 1)
        return Bins(edges, np.sqrt(edges[1:] * edges[:-1]), log=True)
    edges = np.linspace(extent.low, extent.high, most + 1)
    return Bins(edges, 0.5 * (edges[1:] + edges[:-1]))


BAND = (0.05, 0.95)
_PARTS = 200
"""Number of bins of a column's visible range for the band: two per pixel."""
_LEAST, _FEW = 12, 5
"""Number of runs in a bin below which no band is drawn, and below which the bin is not drawn next
to fuller ones."""

View = tuple[float, float]
"""Visible range of a column, lowest and highest value; 0 and 1 for true-or-false columns."""


@dataclass(frozen=True)
class Response:
    """Response of a column to one factor: statistics in each bin of the factor."""

    column: str
    factor: str
    bins: Bins
    runs: AnyArray
    """Runs per bin, (bins,)."""
    mean: Array
    """Mean per bin, (bins,), NaN for empty bins; for a true-or-false column, the share that is
    true."""
    low: Array
    """5 % quantile per bin; for a true-or-false column, the lower end of the share's
    interval."""
    high: Array
    strength: float
    """Strength of the dependence: share of the variance that the means of the bins explain, minus
    the share expected by chance.

    Outliers count as if they were at the edge of the visible range.
    """


class _Counts:
    """Two-dimensional histogram of runs over the bins of a factor and of a column."""

    def __init__(self, bins: Bins, view: View, truth: bool) -> None:
        self._bins, self._view, self._truth = bins, view, truth
        self._cells = np.zeros((bins.parts, 1 if truth else _PARTS), np.int64)
        self._sums, self._seen, self._squares = np.zeros(bins.parts), np.zeros(bins.parts), 0.0

    def add(self, factor: Array, values: Array) -> None:
        known = within_reach(values)
        place, values = self._bins.place(factor[known]), values[known]
        low, high = self._view
        cells, width = self._bins.parts, self._cells.shape[1]
        share = (values - low) / (high - low) if not self._truth else np.zeros(len(values))
        part = np.clip(share * width, 0, width - 1).astype(np.int64)
        counts = np.bincount(place * width + part, minlength=cells * width)
        self._cells += counts.reshape(cells, width)
        self._sums += np.bincount(place, values - low, minlength=cells)
        seen = np.clip(values, low, high) - low  # large offsets would eat the digits of squares
        self._seen += np.bincount(place, seen, minlength=cells)
        self._squares += float((seen**2).sum())

    def response(self, column: str, factor: str, level: float | None) -> Response:
        runs = self._cells.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = self._sums / runs + self._view[0]
        few = (runs < _FEW) & (runs.max(initial=0) >= _LEAST)
        mean = np.where(few, np.nan, means)
        low, high = self._interval(runs, level) if self._truth else self._band(runs)
        low, high = np.where(few, np.nan, low), np.where(few, np.nan, high)
        return Response(column, factor, self._bins, runs, mean, low, high, self._strength(runs))

    def _band(self, runs: AnyArray) -> tuple[Array, ...]:
        edges = np.linspace(*self._view, _PARTS + 1)
        ends: list[Array] = []
        for share in BAND:
            values = np.full(len(runs), np.nan)
            for k in np.flatnonzero(runs >= _LEAST):
                cumulative = np.concatenate([[0], self._cells[k].cumsum()]) / runs[k]
                values[k] = np.interp(share, cumulative, edges)
            ends.append(values)
        return tuple(ends)

    def _interval(self, runs: AnyArray, level: float | None) -> tuple[Array, ...]:
        if level is None:
            return np.full(len(runs), np.nan), np.full(len(runs), np.nan)
        happened = np.rint(self._sums).astype(np.int64)
        pairs = [
            proportion(h, n, level)[1:3] if n else (np.nan, np.nan)
            for h, n in zip(happened.tolist(), runs.tolist(), strict=True)
        ]
        return tuple(np.array(pairs).reshape(-1, 2).T)

    def _strength(self, runs: AnyArray) -> float:
        count, used = int(runs.sum()), runs > 0
        parts = int(used.sum())
        middle = self._seen.sum() / max(count, 1)
        total = self._squares - count * middle**2
        if count <= parts or not total > 0.0:
            return 0.0
        means = self._seen[used] / runs[used]
        between = float((runs[used] * (means - middle) ** 2).sum()) / total
        return max(between - (parts - 1) / (count - parts) * (1.0 - between), 0.0)


def responses_of(
    study: Study, views: Mapping[str, View], bins: Mapping[str, Bins], level: float
) -> list[Response]:
    """Responses of all columns to all factors, the strongest factor of each first; one pass.

    `level` is the confidence of the intervals of shares.
    """
    truths = set(study.names("truth"))
    counts = {
        (column, factor): _Counts(own, view, column in truths)
        for column, view in views.items()
        for factor, own in bins.items()
    }
    for rows in study.folder.batches((RUN, *bins, *views)):
        for (column, factor), one in counts.items():
            one.add(rows[factor], np.asarray(rows[column], float))
    sure = {name: None if reason_for_no_interval(study.plan, name) else level for name in views}
    responses = [one.response(*names, sure[names[0]]) for names, one in counts.items()]
    order = list(views)
    return sorted(responses, key=lambda one: (order.index(one.column), -one.strength))


@dataclass(frozen=True)
class Surface:
    """Means of a column over the bins of two factors."""

    column: str
    x: str
    y: str
    x_bins: Bins
    y_bins: Bins
    mean: Array
    """Means (bins of y, bins of x), NaN for empty bins."""


def surfaces_of(
    study: Study, pairs: Mapping[str, tuple[str, str]], bins: Mapping[str, Bins]
) -> list[Surface]:
    """Surface of each column over its two factors; one pass."""
    sums = {c: np.zeros((bins[y].parts, bins[x].parts)) for c, (x, y) in pairs.items()}
    runs = {column: np.zeros_like(cells) for column, cells in sums.items()}
    factors = dict.fromkeys(name for pair in pairs.values() for name in pair)
    for rows in study.folder.batches((RUN, *factors, *pairs)) if pairs else ():
        places = {name: bins[name].place(rows[name]) for name in factors}
        for column, (x, y) in pairs.items():
            values = np.asarray(rows[column], float)
            known = within_reach(values)
            code = (places[y] * bins[x].parts + places[x])[known]
            size, shape = sums[column].size, sums[column].shape
            sums[column] += np.bincount(code, values[known], minlength=size).reshape(shape)
            runs[column] += np.bincount(code, minlength=size).reshape(shape)
    with np.errstate(invalid="ignore"):
        return [
            Surface(column, x, y, bins[x], bins[y], sums[column] / runs[column])
            for column, (x, y) in pairs.items()
        ]


def sampled_runs(study: Study, names: Sequence[str], runs: int, most: int) -> dict[str, Array]:
    """Columns of at most `most` runs, a reproducible random sample; NaN for values out of range."""
    # Evenly spaced runs would repeat the same levels of a grid.
    chosen = np.sort(np.random.default_rng(0).permutation(runs)[:most])
    pieces: dict[str, list[Array]] = {name: [np.empty(0)] for name in names}
    begin = 0
    for rows in study.folder.batches((RUN, *names)):
        count = len(rows[RUN])
        own = chosen[(chosen >= begin) & (chosen < begin + count)] - begin
        begin += count
        for name in names:
            values = np.asarray(rows[name], float)[own]
            pieces[name].append(np.where(within_reach(values), values, np.nan))
    return {name: np.concatenate(parts) for name, parts in pieces.items()}
