"""Parser of world files: the XML tree with includes, loops and conditions, and typed values.

Upstream uses rapidxml, which is not a strict XML parser, and its own worlds rely on that: they
have `<` inside attributes, several roots in included files, prefixes without a namespace, and
sometimes a closing tag with another name than the opening one. A strict parser rejects them, so
`read` is a small parser of its own, whose tree records all source positions. It rejects document
types and entity definitions, so that a file cannot expand without limit or access other files.

`Node` is an element as the readers of a world see it. `summaries` turns the collected warnings of a
reading into sentences: one for each kind, with names and positions.

`Fields` looks up children of the elements that describe one object. `Fields.record` fills in a
record by the tags of its annotations (`scene.Tag`); the functions below parse single values.
"""

from __future__ import annotations

import math
import os
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from ...core.files import bytes_of, regular_file
from ...errors import InvalidValue, MissingFile
from ...units import Allowed, m, positive
from ..scene import ORIGIN, Pose, Source, WorldError, Written, ranges, written
from .expressions import Scope, Values

DEEPEST = 100
"""Largest nesting depth of elements."""
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
    tag: str
    source: Source
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list["Element"])
    text: str = ""
    """All text between the tags of the element that is not in a child."""
    looked_up: set[str] | None = None
    """Names of the attributes that were looked up; None if the element was never read."""


@dataclass
class Document:
    file: Path
    roots: list[Element] = field(default_factory=list[Element])
    notes: list[tuple[str, Source]] = field(default_factory=list[tuple[str, Source]])
    """Tolerated syntax errors."""


def read(file: Path) -> Document:
    """Parse a file; raises if it cannot be read."""
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
    except (UnicodeError, ValueError) as error:  # from codecs that do not decode to text
        raise WorldError(f"the text of {file} is not {encoding}: {error}") from None
    return parse(text, file)


def parse(text: str, file: Path) -> Document:
    """Parse a text; the file is used only for messages."""
    return _Parser(text, file).document()


class _Parser:
    def __init__(self, text: str, file: Path) -> None:
        self._text, self._lines = text, [0, *(match.end() for match in re.finditer("\n", text))]
        self._document = Document(file)
        self._open: list[Element] = []

    def document(self) -> Document:
        text, at = self._text, 0
        odd = _CONTROL.search(text)
        if odd is not None:
            fault = f"not well-formed: the character U+{ord(odd[0]):04X} stands in no text"
            raise self._error(fault, odd.start())
        while at < len(text):
            begin = text.find("<", at)
            self._characters(at, len(text) if begin < 0 else begin)
            if begin < 0:
                break
            at = self._markup(begin)
        if self._open:
            last = self._open[-1]
            raise WorldError(f"<{last.tag}> is never closed", last.source)
        if not self._document.roots:
            raise self._error("the file holds no element", 0)
        return self._document

    def _markup(self, at: int) -> int:
        """Parse the markup that begins with `<` at `at`; returns the end of it."""
        text = self._text
        for begin, end in _SKIPPED.items():
            if text.startswith(begin, at):
                stop = text.find(end, at + len(begin))
                if stop < 0:
                    raise self._error(f"{begin} is never closed by {end}", at)
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
            fault = "document types and entities are refused: no world needs them"
            raise self._error(fault, at)
        return stop + 1

    def _opening(self, at: int) -> int:
        opening = _OPENING.match(self._text, at)
        if opening is None:
            raise self._error("not well-formed: < does not begin a tag here", at)
        element = Element(opening[1], self._source(at))
        end = opening.end()
        while attribute := _ATTRIBUTE.match(self._text, end):
            name, value = attribute[1], attribute[2] if attribute[2] is not None else attribute[3]
            if name in element.attributes:
                fault = f"not well-formed: <{element.tag}> has the attribute {name} twice"
                raise self._error(fault, attribute.start(1))
            element.attributes[name] = self._resolved(value, attribute.start(1))
            end = attribute.end()
        stop = _END_OF_TAG.match(self._text, end)
        if stop is None:
            raise self._error(f"not well-formed: the tag <{element.tag}> is not complete", end)
        (self._open[-1].children if self._open else self._document.roots).append(element)
        if not stop[1]:
            if len(self._open) >= DEEPEST:
                raise self._error(f"more than {DEEPEST} elements within one another", at)
            self._open.append(element)
        return stop.end()

    def _close(self, name: str, at: int) -> None:
        if not self._open:
            raise self._error(f"not well-formed: </{name}> closes no open element", at)
        element = self._open[-1]
        if name != element.tag:
            opened = f"</{name}> closes <{element.tag}> of line {element.source.line}"
            holds_a_value = len(self._open) > 1 and not element.children and element.text.strip()
            if not holds_a_value or any(name == other.tag for other in self._open):
                raise self._error(f"not well-formed: {opened}", at)
            # If the name of a closing tag is open nowhere, it is a typing error.
            note = f"{opened}: taken for </{element.tag}>"
            self._document.notes.append((note, self._source(at)))
        self._open.pop()

    def _characters(self, begin: int, end: int) -> None:
        part = self._text[begin:end]
        if self._open:
            self._open[-1].text += self._resolved(part, begin)
        elif part.strip("\ufeff \t\r\n"):
            inside = begin + len(part) - len(part.lstrip())
            raise self._error("not well-formed: text outside of all elements", inside)

    def _resolved(self, text: str, at: int) -> str:
        """Text with its character references replaced."""

        def character(match: re.Match[str]) -> str:
            name = match[1]
            try:
                if not name.startswith("#"):
                    return _CHARACTERS[name]
                letter = chr(int(name[2:], 16) if name[1] in "xX" else int(name[1:]))
                if _CONTROL.match(letter) or "\ud800" <= letter <= "\udfff":
                    raise ValueError("not a character that XML allows")
                return letter
            except (KeyError, ValueError, OverflowError):
                fault = f"the entity &{name}; is not defined, and entities of files are refused"
                raise self._error(fault, at + match.start()) from None

        return _REFERENCE.sub(character, text) if "&" in text else text

    def _source(self, at: int) -> Source:
        line = bisect_right(self._lines, at)
        return Source(str(self._document.file), line, at - self._lines[line - 1] + 1)

    def _error(self, message: str, at: int) -> WorldError:
        return WorldError(message, self._source(at))


