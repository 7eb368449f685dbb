"""How a field of a scene's record is written in a world file: its tag, its range, its unit.

Fields that a file can set carry a `Tag` in their annotation, as in `mass: Annotated[kg, READ,
positive] = 2.0`. A record then reads itself (`xml.fields.Fields.record`), and pages and tests can
list what there is. Angles are degrees in files and radians in records.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, NamedTuple

from ...units import Allowed

Kind = Literal["number", "integer", "switch", "text", "numbers", "colour"]
_KINDS: dict[type, Kind] = {bool: "switch", int: "integer", float: "number", str: "text"}


class Source(NamedTuple):
    """Where in the files something is written."""

    file: str = ""
    line: int = 0
    """Counted from 1."""
    column: int = 0
    """Counted from 1."""

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}, column {self.column}"


NOWHERE = Source()
"""The place of what was not read from a file."""


@dataclass(frozen=True)
class Tag:
    """Marks a field that a file can set."""

    name: str | None = None
    """Tag or attribute, where it is not the field's own name."""
    degrees: bool = False
    """Whether the file has degrees where the record has radians."""
    aliases: tuple[str, ...] = ()
    """Older tags that are still understood."""
    kind: Kind | None = None
    """What the value is, where the field's type does not say it."""


READ = Tag()
"""A field under its own name."""
COLOUR = Tag(kind="colour")
"""A field with `#RRGGBB` or `#RRGGBBAA`."""


class Written(NamedTuple):
    """How a field is written in a file."""

    tags: tuple[str, ...]
    """Its tag or attribute; the first is the usual one."""
    kind: Kind
    degrees: bool
    allowed: Allowed | None
    """In the record's unit."""


@cache
def written(record: type) -> dict[str, Written]:
    """The fields of a record that a file can set, by name."""
    hints = typing.get_type_hints(record, include_extras=True)
    settable: dict[str, Written] = {}
    for field in fields(record):
        base, marks = _taken_apart(hints[field.name])
        tag = next((mark for mark in marks if isinstance(mark, Tag)), None)
        if tag is not None:
            allowed = next((mark for mark in marks if isinstance(mark, Allowed)), None)
            names = (tag.name or field.name, *tag.aliases)
            settable[field.name] = Written(names, tag.kind or _kind(base), tag.degrees, allowed)
    return settable


@cache
def ranges(record: type) -> dict[str, Allowed | None]:
    """The fields of a record of numbers, by name, with what each may be."""
    hints = typing.get_type_hints(record, include_extras=True)
    marks = {name: _taken_apart(hint)[1] for name, hint in hints.items()}
    return {
        name: next((mark for mark in those if isinstance(mark, Allowed)), None)
        for name, those in marks.items()
    }


def _taken_apart(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type without its marks, and the marks."""
    marks: tuple[Any, ...] = ()
    while typing.get_origin(hint) is typing.Annotated:
        hint, *more = typing.get_args(hint)
        marks += tuple(more)
    return hint, marks


def _kind(base: Any) -> Kind:
    if base in _KINDS:
        return _KINDS[base]
    if typing.get_origin(base) is tuple:
        return "numbers"
    # A number that may be missing: `float | None`.
    return "number"
