"""CommonRoad scenarios; `skidpad.Simulation` has the interface of commonroad-control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .scenario import Scenario, read_scenario
    from .simulation import Setup

__all__ = ["Scenario", "Setup", "read_scenario"]

__getattr__ = lazy_attributes(
    __name__, {".scenario": ("Scenario", "read_scenario"), ".simulation": ("Setup",)}
)
