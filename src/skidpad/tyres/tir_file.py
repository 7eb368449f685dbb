"""Text of a tyre property file: sections, keys, tables and remarks, preserved as they are.

The format is "TeimOrbit": `[SECTION]` lines, `KEY = value` lines and tables. `$` begins a remark
outside quotes; `!` does at the start of a line or after an unquoted value. Names are
case-insensitive. A key may occur in several sections; within one, its last value is used. A
document stores all its lines, so a file that is read and written again has the same bytes.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ..core.files import counted, shortened
from ..errors import InvalidValue

LARGEST = 16 << 20
"""Size limit of a file in bytes; real files have some ten thousand."""
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?", re.ASCII)
_CLOSED = re.compile(r"\s*(?:[$!].*)?", re.DOTALL)
"""Text that may follow the closing quote of a value."""
_SPACE = " \t\f\v\x1a"
"""White space; the last character, Ctrl-Z, ended files of MS-DOS."""
_KEY_WIDTH = 25


class Entry(NamedTuple):
    """A key with its value and its position in the file."""

    section: str
    """Section in capitals, as `key`; empty before the first section."""
    key: str
    text: str
    """Text of the value, without quotes."""
    quoted: bool
    line: int
    """Line number, from 1."""
    begin: int
    """Columns at which the value begins, quotes included, and before which it ends."""
    end: int

    @property
    def number(self) -> float | None:
        """Value as a number, also if it is in quotes; None if it is not a number."""
        return number_in(self.text)

    @property
    def value(self) -> float | str | None:
        """Value as a number or a text; None if it is empty."""
        if not self.text and not self.quoted:
            return None
        number = None if self.quoted else self.number
        return self.text if number is None else number


class Table(NamedTuple):
    """Table: rows below a line of column names in braces."""

    section: str
    columns: tuple[str, ...]
    rows: tuple[tuple[float | str, ...], ...]
    line: int
    """Line number of the column names."""


class _Parts(NamedTuple):
    sections: dict[str, int]
    """Last non-empty line of each section, counted from 1."""
    entries: tuple[Entry, ...]
    tables: tuple[Table, ...]
    loose: tuple[tuple[str, int, str], ...]
    """Unrecognised lines: section, line number, text."""


@dataclass(frozen=True)
class Document:
    """Tyre property file as text.

    Args:
        lines: lines with their line ends.
        encoding: encoding of the bytes.
        source: name for errors, such as the path; ignored in comparisons.
    """

    lines: tuple[str, ...]
    encoding: str = "utf-8"
    source: str = field(default="tyre file", compare=False)

    @staticmethod
    def parsed(data: bytes, source: str = "tyre file") -> Document:
        """Parse the bytes of a file; raises `InvalidValue` with the line if that fails."""
        if len(data) > LARGEST:
            raise InvalidValue(f"{source} has {len(data)} bytes; allowed are {LARGEST}")
        if b"\0" in data:
            raise InvalidValue(f"{source} is not a tyre property file: it contains zero bytes")
        encoding = "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            encoding, text = "latin-1", data.decode("latin-1")
        document = Document(tuple(_LINES.findall(text)), encoding, source)
        _ = document._parts
        return document

    def encoded(self) -> bytes:
        return "".join(self.lines).encode(self.encoding)

    @cached_property
    def values(self) -> Mapping[str, Mapping[str, float | str | None]]:
        """Values by section and key, both in capitals, in the units of the file."""
        values: dict[str, dict[str, float | str | None]] = {name: {} for name in self.sections}
        for entry in self.entries:
            values.setdefault(entry.section, {})[entry.key] = entry.value
        return values

    @property
    def sections(self) -> tuple[str, ...]:
        """Names of the sections in their order, in capitals."""
        return tuple(self._parts.sections)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All keys in order, including repeated ones."""
        return self._parts.entries

    @property
    def tables(self) -> tuple[Table, ...]:
        return self._parts.tables

    @property
    def loose(self) -> tuple[tuple[str, int, str], ...]:
        """Lines that are neither key, table nor remark: section, line number and text."""
        return self._parts.loose

    @cached_property
    def _last(self) -> dict[tuple[str, str], Entry]:
        return {(entry.section, entry.key): entry for entry in self.entries}

    def entry(self, section: str, key: str) -> Entry | None:
        """Effective entry of a key, or None if the key has no value."""
        entry = self._last.get((section.upper(), key.upper()))
        return None if entry is None or entry.value is None else entry

    def repeated(self) -> tuple[Entry, ...]:
        """Entries without effect, since their key occurs again later."""
        return tuple(e for e in self.entries if self._last[e.section, e.key] is not e)

    def place(self, line: int) -> str:
        """File and line, as prefix of errors."""
        return f"{self.source}, line {line}"

    def error(self, line: int, text: str) -> InvalidValue:
        """Error about a line."""
        return InvalidValue(f"{self.place(line)}: {text}")

    def with_texts(self, texts: Mapping[tuple[str, str], str]) -> Document:
        """Document with values replaced or added, from `{(section, key): text}`.

        Remarks keep their position if the new value leaves room. A new key is added at the end of
        its section, a new section at the end of the document.
        """
        lines, added = list(self.lines), dict[str, list[str]]()
        end = self.line_end
        for (section, key), text in texts.items():
            section, key = section.upper(), key.upper()
            old = self._last.get((section, key))
            if old is not None:
                lines[old.line - 1] = _exchanged(lines[old.line - 1], old, text)
            else:
                new = f"{key:<{_KEY_WIDTH}}= {text}{end}"
                added.setdefault(section, [f"[{section}]{end}"]).append(new)
        at = self._parts.sections
        # From the last line up, so that the places of those before stay what they are.
        for section in sorted(added, key=lambda name: -at.get(name, len(lines) + 1)):
            place = at.get(section, len(lines))
            if place and not lines[place - 1].endswith(("\r", "\n")):
                lines[place - 1] += end
            lines[place:place] = added[section][section in at :]
        return Document(tuple(lines), self.encoding, self.source)

    @property
    def line_end(self) -> str:
        """Line end of the first line."""
        first = self.lines[0] if self.lines else ""
        return "\r\n" if first.endswith("\r\n") else "\r" if first.endswith("\r") else "\n"

    @cached_property
    def _parts(self) -> _Parts:
        return _Parser(self).parts()

    def __repr__(self) -> str:
        size = f"{counted(len(self.lines), 'line')}, {counted(len(self.sections), 'section')}"
        return shortened(f"Document({self.source!r}, {size})")

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("lines", "encoding", "source")}


