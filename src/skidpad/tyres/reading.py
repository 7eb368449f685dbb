"""Tyres in property files (`.tir`): `read`, `write`, and those that come with skidpad (`get`).

Likely mistakes in a file are reported as warnings: signs, units, ranges, names of keys. Values that
lead to a non-finite force are errors, which name the responsible key.

Curves of a tyre for data sheets and figures, evaluated on arrays without compilation.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from ..core import record as records
from ..core.arrays import Array
from ..core.checks import finite, flag, one_of
from ..core.files import bytes_of, path_of, replacing, shortened
from ..core.record import check_names
from ..errors import InvalidValue
from .magic_formula import records as mf
from .magic_formula.coefficients import NoTurnSlip, TurnSlip
from .magic_formula.formula import magic_formula_type
from .tir_file import (
    ASYMMETRIC,
    RANGES,
    SECTIONS,
    SIDE,
    Document,
    Entry,
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
from .tyre import SIDES, Tyre, evaluate_at

USUAL_LOAD = 4000.0
"""Default load in N for tyres without a nominal load."""
USUAL_SPEED = 10.0
"""Default speed in m/s for tyres without a measurement speed."""
_WIDEST_SLIP, _WIDEST_ANGLE = 1.0, 0.7
"""Largest slip (a locked or spinning wheel) and slip angle (40 degrees, in rad) of curves."""
_NOMINAL = ("FNOMIN", "F_z0")
"""Names of leaves that hold a nominal load."""


class Reach(NamedTuple):
    """Largest slip, slip angle in rad and load in N of curves; slips in both directions."""

    kappa: float
    alpha: float
    F_z: float


def nominal_load(tyre: Tyre) -> float | None:
    """Nominal load of a tyre in N, or None."""
    names = records.names(type(tyre.record))
    for name, value in zip(names, records.flatten(tyre.record), strict=True):
        if name.rpartition(".")[2] in _NOMINAL:
            return float(value)
    return None


def reference_speed(tyre: Tyre) -> float:
    """Speed in m/s at which a tyre was measured, or a default."""
    return float(tyre.record.model.LONGVL) if tyre.version else USUAL_SPEED


def reach(tyre: Tyre) -> Reach:
    """Range in which a tyre is valid according to its file, limited to useful slips."""
    usual = 2.5 * (nominal_load(tyre) or USUAL_LOAD)
    if not tyre.version:
        return Reach(_WIDEST_SLIP, _WIDEST_ANGLE, usual)
    ranges = tyre.record.ranges
    return Reach(
        _within(_WIDEST_SLIP, -ranges.KPUMIN, ranges.KPUMAX),
        _within(_WIDEST_ANGLE, -ranges.ALPMIN, ranges.ALPMAX),
        ranges.FZMAX if ranges.FZMAX > ranges.FZMIN else usual,
    )


def _within(widest: float, *limits: float) -> float:
    """Smallest of the limits and `widest`; limits that leave an empty range are ignored."""
    return min([widest, *(float(limit) for limit in limits if limit > 0.0)])


def checked_tyre(tyre: Any) -> Tyre:
    """Return the tyre; raises for a path, a name or a record."""
    if not isinstance(tyre, Tyre):
        raise InvalidValue(
            f"tyre = {shortened(repr(tyre))} must be a Tyre: sp.tyres.read(path) reads one, "
            "sp.tyres.get(name) has skidpad's own, sp.tyres.Tyre(record) makes one"
        )
    return tyre


def several(values: Any) -> list[Any]:
    return [values] if isinstance(values, str) or np.ndim(values) == 0 else list(values)


def checked_loads(loads: Iterable[float] | float | None, tyre: Tyre) -> list[float]:
    """Loads in N, sorted; by default 0.5, 1 and 1.5 times the nominal load."""
    if loads is None:
        usual = nominal_load(tyre) or USUAL_LOAD
        return [share * usual for share in (0.5, 1.0, 1.5)]
    values = sorted(finite("loads", load, "N") for load in several(loads))
    if not values or values[0] <= 0.0:
        raise InvalidValue(f"loads = {values} N must be one or more that are greater than 0")
    return values


def evaluate_on_arrays(tyre: Tyre, method: str, **contact: Any) -> Any:
    """Results of a method of the tyre, such as `forces`, for arrays, without compiling anything."""
    usual = {
        "F_z": 0.0, "kappa": 0.0, "alpha": 0.0, "gamma": 0.0, "phi_t": 0.0,
        "v_x": reference_speed(tyre), "p": tyre.pressure, "mu": 1.0,
    }  # fmt: skip
    known = {name: value for name, value in contact.items() if value is not None}
    arrays: list[Array] = [np.asarray(v, dtype=float) for v in (usual | known).values()]
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    # Locked wheels and tails of curves overflow into infinities that no figure shows.
    with np.errstate(all="ignore"):
        values = tuple(np.broadcast_to(array, shape) for array in arrays)
        answered = evaluate_at(method, tyre.record, SIDES[tyre.side], values)
    leaves = records.flatten(answered)
    columns = [np.broadcast_to(np.asarray(leaf, dtype=float), shape) for leaf in leaves]
    return records.unflatten(type(answered), columns)


ESSENTIAL = ("PCX1", "PDX1", "PKX1", "PCY1", "PDY1", "PKY1")
"""Coefficients without which the forces would be wrong rather than merely simplified."""
FORCES = ("LONGITUDINAL_COEFFICIENTS", "LATERAL_COEFFICIENTS")
LEAST_PRESSURE = 5e3
"""Pressure in Pa below which a value is probably in bar or kPa."""
LEAST_RADIUS, MOST_RADIUS = 0.005, 5.0
"""Plausible range of wheel radii in m."""
MOST_LOAD = 5.0
"""Load over nominal load up to which a contact is ordinary, if the file's range includes it."""
_METHODS = ("forces", "stiffness", "peaks", "relaxation", "radii")
_CONTACTS = 96
_EXTREME = 1e7
"""Size of a number, or of its reciprocal, from which compiled results are checked as well.

Sines and cosines of compiled code fail beyond angles of 1.7e9 rad, those of NumPy do not.
"""
_SLIP = 0.02
_USUAL = {"UNLOADED_RADIUS": 0.3, "FNOMIN": USUAL_LOAD}
"""Typical values of keys that no policy fills."""
_SIGNS = (
    ("alpha", "F_y", -1.0, "the lateral force grows with the slip angle", "PKY1, PDY1 and PCY1"),
    ("kappa", "F_x", 1.0, "the longitudinal force falls with slip", "PKX1, PDX1 and PCX1"),
)


