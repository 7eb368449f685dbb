"""The group `core`: fleets, gradients, single steps, compilation and import on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

from . import fleets, fresh, gradients, steps
from .budget import Budget
from .entry import Entry


def entries(budget: Budget) -> Iterator[Entry]:
    """All figures of the core."""
    yield from fleets.rk4_entries(budget)
    yield from fleets.radau_entries(budget)
    yield from gradients.entries(budget)
    yield from steps.entries(budget)
    yield from fresh.compile_entries(budget)
    yield from fresh.import_entries(budget)
