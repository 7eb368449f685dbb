"""Designs that spread runs over the unit cube: drawn, Latin, Sobol, Saltelli.

Each is one round, and every run is told from its number: nothing is kept of all the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import flag, whole
from ..errors import InvalidValue
from ..random.seeds import RUNS
from ..random.streams import uniforms
from .design import Choosing, Round
from .experiment import Runs
from .permutation import permuted
from .plain import goes_on, identity_of
from .sobol_points import MOST_POINTS, SobolPoints


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