_MOST_PLACES = 3
"""Most source positions per subject in a warning."""
_MOST_NAMES = 12
"""Most object names per subject in a warning."""
_OF_XML = ("xmlns", "xsi:", "xml:")
"""Prefixes of attributes that belong to XML rather than to the world."""


class Note(NamedTuple):
    source: Source
    whom: str = ""
    """Name of the object concerned, if several objects may share the subject."""


Notes = Mapping[tuple[str, str], Sequence[Note]]
"""Warnings by kind and subject."""


def summaries(notes: Notes) -> tuple[str, ...]:
    """Warnings as sentences, one for each kind."""
    kinds: dict[str, list[str]] = {}
    for (kind, subject), those in notes.items():
        lines = (f"{Path(note.source.file).name}:{note.source.line}" for note in those)
        places = _listed(lines, _MOST_PLACES)
        names = _listed((note.whom for note in those if note.whom), _MOST_NAMES)
        times = f"{len(those)} times " if len(those) > 1 and not names else ""
        kinds.setdefault(kind, []).append(f"{times}{subject}{names and ' '}{names} ({places})")
    return tuple(f"{kind}: {'; '.join(subjects)}" for kind, subjects in kinds.items())


LONGEST_LINE = 240
"""Most characters of one kind of note in a warning."""
MOST_LINES = 6
"""Most kinds of notes in a warning."""


