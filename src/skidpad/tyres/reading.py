"""Tyres in property files (`.tir`): `read`, `write`, and those that come with skidpad (`get`).

What is likely a mistake in a file is a warning: signs, units, ranges, names of keys. What makes a
force that is not finite is an error, with the key that is the reason.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from ..core import record as records
from ..core.arrays import Array
from ..core.checks import flag, one_of
from ..core.files import bytes_of, path_of, replacing
from ..core.record import unknown_name
from ..errors import InvalidValue
from .curves import USUAL_LOAD, answers, nominal_load
from .magic_formula.coefficients import NoTurnSlip, TurnSlip
from .magic_formula.formula import magic_formula_type
from .magic_formula.records import (
    BookAngles,
    Combined,
    FrictionEllipse,
    NoLimits,
    PlainAngles,
    Uncombined,
    UsualLimits,
)
from .tir_file import Document, Entry
from .tir_keys import (
    ASYMMETRIC,
    RANGES,
    SECTIONS,
    SIDE,
    FileUnits,
    Key,
    UseMode,
    constants_of,
    decimal_text,
    filling,
    keys_of,
    number_in_si,
    side_of,
    use_mode_of,
    use_mode_warnings,
    version_in,
)
from .tyre import SIDES, Tyre

ESSENTIAL = ("PCX1", "PDX1", "PKX1", "PCY1", "PDY1", "PKY1")
"""Coefficients without which a force is that of another tyre."""
FORCES = ("LONGITUDINAL_COEFFICIENTS", "LATERAL_COEFFICIENTS")
LEAST_PRESSURE = 5e3
"""Pressure in Pa below which a value is likely in bar or kPa."""
LEAST_RADIUS, MOST_RADIUS = 0.005, 5.0
"""Radii in m of wheels that there are."""
MOST_LOAD = 5.0
"""Load over the nominal one up to which a contact is ordinary, if the file's range goes so far."""
_QUESTIONS = ("forces", "stiffness", "peaks", "relaxation", "radii")
_CONTACTS = 96
_EXTREME = 1e7
"""Size of a number, or of its reciprocal, from which the compiled answers are looked at as well:
sines and cosines of compiled code end at angles of 1.7e9 rad, those of NumPy do not."""
_SLIP = 0.02
_USUAL = {"UNLOADED_RADIUS": 0.3, "FNOMIN": USUAL_LOAD}
"""Values of keys that no policy fills."""
_SIGNS = (
    ("alpha", "F_y", -1.0, "the lateral force grows with the slip angle", "PKY1, PDY1 and PCY1"),
    ("kappa", "F_x", 1.0, "the longitudinal force falls with slip", "PKX1, PDX1 and PCX1"),
)


def check_finite(tyre: Tyre, document: Document) -> None:
    """Raise, with the key that is the reason, for a tyre with a result that is not finite at an
    ordinary contact: within its range of loads, up to locked and sliding wheels, at any speed."""
    wrong = _not_finite(tyre)
    if wrong is None:
        return
    what, at = wrong
    reason = _reason(tyre, document)
    place, who = document.source, "its values together make"
    if reason is not None:
        place, who = document.place(reason.line), f"{reason.key} = {reason.text} makes"
    raise InvalidValue(f"{place}: {who} {what} not finite at {at}")


def ordinary_contacts(tyre: Tyre, count: int = _CONTACTS) -> dict[str, Array]:
    """Contacts spread evenly over all that a tyre must answer, corners and rest among them."""
    ranges, nominal = tyre.record.ranges, nominal_load(tyre) or USUAL_LOAD
    most = min(max(ranges.FZMIN, ranges.FZMAX), MOST_LOAD * nominal)
    least = min(ranges.FZMIN, ranges.FZMAX, most)
    # A sequence of low discrepancy: multiples of powers of the generalised golden ratio, modulo 1.
    steps = 1.1347241384015194 ** -np.arange(1.0, 6.0)
    share = (0.5 + np.outer(np.arange(count), steps)) % 1.0
    share = np.clip(1.2 * share - 0.1, 0.0, 1.0).T
    return {
        "F_z": least + (most - least) * share[0],
        "kappa": 2.0 * share[1] - 1.0,
        "alpha": share[2] - 0.5,
        "gamma": 0.4 * share[3] - 0.2,
        "v_x": 50.0 * share[4],
    }


