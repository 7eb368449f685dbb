"""Records of messages: NamedTuple classes made from types.

Numbers and strings are plain. Arrays and sequences of numbers are NumPy arrays as decoded, of
whatever length, `byte` and `char` as uint8; lists and tuples are encoded too. Sequences of strings
and of messages are tuples. A field whose name is a word of Python has an underscore behind it.

What is not given is zero, empty, or the default of the interface file (a quaternion has w = 1).
"""

from __future__ import annotations

import keyword
from collections import namedtuple
from functools import cache
from typing import Any

import numpy as np

from .fields import DTYPES, Field, Shape, Structure


@cache
def record_class(structure: Structure) -> Any:
    """The NamedTuple class of a structure."""
    names = [attribute(field) for field in structure.fields]
    defaults = [_default(field) for field in structure.fields]
    name = _no_keyword(structure.name.split("/")[-1])
    kind: Any = namedtuple(name, names, defaults=defaults)  # pyright: ignore[reportUntypedNamedTuple]
    kind.__reduce__ = lambda message: (_message, (structure, tuple(message)))
    return kind


def _message(structure: Structure, values: tuple[Any, ...]) -> Any:
    return record_class(structure)(*values)


def attribute(field: Field) -> str:
    """The name of a field in Python."""
    return _no_keyword(field.name)


def _no_keyword(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _default(field: Field) -> Any:
    if field.base in DTYPES and field.shape is not Shape.ONE:
        zeros = np.zeros(field.size if field.shape is Shape.ARRAY else 0, DTYPES[field.base])
        zeros.flags.writeable = False  # All records share it.
        return zeros
    if field.shape in (Shape.SEQUENCE, Shape.BOUNDED):
        return ()
    value = _single(field)
    return (value,) * field.size if field.shape is Shape.ARRAY else value


def _single(field: Field) -> Any:
    if field.nested is not None:
        return record_class(field.nested)()
    if field.base == "string":
        return ""
    return np.dtype(DTYPES[field.base]).type(field.default).item()
