"""Elements as the reader of a world sees them: includes, loops and conditions carried out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ...errors import InvalidValue, MissingFile
from ...files import regular_file
from ..errors import WorldError
from ..scene.fields import Source
from .markup import Document, Element, read
from .notes import Note
from .values import Scope, Values

TRUE = ("y", "yes", "true", "on")
"""Conditions that hold, besides numbers other than 0."""
FALSE = ("n", "no", "false", "off")
"""Conditions that do not, besides 0; so do others, which are warned of."""
_LEADING_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
MOST_REPEATS = 100_000
"""Rounds of loops in a world, and includes, if no other limit is given."""
MOST_OPEN = 50
"""Files that include one another in a chain."""
MOST_ELEMENTS = 5_000_000
"""Elements of a world, those of loops and includes counted as often as they come."""


class TooLarge(WorldError):
    """A world that grows beyond a limit; its reading does not go on to find more errors."""


@dataclass
class Context:
    """What a whole reading shares."""

    values: Values
    compat: Literal["upstream"] | None = None
    limit: int = MOST_REPEATS
    collecting: bool = False
    """Whether errors are kept, so that reading goes on and finds more of them."""
    errors: list[WorldError] = field(default_factory=list[WorldError])
    notes: dict[tuple[str, str], list[Note]] = field(
        default_factory=dict[tuple[str, str], list[Note]]
    )
    """What to warn of, by kind and subject."""
    repeats: int = 0
    """Rounds of loops so far."""
    includes: int = 0
    """Files included so far, each as often as it is."""
    elements: int = 0
    """Elements read so far, those of loops and includes as often as they come."""
    open_files: list[Path] = field(default_factory=list[Path])
    documents: dict[Path, Document] = field(default_factory=dict[Path, Document])
    """Files that were read."""
    _resolved: dict[Path, Path] = field(default_factory=dict[Path, Path])

    @property
    def upstream(self) -> bool:
        """Whether to read as upstream does, errors included."""
        return self.compat == "upstream"

    def report(self, error: WorldError) -> None:
        """Raise an error, or keep it and go on."""
        if not self.collecting:
            raise error
        if str(error) not in {str(other) for other in self.errors}:
            self.errors.append(error)

    def note(self, kind: str, subject: str, source: Source, whom: str = "") -> None:
        """Keep something to warn of at the end; with `whom`, the subject leads up to a name."""
        self.notes.setdefault((kind, subject), []).append(Note(source, whom))

    def resolved(self, file: Path) -> Path:
        """The file without links, looked up once: files may be included many times."""
        if file not in self._resolved:
            self._resolved[file] = file.resolve()
        return self._resolved[file]

    def document(self, file: Path) -> Document:
        """The tree of a file, read once."""
        key = self.resolved(file)
        if key not in self.documents:
            tree = read(file)
            self.documents[key] = tree
            for text, source in tree.notes:
                self.note("slips", text, source)
        return self.documents[key]


@dataclass(frozen=True)
class Node:
    """An element together with what names mean in it."""

    element: Element
    scope: Scope
    context: Context

    @property
    def tag(self) -> str:
        """Name of the element."""
        return self.element.tag

    @property
    def source(self) -> Source:
        """Place of its opening tag."""
        return self.element.source

    def error(self, message: object) -> WorldError:
        """An error at this element."""
        return WorldError(str(message), source=self.source, element=self.tag)

    def text(self) -> str:
        """What is between its tags, without variables and spaces around."""
        self.expects()
        return self._expanded(self.element.text).strip()

    def attribute(self, name: str) -> str | None:
        """The value of an attribute without variables; None: there is none."""
        text = self.written(name)
        return None if text is None else self._expanded(text).strip()

    def written(self, name: str) -> str | None:
        """An attribute as the file has it; None: there is none."""
        self.expects(name)
        return self.element.attributes.get(name)

    def expects(self, *names: str) -> None:
        """Attributes that mean something here; the others are warned of."""
        if self.element.asked is None:
            self.element.asked = set()
        self.element.asked.update(names)

    def needed(self, name: str) -> str:
        """The value of an attribute that has to be there."""
        text = self.attribute(name)
        if text is None:
            raise self.error(f'the attribute {name}="..." is missing')
        return text

    def path(self, text: str) -> Path:
        """A path that leads from the folder of the file."""
        return _tidy(self.scope.folder / text.removeprefix("file://"))

    def regular(self, file: Path) -> Path:
        """A file that the element names, which MVSim lets lie anywhere; raises unless it is one."""
        try:
            return regular_file(file)
        except MissingFile:
            raise self.error(f"the file {file} does not exist") from None
        except InvalidValue as error:
            raise self.error(error) from None

    def each(self) -> Iterator[Node]:
        """The elements in it, with includes, loops and conditions carried out, one at a time."""
        self.expects()
        return self._carried_out(self.element.children)

    def children(self) -> list[Node]:
        """The elements in it, as `each` gives them."""
        return list(self.each())

    def own_and_included(self) -> tuple[list[Node], list[list[Node]]]:
        """Its children that are in the file itself, and those of each `<include>` in it."""
        self.expects()
        own: list[Node] = []
        included: list[list[Node]] = []
        for element in self.element.children:
            nodes = list(self._carried_out([element]))
            if element.tag == "include":
                included.append(nodes)
            else:
                own += nodes
        return own, included

    def _expanded(self, text: str) -> str:
        try:
            return self.context.values.expand(text, self.scope)
        except WorldError:
            raise
        except InvalidValue as error:
            raise self.error(error) from None

    def _carried_out(self, elements: list[Element]) -> Iterator[Node]:
        for element in elements:
            node = Node(element, self.scope, self.context)
            self.context.elements += 1
            if self.context.elements > MOST_ELEMENTS:
                raise TooLarge(
                    f"more than {MOST_ELEMENTS} elements in this world", source=node.source
                )
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
        """The elements of the file an `<include>` names."""
        file = self.path(self.needed("file"))
        context = self.context
        if context.resolved(file) in map(context.resolved, context.open_files):
            chain = " -> ".join(str(other) for other in [*context.open_files, file])
            raise self.error(f"files include one another without end: {chain}")
        self.regular(file)
        values = {k: v for k, v in self.element.attributes.items() if k != "file"}
        scope = Scope(file.absolute().parent, {k: (v, self.scope) for k, v in values.items()})
        if len(context.open_files) > MOST_OPEN:
            raise TooLarge(
                f"more than {MOST_OPEN} files that include one another", source=self.source
            )
        context.includes += 1
        if context.includes > context.limit:
            raise TooLarge(
                f"more than limit = {context.limit} includes in this world", source=self.source
            )
        context.open_files.append(file)
        try:
            roots = context.document(file).roots
            # A whole world may be included too.
            inner = [e for r in roots for e in (r.children if r.tag == "mvsim_world" else [r])]
            yield from Node(self.element, scope, context)._carried_out(inner)
        finally:
            context.open_files.pop()

    def holds(self) -> bool:
        """Whether the condition of an `<if>` holds."""
        text = self.needed("condition").lower()
        if text in TRUE:
            return True
        if self.context.upstream:
            # Upstream reads the digits before anything else.
            whole = _LEADING_INTEGER.match(text)
            return whole is not None and whole[0].strip("+-0") != ""
        try:
            return float(text) != 0.0
        except ValueError:
            if text not in FALSE:
                self.context.note("conditions taken for false", f"{text!r}", self.source)
            return False

    def repeated(self) -> Iterator[Node]:
        """The elements in a `<for>`, once for each value of its variable."""
        name, first, last = self.needed("var"), self._whole("from"), self._whole("to")
        if self.context.repeats + max(last - first + 1, 0) > self.context.limit:
            raise self.error(
                f"{last - first + 1} rounds from {first} to {last} make more than "
                f"{self.context.limit} in this world; raise limit=... if that is meant"
            )
        # Upstream takes the first child through all values before it turns to the second.
        groups = [[e] for e in self.element.children] if self.context.upstream else None
        for group in groups or [self.element.children]:
            for value in range(first, last + 1):
                self.context.repeats += 1
                if self.context.repeats > self.context.limit:
                    raise self.error(f"more than limit = {self.context.limit} rounds of loops")
                # In the world for classes that are used in the loop, in the scope for what stands
                # in it and is only looked at when the loop has gone on.
                self.context.values.world[name] = str(value)
                scope = self.scope.having(name, str(value))
                yield from Node(self.element, scope, self.context)._carried_out(group)

    def _whole(self, name: str) -> int:
        text = self.needed(name)
        try:
            return int(float(text))
        except (ValueError, OverflowError):
            raise self.error(f"{name}={text!r} must be a whole number") from None


def _tidy(path: Path) -> Path:
    """The path without `..`, unless links make that another file."""
    short = Path(os.path.normpath(path))
    return path if path.exists() and not (short.exists() and short.samefile(path)) else short