def _not_finite(tyre: Tyre) -> tuple[str, str] | None:
    """A result that is not finite, and where; None if all are finite."""
    contacts = ordinary_contacts(tyre)
    looks: list[Callable[[str], Any]] = [lambda question: answers(tyre, question, **contacts)]
    numbers = np.abs(records.flatten(tyre.record))
    if np.any((numbers > _EXTREME) | ((numbers > 0.0) & (numbers < 1.0 / _EXTREME))):
        looks.append(lambda question: getattr(tyre, question)(**contacts))
    for look, question in product(looks, _QUESTIONS):
        answer = look(question)
        for name, values in zip(answer._fields, answer, strict=True):
            lost = ~np.isfinite(values)
            if lost.any():
                k = int(np.argmax(lost))
                at = ", ".join(f"{what} = {each[k]:.3g}" for what, each in contacts.items())
                return f"{name} of {question}", at
    return None


def _reason(tyre: Tyre, document: Document) -> Entry | None:
    """The entry that with a usual value in place of its own makes all results finite: the one that
    is farthest from 1 of several."""
    entries = {entry.key: entry for entry in document.entries}
    kind = type(tyre.record)
    names, leaves = records.names(kind), records.flatten(tyre.record)
    own = dict(zip(names, leaves, strict=True))
    keys = sorted(keys_of(kind), key=lambda key: -abs(np.log10(abs(own[key.leaf]) or 1.0)))
    for key in keys:
        usual = filling(key, "reduced")
        usual = _USUAL.get(key.name, 1.0) if usual is None else usual
        entry = next((entries[name] for _, name in key.places if name in entries), None)
        if entry is not None and own[key.leaf] != usual:
            changed = records.unflatten(kind, list((own | {key.leaf: usual}).values()))
            if _not_finite(Tyre(changed, side=tyre.side)) is None:
                return entry
    return None


def reversed_slopes(tyre: Tyre) -> list[str]:
    """Sentences on forces that have the wrong sign at small slip, as those of SAE axes."""
    load = nominal_load(tyre) or 4000.0
    found: list[str] = []
    for slip, force, sign, what, keys in _SIGNS:
        at = {slip: np.array([-_SLIP, _SLIP])}
        low, high = getattr(answers(tyre, "forces", F_z=load, **at), force)
        if sign * (high - low) < 0.0:
            hint = f"; check the signs of {keys}" if tyre.version else ""
            found.append(
                f"{what}: these are not the signs of ISO axes (TYDEX W), SAE perhaps{hint}"
            )
    return found


def range_warnings(
    document: Document, values: Mapping[str, float], filled: Sequence[str]
) -> list[str]:
    """Sentences on ranges that end below their beginning."""
    found: list[str] = []
    for prefix, section in RANGES.items():
        names = (f"{prefix}MIN", f"{prefix}MAX")
        low, high = (values[f"ranges.{name}"] for name in names)
        if low > high:
            guessed = "".join(f"; {name} is not in the file" for name in names if name in filled)
            found.append(
                f"{document.source}: [{section}] {names[0]} = {low:g} is above {names[1]} = "
                f"{high:g}; the lower end must not be above the upper one{guessed}"
            )
    return found


def unit_warnings(document: Document, values: Mapping[str, float]) -> list[str]:
    """Sentences on values that look as if they were in other units."""
    found: list[str] = []
    for name in ("INFLPRES", "NOMPRES"):
        value = values.get(f"operating.{name}", 0.0)
        if 0.0 < value < LEAST_PRESSURE:
            found.append(
                f"{document.source}: {name} = {value:g} Pa is below {LEAST_PRESSURE / 1e3:g} kPa; "
                "if it is in bar, kPa or psi, [UNITS] needs PRESSURE = 'bar' and so on"
            )
    radius = values["dimension.UNLOADED_RADIUS"]
    if "UNITS" not in document.sections and not LEAST_RADIUS <= radius <= MOST_RADIUS:
        found.append(
            f"{document.source}: UNLOADED_RADIUS = {radius:g} m is no radius of a tyre; without "
            "[UNITS] values are in SI, and these seem not to be"
        )
    return found


