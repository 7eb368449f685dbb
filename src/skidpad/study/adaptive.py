"""Designs that depend on results: random runs until an interval is narrow, rare events, borders.

`Converging` makes random runs until the confidence interval of a quantity is narrow enough.

`SubsetSimulation` estimates probabilities down to 1e-7 and below in levels: the runs of a level
that are nearest to the threshold start Markov chains, whose runs stay at least as near; these are
the next level. The probability is the product of the shares of the levels (S.-K. Au and J. L. Beck,
"Estimation of small failure probabilities in high dimensions by subset simulation", Probabilistic
Engineering Mechanics 16, 2001). Chains move by conditional sampling in the space in which all
factors are standard normal, with the step adapted to the share of accepted moves (I. Papaioannou et
al., "MCMC algorithms for subset simulation", Probabilistic Engineering Mechanics 41, 2015).

`Refinement` puts runs where a column crosses a threshold. Every point is assumed to be on the side
of the nearest run; the border between the sides is known to within the distance to the nearest
runs, the gap. Each round puts runs on the border where the gap is largest: at the midpoints between
neighbouring runs on different sides that have no other run near.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray, Array, Mask
from ..core.checks import between, finite, flag, positive, whole
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..random.streams import LEAST, RUNS, normal_of, normals, share_below
from ..run.monte_carlo import proportion
from .designs import Design, DesignSettings, Round, Rounds, Sobol, permutation, random_points
from .experiment import Column, Runs
from .results import mean_of, quantile_of


@dataclass(frozen=True)
class Converging(DesignSettings):
    """Random runs, in rounds, until the confidence interval of a quantity is narrow enough.

    If a 95 % interval were checked repeatedly, more than one case in twenty would stop at a wrong
    interval. So the error probability is shared equally between all possible looks: whenever the
    design stops, the interval contains the true value with at least probability `level`, exactly
    for probabilities and quantiles, and as far as Student's distribution applies for means. This
    takes about twice the runs of a single look. Each round adds half of all runs before it, so that
    there are few looks.

    Runs with NaN are left out of means and quantiles, and have not reached a threshold.

    Findings: `value`, `low`, `high`, `level`; `reached`, whether the interval is narrow enough;
    `looks`, the number of looks; `runs`; and `without`, the number of runs with NaN.
    """

    kind = "converging"
    larger = ("most",)
    smaller = ("width",)

    column: str
    """Name of the column that is estimated."""
    width: float
    """Width of the interval, from end to end, at which the design stops, in the unit of the
    column."""
    quantity: str | tuple[str, float] = "mean"
    """What is estimated: "mean", "probability" or ("quantile", share)."""
    threshold: float | None = None
    """Threshold of a probability: values at or above it count; None for a truth column."""
    level: float = 0.95
    """Confidence of the interval."""
    first: int = 1000
    """Number of runs in the first round."""
    growth: float = 1.5
    """Ratio of the total numbers of runs after successive rounds."""
    most: int = 100_000
    """Number of runs after which the design stops, even if the interval is too wide."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        positive("width", self.width)
        quantity: Any = self.quantity
        if quantity not in ("mean", "probability"):
            pair = tuple(quantity) if isinstance(quantity, (list, tuple)) else ()
            if (
                len(pair) != 2
                or pair[0] != "quantile"
                or not 0 < finite("quantity[1]", pair[1]) < 1
            ):
                raise InvalidValue(
                    f"quantity = {quantity!r} must be 'mean', 'probability' or ('quantile', "
                    "share) with a share between 0 and 1, such as ('quantile', 0.95)"
                )
            object.__setattr__(self, "quantity", ("quantile", float(pair[1])))
        if self.threshold is not None and self.quantity != "probability":
            raise InvalidValue(f"threshold = {self.threshold} is for quantity = 'probability'")
        if self.threshold is not None:
            finite("threshold", self.threshold)
        between("level", self.level, 0.0, 1.0, hint=", such as 0.95")
        whole("first", self.first, "at least 2", least=2)
        if not finite("growth", self.growth) > 1.0:
            raise InvalidValue(f"growth = {self.growth} must be greater than 1")
        if not self.first <= whole("most", self.most) <= RUNS:
            raise InvalidValue(f"most = {self.most} must be from first = {self.first} to {RUNS}")

    @property
    def runs(self) -> int:
        """The largest number of runs."""
        return self.most

    def reads(self) -> tuple[str, ...]:
        """Name of the column that is estimated."""
        return (self.column,)

    def totals(self) -> list[int]:
        """Total number of runs after each possible round."""
        totals = [self.first]
        while totals[-1] < self.most:
            totals.append(min(self.most, max(totals[-1] + 1, int(totals[-1] * self.growth))))
        return totals

    def rounds(self, factors: int, seed: int) -> Rounds:
        """Rounds of random runs."""
        points, totals = random_points(factors, seed), self.totals()
        level = 1.0 - (1.0 - self.level) / len(totals)
        values, before, findings = np.empty(0), 0, dict[str, Any]()
        for look, total in enumerate(totals, start=1):
            first = before
            read = yield Round(
                total - first, lambda n, first=first: points(n + first), self.reads()
            )
            new = np.asarray(read[self.column], dtype=np.float64)
            values, before = np.concatenate([values, new]), total
            estimate = self._interval(values, level)
            # JSON has neither NaN nor infinity.
            ends = [number if math.isfinite(number) else None for number in estimate]
            findings = {
                **dict(zip(("value", "low", "high"), ends, strict=True)),
                "level": self.level,
                "reached": bool(estimate[2] - estimate[1] <= self.width),
                "looks": look,
                "runs": total,
                "without": int(np.isnan(values).sum()),
            }
            if findings["reached"]:
                break
        return findings

    def _interval(self, values: Array, level: float) -> tuple[float, float, float]:
        if self.quantity == "probability":
            limit = 0.5 if self.threshold is None else self.threshold
            share = proportion(int((values >= limit).sum()), len(values), level)
            return share.value, share.low, share.high
        known = values[~np.isnan(values)]
        if not known.size:
            return math.nan, -math.inf, math.inf
        if isinstance(self.quantity, tuple):
            return quantile_of(known, self.quantity[1], level)[:3]
        return mean_of(known, level)[:3]


