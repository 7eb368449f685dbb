"""Units as FMUs define them: exponents of the base units of the SI, and of the radian.

`units.Unit` has metre, kilogram and second. Radian and ampere count as pure numbers there; FMI
tells them apart, so their exponents are read off the symbol.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from ..units import Unit

_DISPLAYED = {
    "rad": ("deg", 180.0 / math.pi),
    "m/s": ("km/h", 3.6),
    "rad/s": ("deg/s", 180.0 / math.pi),
}
"""What tools may show instead: a name, and how many of it are one of the unit."""
_AMPERES = {"A": 1, "V": -1, "Ω": -2}
"""Exponents of the ampere in the units that have it."""
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_FACTOR = re.compile(r"([^\W\d_]+)([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*)|([/()·])")


class BaseUnit(NamedTuple):
    """Exponents of the base units, by the names that FMI has for them."""

    kg: int = 0
    m: int = 0
    s: int = 0
    A: int = 0
    rad: int = 0

    @property
    def attributes(self) -> dict[str, str]:
        """Those that are not zero."""
        return {name: str(n) for name, n in self._asdict().items() if n}


def base_unit(unit: Unit) -> BaseUnit | None:
    """The exponents of a unit; None if one of them is no whole number, which FMI cannot say."""
    if any(exponent % 1.0 for exponent in unit.dimension):
        return None
    length, mass, time = (int(exponent) for exponent in unit.dimension)
    rad, ampere = _read_off(unit.symbol)
    return BaseUnit(kg=mass, m=length, s=time, A=ampere, rad=rad)


def displayed(unit: Unit) -> tuple[str, float] | None:
    """Another unit that people read more easily, and its number in one of the unit."""
    return _DISPLAYED.get(unit.symbol)


def _read_off(symbol: str) -> tuple[int, int]:
    """Exponents of radian and ampere in a symbol such as "N·m·s/rad" or "rad/(N·m)"."""
    rad = ampere = 0
    sign, within = 1, False
    for name, power, mark in _FACTOR.findall(symbol):
        if mark == "/":
            sign = -1
        elif mark == "(":
            within = True
        elif mark == ")":
            sign, within = 1, False
        elif mark == "·":
            sign = sign if within else 1
        else:
            exponent = sign * int(power.translate(_SUPERSCRIPTS) or 1)
            rad += exponent * (name == "rad")
            ampere += exponent * _AMPERES.get(name, 0)
    return rad, ampere
