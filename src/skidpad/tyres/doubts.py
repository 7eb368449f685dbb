"""What in a tyre property file is likely a mistake: signs, units, ranges, names of keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import islice

import numpy as np

from .. import record as records
from ..arrays import Array
from ..components.tyre.magic import TurnSlip, magic_formula_type
from ..errors import InvalidValue
from .curves import USUAL_LOAD, answers, nominal_load
from .document import Document, Entry
from .keys import RANGES, SECTIONS, filling, keys_of
from .tyre import Tyre

__all__ = [
    "check_finite",
    "doubts_about_filling",
    "doubts_about_ranges",
    "doubts_about_values",
    "misspelt",
    "reversed_slopes",
]

ESSENTIAL = ("PCX1", "PDX1", "PKX1", "PCY1", "PDY1", "PKY1")
"""Coefficients without which a force is somebody else's."""
FORCES = ("LONGITUDINAL_COEFFICIENTS", "LATERAL_COEFFICIENTS")
LEAST_PRESSURE = 5e3
"""Pressure in Pa below which a value is likely in bar or kPa."""
LEAST_RADIUS, MOST_RADIUS = 0.005, 5.0
"""Radii in m of wheels that there are."""
MOST_LOAD = 5.0
"""Load over the nominal one up to which a contact is ordinary, if the file's range goes so far."""
_QUESTIONS = ("forces", "stiffness", "peaks", "relaxation", "radii")
_CONTACTS = 96
_SLIP = 0.02
_USUAL = {"UNLOADED_RADIUS": 0.3, "FNOMIN": USUAL_LOAD}
"""Values of keys that no policy fills."""
_SIGNS = (
    ("alpha", "F_y", -1.0, "the lateral force grows with the slip angle", "PKY1, PDY1 and PCY1"),
    ("kappa", "F_x", 1.0, "the longitudinal force falls with slip", "PKX1, PDX1 and PCX1"),
)


def check_finite(tyre: Tyre, document: Document) -> None:
    """Raise, with the key that is the reason, for a tyre some answer of which is not finite at an
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
    """An answer that is not finite, and where; None if there is none."""
    contacts = ordinary_contacts(tyre)
    for question in _QUESTIONS:
        answer = answers(tyre, question, **contacts)
        for name, values in zip(answer._fields, answer, strict=True):
            lost = ~np.isfinite(values)
            if lost.any():
                k = int(np.argmax(lost))
                at = ", ".join(f"{what} = {each[k]:.3g}" for what, each in contacts.items())
                return f"{name} of {question}", at
    return None


def _reason(tyre: Tyre, document: Document) -> Entry | None:
    """The entry that with a usual value in place of its own makes all answers finite: the one that
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
    doubts: list[str] = []
    for slip, force, sign, what, keys in _SIGNS:
        at = {slip: np.array([-_SLIP, _SLIP])}
        low, high = getattr(answers(tyre, "forces", F_z=load, **at), force)
        if sign * (high - low) < 0.0:
            hint = f"; check the signs of {keys}" if tyre.version else ""
            doubts.append(
                f"{what}: these are not the signs of ISO axes (TYDEX W), SAE perhaps{hint}"
            )
    return doubts


def doubts_about_ranges(
    document: Document, values: Mapping[str, float], filled: Sequence[str]
) -> list[str]:
    """Sentences on ranges that end below their beginning."""
    doubts: list[str] = []
    for prefix, section in RANGES.items():
        names = (f"{prefix}MIN", f"{prefix}MAX")
        low, high = (values[f"ranges.{name}"] for name in names)
        if low > high:
            guessed = "".join(f"; {name} is not in the file" for name in names if name in filled)
            doubts.append(
                f"{document.source}: [{section}] {names[0]} = {low:g} is above {names[1]} = "
                f"{high:g}; the lower end must not be above the upper one{guessed}"
            )
    return doubts


def doubts_about_values(document: Document, values: Mapping[str, float]) -> list[str]:
    """Sentences on values that look as if they were in other units."""
    doubts: list[str] = []
    for name in ("INFLPRES", "NOMPRES"):
        value = values.get(f"operating.{name}", 0.0)
        if 0.0 < value < LEAST_PRESSURE:
            doubts.append(
                f"{document.source}: {name} = {value:g} Pa is below {LEAST_PRESSURE / 1e3:g} kPa; "
                "if it is in bar, kPa or psi, [UNITS] needs PRESSURE = 'bar' and so on"
            )
    radius = values["dimension.UNLOADED_RADIUS"]
    if "UNITS" not in document.sections and not LEAST_RADIUS <= radius <= MOST_RADIUS:
        doubts.append(
            f"{document.source}: UNLOADED_RADIUS = {radius:g} m is no radius of a tyre; without "
            "[UNITS] values are in SI, and these seem not to be"
        )
    return doubts


def doubts_about_filling(document: Document, filled: Sequence[str], policy: str) -> list[str]:
    """Sentences on what had to be filled in and decides on forces."""
    keys = {entry.key for entry in document.entries}
    by = "0 and 1" if policy == "zero" else "usual values"
    doubts: list[str] = []
    essential = [key for key in ESSENTIAL if key in filled]
    for section, letter in zip(FORCES, "XY", strict=True):
        own = [key for key in essential if key.endswith(f"{letter}1")]
        if section not in document.sections and not _known_names(section) & keys:
            doubts.append(
                f"{document.source} has no section [{section}]; filled with {by}, see missing="
            )
        elif own:
            doubts.append(
                f"{document.source} lacks {', '.join(own)} of [{section}]; filled with {by}, see "
                "missing="
            )
    return doubts


_MOST_UNKNOWN = 1000
"""Unknown keys that are compared with those that are missing; real files have some dozens."""


def misspelt(document: Document, filled: Iterable[str]) -> list[str]:
    """Sentences on unknown keys that are nearly those of keys that the file lacks."""
    doubts: list[str] = []
    parts = {*SECTIONS.values(), *RANGES.values()}
    missing = [name for name in filled if len(name) > 3]
    known = _known_names()
    unknown = (e for e in document.entries if e.section in parts and e.key not in known)
    for entry in islice(unknown, _MOST_UNKNOWN):
        near = [name for name in missing if _one_edit(entry.key, name)]
        if near:
            doubts.append(
                f"{document.place(entry.line)}: {entry.key} is not known; did you mean "
                f"{' or '.join(near[:3])}, which the file lacks?"
            )
    return doubts


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
