"""What is told instead of drawn."""

from __future__ import annotations

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
