"""Identify a vehicle from a recorded run: compare a model with it, fit its parameters to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import record
from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .axle_curves import axle_curves
    from .comparison import compare
    from .fitting import fit
    from .pedal_maps import pedal_maps

__all__ = [
    "axle_curves",
    "compare",
    "fit",
    "pedal_maps",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        ".axle_curves": ("axle_curves",),
        ".comparison": ("compare",),
        ".fitting": ("fit",),
        ".pedal_maps": ("pedal_maps",),
    },
)

record.document_all()
