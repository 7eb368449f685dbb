"""Text on a screen or in a pipe that cannot say every character: it is written in those it can.

Units and tables have characters such as ², − and ≥ that code pages of Windows and of older systems
lack. A command that has done its work does not fail because of them.
"""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata

HANDLER = "skidpad.spelled"
"""Name of what `spelled` does, for streams."""

_WORDS = {
    **{"−": "-", "⁻": "-", "–": "-", "—": "-", "─": "-", "│": "|", "·": "*", "×": "x", "⊗": "x"},
    **{"≥": ">=", "≤": "<=", "≠": "!=", "≈": "~", "±": "+-", "→": "->", "←": "<-", "…": "..."},
    **{"°": "deg", "√": "sqrt", "∂": "d", "∫": "integral", "∞": "inf", "½": "1/2", "⅛": "1/8"},
    **{"µ": "u", "μ": "u", "ø": "o", "ß": "ss", "‘": "'", "’": "'", "“": '"', "”": '"'},
}
"""What is not spelled by its decomposition or by its name."""


def write_everything() -> None:
    """Let stdout and stderr spell what their encodings lack; a choice made outside stays."""
    codecs.register_error(HANDLER, spelled)
    for stream, replaced in (
        (sys.stdout, ("strict", "surrogateescape")),
        # Python's own choice for stderr, which shows codes of characters.
        (sys.stderr, ("strict", "surrogateescape", "backslashreplace")),
    ):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in replaced:
            stream.reconfigure(errors=HANDLER)


def spelled(error: UnicodeError) -> tuple[str | bytes, int]:
    """What to write for characters that an encoding lacks, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file's name that is no text
        return bytes([code - 0xDC00]), error.start + 1
    return _spelling(character), error.start + 1


def _spelling(character: str) -> str:
    word = _WORDS.get(character)
    if word is None:
        word = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return word or _letter(character) or "?"


def _letter(character: str) -> str:
    """The name of a Greek letter, else nothing."""
    name = unicodedata.name(character, "")
    if not name.startswith("GREEK ") or " LETTER " not in name:
        return ""
    word = name.split(" LETTER ")[1].split()[0].lower().replace("lamda", "lambda")
    return word.capitalize() if "CAPITAL" in name else word