class SubsetEstimate:
    """Probability and coefficient of variation from the levels of a subset simulation.

    Runs of a level depend on each other: runs of the same chain, of chains that started from one
    chain of the previous level, and so on. Only the runs of the first level are independent. So the
    deviations of all levels are summed by root, the run of the first level from which each run
    descends, and the variance is that of these sums (H. P. Chan and T. L. Lai, "A general theory of
    particle filters in hidden Markov models and some applications", Annals of Statistics 41, 2013).
    The dependence within chains alone, as in Au and Beck (2001), underestimates it: by a fifth at
    1e-7.

    Args:
        roots: number of runs of the first level.
    """

    def __init__(self, roots: int) -> None:
        self.shares: list[float] = []
        self._deviations: Array = np.zeros(roots)
        self._size = roots

    def add(self, inside: Mask, roots: Runs) -> None:
        """Add the runs of a level.

        Args:
            inside: which runs are above the limit, (length of chains, chains).
            roots: root of each run, same shape.
        """
        share = float(inside.mean())
        self.shares.append(share)
        if not share:
            return
        relative = (inside - share) / (share * inside.size)
        self._deviations += np.bincount(
            roots.ravel(), relative.ravel(), minlength=len(self._deviations)
        )

    def findings(self, limits: list[float], confidence: float) -> dict[str, Any]:
        from scipy.special import ndtri

        product = math.prod(self.shares)
        levels = [
            {"limit": limit, "share": share}
            for limit, share in zip(limits, self.shares, strict=True)
        ]
        common = {"levels": levels, "confidence": confidence, "reached": product > 0.0}
        if not product:
            most = 1.0 - (1.0 - confidence) ** (1.0 / self._size)
            high = math.prod(self.shares[:-1]) * most
            return {"probability": 0.0, "low": 0.0, "high": high} | common
        variance = float((self._deviations**2).sum())
        # A log-normal estimate is right in the mean; half of the estimates are below the middle.
        middle = product * math.exp(0.5 * variance)
        spread = float(ndtri(0.5 + 0.5 * confidence)) * math.sqrt(variance)
        return {
            "probability": product,
            "coefficient_of_variation": math.sqrt(variance),
            "low": middle * math.exp(-spread),
            "high": min(1.0, middle * math.exp(spread)),
        } | common


