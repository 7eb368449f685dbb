"""Message and service types of ROS 2 from the lines of interface files.

A type is declared once, in `definitions` or in the text of a bag; records, CDR, type hashes,
schemas of bags and the types of every middleware are made from that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..brief import listed, shortened
from ..errors import InvalidValue
from .definitions import HUMBLE, MESSAGES, SERVICES
from .fields import DUMMY, PRIMITIVES, Field, Shape
from .interfaces import MessageType, ServiceType
from .records import attribute

_LINE = re.compile(
    r"(?P<base>[A-Za-z][\w/]*)(<=(?P<text>\d{1,9}))?(\[(?P<most><=)?(?P<size>\d{0,9})\])?"
    r"\s+(?P<name>[A-Za-z]\w*)(\s+(?P<default>.*))?",
    re.ASCII,
)
_CONSTANT = re.compile(r"[A-Za-z]\w*(<=\d+)?\s+[A-Za-z]\w*\s*=.*", re.ASCII)
_NAME = re.compile(r"[A-Za-z]\w*/(msg|srv|action)/[A-Za-z]\w*", re.ASCII)
_LONGEST_ARRAY = 1 << 20
"""Values of a field of fixed size: a few letters may claim any number."""
_DEEPEST = 32
"""Messages within messages."""
_MOST_FIELDS = 10_000
"""Of a message with all that is nested in it."""


class Definitions:
    """Types by name, made from lines when they are asked for."""

    def __init__(self, lines: Mapping[str, str]) -> None:
        self._lines = dict(lines)
        self._types: dict[str, MessageType] = {}
        self._counts: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._lines

    def add(self, name: str, lines: str) -> None:
        """Add what a type is made from when it is asked for."""
        self._lines[name] = lines

    def find(self, name: str, within: tuple[str, ...] = ()) -> MessageType:
        """The type of a full name; `within` are the types that need it."""
        if name in self._types:
            return self._types[name]
        if name not in self._lines or not _NAME.fullmatch(name):
            known = listed(sorted(self._lines), 400)
            raise InvalidValue(f"message type {shortened(name)!r} is not known; known are: {known}")
        if name in within:
            raise InvalidValue(f"message type {name} contains itself")
        if len(within) > _DEEPEST:
            raise InvalidValue(f"message type {within[0]} nests more than {_DEEPEST} others")
        return self._types.setdefault(name, self.read(name, self._lines[name], within))

    def read(self, name: str, text: str, within: tuple[str, ...] = ()) -> MessageType:
        """A type of these lines."""
        lines = [line.partition("#")[0].strip() for line in text.splitlines()]
        fields = tuple(
            self._field(name, line, (*within, name))
            for line in lines
            if line and not _CONSTANT.fullmatch(line)
        )
        if len({attribute(field) for field in fields}) < len(fields):
            raise InvalidValue(f"message type {name} has two fields of one name")
        count = sum(self._counts.get(field.base, 1) for field in fields)
        if count > _MOST_FIELDS:
            raise InvalidValue(f"message type {name} has {count} fields, more than {_MOST_FIELDS}")
        self._counts[name] = max(count, 1)
        return MessageType(name, fields or (Field(DUMMY, "uint8"),))

    def _field(self, owner: str, line: str, within: tuple[str, ...]) -> Field:
        match = _LINE.fullmatch(line)
        if match is None:
            raise InvalidValue(f"message type {owner}: {shortened(line)!r} is no field")
        base, nested = match["base"], None
        if base == "wstring":
            raise InvalidValue(f"message type {owner}: {line!r}: wstring is not supported")
        if base not in PRIMITIVES and base != "string":
            base = full_name(base if "/" in base else f"{owner.split('/')[0]}/{base}", "msg")
            nested = self.find(base, within)
        shape, size = Shape.ONE, int(match["size"] or 0)
        if match["size"] is not None:
            fixed = Shape.ARRAY if match["size"] else Shape.SEQUENCE
            shape = Shape.BOUNDED if match["most"] else fixed
            if shape is not Shape.SEQUENCE and not 0 < size <= _LONGEST_ARRAY:
                raise InvalidValue(f"message type {owner}: size in {line!r} is out of range")
        default = _number(match["default"]) if shape is Shape.ONE and base in PRIMITIVES else 0.0
        return Field(match["name"], base, shape, size, int(match["text"] or 0), default, nested)


def _number(text: str | None) -> float:
    """A default value; 0 if it is none."""
    words = {"true": 1.0, "false": 0.0}
    try:
        return words.get((text or "0").lower()) or float(text or 0.0)
    except ValueError:
        return 0.0


_TABLE, _TABLE_HUMBLE = Definitions(MESSAGES), Definitions(MESSAGES | HUMBLE)
_services: dict[str, ServiceType] = {}


def message_type(name: str, *, humble: bool = False) -> MessageType:
    """The type of a message by its full name, or without the "msg" in the middle.

    `humble` gives those as they were in Humble and before: `rmw_dds_common/msg/Gid` had 24 bytes.
    """
    return (_TABLE_HUMBLE if humble else _TABLE).find(full_name(name, "msg"))


def declare(name: str, text: str) -> MessageType:
    """Add a message type of one's own, from the text of its interface file.

    The same type again is the one that is there; another under a name that is taken raises.
    """
    name = full_name(name, "msg")
    if not _NAME.fullmatch(name):
        raise InvalidValue(f"message type {shortened(name)!r} must be named as PACKAGE/msg/TYPE")
    made = _TABLE.read(name, text)
    if name in _TABLE:
        if _TABLE.find(name) != made:
            raise InvalidValue(f"message type {name} is declared already, with other fields")
        return _TABLE.find(name)
    _TABLE.add(name, text)
    _TABLE_HUMBLE.add(name, text)
    return _TABLE.find(name)


def service_type(name: str) -> ServiceType:
    """The type of a service by its full name, or without the "srv" in the middle."""
    name = full_name(name, "srv")
    if name not in SERVICES:
        raise InvalidValue(
            f"service type {name!r} is not known; known are: {', '.join(sorted(SERVICES))}"
        )
    if name not in _services:
        _services[name] = service_of(name, *SERVICES[name])
    return _services[name]


def service_of(name: str, request: str, response: str) -> ServiceType:
    """A service of these lines."""
    return ServiceType(
        name, _TABLE.read(f"{name}_Request", request), _TABLE.read(f"{name}_Response", response)
    )


def full_name(name: str, kind: str) -> str:
    """The name with what kind of interface it is: "pkg/A" is "pkg/msg/A"."""
    parts = name.split("/")
    return f"{parts[0]}/{kind}/{parts[1]}" if len(parts) == 2 else name
