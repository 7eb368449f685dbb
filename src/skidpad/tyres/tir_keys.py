"""Keys and units of tyre property files.

For each key: in which section and which leaf of a record it stands, and which value a file that
leaves it out means. Section [MODEL] says for which equations a file is, and on which side of the
car the tyre was measured; section [UNITS] gives the units of the values.

Everything with a dimension is converted to SI; the coefficients are for radians and are never
converted. Factors are exact fractions and so is the conversion, with one rounding at its end:
313.5 mm are the same double as 0.3135 m, and every double can be written in every unit. Keys that
are no part of the equations, such as MASS, are changed in the text of the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, get_type_hints

from ..core import record
from ..core.checks import finite
from ..core.record import unknown_name
from ..errors import InvalidValue
from ..units import Allowed
from .magic_formula.formula import MagicFormula52, MagicFormula61, MagicFormula62
from .tir_file import Document, Entry

VERSIONS: Mapping[type, str] = {
    get_type_hints(kind)["vertical"]: version
    for kind, version in ((MagicFormula52, "5.2"), (MagicFormula61, "6.1"), (MagicFormula62, "6.2"))
}
"""Versions of the Magic Formula by the part of their records that differs in all of them."""
SECTIONS: Mapping[str, str] = {
    "model": "MODEL",
    "dimension": "DIMENSION",
    "operating": "OPERATING_CONDITIONS",
    "vertical": "VERTICAL",
    "structural": "STRUCTURAL",
    "contact_patch": "CONTACT_PATCH",
    "scaling": "SCALING_COEFFICIENTS",
    "longitudinal": "LONGITUDINAL_COEFFICIENTS",
    "overturning": "OVERTURNING_COEFFICIENTS",
    "lateral": "LATERAL_COEFFICIENTS",
    "rolling": "ROLLING_COEFFICIENTS",
    "aligning": "ALIGNING_COEFFICIENTS",
    "turn_slip": "TURNSLIP_COEFFICIENTS",
}
"""Sections of a file by the part of the record that holds their keys."""
RANGES: Mapping[str, str] = {
    "PRES": "INFLATION_PRESSURE_RANGE",
    "FZ": "VERTICAL_FORCE_RANGE",
    "KPU": "LONG_SLIP_RANGE",
    "ALP": "SLIP_ANGLE_RANGE",
    "CAM": "INCLINATION_ANGLE_RANGE",
}
"""Sections of the keys of `ranges`, which end in MIN or MAX."""
OTHER_NAMES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "INFLPRES": (("TIRE_CONDITIONS", "IP"),),
    "NOMPRES": (("TIRE_CONDITIONS", "IP_NOM"),),
    "LKYC": (("SCALING_COEFFICIENTS", "LKYG"),),
}
"""Section and name under which some programs write a key."""
SIDE = "model.side"
"""The leaf of a record that stands for `TYRESIDE`, which is a text."""

ASYMMETRIC = frozenset({
    "RHX1", "QSX1", "PEY3", "PHY1", "PHY2", "PVY1", "PVY2", "RBY3", "RVY1", "RVY2", "QBZ4", "QDZ3",
    "QDZ6", "QDZ7", "QEZ4", "QHZ1", "QHZ2", "SSZ1",
})  # fmt: skip
"""Coefficients without which a tyre is its own mirror image."""

REDUCED: Mapping[str, float] = {
    "LONGVL": 16.7, "VXLOW": 1.0,
    "ASPECT_RATIO": 0.6, "RIM_RADIUS": 0.1905,
    "NOMPRES": 220000.0,
    "VERTICAL_STIFFNESS": 2e5, "VERTICAL_DAMPING": 50.0, "BREFF": 8.4, "DREFF": 0.27,
    "FREFF": 0.07, "Q_RE0": 1.0, "Q_FZ2": 1e-4, "BOTTOM_OFFST": 0.01, "BOTTOM_STIFF": 2e6,
    "LONGITUDINAL_STIFFNESS": 3e5, "LATERAL_STIFFNESS": 1e5, "YAW_STIFFNESS": 5e3,
    "Q_RA1": 0.5, "Q_RA2": 1.0, "Q_RB1": 1.0, "Q_RB2": -1.0,
    "PRESMIN": 1e4, "PRESMAX": 1e6, "FZMIN": 100.0, "FZMAX": 1e4, "KPUMIN": -1.5, "KPUMAX": 1.5,
    "ALPMIN": -1.5, "ALPMAX": 1.5, "CAMMIN": -0.175, "CAMMAX": 0.175,
    "PCX1": 1.65, "PDX1": 1.3, "PDX2": -0.15, "PKX1": 20.0, "RBX1": 20.0, "RBX2": 15.0,
    "RCX1": 1.0,
    "QSX4": 5.0, "QSX5": 1.0, "QSX6": 10.0, "QSX9": 0.4, "QSX11": 5.0,
    "PCY1": 1.3, "PDY1": 1.1, "PDY2": -0.15, "PKY1": -20.0, "PKY2": 1.0, "PKY4": 2.0,
    "PKY6": -1.0, "RBY1": 10.0, "RBY2": 10.0, "RCY1": 1.0, "RVY4": 20.0, "RVY5": 2.0,
    "RVY6": 10.0,
    "QSY1": 0.01, "QSY3": 4e-4, "QSY4": 4e-5, "QSY7": 0.85, "QSY8": -0.4,
    "QBZ1": 10.0, "QBZ9": 10.0, "QCZ1": 1.1, "QDZ1": 0.12, "QDZ8": -0.05,
    "PDXP1": 0.4, "PKYP1": 1.0, "PDYP1": 0.4, "PHYP1": 1.0, "PHYP2": 0.15, "PHYP4": -4.0,
    "PECP1": 0.5, "QDTP1": 10.0, "QCRP1": 0.2, "QCRP2": 0.1, "QBRP1": 0.1, "QDRP1": 1.0,
}  # fmt: skip
"""What programs of MF 6.x take for keys that a file leaves out, as recorded from MFeval 4.0
(BSD-3); scale factors are 1 and all others 0."""
NEEDED = frozenset({"UNLOADED_RADIUS", "FNOMIN"})
"""Keys that no policy can fill."""


class Key(NamedTuple):
    """A key of a file that is a leaf of a record."""

    leaf: str
    """Dotted name in the record."""
    section: str
    name: str
    default: float | None
    """Default value of the leaf, or None."""
    allowed: Allowed | None

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """Sections and names under which files have it, its own first."""
        return ((self.section, self.name), *OTHER_NAMES.get(self.name, ()))


@cache
def keys_of(kind: type) -> tuple[Key, ...]:
    """The keys of a kind of tyre record, in the order of its leaves."""
    keys: list[Key] = []
    for field in record.fields(kind):
        part, _, name = field.name.rpartition(".")
        section = RANGES.get(name[:-3]) if part == "ranges" else SECTIONS.get(part)
        if section is not None and field.name != SIDE:
            keys.append(Key(field.name, section, name, field.default, field.allowed))
    return tuple(keys)


@cache
def constants_of(kind: type) -> Mapping[str, float]:
    """Leaves of a kind of tyre record that no file has a key for, with their values."""
    known = {SIDE, *(key.leaf for key in keys_of(kind))}
    leaves = (field for field in record.fields(kind) if field.name not in known)
    return {field.name: field.default or 0.0 for field in leaves}


@cache
def version_of(kind: type) -> str:
    """Version of the Magic Formula of a record class; empty if it is another tyre."""
    return VERSIONS.get(get_type_hints(kind).get("vertical", object), "")


def filling(key: Key, missing: str) -> float | None:
    """Value of a key that a file leaves out under a policy; None if the file must have it.

    "zero" switches a term off: 0, factors 1. "reduced" takes the usual values of MF 6.x.
    """
    if missing == "strict" or key.name in NEEDED:
        return None
    if missing == "reduced" and key.name != "INFLPRES":
        scale = 1.0 if key.section == "SCALING_COEFFICIENTS" else 0.0
        return REDUCED.get(key.name, scale)
    return key.default


_VERSIONS = {5: "5.2", 6: "5.2", 21: "5.2", 52: "5.2", 60: "6.1", 61: "6.1", 62: "6.2"}
"""Versions of the Magic Formula by FITTYP. Files of 5.0, 5.1 and PAC2002 are evaluated as 5.2,
those of 6.0 as 6.1; several programs write 52 for 5.2."""
_MOTORCYCLE = ("MC", "MOTORCYCLE")
_OTHER_MODELS = (
    "FTIRE", "CDTIRE", "FIALA", "UATIRE", "PAC89", "PAC94", "PAC-TIME", "PAC_TIME", "RIGID_RING",
    "TMEASY", "HTIRE", "LUGRE",
)  # fmt: skip
"""Models of other kinds that use the same text format."""
_KNOWN = "MF-Tyre 5.x (FITTYP 5, 6, 52), PAC2002 (21), 6.0 (60), 6.1 (61) and 6.2 (62)"


class UseMode(NamedTuple):
    """Meaning of `USE_MODE`."""

    combined: bool = True
    """Whether longitudinal slip and slip angle influence each other's force."""
    turn_slip: bool = False
    transient: bool = True
    """Whether slip relaxes over a length."""
    mirrored: bool = False
    """Whether the tyre is to be used on the side on which it was not measured."""


