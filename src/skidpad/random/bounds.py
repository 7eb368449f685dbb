"""Lower and upper bounds of the values of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from .vectors import Shape


def one_name(names: tuple[str, str], first: Any, second: Any) -> Any:
    """An argument that goes by two names; raises unless it is given under one of them."""
    if (first is None) == (second is None):
        amount = "both" if first is not None else "neither"
        raise InvalidValue(f"{names[0]} (also called {names[1]}) must be given once, got {amount}")
    return second if first is None else first


def check_order(shape: Shape, lower: Array, upper: Array) -> None:
    """Raise if a lower bound is above its upper one; equal bounds are allowed."""
    crossed = np.flatnonzero(lower > upper)
    if crossed.size:
        k = int(crossed[0])
        raise InvalidValue(
            f"lower{shape.place(k)} = {lower[k]:g} must be at most upper{shape.place(k)} = "
            f"{upper[k]:g}"
        )


def check_within(shape: Shape, name: str, values: Array, lower: Array, upper: Array) -> None:
    """Raise unless each value lies between its bounds."""
    outside = np.flatnonzero(~((lower <= values) & (values <= upper)))
    if outside.size:
        k = int(outside[0])
        raise InvalidValue(
            f"{name}{shape.place(k)} = {values[k]:g} must be from {lower[k]:g} to {upper[k]:g}, "
            "the bounds"
        )
