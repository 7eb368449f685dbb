"""`two_track` and `full_car`: dynamic cars assembled from parts, and their parameter sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .sets import SETS
    from .trailers import CARAVAN, DOLLY, SEMI_TRAILER, TRACTOR

__all__ = ["CARAVAN", "DOLLY", "SEMI_TRAILER", "SETS", "TRACTOR"]

__getattr__ = lazy_attributes(
    __name__,
    {".sets": ("SETS",), ".trailers": ("CARAVAN", "DOLLY", "SEMI_TRAILER", "TRACTOR")},
)