def check_finite(tyre: Tyre, document: Document) -> None:
    """Raise, naming the responsible key, if a tyre has a non-finite result at an ordinary contact.

    Ordinary contacts are within its range of loads, up to locked and sliding wheels, at any speed.
    """
    if (wrong := _not_finite(tyre)) is None:
        return
    what, at = wrong
    if (reason := _reason(tyre, document)) is None:
        raise InvalidValue(
            f"{document.source}: its values together make {what} infinite or NaN at {at}"
        )
    raise document.error(
        reason.line, f"{reason.key} = {reason.text} makes {what} infinite or NaN at {at}"
    )


def _not_finite(tyre: Tyre) -> tuple[str, str] | None:
    """Name of a non-finite result and its contact, or None if all results are finite.

    Contacts are spread evenly over the ordinary range, including its limits and standstill.
    """
    ranges, nominal = tyre.record.ranges, nominal_load(tyre) or USUAL_LOAD
    most = min(max(ranges.FZMIN, ranges.FZMAX), MOST_LOAD * nominal)
    least = min(ranges.FZMIN, ranges.FZMAX, most)
    # A sequence of low discrepancy: multiples of powers of the generalised golden ratio, modulo 1.
    steps = 1.1347241384015194 ** -np.arange(1.0, 6.0)
    share = (0.5 + np.outer(np.arange(_CONTACTS), steps)) % 1.0
    share = np.clip(1.2 * share - 0.1, 0.0, 1.0).T
    contacts: dict[str, Array] = {
        "F_z": least + (most - least) * share[0],
        "kappa": 2.0 * share[1] - 1.0,
        "alpha": share[2] - 0.5,
        "gamma": 0.4 * share[3] - 0.2,
        "v_x": 50.0 * share[4],
    }
    looks: list[Callable[[str], Any]] = [
        lambda method: evaluate_on_arrays(tyre, method, **contacts)
    ]
    numbers = np.abs(records.flatten(tyre.record))
    if np.any((numbers > _EXTREME) | ((numbers > 0.0) & (numbers < 1.0 / _EXTREME))):
        looks.append(lambda method: getattr(tyre, method)(**contacts))
    for look, method in product(looks, _METHODS):
        answer = look(method)
        for name, values in zip(answer._fields, answer, strict=True):
            lost = ~np.isfinite(values)
            if lost.any():
                k = int(np.argmax(lost))
                at = ", ".join(f"{what} = {each[k]:.3g}" for what, each in contacts.items())
                return f"{name} of {method}", at
    return None


