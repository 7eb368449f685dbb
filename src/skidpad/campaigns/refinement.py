"""Runs where a column crosses a threshold: along the border of what is known of both sides.

Every place is on the side of the run nearest to it, as far as is known. The border between the two
sides is known to the distance of the runs on either side of it, so each round puts runs on it where
that distance, the gap, is largest. Where two neighbouring runs are on different sides and no other
is near, the border passes through the middle between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import AnyArray, Array
from ..brief import brief_repr
from ..checks import finite, whole
from ..errors import InvalidValue
from .design import Choosing, Design, Round
from .experiment import Runs
from .plain import goes_on, identity_of
from .sampling import Sobol

_HALVINGS = 14
"""Of the way between two runs, to find the border on it."""
_PLACES = 1 << 12
"""Parts of that way that places are rounded to: rounding errors should not show."""
_DIGITS = 12
"""Of gaps that are compared, for the same reason."""
_WORTH = 0.5
"""Share of the largest gap below which a gap waits for the next round: the border moves by as much
as the largest gap when the runs on it are done."""
_NEAR = 6
"""Runs of the other side, for each factor, that count as near."""
_MOST_MIRRORED = 4
"""Factors up to which the border is followed to the faces of the cube; of more nearly all runs lie
near to one."""
_SAME = 1e-9
"""Places nearer than that are one place."""


@dataclass(frozen=True)
class Refinement:
    """Runs of a design, then more of them round by round where a column crosses a threshold.

    Runs without a number are on neither side. A column of truths crosses 0.5: `failed`, for
    instance, shows where runs begin to fail. Distances are those of shares; of two factors of which
    one should be known more closely, give that one the narrower range.

    What it found: `crossed`, whether there are runs on both sides; `gap`, the largest distance of
    the border from the next run, in shares, to which the threshold is known; `runs`. It ends early
    where all runs are on one side, and where factors that are lists leave no new ones.
    """

    column: str
    """What is looked at."""
    threshold: float
    """In the unit of the column; values of at least that are on one side."""
    first: Design = field(default_factory=lambda: Sobol(256))
    """The first runs: what lies between them and is smaller than their distance is not seen."""
    each: int = 128
    """Runs of a round at most."""
    most: int = 1024
    """Runs of all, the first among them."""
    levels: tuple[int, ...] = ()
    """How many numbers each factor has, 0 for those that are no lists (`factors.level_counts`): no
    two runs are the same then. Empty where none is a list."""

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
        """How many there are at most."""
        return self.most

    def reads(self) -> tuple[str, ...]:
        """The column, and what the first design reads."""
        return tuple(dict.fromkeys((self.column, *self.first.reads())))

    def identity(self) -> dict[str, Any]:
        """Kind and settings."""
        return identity_of(self, "refinement")

    def extends(self, before: Mapping[str, Any]) -> bool:
        """More runs go on where fewer ended: those of a round that was cut off are its first."""
        return goes_on(self.identity(), before, larger=("most",))

    def rounds(self, factors: int, seed: int) -> Choosing:
        """Those of the first design, then one for each look at the border."""
        if self.levels and len(self.levels) != factors:
            raise InvalidValue(f"levels = {self.levels} must have {factors} numbers, as factors")
        if not factors:
            raise InvalidValue("factors: a refinement needs at least 1; there is none")
        return self._rounds(self.first.rounds(factors, seed))

    def _rounds(self, first: Choosing) -> Choosing:
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
    """Runs that are done, by the side that they are on."""

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
        # Of lists, what is near may be a number of its own.
        worth = 0.0 if self._levels.any() else _WORTH
        places = np.abs(_crossing(low, high, trees, worth))
        places = self._on_levels(1.0 - np.abs(1.0 - places))
        gaps: Array = KDTree(points).query(places)[0]
        return places, gaps

    def farthest(self, places: Array, gaps: Array, count: int) -> Array:
        """At most so many of the places, each as far as can be from runs and those before it."""
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
        """Points with those factors that are lists in the middle of a number's shares."""
        if not self._levels.any():
            return points
        count = np.maximum(self._levels, 1)
        middles = (np.minimum(np.floor(points * count), count - 1) + 0.5) / count
        return np.where(self._levels > 0, middles, points)


def _mirrored(side: Array, strip: float) -> Array:
    """Points with the mirror images of those near to a face of the cube, so that the border goes on
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
    """Where the way from runs of the lower side to those of the upper leaves the lower side; only
    where the gap may be this share of the largest."""
    way = high - low
    length = np.sqrt((way * way).sum(axis=1))
    begin, end = np.zeros(len(low)), np.ones(len(low))
    for _ in range(_HALVINGS):
        middle = 0.5 * (begin + end)
        at = low + middle[:, None] * way
        below, above = (tree.query(at)[0] for tree in trees)
        begin, end = np.where(below < above, middle, begin), np.where(below < above, end, middle)
        # The place lies within half of what is left of the way, and so far may its gap differ.
        gap, error = np.minimum(below, above), (end - begin) * length
        kept = gap + error >= worth * (gap - error).max()
        low, way, length, begin, end = (one[kept] for one in (low, way, length, begin, end))
    share = np.rint(0.5 * (begin + end) * _PLACES) / _PLACES
    return low + share[:, None] * way