_CHANNEL = "campaign.subset"
_STEP = 0.6
"""Initial step of the moves, in standard deviations."""
_ACCEPTED = 0.44
"""Target share of accepted moves, at which chains decorrelate fastest."""


class _Level(NamedTuple):
    """Runs of a level, all at least as near to the threshold as the limit of the previous level."""

    z: Array
    """Standard normal coordinates, (length of chains, chains, factors)."""
    heights: Array
    """Values of the column, (length of chains, chains), with sign: larger is nearer to the
    threshold."""
    roots: Runs
    """Run of the first level from which each run descends, (length of chains, chains)."""


@dataclass(frozen=True)
class SubsetSimulation(DesignSettings):
    """Estimates the probability that a column reaches a threshold, also of rare events.

    An experiment that draws random numbers of its own draws new ones in every proposed run, which
    is equivalent to one more factor.

    Findings: `probability`; `coefficient_of_variation`, the estimate's relative standard deviation
    over many seeds; `low` and `high`, the log-normal interval at `confidence`; `levels`, their
    limits and shares; `runs`; `reached`, whether any run reached the threshold: if not, `low` is 0,
    `high` is computed as if the runs of the last level were independent, and there is no
    coefficient of variation. The relative bias of the estimate is of the order 1 / `each`.

    The column has to vary on the way to the threshold: if it is constant far from it, the chains
    have no direction. A column of truth values is refused. If the event has several separate
    regions, only those are found that runs of the first levels come near.
    """

    kind = "subset_simulation"
    larger = ("most_levels",)

    column: str
    """Name of the column that reaches the threshold."""
    threshold: float
    """Threshold, in the unit of the column."""
    above: bool = True
    """Whether values at or above the threshold count as the event; if false, values at or below
    it."""
    each: int = 1000
    """Number of runs per level."""
    share: float = 0.1
    """Share of the runs of a level from which the next level starts; the reciprocal of an
    integer."""
    most_levels: int = 10
    """Largest number of levels: 10 levels with a share of 0.1 reach 1e-10."""
    correlation: float | None = None
    """Correlation of each run of a chain with the next proposal, from 0 to 1; adapted if None."""
    nan_reaches: bool = False
    """Whether runs with NaN count as the event; otherwise they count as farthest from it."""
    confidence: float = 0.95
    """Confidence of the interval."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        finite("threshold", self.threshold)
        flag("above", self.above)
        flag("nan_reaches", self.nan_reaches)
        whole("each", self.each, "at least 10", least=10)
        whole("most_levels", self.most_levels, "at least 1")
        length = 1.0 / finite("share", self.share) if self.share else 0.0
        if not 2 <= round(length) <= self.each or abs(length - round(length)) > 1e-9:
            raise InvalidValue(f"share = {self.share} must be 1/2, 1/3, 1/4, ..., such as 0.1")
        if self.each % round(length):
            raise InvalidValue(
                f"each = {self.each} must be a multiple of {round(length)}, so that a share of "
                f"{self.share:g} is a whole number of runs"
            )
        if self.correlation is not None and not 0.0 <= finite("correlation", self.correlation) < 1:
            raise InvalidValue(f"correlation = {self.correlation} must be at least 0 and below 1")
        between("confidence", self.confidence, 0.0, 1.0)

    @property
    def runs(self) -> int:
        """The largest number of runs."""
        return self.each + (self.most_levels - 1) * (self.each - self._chains)

    def reads(self) -> tuple[str, ...]:
        """Name of the column that reaches the threshold."""
        return (self.column,)

    def check(self, columns: Sequence[Column]) -> None:
        """Raise for a column of truth values."""
        numbers = [column.name for column in columns if column.kind == "number"]
        if self.column not in numbers:
            raise InvalidValue(
                f"design.subset_simulation.column = {self.column!r} is boolean, so no run is "
                "nearer to the event than another; choose a numeric column of "
                f"{', '.join(numbers) or 'none'}"
            )

    def rounds(self, factors: int, seed: int) -> Rounds:
        """A round of random runs, then one round for each step of the chains of each level."""
        if not factors:
            raise InvalidValue("factors: a subset simulation needs at least 1; there is none")
        return self._rounds(factors, seed)

    def _rounds(self, factors: int, seed: int) -> Rounds:
        points = random_points(factors, seed, f"{_CHANNEL}.0")
        read = yield Round(self.each, points, self.reads())
        limits, runs = list[float](), self.each
        z = normal_of(points(np.arange(self.each)).ravel()).reshape(1, self.each, factors)
        level = _Level(z, self._heights(read)[None, :], np.arange(self.each)[None, :])
        estimate = SubsetEstimate(self.each)
        step = _STEP if self.correlation is None else math.sqrt(1.0 - self.correlation**2)
        while True:
            last = len(estimate.shares) + 1 == self.most_levels
            limit = self._limit(level.heights, last)
            final = last or limit >= math.nextafter(self._goal, -math.inf)
            estimate.add(level.heights > limit, level.roots)
            limits.append(self.threshold if final else limit if self.above else -limit)
            if final:
                return estimate.findings(limits, self.confidence) | {"runs": runs}
            level, step = yield from self._chain(level, limit, len(limits), seed, step)
            runs += self.each - self._chains

    def _chain(
        self, level: _Level, limit: float, number: int, seed: int, step: float
    ) -> Generator[Round, Mapping[str, AnyArray], tuple[_Level, float]]:
        """The runs of the next level, and the adapted step."""
        channel = f"{_CHANNEL}.{number}"
        inside = level.heights > limit
        z, heights, roots = level.z[inside], level.heights[inside], level.roots[inside]
        order = np.arange(self._chains) % len(z)
        begin = permutation(seed, f"{channel}.begin", order, len(z))
        z, heights, roots = z[begin], heights[begin], roots[begin]
        all_z, all_heights = [z], [heights]
        for k in range(1, self._length):
            moves = normals(seed, channel, k, np.arange(self._chains), z.shape[1])[0]
            proposed = math.sqrt(1.0 - step * step) * z + step * moves
            shares = np.clip(share_below(proposed), LEAST, 1.0 - LEAST)
            read = yield Round.of(shares, self.reads())
            reached = self._heights(read)
            accepted = reached > limit
            z = np.where(accepted[:, None], proposed, z)
            heights = np.where(accepted, reached, heights)
            all_z.append(z)
            all_heights.append(heights)
            if self.correlation is None:
                # One step for all chains.
                step = min(1.0, step * (1.0 + float(accepted.mean()) - _ACCEPTED))
        all_roots = np.repeat(roots[None, :], self._length, axis=0)
        return _Level(np.stack(all_z), np.stack(all_heights), all_roots), step

    @property
    def _length(self) -> int:
        return round(1.0 / self.share)

    @property
    def _chains(self) -> int:
        return self.each // self._length

    @property
    def _goal(self) -> float:
        return self.threshold if self.above else -self.threshold

    def _heights(self, read: Mapping[str, AnyArray]) -> Array:
        values = np.asarray(read[self.column], dtype=np.float64)
        heights = values if self.above else -values
        return np.where(np.isnan(heights), np.inf if self.nan_reaches else -np.inf, heights)

    def _limit(self, heights: Array, last: bool) -> float:
        """Limit that runs of the next level exceed: just below the goal if enough runs reach it, or
        if there is no higher value.

        Otherwise it is the value of the highest run that is not in the next level, so that the
        others do not depend on it and the share of independent runs has no bias. If many runs have
        equal values, as for a column that saturates or counts, more or fewer are above; never all
        of them.
        """
        below_goal = math.nextafter(self._goal, -math.inf)
        ordered = np.sort(heights, axis=None)[::-1]
        at = ordered[self._chains]
        if last or ordered[self._chains - 1] > below_goal or ordered[0] == ordered[-1]:
            return below_goal
        lower = ordered[ordered < at]
        if lower.size:
            fewer, more = int((ordered > at).sum()), ordered.size - lower.size
            if fewer * more < self._chains**2:
                at = lower[0]
        return min(float(at), below_goal)


_HALVINGS = 14
"""Number of bisections that locate the border on the segment between two runs."""
_PLACES = 1 << 12
"""Number of parts of that segment to which points are rounded, to ignore rounding errors."""
_DIGITS = 12
"""Number of digits to which gaps are compared, to ignore rounding errors."""
_WORTH = 0.5
"""Share of the largest gap below which a gap waits for the next round: the border may move by
as much as the largest gap once its runs are finished."""
_NEAR = 6
"""Number of runs on the other side, per factor, that count as near."""
_MOST_MIRRORED = 4
"""Largest number of factors for which the border is extended to the faces of the cube; with
more, nearly all runs lie near a face."""
_SAME = 1e-9
"""Distance below which two points count as the same."""


@dataclass(frozen=True)
class Refinement(DesignSettings):
    """Runs of a first design, then further runs where a column crosses a threshold.

    Runs with NaN are on neither side. A column of truth values crosses 0.5: `failed`, for instance,
    shows where runs begin to fail. Distances are measured in the unit cube; to resolve one of two
    factors more finely, reduce its range.

    Findings: `crossed`, whether there are runs on both sides; `gap`, the largest distance of the
    border from the nearest run in the unit cube, the accuracy of the border; `runs`. It ends early
    if all runs are on one side, or if factors that are lists leave no new points. With a larger
    `most` a finished refinement continues; it first completes the round that was cut off.
    """

    kind = "refinement"
    larger = ("most",)

    column: str
    """The column that crosses the threshold."""
    threshold: float
    """Border between the sides, in the unit of the column; it belongs to the upper side."""
    first: Design = field(default_factory=lambda: Sobol(256))
    """Design of the first runs; features smaller than the distance between them are missed."""
    each: int = 128
    """Largest number of runs in a round."""
    most: int = 1024
    """Largest total number of runs, including the first."""
    levels: tuple[int, ...] = ()
    """Number of values of each factor, 0 for a factor that is not a list
    (`factors.level_counts`), so that no run is repeated. Empty if no factor is a list."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        finite("threshold", self.threshold)
        whole("each", self.each, "at least 1")
        if whole("most", self.most, "at least 1") < self.first.runs:
            raise InvalidValue(
                f"most = {self.most} must be at least the runs of first, {self.first.runs}"
            )
        levels = tuple(whole(f"levels[{k}]", n, "at least 0", 0) for k, n in enumerate(self.levels))
        object.__setattr__(self, "levels", levels)

    @property
    def runs(self) -> int:
        """The largest number of runs."""
        return self.most

    def reads(self) -> tuple[str, ...]:
        """Names of the column and of the columns that the first design reads."""
        return tuple(dict.fromkeys((self.column, *self.first.reads())))

    def rounds(self, factors: int, seed: int) -> Rounds:
        """The rounds of the first design, then rounds of runs on the border."""
        if self.levels and len(self.levels) != factors:
            raise InvalidValue(f"levels = {self.levels} must have {factors} numbers, as factors")
        if not factors:
            raise InvalidValue("factors: a refinement needs at least 1; there is none")
        return self._rounds(self.first.rounds(factors, seed))

    def _rounds(self, first: Rounds) -> Rounds:
        known = _Known(self.threshold, self.levels)
        try:
            asked = next(first)
            while True:
                read = yield asked._replace(reads=self.reads())
                known.add(asked.points(np.arange(asked.size)), read[self.column])
                asked = first.send(read)
        except StopIteration:
            pass
        while True:
            places, gaps = known.border()
            chosen = known.farthest(places, gaps, min(self.each, self.most - known.runs))
            if not len(chosen):
                gap = float(gaps.max()) if len(gaps) else None
                return {"crossed": gap is not None, "gap": gap, "runs": known.runs}
            read = yield Round.of(chosen, self.reads())
            known.add(chosen, read[self.column])