def filling_warnings(document: Document, filled: Sequence[str], policy: str) -> list[str]:
    """Sentences on what had to be filled in and decides on forces."""
    keys = {entry.key for entry in document.entries}
    by = "0 and 1" if policy == "zero" else "usual values"
    found: list[str] = []
    essential = [key for key in ESSENTIAL if key in filled]
    for section, letter in zip(FORCES, "XY", strict=True):
        own = [key for key in essential if key.endswith(f"{letter}1")]
        if section not in document.sections and not _known_names(section) & keys:
            found.append(
                f"{document.source} has no section [{section}]; filled with {by}, see missing="
            )
        elif own:
            found.append(
                f"{document.source} lacks {', '.join(own)} of [{section}]; filled with {by}, see "
                "missing="
            )
    return found


_MOST_UNKNOWN = 1000
"""Unknown keys that are compared with those that are missing; real files have some dozens."""


def misspelt_keys(document: Document, filled: Iterable[str]) -> list[str]:
    """Sentences on unknown keys that are nearly those of keys that the file lacks."""
    found: list[str] = []
    parts = {*SECTIONS.values(), *RANGES.values()}
    missing = [name for name in filled if len(name) > 3]
    known = _known_names()
    unknown = (e for e in document.entries if e.section in parts and e.key not in known)
    for entry in islice(unknown, _MOST_UNKNOWN):
        near = [name for name in missing if _one_edit(entry.key, name)]
        if near:
            found.append(
                f"{document.place(entry.line)}: {entry.key} is not known; did you mean "
                f"{' or '.join(near[:3])}, which the file lacks?"
            )
    return found


@cache
def _known_names(section: str | None = None) -> frozenset[str]:
    """Keys of all versions, of one section or all."""
    kinds = [magic_formula_type(52), *(magic_formula_type(v, turn_slip=TurnSlip) for v in (61, 62))]
    keys = (key for kind in kinds for key in keys_of(kind) if section in (None, key.section))
    return frozenset(name for key in keys for _, name in key.places)


def _one_edit(word: str, name: str) -> bool:
    """Whether one character is wrong, missing, too much, or two are exchanged.

    Numbers differ from key to key: one digit for another is no slip of the pen.
    """
    if len(word) == len(name):
        at = [k for k, (one, other) in enumerate(zip(word, name, strict=True)) if one != other]
        if len(at) == 1:
            return not (word[at[0]].isdigit() and name[at[0]].isdigit())
        pair = len(at) == 2 and at[1] == at[0] + 1
        return pair and word[at[0]] == name[at[1]] and word[at[1]] == name[at[0]]
    if abs(len(word) - len(name)) != 1:
        return False
    short, long = sorted((word, name), key=len)
    return any(
        long[:k] + long[k + 1 :] == short and not (long[k].isdigit() and short[-1].isdigit())
        for k in range(len(long))
    )


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
        """The options; raises for values that are not allowed."""
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
        named = ", ".join(f"[{key.section}] {key.name}" for key in absent[:12])
        named += f" and {len(absent) - 12} more" if len(absent) > 12 else ""
        raise InvalidValue(f"{document.source} needs a value for {named}")
    if options.symmetric:
        values |= {leaf: 0.0 for leaf in values if leaf.rpartition(".")[2] in ASYMMETRIC}
    record = records.unflatten(kind, [values[leaf] for leaf in records.names(kind)])
    side = options.side or ("left" if (values[SIDE] > 0.0) != mode.mirrored else "right")
    tyre = Tyre(record, document, name, filled, mode.transient, side)
    check_finite(tyre, document)
    _warn_of_mistakes(tyre, document, values, options)
    return tyre


