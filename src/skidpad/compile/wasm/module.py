"""Programs as one WebAssembly module: functions without arguments over a memory of ports.

Each Program becomes an exported function that reads its input ports and writes its output ports,
all inputs before the first output. `memory` is exported, too, and `fused_here`, which gives 1 if
the module's multiply-add rounds once as it must.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...arrays import Array
from ...errors import InvalidValue
from ..held_calls import with_held_parts
from ..program import Program
from . import binary, exact_fma, probe, reads, whole_fma
from .binary import I32, V128, section, signature, sized, unsigned, vector
from .bodies import Body
from .dialects import FORMATS, Dialect, Helpers, Writer
from .memory import Memory

RESERVED = ("memory", "fused_here")
"""Exports of every module besides its Programs."""


class Module(NamedTuple):
    """A module and where its ports lie."""

    code: bytes
    memory: Memory


def checked(programs: Mapping[str, Program]) -> str:
    """The precision that all of the Programs have; raises where they cannot be a module."""
    precisions = {name: program.precision for name, program in programs.items()}
    for name, precision in precisions.items():
        if precision not in FORMATS:
            raise InvalidValue(
                f"program {name!r} has precision {precision!r}; WebAssembly needs a lowered "
                f"program, {' or '.join(FORMATS)}"
            )
        if name in RESERVED:
            raise InvalidValue(f"program {name!r}: the module has its own {name!r}")
    if len(set(precisions.values())) != 1:
        raise InvalidValue(f"programs of a module need one precision, got {precisions!r}")
    return str(next(iter(precisions.values())))


def assembled(programs: Mapping[str, Program], arrays: Sequence[Array], dialect: Dialect) -> Module:
    """Programs of one precision as a module in a dialect of that; each is a function of its name.

    `arrays` are what the Programs read, with the numbers 1, 2, ...
    """
    return _Assembly(programs, arrays, dialect).module()


class _Assembly:
    """Collects the parts of one module."""

    def __init__(
        self, programs: Mapping[str, Program], arrays: Sequence[Array], dialect: Dialect
    ) -> None:
        self.programs = {name: with_held_parts(p) for name, p in programs.items()}
        self.arrays, self.dialect, self.format = arrays, dialect, dialect.format
        self.memory = Memory(dialect.format)
        self.types: list[bytes] = []
        self.functions: list[int] = []
        """The type of each function."""
        self.bodies: list[bytes] = []
        self.exports: list[bytes] = []

    def module(self) -> Module:
        """All of it, in order."""
        words = _Words(self.dialect)
        for program in self.programs.values():
            for part in (program, *program.functions):
                words.note(part)
        self.memory.add_ports(self.programs)
        self.memory.add_constants(words.constants)
        writer = self._with_helpers()
        for name, program in self.programs.items():
            self._add_program(name, program, writer)
        self.exports.append(_export("memory", 2, 0))
        return Module(self._bytes(), self.memory)

    def _add(self, kind: bytes, body: bytes) -> int:
        """The index of a function."""
        if kind not in self.types:
            self.types.append(kind)
        self.functions.append(self.types.index(kind))
        self.bodies.append(body)
        return len(self.bodies) - 1

    def _with_helpers(self) -> Writer:
        f = self.format
        fma = read = -1
        if self.dialect.number != V128:
            ternary = signature([f.kind] * 3, [f.kind])
            whole = self._add(ternary, whole_fma.fma64()) if f.bytes == 8 else -1
            fma = self._add(ternary, exact_fma.fma64(whole) if f.bytes == 8 else exact_fma.fma32())
        if any(program.reads_arrays for program in self.programs.values()):
            table = self.memory.add_arrays(self.arrays)
            body = reads.read(f, table, len(self.arrays))
            read = self._add(signature([f.kind] * 2, [f.kind]), body)
        writer = Writer(self.dialect, Helpers(fma, read), self.memory.constant)
        numbers = self.memory.add_numbers(probe.probe_numbers(f.bytes))
        here = self._add(signature([], [I32]), probe.fused_here(writer, numbers))
        self.exports.append(_export("fused_here", 0, here))
        return writer

    def _add_program(self, name: str, program: Program, writer: Writer) -> None:
        indices: list[int] = []
        for function in program.functions:
            body = Body(function, program.functions, indices, writer, self.memory).called()
            indices.append(self._add(signature([I32] * 3, []), body))
        body = Body(program, program.functions, indices, writer, self.memory).exported()
        self.exports.append(_export(name, 0, self._add(signature([], []), body)))

    def _bytes(self) -> bytes:
        pages = self.memory.pages
        memory = b"\1" + unsigned(pages) + unsigned(pages)
        parts = (
            (binary.TYPE, vector(self.types)),
            (binary.FUNCTION, vector(unsigned(kind) for kind in self.functions)),
            (binary.MEMORY, vector([memory])),
            (binary.EXPORT, vector(self.exports)),
            (binary.CODE, vector(self.bodies)),
            (binary.DATA, vector(_segment(*segment) for segment in self.memory.segments)),
        )
        return binary.HEADER + b"".join(section(*part) for part in parts)


def _export(name: str, what: int, index: int) -> bytes:
    return sized(name.encode()) + bytes([what]) + unsigned(index)


def _segment(address: int, data: bytes) -> bytes:
    return b"\0" + binary.i32(address) + binary.END + sized(data)


class _Words:
    """Finds the constants of Programs by writing their operations once."""

    def __init__(self, dialect: Dialect) -> None:
        self.constants: set[int] = set()
        self.writer = Writer(dialect, Helpers(0, 0), self._note)
        self._seen: set[tuple[str, int | None]] = set()

    def _note(self, word: int) -> int:
        self.constants.add(word)
        return 0

    def note(self, program: Program) -> None:
        """Add the constants of a Program's code, and those that its operations need."""
        for i in program.code:
            if i.op == "const":
                self.writer.number(i.imm)
            elif i.op not in ("input", "call", "item") and (i.op, i.imm) not in self._seen:
                self._seen.add((i.op, i.imm))
                self.writer.write(i.op, i.imm, [b""] * 3)
