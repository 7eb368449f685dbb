"""CommonRoad scenarios; `skidpad.Simulation` has the interface of commonroad-control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .motion import read_scenario

__all__ = ["read_scenario"]

__getattr__ = lazy_attributes(__name__, {".motion": ("read_scenario",)})
