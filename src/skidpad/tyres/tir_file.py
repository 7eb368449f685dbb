"""Tyre property files: their text, preserved as it is, and the meaning and units of their keys.

The format is "TeimOrbit": `[SECTION]` lines, `KEY = value` lines and tables. `$` begins a remark
outside quotes; `!` does at the start of a line or after an unquoted value. Names are
case-insensitive. A key may occur in several sections; within one, its last value is used. A
document stores all its lines, so a file that is read and written again has the same bytes.

A `Key` has a section, a leaf in a record, and a default if a file leaves it out. Section [MODEL]
has the version of the equations and the side of the car on which the tyre was measured; section
[UNITS] has the units of the values.

All dimensional values are converted to SI; the coefficients are for radians and are never
converted. Factors are exact fractions and so is the conversion, with one rounding at its end:
313.5 mm give the same double as 0.3135 m, and every double can be written in every unit. Keys that
are not used by the equations, such as MASS, are changed in the text of the file.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, NamedTuple, get_type_hints

from ..core import record
from ..core.checks import finite
from ..core.files import counted, shortened
from ..core.record import unknown_name
from ..errors import InvalidValue
from ..units import Allowed
from .magic_formula.formula import MagicFormula52, MagicFormula61, MagicFormula62

VERSIONS: Mapping[type, str] = {
    get_type_hints(kind)["vertical"]: version
    for kind, version in ((MagicFormula52, "5.2"), (MagicFormula61, "6.1"), (MagicFormula62, "6.2"))
}
"""Versions of the Magic Formula by the class of their `vertical` section."""
SECTIONS: Mapping[str, str] = {
    "model": "MODEL", "dimension": "DIMENSION", "operating": "OPERATING_CONDITIONS",
    "vertical": "VERTICAL", "structural": "STRUCTURAL", "contact_patch": "CONTACT_PATCH",
    "scaling": "SCALING_COEFFICIENTS", "longitudinal": "LONGITUDINAL_COEFFICIENTS",
    "overturning": "OVERTURNING_COEFFICIENTS", "lateral": "LATERAL_COEFFICIENTS",
    "rolling": "ROLLING_COEFFICIENTS", "aligning": "ALIGNING_COEFFICIENTS",
    "turn_slip": "TURNSLIP_COEFFICIENTS",
}  # fmt: skip
"""Sections of a file by the corresponding part of the record."""
RANGES: Mapping[str, str] = {
    "PRES": "INFLATION_PRESSURE_RANGE", "FZ": "VERTICAL_FORCE_RANGE", "KPU": "LONG_SLIP_RANGE",
    "ALP": "SLIP_ANGLE_RANGE", "CAM": "INCLINATION_ANGLE_RANGE",
}  # fmt: skip
"""Sections of the keys of `ranges`, which end in MIN or MAX."""
OTHER_NAMES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "INFLPRES": (("TIRE_CONDITIONS", "IP"),),
    "NOMPRES": (("TIRE_CONDITIONS", "IP_NOM"),),
    "LKYC": (("SCALING_COEFFICIENTS", "LKYG"),),
}
"""Sections and names under which some programs write a key."""
SIDE = "model.side"
"""Leaf of a record for `TYRESIDE`, which is a text in files."""

ASYMMETRIC = frozenset({
    "RHX1", "QSX1", "PEY3", "PHY1", "PHY2", "PVY1", "PVY2", "RBY3", "RVY1", "RVY2", "QBZ4", "QDZ3",
    "QDZ6", "QDZ7", "QEZ4", "QHZ1", "QHZ2", "SSZ1",
})  # fmt: skip
"""Coefficients that make a tyre differ from its mirror image."""

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
"""Values that MF 6.x programs use for missing keys, as recorded from MFeval 4.0 (BSD-3).

