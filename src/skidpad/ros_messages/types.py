"""Message and service types of ROS 2 as data: names, fields, order.

A type is declared once, as the lines of its interface file (`definitions`); records, CDR, type
hashes, schemas of bags and the types of every middleware are made from that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property

from ..brief import brief_repr
from ..errors import InvalidValue
from .definitions import MESSAGES, SERVICES

PRIMITIVES = {
    "bool": 1, "byte": 1, "char": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2,
    "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip
"""Bytes of each, which is also what they are aligned to."""
DUMMY = "structure_needs_at_least_one_member"
"""The field of a structure without any."""

_LINE = re.compile(
    r"(?P<base>[\w/]+)(<=(?P<text>\d+))?(\[(?P<most><=)?(?P<size>\d*)\])? +(?P<name>\w+)"
)


class Shape(Enum):
    """How many values a field has."""

    ONE = "one"
    ARRAY = "array"
    """A number that is part of the type."""
    BOUNDED = "bounded"
    """Any number up to one that is part of the type."""
    SEQUENCE = "sequence"
    """Any number."""


@dataclass(frozen=True)
class Field:
    """One field of a message."""

    name: str
    base: str
    """A primitive, "string", or the full name of a message: "geometry_msgs/msg/Point"."""
    shape: Shape = Shape.ONE
    size: int = 0
    """Of an array; the most of a bounded sequence."""
    text_size: int = 0
    """The most characters of a string; 0 if any number."""

    @property
    def nested(self) -> MessageType | None:
        """The type of its values if they are messages."""
        return message_type(self.base) if "/" in self.base else None


@dataclass(frozen=True)
class MessageType:
    """A message: its full name, as "nav_msgs/msg/Odometry", and its fields in order."""

    name: str
    fields: tuple[Field, ...]

    __repr__ = brief_repr

    @property
    def dds_name(self) -> str:
        """As the middlewares know it: "nav_msgs::msg::dds_::Odometry_"."""
        package, kind, name = self.name.split("/")
        return f"{package}::{kind}::dds_::{name}_"

    @cached_property
    def referenced(self) -> tuple[MessageType, ...]:
        """Every other type within it, sorted by name."""
        found: dict[str, MessageType] = {}
        waiting = [field.nested for field in self.fields]
        while waiting:
            nested = waiting.pop()
            if nested is not None and nested.name not in found:
                found[nested.name] = nested
                waiting += [field.nested for field in nested.fields]
        return tuple(found[name] for name in sorted(found))


@dataclass(frozen=True)
class ServiceType:
    """A service: its full name, as "std_srvs/srv/Trigger", and what goes there and back."""

    name: str
    request: MessageType
    response: MessageType

    __repr__ = brief_repr

    @property
    def dds_name(self) -> str:
        """As rmw_zenoh knows it; on DDS there are only request and response."""
        package, kind, name = self.name.split("/")
        return f"{package}::{kind}::dds_::{name}_"


@cache
def message_type(name: str) -> MessageType:
    """The type of a message by its full name, or without the "msg" in the middle."""
    name = _full(name, "msg")
    if name not in MESSAGES:
        raise InvalidValue(f"message type {name!r} is not known; known are: {_listed(MESSAGES)}")
    return MessageType(name, _fields(name, MESSAGES[name]))


@cache
def service_type(name: str) -> ServiceType:
    """The type of a service by its full name, or without the "srv" in the middle."""
    name = _full(name, "srv")
    if name not in SERVICES:
        raise InvalidValue(f"service type {name!r} is not known; known are: {_listed(SERVICES)}")
    request, response = SERVICES[name]
    return ServiceType(
        name,
        MessageType(f"{name}_Request", _fields(name, request)),
        MessageType(f"{name}_Response", _fields(name, response)),
    )


def _full(name: str, kind: str) -> str:
    parts = name.split("/")
    return f"{parts[0]}/{kind}/{parts[1]}" if len(parts) == 2 else name


def _listed(table: Mapping[str, object]) -> str:
    return ", ".join(sorted(table))


def _fields(owner: str, text: str) -> tuple[Field, ...]:
    lines = [line.strip() for line in text.strip().splitlines()]
    fields = tuple(_field(owner, line) for line in lines if line)
    return fields or (Field(DUMMY, "uint8"),)


def _field(owner: str, line: str) -> Field:
    found = _LINE.fullmatch(line)
    if found is None:
        raise InvalidValue(f"{owner}: {line!r} is no field")
    base = found["base"]
    if base not in PRIMITIVES and base != "string":
        base = _full(base if "/" in base else f"{owner.split('/')[0]}/{base}", "msg")
    shape = Shape.ONE
    if found["size"] is not None:
        shape = Shape.BOUNDED if found["most"] else Shape.ARRAY if found["size"] else Shape.SEQUENCE
    return Field(found["name"], base, shape, int(found["size"] or 0), int(found["text"] or 0))
