"""`read`: a tyre from its property file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

from .. import record as records
from ..checks import flag, one_of
from ..components.tyre.magic import (
    BookAngles,
    Combined,
    FrictionEllipse,
    NoLimits,
    NoTurnSlip,
    PlainAngles,
    TurnSlip,
    Uncombined,
    UsualLimits,
    magic_formula_type,
)
from ..errors import InvalidValue
from ..files import bytes_of, path_of
from .document import Document, Entry
from .doubts import (
    check_finite,
    doubts_about_filling,
    doubts_about_ranges,
    doubts_about_values,
    misspelt,
    reversed_slopes,
)
from .keys import ASYMMETRIC, RANGES, SECTIONS, SIDE, Key, constants_of, filling, keys_of
from .model_section import UseMode, doubts_about_use, side_of, use_mode_of, version_in
from .tyre import SIDES, Tyre
from .unit_conversion import FileUnits, converted

__all__ = ["read"]

POLICIES = ("strict", "zero", "reduced")
_MOST_REPEATED = 20
"""Keys given several times that are warned of one by one."""
_UNUSED_TABLES = ("DEFLECTION_LOAD_CURVE", "BOTTOMING_CURVE")
"""Tables that would change the vertical stiffness."""
_OWN_SECTIONS = frozenset((*SECTIONS.values(), *RANGES.values(), "UNITS", "MODEL"))


def read(
    path: str | os.PathLike[str],
    *,
    missing: str | None = None,
    limits: bool = False,
    book_angles: bool = False,
    turn_slip: bool | None = None,
    symmetric: bool = False,
    side: str | None = None,
) -> Tyre:
    """The tyre in a property file (`.tir`) of MF-Tyre 5.2, 6.0, 6.1 or 6.2, or PAC2002.

    Values are converted to SI by the file's section [UNITS]. The file's text stays with the tyre:
    what skidpad does not know survives `write`.

    Args:
        path: the file.
        missing: what keys that it leaves out stand for. "reduced": the usual values of programs of
            MF 6.x (the default for 6.x); "zero": terms switched off (the default for 5.2);
            "strict": they are an error. `Tyre.filled` names them.
        limits: cut inputs at the file's ranges and reduce slip at low speed, as usual solvers do;
            it makes kinks and jumps.
        book_angles: tan(alpha) and sin(gamma) in place of alpha and gamma, as in Pacejka's book.
        turn_slip: with turn slip or without; None: as `USE_MODE` says.
        symmetric: without the coefficients that make left and right differ.
        side: "left" or "right", the side of the car for which answers hold; None: the one on which
            the tyre was measured, or the other if `USE_MODE` is negative.

    Raises:
        InvalidValue: with file, line and key; `MissingFile` if there is no such file.
    """
    place = path_of(path)
    document = Document.parsed(bytes_of(place), os.fspath(place))
    options = Options(missing, limits, book_angles, turn_slip, symmetric, side)
    return tyre_of(document, place.stem, options)


class Options(NamedTuple):
    """Arguments of `read`."""

    missing: str | None = None
    limits: bool = False
    book_angles: bool = False
    turn_slip: bool | None = None
    symmetric: bool = False
    side: str | None = None

    def checked(self) -> Options:
        """The options; raises for what is none."""
        if self.missing is not None:
            one_of("missing", self.missing, POLICIES)
        if self.side is not None:
            one_of("side", self.side, tuple(SIDES))
        for name in ("limits", "book_angles", "symmetric"):
            flag(name, getattr(self, name))
        if self.turn_slip is not None:
            flag("turn_slip", self.turn_slip)
        return self

    def policy(self, version: str) -> str:
        """How missing keys are filled."""
        return self.missing or ("zero" if version == "5.2" else "reduced")


def tyre_of(document: Document, name: str = "", options: Options | None = None) -> Tyre:
    """The tyre that a document describes."""
    options = (options or Options()).checked()
    version = version_in(document)
    mode = use_mode_of(document, version)
    if options.turn_slip and version == "5.2":
        raise InvalidValue(f"turn_slip = True: {document.source} is MF 5.2, which has none")
    kind = _kind(document, version, mode, options)
    _warn_of_oddities(document)
    values, filled, absent = leaf_values(document, kind, options.policy(version))
    if absent:
        raise InvalidValue(f"{document.source} needs a value for {_named(absent)}")
    if options.symmetric:
        values |= {leaf: 0.0 for leaf in values if leaf.rpartition(".")[2] in ASYMMETRIC}
    record = records.unflatten(kind, [values[leaf] for leaf in records.names(kind)])
    side = options.side or _used_side(values[SIDE], mode)
    tyre = Tyre(record, document, name, filled, mode.transient, side)
    check_finite(tyre, document)
    _warn_of_doubts(tyre, document, values, options)
    return tyre


def _used_side(measured: float, mode: UseMode) -> str:
    return "left" if (measured > 0.0) != mode.mirrored else "right"


def _kind(document: Document, version: str, mode: UseMode, options: Options) -> type:
    """The class of record that a document needs."""
    spin = mode.turn_slip if options.turn_slip is None else options.turn_slip
    return magic_formula_type(
        int(version.replace(".", "")),
        limits=UsualLimits if options.limits else NoLimits,
        angles=BookAngles if options.book_angles else PlainAngles,
        combination=_combination(document, version, mode.combined, options),
        turn_slip=TurnSlip if spin else NoTurnSlip,
    )


def _combination(document: Document, version: str, combined: bool, options: Options) -> type:
    if not combined:
        return Uncombined
    without = version == "5.2" and options.policy(version) != "reduced" and not weighs(document)
    return FrictionEllipse if without else Combined


def weighs(document: Document) -> bool:
    """Whether a document has R coefficients; without any, a tyre of 5.2 has a friction ellipse."""
    parts = ("LONGITUDINAL_COEFFICIENTS", "LATERAL_COEFFICIENTS")
    return any(entry.key.startswith("R") for entry in document.entries if entry.section in parts)


def leaf_values(
    document: Document, kind: type, missing: str
) -> tuple[dict[str, float], tuple[str, ...], list[Key]]:
    """Values of the leaves of a record in SI, by their dotted names, the keys that were filled in
    and those that could not be."""
    units = FileUnits.of(document)
    elsewhere = entries_by_key(document)
    values: dict[str, float] = {**constants_of(kind), SIDE: side_of(document)}
    filled, absent = list[str](), list[Key]()
    for key in keys_of(kind):
        entry = entry_of(document, key) or elsewhere.get(key.name)
        if entry is None:
            value = filling(key, missing)
            if value is None:
                absent.append(key)
                continue
            filled.append(key.name)
        else:
            value = _checked(document, entry, key, units.factor(key.section, key.name))
        values[key.leaf] = value
    if "QSY8" in filled and _is_6_0(document):
        values["rolling.QSY8"] = 0.0
    if "INFLPRES" in filled and "operating.NOMPRES" in values:
        values["operating.INFLPRES"] = values["operating.NOMPRES"]
    return values, tuple(filled), absent


def _is_6_0(document: Document) -> bool:
    """Whether a document is of MF 6.0, which knows no pressure."""
    entry = document.entry("MODEL", "FITTYP")
    return entry is not None and entry.number == 60.0


def _named(keys: list[Key]) -> str:
    names = ", ".join(f"[{key.section}] {key.name}" for key in keys[:12])
    return names + (f" and {len(keys) - 12} more" if len(keys) > 12 else "")


def entry_of(document: Document, key: Key) -> Entry | None:
    """The entry of a key in its section, or where other programs write it."""
    for section, name in key.places:
        entry = document.entry(section, name)
        if entry is not None:
            return entry
    return None


def entries_by_key(document: Document) -> Mapping[str, Entry]:
    """Entries by their key alone: some files have keys in neighbouring sections."""
    entries = (e for e in document.entries if e.section in _OWN_SECTIONS and e.section != "UNITS")
    return {entry.key: entry for entry in entries if entry.value is not None}


def _checked(document: Document, entry: Entry, key: Key, factor: Fraction) -> float:
    value = converted(document, entry, factor)
    if key.allowed is not None and value not in key.allowed:
        raise InvalidValue(
            f"{document.place(entry.line)}: {entry.key} = {entry.text} must be {key.allowed}"
        )
    return value


def _warn_of_oddities(document: Document) -> None:
    """Warn of what does not count; raise for lines that should be keys and are none."""
    for section, line, text in document.loose:
        if section in _OWN_SECTIONS and not text.startswith("("):
            raise InvalidValue(f"{document.place(line)}: {text[:60]!r} must be KEY = value")
    for doubt in doubts_about_use(document):
        _warn(doubt)
    for doubt in _repeated_keys(document):
        _warn(doubt)
    factor = document.entry("SCALING_COEFFICIENTS", "LCZ")
    if factor is not None and factor.number not in (None, 1.0):
        _warn(f"{document.place(factor.line)}: LCZ = {factor.text} is kept but not used")
    for table in document.tables:
        if table.section in _UNUSED_TABLES:
            _warn(
                f"{document.place(table.line)}: [{table.section}] is kept but not used: loads "
                "follow VERTICAL_STIFFNESS"
            )


def _repeated_keys(document: Document) -> list[str]:
    """A sentence for each key that is given more than once, at most `_MOST_REPEATED` of them."""
    earlier: dict[tuple[str, str], list[int]] = {}
    for entry in document.repeated():
        earlier.setdefault((entry.section, entry.key), []).append(entry.line)
    sentences = [
        f"{document.place(lines[0])}: {key} is given again later, which counts"
        + (f"; so are {len(lines) - 1} more of its values" if len(lines) > 1 else "")
        for (_, key), lines in islice(earlier.items(), _MOST_REPEATED)
    ]
    if len(earlier) > _MOST_REPEATED:
        more = len(earlier) - _MOST_REPEATED
        sentences.append(f"{document.source}: {more} more keys are given several times")
    return sentences


def _warn_of_doubts(
    tyre: Tyre, document: Document, values: Mapping[str, float], options: Options
) -> None:
    """Warn of what is likely a mistake; who says how to fill knows that keys are missing."""
    doubts = doubts_about_ranges(document, values, tyre.filled)
    doubts += doubts_about_values(document, values) + misspelt(document, tyre.filled)
    if options.missing is None:
        doubts += doubts_about_filling(document, tyre.filled, options.policy(tyre.version))
    doubts += [f"{document.source}: {doubt}" for doubt in reversed_slopes(tyre)]
    for doubt in doubts:
        _warn(doubt)


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=5)
