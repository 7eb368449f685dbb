"""What a person sees of a run or a world: figures, pages, films, live views, recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from . import plots, recording, stage

__all__ = ["plots", "recording", "stage"]

__getattr__ = lazy_attributes(__name__, {}, modules={name: f".{name}" for name in __all__})
