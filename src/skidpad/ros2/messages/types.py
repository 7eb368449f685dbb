"""Message and service types of ROS 2 from the lines of interface files.

A type is declared once, in `definitions` or in the text of a bag; records, CDR, type hashes,
schemas of bags and the types of every middleware are made from that. The text of a definition is
the interface file of the message, then those of all messages within it, each after a line of equals
signs and one with its name (`ros2msg` of Foxglove). RIHS01, the hash by which rmw_zenoh and bags
since Iron name types, is SHA-256 of a JSON text in the form of rosidl (REP 2011).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from ...core.files import brief_repr, listed, shortened
from ...errors import InvalidValue
from . import codec
from .codec import DUMMY, PRIMITIVES, Field, Shape, Structure, attribute, dds_name
from .definitions import HUMBLE, MESSAGES, SERVICES

_IDS = {
    "int8": 2, "uint8": 3, "int16": 4, "uint16": 5, "int32": 6, "uint32": 7, "int64": 8,
    "uint64": 9, "float32": 10, "float64": 11, "bool": 15, "byte": 16, "string": 17,
    "char": 3,
}  # fmt: skip
"""Numbers of type_description_interfaces/msg/FieldType; rosidl takes `char` for uint8."""
_NESTED, _BOUNDED_STRING = 1, 21
_OF_SHAPE = {Shape.ONE: 0, Shape.ARRAY: 48, Shape.BOUNDED: 96, Shape.SEQUENCE: 144}

_TIME = Structure(
    "builtin_interfaces/msg/Time", (Field("sec", "int32"), Field("nanosec", "uint32"))
)
_EVENT_INFO = Structure(
    "service_msgs/msg/ServiceEventInfo",
    (
        Field("event_type", "uint8"),
        Field("stamp", _TIME.name, nested=_TIME),
        Field("client_gid", "char", Shape.ARRAY, 16),
        Field("sequence_number", "int64"),
    ),
)


def message_hash(structure: Structure) -> str:
    """The hash of a message."""
    description = {
        "type_description": _described(structure),
        "referenced_type_descriptions": [_described(nested) for nested in structure.referenced],
    }
    return f"RIHS01_{hashlib.sha256(json.dumps(description).encode()).hexdigest()}"


def service_hash(name: str, request: Structure, response: Structure) -> str:
    """The hash of a service: of a structure of its request, its response and an event."""
    event = Structure(
        f"{name}_Event",
        (
            Field("info", _EVENT_INFO.name, nested=_EVENT_INFO),
            Field("request", request.name, Shape.BOUNDED, 1, nested=request),
            Field("response", response.name, Shape.BOUNDED, 1, nested=response),
        ),
    )
    parts = {"request_message": request, "response_message": response, "event_message": event}
    fields = tuple(Field(key, part.name, nested=part) for key, part in parts.items())
    return message_hash(Structure(name, fields))


def _described(structure: Structure) -> dict[str, Any]:
    return {
        "type_name": structure.name,
        "fields": [{"name": field.name, "type": _kind(field)} for field in structure.fields],
    }


def _kind(field: Field) -> dict[str, Any]:
    base = _NESTED if field.nested is not None else _IDS[field.base]
    if field.text_size:
        base = _BOUNDED_STRING
    return {
        "type_id": base + _OF_SHAPE[field.shape],
        "capacity": field.size,
        "string_capacity": field.text_size,
        "nested_type_name": field.nested.name if field.nested is not None else "",
    }


@dataclass(frozen=True)
class MessageType(Structure):
    """A message: its full name, as "nav_msgs/msg/Odometry", and its fields in order."""

    __repr__ = brief_repr

    def __getstate__(self) -> dict[str, Any]:
        """For `pickle`: the declared fields, without cached values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def Record(self) -> Any:
        """The class of its messages, a NamedTuple; see `skidpad.ros2.messages.codec`.

        Missing fields are zero, empty, or the default of the interface file.
        """
        return codec.record_class(self)

    @cached_property
    def encode(self) -> Callable[[Any], bytes]:
        """CDR of a record, little endian, with its four bytes of header."""
        return codec.encoder(self)

    @cached_property
    def decode(self) -> Callable[[bytes | bytearray | memoryview], Any]:
        """The record in CDR of either byte order; raises `InvalidValue` for whatever is not one."""
        return codec.decoder(self)

    @cached_property
    def hash(self) -> str:
        """As type descriptions are hashed since Iron: "RIHS01_..."."""
        return message_hash(self)


@dataclass(frozen=True)
class ServiceType:
    """A service: its full name, as "std_srvs/srv/Trigger", and what goes there and back."""

    name: str
    request: MessageType
    response: MessageType

    __repr__ = brief_repr

    @property
    def dds_name(self) -> str:
        """Its name for rmw_zenoh; DDS has only request and response."""
        return dds_name(self.name)

    @cached_property
    def hash(self) -> str:
        """As type descriptions are hashed since Iron: "RIHS01_..."."""
        return service_hash(self.name, self.request, self.response)


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
    """Types by name, made from lines on first use."""

    def __init__(self, lines: Mapping[str, str]) -> None:
        self._lines = dict(lines)
        self._types: dict[str, MessageType] = {}
        self._counts: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._lines

    def add(self, name: str, lines: str) -> None:
        """Add the lines of a type."""
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


_DEFINITION_TEXT_LINE = "=" * 80
_BETWEEN = re.compile(r"^={40,}[ \t]*\r?\nMSG:[ \t]*(\S+)[ \t]*\r?$", re.MULTILINE)


def definition_text(structure: Structure) -> str:
    """The text of a type with all that it refers to."""
    parts = [_fields_text(structure)]
    for nested in structure.referenced:
        package, _, name = nested.name.split("/")
        parts.append(f"{_DEFINITION_TEXT_LINE}\nMSG: {package}/{name}\n{_fields_text(nested)}")
    return "".join(parts)


def type_of_text(name: str, text: str) -> MessageType:
    """The type that a text defines; what it refers to and does not define is that of `definitions`.

    Raises `InvalidValue` for what is no such text.
    """
    own, *rest = _BETWEEN.split(text)
    if own.lstrip().startswith("====") or "IDL:" in own[:200]:
        raise InvalidValue(f"message type {name}: its definition is not one of lines with fields")
    parts = {
        full_name(part, "msg"): lines for part, lines in zip(rest[::2], rest[1::2], strict=True)
    }
    return Definitions({**MESSAGES, **parts, name: own}).find(name)


def _fields_text(structure: Structure) -> str:
    fields = [field for field in structure.fields if field.name != DUMMY]
    return "".join(f"{_base(field)} {field.name}{_default(field)}\n" for field in fields)


def _base(field: Field) -> str:
    package, _, name = field.base.rpartition("/msg/")
    base = f"{package}/{name}" if package else name
    base += f"<={field.text_size}" if field.text_size else ""
    sizes = {Shape.ONE: "", Shape.SEQUENCE: "[]", Shape.ARRAY: f"[{field.size}]"}
    return base + sizes.get(field.shape, f"[<={field.size}]")


def _default(field: Field) -> str:
    return f" {field.default:g}" if field.default else ""
