"""Identify a vehicle from a recorded run: compare a model with it, fit its parameters to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .comparison import (
        Comparison,
        compare,
    )
    from .fitting import (
        Estimate,
        Fit,
        fit,
    )
    from .log import (
        Log,
        read_log,
    )

from ...core import record

__all__ = ["Comparison", "Estimate", "Fit", "Log", "compare", "fit", "read_log"]

__getattr__ = lazy_attributes(
    __name__,
    {
        ".comparison": (
            "Comparison",
            "compare",
        ),
        ".fitting": (
            "Estimate",
            "Fit",
            "fit",
        ),
        ".log": (
            "Log",
            "read_log",
        ),
    },
)

record.document_all()