class _Known:
    """Finished runs with their values, from which the border between the two sides follows."""

    def __init__(self, threshold: float, levels: tuple[int, ...]) -> None:
        self._threshold, self._levels = threshold, np.array(levels)
        self._points: list[Array] = []
        self._values: list[Array] = []

    @property
    def runs(self) -> int:
        """The largest number of runs."""
        return sum(len(points) for points in self._points)

    def add(self, points: Array, values: AnyArray) -> None:
        self._points.append(self._on_levels(points))
        self._values.append(np.asarray(values, dtype=np.float64))

    def border(self) -> tuple[Array, Array]:
        """Points on the border, (n, factors), and their distances from the nearest run."""
        from scipy.spatial import KDTree

        points, values = np.concatenate(self._points), np.concatenate(self._values)
        sides = [points[values < self._threshold], points[values >= self._threshold]]
        if not len(sides[0]) or not len(sides[1]):
            return points[:0], np.empty(0)
        strip = len(self._points[0]) ** (-1.0 / points.shape[1])
        mirrored = [_mirrored(side, strip) for side in sides]
        trees: Any = [KDTree(side) for side in mirrored]
        low, high = _pairs(mirrored, trees)
        # A near point may be another value of a list.
        worth = 0.0 if self._levels.any() else _WORTH
        places = np.abs(_crossing(low, high, trees, worth))
        places = self._on_levels(1.0 - np.abs(1.0 - places))
        gaps: Array = KDTree(points).query(places)[0]
        return places, gaps

    def farthest(self, places: Array, gaps: Array, count: int) -> Array:
        """At most `count` of the points, each as far as possible from all runs and from those
        chosen before."""
        gaps, chosen = gaps.copy(), list[int]()
        least = max(_SAME, _WORTH * float(gaps.max(initial=0.0)))
        while len(chosen) < count and len(gaps):
            # The first of equal ones.
            k = int(np.argmax(np.round(gaps, _DIGITS)))
            if gaps[k] < least:
                break
            chosen.append(k)
            gaps = np.minimum(gaps, np.sqrt(((places - places[k]) ** 2).sum(axis=1)))
        return places[chosen]

    def _on_levels(self, points: Array) -> Array:
        """Points with list factors moved to the centre of the interval of their value."""
        if not self._levels.any():
            return points
        count = np.maximum(self._levels, 1)
        middles = (np.minimum(np.floor(points * count), count - 1) + 0.5) / count
        return np.where(self._levels > 0, middles, points)


