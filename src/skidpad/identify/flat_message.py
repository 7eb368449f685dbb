"""ROS 2 messages that are nothing but numbers, such as std_msgs/Float64, from their CDR bytes."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from ..errors import InvalidValue

_CODES = {
    "bool": "?",
    "byte": "B",
    "char": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
"""Types of fields and how `struct` names them."""
_FIELD = re.compile(r"(?P<type>\w+)\s+(?P<name>\w+)(\s+\S+)?")
_CONSTANT = re.compile(r"\w+\s+\w+\s*=.*")


@dataclass(frozen=True)
class FlatMessage:
    """Fields of a message in order, each with its code."""

    fields: tuple[tuple[str, str], ...]

    def numbers(self, data: bytes) -> dict[str, float]:
        """The values of a message by `.name`."""
        if len(data) < 4 or data[0] != 0 or data[1] > 1:
            raise InvalidValue("a message is not in plain CDR")
        order = "<" if data[1] else ">"
        at, values = 4, dict[str, float]()
        for name, code in self.fields:
            size = struct.calcsize(code)
            # Aligned to its own size, counted from behind the four bytes of the heading.
            at += -(at - 4) % size
            values[f".{name}"] = float(struct.unpack_from(order + code, data, at)[0])
            at += size
        return values


def flat_message(definition: str) -> FlatMessage | None:
    """The layout of a message definition; None if a field is not a single number."""
    fields: list[tuple[str, str]] = []
    for line in definition.splitlines():
        text = line.partition("#")[0].strip()
        if not text or _CONSTANT.fullmatch(text):
            continue
        match = _FIELD.fullmatch(text)
        if match is None or match["type"] not in _CODES:
            return None
        fields.append((match["name"], _CODES[match["type"]]))
    return FlatMessage(tuple(fields)) if fields else None
