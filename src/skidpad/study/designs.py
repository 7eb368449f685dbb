"""Designs: how a campaign chooses its runs.

A design is a generator of rounds. It yields a round of points, receives the columns of those runs
that it asked for, and yields another round or returns its findings. A design that depends on
results (convergence, refinement, rare events) is therefore plain sequential code. Its decisions
depend on whole rounds only, not on chunks, workers or interruptions. When a campaign is resumed,
the generator starts again and receives the results that are in the folder.

Points lie in the unit cube, one column per factor; the factors map them to physical values. Every
point can be computed from its number, so no design holds all of its points in memory.

This module has the interface (`Design`, `Round`), designs that fill the unit cube (`Random`,
`LatinHypercube`, `Sobol`, `Saltelli`), designs that enumerate lists (`Grid`, `Table`), and
`Converging`, which stops when an estimate is precise enough. `rare_events` has designs that search
for a threshold. `design_of` makes a design from plain values, as in plan files, and `table_of` a
table design from the runs listed in a file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Generator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import AnyArray, Array
from ..core.checks import between, finite, flag, positive, whole
from ..core.files import brief_repr, path_of
from ..core.record import unknown_name
from ..errors import InvalidValue
from ..random.factors import Factor, factor_of, level_counts
from ..random.streams import RUNS, key_of, uniforms
from ..run.monte_carlo_runs import proportion
from .experiment import Runs

Points: TypeAlias = Callable[[Runs], Array]
"""Function from numbers of points (n,) to the points (n, factors), between 0 and 1."""


class Round(NamedTuple):
    """A set of runs that a design requests together."""

    size: int
    points: Points
    """Points by their numbers in the round, from 0; a point does not depend on which others are
    asked for."""
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
        """Names of the columns that it reads, so that unknown ones are reported before the
        start."""
        ...

    def identity(self) -> dict[str, Any]:
        """The design as plain values (JSON): `{"kind": "sobol", "runs": 4096}`."""
        ...

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether its first runs are all the runs of the design with the identity `before`."""
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


def _check_runs(runs: int, most: int) -> None:
    if whole("runs", runs, "at least 1") > most:
        raise InvalidValue(f"runs = {runs} must be at most {most}")


@dataclass(frozen=True)
class Random(DesignSettings):
    """Independent random runs, suitable for probabilities and quantiles."""

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
    """Latin hypercube: each factor has one run in each of `runs` equal intervals, in random order.

    Means scatter less than with random runs; the reduction is largest if the factors act additively
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
    """Scrambled Sobol points: the most even coverage, best with a power of 2 as the number."""

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
    """The runs from which Sobol's sensitivity indices are estimated, in the order of SALib.

    There are two sets A and B of n points. Runs come in blocks: a point of A; this point with each
    factor in turn taken from B; with `second_order` also the point of B with each factor in turn
    taken from A; the point of B. So `runs` is a multiple of d + 2, or of 2 d + 2 with second order,
    for d factors. n should be a power of 2.
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
        """Product of the counts."""
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
    """Listed runs: run k uses value k of each factor's list; see `table_of`.

    A table cannot be extended, because longer lists are other factors.
    """

    kind = "table"

    runs: int
    """Number of rows of the table."""

    def __post_init__(self) -> None:
        _check_runs(self.runs, RUNS)

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

    Repeated looks at a 95 % interval would stop at a wrong one in more than one case of twenty. So
    the error probability is shared equally between all possible looks: whenever the design stops,
    the interval contains the true value with at least probability `level`, exactly for
    probabilities and quantiles, and as far as Student's distribution applies for means. This takes
    about twice the runs of a single look. Each round adds half of all runs before it, so that there
    are few looks.

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
    """Threshold of a probability, reached by values of at least it; None for a truth column."""
    level: float = 0.95
    """Confidence of the interval."""
    first: int = 1000
    """Number of runs in the first round."""
    growth: float = 1.5
    """Ratio of the total numbers of runs after successive rounds."""
    most: int = 100_000
    """Number of runs after which it stops, even if the interval is too wide."""

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
        """The one column that is estimated."""
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
        from .results import mean_of, quantile_of

        known = values[~np.isnan(values)]
        if not known.size:
            return math.nan, -math.inf, math.inf
        if isinstance(self.quantity, tuple):
            return quantile_of(known, self.quantity[1], level)[:3]
        return mean_of(known, level)[:3]


