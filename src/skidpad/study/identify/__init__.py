"""Identify a vehicle from a recorded run: compare a model with it, fit its parameters to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import record
from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .comparison import compare
    from .fitting import fit
    from .log import Log, read_log

__all__ = ["Log", "compare", "fit", "read_log"]

__getattr__ = lazy_attributes(
    __name__, {".comparison": ("compare",), ".fitting": ("fit",), ".log": ("Log", "read_log")}
)

record.document_all()