def in_brief(lines: Sequence[str], file: str = "") -> tuple[str, ...]:
    """Sentences of `summaries` shortened to fit on a screen, with a count of what is left out.

    A shortened list ends with a line that says where the full one is.
    """
    brief = [_shortened(line) for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        brief.append(f"and {len(lines) - MOST_LINES} more kinds of notes")
    if brief != list(lines):
        command = f"`skidpad check {Path(file).name}` and " if Path(file).suffix else ""
        brief.append(f"{command}Scene.warnings list them in full")
    return tuple(brief)


def _shortened(line: str) -> str:
    """A sentence of `summaries` with as many of its subjects as fit."""
    if len(line) <= LONGEST_LINE:
        return line
    subjects = line.split("; ")
    # Cumulative lengths of the subjects, each followed by a separator.
    lengths = accumulate(len(subject) + 2 for subject in subjects)
    kept = sum(1 for _ in takewhile(lambda length: length - 2 <= LONGEST_LINE, lengths))
    if kept == 0:
        more = f"; {len(subjects) - 1} more" if len(subjects) > 1 else ""
        return f"{subjects[0][:LONGEST_LINE].rstrip()}…{more}"
    return f"{'; '.join(subjects[:kept])}; {len(subjects) - kept} more"


def _listed(words: Iterable[str], most: int) -> str:
    """Unique words separated by commas, and the number of those left out."""
    different = list(dict.fromkeys(words))
    more = f" and {len(different) - most} more" if len(different) > most else ""
    return ", ".join(different[:most]) + more


def unknown_attributes(
    documents: Iterable[Document], failed: Collection[Source | None] = ()
) -> Iterator[tuple[str, Source]]:
    """Attributes of the elements read that were not looked up, with their positions.

    Elements that `failed`, and those around them, were not read completely and are skipped.
    """
    for document in documents:
        for element in _all(document.roots):
            if element.looked_up is None or element.tag == "include":
                continue
            if failed and any(part.source in failed for part in _all([element])):
                continue
            for name in element.attributes:
                if name not in element.looked_up and not name.startswith(_OF_XML):
                    close = get_close_matches(name, sorted(element.looked_up), 1, 0.75)
                    hint = f", did you mean {close[0]}?" if close else ""
                    yield f"{name} of <{element.tag}>{hint}", element.source


def _all(elements: Iterable[Element]) -> Iterator[Element]:
    for element in elements:
        yield element
        yield from _all(element.children)


TRUE = ("y", "yes", "true", "on")
"""Conditions that are true, besides numbers other than 0."""
FALSE = ("n", "no", "false", "off")
"""Conditions that are false, besides 0; any other text is also false, with a warning."""
_LEADING_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
MOST_REPEATS = 100_000
"""Default limit of loop iterations and includes in a world."""
MOST_OPEN = 50
"""Largest nesting depth of includes."""
MOST_ELEMENTS = 5_000_000
"""Most elements of a world; repeated ones in loops and includes count each time."""


@dataclass(frozen=True)
class Models:
    folder: Path
    """Folder of cached remote models."""
    allow_download: bool = False


class TooLarge(WorldError):
    """Error: a world exceeds a limit, which ends its reading."""


@dataclass
class Context:
    """Shared state of one reading."""

    values: Values
    models: Models
    compat: Literal["upstream"] | None = None
    limit: int = MOST_REPEATS
    collecting: bool = False
    """Whether errors are collected, so that reading continues and finds more of them."""
    errors: list[WorldError] = field(default_factory=list[WorldError])
    notes: dict[tuple[str, str], list[Note]] = field(default_factory=lambda: defaultdict(list))
    """Collected warnings, by kind and subject."""
    repeats: int = 0
    """Number of loop iterations so far."""
    includes: int = 0
    """Number of includes so far, repeated ones counted each time."""
    elements: int = 0
    """Number of elements read so far; repeated ones in loops and includes count each time."""
    open_files: list[Path] = field(default_factory=list[Path])
    documents: dict[Path, Document] = field(default_factory=dict[Path, Document])
    _resolved: dict[Path, Path] = field(default_factory=dict[Path, Path])

    @property
    def upstream(self) -> bool:
        """Whether to read as upstream does, including its errors."""
        return self.compat == "upstream"

    def report(self, error: WorldError) -> None:
        """Raise an error, or collect it."""
        if not self.collecting:
            raise error
        if str(error) not in {str(other) for other in self.errors}:
            self.errors.append(error)

    def note(self, kind: str, subject: str, source: Source, whom: str = "") -> None:
        """Collect a warning; with `whom`, the subject is followed by a name."""
        self.notes[kind, subject].append(Note(source, whom))

    def resolved(self, file: Path) -> Path:
        """The file with links resolved; cached, as files may be included many times."""
        if file not in self._resolved:
            self._resolved[file] = file.resolve()
        return self._resolved[file]

    def document(self, file: Path) -> Document:
        """Parsed file, cached."""
        key = self.resolved(file)
        if key not in self.documents:
            tree = read(file)
            self.documents[key] = tree
            for text, source in tree.notes:
                self.note("slips", text, source)
        return self.documents[key]


@dataclass(frozen=True)
class Node:
    """An element with the scope of its names."""

    element: Element
    scope: Scope
    context: Context

    @property
    def tag(self) -> str:
        return self.element.tag

    @property
    def source(self) -> Source:
        """Position of the element's opening tag."""
        return self.element.source

    def error(self, message: object) -> WorldError:
        return WorldError(str(message), source=self.source, element=self.tag)

    def text(self) -> str:
        """Text between the tags of the element, with variables substituted and surrounding spaces
        removed."""
        self.expects()
        return self._expanded(self.element.text).strip()

    def attribute(self, name: str) -> str | None:
        """Value of an attribute with variables substituted, or None."""
        text = self.written(name)
        return None if text is None else self._expanded(text).strip()

    def written(self, name: str) -> str | None:
        """Raw text of an attribute, or None."""
        self.expects(name)
        return self.element.attributes.get(name)

    def expects(self, *names: str) -> None:
        """Declare the known attributes of the element; others cause a warning."""
        if self.element.looked_up is None:
            self.element.looked_up = set()
        self.element.looked_up.update(names)

    def check(self, good: Any, fault: str) -> None:
        """Raise an error of the element unless `good`."""
        if not good:
            raise self.error(fault)

    def needed(self, name: str) -> str:
        """Value of a required attribute."""
        text = self.attribute(name)
        if text is None:
            raise self.error(f'the attribute {name}="..." is missing')
        return text

    def path(self, text: str) -> Path:
        """Path relative to the folder of the file, without `..` unless links make that another
        file."""
        path = self.scope.folder / text.removeprefix("file://")
        short = Path(os.path.normpath(path))
        return path if path.exists() and not (short.exists() and short.samefile(path)) else short

    def regular(self, file: Path) -> Path:
        """File named by the element, at any location, as in MVSim; raises unless it is a regular
        file."""
        try:
            return regular_file(file)
        except MissingFile:
            raise self.error(f"the file {file} does not exist") from None
        except InvalidValue as error:
            raise self.error(error) from None

    def each(self) -> Iterator[Node]:
        """Child elements, one at a time, with includes, loops and conditions executed."""
        self.expects()
        return self._carried_out(self.element.children)

    def children(self) -> list[Node]:
        """List of the child elements from `each`."""
        return list(self.each())

    def texts(self) -> dict[str, str]:
        """Texts of the element's children by tag."""
        return {child.tag: child.text() for child in self.each()}

    def included_and_own(self) -> list[list[Node]]:
        """Children of each `<include>`, and last those in the file itself."""
        self.expects()
        own: list[Node] = []
        included: list[list[Node]] = []
        for element in self.element.children:
            nodes = list(self._carried_out([element]))
            if element.tag == "include":
                included.append(nodes)
            else:
                own += nodes
        return [*included, own]

    def _expanded(self, text: str) -> str:
        try:
            return self.context.values.expand(text, self.scope)
        except InvalidValue as error:
            raise self.error(error) from None

    def _carried_out(self, elements: list[Element]) -> Iterator[Node]:
        for element in elements:
            node = Node(element, self.scope, self.context)
            self.context.elements += 1
            if self.context.elements > MOST_ELEMENTS:
                raise TooLarge(f"more than {MOST_ELEMENTS} elements in this world", node.source)
            try:
                if element.tag == "include":
                    yield from node.included()
                elif element.tag == "if":
                    if node.holds():
                        yield from node._carried_out(element.children)
                elif element.tag == "for":
                    yield from node.repeated()
                else:
                    yield node
            except TooLarge:
                raise
            except WorldError as error:
                self.context.report(error)

    def included(self) -> Iterator[Node]:
        """Elements of the file named by an `<include>`."""
        file = self.path(self.needed("file"))
        context = self.context
        if context.resolved(file) in map(context.resolved, context.open_files):
            chain = " -> ".join(str(other) for other in [*context.open_files, file])
            raise self.error(f"files include one another without end: {chain}")
        self.regular(file)
        values = {k: v for k, v in self.element.attributes.items() if k != "file"}
        scope = Scope(file.absolute().parent, {k: (v, self.scope) for k, v in values.items()})
        if len(context.open_files) > MOST_OPEN:
            raise TooLarge(f"more than {MOST_OPEN} files that include one another", self.source)
        context.includes += 1
        if context.includes > context.limit:
            raise TooLarge(f"more than limit = {context.limit} includes in this world", self.source)
        context.open_files.append(file)
        try:
            roots = context.document(file).roots
            # A file with a whole world may be included, too.
            inner = [e for r in roots for e in (r.children if r.tag == "mvsim_world" else [r])]
            yield from Node(self.element, scope, context)._carried_out(inner)
        finally:
            context.open_files.pop()

    def holds(self) -> bool:
        """Whether the condition of an `<if>` is true."""
        text = self.needed("condition").lower()
        if text in TRUE:
            return True
        if self.context.upstream:
            # Upstream reads only the leading digits.
            whole = _LEADING_INTEGER.match(text)
            return whole is not None and whole[0].strip("+-0") != ""
        try:
            return float(text) != 0.0
        except ValueError:
            if text not in FALSE:
                self.context.note("conditions taken for false", f"{text!r}", self.source)
            return False

    def repeated(self) -> Iterator[Node]:
        """Elements in a `<for>`, once for each value of its variable."""
        name, first, last = self.needed("var"), self._whole("from"), self._whole("to")
        if self.context.repeats + max(last - first + 1, 0) > self.context.limit:
            raise self.error(
                f"{last - first + 1} rounds from {first} to {last} make more than "
                f"{self.context.limit} in this world; raise limit=... if this is intended"
            )
        # Upstream repeats the first child for all values before it continues with the second.
        groups = [[e] for e in self.element.children] if self.context.upstream else None
        for group in groups or [self.element.children]:
            for value in range(first, last + 1):
                self.context.repeats += 1
                if self.context.repeats > self.context.limit:
                    raise self.error(
                        f"loops make more than {self.context.limit} rounds in this world; raise "
                        "limit=... if this is intended"
                    )
                # The variable is set in the world, for classes that are used in the loop, and in
                # the scope, for elements that are evaluated only after later rounds of the loop.
                self.context.values.world[name] = str(value)
                scope = self.scope.having(name, str(value))
                yield from Node(self.element, scope, self.context)._carried_out(group)

    def _whole(self, name: str) -> int:
        text = self.needed(name)
        try:
            return int(float(text))
        except (ValueError, OverflowError):
            raise self.error(f"{name}={text!r} must be a whole number") from None


T = TypeVar("T")
Record = TypeVar("Record")
Tuple = TypeVar("Tuple", bound=Any)
Parse = Callable[[Node, str, str], T]
"""Parser of a value: from a node, the name for errors, and the text."""
LARGEST = 1e15
"""Largest accepted magnitude of numbers: squares stay finite in single precision."""
SMALLEST: m = 1e-3
"""Least size of bodies; contacts need an area."""
_LONGEST = 120
"""Most characters of a value in an error message."""
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}(?:[0-9a-fA-F]{2})?")


