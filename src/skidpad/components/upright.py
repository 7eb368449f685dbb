"""Where equations of small angles end: a body that leans further has rolled over."""

from __future__ import annotations

from typing import Any

from ..ops import abs, sqrt, where
from ..units import rad

__all__ = ["ROLLED_OVER", "UPRIGHT", "while_upright"]

UPRIGHT: rad = 0.7
"""Roll and pitch up to which a body counts as upright. Cars on their wheels keep far below."""
ROLLED_OVER = {name: (UPRIGHT, "rolled over") for name in ("roll", "pitch")}
"""What models with these states say of it (`Model.ends`)."""


def while_upright(angle: rad, rate: Any) -> Any:
    """A rate while the angle is one of a body that is upright, and NaN beyond."""
    # Of compiled code no constant may be NaN; the root of a negative number is.
    return where(abs(angle) <= UPRIGHT, rate, rate * sqrt(UPRIGHT * UPRIGHT - angle * angle))
