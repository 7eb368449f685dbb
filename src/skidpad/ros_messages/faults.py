"""What is wrong with a record or with data that the codec could not take."""

from __future__ import annotations

import struct
from collections.abc import Hashable
from typing import Any

from ..brief import shortened
from ..errors import InvalidValue
from .array_bytes import array_bytes
from .fields import DTYPES, PRIMITIVES, Field, Shape, Structure
from .layout import leaves
from .packing import CODES, TRUTHS
from .records import attribute


def check_data(structure: Structure, data: bytes) -> None:
    """Raise what is wrong with malformed data, and nothing for what can be read."""
    for _ in leaves(structure, data):
        pass


def of_data(structure: Structure, data: bytes) -> InvalidValue:
    """The fault of malformed data."""
    try:
        check_data(structure, data)
    except InvalidValue as fault:
        return fault
    return InvalidValue(f"{structure.name}: malformed data")


def of_record(structure: Structure, record: Any) -> InvalidValue:
    """The fault of a record that cannot be encoded."""
    try:
        _check(structure, record, structure.name, "")
    except InvalidValue as fault:
        return fault
    return InvalidValue(f"{structure.name}: cannot be encoded: {shortened(repr(record))}")


def number_fault(name: str, base: str, value: Any) -> InvalidValue | None:
    """The fault of one number; None if there is none."""
    if base == "bool":
        truth = isinstance(value, Hashable) and value in TRUTHS
        text = f"{name} = {shortened(repr(value), 60)} must be true or false"
        return None if truth else InvalidValue(text)
    try:
        struct.pack(f"<{CODES[base]}", value)
    except (struct.error, TypeError, OverflowError) as error:
        allowed = "a number" if base.startswith("float") else "a whole number"
        return InvalidValue(
            f"{name} = {shortened(repr(value), 60)} must be {allowed} that {base} holds ({error})"
        )
    return None


def _check(structure: Structure, record: Any, name: str, prefix: str) -> None:
    for field in structure.fields:
        path = f"{prefix}{attribute(field)}"
        if not hasattr(record, attribute(field)):
            where = f"{name}.{prefix.rstrip('.')}".rstrip(".")
            raise InvalidValue(
                f"{where} must be a record with {field.name}, got {shortened(repr(record), 60)}"
            )
        _check_field(field, getattr(record, attribute(field)), name, path)


def _check_field(field: Field, value: Any, name: str, path: str) -> None:
    if field.shape is Shape.ONE:
        _check_one(field, value, name, path)
        return
    count = _count(field, value, f"{name}.{path}")
    if field.shape is Shape.ARRAY and count != field.size:
        raise InvalidValue(f"{name}.{path} has {count} values, must have {field.size}")
    if field.shape is Shape.BOUNDED and count > field.size:
        raise InvalidValue(f"{name}.{path} has {count} values, may have at most {field.size}")
    if field.base not in PRIMITIVES:
        for index, one in enumerate(value):
            _check_one(field, one, name, f"{path}[{index}]")


def _count(field: Field, value: Any, name: str) -> int:
    try:
        if field.base in PRIMITIVES:
            return len(array_bytes(value, DTYPES[field.base])) // PRIMITIVES[field.base]
        if isinstance(value, str):
            raise TypeError("a string is none")
        return len(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(
            f"{name} = {shortened(repr(value), 60)} must be a sequence of {field.base}: {error}"
        ) from error


def _check_one(field: Field, value: Any, name: str, path: str) -> None:
    if field.nested is not None:
        _check(field.nested, value, name, f"{path}.")
    elif field.base == "string":
        _check_text(field, value, f"{name}.{path}")
    elif fault := number_fault(f"{name}.{path}", field.base, value):
        raise fault


def _check_text(field: Field, value: Any, name: str) -> None:
    if not isinstance(value, str):
        raise InvalidValue(f"{name} = {shortened(repr(value), 60)} must be a string")
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise InvalidValue(f"{name} = {value!r} cannot be written as UTF-8") from error
    if "\0" in value:
        raise InvalidValue(f"{name} = {value!r} must not contain a zero byte")
    if field.text_size and size > field.text_size:
        raise InvalidValue(f"{name} has {size} bytes, may have at most {field.text_size}")