class Fields:
    """Children of one or more elements that describe one object; earlier elements take
    precedence."""

    def __init__(self, groups: Sequence[Sequence[Node]], context: Context, owner: Node) -> None:
        self._groups = groups
        self._context = context
        self.owner = owner
        self._known: set[str] = set()

    @classmethod
    def of(cls, node: Node) -> Fields:
        return cls([node.children()], node.context, node)

    def backwards(self) -> Fields:
        """The same fields, but with later elements taking precedence."""
        return Fields(self._groups[::-1], self._context, self.owner)

    def find(self, *tags: str) -> Node | None:
        """First child with one of these tags, or None."""
        self._known |= set(tags)
        for group in self._groups:
            for tag in tags:
                for node in group:
                    if node.tag == tag:
                        return node
        return None

    def all(self, *tags: str) -> list[Node]:
        self._known |= set(tags)
        return [node for group in self._groups for node in group if node.tag in tags]

    def get(
        self,
        tag: str,
        parse: Parse[T],
        default: T,
        *,
        attributes_of: Node | None = None,
        children: bool | None = None,
    ) -> T:
        """Value of a child, or the default.

        With `attributes_of`, the value is read from an attribute of that element. `children`
        sets whether a child is accepted, too; by default it is, as upstream's documentation says,
        except under compat="upstream".
        """
        if attributes_of is not None:
            holder, text = attributes_of, attributes_of.written(tag)
            if text is not None:
                return self.attempt(lambda: parse(holder, tag, holder.needed(tag)), default)
            if self._context.upstream if children is None else not children:
                return default
        return self.part(tag, lambda node: parse(node, tag, node.text()), default)

    def part(self, tag: str, read: Callable[[Node], T], default: T) -> T:
        """Result of `read` for a child, or the default."""
        node = self.find(tag)
        return default if node is None else self.attempt(lambda: read(node), default)

    def attempt(self, action: Callable[[], T], default: T) -> T:
        """Result of an action; while errors are collected, the default if it fails."""
        try:
            return action()
        except WorldError as error:
            self._context.report(error)
            return default

    def number(self, tag: str, default: float, allowed: Allowed | None = None) -> float:
        """Number in a child; raises if it is out of range."""
        return self.get(tag, ranged(allowed), default)

    def switch(self, tag: str, default: bool) -> bool:
        """Boolean in a child."""
        return self.get(tag, as_switch, default)

    def string(self, tag: str, default: str = "") -> str:
        return self.part(tag, Node.text, default)

    def pose(self, flat: str, solid: str, default: Pose = ORIGIN) -> Pose:
        """Pose with three or with six numbers, angles in degrees."""
        node = self.find(flat, solid)
        return default if node is None else self.attempt(lambda: as_pose(node), default)

    def record(self, template: Record, **where: Any) -> Record:
        """The template with all fields that the file sets; keyword arguments as of `get`."""
        changes: dict[str, Any] = {}
        for name, how in written(type(template)).items():
            parse = partial(as_written, how=how)
            for tag in how.tags:
                value: Any = self.get(tag, parse, _NOTHING, **where)
                if value is not _NOTHING:
                    changes[name] = value
                    break
        return replace(template, **changes)  # pyright: ignore[reportArgumentType]

    def numbers(self, template: Tuple, tags: Mapping[str, str] | None = None) -> Tuple:
        """A named tuple of numbers with all fields that the file sets.

        `tags` maps fields to tags where the names differ.
        """
        names = tags or {}
        return template._make(
            self.number(names.get(name, name), getattr(template, name), allowed)
            for name, allowed in ranges(type(template)).items()
        )

    def ignore(self, tags: Collection[str]) -> None:
        """Accept tags that are known but have no effect here."""
        self._known |= set(tags)

    def finish(self) -> None:
        """Warn of the children that were not looked up."""
        for group in self._groups:
            for node in group:
                if node.tag not in self._known:
                    note_unknown(node, self.owner.tag, self._known)


