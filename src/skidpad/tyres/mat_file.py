"""Variables of MAT-files of version 5: numbers, text, cells and structures.

SciPy's reader follows whatever a damaged file says and takes the process down with it. This one
looks at every length before it uses it. Layout: MathWorks, "MAT-File Format", version 5.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..files import LARGEST_BLOCK

_HEADER = 128
_NUMBERS = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
_TEXTS = {16: "utf-8", 17: "utf-16", 18: "utf-32"}
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _TEXT = 1, 2, 4
_NUMERIC = range(6, 16)
"""Classes of arrays."""
MOST_VARIABLES = 10_000


class _Element(NamedTuple):
    kind: int
    data: memoryview


def variables(content: bytes) -> dict[str, Any]:
    """By name: arrays of numbers, text, lists of cells, dicts of structures; others are left out.

    Raises ValueError for what is not as the format says.
    """
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        raise ValueError("it does not say in which order bytes stand")
    values: dict[str, Any] = {}
    for element in _elements(memoryview(content)[_HEADER:], order):
        inner = _unpacked(element, order) if element.kind == _COMPRESSED else element
        if inner.kind == _MATRIX:
            name, value = _matrix(inner.data, order)
            if value is not None:
                values[name] = value
        if len(values) > MOST_VARIABLES:
            raise ValueError(f"it has more than {MOST_VARIABLES} variables")
    return values


def _elements(data: memoryview, order: str) -> Iterator[_Element]:
    """One element after the other, each as long as it says."""
    at = 0
    while len(data) - at >= 8:
        first, size = struct.unpack_from(f"{order}II", data, at)
        start = at + 8
        if first >> 16:  # a small one holds its data within the 8 bytes
            kind, size, start = first & 0xFFFF, first >> 16, at + 4
            if size > 4:
                raise ValueError(f"a small element says it has {size} bytes; it has 4")
            at += 8
        else:
            kind, at = first, start + size
            if kind != _COMPRESSED:
                at += -at % 8
        if start + size > len(data):
            raise ValueError(f"an element says it has {size} bytes; {len(data) - start} are left")
        yield _Element(kind, data[start : start + size])


def _unpacked(element: _Element, order: str) -> _Element:
    data = zlib.decompressobj().decompress(element.data, LARGEST_BLOCK)
    return next(_elements(memoryview(data), order), _Element(0, memoryview(b"")))


def _matrix(data: memoryview, order: str) -> tuple[str, Any]:
    """Name and value of an array; None for a kind that is not read."""
    parts = list(_elements(data, order))
    if len(parts) < 3:
        return "", None  # an empty cell
    flags = _numbers(parts[0], order)
    if not flags.size:
        raise ValueError("an array does not say of what class it is")
    shape = tuple(int(n) for n in _numbers(parts[1], order))
    name, rest, class_ = bytes(parts[2].data).decode("latin-1"), parts[3:], int(flags[0]) & 0xFF
    if class_ in _NUMERIC:
        values = _numbers(rest[0], order) if rest else np.empty(0)
        if values.size != np.prod(shape, dtype=float):
            raise ValueError(f"{name or 'an array'} has {values.size} numbers for shape {shape}")
        return name, values.reshape(shape, order="F")
    if class_ == _TEXT:
        return name, _text(rest[0], order) if rest else ""
    if class_ == _CELL:
        return name, [_matrix(part.data, order)[1] for part in rest]
    if class_ == _STRUCT:
        return name, _structure(rest, order)
    return name, None


def _structure(parts: list[_Element], order: str) -> dict[str, Any]:
    """Fields of the first structure of an array of them."""
    if len(parts) < 2:
        raise ValueError("a structure does not say what its fields are called")
    lengths = _numbers(parts[0], order)
    length = int(lengths[0]) if lengths.size else 0
    if not 0 < length <= 1024:
        raise ValueError(f"names of fields are {length} characters long")
    text = bytes(parts[1].data)
    cuts = range(0, len(text), length)
    names = [text[k : k + length].split(b"\0")[0].decode("latin-1") for k in cuts]
    values = [_matrix(part.data, order)[1] for part in parts[2 : 2 + len(names)]]
    return dict(zip(names, values, strict=False))


def _numbers(element: _Element, order: str) -> Any:
    if element.kind not in _NUMBERS:
        raise ValueError(f"numbers are of the unknown type {element.kind}")
    kind = np.dtype(order + _NUMBERS[element.kind])
    return np.frombuffer(element.data, kind, len(element.data) // kind.itemsize)


def _text(element: _Element, order: str) -> str:
    if element.kind in _TEXTS:
        suffix = "" if element.kind == 16 else ("-le" if order == "<" else "-be")
        return bytes(element.data).decode(_TEXTS[element.kind] + suffix, "replace")
    codes = _numbers(element, order)
    if codes.dtype.kind == "f":
        raise ValueError("a text holds numbers that are no characters")
    return "".join(map(chr, codes[codes < 0xD800].tolist())) if (codes >= 0).all() else ""
