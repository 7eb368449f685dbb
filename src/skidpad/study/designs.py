"""Designs: how a campaign chooses its runs.

A design is a generator of rounds. It yields a round of points, receives the columns that it asked
to read of those runs, and yields another round or returns its findings. A design that depends on
results (convergence, refinement, rare events) is therefore written as plain sequential code, and
its decisions depend on whole rounds alone: not on chunks, workers or how often the campaign was
stopped. When a campaign is resumed, the generator starts again and receives what is in the folder.

Points lie in the unit cube, with a column per factor; the factors turn shares into numbers. Every
point follows from its number, so no design holds all of its points in memory.

Here are the contract (`Design`, `Round`), designs that spread runs over the unit cube (`Random`,
`LatinHypercube`, `Sobol`, `Saltelli`), designs that go through lists (`Grid`, `Table`), and
`Converging`, which stops when an estimate is precise enough. `rare_events` has designs that look
for a threshold, `design_forms` makes designs of plain values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import AnyArray, Array
from ..core.checks import between, finite, flag, positive, whole
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..random.factors import factor_of, level_counts
from ..random.streams import RUNS, key_of, uniforms
from ..run.monte_carlo_runs import proportion
from .experiment import Runs
from .statistics import mean_of, quantile_of

Points: TypeAlias = Callable[[Runs], Array]
"""Points (n, factors) between 0 and 1 by their numbers (n,)."""


class Round(NamedTuple):
    """Runs that are chosen together."""

    size: int
    """Number of runs."""
    points: Points
    """Points by their numbers in the round, from 0; any part of the round has the same points as
    in the whole."""
    reads: tuple[str, ...] = ()
    """Columns that the design receives, whole and in order, when the round is done."""

    __repr__ = brief_repr

    @classmethod
    def of(cls, points: Array, reads: tuple[str, ...] = ()) -> Round:
        """The round of these points, (n, factors)."""
        return cls(len(points), lambda numbers: points[numbers], reads)


Rounds: TypeAlias = Generator[Round, Mapping[str, AnyArray], Mapping[str, Any]]
"""Generator of a design: `read = yield round`, as often as needed, then its findings as plain
values, such as a probability and its coefficient of variation."""


class Design(Protocol):
    """A frozen dataclass of its settings."""

    def rounds(self, factors: int, seed: int) -> Rounds:
        """Choose runs of this number of factors; random choices come from streams of the seed."""
        ...

    @property
    def runs(self) -> int:
        """The largest number of runs."""
        ...

    def reads(self) -> tuple[str, ...]:
        """Names of columns that it reads, so that a wrong one is found before the start."""
        ...

    def identity(self) -> dict[str, Any]:
        """The design as plain values (JSON): `{"kind": "sobol", "runs": 4096}`."""
        ...

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether its first runs are all the runs of the design with this identity."""
        ...