def _mirrored(side: Array, strip: float) -> Array:
    """Points with the mirror images of those within `strip` of a face of the cube, so that the
    border continues to the face."""
    factors = side.shape[1]
    if factors > _MOST_MIRRORED:
        return side
    images = [side]
    for k in range(factors):
        for face in (0.0, 1.0):
            near = side[np.abs(side[:, k] - face) < strip].copy()
            near[:, k] = 2.0 * face - near[:, k]
            images.append(near)
    return np.concatenate(images)


def _pairs(sides: list[Array], trees: Any) -> tuple[Array, Array]:
    """Pairs of runs on the lower and the upper side in which one run is among the nearest to the
    other."""
    size, near = len(sides[1]), _NEAR * sides[0].shape[1]
    pairs: list[Runs] = []
    for own in (0, 1):
        _, other = trees[1 - own].query(sides[own], k=min(near, len(sides[1 - own])))
        other = other.reshape(len(sides[own]), -1)
        number = np.arange(len(other))[:, None]
        pairs.append((number * size + other if own == 0 else other * size + number).ravel())
    low, high = np.divmod(np.union1d(*pairs), size)
    return sides[0][low], sides[1][high]


def _crossing(low: Array, high: Array, trees: Any, worth: float) -> Array:
    """Points where segments from the lower to the upper side cross the border; only where the gap
    may be at least the share `worth` of the largest."""
    way = high - low
    length = np.sqrt((way * way).sum(axis=1))
    begin, end = np.zeros(len(low)), np.ones(len(low))
    for _ in range(_HALVINGS):
        middle = 0.5 * (begin + end)
        at = low + middle[:, None] * way
        below, above = (tree.query(at)[0] for tree in trees)
        begin, end = np.where(below < above, middle, begin), np.where(below < above, end, middle)
        # The point lies within half of the remaining interval, and its gap may differ by as much.
        gap, error = np.minimum(below, above), (end - begin) * length
        kept = gap + error >= worth * (gap - error).max()
        low, way, length, begin, end = (one[kept] for one in (low, way, length, begin, end))
    share = np.rint(0.5 * (begin + end) * _PLACES) / _PLACES
    return low + share[:, None] * way
