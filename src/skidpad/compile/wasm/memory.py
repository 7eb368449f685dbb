"""The memory of a module: what lies where.

Everything has its place when the module is written: there is no stack, as functions of a Program
never call themselves. Ports come first, in the same places whatever dialect the module is written
in, then constants, then shared arrays and the arguments and results of calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...arrays import Array
from ...errors import InvalidValue
from ..program import Port, Program
from .binary import PAGE
from .dialects import Format

_ALIGNMENT = 16
_LARGEST = 1 << 31
"""Bytes of the largest memory: addresses have a sign in JavaScript's hands."""


class Memory:
    """Places in the memory of one module."""

    def __init__(self, numbers: Format) -> None:
        self.format = numbers
        self.ports: dict[str, tuple[int, tuple[str, ...]]] = {}
        """Address and fields of each port, by its name."""
        self.segments: list[tuple[int, bytes]] = []
        """What is there from the start, by address."""
        self._constants: dict[int, int] = {}
        self._end = 0

    def take(self, size: int) -> int:
        """The address of so many bytes that nothing else has."""
        address = self._end
        self._end += -(-size // _ALIGNMENT) * _ALIGNMENT
        if self._end > _LARGEST:
            raise InvalidValue(
                f"the module needs more than {_LARGEST} bytes of memory; the largest part of it are "
                "shared arrays"
            )
        return address

    def numbers(self, count: int) -> int:
        """The address of so many numbers."""
        return self.take(count * self.format.bytes)

    @property
    def pages(self) -> int:
        """Size of the memory in pages."""
        return max(1, -(-self._end // PAGE))

    def add_constants(self, words: Iterable[int]) -> None:
        """Give constants with these bits a place."""
        first, size = self._end, self.format.bytes
        new = sorted(set(words) - set(self._constants))
        self._constants |= {word: first + k * size for k, word in enumerate(new)}
        self.numbers(len(new))
        self.segments.append((first, b"".join(word.to_bytes(size, "little") for word in new)))

    def add_numbers(self, values: Sequence[float]) -> int:
        """The address of these numbers, one behind the other."""
        address, size = self.numbers(len(values)), self.format.bytes
        words = [self.format.bits_of(value).to_bytes(size, "little") for value in values]
        self.segments.append((address, b"".join(words)))
        return address

    def constant(self, word: int) -> int:
        """Where a constant with these bits lies."""
        return self._constants[word]

    def add_ports(self, programs: Mapping[str, Program]) -> None:
        """Give every port a place: one for all ports of the same name."""
        for name, program in programs.items():
            for port in (*program.inputs, *program.outputs):
                self._add_port(name, port)

    def _add_port(self, program: str, port: Port) -> None:
        known = self.ports.get(port.name, (0, ()))[1]
        if known and port.fields and known != port.fields:
            raise InvalidValue(
                f"port {port.name!r} of program {program!r} has the fields "
                f"{', '.join(port.fields)}; in another program it has {', '.join(known)}: ports of "
                "one name share their memory and need the same fields"
            )
        if not known:
            address = self.numbers(len(port.fields)) if port.fields else 0
            self.ports[port.name] = address, port.fields

    def add_arrays(self, arrays: Sequence[Array]) -> int:
        """Shared arrays, the first with the number 1; returns the address of the table of them.

        An entry has two words: the address of the first element, and the last index.
        """
        table = self.take(8 * (len(arrays) + 1))
        entries = [0, 0]
        for array in arrays:
            flat = np.asarray(array, np.float64).ravel()
            if flat.size == 0:
                raise InvalidValue("a shared array needs at least 1 number, got none")
            with np.errstate(over="ignore"):
                data = flat.astype("<f8" if self.format.bytes == 8 else "<f4").tobytes()
            address = self.take(len(data))
            self.segments.append((address, data))
            entries += [address, flat.size - 1]
        self.segments.append((table, np.array(entries, "<u4").tobytes()))
        return table
