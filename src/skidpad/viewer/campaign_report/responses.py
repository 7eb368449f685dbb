"""Columns over factors: means and bands by parts of a factor, and by parts of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import AnyArray, Array
from ...campaigns.drawn import reason_for_no_interval
from ...campaigns.experiment import RUN
from ...campaigns.study import Study
from ...run.monte_carlo.intervals import proportion
from .bins import Bins
from .summaries import within_reach

__all__ = ["Response", "Surface", "View", "responses_of", "sampled_runs", "surfaces_of"]

BAND = (0.05, 0.95)
_PARTS = 200
"""Of a column's view, to tell the band: half a pixel each."""
_LEAST, _FEW = 12, 5
"""Runs of a part below which it has no band, and below which it is not drawn beside fuller ones."""

View = tuple[float, float]
"""What of a column is in sight; of what is true or false, 0 and 1."""


@dataclass(frozen=True)
class Response:
    """A column over a factor."""

    column: str
    factor: str
    bins: Bins
    runs: AnyArray
    """(parts,)"""
    mean: Array
    """(parts,), NaN where there is no run; of a truth, its share."""
    low: Array
    """5 % of the runs of a part are below; of a truth, the end of the interval of its share."""
    high: Array
    strength: float
    """Share of the variance that the means of the parts explain, less what chance would; runs far
    out count as at the edge of the view."""


class _Counts:
    """Runs of a column by parts of a factor and of the column's view."""

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
    """All columns over all factors, the strongest factor of each column first; one pass.

    `level` is the confidence of shares, where some holds.
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
    """Means of a column by parts of two factors."""

    column: str
    x: str
    y: str
    x_bins: Bins
    y_bins: Bins
    mean: Array
    """(parts of y, parts of x), NaN where there is no run."""


def surfaces_of(
    study: Study, pairs: Mapping[str, tuple[str, str]], bins: Mapping[str, Bins]
) -> list[Surface]:
    """Each column over its two factors; one pass."""
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
    """Columns of at most so many runs, drawn from all, the same ones each time; NaN where numbers
    are out of reach."""
    # Every so-manieth run would meet the same levels of a grid again and again.
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
