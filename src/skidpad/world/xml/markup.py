"""XML as upstream's reader takes it, as a tree that knows the place of everything.

Upstream reads with rapidxml, which is no strict XML parser, and its own worlds rely on that: they
have `<` inside attributes, several roots in included files, prefixes without a namespace, and here
and there a closing tag with another name than the opening one. A strict parser refuses them. So
this is a small reader of its own. It knows no document types and defines no entities, so that
nothing in a file can grow or reach for other files; both are refused.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import InvalidValue
from ...files import bytes_of
from ..errors import WorldError
from ..scene.fields import Source

DEEPEST = 100
"""Most elements within one another."""
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)["']""")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NAME = r"[^\s<>/=\"'&!?]+"
_OPENING = re.compile(rf"<({_NAME})")
_CLOSING = re.compile(rf"</\s*({_NAME})\s*>")
_ATTRIBUTE = re.compile(rf"\s+({_NAME})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_END_OF_TAG = re.compile(r"\s*(/?)>")
_REFERENCE = re.compile(r"&(#\d+|#[xX][0-9a-fA-F]+|[A-Za-z_][\w.-]*);")
_CHARACTERS = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_SKIPPED = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>"}


@dataclass
class Element:
    """An element with what is in it."""

    tag: str
    source: Source
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list["Element"])
    text: str = ""
    """Everything between its tags that is not in a child."""
    asked: set[str] | None = None
    """Names of attributes that something has asked for; None: nothing has looked at the element."""


@dataclass
class Document:
    """A file that was read."""

    file: Path
    roots: list[Element] = field(default_factory=list[Element])
    notes: list[tuple[str, Source]] = field(default_factory=list[tuple[str, Source]])
    """Slips that were tolerated."""


def read(file: Path) -> Document:
    """The tree in a file; raises for one that cannot be read."""
    try:
        content = bytes_of(file)
    except InvalidValue as error:
        raise WorldError(str(error)) from error
    declared = _DECLARED.match(content.removeprefix(b"\xef\xbb\xbf"))
    encoding = "utf-8-sig" if declared is None else declared[1].decode("ascii")
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    elif encoding.lower() in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    try:
        text = content.decode(encoding)
    except LookupError:
        raise WorldError(f"{file} is in the encoding {encoding!r}, which is unknown") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise WorldError(
            f"the text is not {encoding.removesuffix('-sig')}: {error.reason}; "
            'another encoding is declared as in <?xml version="1.0" encoding="latin-1"?>',
            source=Source(str(file), line, column),
        ) from None
    except (UnicodeError, ValueError) as error:  # of codecs that are not for text
        raise WorldError(f"the text of {file} is not {encoding}: {error}") from None
    return parse(text, file)


def parse(text: str, file: Path) -> Document:
    """The tree in a text; the file is only named."""
    return _Parser(text, file).document()


