"""How a campaign chooses its runs: designs as generators of rounds.

A design asks for a round of points, is handed what it wanted to read of them, asks for more or
ends. So one that depends on what came out (refinement, convergence, rare events) is written
straight down, and what it decides depends on whole rounds alone: not on chunks, workers or how
often it was stopped. On resuming, the generator runs again from its start and is handed what is in
the folder.

Points lie in the unit cube, a column per factor; the factors say what number a share of the way is.

Scrambled Sobol points by their numbers.

SciPy draws them one after the other. Point n is the exclusive or of a shift and of one direction
for each bit of the Gray code of n; shift and directions are told from SciPy's points number 0 and
the powers of 2, and then any point takes as long as any other.

A random order of the numbers below n, place by place: nothing of it is kept.

A Feistel network of keyed hashes is a bijection of words of an even number of bits; numbers that
fall outside are sent through it again until they fall inside (J. Black and P. Rogaway, "Ciphers
with arbitrary finite domains", CT-RSA 2002).

Designs as plain values, and whether one goes on where another ended.

Designs that spread runs over the unit cube: drawn, Latin, Sobol, Saltelli.

Each is one round, and every run is told from its number: nothing is kept of all the others.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import AnyArray, Array
from ..core.checks import flag, whole
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..random.streams import RUNS, key_of, uniforms
from .experiment import Runs


class Round(NamedTuple):
    """Runs that are chosen together."""

    size: int
    """How many runs it has."""
    points: Callable[[Runs], Array]
    """Points (n, factors) between 0 and 1 by their numbers in the round, (n,) from 0; any part of
    the round gives the numbers that it has in the whole."""
    reads: tuple[str, ...] = ()
    """Columns that the design is handed, whole and in order, when the round is done."""

    __repr__ = brief_repr

    @classmethod
    def of(cls, points: Array, reads: tuple[str, ...] = ()) -> Round:
        """The round of points that are all known, (n, factors)."""
        return cls(len(points), lambda numbers: points[numbers], reads)


Choosing: TypeAlias = Generator[Round, Mapping[str, AnyArray], Mapping[str, Any]]
"""What a design does: `read = yield round`, as often as it needs; at last what it found, as plain
values such as a probability and its coefficient of variation."""


class Design(Protocol):
    """A frozen dataclass of its settings."""

    def rounds(self, factors: int, seed: int) -> Choosing:
        """Choose runs of so many factors; random choices come from streams of the seed."""
        ...

    @property
    def runs(self) -> int:
        """How many runs there are at most."""
        ...

    def reads(self) -> tuple[str, ...]:
        """Names of columns that it reads, so that a wrong one is known before the start."""
        ...

    def identity(self) -> dict[str, Any]:
        """What it is, as plain values (JSON): `{"kind": "sobol", "runs": 4096}`."""
        ...

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether its first runs are all the runs of the design with this identity."""
        ...


_BITS = 30
"""Of a share: as many as SciPy takes."""
MOST_POINTS = 1 << _BITS
_CHANNEL = "campaign.sobol"


class SobolPoints:
    """The first points of a scrambled Sobol sequence.

    Args:
        dimensions: numbers of a point.
        seed: of the scrambling.
        count: how many points may be asked for.
    """

    def __init__(self, dimensions: int, seed: int, count: int) -> None:
        self._shift, self._directions = _digits(dimensions, seed, max(count - 1, 0).bit_length())

    def __call__(self, numbers: Runs) -> Array:
        """Points (n, dimensions), each in the middle of its cell of 2⁻³⁰: never 0 or 1."""
        gray = numbers ^ (numbers >> 1)
        words = np.repeat(self._shift[None, :], len(numbers), axis=0)
        for bit, direction in enumerate(self._directions):
            words[(gray >> bit) & 1 == 1] ^= direction
        return (words.astype(np.float64) + 0.5) * 2.0**-_BITS


