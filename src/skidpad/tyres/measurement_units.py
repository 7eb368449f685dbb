"""Units as test rigs write them, in SI."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..errors import InvalidValue

_INCH, _POUND = 0.0254, 4.4482216152605
_DEGREE = math.pi / 180.0
_FACTORS: Mapping[str, Mapping[str, float]] = {
    "N": {"n": 1.0, "kn": 1e3, "lb": _POUND, "lbf": _POUND, "lbs": _POUND},
    "N·m": {
        "n·m": 1.0,
        "nm": 1.0,
        "n-m": 1.0,
        "n*m": 1.0,
        "kn·m": 1e3,
        "knm": 1e3,
        "ft-lb": 12.0 * _INCH * _POUND,
        "lb-ft": 12.0 * _INCH * _POUND,
        "in-lb": _INCH * _POUND,
    },
    "rad": {"rad": 1.0, "deg": _DEGREE, "degree": _DEGREE, "degrees": _DEGREE, "°": _DEGREE},
    "1": {"1": 1.0, "-": 1.0, "none": 1.0, "%": 0.01, "percent": 0.01},
    "Pa": {"pa": 1.0, "hpa": 1e2, "kpa": 1e3, "bar": 1e5, "psi": _POUND / _INCH**2},
    "m/s": {
        "m/s": 1.0,
        "mps": 1.0,
        "km/h": 1.0 / 3.6,
        "kph": 1.0 / 3.6,
        "kmh": 1.0 / 3.6,
        "mph": 0.44704,
    },
    "m": {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "in": _INCH, "inch": _INCH, "ft": 12.0 * _INCH},
    "rad/s": {
        "rad/s": 1.0,
        "1/s": 2.0 * math.pi,
        "rpm": math.pi / 30.0,
        "1/min": math.pi / 30.0,
        "deg/s": _DEGREE,
        "°/s": _DEGREE,
    },
    "s": {"s": 1.0, "sec": 1.0, "ms": 1e-3},
}
"""By SI unit, what a value in another one is multiplied by; spellings without regard to case."""


def factor(unit: str, si: str, where: str) -> float:
    """What makes SI of a unit; an empty one is SI. `where` begins the error."""
    known = _FACTORS[si]
    text = unit.strip().lower()
    if not text:
        return 1.0
    if text not in known:
        raise InvalidValue(
            f"{where} is in {unit.strip()!r}; a column in {si} may be in {', '.join(known)}"
        )
    return known[text]