def note_unknown(node: Node, owner: str, known: Collection[str]) -> None:
    """Record a warning of a tag that is not known in its place."""
    close = get_close_matches(node.tag, sorted(known), 1, 0.75)
    hint = f", did you mean <{close[0]}>?" if close else ""
    node.context.note("unknown tags", f"<{node.tag}> in <{owner}>{hint}", node.source)


_NOTHING: Any = object()
"""Marks a field that the file does not set."""


def as_written(node: Node, name: str, text: str, how: Written) -> Any:
    """Value parsed from text in the representation of its field."""
    if how.kind in _PARSERS:
        return _PARSERS[how.kind](node, name, text)
    if how.kind == "numbers":
        numbers = as_numbers(node, name, text)
        return tuple(math.radians(x) for x in numbers) if how.degrees else tuple(numbers)
    if how.kind == "integer":
        return as_integer(node, name, text, how.allowed)
    if not how.degrees:
        return as_number(node, name, text, how.allowed)
    radians = math.radians(as_number(node, name, text))
    if how.allowed is not None and radians not in how.allowed:
        low, high = math.degrees(how.allowed.low), math.degrees(how.allowed.high)
        in_degrees = Allowed(low, high, how.allowed.open_low)
        raise node.error(f"{name} = {text} must be {in_degrees} degrees")
    return radians


