"""Definitions of messages as texts: what bags hold, and Foxglove calls `ros2msg`.

The interface file of the message, then those of all messages within it, each behind a line of
equals signs and one with its name.
"""

from __future__ import annotations

import re

from ..errors import InvalidValue
from .definitions import MESSAGES
from .fields import DUMMY, Field, Shape, Structure
from .interfaces import MessageType
from .types import Definitions, full_name

_LINE = "=" * 80
_BETWEEN = re.compile(r"^={40,}[ \t]*\r?\nMSG:[ \t]*(\S+)[ \t]*\r?$", re.MULTILINE)


def definition_text(structure: Structure) -> str:
    """The text of a type with all that it refers to."""
    parts = [_fields_text(structure)]
    for nested in structure.referenced:
        package, _, name = nested.name.split("/")
        parts.append(f"{_LINE}\nMSG: {package}/{name}\n{_fields_text(nested)}")
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
