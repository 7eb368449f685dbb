"""Simulation of vehicles: one in a loop, many at once, with derivatives, under uncertainty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .linearisation import linearise_acceleration
    from .monte_carlo import MonteCarlo, proportion

__all__ = ["MonteCarlo", "linearise_acceleration", "proportion"]

__getattr__ = lazy_attributes(
    __name__,
    {
        ".linearisation": ("linearise_acceleration",),
        ".monte_carlo": ("MonteCarlo", "proportion"),
    },
)
