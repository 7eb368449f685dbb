"""Typed values of elements, and warnings about parts that were not read.

`Fields` looks up children of the elements that describe one object. `Fields.record` fills in a
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
from ..scene import ORIGIN, Pose, WorldError, Written, ranges, written
from .markup import Context, Node

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
        """The same fields, where later elements take precedence."""
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

        With `attributes_of` it is an attribute of that element. `children` sets whether a child is
        accepted, too; by default it is, as upstream's documentation says, except under
        compat="upstream".
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
    """Value in the representation of the field."""
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
    """A quoted value for a message, shortened if it is long."""
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
        # As upstream, which has such poses in its own worlds.
        slip = f"{name} = {text!r} has {count} numbers: the first {length} are taken"
        node.context.note("slips", slip, node.source)
    return pose_in_degrees(*numbers[:length])


def pose_in_degrees(x: m, y: m, *rest: float) -> Pose:
    """Pose from the yaw in degrees, or from z, yaw, pitch and roll."""
    z, *angles = rest if len(rest) > 1 else (0.0, *rest)
    return Pose(x, y, z, *map(math.radians, angles))


def one_of(node: Node, what: str, word: str, known: Collection[str]) -> str:
    """The name if it is known; otherwise raises an error with the known names and the closest
    one."""
    if word in known:
        return word
    close = get_close_matches(word, list(known), 1, 0.6)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(sorted(known)) or "none"
    raise node.error(f"the {what} {word!r} is unknown; known are {listed}{hint}")
