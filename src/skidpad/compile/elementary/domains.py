"""Where each elementary function is accurate, and what it gives elsewhere.

Inside these ranges the error is at most 2 units in the last place, in both precisions; ±0, ±inf and
NaN are treated as in C99 unless the text says otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

Range = tuple[float, float]

_INF = float("inf")
_EVERYWHERE = {"float64": (-_INF, _INF), "float32": (-_INF, _INF)}
# |n| < 2**30 and 2**16 multiples of π/2.
_ANGLE = {"float64": (-1.68e9, 1.68e9), "float32": (-1.02e5, 1.02e5)}
_UNIT = {"float64": (-1.0, 1.0), "float32": (-1.0, 1.0)}
_HYPERBOLIC = {"float64": (-710.47, 710.47), "float32": (-89.41, 89.41)}


class Domain(NamedTuple):
    """The range of accuracy of one function, by precision."""

    accurate: dict[str, Range]
    beyond: str
    """The result outside that range, and other remarks."""


DOMAINS: dict[str, Domain] = {
    "sin": Domain(_ANGLE, "NaN"),
    "cos": Domain(_ANGLE, "NaN"),
    "tan": Domain(_ANGLE, "NaN"),
    "asin": Domain(_UNIT, "NaN"),
    "acos": Domain(_UNIT, "NaN"),
    "atan": Domain(_EVERYWHERE, ""),
    "atan2": Domain(_EVERYWHERE, "quadrants, zeros and infinities as in C99"),
    "sinh": Domain(_HYPERBOLIC, "±inf"),
    "cosh": Domain(_HYPERBOLIC, "inf"),
    "tanh": Domain(_EVERYWHERE, ""),
    "exp": Domain(
        {"float64": (-708.0, 709.78), "float32": (-86.98, 88.72)},
        "inf above; 0 below, where the result would be close to subnormal",
    ),
    "log": Domain(
        {"float64": (0.0, _INF), "float32": (0.0, _INF)}, "-inf at 0, NaN below"
    ),
    "hypot": Domain(_EVERYWHERE, "NaN if either is NaN, also beside an infinity"),
    "pow": Domain(
        _EVERYWHERE,
        "accurate where the result is a normal number; a power that is not whole is NaN below 0; "
        "powers 0.5, 0.25, 1.5 and -0.5 treat -0 as the square root does",
    ),
    "log1p": Domain(
        {"float64": (-1.0, _INF), "float32": (-1.0, _INF)}, "-inf at -1, NaN below"
    ),
    "expm1": Domain(
        {"float64": (-_INF, 709.78), "float32": (-_INF, 88.72)}, "inf"
    ),
    "asinh": Domain(_EVERYWHERE, ""),
    "acosh": Domain({"float64": (1.0, _INF), "float32": (1.0, _INF)}, "NaN"),
    "atanh": Domain(_UNIT, "NaN"),
}  # fmt: skip
"""The range of each function in `RULES`."""
