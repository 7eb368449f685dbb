"""Drop-in replacements for other simulators, each with the original program's interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from . import autoware, commonroad, truck

__all__ = ["autoware", "commonroad", "truck"]

__getattr__ = lazy_attributes(__name__, {}, modules={name: f".{name}" for name in __all__})
