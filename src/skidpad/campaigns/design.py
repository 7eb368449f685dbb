"""How a campaign chooses its runs: designs as generators of rounds.

A design asks for a round of points, is handed what it wanted to read of them, asks for more or
ends. So one that depends on what came out (refinement, convergence, rare events) is written
straight down, and what it decides depends on whole rounds alone: not on chunks, workers or how
often it was stopped. On resuming, the generator runs again from its start and is handed what is in
the folder.

Points lie in the unit cube, a column per factor; the factors say what number a share of the way is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

from ..arrays import AnyArray, Array
from ..brief import brief_repr
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