def _exchanged(line: str, old: Entry, text: str) -> str:
    """Line with the value replaced; a remark after it keeps its position if there is room."""
    head, tail = line[: old.begin], line[old.end :]
    room = len(tail) - len(tail.lstrip(" "))
    if room and tail[room : room + 1] in ("$", "!"):
        tail = " " * max(1, room + old.end - old.begin - len(text)) + tail[room:]
    # A value where there was none stands right behind the sign.
    return (
        head + (" " if head.endswith("=") and line[old.begin :].strip() == "" else "") + text + tail
    )


def number_in(text: str) -> float | None:
    """Text as a number, also with Fortran exponents; None if it is not a number."""
    if not _NUMBER.fullmatch(text):
        return None
    return float(text.replace("d", "e").replace("D", "e"))


class _Parser:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._section = ""
        self._sections: dict[str, int] = {}
        self._entries: list[Entry] = []
        self._tables: list[Table] = []
        self._loose: list[tuple[str, int, str]] = []
        self._rows: list[tuple[float | str, ...]] | None = None

    def parts(self) -> _Parts:
        for number, line in enumerate(self._document.lines, 1):
            content = line.strip("\r\n" + _SPACE)
            if content and content[0] not in "$!":
                self._take(number, line, content)
        self._end_table()
        entries, tables = tuple(self._entries), tuple(self._tables)
        return _Parts(self._sections, entries, tables, tuple(self._loose))

    def _take(self, number: int, line: str, content: str) -> None:
        if content[0] == "[":
            self._end_table()
            name, bracket, _ = content[1:].partition("]")
            if not bracket or not name.strip():
                rule = "must be a section such as [MODEL]"
                raise self._document.error(number, f"{content[:60]!r} {rule}")
            self._section = name.strip().upper()
        elif content[0] == "{":
            self._begin_table(number, content)
        elif (entry := self._entry(number, line)) is not None:
            self._end_table()
            self._entries.append(entry)
        elif self._rows is not None:
            words = content.partition("$")[0].partition("!")[0].replace(",", " ").split()
            numbers = map(number_in, words)
            pairs = zip(words, numbers, strict=True)
            self._rows.append(tuple(word if n is None else n for word, n in pairs))
        else:
            self._loose.append((self._section, number, content))
        if self._section:
            self._sections[self._section] = number

    def _begin_table(self, number: int, content: str) -> None:
        self._end_table()
        names, brace, _ = content[1:].partition("}")
        if not brace:
            raise self._document.error(number, f"{content[:60]!r} must be column names in braces")
        self._rows = []
        columns = tuple(names.replace(",", " ").split())
        self._tables.append(Table(self._section, columns, (), number))

    def _end_table(self) -> None:
        if self._rows is not None:
            self._tables[-1] = self._tables[-1]._replace(rows=tuple(self._rows))
        self._rows = None

    def _entry(self, number: int, line: str) -> Entry | None:
        """Key and value of a line; None if it has no key."""
        at = line.find("=")
        key = line[: max(at, 0)].strip(_SPACE)
        if not key or any(mark in key for mark in "$!'\""):
            return None
        line = line.rstrip("\r\n" + _SPACE)
        begin = at + 1 + len(line[at + 1 :]) - len(line[at + 1 :].lstrip(_SPACE))
        quote = line[begin : begin + 1]
        if quote and quote in "'\"":
            end = self._closing_quote(number, key, line, begin)
            text = line[begin + 1 : end - 1]
        else:
            bare = re.split(r"[$!]", line[begin:], maxsplit=1)[0].rstrip(_SPACE)
            end, text = begin + len(bare), bare
        return Entry(
            self._section, key.upper(), text, bool(quote) and quote in "'\"", number, begin, end
        )

    def _closing_quote(self, number: int, key: str, line: str, begin: int) -> int:
        """Column after the closing quote of a text."""
        at = begin
        while (at := line.find(line[begin], at + 1)) >= 0:
            if _CLOSED.fullmatch(line, at + 1):
                return at + 1
        text = f"{key} = {line[begin:][:60]} has no closing quote"
        raise self._document.error(number, text)