Scale factors are 1, all others 0.
"""
NEEDED = frozenset({"UNLOADED_RADIUS", "FNOMIN"})
"""Keys that no policy can fill in."""


class Key(NamedTuple):
    """Key of a file that corresponds to a leaf of a record."""

    leaf: str
    """Dotted name in the record."""
    section: str
    name: str
    default: float | None
    allowed: Allowed | None

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """Sections and names under which files have the key, its own first."""
        return ((self.section, self.name), *OTHER_NAMES.get(self.name, ()))


@cache
def keys_of(kind: type) -> tuple[Key, ...]:
    """Keys of a tyre record class, in the order of its leaves."""
    keys: list[Key] = []
    for leaf in record.fields(kind):
        part, _, name = leaf.name.rpartition(".")
        section = RANGES.get(name[:-3]) if part == "ranges" else SECTIONS.get(part)
        if section is not None and leaf.name != SIDE:
            keys.append(Key(leaf.name, section, name, leaf.default, leaf.allowed))
    return tuple(keys)


@cache
def constants_of(kind: type) -> Mapping[str, float]:
    """Leaves of a tyre record class without a key in files, with their values."""
    known = {SIDE, *(key.leaf for key in keys_of(kind))}
    leaves = (field for field in record.fields(kind) if field.name not in known)
    return {field.name: field.default or 0.0 for field in leaves}


@cache
def version_of(kind: type) -> str:
    """Version of the Magic Formula of a record class; empty for other tyres."""
    return VERSIONS.get(get_type_hints(kind).get("vertical", object), "")


def filling(key: Key, missing: str) -> float | None:
    """Value of a missing key under a policy; None if the key is required.

    "zero" switches its term off: 0, or 1 for factors. "reduced" uses the usual values of MF 6.x.
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
"""Other tyre models that use the same text format."""
_KNOWN = "MF-Tyre 5.x (FITTYP 5, 6, 52), PAC2002 (21), 6.0 (60), 6.1 (61) and 6.2 (62)"


class UseMode(NamedTuple):
    """Meaning of `USE_MODE`."""

    combined: bool = True
    """Whether longitudinal slip and slip angle affect each other's force."""
    turn_slip: bool = False
    transient: bool = True
    """Whether slip lags behind by a relaxation length."""
    mirrored: bool = False
    """Whether the tyre is to be used on the side on which it was not measured."""


def version_in(document: Document) -> str:
    """Version of the Magic Formula that a document is for; raises for other tyre models."""
    form = document.entry("MODEL", "PROPERTY_FILE_FORMAT")
    name = form.text.upper() if form is not None else ""
    words = name.replace("-", "_").split("_")
    other = ""
    if any(w.startswith(_MOTORCYCLE) or w == "PACMC" for w in words):
        other = "is a motorcycle tyre"
    elif any(other in name for other in _OTHER_MODELS):
        other = "is no Magic Formula that skidpad knows"
    if form is not None and other:
        text = f"PROPERTY_FILE_FORMAT = {form.text!r} {other}; read are {_KNOWN}"
        raise document.error(form.line, text)
    entry = document.entry("MODEL", "FITTYP")
    if entry is None:
        if "PAC2002" in name:
            return "5.2"
        reason = f"[MODEL] has no FITTYP; read are {_KNOWN}"
        if not document.entries:
            raise InvalidValue(
                f"{document.source} is not a tyre property file: it has no line KEY = value"
            )
        if "MODEL" not in document.sections:
            named = ", ".join(f"[{name}]" for name in document.sections[:6]) or "none"
            reason = f"it has no section [MODEL] with FITTYP; its sections are {named}"
        raise InvalidValue(f"{document.source} is not a Magic Formula tyre: {reason}")
    number = entry.number
    version = _VERSIONS.get(int(number)) if number is not None and number % 1.0 == 0.0 else None
    if version is None:
        text = f"FITTYP = {entry.text} is a tyre of another kind; read are {_KNOWN}"
        raise document.error(entry.line, text)
    return version


def use_mode_of(document: Document, version: str) -> UseMode:
    """Meaning of `USE_MODE`; without it, combined slip and linear relaxation."""
    entry = document.entry("MODEL", "USE_MODE")
    if entry is None:
        return UseMode()
    number = entry.number
    if number is None or number % 1.0 or abs(number) > 999:
        rule = "must be a whole number of at most three digits"
        raise document.error(entry.line, f"USE_MODE = {entry.text!r} {rule}")
    tens, digit = divmod(abs(int(number)) % 100, 10)
    if digit > 5:
        rule = "the last digit must be 0 to 5"
        raise document.error(entry.line, f"USE_MODE = {entry.text}: {rule}")
    turn_slip = digit == 5 and version != "5.2"
    return UseMode(digit > 3, turn_slip, tens > 0, number < 0)