def as_number(node: Node, name: str, text: str, allowed: Allowed | None = None) -> float:
    """Parse one finite number."""
    (value,) = as_numbers(node, name, text, 1)
    node.check(allowed is None or value in allowed, f"{name} = {text} must be {allowed}")
    return value


def ranged(allowed: Allowed | None = None) -> Parse[float]:
    """Parser of finite numbers in a range."""
    return lambda node, name, text: as_number(node, name, text, allowed)


def as_integer(node: Node, name: str, text: str, allowed: Allowed | None = None) -> int:
    """Parse an integer; a fraction is truncated."""
    value = int(as_number(node, name, text))
    node.check(allowed is None or value in allowed, f"{name} = {text} must be {allowed}")
    return value


def as_numbers(node: Node, name: str, text: str, *counts: int) -> list[float]:
    """Parse numbers separated by spaces or commas; their count must be one of `counts`, if
    given."""
    words = text.replace(",", " ").split()
    for word in words:
        if not _NUMBER.fullmatch(word) or not math.isfinite(float(word)):
            raise node.error(f"{name} = {shown(text)}: {shown(word)} is not a finite number")
        if abs(float(word)) > LARGEST:
            raise node.error(f"{name} = {shown(text)}: {word!r} must not exceed {LARGEST:g}")
    if counts and len(words) not in counts:
        expected = " or ".join(map(str, counts)) + (" number" if counts == (1,) else " numbers")
        raise node.error(f"{name} = {shown(text)} must be {expected}, got {len(words)}")
    return [float(word) for word in words]


