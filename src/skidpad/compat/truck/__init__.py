"""The small truck of robotics-laboratory/truck; the engine itself is `skidpad.Engine`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .model_file import Noise, Status

__all__ = ["Noise", "Status"]

__getattr__ = lazy_attributes(__name__, {".model_file": ("Noise", "Status")})
