"""Section [MODEL] of a tyre property file: which equations it is for, and on which side it is."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import InvalidValue
from .document import Document

__all__ = ["UseMode", "doubts_about_use", "side_of", "use_mode_of", "version_in"]

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
    """What `USE_MODE` says."""

    combined: bool = True
    """Whether longitudinal slip and slip angle influence each other's force."""
    turn_slip: bool = False
    transient: bool = True
    """Whether slip relaxes over a length."""
    mirrored: bool = False
    """Whether the tyre is to be used on the side on which it was not measured."""


def version_in(document: Document) -> str:
    """Version of the Magic Formula that a document is for; raises in words if it is for none."""
    form = document.entry("MODEL", "PROPERTY_FILE_FORMAT")
    name = form.text.upper() if form is not None else ""
    if form is not None and _names_motorcycle(name):
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


def _names_motorcycle(name: str) -> bool:
    words = name.replace("-", "_").split("_")
    return any(word.startswith(_MOTORCYCLE) or word == "PACMC" for word in words)


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
    """What `USE_MODE` says; a file without it is combined with linear relaxation."""
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


def doubts_about_use(document: Document) -> list[str]:
    """What `USE_MODE` asks for and does not get, in sentences."""
    entry = document.entry("MODEL", "USE_MODE")
    if entry is None or entry.number is None:
        return []
    tens, digit = divmod(abs(int(entry.number)) % 100, 10)
    doubts: list[str] = []
    if digit < 3:
        doubts.append("asks for some forces alone; all are computed, uncombined")
    if tens > 1:
        doubts.append("asks for transients beyond linear relaxation; it is read as linear")
    return [f"{document.place(entry.line)}: USE_MODE = {entry.text} {doubt}" for doubt in doubts]


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