def shown(text: str) -> str:
    """Quoted value for a message, shortened if it is long."""
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")


def as_size(node: Node, name: str, text: str) -> m:
    """Parse the length of a body; raises if it is too small for contacts."""
    size = as_number(node, name, text, positive)
    node.check(size >= SMALLEST, f"{name} = {text} must be at least {SMALLEST:g} m")
    return size


def as_switch(node: Node, name: str, text: str) -> bool:
    """Parse a Boolean, 1 and 0 included."""
    known = text.lower() in ("true", "false", "1", "0")
    node.check(known, f"{name} = {text!r} must be true or false")
    return text.lower() in ("true", "1")


def as_colour(node: Node, name: str, text: str) -> str:
    """Parse a colour as `#RRGGBB` or `#RRGGBBAA`."""
    fault = f"{name} = {text!r} must be a colour, #RRGGBB or #RRGGBBAA"
    node.check(_COLOUR.fullmatch(text), fault)
    return text


_PARSERS: dict[str, Parse[Any]] = {
    "switch": as_switch,
    "text": lambda node, name, text: text,
    "colour": as_colour,
    "size": as_size,
}
"""Parsers of kinds of fields other than plain numbers."""


def as_pose(node: Node) -> Pose:
    """Parse `x y yaw` or `x y z yaw pitch roll`, depending on the tag; angles in degrees."""
    name, text = node.tag, node.text()
    length = 6 if "3d" in name or "3D" in name or "WRT" in name else 3
    numbers = as_numbers(node, name, text)
    count = len(numbers)
    node.check(count >= length, f"{name} = {shown(text)} must be {length} numbers, got {count}")
    if count > length:
        # Upstream's own worlds have such poses.
        slip = f"{name} = {text!r} has {count} numbers: the first {length} are taken"
        node.context.note("slips", slip, node.source)
    return pose_in_degrees(*numbers[:length])


def pose_in_degrees(x: m, y: m, *rest: float) -> Pose:
    """Pose from the yaw in degrees, or from z, yaw, pitch and roll."""
    z, *angles = rest if len(rest) > 1 else (0.0, *rest)
    return Pose(x, y, z, *map(math.radians, angles))


def one_of(node: Node, what: str, word: str, known: Collection[str]) -> str:
    """Return the name if it is known; else raise an error with the known names and the closest
    match.
    """
    if word in known:
        return word
    close = get_close_matches(word, list(known), 1, 0.6)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(sorted(known)) or "none"
    raise node.error(f"the {what} {word!r} is unknown; known are {listed}{hint}")
