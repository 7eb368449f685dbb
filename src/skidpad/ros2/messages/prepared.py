"""Messages that are sent repeatedly: encoded once, then patched in place.

Strings and the lengths of sequences are fixed. `PreparedMany` writes the numbers of many messages
of the same layout as columns.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.files import brief_repr
from ...errors import InvalidValue
from .codec import CODES, DTYPES, PRIMITIVES, TRUTHS, Leaf, leaves, number_fault
from .types import MessageType

_FAULTS = (struct.error, TypeError, OverflowError, KeyError)


class Prepared:
    """An encoded message whose numbers can be changed.

    Args:
        type_: the type.
        message: a record of it, with the constant strings and lengths.
    """

    def __init__(self, type_: MessageType, message: Any) -> None:
        self.type = type_
        self.data = bytearray(type_.encode(message))
        """CDR with its header, always complete."""
        self._leaves = {leaf.path: leaf for leaf in leaves(type_, bytes(self.data))}

    __repr__ = brief_repr

    def patcher(self, *paths: str) -> Callable[..., None]:
        """Return a function that takes a value for each path and writes all of them, or none.

        A path denotes a number: "pose.pose.position.x", "transforms[0].header.stamp.sec",
        "pose.covariance[7]".
        """
        places = [self._place(path) for path in paths]
        if not paths or len(set(paths)) < len(paths):
            raise InvalidValue(f"{self.type.name}: give each path once, and one at least: {paths}")
        return _patch_function(self.data, self.type.name, places)

    def array(self, path: str) -> NDArray[Any]:
        """The numbers of an array or a sequence, as a view that writes into the message."""
        leaf = self._leaf(path)
        if leaf.length is None:
            raise InvalidValue(f"{self.type.name}: {path} is no array of numbers")
        dtype = f"<{DTYPES[leaf.base]}"
        return np.frombuffer(self.data, dtype, leaf.length, leaf.begin if leaf.length else 0)

    @property
    def layout(self) -> tuple[Leaf, ...]:
        """Position of every value in the data."""
        return tuple(self._leaves.values())

    def place(self, path: str) -> tuple[int, str]:
        """Offset of a number in the data, and its NumPy type."""
        leaf = self._place(path)
        return leaf.begin, f"<{DTYPES[leaf.base]}"

    def _place(self, path: str) -> Leaf:
        """Position of a number, which may be an element of an array."""
        whole, bracket, index = path.rpartition("[")
        if bracket and whole in self._leaves and path not in self._leaves:
            leaf, number = self._leaves[whole], index.removesuffix("]")
            if not number.isdecimal() or leaf.length is None or int(number) >= leaf.length:
                raise InvalidValue(f"{self.type.name}: {whole} has {leaf.length} values, no {path}")
            begin = leaf.begin + int(number) * PRIMITIVES[leaf.base]
            return Leaf(path, leaf.base, begin, None)
        leaf = self._leaf(path)
        if leaf.base == "string" or leaf.length is not None:
            raise InvalidValue(f"{self.type.name}: {path} is no number; only numbers are patched")
        return leaf

    def _leaf(self, path: str) -> Leaf:
        if path not in self._leaves:
            raise InvalidValue(
                f"{self.type.name}: there is no {path!r}; there are {', '.join(self._leaves)}"
            )
        return self._leaves[path]


def _patch_function(data: bytearray, name: str, places: Sequence[Leaf]) -> Callable[..., None]:
    """Generate the patch function, which packs everything before it writes anything."""
    names: dict[str, Any] = {"data": data, "FAULTS": _FAULTS, "TRUTHS": TRUTHS}
    names["explain"] = lambda *values: _explain(name, places, values)
    packed: list[str] = []
    written: list[str] = []
    for number, run in enumerate(_runs(places)):
        codes = "".join(CODES[places[index].base] for index in run)
        packer = struct.Struct(f"<{codes}")
        begin = places[run[0]].begin
        names[f"P{number}"] = packer.pack
        bools = [places[index].base == "bool" for index in run]
        pairs = zip(run, bools, strict=True)
        values = ", ".join(f"TRUTHS[v{k}]" if is_bool else f"v{k}" for k, is_bool in pairs)
        packed.append(f"        b{number} = P{number}({values})")
        written.append(f"    data[{begin}:{begin + packer.size}] = b{number}")
    values = ", ".join(f"v{index}" for index in range(len(places)))
    lines = [f"def patch({values}):", "    try:", *packed, "    except FAULTS as error:"]
    lines += [f"        raise explain({values}) from error", *written]
    exec(compile("\n".join(lines), f"<patch of {name}>", "exec"), names)
    return names["patch"]


def _runs(places: Sequence[Leaf]) -> list[list[int]]:
    """Indices of adjacent numbers, grouped."""
    runs: list[list[int]] = []
    end = -1
    for index in sorted(range(len(places)), key=lambda index: places[index].begin):
        if places[index].begin != end:
            runs.append([])
        runs[-1].append(index)
        end = places[index].begin + PRIMITIVES[places[index].base]
    return runs


def _explain(name: str, places: Sequence[Leaf], values: tuple[Any, ...]) -> InvalidValue:
    for leaf, value in zip(places, values, strict=True):
        if fault := number_fault(f"{name}.{leaf.path}", leaf.base, value):
            return fault
    return InvalidValue(f"{name}: the values cannot be written")


class PreparedMany:
    """Encoded messages of the same layout, whose numbers can be changed for all at once.

    Args:
        type_: the type.
        messages: records of it, one or more, whose strings and sequences are of equal lengths.
    """

    def __init__(self, type_: MessageType, messages: Sequence[Any]) -> None:
        each = [Prepared(type_, message) for message in messages]
        self._first = each[0]
        if any(one.layout != each[0].layout for one in each):
            raise InvalidValue(f"{type_.name}: messages differ in lengths of texts or sequences")
        self._size = len(each[0].data)
        self._buffer = bytearray(b"".join(one.data for one in each))
        whole, size = memoryview(self._buffer), self._size
        self.rows = [whole[k * size : (k + 1) * size] for k in range(len(each))]
        """CDR of each message with its header, always complete."""

    __repr__ = brief_repr

    def column(self, path: str) -> NDArray[Any]:
        """One number of all messages, as a view that writes into them, (messages,); paths as in
        `Prepared`."""
        begin, dtype = self._first.place(path)
        shape, strides = (len(self.rows),), (self._size,)
        return np.ndarray(shape, dtype, self._buffer, begin, strides)
