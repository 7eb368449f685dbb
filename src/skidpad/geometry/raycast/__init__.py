"""Exact ray casting against segments and occupancy grids, one ray or millions at a time."""

from .scene import Scene

__all__ = ["Scene"]
