"""Designs that look for a threshold: probabilities of rare events, and where a column crosses.

`SubsetSimulation` estimates probabilities down to 1e-7 and below in levels: the runs of a level
that are nearest to the threshold start chains whose runs stay at least as near, and so on. The
probability is the product of the shares of the levels (S.-K. Au and J. L. Beck, "Estimation of
small failure probabilities in high dimensions by subset simulation", Probabilistic Engineering
Mechanics 16, 2001). Chains move by conditional sampling in the space in which all factors are
standard normal, with the step adapted to the share of accepted moves (I. Papaioannou et al., "MCMC
algorithms for subset simulation", Probabilistic Engineering Mechanics 41, 2015).

`Refinement` puts runs where a column crosses a threshold. Every point is on the side of the nearest
run, as far as is known, and the border between the sides is known to the distance of the runs on
either side of it. Each round puts runs on the border where that distance, the gap, is largest:
where two neighbouring runs are on different sides and no other is near, the border passes through
the middle between them.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray, Array, Mask
from ..core.checks import between, finite, flag, whole
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..random.streams import LEAST, normal_of, normals, share_below
from .designs import Design, DesignSettings, Round, Rounds, Sobol, permutation, random_points
from .experiment import Column, Runs


class SubsetEstimate:
    """Probability and coefficient of variation from the levels of a subset simulation.

    Runs of a level depend on each other: those of a chain, those of chains that began at runs of
    one chain of the level before, and so on. Only the runs of the first level are independent. So
    the deviations of all levels are summed by the run of the first level that each run descends
    from, its root, and the variance is that of these sums (H. P. Chan and T. L. Lai, "A general
    theory of particle filters in hidden Markov models and some applications", Annals of Statistics
    41, 2013). The dependence within chains alone, as in Au and Beck (2001), underestimates it: by a
    fifth at 1e-7.

    Args:
        roots: number of runs of the first level.
    """

    def __init__(self, roots: int) -> None:
        self.shares: list[float] = []
        self._deviations: Array = np.zeros(roots)
        self._size = roots

    def add(self, inside: Mask, roots: Runs) -> None:
        """Count a level.

        Args:
            inside: which runs are above the limit, (length of chains, chains).
            roots: of each run.
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
        """The findings of `SubsetSimulation` as plain values."""
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
"""Size of the first moves, in standard deviations."""
_ACCEPTED = 0.44
"""The share of accepted moves at which chains forget their start fastest."""


class _Level(NamedTuple):
    """Runs that are all at least as near to the threshold as the limit of the level before."""

    z: Array
    """(length of chains, chains, factors), standard normal."""
    heights: Array
    """(length of chains, chains): larger is nearer to the threshold."""
    roots: Runs
    """(length of chains, chains): the run of the first level that each run descends from."""


