"""Where the values of an encoded message lie, found by walking over its bytes.

Slow and careful, for what is done once (prepared messages) or for malformed data (the field is to
be named); the fast way is `codec`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import InvalidValue
from .fields import PRIMITIVES, Field, Shape, Structure
from .packing import HEADER

MOST_BEHIND = 3
"""Bytes behind the last field: payloads are filled up to a multiple of 4.

`rmw_serialize` of rmw_fastrtps leaves more: it hands out as many bytes as it estimated. The
estimate (`get_serialized_size` of rosidl_typesupport_fastrtps) aligns an empty sequence of 8-byte
numbers as if a number followed, which CDR does not. So a message with such sequences ends up to 8
bytes earlier for each of them, depending on where they lie; what lies behind is not even zero. How
many bytes may be there is thus known from the message itself, and `leaves` computes it.
"""


class Leaf(NamedTuple):
    """Numbers or a string, and where they are."""

    path: str
    """As "transforms[0].header.stamp.sec"."""
    base: str
    begin: int
    length: int | None
    """Of an array or a sequence of numbers."""


def byte_order(structure: Structure, data: bytes) -> str:
    """Of `struct`: "<" or ">"; raises unless the data begin with the header of plain CDR."""
    order = {b"\0\0": ">", b"\0\1": "<"}.get(data[:2]) if len(data) >= len(HEADER) else None
    if order is None:
        raise InvalidValue(
            f"{structure.name}: the header is {data[:4].hex(' ') or 'missing'}; "
            "it must be that of plain CDR, 00 00 or 00 01 and two more bytes"
        )
    return order


def leaves(structure: Structure, data: bytes) -> Iterator[Leaf]:
    """All numbers and strings in order; raises `InvalidValue` at what is malformed."""
    walk = _Walk(structure, data)
    yield from walk.structure(structure, "")
    behind, most = len(data) - walk.place, walk.estimate - walk.place + MOST_BEHIND
    if behind > most:
        raise InvalidValue(
            f"{structure.name}: {behind} bytes behind the last field; at most {most} may be"
        )


class _Walk:
    def __init__(self, structure: Structure, data: bytes) -> None:
        self.name, self.data = structure.name, data
        self.order = byte_order(structure, data)
        self.place = self.estimate = len(HEADER)
        """Where the next value lies, and where Fast CDR's estimate has it; see MOST_BEHIND."""

    def structure(self, structure: Structure, prefix: str) -> Iterator[Leaf]:
        for field in structure.fields:
            path = f"{prefix}{field.name}"
            if field.shape is Shape.ONE:
                yield from self.single(field, path)
            elif field.base in PRIMITIVES:
                count = self.count(field, path)
                yield self.numbers(field, path, count)
            else:
                for index in range(self.count(field, path)):
                    yield from self.single(field, f"{path}[{index}]")

    def single(self, field: Field, path: str) -> Iterator[Leaf]:
        if field.nested is not None:
            yield from self.structure(field.nested, f"{path}.")
        elif field.base == "string":
            yield self.text(field, path)
        else:
            yield self.numbers(field, path, None)

    def numbers(self, field: Field, path: str, count: int | None) -> Leaf:
        size = PRIMITIVES[field.base]
        if count == 0:
            self.estimate += _gap(self.estimate, size)
        else:
            self.align(size)
        begin = self.take(size * (1 if count is None else count), path)
        if field.base == "bool" and any(byte > 1 for byte in self.data[begin : self.place]):
            raise InvalidValue(f"{self.name}: {path} is neither true nor false")
        return Leaf(path, field.base, begin, count)

    def count(self, field: Field, path: str) -> int:
        if field.shape is Shape.ARRAY:
            return field.size
        count = self.unsigned(path)
        left = len(self.data) - self.place
        size = PRIMITIVES.get(field.base, 1)
        if count * size > left:
            raise InvalidValue(f"{self.name}: {path} claims {count} values, {left} bytes are left")
        if field.shape is Shape.BOUNDED and count > field.size:
            raise InvalidValue(
                f"{self.name}: {path} has {count} values, at most {field.size} may be"
            )
        return count

    def text(self, field: Field, path: str) -> Leaf:
        size = self.unsigned(path)
        if field.text_size and size > field.text_size + 1:
            raise InvalidValue(
                f"{self.name}: {path} has {size - 1} bytes, at most {field.text_size} may be"
            )
        begin = self.take(size, path)
        text = self.data[begin : self.place]
        if text.find(b"\0") != size - 1 or not size:
            raise InvalidValue(f"{self.name}: {path} does not end with its first zero byte")
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise InvalidValue(f"{self.name}: {path} is not UTF-8") from error
        return Leaf(path, "string", begin, None)

    def unsigned(self, path: str) -> int:
        self.align(4)
        begin = self.take(4, path)
        return struct.unpack_from(f"{self.order}I", self.data, begin)[0]

    def align(self, size: int) -> None:
        self.place += _gap(self.place, size)
        self.estimate += _gap(self.estimate, size)

    def take(self, size: int, path: str) -> int:
        begin = self.place
        if begin + size > len(self.data):
            left = max(0, len(self.data) - begin)
            raise InvalidValue(f"{self.name}: {path} needs {size} bytes, {left} are left")
        self.place += size
        self.estimate += size
        return begin


def _gap(place: int, size: int) -> int:
    """Bytes up to the next multiple of a size, counted from behind the header."""
    return -(place - len(HEADER)) % size
