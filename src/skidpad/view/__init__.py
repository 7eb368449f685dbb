"""Viewing of runs and worlds: figures, pages, films, live views and recordings.

A `Stage` describes what can be drawn, and a `Film` holds it over time as a page for the browser;
`trajectory_stage` makes both from recorded runs. A `FramePainter` draws single pictures as arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from . import plots, recording
    from .film import Film
    from .frames import FramePainter
    from .pages.drive import write_drive_page
    from .stage import Disc, Line, Stage, place_vehicle
    from .stages import trajectory_stage

__all__ = [
    "Disc",
    "Film",
    "FramePainter",
    "Line",
    "Stage",
    "place_vehicle",
    "plots",
    "recording",
    "trajectory_stage",
    "write_drive_page",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        ".film": ("Film",),
        ".frames": ("FramePainter",),
        ".pages.drive": ("write_drive_page",),
        ".stage": ("Disc", "Line", "Stage", "place_vehicle"),
        ".stages": ("trajectory_stage",),
    },
    modules={name: f".{name}" for name in ("plots", "recording")},
)
