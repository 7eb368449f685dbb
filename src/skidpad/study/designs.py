"""Designs: how a campaign chooses its runs.

A design is a generator of rounds. It yields a round of points, receives the columns of those runs
that it asked for, and yields another round or returns its findings. A design that depends on
results (convergence, refinement, rare events) is therefore plain sequential code. Its decisions
depend on whole rounds only, not on chunks, workers or interruptions. When a campaign is resumed,
the generator starts again and receives the results that are in the folder.

Points lie in the unit cube, one column per factor; the factors map them to physical values. Every
point can be computed from its number, so no design holds all of its points in memory.

This module has the interface (`Design`, `Round`), designs that fill the unit cube (`Random`,
`LatinHypercube`, `Sobol`, `Saltelli`) and designs that enumerate lists (`Grid`, `Table`).
`adaptive` has designs that depend on results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import AnyArray, Array
from ..core.checks import flag, whole
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..random.factors import factor_of, level_counts
from ..random.streams import RUNS, key_of, uniforms
from .experiment import Runs

Points: TypeAlias = Callable[[Runs], Array]
"""Function from numbers of points (n,) to the points (n, factors), between 0 and 1."""


class Round(NamedTuple):
    """A set of runs that a design requests together."""

    size: int
    points: Points
    """Points by their numbers in the round, from 0; a point does not depend on which others are
    requested."""
    reads: tuple[str, ...] = ()
    """Names of the columns that the design receives, complete and in order, after the round."""

    __repr__ = brief_repr

    @classmethod
    def of(cls, points: Array, reads: tuple[str, ...] = ()) -> Round:
        """Make a round of the points (n, factors)."""
        return cls(len(points), lambda numbers: points[numbers], reads)


Rounds: TypeAlias = Generator[Round, Mapping[str, AnyArray], Mapping[str, Any]]
"""Generator of a design: repeats `read = yield round`, then returns its findings as plain
values, such as a probability and its coefficient of variation."""


class Design(Protocol):
    """Interface of a design. Designs are frozen dataclasses whose fields are the settings."""

    def rounds(self, factors: int, seed: int) -> Rounds:
        """Generate the rounds for a number of factors; random choices use streams of the seed."""
        ...

    @property
    def runs(self) -> int:
        """The largest number of runs."""
        ...

    def reads(self) -> tuple[str, ...]:
        """Names of the columns that the design reads, so that unknown names are reported before the
        start."""
        ...

    def identity(self) -> dict[str, Any]:
        """The design as plain values (JSON): `{"kind": "sobol", "runs": 4096}`."""
        ...

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether the first runs of this design are all the runs of the design with the identity
        `before`."""
        ...


class DesignSettings:
    """Base of the dataclasses of designs: derives identity and extension from the settings."""

    kind: ClassVar[str]
    """Name of the design in plain values."""
    larger: ClassVar[tuple[str, ...]] = ()
    """Settings that may increase when a design is extended."""
    smaller: ClassVar[tuple[str, ...]] = ()
    """Settings that may decrease when a design is extended."""

    def reads(self) -> tuple[str, ...]:
        return ()

    def identity(self) -> dict[str, Any]:
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
        """Whether the settings differ from `before` only in permitted increases and decreases."""
        own = self.identity()
        return own.keys() == before.keys() and all(
            (value == before[name])
            or (name in self.larger and value > before[name])
            or (name in self.smaller and value < before[name])
            for name, value in own.items()
        )


def random_points(factors: int, seed: int, channel: str = "campaign.random") -> Points:
    """Independent, uniformly distributed points of a random channel."""
    return lambda numbers: uniforms(seed, channel, 0, numbers, factors)[0]


_BITS = 30
"""Bits of a coordinate, the most that SciPy supports."""
MOST_POINTS = 1 << _BITS


