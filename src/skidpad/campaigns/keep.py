"""Which runs are kept as whole trajectories: the worst, some at random, those that failed."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..brief import brief_repr
from ..checks import whole
from ..errors import InvalidValue
from ..random.streams import uniforms
from ..record import unknown_name
from .experiment import FAILED, RUN, Column
from .folder import Folder

_CHANNEL = "campaign.keep"


@dataclass(frozen=True)
class Keep:
    """Runs whose trajectories are kept, beside the columns of all runs."""

    highest: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many of the runs with the largest values, by column."""
    lowest: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many of those with the smallest."""
    random: int = 0
    """How many of all, drawn by the seed."""
    failed: int = 0
    """How many of those that failed, the first ones."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        for side in ("highest", "lowest"):
            for name, count in getattr(self, side).items():
                whole(f"keep.{side}[{name!r}]", count, "not negative", least=0)
        whole("keep.random", self.random, "not negative", least=0)
        whole("keep.failed", self.failed, "not negative", least=0)

    @property
    def most(self) -> int:
        """How many there are at most."""
        return sum((*self.highest.values(), *self.lowest.values(), self.random, self.failed))

    def check(self, columns: tuple[Column, ...]) -> None:
        """Raise for a column that there is not."""
        numbers = [column.name for column in columns if column.kind == "number"]
        for name in (*self.highest, *self.lowest):
            if name not in numbers:
                raise InvalidValue(unknown_name("keep", name, numbers, "column"))

    def identity(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "highest": dict(self.highest),
            "lowest": dict(self.lowest),
            "random": self.random,
            "failed": self.failed,
        }

    def chosen(self, folder: Folder, runs: int, seed: int) -> list[int]:
        """Numbers of the runs, in order; read from the folder in bounded memory."""
        wanted: set[int] = set(_drawn(self.random, runs, seed))
        for name, count in self.highest.items():
            wanted |= set(_extreme(folder, name, count, runs, 1.0))
        for name, count in self.lowest.items():
            wanted |= set(_extreme(folder, name, count, runs, -1.0))
        if self.failed:
            wanted |= set(_first_failed(folder, self.failed, runs))
        return sorted(wanted)


def _drawn(count: int, runs: int, seed: int) -> list[int]:
    """Different runs; the same ones in every process."""
    if count >= runs:
        return list(range(runs))
    drawn: dict[int, None] = {}
    step = 0
    while len(drawn) < count:
        shares = uniforms(seed, _CHANNEL, np.arange(step, step + count))[:, 0, 0]
        for share in shares.tolist():
            if len(drawn) < count:
                drawn[int(share * runs)] = None
        step += count
    return list(drawn)


def _extreme(folder: Folder, name: str, count: int, runs: int, sign: float) -> list[int]:
    """Runs with the largest values times the sign; of equal ones the first."""
    best: list[tuple[float, int]] = []
    for batch in folder.batches((RUN, name), 0, runs):
        values = sign * batch[name]
        known = np.flatnonzero(~np.isnan(values))
        order = known[np.argsort(-values[known], kind="stable")[:count]]
        best += [(float(values[k]), -int(batch[RUN][k])) for k in order.tolist()]
        best = heapq.nlargest(count, best)
    return [-number for _, number in best]


def _first_failed(folder: Folder, count: int, runs: int) -> list[int]:
    failed: list[int] = []
    for batch in folder.batches((RUN, FAILED), 0, runs):
        failed += batch[RUN][batch[FAILED]].tolist()
        if len(failed) >= count:
            break
    return failed[:count]
