"""Keys of a property file that are no part of the equations, such as MASS: changed in its text."""

from __future__ import annotations

from collections.abc import Mapping

from ..checks import finite
from ..errors import InvalidValue
from .document import Document, Entry
from .unit_conversion import FileUnits, decimal_text

__all__ = ["has_key", "with_other_keys"]

_SAYS_WHAT_IT_IS = ("MDI_HEADER", "UNITS", "MODEL")
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
    return [entry for entry in numbers if entry.section not in _SAYS_WHAT_IT_IS]