class _Parser:
    def __init__(self, text: str, file: Path) -> None:
        self._text = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._document = Document(file)
        self._open: list[Element] = []

    def document(self) -> Document:
        text, at = self._text, 0
        odd = _CONTROL.search(text)
        if odd is not None:
            raise self._error(
                f"not well-formed: the character U+{ord(odd[0]):04X} stands in no text",
                self._source(odd.start()),
            )
        while at < len(text):
            begin = text.find("<", at)
            self._characters(at, len(text) if begin < 0 else begin)
            if begin < 0:
                break
            at = self._markup(begin)
        if self._open:
            last = self._open[-1]
            raise self._error(f"<{last.tag}> is never closed", last.source)
        if not self._document.roots:
            raise self._error("the file holds no element", self._source(0))
        return self._document

    def _markup(self, at: int) -> int:
        """Read what begins with `<`; the end of it."""
        text = self._text
        for begin, end in _SKIPPED.items():
            if text.startswith(begin, at):
                stop = text.find(end, at + len(begin))
                if stop < 0:
                    raise self._error(f"{begin} is never closed by {end}", self._source(at))
                if begin == "<![CDATA[" and self._open:
                    self._open[-1].text += text[at + len(begin) : stop]
                return stop + len(end)
        if text.startswith("<!", at):
            return self._declaration(at)
        closing = _CLOSING.match(text, at)
        if closing is not None:
            self._close(closing[1], at)
            return closing.end()
        return self._opening(at)

    def _declaration(self, at: int) -> int:
        stop = self._text.find(">", at)
        words = self._text[at : stop if stop >= 0 else None]
        if stop < 0 or "[" in words or re.search(r"\b(ENTITY|SYSTEM|PUBLIC)\b", words):
            raise self._error(
                "document types and entities are refused: no world needs them", self._source(at)
            )
        return stop + 1

    def _opening(self, at: int) -> int:
        source = self._source(at)
        opening = _OPENING.match(self._text, at)
        if opening is None:
            raise self._error("not well-formed: < begins no tag here", source)
        element = Element(opening[1], source)
        end = opening.end()
        while attribute := _ATTRIBUTE.match(self._text, end):
            name, value = attribute[1], attribute[2] if attribute[2] is not None else attribute[3]
            if name in element.attributes:
                raise self._error(
                    f"not well-formed: <{element.tag}> has the attribute {name} twice",
                    self._source(attribute.start(1)),
                )
            element.attributes[name] = self._resolved(value, attribute.start(1))
            end = attribute.end()
        stop = _END_OF_TAG.match(self._text, end)
        if stop is None:
            raise self._error(
                f"not well-formed: the tag <{element.tag}> is not complete", self._source(end)
            )
        (self._open[-1].children if self._open else self._document.roots).append(element)
        if not stop[1]:
            if len(self._open) >= DEEPEST:
                raise self._error(f"more than {DEEPEST} elements within one another", source)
            self._open.append(element)
        return stop.end()

    def _close(self, name: str, at: int) -> None:
        source = self._source(at)
        if not self._open:
            raise self._error(f"not well-formed: </{name}> closes nothing", source)
        element = self._open[-1]
        if name != element.tag:
            opened = f"</{name}> closes <{element.tag}> of line {element.source.line}"
            holds_a_value = len(self._open) > 1 and not element.children and element.text.strip()
            if not holds_a_value or any(name == other.tag for other in self._open):
                raise self._error(f"not well-formed: {opened}", source)
            # A value closed by a name that is open nowhere can only be a slip.
            self._document.notes.append((f"{opened}: taken for </{element.tag}>", source))
        self._open.pop()

    def _characters(self, begin: int, end: int) -> None:
        part = self._text[begin:end]
        if self._open:
            self._open[-1].text += self._resolved(part, begin)
        elif part.strip("\ufeff \t\r\n"):
            inside = begin + len(part) - len(part.lstrip())
            raise self._error("not well-formed: text outside of all elements", self._source(inside))

    def _resolved(self, text: str, at: int) -> str:
        """The text with its character references replaced."""

        def character(match: re.Match[str]) -> str:
            name = match[1]
            try:
                if not name.startswith("#"):
                    return _CHARACTERS[name]
                letter = chr(int(name[2:], 16) if name[1] in "xX" else int(name[1:]))
                if _CONTROL.match(letter) or "\ud800" <= letter <= "\udfff":
                    raise ValueError("no character of a text")
                return letter
            except (KeyError, ValueError, OverflowError):
                raise self._error(
                    f"the entity &{name}; is not defined, and entities of files are refused",
                    self._source(at + match.start()),
                ) from None

        return _REFERENCE.sub(character, text) if "&" in text else text

    def _source(self, at: int) -> Source:
        line = bisect_right(self._lines, at)
        return Source(str(self._document.file), line, at - self._lines[line - 1] + 1)

    def _error(self, message: str, source: Source) -> WorldError:
        return WorldError(message, source=source)