def known_designs() -> dict[str, Any]:
    """Classes of designs by their name in plain values."""
    from .rare_events import Refinement, SubsetSimulation

    adaptive = (Converging, Refinement, SubsetSimulation)
    kinds = (*adaptive, Grid, LatinHypercube, Random, Saltelli, Sobol, Table)
    return {kind.kind: kind for kind in sorted(kinds, key=lambda one: one.kind)}


def design_of(
    plain: Any, factors: Mapping[str, Factor] | None = None, *, place: str = "design"
) -> Design:
    """Make a design from plain values, as in a plan file; raises for any other value.

    Args:
        plain: `{"kind": "sobol", "runs": 4096}`, `{"sobol": {"runs": 4096}}`, `{"sobol": 4096}`,
            or the name alone if all settings have a default or follow from the factors. The
            `first` of a refinement may be a number, the number of Sobol points.
        factors: factors of the campaign. `grid` and `table` take their lists from them,
            `refinement` its levels, and `saltelli` computes `runs` from `samples`.
        place: position in the file, for error messages.
    """
    designs = known_designs()
    kind, form = plain, None
    if isinstance(plain, Mapping) and "kind" in plain:
        kind, form = str(plain["kind"]), {name: plain[name] for name in plain if name != "kind"}
    elif isinstance(plain, Mapping) and len(plain) == 1:
        ((kind, form),) = plain.items()
    elif not isinstance(plain, str):
        raise InvalidValue(
            f"{place} = {plain!r} must be one of {', '.join(designs)} with its settings, as in "
            "{'sobol': {'runs': 4096}}"
        )
    kind = str(kind)
    if kind not in designs:
        raise InvalidValue(unknown_name(place, kind, tuple(designs), "kind"))
    form = {} if form is None else form if isinstance(form, Mapping) else {"runs": form}
    settings: dict[str, Any] = {str(name): value for name, value in form.items()}
    own = f"{place}.{kind}"
    if kind == "refinement" and "first" in settings:
        first = settings["first"]
        form = {"sobol": first} if isinstance(first, (int, float)) else first
        settings["first"] = design_of(form, factors, place=f"{own}.first")
    if factors is not None:
        settings = _completed(kind, settings, factors, own)
    known = tuple(field.name for field in fields(designs[kind]))
    for name in settings:
        if name not in known:
            raise InvalidValue(unknown_name(own, name, known, "setting"))
    for field in fields(designs[kind]):
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and field.name not in settings:
            raise InvalidValue(f"{own} needs {field.name}")
    values = {n: tuple(v) if isinstance(v, list) else v for n, v in settings.items()}
    try:
        return designs[kind](**values)
    except (InvalidValue, TypeError) as error:
        raise InvalidValue(f"{own}: {error}") from error


def _completed(
    kind: str, settings: dict[str, Any], factors: Mapping[str, Factor], place: str
) -> dict[str, Any]:
    """Settings of a design, completed by those that follow from the factors."""
    if kind == "grid" and not settings:
        return {"counts": Grid.of(factors).counts}
    if kind == "table" and not settings:
        return {"runs": Table.of(factors).runs}
    if kind == "refinement":
        levels = level_counts(factors)
        return {"levels": levels if any(levels) else (), **settings}
    if kind == "saltelli" and "samples" in settings:
        if "runs" in settings:
            raise InvalidValue(f"{place} takes runs or samples, not both")
        second = settings.get("second_order", False)
        runs = Saltelli.of(settings["samples"], len(factors), second).runs
        return {"runs": runs, "second_order": second}
    return settings


def table_of(
    rows: str | os.PathLike[str] | Mapping[str, Any],
) -> tuple[dict[str, Factor], Table]:
    """Factors and `Table` design of listed runs; the numbers become part of the plan.

    Args:
        rows: columns by name, or the path of a CSV or Parquet file.
    """
    if isinstance(rows, Mapping):
        factors = {name: factor_of(name, values) for name, values in rows.items()}
        return factors, Table.of(factors)
    from .logs.tables import read_csv, read_parquet

    path = path_of(rows)
    cells = (read_parquet if path.suffix == ".parquet" else read_csv)(path)
    columns: dict[str, Factor] = {}
    for name, column in cells.items():
        values = column.values
        if values is None or not np.isfinite(values).all():
            bad = np.array([0]) if values is None else np.flatnonzero(~np.isfinite(values))
            others = f"row {bad[0] + 1} is empty or not finite, and {len(bad) - 1} others"
            raise InvalidValue(
                f"{path}: column {name!r} cannot be a factor: {column.problem or others}"
            )
        if not values.size:
            raise InvalidValue(f"{path}: column {name!r} has no rows; at least 1 is needed")
        columns[name] = factor_of(name, values)
    return columns, Table.of(columns)