def _kind(document: Document, version: str, mode: UseMode, options: Options) -> type:
    """The class of record that a document needs."""
    spin = mode.turn_slip if options.turn_slip is None else options.turn_slip
    old = version == "5.2" and options.policy(version) != "reduced"
    ellipse = old and not weighs(document)
    combination = Uncombined if not mode.combined else FrictionEllipse if ellipse else Combined
    return magic_formula_type(
        int(version.replace(".", "")),
        limits=UsualLimits if options.limits else NoLimits,
        angles=BookAngles if options.book_angles else PlainAngles,
        combination=combination,
        turn_slip=TurnSlip if spin else NoTurnSlip,
    )


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
            value = number_in_si(document, entry, units.factor(key.section, key.name))
            if key.allowed is not None and value not in key.allowed:
                raise InvalidValue(
                    f"{document.place(entry.line)}: {entry.key} = {entry.text} must be "
                    f"{key.allowed}"
                )
        values[key.leaf] = value
    model = document.entry("MODEL", "FITTYP")
    if "QSY8" in filled and model is not None and model.number == 60.0:  # it knows no pressure
        values["rolling.QSY8"] = 0.0
    if "INFLPRES" in filled and "operating.NOMPRES" in values:
        values["operating.INFLPRES"] = values["operating.NOMPRES"]
    return values, tuple(filled), absent


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


def _warn_of_oddities(document: Document) -> None:
    """Warn of what does not count; raise for lines that should be keys and are not."""
    for section, line, text in document.loose:
        if section in _OWN_SECTIONS and not text.startswith("("):
            raise InvalidValue(f"{document.place(line)}: {text[:60]!r} must be KEY = value")
    for warning in use_mode_warnings(document) + _repeated_keys(document):
        _warn(warning)
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


def _warn_of_mistakes(
    tyre: Tyre, document: Document, values: Mapping[str, float], options: Options
) -> None:
    """Warn of likely mistakes; of missing keys only if the caller does not say how to fill them."""
    found = range_warnings(document, values, tyre.filled)
    found += unit_warnings(document, values) + misspelt_keys(document, tyre.filled)
    if options.missing is None:
        found += filling_warnings(document, tyre.filled, options.policy(tyre.version))
    found += [f"{document.source}: {text}" for text in reversed_slopes(tyre)]
    for text in found:
        _warn(text)


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=5)


_FITTYP = {"5.2": "6", "6.1": "61", "6.2": "62"}
_START = """\
! Written by skidpad.
[MDI_HEADER]
FILE_TYPE                = 'tir'
FILE_VERSION             = 3.0
FILE_FORMAT              = 'ASCII'
[UNITS]
LENGTH                   = 'meter'
FORCE                    = 'newton'
ANGLE                    = 'radians'
MASS                     = 'kg'
TIME                     = 'second'
[MODEL]
PROPERTY_FILE_FORMAT     = 'MF-TYRE'
FITTYP                   = {fittyp}
USE_MODE                 = {use_mode}
TYRESIDE                 = 'LEFT'
"""

Texts = dict[tuple[str, str], str]
"""New values of a document as text, by section and key."""


def write(tyre: Tyre | Any, path: str | os.PathLike[str]) -> None:
    """Write a Magic Formula tyre, or its record, as a property file (`.tir`).

    A tyre that was read keeps its order, units, remarks and unknown keys; what is written anew is
    what differs. `read` gives an equal tyre back: each number is the shortest decimal that becomes
    the same double. Limits and the angles of the book are no matter of the file, but of `read`.

    The file is there as a whole or not at all.
    """
    document = document_of(tyre if isinstance(tyre, Tyre) else Tyre(tyre))
    with replacing(path) as temporary:
        temporary.write_bytes(document.encoded())


