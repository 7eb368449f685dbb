"""Plane geometry: lines, polygons, maps, rays and collisions; and geodesy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from . import collision, maps, raycast

__all__ = ["collision", "maps", "raycast"]

__getattr__ = lazy_attributes(__name__, {}, modules={name: f".{name}" for name in __all__})
