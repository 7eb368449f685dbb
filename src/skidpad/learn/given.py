"""What is told instead of drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from ..arrays import Array


@dataclass(frozen=True)
class Given:
    """A distribution that nobody draws from: whoever begins an episode tells the number.

    `Environments.reset(given={"params.m": 1400.0})` does; see `random.factors.Factor` for the rest.
    """

    low: float = -inf
    high: float = inf

    def value(self, shares: Array) -> Array:
        """The numbers themselves, (n,)."""
        return shares

    def traced(self, share: Any) -> Any:
        """The number itself."""
        return share

    def identity(self) -> dict[str, Any]:
        """`{"given": True}`."""
        return {"given": True}


GIVEN = Given()


def given_names(task: Any) -> list[str]:
    """What is told at the start of each episode of a task; a saved one has no such things."""
    if not isinstance(task.randomised, Mapping):
        return []
    factors = {**{f"draw.{name}": factor for name, factor in task.draws.items()}, **task.randomised}
    return [name for name, factor in factors.items() if isinstance(factor, Given)]
