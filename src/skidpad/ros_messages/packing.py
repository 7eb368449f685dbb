"""Numbers side by side in CDR: one `struct` for each place modulo 8 that they may begin at.

Alignment counts from behind the four bytes of header and is at most 8, so what fills the gaps is
known for each of eight beginnings.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from .fields import PRIMITIVES, Field

HEADER = b"\0\1\0\0"
"""Of plain CDR, little endian."""
CODES = {
    "bool": "?", "byte": "B", "char": "B", "int8": "b", "uint8": "B", "int16": "h",
    "uint16": "H", "int32": "i", "uint32": "I", "float32": "f", "int64": "q", "uint64": "Q",
    "float64": "d",
}  # fmt: skip
"""Of `struct`."""


TRUTHS = {False: False, True: True}
"""What a bool may be: `struct` takes anything for one."""


class Item(NamedTuple):
    """A part of a run: a number, or an array as bytes."""

    code: str
    size: int
    alignment: int


COUNT = Item("I", 4, 4)
"""Of a sequence, and of the bytes of a string."""


def number(field: Field) -> Item:
    """One number of a field."""
    size = PRIMITIVES[field.base]
    return Item(CODES[field.base], size, size)


def block(field: Field) -> Item:
    """All numbers of a field of fixed size, as bytes."""
    size = PRIMITIVES[field.base]
    return Item(f"{field.size * size}s", field.size * size, size)


def packers(items: Sequence[Item], order: str) -> tuple[struct.Struct, ...]:
    """What packs them, by the place modulo 8 in a buffer that begins with a header."""
    return tuple(struct.Struct(_format(items, order, place)) for place in range(8))


def _format(items: Sequence[Item], order: str, place: int) -> str:
    text, place = order, place - len(HEADER)
    for item in items:
        gap = -place % item.alignment
        text += "x" * gap + item.code
        place += gap + item.size
    return text