def _reason(tyre: Tyre, document: Document) -> Entry | None:
    """Entry responsible for a non-finite result, or None.

    Replacing it by a typical value makes all results finite; if several entries qualify, it is the
    one whose order of magnitude is farthest from 1.
    """
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
    """Warnings about forces with the wrong sign at small slip, as with SAE axes."""
    found: list[str] = []
    for slip, force, sign, what, keys in _SIGNS:
        at = {"F_z": nominal_load(tyre) or USUAL_LOAD, slip: np.array([-_SLIP, _SLIP])}
        low, high = getattr(evaluate_on_arrays(tyre, "forces", **at), force)
        if sign * (high - low) < 0.0:
            hint = f"; check the signs of {keys}" if tyre.version else ""
            found.append(
                f"{what}: these are not the signs of ISO axes (TYDEX W), SAE perhaps{hint}"
            )
    return found


def value_warnings(
    document: Document, values: Mapping[str, float], filled: Sequence[str]
) -> Iterator[str]:
    """Warnings about reversed ranges and about values that seem to be in other units."""
    for prefix, section in RANGES.items():
        names = (f"{prefix}MIN", f"{prefix}MAX")
        low, high = (values[f"ranges.{name}"] for name in names)
        if low > high:
            guessed = "".join(f"; {name} is not in the file" for name in names if name in filled)
            yield (
                f"{document.source}: [{section}] {names[0]} = {low:g} is above {names[1]} = "
                f"{high:g}; the lower end must not be above the upper one{guessed}"
            )
    for name in ("INFLPRES", "NOMPRES"):
        value = values.get(f"operating.{name}", 0.0)
        if 0.0 < value < LEAST_PRESSURE:
            yield (
                f"{document.source}: {name} = {value:g} Pa is below {LEAST_PRESSURE / 1e3:g} kPa; "
                "if it is in bar, kPa or psi, [UNITS] needs PRESSURE = 'bar' and so on"
            )
    radius = values["dimension.UNLOADED_RADIUS"]
    if "UNITS" not in document.sections and not LEAST_RADIUS <= radius <= MOST_RADIUS:
        yield (
            f"{document.source}: UNLOADED_RADIUS = {radius:g} m is not a tyre radius; without "
            "[UNITS] values are in SI, and these seem not to be"
        )


def filling_warnings(document: Document, filled: Sequence[str], policy: str) -> Iterator[str]:
    """Warnings about filled-in keys on which forces depend."""
    keys = {entry.key for entry in document.entries}
    by = "0 and 1" if policy == "zero" else "usual values"
    essential = [key for key in ESSENTIAL if key in filled]
    for section, letter in zip(FORCES, "XY", strict=True):
        own = [key for key in essential if key.endswith(f"{letter}1")]
        if section not in document.sections and not _known_names(section) & keys:
            yield (f"{document.source} has no section [{section}]; filled with {by}, see missing=")
        elif own:
            yield (
                f"{document.source} lacks {', '.join(own)} of [{section}]; filled with {by}, see "
                "missing="
            )


_MOST_UNKNOWN = 1000
"""Largest number of unknown keys compared with missing ones; real files have some dozens."""


def misspelt_keys(document: Document, filled: Iterable[str]) -> Iterator[str]:
    """Warnings about unknown keys that are probably misspelt names of missing keys."""
    parts = {*SECTIONS.values(), *RANGES.values()}
    missing = [name for name in filled if len(name) > 3]
    known = _known_names()
    unknown = (e for e in document.entries if e.section in parts and e.key not in known)
    for entry in islice(unknown, _MOST_UNKNOWN):
        near = [name for name in missing if _one_edit(entry.key, name)]
        if near:
            yield (
                f"{document.place(entry.line)}: {entry.key} is not known; did you mean "
                f"{' or '.join(near[:3])}, which the file lacks?"
            )


@cache
def _known_names(section: str | None = None) -> frozenset[str]:
    """Keys of all versions, of one section or of all."""
    kinds = [magic_formula_type(52), *(magic_formula_type(v, turn_slip=TurnSlip) for v in (61, 62))]
    keys = (key for kind in kinds for key in keys_of(kind) if section in (None, key.section))
    return frozenset(name for key in keys for _, name in key.places)