def version_in(document: Document) -> str:
    """Version of the Magic Formula that a document is for; raises for other tyres."""
    form = document.entry("MODEL", "PROPERTY_FILE_FORMAT")
    name = form.text.upper() if form is not None else ""
    words = name.replace("-", "_").split("_")
    if form is not None and any(w.startswith(_MOTORCYCLE) or w == "PACMC" for w in words):
        raise InvalidValue(
            f"{document.place(form.line)}: PROPERTY_FILE_FORMAT = {form.text!r} is a motorcycle "
            f"tyre; read are {_KNOWN}"
        )
    if form is not None and any(other in name for other in _OTHER_MODELS):
        raise InvalidValue(
            f"{document.place(form.line)}: PROPERTY_FILE_FORMAT = {form.text!r} is no Magic "
            f"Formula that skidpad knows; read are {_KNOWN}"
        )
    entry = document.entry("MODEL", "FITTYP")
    if entry is None:
        if "PAC2002" in name:
            return "5.2"
        raise InvalidValue(_no_version(document))
    number = entry.number
    version = _VERSIONS.get(int(number)) if number is not None and number % 1.0 == 0.0 else None
    if version is None:
        raise InvalidValue(
            f"{document.place(entry.line)}: FITTYP = {entry.text} is a tyre of another kind; read "
            f"are {_KNOWN}"
        )
    return version