def use_mode_warnings(document: Document) -> list[str]:
    """Warnings about features that `USE_MODE` requests and that are not supported."""
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
    """Side of the car on which a tyre was measured: 1 left, -1 right.

    An unknown or symmetric side counts as left.
    """
    entry = document.entry("MODEL", "TYRESIDE")
    text = "LEFT" if entry is None else entry.text.strip().upper()
    if entry is not None and text not in ("LEFT", "RIGHT", "SYMMETRIC", "UNKNOWN", ""):
        sides = "'LEFT', 'RIGHT', 'SYMMETRIC' or 'UNKNOWN'"
        raise document.error(entry.line, f"TYRESIDE = {entry.text!r} must be {sides}")
    return -1.0 if text == "RIGHT" else 1.0


_LONGEST = 60
"""Largest number of characters converted without rounding first; our numbers are shorter."""
_MOST_DIGITS = 40


def _spellings(table: Mapping[str, Fraction | float | str]) -> dict[str, Fraction]:
    return {name: Fraction(size) for names, size in table.items() for name in names.split()}


_UNITS: Mapping[str, Mapping[str, Fraction]] = {
    "LENGTH": _spellings({
        "meter meters metre metres m": "1", "mm millimeter millimeters millimetre": "0.001",
        "cm centimeter centimeters centimetre": "0.01", "km kilometer kilometers kilometre": "1000",
        "in inch inches": "0.0254", "foot feet ft": "0.3048", "mile miles": "1609.344",
    }),
    "FORCE": _spellings({
        "newton newtons n": "1", "kn knewton kilonewton": "1000",
        "pound_force lbf": "4.4482216152605", "kpound_force klbf": "4448.2216152605",
        "kg_force kgf kilogram_force": "9.80665", "dyne": "1e-5",
        "ounce_force": "0.27801385095378125",
    }),
    "ANGLE": _spellings({"radian radians rad": "1", "deg degree degrees": Fraction(math.pi) / 180}),
    "MASS": _spellings({
        "kg kilogram kilograms": "1", "gram grams g": "0.001", "slug": "14.593902937206364829",
        "pound_mass lbm": "0.45359237", "ounce_mass": "0.028349523125", "tonne": "1000",
    }),
    "TIME": _spellings({
        "second seconds sec s": "1", "milli millisecond milliseconds ms": "0.001",
        "min minute minutes": "60", "hour hours h": "3600",
    }),
    "PRESSURE": _spellings({
        "pascal pa n/m^2 newton/meter^2": "1", "kpa": "1000", "mpa": "1000000", "bar": "100000",
        "psi": Fraction("4.4482216152605") / Fraction("0.0254") ** 2,
    }),
}  # fmt: skip
"""Sizes in SI of the units that [UNITS] may name, by their spellings."""

Powers = Mapping[str, int]
"""Exponents of the base units of a file."""
_PLACES: tuple[tuple[Powers, Mapping[str, str]], ...] = (
    ({"LENGTH": 1}, {
        "MODEL": "ROAD_INCREMENT", "DIMENSION": "UNLOADED_RADIUS WIDTH RIM_RADIUS RIM_WIDTH",
        "VERTICAL": "BOTTOM_OFFST", "CONTACT_PATCH": "ELLIPS_MAX_STEP",
        "DEFLECTION_LOAD_CURVE": "PEN", "BOTTOMING_CURVE": "PEN",
    }),
    ({"FORCE": 1}, {
        "VERTICAL": "FNOMIN Q_FYS1 Q_FYS2 Q_FYS3", "VERTICAL_FORCE_RANGE": "FZMIN FZMAX",
        "DEFLECTION_LOAD_CURVE": "FZ", "BOTTOMING_CURVE": "FZ",
    }),
    ({"PRESSURE": 1}, {
        "OPERATING_CONDITIONS": "INFLPRES NOMPRES", "TIRE_CONDITIONS": "IP IP_NOM",
        "INFLATION_PRESSURE_RANGE": "PRESMIN PRESMAX",
    }),
    ({"ANGLE": 1}, {
        "SLIP_ANGLE_RANGE": "ALPMIN ALPMAX", "INCLINATION_ANGLE_RANGE": "CAMMIN CAMMAX",
    }),
    ({"MASS": 1}, {"INERTIA": "MASS BELT_MASS", "ALIGNING_COEFFICIENTS": "MBELT"}),
    ({"MASS": 1, "LENGTH": 2}, {"INERTIA": "IXX IYY BELT_IXX BELT_IYY"}),
    ({"LENGTH": 1, "TIME": -1}, {"MODEL": "LONGVL VXLOW"}),
    ({"LENGTH": 1, "TIME": -2}, {"INERTIA": "GRAVITY"}),
    ({"FORCE": 1, "LENGTH": -1}, {
        "VERTICAL": "VERTICAL_STIFFNESS BOTTOM_STIFF",
        "STRUCTURAL": "LONGITUDINAL_STIFFNESS LATERAL_STIFFNESS",
    }),
    ({"FORCE": 1, "TIME": 1, "LENGTH": -1}, {"VERTICAL": "VERTICAL_DAMPING"}),
    ({"FORCE": 1, "LENGTH": 1, "ANGLE": -1}, {"STRUCTURAL": "YAW_STIFFNESS"}),
)  # fmt: skip
"""Keys and columns by dimension and section; all others are pure numbers."""
_POWERS: Mapping[tuple[str, str], Powers] = {
    (section, key): powers
    for powers, places in _PLACES
    for section, keys in places.items()
    for key in keys.split()
}


