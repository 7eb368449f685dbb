"""Rare events: subset simulation, for probabilities down to 1e-7 and below.

A rare event is reached in levels: of the runs of a level the nearest to the threshold are where
chains begin whose runs stay at least as near, and so on. The probability is the product of the
shares of the levels (S.-K. Au and J. L. Beck, "Estimation of small failure probabilities in high
dimensions by subset simulation", Probabilistic Engineering Mechanics 16, 2001). Chains move by
conditional sampling in the space in which all factors are standard normal, with the step adapted to
the share of moves that are accepted (I. Papaioannou et al., "MCMC algorithms for subset
simulation", Probabilistic Engineering Mechanics 41, 2015).
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyArray, Array
from ..brief import brief_repr
from ..checks import finite, flag, whole
from ..errors import InvalidValue
from ..random.inverse_normal import normal_of
from ..random.normal_share import LEAST, share_below
from ..random.streams import normals
from .design import Choosing, Round
from .experiment import Column, Runs
from .permutation import permuted
from .plain import goes_on, identity_of
from .sampling import drawn_points
from .subset_estimate import SubsetEstimate

_CHANNEL = "campaign.subset"
_STEP = 0.6
"""Of the first moves, in standard deviations."""
_ACCEPTED = 0.44
"""The share of moves at which chains forget fastest."""


class _Level(NamedTuple):
    """Runs of which all are at least as near to the threshold as the limit of the level before."""

    z: Array
    """(length of chains, chains, factors), standard normal."""
    heights: Array
    """(length of chains, chains): larger is nearer to the threshold."""
    roots: Runs
    """(length of chains, chains): the run of the first level that each descends from."""


@dataclass(frozen=True)
class SubsetSimulation:
    """How probable it is that a column reaches a threshold, with its coefficient of variation.

    A run that draws random numbers of its own draws new ones whenever it is proposed, which is as
    good as one more factor.

    What it found: `probability`; `coefficient_of_variation`, its standard deviation over many seeds
    relative to it; `low` and `high`, the log-normal interval of the `confidence`; `levels`, their
    limits and shares; `runs`; `reached`, whether any run reached the threshold: if not, `low` is 0,
    `high` is as if the runs of the last level were independent, and there is no coefficient of
    variation. The mean of estimates is right but for a share in the order of 1 / `each`.

    Its levels have to lead there: of one that is the same wherever the threshold is far, nothing
    shows the way, and a column of truths is refused. An event that is reached in several places is
    found where the runs of the first levels come near to them.
    """

    column: str
    """What is looked at."""
    threshold: float
    """What it has to reach, in the unit of the column."""
    above: bool = True
    """Whether it is reached from below, by values of at least the threshold; else from above."""
    each: int = 1000
    """Runs of a level."""
    share: float = 0.1
    """Of the runs of a level, those that the next begins with; one over a whole number."""
    most_levels: int = 10
    """Levels after which it ends: 10 levels of a tenth reach 1e-10."""
    correlation: float | None = None
    """Between a run of a chain and the next one proposed, from 0 to 1; adapted if None."""
    nan_reaches: bool = False
    """Whether runs without a number have reached the threshold; else they are farthest from it."""
    confidence: float = 0.95
    """Of the interval."""

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
        if not 0.0 < finite("confidence", self.confidence) < 1.0:
            raise InvalidValue(f"confidence = {self.confidence} must be between 0 and 1")

    @property
    def runs(self) -> int:
        """How many there are at most."""
        return self.each + (self.most_levels - 1) * (self.each - self._chains)

    def reads(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def check(self, columns: Sequence[Column]) -> None:
        """Raise for a column of truths."""
        numbers = [column.name for column in columns if column.kind == "number"]
        if self.column not in numbers:
            raise InvalidValue(
                f"design.subset_simulation.column = {self.column!r} is true or false, so that no "
                f"run is nearer than another; take a number, of {', '.join(numbers) or 'none'}"
            )

    def identity(self) -> dict[str, Any]:
        """Kind and settings."""
        return identity_of(self, "subset_simulation")

    def extends(self, before: Mapping[str, Any]) -> bool:
        """More levels go on where fewer ended."""
        return goes_on(self.identity(), before, larger=("most_levels",))

    def rounds(self, factors: int, seed: int) -> Choosing:
        """A round of drawn runs, then one for each step of the chains of each level."""
        if not factors:
            raise InvalidValue("factors: a subset simulation needs at least 1; there is none")
        return self._rounds(factors, seed)

    def _rounds(self, factors: int, seed: int) -> Choosing:
        points = drawn_points(factors, seed, f"{_CHANNEL}.0")
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
        """The runs of the next level, and the step that was right in the end."""
        channel = f"{_CHANNEL}.{number}"
        inside = level.heights > limit
        z, heights, roots = level.z[inside], level.heights[inside], level.roots[inside]
        order = np.arange(self._chains) % len(z)
        begin = permuted(seed, f"{channel}.begin", order, len(z))
        z, heights, roots = z[begin], heights[begin], roots[begin]
        all_z, all_heights = [z], [heights]
        for k in range(1, self._length):
            moves = normals(seed, channel, k, np.arange(self._chains), z.shape[1])[0]
            proposed = math.sqrt(1.0 - step * step) * z + step * moves
            read = yield Round.of(_shares(proposed), self.reads())
            reached = self._heights(read)
            accepted = reached > limit
            z = np.where(accepted[:, None], proposed, z)
            heights = np.where(accepted, reached, heights)
            all_z.append(z)
            all_heights.append(heights)
            if self.correlation is None:
                # Over all chains: none of them decides for itself.
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
        """What runs of the next level are above: just below the goal if enough are there, or if
        nothing higher is left.

        The highest run that is not in the next level, so that those that are do not depend on it
        and, of independent ones, their share has no bias. Where many runs are equally high, as of a
        column that is cut off or counts, more or fewer are above; never all of them.
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


def _shares(z: Array) -> Array:
    """Points of the unit cube of standard normal numbers."""
    return np.clip(share_below(z), LEAST, 1.0 - LEAST)