def _no_version(document: Document) -> str:
    if not document.entries:
        return f"{document.source} is not a tyre property file: it has no line KEY = value"
    if "MODEL" not in document.sections:
        named = ", ".join(f"[{name}]" for name in document.sections[:6]) or "none"
        return (
            f"{document.source} is no Magic Formula tyre: it has no section [MODEL] with FITTYP; "
            f"its sections are {named}"
        )
    return f"{document.source} is no Magic Formula tyre: [MODEL] has no FITTYP; read are {_KNOWN}"


def use_mode_of(document: Document, version: str) -> UseMode:
    """Meaning of `USE_MODE`; a file without it is combined with linear relaxation."""
    entry = document.entry("MODEL", "USE_MODE")
    if entry is None:
        return UseMode()
    number = entry.number
    if number is None or number % 1.0 or abs(number) > 999:
        raise InvalidValue(
            f"{document.place(entry.line)}: USE_MODE = {entry.text!r} must be a whole number of at "
            "most three digits"
        )
    tens, digit = divmod(abs(int(number)) % 100, 10)
    if digit > 5:
        raise InvalidValue(
            f"{document.place(entry.line)}: USE_MODE = {entry.text}: the last digit must be 0 to 5"
        )
    turn_slip = digit == 5 and version != "5.2"
    return UseMode(digit > 3, turn_slip, tens > 0, number < 0)


def use_mode_warnings(document: Document) -> list[str]:
    """Sentences on what `USE_MODE` demands and does not get."""
    entry = document.entry("MODEL", "USE_MODE")
    if entry is None or entry.number is None:
        return []
    tens, digit = divmod(abs(int(entry.number)) % 100, 10)
    found: list[str] = []
    if digit < 3:
        found.append("asks for some forces alone; all are computed, uncombined")
    if tens > 1:
        found.append("asks for transients beyond linear relaxation; it is read as linear")
    return [f"{document.place(entry.line)}: USE_MODE = {entry.text} {text}" for text in found]


