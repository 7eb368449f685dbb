"""Output of commands: JSON, notes, and text for streams that lack characters.

Units and tables have characters such as ², − and ≥ that code pages of Windows and of older systems
lack. They are written in characters that the stream has, so that no command fails because of them.
"""

from __future__ import annotations

import codecs
import io
import json
import sys
import unicodedata
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import typer


@contextmanager
def warnings_as_notes() -> Generator[None]:
    """Print what the block warns of on stderr; filters are those of whoever calls."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, soft_wrap=True)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        console.print(Text(f"note: {message}", "yellow"))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def print_json(value: dict[str, Any]) -> None:
    """One object, in JSON that every program reads: without NaN and infinity, and in UTF-8."""
    # Where stdout is not in UTF-8, escapes keep every character and are ASCII, which is UTF-8 too.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    escaped = not encoding.lower().startswith("utf-8")
    typer.echo(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=escaped))


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