def _one_edit(word: str, name: str) -> bool:
    """Whether two names differ by one wrong, missing, added or swapped character.

    Digits distinguish keys, so one digit in place of another is not a misspelling.
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
"""Largest number of repeated keys that are warned of one by one."""
_UNUSED_TABLES = ("DEFLECTION_LOAD_CURVE", "BOTTOMING_CURVE")
"""Tables that would change the vertical stiffness and are not used."""
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
    """Read the tyre in a property file (`.tir`) of MF-Tyre 5.2, 6.0, 6.1 or 6.2, or PAC2002.

    Values are converted to SI by the file's section [UNITS]. The text of the file is stored with
    the tyre, so that unknown keys and remarks survive `write`.

    Args:
        path: the file.
        missing: how missing keys are filled. "reduced": with the usual values of MF 6.x programs
            (the default for 6.x); "zero": so that terms are switched off (the default for 5.2);
            "strict": they are an error. `Tyre.filled` names them.
        limits: whether to clip inputs to the file's ranges and reduce slip at low speed, as usual
            solvers do; this causes kinks and jumps.
        book_angles: whether to use tan(alpha) and sin(gamma) in place of alpha and gamma, as in
            Pacejka's book.
        turn_slip: whether to include turn slip; by `USE_MODE` if None.
        symmetric: whether to drop the coefficients that make left and right differ.
        side: "left" or "right", the side of the car for which results hold; if None, the side on
            which the tyre was measured, or the other side if `USE_MODE` is negative.

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
        for name, allowed in (("missing", POLICIES), ("side", SIDES)):
            if getattr(self, name) is not None:
                one_of(name, getattr(self, name), allowed)
        for name in ("limits", "book_angles", "symmetric", "turn_slip"):
            if name != "turn_slip" or self.turn_slip is not None:
                flag(name, getattr(self, name))
        return self

    def policy(self, version: str) -> str:
        return self.missing or ("zero" if version == "5.2" else "reduced")


def tyre_of(document: Document, name: str = "", options: Options | None = None) -> Tyre:
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
    spin = mode.turn_slip if options.turn_slip is None else options.turn_slip
    old = version == "5.2" and options.policy(version) != "reduced"
    ellipse = old and not weighs(document)
    return magic_formula_type(
        int(version.replace(".", "")),
        mf.UsualLimits if options.limits else mf.NoLimits,
        mf.BookAngles if options.book_angles else mf.PlainAngles,
        mf.Uncombined if not mode.combined else mf.FrictionEllipse if ellipse else mf.Combined,
        TurnSlip if spin else NoTurnSlip,
    )


def weighs(document: Document) -> bool:
    """Whether a document has R coefficients; a 5.2 tyre without them uses a friction ellipse."""
    parts = ("LONGITUDINAL_COEFFICIENTS", "LATERAL_COEFFICIENTS")
    return any(entry.key.startswith("R") for entry in document.entries if entry.section in parts)


def leaf_values(
    document: Document, kind: type, missing: str
) -> tuple[dict[str, float], tuple[str, ...], list[Key]]:
    """Values of a record's leaves in SI by dotted names, keys filled in, and keys not filled."""
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
                rule = f"{entry.key} = {entry.text} must be {key.allowed}"
                raise document.error(entry.line, rule)
        values[key.leaf] = value
    model = document.entry("MODEL", "FITTYP")
    if "QSY8" in filled and model is not None and model.number == 60.0:  # MF 6.0 ignores pressure
        values["rolling.QSY8"] = 0.0
    if "INFLPRES" in filled and "operating.NOMPRES" in values:
        values["operating.INFLPRES"] = values["operating.NOMPRES"]
    return values, tuple(filled), absent


def entry_of(document: Document, key: Key) -> Entry | None:
    """Entry of a key in its section, or in the place where other programs write it."""
    entries = (document.entry(*place) for place in key.places)
    return next((entry for entry in entries if entry is not None), None)


def entries_by_key(document: Document) -> Mapping[str, Entry]:
    """Entries by key alone: some files have keys in neighbouring sections."""
    entries = (e for e in document.entries if e.section in _OWN_SECTIONS and e.section != "UNITS")
    return {entry.key: entry for entry in entries if entry.value is not None}


