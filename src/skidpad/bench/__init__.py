"""`skidpad bench`: speed and accuracy on this machine, beside what one would use instead.

A group is a module of this package with `entries(budget)`; `GROUPS` lists them. Everything is wall
clock, as a user sees it. A peer gets the same model, step, precision, number of threads and random
inputs, and both print the error of their end state against a tight reference.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module

from ..errors import InvalidValue
from . import budget as budgets
from .budget import Budget
from .entry import Entry
from .machine import machine, versions

GROUPS = {"core": ".core"}
"""The groups by name, each with the module that measures it."""


def main(group: str | None = None, *, as_json: bool = False, quick: bool = False) -> None:
    """Measure one group, or all, and print a table, or one JSON object and nothing else."""
    chosen = _chosen(group)
    budget = budgets.QUICK if quick else budgets.FULL
    if as_json:
        # Described first: the load of the machine must not include the measurement itself.
        about = {"machine": machine(), "versions": versions()}
        found = [entry.as_json() for name in chosen for entry in measure(name, budget)]
        sys.stdout.write(json.dumps({**about, "entries": found}, indent=2, allow_nan=False) + "\n")
    else:
        from .report import show

        show(machine(), versions(), (entry for name in chosen for entry in measure(name, budget)))


def measure(group: str, budget: Budget) -> Iterator[Entry]:
    """The entries of a group, one after the other as they are measured."""
    yield from import_module(GROUPS[group], __name__).entries(budget)


def _chosen(group: str | None) -> list[str]:
    if group is None:
        return list(GROUPS)
    if group not in GROUPS:
        raise InvalidValue(f"group = {group!r} is unknown; allowed are {', '.join(GROUPS)}")
    return [group]
