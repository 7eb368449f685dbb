"""Typed values of elements, and notes about what was not read.

`Fields` looks at the children of the elements that describe one thing. `Fields.record` fills in a
record by the tags of its annotations (`scene.Tag`); the functions below parse single values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar

from ...units import Allowed, m, positive
from ..scene import Pose, WorldError, Written, ranges, written
from .markup import Context, Node

T = TypeVar("T")
Record = TypeVar("Record")
Tuple = TypeVar("Tuple", bound=Any)
Parse = Callable[[Node, str, str], T]
"""Turns a text into a value: of a node, its name for errors, the text."""
LARGEST = 1e15
"""Magnitude up to which numbers are taken: their squares stay finite in single precision."""
SMALLEST: m = 1e-3
"""Least size of what bodies are made of; contacts need an area."""
_LONGEST = 120
"""Characters of a value that an error shows."""
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}(?:[0-9a-fA-F]{2})?")


class Fields:
    """The children of one or more elements that describe one thing; earlier elements win."""

    def __init__(self, groups: Sequence[Sequence[Node]], context: Context, owner: Node) -> None:
        self._groups = groups
        self._context = context
        self.owner = owner
        """The element that the thing is written in."""
        self._known: set[str] = set()

    @classmethod
    def of(cls, node: Node) -> Fields:
        """The children of one element."""
        return cls([node.children()], node.context, node)

    def find(self, *tags: str) -> Node | None:
        """The first child with one of these tags."""
        self._known |= set(tags)
        for group in self._groups:
            for tag in tags:
                for node in group:
                    if node.tag == tag:
                        return node
        return None

    def all(self, *tags: str) -> list[Node]:
        """All children with one of these tags."""
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
        """The value of a child, or the default.

        With `attributes_of` it is an attribute of that element. `children` says whether a child
        does as well; as upstream's pages say it does, except under compat="upstream".
        """
        if attributes_of is not None:
            holder, text = attributes_of, attributes_of.written(tag)
            if text is not None:
                return self.attempt(lambda: parse(holder, tag, holder.needed(tag)), default)
            if self._context.upstream if children is None else not children:
                return default
        node = self.find(tag)
        if node is None:
            return default
        return self.attempt(lambda: parse(node, tag, node.text()), default)

    def attempt(self, action: Callable[[], T], default: T) -> T:
        """The result of an action; while errors are collected, the default if it fails."""
        try:
            return action()
        except WorldError as error:
            self._context.report(error)
            return default

    def number(self, tag: str, default: float, allowed: Allowed | None = None) -> float:
        """A number; raises if it is not in the range allowed."""
        return self.get(tag, ranged(allowed), default)

    def switch(self, tag: str, default: bool) -> bool:
        """True or false."""
        return self.get(tag, as_switch, default)

    def string(self, tag: str, default: str = "") -> str:
        """A text."""
        return self.get(tag, lambda node, name, text: text, default)

    def pose(self, *, flat: str, solid: str, default: Pose | None) -> Pose | None:
        """A pose with three or with six numbers, angles in degrees."""
        node = self.find(flat, solid)
        if node is None:
            return default
        return self.attempt(lambda: as_pose(node, node.tag, node.text()), default)

    def record(
        self,
        template: Record,
        *,
        attributes_of: Node | None = None,
        children: bool | None = None,
    ) -> Record:
        """The template with every field replaced that is written here, as of `get`."""
        changes: dict[str, Any] = {}
        for name, how in written(type(template)).items():
            parse = partial(as_written, how=how)
            for tag in how.tags:
                value: Any = self.get(
                    tag, parse, _NOTHING, attributes_of=attributes_of, children=children
                )
                if value is not _NOTHING:
                    changes[name] = value
                    break
        return replace(template, **changes)  # pyright: ignore[reportArgumentType]

    def numbers(self, template: Tuple, tags: Mapping[str, str] | None = None) -> Tuple:
        """A named tuple of numbers with every field replaced that is written here.

        `tags` gives the tags of fields that have another name in files.
        """
        names = tags or {}
        changes = {
            name: self.number(names.get(name, name), getattr(template, name), allowed)
            for name, allowed in ranges(type(template)).items()
        }
        return template._replace(**changes)

    def ignore(self, tags: Collection[str]) -> None:
        """Tags that are known and without a meaning here."""
        self._known |= set(tags)

    def finish(self) -> None:
        """Note the children that were not looked up."""
        for group in self._groups:
            for node in group:
                if node.tag not in self._known:
                    note_unknown(node, self.owner.tag, self._known)


def note_unknown(node: Node, owner: str, known: Collection[str]) -> None:
    """Remember to warn of a tag that means nothing where it is."""
    close = get_close_matches(node.tag, sorted(known), 1, 0.75)
    hint = f", did you mean <{close[0]}>?" if close else ""
    node.context.note("unknown tags", f"<{node.tag}> in <{owner}>{hint}", node.source)


_NOTHING: Any = object()
"""Marks a field that is not written."""


def as_written(node: Node, name: str, text: str, how: Written) -> Any:
    """A value as the field needs it."""
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
    """One finite number."""
    values = as_numbers(node, name, text, 1)
    if allowed is not None and values[0] not in allowed:
        raise node.error(f"{name} = {text} must be {allowed}")
    return values[0]


def ranged(allowed: Allowed | None = None) -> Parse[float]:
    """A parser of finite numbers in a range."""
    return lambda node, name, text: as_number(node, name, text, allowed)


def as_integer(node: Node, name: str, text: str, allowed: Allowed | None = None) -> int:
    """A whole number; a fraction is cut off."""
    value = int(as_number(node, name, text))
    if allowed is not None and value not in allowed:
        raise node.error(f"{name} = {text} must be {allowed}")
    return value


def as_numbers(node: Node, name: str, text: str, *counts: int) -> list[float]:
    """Numbers with spaces or commas between them; one of `counts` of them, if given."""
    words = text.replace(",", " ").split()
    for word in words:
        if not _NUMBER.fullmatch(word) or not math.isfinite(float(word)):
            raise node.error(f"{name} = {shown(text)}: {shown(word)} is not a finite number")
        if abs(float(word)) > LARGEST:
            raise node.error(f"{name} = {shown(text)}: {word!r} must not exceed {LARGEST:g}")
    if counts and len(words) not in counts:
        expected = " or ".join(str(count) for count in counts)
        plural = "" if counts == (1,) else "s"
        raise node.error(
            f"{name} = {shown(text)} must be {expected} number{plural}, got {len(words)}"
        )
    return [float(word) for word in words]


def shown(text: str) -> str:
    """A value for a message: in quotes, and not without end."""
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")


def as_size(node: Node, name: str, text: str) -> m:
    """A length that a body has; not so small that nothing could touch it."""
    size = as_number(node, name, text, positive)
    if size < SMALLEST:
        raise node.error(f"{name} = {text} must be at least {SMALLEST:g} m")
    return size


def as_switch(node: Node, name: str, text: str) -> bool:
    """True or false, as 1 or 0 too."""
    if text.lower() not in ("true", "false", "1", "0"):
        raise node.error(f"{name} = {text!r} must be true or false")
    return text.lower() in ("true", "1")


def as_colour(node: Node, name: str, text: str) -> str:
    """A colour as `#RRGGBB` or `#RRGGBBAA`."""
    if not _COLOUR.fullmatch(text):
        raise node.error(f"{name} = {text!r} must be a colour, #RRGGBB or #RRGGBBAA")
    return text


_PARSERS: dict[str, Parse[Any]] = {
    "switch": as_switch,
    "text": lambda node, name, text: text,
    "colour": as_colour,
    "size": as_size,
}
"""Parsers of kinds of fields that are no plain numbers."""


def as_pose(node: Node, name: str, text: str) -> Pose:
    """`x y yaw` or `x y z yaw pitch roll`, by the tag; angles in degrees."""
    length = 6 if "3d" in name or "3D" in name or "WRT" in name else 3
    numbers = as_numbers(node, name, text)
    if len(numbers) < length:
        raise node.error(f"{name} = {shown(text)} must be {length} numbers, got {len(numbers)}")
    if len(numbers) > length:
        # As upstream, which has such poses in its own worlds.
        slip = f"{name} = {text!r} has {len(numbers)} numbers: the first {length} are taken"
        node.context.note("slips", slip, node.source)
    if length == 3:
        return Pose(numbers[0], numbers[1], yaw=math.radians(numbers[2]))
    return Pose(*numbers[:3], *(math.radians(angle) for angle in numbers[3:6]))


def one_of(node: Node, what: str, word: str, known: Collection[str]) -> str:
    """The name if it is known; else an error that lists the known ones and the nearest."""
    if word in known:
        return word
    close = get_close_matches(word, list(known), 1, 0.6)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(sorted(known)) or "none"
    raise node.error(f"the {what} {word!r} is unknown; known are {listed}{hint}")
