"""Output of commands: JSON, notes, pages, and a fallback for characters a stream cannot encode.

Units and tables have characters such as ², − and ≥ that code pages of Windows and of older systems
lack. They are transliterated, so that no command fails because of them.
"""

from __future__ import annotations

import codecs
import io
import json
import sys
import unicodedata
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ..view.film import Film


@contextmanager
def warnings_as_notes() -> Generator[None]:
    """Context manager that prints warnings as notes on stderr; the caller's warning filters are
    unchanged.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, soft_wrap=True)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        console.print(Text(f"note: {message}", "yellow"))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def caught_texts(*kinds: type[Warning]) -> Generator[list[str]]:
    """Context manager that collects the texts of warnings of these categories, readable after the
    block.
    """
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    texts += [str(one.message) for one in caught if issubclass(one.category, kinds)]


def print_json(value: dict[str, Any]) -> None:
    """Print a JSON object in UTF-8, with NaN and infinity replaced by null."""
    # If stdout is not in UTF-8, escape non-ASCII characters: ASCII is valid UTF-8.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    escaped = not encoding.lower().startswith("utf-8")
    typer.echo(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=escaped))


def finite(value: Any) -> Any:
    """Copy of a value for JSON, with None in place of infinity and NaN."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return value


def size_text(count: int) -> str:
    """Text for a number of bytes in a suitable unit, such as `1.5 MB`."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"


def serve_film(film: Film, what: str, *, limit_mb: float, port: int = 0, browser: bool) -> None:
    """Serve the replay page of a film on this machine until Ctrl-C, and open it in the browser."""
    import webbrowser

    from ..view.pages.page import PageServer, html_of

    server = PageServer(html_of(film, limit_mb=limit_mb), port)
    typer.echo(f"{what} at {server.url}  (Ctrl-C ends it)")
    sys.stdout.flush()
    if browser:
        webbrowser.open(server.url)
    try:
        server.run()
    except KeyboardInterrupt:
        typer.echo("")


HANDLER = "skidpad.spelled"
"""Name of the codec error handler `spell`."""

_WORDS = {
    **{"−": "-", "⁻": "-", "–": "-", "—": "-", "─": "-", "│": "|", "·": "*", "×": "x", "⊗": "x"},
    **{"≥": ">=", "≤": "<=", "≠": "!=", "≈": "~", "±": "+-", "→": "->", "←": "<-", "…": "..."},
    **{"°": "deg", "√": "sqrt", "∂": "d", "∫": "integral", "∞": "inf", "½": "1/2", "⅛": "1/8"},
    **{"µ": "u", "μ": "u", "ø": "o", "ß": "ss", "‘": "'", "’": "'", "“": '"', "”": '"'},
}
"""Transliterations of characters that neither decomposition nor the Unicode name provides."""


def write_everything() -> None:
    """Make stdout and stderr transliterate characters they cannot encode, unless the user chose
    otherwise.
    """
    codecs.register_error(HANDLER, spell)
    for stream, replaced in (
        (sys.stdout, ("strict", "surrogateescape")),
        # Python's default error handler for stderr, which prints escape codes.
        (sys.stderr, ("strict", "surrogateescape", "backslashreplace")),
    ):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in replaced:
            stream.reconfigure(errors=HANDLER)


def spell(error: UnicodeError) -> tuple[str | bytes, int]:
    """Codec error handler: transliteration of a character, and the position to continue at."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # an undecodable byte of a file name
        return bytes([code - 0xDC00]), error.start + 1
    word = _WORDS.get(character)
    if word is None:
        word = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    name = unicodedata.name(character, "")
    if not word and name.startswith("GREEK ") and " LETTER " in name:
        word = name.split(" LETTER ")[1].split()[0].lower().replace("lamda", "lambda")
        word = word.capitalize() if "CAPITAL" in name else word
    return word or "?", error.start + 1
