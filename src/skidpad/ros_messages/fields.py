"""Fields of messages, and structures of fields: what all that is made from a type works on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from ..brief import brief_repr

PRIMITIVES = {
    "bool": 1, "byte": 1, "char": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2,
    "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip
"""Bytes of each, which is also what they are aligned to."""
DTYPES = {
    "bool": "?", "byte": "u1", "char": "u1", "int8": "i1", "uint8": "u1", "int16": "i2",
    "uint16": "u2", "int32": "i4", "uint32": "u4", "float32": "f4", "int64": "i8", "uint64": "u8",
    "float64": "f8",
}  # fmt: skip
"""NumPy's names, without the byte order. `byte` and `char` are unsigned numbers, as in rclpy."""
DUMMY = "structure_needs_at_least_one_member"
"""The field of a structure without any."""


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
    """The most bytes of a string; 0 if any number."""
    default: float = 0.0
    """Of a single number."""
    nested: Structure | None = None
    """The type of its values if they are messages."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Structure:
    """A full name, as "nav_msgs/msg/Odometry", and fields in order."""

    name: str
    fields: tuple[Field, ...]

    @property
    def dds_name(self) -> str:
        """As the middlewares know it: "nav_msgs::msg::dds_::Odometry_"."""
        return dds_name(self.name)

    @cached_property
    def referenced(self) -> tuple[Structure, ...]:
        """Every other structure within it, sorted by name."""
        by_name: dict[str, Structure] = {}
        waiting = [field.nested for field in self.fields]
        while waiting:
            nested = waiting.pop()
            if nested is not None and nested.name not in by_name:
                by_name[nested.name] = nested
                waiting += [field.nested for field in nested.fields]
        return tuple(by_name[name] for name in sorted(by_name))


def dds_name(name: str) -> str:
    """The name of a type in IDL: "pkg/msg/A" is "pkg::msg::dds_::A_"."""
    package, kind, name = name.split("/")
    return f"{package}::{kind}::dds_::{name}_"
