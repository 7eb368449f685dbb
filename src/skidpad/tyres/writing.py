"""`write`: a tyre as a property file."""

from __future__ import annotations

import os
from typing import Any, get_type_hints

from .. import record as records
from ..components.tyre.magic import Combined, FrictionEllipse, TurnSlip, Uncombined
from ..errors import InvalidValue
from ..files import replacing
from .document import Document
from .keys import SIDE, Key, constants_of, keys_of
from .model_section import UseMode, side_of, use_mode_of, version_in
from .reading import Options, entries_by_key, entry_of, leaf_values, weighs
from .tyre import Tyre
from .unit_conversion import FileUnits, decimal_text

__all__ = ["write"]

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
    """What a document has to say otherwise, or besides, to describe a tyre."""
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
    needed = _needed_weights(tyre, document)
    texts = _model_texts(tyre, document, actual[SIDE])
    for key in keys_of(kind):
        value = actual[key.leaf]
        if meant.get(key.leaf) == value and key not in needed:
            continue
        if _combination(kind) is FrictionEllipse and _is_weight(key):
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
    """What [MODEL] has to say otherwise."""
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


def _needed_weights(tyre: Tyre, document: Document) -> frozenset[Key]:
    """R coefficients that must be written, 0 or not, since without any there is an ellipse."""
    kind = type(tyre.record)
    if tyre.version != "5.2" or _combination(kind) is not Combined or weighs(document):
        return frozenset()
    return frozenset(key for key in keys_of(kind) if _is_weight(key))


def _combination(kind: type) -> type:
    return get_type_hints(kind)["combination"]


def _is_weight(key: Key) -> bool:
    return key.leaf.startswith(("longitudinal.R", "lateral.R"))
