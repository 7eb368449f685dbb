"""Exact ray casting against segments and occupancy grids, one ray or millions at a time."""

from __future__ import annotations

from .fan import Fan, fan
from .scene import Scene

__all__ = ["Fan", "Scene", "fan"]