def _digits(dimensions: int, seed: int, bits: int) -> tuple[Runs, list[NDArray[np.int64]]]:
    """The shift, and the direction of each bit of the Gray code."""
    # SciPy takes a second to import, which `import skidpad` should not pay.
    from scipy.stats import qmc

    low, high = key_of(seed, _CHANNEL)
    Sobol: Any = qmc.Sobol  # SciPy 1.14 has no rng
    sequence = Sobol(dimensions, scramble=True, bits=_BITS, seed=low | high << 32)

    def following() -> NDArray[np.int64]:
        return (sequence.random(1)[0] * 2.0**_BITS).astype(np.int64)

    shift = following()
    directions: list[NDArray[np.int64]] = []
    last = np.zeros_like(shift)
    for bit in range(bits):
        if bit > 1:
            sequence.fast_forward((1 << bit - 1) - 1)
        # The Gray code of 2ᵏ has the bits k and k - 1.
        last = following() ^ shift ^ last
        directions.append(last)
    return shift, directions


_ROUNDS = 6
_M0, _M1 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def permuted(seed: int, channel: str, numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Where each of some numbers below `count` stands in the order of a seed and a channel."""
    half = (max(count - 1, 1).bit_length() + 1) // 2
    keys = [_key(seed, f"{channel}.{k}") for k in range(_ROUNDS)]
    words = numbers.astype(np.uint64)
    outside: Any = np.arange(len(words))
    while outside.size:
        words[outside] = _network(words[outside], np.uint64(half), keys)
        outside = outside[words[outside] >= np.uint64(count)]
    return words.astype(np.int64)


def _network(words: NDArray[np.uint64], half: np.uint64, keys: list[np.uint64]) -> Any:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = words >> half, words & mask
    for key in keys:
        left, right = right, left ^ (_hash(right, key) & mask)
    return left << half | right


def _hash(words: NDArray[np.uint64], key: np.uint64) -> Any:
    """The finaliser of SplitMix64, in which every bit depends on all bits; the upper half of it."""
    mixed = words + key
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _M0
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _M1
    return (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(16)


def _key(seed: int, channel: str) -> np.uint64:
    low, high = key_of(seed, channel)
    return np.uint64(low | high << 32)


def identity_of(design: Any, kind: str) -> dict[str, Any]:
    """A design as its kind and its settings, of which `design_of` makes it again."""
    settings = {field.name: _plain(getattr(design, field.name)) for field in fields(design)}
    return {"kind": kind, **settings}


def goes_on(
    own: Mapping[str, Any],
    before: Mapping[str, Any],
    *,
    larger: tuple[str, ...] = (),
    smaller: tuple[str, ...] = (),
) -> bool:
    """Whether an identity differs from one before in nothing but these settings, which may be
    larger or smaller."""
    if own.keys() != before.keys():
        return False
    return all(
        (value == before[name])
        or (name in larger and value > before[name])
        or (name in smaller and value < before[name])
        for name, value in own.items()
    )


def _plain(value: Any) -> Any:
    if hasattr(value, "identity"):
        return value.identity()
    return list(value) if isinstance(value, tuple) else value


def one_round(
    count: int, points: Callable[[Runs], Array], findings: Mapping[str, Any] | None = None
) -> Choosing:
    """A design that asks once and looks at nothing."""
    yield Round(count, points)
    return findings or {}


def drawn_points(factors: int, seed: int, channel: str = "campaign.random") -> Any:
    """Points of a channel, by their numbers: independent and uniform."""

    def points(numbers: Runs) -> Array:
        return uniforms(seed, channel, 0, numbers, factors)[0]

    return points


@dataclass(frozen=True)
class Random:
    """Runs drawn one independent of the other: the choice for probabilities and quantiles."""

    runs: int

    def __post_init__(self) -> None:
        _check_runs(self.runs, RUNS)

    def rounds(self, factors: int, seed: int) -> Choosing:
        """One round."""
        return one_round(self.runs, drawn_points(factors, seed))

    def reads(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def identity(self) -> dict[str, Any]:
        """Kind and settings."""
        return identity_of(self, "random")

    def extends(self, before: Mapping[str, Any]) -> bool:
        """More runs go on where fewer ended."""
        return goes_on(self.identity(), before, larger=("runs",))


@dataclass(frozen=True)
class LatinHypercube:
    """Runs of which each factor has one in each of `runs` equal parts, in random orders.

    Means have less scatter than those of drawn runs, the less the more the factors act each on
    their own (M. D. McKay et al., Technometrics 21, 1979). It cannot be extended.
    """

    runs: int

    def __post_init__(self) -> None:
        _check_runs(self.runs, RUNS)

    def rounds(self, factors: int, seed: int) -> Choosing:
        """One round."""
        within = drawn_points(factors, seed, "campaign.latin.within")

        def points(numbers: Runs) -> Array:
            orders = [
                permuted(seed, f"campaign.latin.{k}", numbers, self.runs) for k in range(factors)
            ]
            parts = np.array(orders).reshape(factors, len(numbers)).T
            return (parts + within(numbers)) / self.runs

        return one_round(self.runs, points)

    def reads(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def identity(self) -> dict[str, Any]:
        """Kind and settings."""
        return identity_of(self, "latin_hypercube")

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Only itself."""
        return goes_on(self.identity(), before)


@dataclass(frozen=True)
class Sobol:
    """Scrambled Sobol points: the most even spread, best of powers of 2."""

    runs: int

    def __post_init__(self) -> None:
        _check_runs(self.runs, MOST_POINTS)

    def rounds(self, factors: int, seed: int) -> Choosing:
        """One round."""
        return one_round(self.runs, _sobol(factors, seed, self.runs))

    def reads(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def identity(self) -> dict[str, Any]:
        """Kind and settings."""
        return identity_of(self, "sobol")

    def extends(self, before: Mapping[str, Any]) -> bool:
        """More runs go on where fewer ended."""
        return goes_on(self.identity(), before, larger=("runs",))


@dataclass(frozen=True)
class Saltelli:
    """The runs that Sobol's sensitivity indices are estimated from, in the order of SALib.

    There are two sets A and B of n points. Runs come in blocks: a point of A, that point with each
    factor in turn from B, if `second_order` that of B with each factor in turn from A, the point of
    B. So `runs` is a multiple of d + 2, or of 2 d + 2, for d factors; best n is a power of 2.
    """

    runs: int
    second_order: bool = False

    def __post_init__(self) -> None:
        _check_runs(self.runs, MOST_POINTS)
        flag("second_order", self.second_order)

    @classmethod
    def of(cls, samples: int, factors: int, second_order: bool = False) -> Saltelli:
        """The design with so many points of A and of B."""
        count = whole("factors", factors, "at least 1")
        block = _block(count, flag("second_order", second_order))
        return cls(whole("samples", samples, "at least 1") * block, second_order)

    def rounds(self, factors: int, seed: int) -> Choosing:
        """One round; raises unless the runs are whole blocks."""
        block = _block(factors, self.second_order)
        samples, rest = divmod(self.runs, block)
        if rest or not factors:
            raise InvalidValue(
                f"runs = {self.runs} of Saltelli must be a multiple of {block} for {factors} "
                f"factors, such as {max(samples, 1) * block} or {(samples + 1) * block}"
            )
        sets = _sobol(2 * factors, seed, samples)
        findings = {"samples": samples, "second_order": self.second_order}
        return one_round(self.runs, lambda numbers: _mixed(sets, numbers, factors, block), findings)

    def reads(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def identity(self) -> dict[str, Any]:
        """Kind and settings."""
        return identity_of(self, "saltelli")

    def extends(self, before: Mapping[str, Any]) -> bool:
        """More runs go on where fewer ended."""
        return goes_on(self.identity(), before, larger=("runs",))


def _block(factors: int, second_order: bool) -> int:
    return 2 * factors + 2 if second_order else factors + 2


def _mixed(sets: Callable[[Runs], Array], numbers: Runs, factors: int, block: int) -> Array:
    """Runs of blocks: A, A with one factor of B, perhaps B with one factor of A, B."""
    samples, place = np.divmod(numbers, block)
    distinct, which = np.unique(samples, return_inverse=True)
    both = sets(distinct)[which]
    a, b = both[:, :factors], both[:, factors:]
    of_b = place == block - 1
    exchanged = (place[:, None] - 1) % factors == np.arange(factors)
    exchanged &= ((place > 0) & ~of_b)[:, None]
    of_b |= place > factors
    return np.where(of_b[:, None] ^ exchanged, b, a)


def _sobol(dimensions: int, seed: int, count: int) -> Callable[[Runs], Array]:
    if not dimensions:
        return lambda numbers: np.empty((len(numbers), 0))
    return SobolPoints(dimensions, seed, count)


def _check_runs(runs: int, most: int) -> None:
    if whole("runs", runs, "at least 1") > most:
        raise InvalidValue(f"runs = {runs} must be at most {most}")