def document_of(tyre: Tyre) -> Document:
    """The document of a tyre, with its present numbers."""
    if not tyre.version:
        raise InvalidValue(
            f"a property file holds a Magic Formula tyre; this is a {type(tyre.record).__name__}"
        )
    document = tyre.document
    fresh = document is None
    if document is None:
        start = _START.format(fittyp=_FITTYP[tyre.version], use_mode=_use_mode(tyre, ""))
        document = Document.parsed(start.encode())
    # A value may stand for another that is left out, so what is left to say is asked again.
    while texts := _differences(tyre, document, "strict" if fresh else None):
        document = document.with_texts(texts)
    return document


def _differences(tyre: Tyre, document: Document, missing: str | None) -> Texts:
    """Texts that a document has to change or add to describe a tyre."""
    kind = type(tyre.record)
    units, elsewhere = FileUnits.of(document), entries_by_key(document)
    policy = Options(missing).policy(tyre.version)
    meant, _, _ = leaf_values(document, kind, policy)
    actual = dict(zip(records.names(kind), records.flatten(tyre.record), strict=True))
    for leaf, constant in constants_of(kind).items():
        if actual[leaf] != constant:
            raise InvalidValue(
                f"{leaf} = {actual[leaf]:g} cannot be written: files have no such key"
            )
    combination = get_type_hints(kind)["combination"]
    # R coefficients must be written, 0 or not, since without any there is an ellipse.
    weights = tyre.version == "5.2" and combination is Combined and not weighs(document)
    texts = _model_texts(tyre, document, actual[SIDE])
    for key in keys_of(kind):
        value = actual[key.leaf]
        is_weight = key.leaf.startswith(("longitudinal.R", "lateral.R"))
        if meant.get(key.leaf) == value and not (weights and is_weight):
            continue
        if combination is FrictionEllipse and is_weight:
            if value != 0.0:
                raise InvalidValue(
                    f"{key.name} = {value:g} cannot be written: a file with R coefficients has no "
                    "friction ellipse"
                )
            continue
        entry = entry_of(document, key) or elsewhere.get(key.name)
        place = (key.section, key.name) if entry is None else (entry.section, entry.key)
        texts[place] = decimal_text(value, units.factor(key.section, key.name))
    return texts


def _model_texts(tyre: Tyre, document: Document, side: float) -> Texts:
    """Texts that [MODEL] has to change."""
    texts: Texts = {}
    if version_in(document) != tyre.version:
        texts["MODEL", "FITTYP"] = _FITTYP[tyre.version]
    entry = document.entry("MODEL", "USE_MODE")
    if use_mode_of(document, tyre.version) != _mode(tyre):
        texts["MODEL", "USE_MODE"] = _use_mode(tyre, "" if entry is None else entry.text)
    if side_of(document) != side:
        texts["MODEL", "TYRESIDE"] = "'RIGHT'" if side < 0.0 else "'LEFT'"
    return texts


def _mode(tyre: Tyre) -> UseMode:
    hints = get_type_hints(type(tyre.record))
    combined = hints["combination"] is not Uncombined
    mirrored = tyre.side != tyre.measured_on
    return UseMode(combined, hints["turn_slip"] is TurnSlip, tyre.transient, mirrored)


def _use_mode(tyre: Tyre, before: str) -> str:
    """The number of USE_MODE; its hundreds, which are about the road, stay as they were."""
    mode = _mode(tyre)
    usual = 0 if tyre.version == "5.2" else 100
    hundreds = abs(int(float(before))) // 100 * 100 if before else usual
    number = hundreds + 10 * mode.transient + (5 if mode.turn_slip else 4 if mode.combined else 3)
    return str(-number if mode.mirrored else number)


FOLDER = Path(__file__).parent / "sets"


@cache
def names() -> tuple[str, ...]:
    """Names of the tyres that come with skidpad, sorted."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.tir")))


def get(name: str) -> Tyre:
    """A tyre that comes with skidpad: `"passenger_car"`, `"race_slick"` or `"robot"`.

    Their numbers are invented and plausible; each file says what for.
    """
    if name not in names():
        raise InvalidValue(unknown_name("skidpad", name, names(), "tyre"))
    return _get(name)


@cache
def _get(name: str) -> Tyre:
    return read(FOLDER / f"{name}.tir")