@dataclass(frozen=True)
class SubsetSimulation(DesignSettings):
    """The probability that a column reaches a threshold, with its coefficient of variation.

    A run that draws random numbers itself draws new ones whenever it is proposed, which is
    equivalent to one more factor.

    Findings: `probability`; `coefficient_of_variation`, its standard deviation over many seeds
    relative to it; `low` and `high`, the log-normal interval of the `confidence`; `levels`, their
    limits and shares; `runs`; `reached`, whether any run reached the threshold: if not, `low` is 0,
    `high` is as if the runs of the last level were independent, and there is no coefficient of
    variation. The mean of estimates is right but for a share in the order of 1 / `each`.

    The column has to vary on the way to the threshold: one that is constant far from it gives the
    chains no direction, and a column of truth values is refused. Of an event with several regions,
    those are found that the runs of the first levels come near to.
    """

    kind = "subset_simulation"
    larger = ("most_levels",)

    column: str
    """The column that reaches the threshold."""
    threshold: float
    """Value that the column reaches, in its unit."""
    above: bool = True
    """Whether values of at least the threshold reach it, otherwise values of at most it."""
    each: int = 1000
    """Runs of a level."""
    share: float = 0.1
    """Share of the runs of a level that the next begins with; one over a whole number."""
    most_levels: int = 10
    """Levels after which it ends: 10 levels of a tenth reach 1e-10."""
    correlation: float | None = None
    """Between a run of a chain and the next one proposed, from 0 to 1; adapted if None."""
    nan_reaches: bool = False
    """Whether runs without a number have reached the threshold; else they are farthest from it."""
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
        """The column."""
        return (self.column,)

    def check(self, columns: Sequence[Column]) -> None:
        """Raise for a column of truth values."""
        numbers = [column.name for column in columns if column.kind == "number"]
        if self.column not in numbers:
            raise InvalidValue(
                f"design.subset_simulation.column = {self.column!r} is true or false, so that no "
                f"run is nearer than another; take a number, of {', '.join(numbers) or 'none'}"
            )

    def rounds(self, factors: int, seed: int) -> Rounds:
        """A round of random runs, then one for each step of the chains of each level."""
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
        """The limit that runs of the next level exceed: just below the goal if enough runs reach
        it, or if no higher ones are left.

        Otherwise it is the height of the highest run that is not in the next level, so that the
        others do not depend on it and the share of independent runs has no bias. Where many runs
        are equally high, as for a column that saturates or counts, more or fewer are above; never
        all of them.
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
"""Bisections of the segment between two runs, to find the border on it."""
_PLACES = 1 << 12
"""Parts of that segment that points are rounded to, so that rounding errors do not show."""
_DIGITS = 12
"""Digits of gaps that are compared, for the same reason."""
_WORTH = 0.5
"""Share of the largest gap below which a gap waits for the next round: the border moves by as much
as the largest gap when the runs on it are done."""
_NEAR = 6
"""Runs of the other side, for each factor, that count as near."""
_MOST_MIRRORED = 4
"""Factors up to which the border is followed to the faces of the cube; of more nearly all runs lie
near to one."""
_SAME = 1e-9
"""Points nearer than that are one point."""


@dataclass(frozen=True)
class Refinement(DesignSettings):
    """Runs of a design, then more of them round by round where a column crosses a threshold.

    Runs without a number are on neither side. A column of truth values crosses 0.5: `failed`, for
    instance, shows where runs begin to fail. Distances are those of shares; to resolve one of two
    factors more closely, give it the narrower range.

    Findings: `crossed`, whether there are runs on both sides; `gap`, the largest distance of the
    border from the next run, in shares, to which the threshold is known; `runs`. It ends early
    where all runs are on one side, and where factors that are lists leave no new points. With a
    larger `most` it continues where it ended: the runs of a round that was cut off are its first.
    """

    kind = "refinement"
    larger = ("most",)

    column: str
    """The column that crosses the threshold."""
    threshold: float
    """Border of the two sides, in the unit of the column; it belongs to the upper side."""
    first: Design = field(default_factory=lambda: Sobol(256))
    """The first runs; features smaller than the distance between them are missed."""
    each: int = 128
    """The largest number of runs of a round."""
    most: int = 1024
    """The largest number of all runs, the first among them."""
    levels: tuple[int, ...] = ()
    """Number of values of each factor, 0 for a factor that is not a list (`factors.level_counts`):
    then no two runs are the same. Empty where none is a list."""

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
        """The column, and what the first design reads."""
        return tuple(dict.fromkeys((self.column, *self.first.reads())))

    def rounds(self, factors: int, seed: int) -> Rounds:
        """The rounds of the first design, then one for each look at the border."""
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
    """Finished runs by the side that they are on."""

    def __init__(self, threshold: float, levels: tuple[int, ...]) -> None:
        self._threshold, self._levels = threshold, np.array(levels)
        self._points: list[Array] = []
        self._values: list[Array] = []

    @property
    def runs(self) -> int:
        return sum(len(points) for points in self._points)

    def add(self, points: Array, values: AnyArray) -> None:
        self._points.append(self._on_levels(points))
        self._values.append(np.asarray(values, dtype=np.float64))

    def border(self) -> tuple[Array, Array]:
        """Places (n, factors) on the border, and their distances from the next run."""
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
        """At most `count` of the points, each as far as possible from runs and those before it."""
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
        """Points with factors that are lists moved to the middle of a value's shares."""
        if not self._levels.any():
            return points
        count = np.maximum(self._levels, 1)
        middles = (np.minimum(np.floor(points * count), count - 1) + 0.5) / count
        return np.where(self._levels > 0, middles, points)


def _mirrored(side: Array, strip: float) -> Array:
    """Points with the mirror images of those near a face of the cube, so that the border continues
    to the face."""
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
    """Runs of the lower and the upper side of which one is among the nearest to the other."""
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
    """Where the segments from runs of the lower side to those of the upper leave the lower side;
    only where the gap may be this share of the largest."""
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
