"""Units of a tyre property file: what its section [UNITS] says, and values in SI.

Everything with a dimension is converted; the coefficients are for radians and are never converted.
Factors are exact fractions and so is the conversion, with one rounding at its end: 313.5 mm are
the same double as 0.3135 m, and every double can be written in every unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from ..errors import InvalidValue
from ..record import unknown_name
from .document import Document, Entry

__all__ = ["FileUnits", "converted", "decimal_text", "values_in_si"]

_LONGEST = 60
"""Characters up to which a number is converted without rounding first; ours are shorter."""
_MOST_DIGITS = 40


def _spellings(table: Mapping[str, Fraction | float | str]) -> dict[str, Fraction]:
    return {name: Fraction(size) for names, size in table.items() for name in names.split()}


_LENGTH = _spellings(
    {
        "meter meters metre metres m": "1",
        "mm millimeter millimeters millimetre": "0.001",
        "cm centimeter centimeters centimetre": "0.01",
        "km kilometer kilometers kilometre": "1000",
        "in inch inches": "0.0254",
        "foot feet ft": "0.3048",
        "mile miles": "1609.344",
    }
)
_FORCE = _spellings(
    {
        "newton newtons n": "1",
        "kn knewton kilonewton": "1000",
        "pound_force lbf": "4.4482216152605",
        "kpound_force klbf": "4448.2216152605",
        "kg_force kgf kilogram_force": "9.80665",
        "dyne": "1e-5",
        "ounce_force": "0.27801385095378125",
    }
)
_ANGLE = _spellings({"radian radians rad": "1", "deg degree degrees": Fraction(math.pi) / 180})
_MASS = _spellings(
    {
        "kg kilogram kilograms": "1",
        "gram grams g": "0.001",
        "slug": "14.593902937206364829",
        "pound_mass lbm": "0.45359237",
        "ounce_mass": "0.028349523125",
        "tonne": "1000",
    }
)
_TIME = _spellings(
    {
        "second seconds sec s": "1",
        "milli millisecond milliseconds ms": "0.001",
        "min minute minutes": "60",
        "hour hours h": "3600",
    }
)
_PRESSURE = _spellings(
    {
        "pascal pa n/m^2 newton/meter^2": "1",
        "kpa": "1000",
        "mpa": "1000000",
        "bar": "100000",
        "psi": Fraction("4.4482216152605") / Fraction("0.0254") ** 2,
    }
)
_KNOWN: Mapping[str, Mapping[str, Fraction]] = {
    "LENGTH": _LENGTH,
    "FORCE": _FORCE,
    "ANGLE": _ANGLE,
    "MASS": _MASS,
    "TIME": _TIME,
    "PRESSURE": _PRESSURE,
}

Powers = Mapping[str, int]
"""Exponents of the base units of a file."""


def _powers(**exponents: int) -> Powers:
    return MappingProxyType({name.upper(): n for name, n in exponents.items()})


_LENGTHS = _powers(length=1)
_FORCES = _powers(force=1)
_STIFFNESS = _powers(force=1, length=-1)
_SPEED = _powers(length=1, time=-1)
_INERTIA = _powers(mass=1, length=2)
_PRESSURES = _powers(pressure=1)
_ANGLES = _powers(angle=1)

_BY_KEY: Mapping[str, Mapping[str, Powers]] = {
    "MODEL": {"LONGVL": _SPEED, "VXLOW": _SPEED, "ROAD_INCREMENT": _LENGTHS},
    "DIMENSION": {
        "UNLOADED_RADIUS": _LENGTHS,
        "WIDTH": _LENGTHS,
        "RIM_RADIUS": _LENGTHS,
        "RIM_WIDTH": _LENGTHS,
    },
    "OPERATING_CONDITIONS": {"INFLPRES": _PRESSURES, "NOMPRES": _PRESSURES},
    "TIRE_CONDITIONS": {"IP": _PRESSURES, "IP_NOM": _PRESSURES},
    "INERTIA": {
        "MASS": _powers(mass=1),
        "BELT_MASS": _powers(mass=1),
        "IXX": _INERTIA,
        "IYY": _INERTIA,
        "BELT_IXX": _INERTIA,
        "BELT_IYY": _INERTIA,
        "GRAVITY": _powers(length=1, time=-2),
    },
    "VERTICAL": {
        "FNOMIN": _FORCES,
        "VERTICAL_STIFFNESS": _STIFFNESS,
        "VERTICAL_DAMPING": _powers(force=1, time=1, length=-1),
        "Q_FYS1": _FORCES,
        "Q_FYS2": _FORCES,
        "Q_FYS3": _FORCES,
        "BOTTOM_OFFST": _LENGTHS,
        "BOTTOM_STIFF": _STIFFNESS,
    },
    "STRUCTURAL": {
        "LONGITUDINAL_STIFFNESS": _STIFFNESS,
        "LATERAL_STIFFNESS": _STIFFNESS,
        "YAW_STIFFNESS": _powers(force=1, length=1, angle=-1),
    },
    "CONTACT_PATCH": {"ELLIPS_MAX_STEP": _LENGTHS},
    "INFLATION_PRESSURE_RANGE": {"PRESMIN": _PRESSURES, "PRESMAX": _PRESSURES},
    "VERTICAL_FORCE_RANGE": {"FZMIN": _FORCES, "FZMAX": _FORCES},
    "SLIP_ANGLE_RANGE": {"ALPMIN": _ANGLES, "ALPMAX": _ANGLES},
    "INCLINATION_ANGLE_RANGE": {"CAMMIN": _ANGLES, "CAMMAX": _ANGLES},
    "ALIGNING_COEFFICIENTS": {"MBELT": _powers(mass=1)},
}
"""Keys that have a dimension. All others are pure numbers."""
_BY_COLUMN: Mapping[str, Mapping[str, Powers]] = {
    "DEFLECTION_LOAD_CURVE": {"PEN": _LENGTHS, "FZ": _FORCES},
    "BOTTOMING_CURVE": {"PEN": _LENGTHS, "FZ": _FORCES},
}


class FileUnits(NamedTuple):
    """Base units of a file in SI, as exact factors."""

    sizes: Mapping[str, Fraction]

    @staticmethod
    def of(document: Document) -> FileUnits:
        """The units that a document declares; SI where it says nothing."""
        sizes: dict[str, Fraction] = {}
        for name, known in _KNOWN.items():
            entry = document.entry("UNITS", name)
            if entry is None:
                continue
            size = known.get(entry.text.strip().lower())
            if size is None:
                message = unknown_name(f"[UNITS] {name}", entry.text, tuple(known), "unit")
                raise InvalidValue(f"{document.place(entry.line)}: {message}")
            sizes[name] = size
        return FileUnits(sizes)

    def factor(self, section: str, key: str) -> Fraction:
        """By what a value of a key is multiplied to be in SI."""
        return self._size(_BY_KEY.get(section, {}).get(key, {}))

    def column_factor(self, section: str, column: str) -> Fraction:
        """The same for a column of a table."""
        return self._size(_BY_COLUMN.get(section, {}).get(column.upper(), {}))

    def _size(self, powers: Powers) -> Fraction:
        size = Fraction(1)
        for name, exponent in powers.items():
            size *= self.sizes.get(name, Fraction(1)) ** exponent
        return size


def converted(document: Document, entry: Entry, factor: Fraction) -> float:
    """The number of an entry times a factor; raises unless it is a finite number."""
    number = entry.number
    if number is None:
        raise InvalidValue(
            f"{document.place(entry.line)}: {entry.key} = {entry.text[:60]!r} must be a number"
        )
    return _finite(document, entry, _scaled(entry.text, number, factor))


def values_in_si(document: Document) -> dict[str, dict[str, float | str | None]]:
    """All values of a document by section and key: numbers in SI, texts as they are."""
    units = FileUnits.of(document)
    values: dict[str, dict[str, float | str | None]] = {name: {} for name in document.sections}
    for entry in document.entries:
        if isinstance(entry.value, float):
            factor = units.factor(entry.section, entry.key)
            values.setdefault(entry.section, {})[entry.key] = converted(document, entry, factor)
        else:
            values.setdefault(entry.section, {})[entry.key] = entry.value
    return values


def _finite(document: Document, entry: Entry, value: float) -> float:
    if not math.isfinite(value):
        raise InvalidValue(
            f"{document.place(entry.line)}: {entry.key} = {entry.text[:60]} must be finite"
        )
    return value


def _scaled(text: str, number: float, factor: Fraction) -> float:
    if factor == 1 or number == 0.0 or not math.isfinite(number):
        return number
    exact = Fraction(number) if len(text) > _LONGEST else Fraction(text.translate(_TO_E))
    try:
        return float(exact * factor)
    except OverflowError:
        return math.inf


_TO_E = str.maketrans("dD", "ee")


def decimal_text(value: float, factor: Fraction = Fraction(1)) -> str:
    """The shortest decimal that reads back to this double when it is multiplied by a factor."""
    if value == 0.0 or factor == 1:
        return _plain(repr(value))
    exact = Fraction(value) / factor
    for digits in range(1, _MOST_DIGITS):
        context = Context(prec=digits)
        number = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
        text = _plain(str(number.normalize(context)))
        if _scaled(text, float(text), factor) == value:
            return text
    raise InvalidValue(f"{value!r} cannot be written in units of {float(factor)!r}")


def _plain(text: str) -> str:
    """`2000` for `2000.0` and for `2E+3`; large and small numbers keep their exponents."""
    number = Decimal(text)
    if number and -5 <= number.adjusted() < 9:
        text = format(number, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if not number else text.replace("E", "e")