class FileUnits(NamedTuple):
    """Base units of a file in SI, as exact factors."""

    sizes: Mapping[str, Fraction]

    @staticmethod
    def of(document: Document) -> FileUnits:
        """Units that a document declares; SI by default."""
        sizes: dict[str, Fraction] = {}
        for name, known in _UNITS.items():
            entry = document.entry("UNITS", name)
            if entry is None:
                continue
            size = known.get(entry.text.strip().lower())
            if size is None:
                message = unknown_name(f"[UNITS] {name}", entry.text, tuple(known), "unit")
                raise document.error(entry.line, message)
            sizes[name] = size
        return FileUnits(sizes)

    def factor(self, section: str, key: str) -> Fraction:
        """Factor from a value of a key, or in a table column, to SI."""
        size = Fraction(1)
        for name, exponent in _POWERS.get((section, key.upper()), {}).items():
            size *= self.sizes.get(name, Fraction(1)) ** exponent
        return size


def number_in_si(document: Document, entry: Entry, factor: Fraction) -> float:
    """Number of an entry times a factor; raises unless it is a finite number."""
    number = entry.number
    if number is None:
        raise document.error(entry.line, f"{entry.key} = {entry.text[:60]!r} must be a number")
    value = _scaled(entry.text, number, factor)
    if not math.isfinite(value):
        raise document.error(entry.line, f"{entry.key} = {entry.text[:60]} must be finite")
    return value


