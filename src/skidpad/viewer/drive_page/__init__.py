"""A page that drives a vehicle without a server; `skidpad html --drive` writes it."""

from __future__ import annotations

from .page import drive_page, write_drive_page
from .places import Place, plane_place, track_of, track_place, world_place

__all__ = [
    "Place",
    "drive_page",
    "plane_place",
    "track_of",
    "track_place",
    "world_place",
    "write_drive_page",
]