def sobol_points(dimensions: int, seed: int, count: int) -> Points:
    """The first `count` points of a scrambled Sobol sequence, each in the middle of its cell of
    2⁻³⁰, so never 0 or 1.

    SciPy generates points in sequence. Point n is the exclusive or of a shift and of one direction
    for each bit of the Gray code of n. Shift and directions are obtained from SciPy's points 0 and
    the powers of 2, so that any point can be computed directly.
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
    """Positions of `numbers` (below `count`) in the random permutation of a seed and a channel.

    A Feistel network of keyed hashes is a bijection of words with an even number of bits; results
    outside the range are passed through it again until they fall inside (J. Black and P. Rogaway,
    "Ciphers with arbitrary finite domains", CT-RSA 2002). The permutation is never stored.
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
    """Upper half of the SplitMix64 finaliser, in which every bit depends on all input bits."""
    mixed = words + key
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _M0
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _M1
    return (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(16)


def _one_round(count: int, points: Points, findings: Mapping[str, Any] | None = None) -> Rounds:
    yield Round(count, points)
    return findings or {}


@dataclass(frozen=True)
class _OneRound(DesignSettings):
    """Base of designs that make all runs in one round; the number of runs is their only setting."""

    most: ClassVar[int] = RUNS

    runs: int
    """Number of runs."""

    def __post_init__(self) -> None:
        if whole("runs", self.runs, "at least 1") > self.most:
            raise InvalidValue(f"runs = {self.runs} must be at most {self.most}")


@dataclass(frozen=True)
class Random(_OneRound):
    """Independent random runs, suitable for probabilities and quantiles."""

    kind = "random"
    larger = ("runs",)

    def rounds(self, factors: int, seed: int) -> Rounds:
        """Generate the one round."""
        return _one_round(self.runs, random_points(factors, seed))


@dataclass(frozen=True)
class LatinHypercube(_OneRound):
    """Latin hypercube: each factor has one run in each of `runs` equal intervals, in random order.

    Means scatter less than with random runs; the reduction is largest if the factors act additively
    (M. D. McKay et al., Technometrics 21, 1979). It cannot be extended.
    """

    kind = "latin_hypercube"

    def rounds(self, factors: int, seed: int) -> Rounds:
        """Generate the one round."""
        within = random_points(factors, seed, "campaign.latin.within")

        def points(numbers: Runs) -> Array:
            orders = [
                permutation(seed, f"campaign.latin.{k}", numbers, self.runs) for k in range(factors)
            ]
            parts = np.array(orders).reshape(factors, len(numbers)).T
            return (parts + within(numbers)) / self.runs

        return _one_round(self.runs, points)


@dataclass(frozen=True)
class Sobol(_OneRound):
    """Scrambled Sobol points: the most even coverage, best with a power of 2 as the number."""

    kind = "sobol"
    larger = ("runs",)
    most = MOST_POINTS

    def rounds(self, factors: int, seed: int) -> Rounds:
        """Generate the one round."""
        return _one_round(self.runs, sobol_points(factors, seed, self.runs))


@dataclass(frozen=True)
class Saltelli(_OneRound):
    """Runs from which Sobol's sensitivity indices are estimated, in the order of SALib.

    There are two sets A and B of n points. Runs come in blocks: a point of A; this point with each
    factor in turn taken from B; with `second_order` also the point of B with each factor in turn
    taken from A; the point of B. So `runs` is a multiple of d + 2, or of 2 d + 2 with second order,
    for d factors. n should be a power of 2.
    """

    kind = "saltelli"
    larger = ("runs",)
    most = MOST_POINTS

    second_order: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        flag("second_order", self.second_order)

    @classmethod
    def of(cls, samples: int, factors: int, second_order: bool = False) -> Saltelli:
        """Make the design with `samples` points in each of A and B."""
        count = whole("factors", factors, "at least 1")
        block = saltelli_block(count, flag("second_order", second_order))
        return cls(whole("samples", samples, "at least 1") * block, second_order)

    def rounds(self, factors: int, seed: int) -> Rounds:
        """One round; raises unless the runs are a multiple of the block."""
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
    """Number of runs in a block of a Saltelli design."""
    return 2 * factors + 2 if second_order else factors + 2


@dataclass(frozen=True)
class Grid(DesignSettings):
    """All combinations of factors that are lists; the last factor changes fastest.

    `Grid.of(factors)` takes the counts from the factors. A grid cannot be extended, because runs
    would have other numbers in a larger one.
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
        """Make the grid of these factors; raises unless all are lists of numbers."""
        return cls(tuple(_list_lengths("a grid", factors).values()))

    @property
    def runs(self) -> int:
        """Number of runs: the product of the counts."""
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
class Table(_OneRound):
    """Listed runs: run k uses value k of each factor's list; see `campaign.table_of`.

    A table cannot be extended, because longer lists are other factors.
    """

    kind = "table"

    @classmethod
    def of(cls, factors: Mapping[str, Any]) -> Table:
        """Make the table of these factors: lists of equal length, or single values for all runs."""
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
        """Generate the one round."""
        return _one_round(
            self.runs,
            lambda numbers: np.repeat((numbers[:, None] + 0.5) / self.runs, factors, axis=1),
        )


def _list_lengths(what: str, factors: Mapping[str, Any]) -> dict[str, int]:
    """Number of values of each factor; raises for a factor that is not a list."""
    made = {name: factor_of(name, form) for name, form in factors.items()}
    counts = dict(zip(made, level_counts(made), strict=True))
    for name, count in counts.items():
        if not count:
            raise InvalidValue(
                f"factors[{name!r}] = {made[name]} has no list of numbers, which {what} needs; "
                "allowed are levels, such as [1, 2, 5], and {'steps': [low, high, count]}"
            )
    return counts
