"""Designs that go through lists: all combinations of them, or the rows of a table."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..brief import brief_repr
from ..checks import whole
from ..errors import InvalidValue
from ..files import path_of
from ..random.factors import Factor, factor_of, level_counts
from ..random.seeds import RUNS
from .design import Choosing
from .experiment import Runs
from .plain import goes_on, identity_of
from .sampling import one_round


@dataclass(frozen=True)
class Grid:
    """All combinations of factors that are lists; the last factor changes fastest.

    `Grid.of(factors)` counts for itself.
    """

    counts: tuple[int, ...]
    """How many numbers each factor has."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        counts = tuple(whole(f"counts[{k}]", n, "at least 1") for k, n in enumerate(self.counts))
        object.__setattr__(self, "counts", counts)
        if self.runs > RUNS:
            raise InvalidValue(f"counts = {counts} make {self.runs} runs; allowed are {RUNS}")

    @classmethod
    def of(cls, factors: Mapping[str, Any]) -> Grid:
        """The grid of these factors; raises unless all are lists of numbers."""
        return cls(tuple(_counts("a grid", factors).values()))

    @property
    def runs(self) -> int:
        """The product of the counts."""
        return math.prod(self.counts)

    def rounds(self, factors: int, seed: int) -> Choosing:
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

        return one_round(self.runs, points)

    def reads(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def identity(self) -> dict[str, Any]:
        """Kind and settings."""
        return identity_of(self, "grid")

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Only itself: another grid has other neighbours."""
        return goes_on(self.identity(), before)


@dataclass(frozen=True)
class Table:
    """Runs that are listed: run k has the number k of each factor's list; see `table_of`."""

    runs: int
    """Rows of the table."""

    def __post_init__(self) -> None:
        if whole("runs", self.runs, "at least 1") > RUNS:
            raise InvalidValue(f"runs = {self.runs} must be at most {RUNS}")

    @classmethod
    def of(cls, factors: Mapping[str, Any]) -> Table:
        """The table of these factors: lists of one length, or single numbers, which are held."""
        counts = _counts("a table", factors)
        runs = max(counts.values(), default=1)
        for name, count in counts.items():
            if count not in (1, runs):
                raise InvalidValue(
                    f"factors[{name!r}] has {count} numbers, another {runs}; the lists of a table "
                    "must be equally long"
                )
        return cls(runs)

    def rounds(self, factors: int, seed: int) -> Choosing:
        """One round."""
        return one_round(self.runs, lambda numbers: self._points(numbers, factors))

    def _points(self, numbers: Runs, factors: int) -> Array:
        return np.repeat((numbers[:, None] + 0.5) / self.runs, factors, axis=1)

    def reads(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def identity(self) -> dict[str, Any]:
        """Kind and settings."""
        return identity_of(self, "table")

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Only itself: longer lists are other factors."""
        return goes_on(self.identity(), before)


def table_of(
    rows: str | os.PathLike[str] | Mapping[str, Any],
) -> tuple[dict[str, Factor], Table]:
    """The factors and the design of runs that are listed.

    Args:
        rows: columns by name, or a CSV or Parquet file of them.

    The numbers become part of the plan.
    """
    if isinstance(rows, Mapping):
        factors = {name: factor_of(name, values) for name, values in rows.items()}
        return factors, Table.of(factors)
    from ..identify.table_file import read_csv, read_parquet

    path = path_of(rows)
    cells = (read_parquet if path.suffix == ".parquet" else read_csv)(path)
    columns: dict[str, Factor] = {}
    for name, column in cells.items():
        if column.values is None or not np.isfinite(column.values).all():
            fault = column.problem or _not_finite(column.values)
            raise InvalidValue(f"{path}: column {name!r} cannot be a factor: {fault}")
        if not column.values.size:
            raise InvalidValue(f"{path}: column {name!r} has no rows; at least 1 is needed")
        columns[name] = factor_of(name, column.values)
    return columns, Table.of(columns)


def _not_finite(values: Array | None) -> str:
    bad = np.flatnonzero(~np.isfinite(values)) if values is not None else np.array([0])
    return f"row {bad[0] + 1} is empty or not finite, and {len(bad) - 1} others"


def _counts(what: str, factors: Mapping[str, Any]) -> dict[str, int]:
    """Numbers that each factor has; raises for one that is no list."""
    made = {name: factor_of(name, form) for name, form in factors.items()}
    counts = dict(zip(made, level_counts(made), strict=True))
    for name, count in counts.items():
        if not count:
            raise InvalidValue(
                f"factors[{name!r}] = {made[name]} has no list of numbers, which {what} needs; "
                "allowed are levels, such as [1, 2, 5], and {'steps': [low, high, count]}"
            )
    return counts
