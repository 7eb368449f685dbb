"""Text of a tyre property file: sections, keys, tables and remarks, kept as they stand.

The format is "TeimOrbit": `[SECTION]` lines, `KEY = value` lines and tables. `$` begins a remark
outside quotes, `!` one at the start of a line or after a value that stands without quotes. Names
are compared without regard to case. A key may occur in several sections; within one, its last
value counts. Nothing is thrown away: a document is its lines, and writing one that was read gives
the same bytes.
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
"""Bytes of the largest file that is read: real ones have some ten thousand."""
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?", re.ASCII)
_CLOSED = re.compile(r"\s*(?:[$!].*)?", re.DOTALL)
"""Text that may follow the quote that ends a value."""
_SPACE = " \t\f\v\x1a"
"""The last one ended files of MS-DOS."""
_KEY_WIDTH = 25


class Entry(NamedTuple):
    """A key with its value, and where it stands."""

    section: str
    """In capitals, as `key`; empty before the first section."""
    key: str
    text: str
    """The value as it stands, without quotes."""
    quoted: bool
    line: int
    """Counted from 1."""
    begin: int
    """Where in the line the value begins, quotes included, and before which column it ends."""
    end: int

    @property
    def number(self) -> float | None:
        """The value as a number, also one in quotes; None if it is not a number."""
        return number_in(self.text)

    @property
    def value(self) -> float | str | None:
        """A number, a text, or None where there is nothing."""
        if not self.text and not self.quoted:
            return None
        number = None if self.quoted else self.number
        return self.text if number is None else number


class Table(NamedTuple):
    """Rows below a line of column names in braces."""

    section: str
    columns: tuple[str, ...]
    rows: tuple[tuple[float | str, ...], ...]
    line: int
    """Of the column names."""


class _Parts(NamedTuple):
    """The parts of a text, in order."""

    sections: dict[str, int]
    """The last line of each section that holds anything, counted from 1."""
    entries: tuple[Entry, ...]
    tables: tuple[Table, ...]
    loose: tuple[tuple[str, int, str], ...]
    """Other lines: section, line, text."""


@dataclass(frozen=True)
class Document:
    """A tyre property file as text.

    Args:
        lines: with their ends.
        encoding: of the bytes.
        source: name of it in errors, such as the path; it does not count for equality.
    """

    lines: tuple[str, ...]
    encoding: str = "utf-8"
    source: str = field(default="tyre file", compare=False)

    @staticmethod
    def parsed(data: bytes, source: str = "tyre file") -> Document:
        """The document in these bytes; raises `InvalidValue` with the line otherwise."""
        if len(data) > LARGEST:
            raise InvalidValue(f"{source} has {len(data)} bytes; allowed are {LARGEST}")
        if b"\0" in data:
            raise InvalidValue(f"{source} is not a tyre property file: it has bytes that are 0")
        encoding = "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            encoding, text = "latin-1", data.decode("latin-1")
        document = Document(tuple(_LINES.findall(text)), encoding, source)
        _ = document._parts
        return document

    def encoded(self) -> bytes:
        """The bytes of the file."""
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
        """All keys in their order, those given twice included."""
        return self._parts.entries

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables."""
        return self._parts.tables

    @property
    def loose(self) -> tuple[tuple[str, int, str], ...]:
        """Lines that are neither key nor table nor remark: section, line and text of each."""
        return self._parts.loose

    @cached_property
    def _last(self) -> dict[tuple[str, str], Entry]:
        return {(entry.section, entry.key): entry for entry in self.entries}

    def entry(self, section: str, key: str) -> Entry | None:
        """The value that counts, None if the key has none."""
        entry = self._last.get((section.upper(), key.upper()))
        return None if entry is None or entry.value is None else entry

    def repeated(self) -> tuple[Entry, ...]:
        """Entries that do not count, since their key comes again."""
        return tuple(e for e in self.entries if self._last[e.section, e.key] is not e)

    def place(self, line: int) -> str:
        """File and line, as errors begin."""
        return f"{self.source}, line {line}"

    def with_texts(self, texts: Mapping[tuple[str, str], str]) -> Document:
        """The document with values exchanged or added, given as `{(section, key): text}`.

        Remarks stay where they were as far as the new value leaves room. A key that is new comes
        last in its section, a section that is new at the end.
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
        """What ends the first line."""
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
    """A line with another value; a remark after it stays where it is if there is room."""
    head, tail = line[: old.begin], line[old.end :]
    room = len(tail) - len(tail.lstrip(" "))
    if room and tail[room : room + 1] in ("$", "!"):
        tail = " " * max(1, room + old.end - old.begin - len(text)) + tail[room:]
    # A value where there was none stands right behind the sign.
    return (
        head + (" " if head.endswith("=") and line[old.begin :].strip() == "" else "") + text + tail
    )


def number_in(text: str) -> float | None:
    """The number that a text is, with Fortran's exponents too; None if it is not a number."""
    if not _NUMBER.fullmatch(text):
        return None
    return float(text.replace("d", "e").replace("D", "e"))


class _Parser:
    """Reads the lines of a document from top to bottom."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._section = ""
        self._sections: dict[str, int] = {}
        self._entries: list[Entry] = []
        self._tables: list[Table] = []
        self._loose: list[tuple[str, int, str]] = []
        self._rows: list[tuple[float | str, ...]] | None = None

    def parts(self) -> _Parts:
        """What the lines hold."""
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
                raise InvalidValue(
                    f"{self._document.place(number)}: {content[:60]!r} must be a section such as "
                    "[MODEL]"
                )
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
            raise InvalidValue(
                f"{self._document.place(number)}: {content[:60]!r} must be column names in braces"
            )
        self._rows = []
        columns = tuple(names.replace(",", " ").split())
        self._tables.append(Table(self._section, columns, (), number))

    def _end_table(self) -> None:
        if self._rows is not None:
            self._tables[-1] = self._tables[-1]._replace(rows=tuple(self._rows))
        self._rows = None

    def _entry(self, number: int, line: str) -> Entry | None:
        """The key and the value of a line; None if it has none."""
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
        """The column after the quote that ends a text."""
        quote = line[begin]
        at = line.find(quote, begin + 1)
        while at >= 0:
            if _CLOSED.fullmatch(line, at + 1):
                return at + 1
            at = line.find(quote, at + 1)
        raise InvalidValue(
            f"{self._document.place(number)}: {key} = {line[begin:][:60]} has no closing quote"
        )