def values_in_si(document: Document) -> dict[str, dict[str, float | str | None]]:
    """Values of a document by section and key: numbers in SI, texts as they are."""
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
    """Shortest decimal that, multiplied by a factor, reads back as this double."""
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
    """Number text in plain form: `2000` for `2000.0` and `2E+3`; exponents stay if far from 1."""
    number = Decimal(text)
    if number and -5 <= number.adjusted() < 9:
        text = format(number, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if not number else text.replace("E", "e")


_HEADER_SECTIONS = ("MDI_HEADER", "UNITS", "MODEL")
"""Sections whose keys determine how the others are read."""


def with_other_keys(document: Document, values: Mapping[str, float]) -> Document:
    """Document with new numbers, in SI, for keys that it has: `MASS` or `INERTIA.MASS`."""
    units = FileUnits.of(document)
    texts: dict[tuple[str, str], str] = {}
    for name, value in values.items():
        entries = _entries(document, name)
        if len(entries) != 1:
            places = " or ".join(f"{e.section}.{e.key}" for e in entries)
            raise InvalidValue(f"{name!r} appears in several sections of the file: give {places}")
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


LARGEST = 16 << 20
"""Size limit of a file in bytes; real files have some ten thousand."""
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?", re.ASCII)
_CLOSED = re.compile(r"\s*(?:[$!].*)?", re.DOTALL)
"""Text that may follow the closing quote of a value."""
_SPACE = " \t\f\v\x1a"
"""White space; Ctrl-Z, the last of these characters, ended files of MS-DOS."""
_KEY_WIDTH = 25


class Entry(NamedTuple):
    """A key with its value and its position in the file."""

    section: str
    """Section in capitals, as `key`; empty before the first section."""
    key: str
    text: str
    """Text of the value, without quotes."""
    quoted: bool
    line: int
    """Line number, from 1."""
    begin: int
    """Column at which the value begins, quotes included, and the column after its end."""
    end: int

    @property
    def number(self) -> float | None:
        """Value as a number, also if it is in quotes; None if it is not a number."""
        return number_in(self.text)

    @property
    def value(self) -> float | str | None:
        """Value as a number or a text; None if it is empty."""
        if not self.text and not self.quoted:
            return None
        number = None if self.quoted else self.number
        return self.text if number is None else number


class Table(NamedTuple):
    """Table: rows below a line of column names in braces."""

    section: str
    columns: tuple[str, ...]
    rows: tuple[tuple[float | str, ...], ...]
    line: int
    """Line number of the column names."""


class _Parts(NamedTuple):
    sections: dict[str, int]
    """Last non-empty line of each section, counted from 1."""
    entries: tuple[Entry, ...]
    tables: tuple[Table, ...]
    loose: tuple[tuple[str, int, str], ...]
    """Unrecognised lines: section, line number, text."""


@dataclass(frozen=True)
class Document:
    """Tyre property file as text.

    Args:
        lines: lines with their line ends.
        encoding: encoding of the bytes.
        source: name for errors, such as the path; ignored in comparisons.
    """

    lines: tuple[str, ...]
    encoding: str = "utf-8"
    source: str = field(default="tyre file", compare=False)

    @staticmethod
    def parsed(data: bytes, source: str = "tyre file") -> Document:
        """Parse the bytes of a file; raises `InvalidValue` with the line if that fails."""
        if len(data) > LARGEST:
            raise InvalidValue(f"{source} has {len(data)} bytes; at most {LARGEST} are allowed")
        if b"\0" in data:
            raise InvalidValue(f"{source} is not a tyre property file: it contains zero bytes")
        encoding = "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            encoding, text = "latin-1", data.decode("latin-1")
        document = Document(tuple(_LINES.findall(text)), encoding, source)
        _ = document._parts
        return document

    def encoded(self) -> bytes:
        return "".join(self.lines).encode(self.encoding)

    @cached_property
    def values(self) -> Mapping[str, Mapping[str, float | str | None]]:
        """Values by section and key, both in capitals, in the units of the file."""
        values: dict[str, dict[str, float | str | None]] = {name: {} for name in self.sections}
        for entry in self.entries:
            values.setdefault(entry.section, {})[entry.key] = entry.value
        return values

    @property
    def sections(self) -> tuple[str, ...]:
        """Names of the sections in their order, in capitals."""
        return tuple(self._parts.sections)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All keys in order, including repeated ones."""
        return self._parts.entries

    @property
    def tables(self) -> tuple[Table, ...]:
        return self._parts.tables

    @property
    def loose(self) -> tuple[tuple[str, int, str], ...]:
        """Lines that are neither key, table nor remark: section, line number and text."""
        return self._parts.loose

    @cached_property
    def _last(self) -> dict[tuple[str, str], Entry]:
        return {(entry.section, entry.key): entry for entry in self.entries}

    def entry(self, section: str, key: str) -> Entry | None:
        """Effective entry of a key, or None if the key has no value."""
        entry = self._last.get((section.upper(), key.upper()))
        return None if entry is None or entry.value is None else entry

    def repeated(self) -> tuple[Entry, ...]:
        """Entries without effect, because their key occurs again further on."""
        return tuple(e for e in self.entries if self._last[e.section, e.key] is not e)

    def place(self, line: int) -> str:
        """File and line, as prefix of errors."""
        return f"{self.source}, line {line}"

    def error(self, line: int, text: str) -> InvalidValue:
        return InvalidValue(f"{self.place(line)}: {text}")

    def with_texts(self, texts: Mapping[tuple[str, str], str]) -> Document:
        """Document with values replaced or added, from `{(section, key): text}`.

        Remarks keep their position if the new value leaves room. A new key is added at the end of
        its section, a new section at the end of the document.
        """
        lines, added = list(self.lines), dict[str, list[str]]()
        end = self.line_end
        for (section, key), text in texts.items():
            section, key = section.upper(), key.upper()
            old = self._last.get((section, key))
            if old is not None:
                lines[old.line - 1] = _exchanged(lines[old.line - 1], old, text)
            else:
                new = f"{key:<{_KEY_WIDTH}}= {text}{end}"
                added.setdefault(section, [f"[{section}]{end}"]).append(new)
        at = self._parts.sections
        # Insert from the last line upwards, so that the positions of earlier sections stay valid.
        for section in sorted(added, key=lambda name: -at.get(name, len(lines) + 1)):
            place = at.get(section, len(lines))
            if place and not lines[place - 1].endswith(("\r", "\n")):
                lines[place - 1] += end
            lines[place:place] = added[section][section in at :]
        return Document(tuple(lines), self.encoding, self.source)

    @property
    def line_end(self) -> str:
        first = self.lines[0] if self.lines else ""
        return "\r\n" if first.endswith("\r\n") else "\r" if first.endswith("\r") else "\n"

    @cached_property
    def _parts(self) -> _Parts:
        return _Parser(self).parts()

    def __repr__(self) -> str:
        size = f"{counted(len(self.lines), 'line')}, {counted(len(self.sections), 'section')}"
        return shortened(f"Document({self.source!r}, {size})")

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("lines", "encoding", "source")}


def _exchanged(line: str, old: Entry, text: str) -> str:
    """Line with the value replaced; a remark after it keeps its position if there is room."""
    head, tail = line[: old.begin], line[old.end :]
    room = len(tail) - len(tail.lstrip(" "))
    if room and tail[room : room + 1] in ("$", "!"):
        tail = " " * max(1, room + old.end - old.begin - len(text)) + tail[room:]
    # If there was no value before, the new one is written directly after the sign.
    return (
        head + (" " if head.endswith("=") and line[old.begin :].strip() == "" else "") + text + tail
    )


def number_in(text: str) -> float | None:
    """Text as a number, also with Fortran exponents; None if it is not a number."""
    if not _NUMBER.fullmatch(text):
        return None
    return float(text.replace("d", "e").replace("D", "e"))


class _Parser:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._section = ""
        self._sections: dict[str, int] = {}
        self._entries: list[Entry] = []
        self._tables: list[Table] = []
        self._loose: list[tuple[str, int, str]] = []
        self._rows: list[tuple[float | str, ...]] | None = None

    def parts(self) -> _Parts:
        for number, line in enumerate(self._document.lines, 1):
            content = line.strip("\r\n" + _SPACE)
            if content and content[0] not in "$!":
                self._take(number, line, content)
        self._end_table()
        entries, tables = tuple(self._entries), tuple(self._tables)
        return _Parts(self._sections, entries, tables, tuple(self._loose))

    def _take(self, number: int, line: str, content: str) -> None:
        if content[0] == "[":
            self._end_table()
            name, bracket, _ = content[1:].partition("]")
            if not bracket or not name.strip():
                rule = "must be a section such as [MODEL]"
                raise self._document.error(number, f"{content[:60]!r} {rule}")
            self._section = name.strip().upper()
        elif content[0] == "{":
            self._begin_table(number, content)
        elif (entry := self._entry(number, line)) is not None:
            self._end_table()
            self._entries.append(entry)
        elif self._rows is not None:
            words = content.partition("$")[0].partition("!")[0].replace(",", " ").split()
            numbers = map(number_in, words)
            pairs = zip(words, numbers, strict=True)
            self._rows.append(tuple(word if n is None else n for word, n in pairs))
        else:
            self._loose.append((self._section, number, content))
        if self._section:
            self._sections[self._section] = number

    def _begin_table(self, number: int, content: str) -> None:
        self._end_table()
        names, brace, _ = content[1:].partition("}")
        if not brace:
            raise self._document.error(number, f"{content[:60]!r} must be column names in braces")
        self._rows = []
        columns = tuple(names.replace(",", " ").split())
        self._tables.append(Table(self._section, columns, (), number))

    def _end_table(self) -> None:
        if self._rows is not None:
            self._tables[-1] = self._tables[-1]._replace(rows=tuple(self._rows))
        self._rows = None

    def _entry(self, number: int, line: str) -> Entry | None:
        """Key and value of a line; None if it has no key."""
        at = line.find("=")
        key = line[: max(at, 0)].strip(_SPACE)
        if not key or any(mark in key for mark in "$!'\""):
            return None
        line = line.rstrip("\r\n" + _SPACE)
        begin = at + 1 + len(line[at + 1 :]) - len(line[at + 1 :].lstrip(_SPACE))
        quote = line[begin : begin + 1]
        if quote and quote in "'\"":
            end = self._closing_quote(number, key, line, begin)
            text = line[begin + 1 : end - 1]
        else:
            bare = re.split(r"[$!]", line[begin:], maxsplit=1)[0].rstrip(_SPACE)
            end, text = begin + len(bare), bare
        return Entry(
            self._section, key.upper(), text, bool(quote) and quote in "'\"", number, begin, end
        )

    def _closing_quote(self, number: int, key: str, line: str, begin: int) -> int:
        at = begin
        while (at := line.find(line[begin], at + 1)) >= 0:
            if _CLOSED.fullmatch(line, at + 1):
                return at + 1
        text = f"{key} = {line[begin:][:60]} has no closing quote"
        raise self._document.error(number, text)