class DesignSettings:
    """Base of the dataclasses of designs: identity and extension follow from the settings."""

    kind: ClassVar[str]
    """Name in plain forms."""
    larger: ClassVar[tuple[str, ...]] = ()
    """Settings that may be larger than those of the design that is extended."""
    smaller: ClassVar[tuple[str, ...]] = ()
    """Settings that may be smaller."""

    def reads(self) -> tuple[str, ...]:
        """Names of the columns that the design reads."""
        return ()

    def identity(self) -> dict[str, Any]:
        """Kind and settings as plain values."""
        own: Any = self
        values = {field.name: getattr(own, field.name) for field in fields(own)}
        plain = {
            name: value.identity()
            if hasattr(value, "identity")
            else list(value)
            if isinstance(value, tuple)
            else value
            for name, value in values.items()
        }
        return {"kind": self.kind, **plain}

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether the identities differ only in settings that may have become larger or smaller."""
        own = self.identity()
        return own.keys() == before.keys() and all(
            (value == before[name])
            or (name in self.larger and value > before[name])
            or (name in self.smaller and value < before[name])
            for name, value in own.items()
        )


def random_points(factors: int, seed: int, channel: str = "campaign.random") -> Points:
    """Points of a channel, independent and uniform."""
    return lambda numbers: uniforms(seed, channel, 0, numbers, factors)[0]


_BITS = 30
"""Bits of a share, the most that SciPy takes."""
MOST_POINTS = 1 << _BITS


def sobol_points(dimensions: int, seed: int, count: int) -> Points:
    """The first `count` points of a scrambled Sobol sequence, each in the middle of its cell of
    2⁻³⁰, so never 0 or 1.

    SciPy generates points in sequence. Point n is the exclusive or of a shift and of one direction
    for each bit of the Gray code of n. Shift and directions follow from SciPy's points number 0 and
    the powers of 2; with them, every point takes the same time.
    """
    if not dimensions:
        return lambda numbers: np.empty((len(numbers), 0))
    # SciPy takes a second to import, which `import skidpad` should not pay.
    from scipy.stats import qmc

    low, high = key_of(seed, "campaign.sobol")
    make: Any = qmc.Sobol  # SciPy 1.14 has no rng
    sequence = make(dimensions, scramble=True, bits=_BITS, seed=low | high << 32)

    def next_word() -> NDArray[np.int64]:
        return (sequence.random(1)[0] * 2.0**_BITS).astype(np.int64)

    shift = next_word()
    directions: list[NDArray[np.int64]] = []
    last = np.zeros_like(shift)
    for bit in range(max(count - 1, 0).bit_length()):
        if bit > 1:
            sequence.fast_forward((1 << bit - 1) - 1)
        # The Gray code of 2ᵏ has the bits k and k - 1.
        last = next_word() ^ shift ^ last
        directions.append(last)

    def points(numbers: Runs) -> Array:
        gray = numbers ^ (numbers >> 1)
        words = np.repeat(shift[None, :], len(numbers), axis=0)
        for bit, direction in enumerate(directions):
            words[(gray >> bit) & 1 == 1] ^= direction
        return (words.astype(np.float64) + 0.5) * 2.0**-_BITS

    return points


_FEISTEL_ROUNDS = 6
_M0, _M1 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def permutation(
    seed: int, channel: str, numbers: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Positions of some numbers below `count` in the random order of a seed and a channel.

    A Feistel network of keyed hashes is a bijection of words of an even number of bits; numbers
    outside the range are sent through it again until they fall inside (J. Black and P. Rogaway,
    "Ciphers with arbitrary finite domains", CT-RSA 2002). Nothing of the order is stored.
    """
    half = np.uint64((max(count - 1, 1).bit_length() + 1) // 2)
    mask = (np.uint64(1) << half) - np.uint64(1)
    pairs = [key_of(seed, f"{channel}.{k}") for k in range(_FEISTEL_ROUNDS)]
    keys = [np.uint64(low | high << 32) for low, high in pairs]
    words = numbers.astype(np.uint64)
    outside: Any = np.arange(len(words))
    while outside.size:
        left, right = words[outside] >> half, words[outside] & mask
        for key in keys:
            left, right = right, left ^ (_hash(right, key) & mask)
        words[outside] = left << half | right
        outside = outside[words[outside] >= np.uint64(count)]
    return words.astype(np.int64)


def _hash(words: NDArray[np.uint64], key: np.uint64) -> Any:
    """The finaliser of SplitMix64, in which every bit depends on all bits; the upper half of it."""
    mixed = words + key
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _M0
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _M1
    return (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(16)


def _points_from(points: Points, first: int, numbers: Runs) -> Array:
    return points(numbers + first)


def _one_round(count: int, points: Points, findings: Mapping[str, Any] | None = None) -> Rounds:
    """A design of one round that reads nothing."""
    yield Round(count, points)
    return findings or {}


def _check_runs(runs: int, most: int) -> None:
    if whole("runs", runs, "at least 1") > most:
        raise InvalidValue(f"runs = {runs} must be at most {most}")


@dataclass(frozen=True)
class Random(DesignSettings):
    """Independent random runs: the choice for probabilities and quantiles."""

    kind = "random"
    larger = ("runs",)

    runs: int

    def __post_init__(self) -> None:
        _check_runs(self.runs, RUNS)

    def rounds(self, factors: int, seed: int) -> Rounds:
        """One round."""
        return _one_round(self.runs, random_points(factors, seed))


@dataclass(frozen=True)
class LatinHypercube(DesignSettings):
    """Latin hypercube: each factor has one run in each of `runs` equal parts, in random orders.

    Means scatter less than those of random runs, the less the more additively the factors act
    (M. D. McKay et al., Technometrics 21, 1979). It cannot be extended.
    """

    kind = "latin_hypercube"

    runs: int

    def __post_init__(self) -> None:
        _check_runs(self.runs, RUNS)

    def rounds(self, factors: int, seed: int) -> Rounds:
        """One round."""
        within = random_points(factors, seed, "campaign.latin.within")

        def points(numbers: Runs) -> Array:
            orders = [
                permutation(seed, f"campaign.latin.{k}", numbers, self.runs) for k in range(factors)
            ]
            parts = np.array(orders).reshape(factors, len(numbers)).T
            return (parts + within(numbers)) / self.runs

        return _one_round(self.runs, points)


@dataclass(frozen=True)
class Sobol(DesignSettings):
    """Scrambled Sobol points: the most even spread, best with a power of 2 as the number."""

    kind = "sobol"
    larger = ("runs",)

    runs: int

    def __post_init__(self) -> None:
        _check_runs(self.runs, MOST_POINTS)

    def rounds(self, factors: int, seed: int) -> Rounds:
        """One round."""
        return _one_round(self.runs, sobol_points(factors, seed, self.runs))


@dataclass(frozen=True)
class Saltelli(DesignSettings):
    """The runs that Sobol's sensitivity indices are estimated from, in the order of SALib.

    There are two sets A and B of n points. Runs come in blocks: a point of A, that point with each
    factor in turn from B, if `second_order` that of B with each factor in turn from A, the point of
    B. So `runs` is a multiple of d + 2, or of 2 d + 2, for d factors; best n is a power of 2.
    """

    kind = "saltelli"
    larger = ("runs",)

    runs: int
    second_order: bool = False

    def __post_init__(self) -> None:
        _check_runs(self.runs, MOST_POINTS)
        flag("second_order", self.second_order)

    @classmethod
    def of(cls, samples: int, factors: int, second_order: bool = False) -> Saltelli:
        """The design with this number of points of A and of B."""
        count = whole("factors", factors, "at least 1")
        block = saltelli_block(count, flag("second_order", second_order))
        return cls(whole("samples", samples, "at least 1") * block, second_order)

    def rounds(self, factors: int, seed: int) -> Rounds:
        """One round; raises unless the runs are whole blocks."""
        block = saltelli_block(factors, self.second_order)
        samples, rest = divmod(self.runs, block)
        if rest or not factors:
            raise InvalidValue(
                f"runs = {self.runs} of Saltelli must be a multiple of {block} for {factors} "
                f"factors, such as {max(samples, 1) * block} or {(samples + 1) * block}"
            )
        sets = sobol_points(2 * factors, seed, samples)

        def points(numbers: Runs) -> Array:
            samples, place = np.divmod(numbers, block)
            distinct, which = np.unique(samples, return_inverse=True)
            both = sets(distinct)[which]
            a, b = both[:, :factors], both[:, factors:]
            of_b = place == block - 1
            exchanged = (place[:, None] - 1) % factors == np.arange(factors)
            exchanged &= ((place > 0) & ~of_b)[:, None]
            of_b |= place > factors
            return np.where(of_b[:, None] ^ exchanged, b, a)

        findings = {"samples": samples, "second_order": self.second_order}
        return _one_round(self.runs, points, findings)


def saltelli_block(factors: int, second_order: bool) -> int:
    """Runs of a block of a Saltelli design."""
    return 2 * factors + 2 if second_order else factors + 2


@dataclass(frozen=True)
class Grid(DesignSettings):
    """All combinations of factors that are lists; the last factor changes fastest.

    `Grid.of(factors)` takes the counts from the factors. A grid cannot be extended: the neighbours
    of a larger one differ.
    """

    kind = "grid"

    counts: tuple[int, ...]
    """Number of values of each factor."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        counts = tuple(whole(f"counts[{k}]", n, "at least 1") for k, n in enumerate(self.counts))
        object.__setattr__(self, "counts", counts)
        if self.runs > RUNS:
            raise InvalidValue(f"counts = {counts} make {self.runs} runs; allowed are {RUNS}")

    @classmethod
    def of(cls, factors: Mapping[str, Any]) -> Grid:
        """The grid of these factors; raises unless all are lists of numbers."""
        return cls(tuple(_list_lengths("a grid", factors).values()))

    @property
    def runs(self) -> int:
        """The product of the counts."""
        return math.prod(self.counts)

    def rounds(self, factors: int, seed: int) -> Rounds:
        """One round; raises unless there is a count for each factor."""
        if factors != len(self.counts):
            raise InvalidValue(
                f"counts = {self.counts} of Grid must be one for each factor; there are {factors}"
            )

        def points(numbers: Runs) -> Array:
            if not self.counts:
                return np.empty((len(numbers), 0))
            places = np.unravel_index(numbers, self.counts)
            return (np.stack(places, axis=1) + 0.5) / np.array(self.counts)

        return _one_round(self.runs, points)


@dataclass(frozen=True)
class Table(DesignSettings):
    """Listed runs: run k has value k of each factor's list; see `design_forms.table_of`.

    A table cannot be extended: longer lists are other factors.
    """

    kind = "table"

    runs: int
    """Rows of the table."""

    def __post_init__(self) -> None:
        _check_runs(self.runs, RUNS)

    @classmethod
    def of(cls, factors: Mapping[str, Any]) -> Table:
        """The table of these factors: lists of one length, or single numbers, which are held."""
        counts = _list_lengths("a table", factors)
        runs = max(counts.values(), default=1)
        for name, count in counts.items():
            if count not in (1, runs):
                raise InvalidValue(
                    f"factors[{name!r}] has {count} numbers, another {runs}; the lists of a table "
                    "must be equally long"
                )
        return cls(runs)

    def rounds(self, factors: int, seed: int) -> Rounds:
        """One round."""
        return _one_round(
            self.runs,
            lambda numbers: np.repeat((numbers[:, None] + 0.5) / self.runs, factors, axis=1),
        )


def _list_lengths(what: str, factors: Mapping[str, Any]) -> dict[str, int]:
    """Number of values of each factor; raises for one that is not a list."""
    made = {name: factor_of(name, form) for name, form in factors.items()}
    counts = dict(zip(made, level_counts(made), strict=True))
    for name, count in counts.items():
        if not count:
            raise InvalidValue(
                f"factors[{name!r}] = {made[name]} has no list of numbers, which {what} needs; "
                "allowed are levels, such as [1, 2, 5], and {'steps': [low, high, count]}"
            )
    return counts


@dataclass(frozen=True)
class Converging(DesignSettings):
    """Random runs, in rounds, until the confidence interval of a quantity is narrow enough.

    Looking repeatedly at a 95 % interval would find it narrow at a moment when it is wrong, more
    often than in one case of twenty. So the error probability is shared equally between the looks
    that there can be: whenever it stops, the interval holds the true value with at least the level,
    exactly for probabilities and quantiles, for means as far as Student's distribution applies.
    That takes about twice the runs of a single look, and no more, since each round adds half of all
    before it, so that there are few looks.

    Runs without a number are left out of means and quantiles, and have not reached a threshold.

    Findings: `value`, `low`, `high`, `level`; `reached`, whether the interval is narrow enough;
    `looks`, the number of looks; `runs`, and `without`, how many of them have no number.
    """

    kind = "converging"
    larger = ("most",)
    smaller = ("width",)

    column: str
    """The column that is estimated."""
    width: float
    """Largest width of the interval, from end to end, in the unit of the column."""
    quantity: str | tuple[str, float] = "mean"
    """"mean", "probability" or ("quantile", share)."""
    threshold: float | None = None
    """Value that the column reaches, for a probability; None for a column of truth values."""
    level: float = 0.95
    """Confidence of the interval."""
    first: int = 1000
    """Runs of the first round."""
    growth: float = 1.5
    """Factor by which the number of runs grows with each round."""
    most: int = 100_000
    """Runs after which it ends, narrow enough or not."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        positive("width", self.width)
        object.__setattr__(self, "quantity", _quantity(self.quantity))
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
        """The column."""
        return (self.column,)

    def totals(self) -> list[int]:
        """Runs after each of the rounds that there can be."""
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
            following = partial(_points_from, points, before)
            read = yield Round(total - before, following, self.reads())
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


def _quantity(quantity: Any) -> Any:
    if quantity in ("mean", "probability"):
        return quantity
    pair = tuple(quantity) if isinstance(quantity, (list, tuple)) else ()
    if len(pair) != 2 or pair[0] != "quantile" or not 0.0 < finite("quantity[1]", pair[1]) < 1.0:
        raise InvalidValue(
            f"quantity = {quantity!r} must be 'mean', 'probability' or ('quantile', share) with a "
            "share between 0 and 1, such as ('quantile', 0.95)"
        )
    return "quantile", float(pair[1])