def _warn_of_oddities(document: Document) -> None:
    """Warn of ignored content; raise for malformed key lines."""
    for section, line, text in document.loose:
        if section in _OWN_SECTIONS and not text.startswith("("):
            raise document.error(line, f"{text[:60]!r} must be KEY = value")
    for warning in use_mode_warnings(document):
        _warn(warning)
    earlier: dict[tuple[str, str], list[int]] = {}
    for entry in document.repeated():
        earlier.setdefault((entry.section, entry.key), []).append(entry.line)
    for (_, key), lines in islice(earlier.items(), _MOST_REPEATED):
        others = f"; so are {len(lines) - 1} more of its values" if len(lines) > 1 else ""
        _warn(f"{document.place(lines[0])}: {key} is given again later, which counts{others}")
    if len(earlier) > _MOST_REPEATED:
        more = len(earlier) - _MOST_REPEATED
        _warn(f"{document.source}: {more} more keys are given several times")
    factor = document.entry("SCALING_COEFFICIENTS", "LCZ")
    if factor is not None and factor.number not in (None, 1.0):
        _warn(f"{document.place(factor.line)}: LCZ = {factor.text} is kept but not used")
    for table in document.tables:
        if table.section in _UNUSED_TABLES:
            _warn(
                f"{document.place(table.line)}: [{table.section}] is kept but not used: loads "
                "follow VERTICAL_STIFFNESS"
            )


def _warn_of_mistakes(
    tyre: Tyre, document: Document, values: Mapping[str, float], options: Options
) -> None:
    """Warn of likely mistakes; of missing keys only if the caller has set no policy for them."""
    found = [
        *value_warnings(document, values, tyre.filled),
        *misspelt_keys(document, tyre.filled),
    ]
    if options.missing is None:
        found += filling_warnings(document, tyre.filled, options.policy(tyre.version))
    for text in (*found, *(f"{document.source}: {text}" for text in reversed_slopes(tyre))):
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

    A tyre read from a file keeps its order, units, remarks and unknown keys; only differences are
    written anew. `read` returns an equal tyre: each number is the shortest decimal that converts to
    the same double. Limits and book angles are not stored in the file; they are arguments of
    `read`.

    The file is written completely or not at all.
    """
    document = document_of(tyre if isinstance(tyre, Tyre) else Tyre(tyre))
    with replacing(path) as temporary:
        temporary.write_bytes(document.encoded())


def document_of(tyre: Tyre) -> Document:
    if not tyre.version:
        raise InvalidValue(
            f"a property file holds a Magic Formula tyre; this is a {type(tyre.record).__name__}"
        )
    document = tyre.document
    fresh = document is None
    if document is None:
        start = _START.format(fittyp=_FITTYP[tyre.version], use_mode=_use_mode(tyre, ""))
        document = Document.parsed(start.encode())
    # A value may be the default of another one that is left out, so compute the differences until
    # none is left.
    while texts := _differences(tyre, document, "strict" if fresh else None):
        document = document.with_texts(texts)
    return document


def _differences(tyre: Tyre, document: Document, missing: str | None) -> Texts:
    """Texts that have to be changed or added in a document to describe a tyre."""
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
    weights = tyre.version == "5.2" and combination is mf.Combined and not weighs(document)
    texts: Texts = {}
    if version_in(document) != tyre.version:
        texts["MODEL", "FITTYP"] = _FITTYP[tyre.version]
    if use_mode_of(document, tyre.version) != _mode(tyre):
        mode = document.entry("MODEL", "USE_MODE")
        texts["MODEL", "USE_MODE"] = _use_mode(tyre, "" if mode is None else mode.text)
    if side_of(document) != actual[SIDE]:
        texts["MODEL", "TYRESIDE"] = "'RIGHT'" if actual[SIDE] < 0.0 else "'LEFT'"
    for key in keys_of(kind):
        value = actual[key.leaf]
        is_weight = key.leaf.startswith(("longitudinal.R", "lateral.R"))
        if meant.get(key.leaf) == value and not (weights and is_weight):
            continue
        if combination is mf.FrictionEllipse and is_weight:
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


def _mode(tyre: Tyre) -> UseMode:
    hints = get_type_hints(type(tyre.record))
    combined = hints["combination"] is not mf.Uncombined
    mirrored = tyre.side != tyre.measured_on
    return UseMode(combined, hints["turn_slip"] is TurnSlip, tyre.transient, mirrored)


def _use_mode(tyre: Tyre, before: str) -> str:
    """Number of USE_MODE; its hundreds, which concern the road, are preserved."""
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

    Its values are plausible but fictitious; each file states its purpose.
    """
    check_names("skidpad", [name], names(), "tyre")
    return _get(name)


@cache
def _get(name: str) -> Tyre:
    return read(FOLDER / f"{name}.tir")