def side_of(document: Document) -> float:
    """Side of the car on which a tyre was measured: 1 left, which is also taken for unknown or
    symmetric, or -1 right."""
    entry = document.entry("MODEL", "TYRESIDE")
    text = "LEFT" if entry is None else entry.text.strip().upper()
    if entry is not None and text not in ("LEFT", "RIGHT", "SYMMETRIC", "UNKNOWN", ""):
        raise InvalidValue(
            f"{document.place(entry.line)}: TYRESIDE = {entry.text!r} must be 'LEFT', 'RIGHT', "
            "'SYMMETRIC' or 'UNKNOWN'"
        )
    return -1.0 if text == "RIGHT" else 1.0


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
_UNITS: Mapping[str, Mapping[str, Fraction]] = {
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
        """The units that a document declares, by default SI."""
        sizes: dict[str, Fraction] = {}
        for name, known in _UNITS.items():
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
        """Factor from a value of a key to SI."""
        return self._size(_BY_KEY.get(section, {}).get(key, {}))

    def column_factor(self, section: str, column: str) -> Fraction:
        """The same for a column of a table."""
        return self._size(_BY_COLUMN.get(section, {}).get(column.upper(), {}))

    def _size(self, powers: Powers) -> Fraction:
        size = Fraction(1)
        for name, exponent in powers.items():
            size *= self.sizes.get(name, Fraction(1)) ** exponent
        return size


def number_in_si(document: Document, entry: Entry, factor: Fraction) -> float:
    """The number of an entry times a factor; raises unless it is a finite number."""
    number = entry.number
    if number is None:
        raise InvalidValue(
            f"{document.place(entry.line)}: {entry.key} = {entry.text[:60]!r} must be a number"
        )
    value = _scaled(entry.text, number, factor)
    if not math.isfinite(value):
        raise InvalidValue(
            f"{document.place(entry.line)}: {entry.key} = {entry.text[:60]} must be finite"
        )
    return value


def values_in_si(document: Document) -> dict[str, dict[str, float | str | None]]:
    """All values of a document by section and key: numbers in SI, texts as they are."""
    units = FileUnits.of(document)
    values: dict[str, dict[str, float | str | None]] = {name: {} for name in document.sections}
    for entry in document.entries:
        if isinstance(entry.value, float):
            factor = units.factor(entry.section, entry.key)
            values.setdefault(entry.section, {})[entry.key] = number_in_si(document, entry, factor)
        else:
            values.setdefault(entry.section, {})[entry.key] = entry.value
    return values


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


_HEADER_SECTIONS = ("MDI_HEADER", "UNITS", "MODEL")
"""Sections whose keys decide how the others are read."""


def with_other_keys(document: Document, values: Mapping[str, float]) -> Document:
    """The document with other numbers, in SI, for keys that it has: `MASS` or `INERTIA.MASS`."""
    units = FileUnits.of(document)
    texts: dict[tuple[str, str], str] = {}
    for name, value in values.items():
        entries = _entries(document, name)
        if len(entries) != 1:
            places = " or ".join(f"{e.section}.{e.key}" for e in entries)
            raise InvalidValue(f"{name!r} stands in several sections of the file: say {places}")
        (entry,) = entries
        factor = units.factor(entry.section, entry.key)
        texts[entry.section, entry.key] = decimal_text(finite(name, value), factor)
    return document.with_texts(texts)


def has_key(document: Document, name: str) -> bool:
    """Whether a document has a number under this name, `MASS` or `INERTIA.MASS`."""
    return bool(_entries(document, name))


def _entries(document: Document, name: str) -> list[Entry]:
    part, _, key = str(name).upper().rpartition(".")
    sections = dict.fromkeys(e.section for e in document.entries if e.key == key)
    entries = (document.entry(section, key) for section in sections if part in ("", section))
    numbers = [entry for entry in entries if entry is not None and entry.number is not None]
    return [entry for entry in numbers if entry.section not in _HEADER_SECTIONS]
