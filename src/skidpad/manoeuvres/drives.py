"""Which cases are driven in one rollout: those of one vehicle, and those of others of its model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..model import Vehicle
from ..policy import Policy
from ..run.fleet import Fleet
from .case import Case
from .open_loop import is_open
from .subject import Subject

__all__ = ["Drive", "differing", "shared", "together"]

MANY = 64
"""Variants from which on cases are driven one after the other, to save memory."""
SHORTER = 0.75
"""Share of the longest drive down to which shorter ones go along and end when they are done."""
MOST = 2_000_000
"""Vehicles times steps of one rollout, to save memory."""
FEW = 64
"""Vehicles of one rollout from which on it is not faster with those of others."""


@dataclass(frozen=True)
class Drive:
    """Cases that one vehicle under test drives at once."""

    car: Subject
    cases: list[Case]
    steps: list[tuple[int, int]]
    """Of each case before and after time zero."""
    places: list[int]
    """Of the cases among all that were asked for."""
    driver: Policy
    """Of this vehicle."""
    fleet: Fleet
    """Of vehicles with their drivers; of a vehicle alone where it is told before."""
    made_with: Vehicle
    """The vehicle that the fleet was made with, which has other parameters."""
    policy: Policy
    """The driver of that vehicle."""

    @property
    def is_open(self) -> bool:
        """Whether no driver is in the loop."""
        return is_open(self.car.vehicle)

    @property
    def longest(self) -> int:
        """Steps of the rollout."""
        return max(map(sum, self.steps))

    @property
    def vehicles(self) -> int:
        """How many the rollout has."""
        return len(self.cases) * self.car.variants

    @property
    def kind(self) -> Any:
        """What has to be the same of those that share a rollout."""
        names = frozenset(name for case in self.cases for name in case.driving)
        disturbed = any(case.disturbance for case in self.cases)
        alone = id(self) if self.is_open else None
        return id(self.fleet), names, disturbed, alone


def together(steps: Sequence[int], variants: int, lanes: int) -> list[list[int]]:
    """Which cases, by their numbers of steps, are driven in one rollout.

    Longest first; shorter ones join as long as they cost nothing, because there are lanes free, or
    are nearly as long.
    """
    groups: list[list[int]] = []
    for k in sorted(range(len(steps)), key=lambda k: -steps[k]):
        if groups and variants < MANY:
            group, longest = groups[-1], steps[groups[-1][0]]
            before, after = len(group) * variants, (len(group) + 1) * variants
            free = ceil(before / lanes) == ceil(after / lanes)
            if (free or steps[k] >= SHORTER * longest) and after * longest <= MOST:
                group.append(k)
                continue
        groups.append([k])
    return groups


def shared(drives: Sequence[Drive]) -> list[list[Drive]]:
    """Which drives go into one rollout: those of one kind and about as long, as memory allows."""
    groups: list[list[Drive]] = []
    for one in sorted(drives, key=lambda one: -one.longest):
        for group in groups:
            longest, vehicles = group[0].longest, sum(other.vehicles for other in group)
            fits = vehicles + one.vehicles <= FEW and (vehicles + one.vehicles) * longest <= MOST
            if fits and one.longest >= SHORTER * longest and one.kind == group[0].kind:
                group.append(one)
                break
        else:
            groups.append([one])
    return groups


def differing(
    base: Any, parts: Sequence[tuple[dict[str, Array], Any]], counts: Sequence[int]
) -> dict[str, Array]:
    """Rows of several, one behind the other, by names of the fields of a record: those that one
    has rows of, or in which the record of one differs from the base."""
    usual = record.flatten(base)
    leaves = [record.flatten(other) for _, other in parts]
    out: dict[str, Array] = {}
    for k, name in enumerate(record.names(type(base))):
        rows = [own.get(name) for own, _ in parts]
        values = [leaf[k] for leaf in leaves]
        if any(row is not None for row in rows) or any(value != usual[k] for value in values):
            out[name] = np.concatenate(
                [
                    np.full(count, value, dtype=float) if row is None else row
                    for row, value, count in zip(rows, values, counts, strict=True)
                ]
            )
    return out
