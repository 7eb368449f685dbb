"""Programs as one WebAssembly module: functions without arguments over a memory of ports.

Each Program becomes an exported function that reads its input ports and writes its output ports,
all inputs before the first output. `memory` is exported as well, and `fused_here`, which returns 1
if the module's multiply-add rounds once: the relaxed instruction may multiply, round, add and round
again on a processor without a fused one. Shared arrays lie in the memory of the module.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from ...core.arrays import Array
from ...errors import InvalidValue
from ..passes import with_held_parts
from ..program import Program
from . import binary, multiply_add
from .binary import (
    I32,
    V128,
    body,
    get,
    i32,
    load,
    op,
    put,
    section,
    signature,
    sized,
    unsigned,
    vector,
    when,
)
from .bodies import Body, Memory
from .dialects import FORMATS, Dialect, Format, Helpers, Writer

_SCALE = {8: 2.0**-52, 4: 2.0**-23}
"""The last place of 1."""


def triples(size: int) -> list[tuple[float, float, float]]:
    """a, b and c for which a*b + c rounded once is another number than rounded twice."""
    e = _SCALE[size]
    return [
        (1.0 + e, 1.0 - e, -1.0),
        (1.0 + e, 1.0 + e, -(1.0 + 2.0 * e)),
        (1.0 + 3.0 * e, 1.0 + 5.0 * e, -(1.0 + 8.0 * e)),
        (-(1.0 + 7.0 * e), 1.0 + 9.0 * e, 1.0 + 16.0 * e),
        (4.0 * (1.0 - e / 2.0), 0.25 * (1.0 - e / 2.0), -(1.0 - e)),
    ]


def probe_numbers(size: int) -> list[float]:
    """The triples, each with its result behind it, as they lie in memory."""
    numbers: list[float] = []
    for a, b, c in triples(size):
        numbers += [a, b, c, float(Fraction(a) * Fraction(b) + Fraction(c))]
    return numbers


def fused_here(writer: Writer, numbers: int) -> bytes:
    """The body of a function that gives 1 if the multiply-add rounds once, else 0.

    `numbers` is where those of `probe_numbers` are: in memory, so that no compiler knows them.
    """
    f = writer.format
    fine = i32(1)
    for k in range(len(triples(f.bytes))):
        a, b, c, exact = (writer.load(i32(0), numbers + (4 * k + n) * f.bytes) for n in range(4))
        rounded = writer.write("fma", None, [a, b, c])
        fine = op("i32.and", fine, _all_equal(writer, rounded, exact))
    return body([], fine)


def _all_equal(writer: Writer, x: bytes, y: bytes) -> bytes:
    f = writer.format
    if writer.dialect.number == f.kind:
        return op(f"{f.scalar}.eq", x, y)
    return op(f"{f.whole_lanes}.all_true", op(f"{f.lanes}.eq", x, y))


def reads_read(f: Format, table: int, count: int) -> bytes:
    """The body of the function that reads element `index` of the array `number`, two numbers.

    Whatever they are, nothing outside of the arrays is read: see `operations`.
    """
    s = f.scalar
    number, index, entry, last, at = range(5)

    def constant(value: float) -> bytes:
        code = b"\x44" if f.bytes == 8 else b"\x43"
        return code + f.bits_of(value).to_bytes(f.bytes, "little")

    known = op(f"{s}.ge", get(number), constant(1.0))
    known = op("i32.and", known, op(f"{s}.le", get(number), constant(float(count))))
    known = op("i32.and", known, op(f"{s}.eq", op(f"{s}.floor", get(number)), get(number)))
    known = op("i32.and", known, op(f"{s}.eq", get(index), get(index)))
    place = op("i32.shl", op(f"i32.trunc_{s}_s", get(number)), i32(3))
    inside = put(entry, place)
    inside += put(last, op(f"{s}.convert_i32_s", load("i32.load", get(entry), table + 4)))
    above = op(f"{s}.gt", get(index), constant(0.0))
    inside += put(at, op("select", get(index), constant(0.0), above))
    below = op(f"{s}.lt", get(at), get(last))
    inside += put(at, op("select", get(at), get(last), below))
    offset = op("i32.shl", op(f"i32.trunc_{s}_s", get(at)), i32(int(math.log2(f.bytes))))
    address = op("i32.add", load("i32.load", get(entry), table), offset)
    inside += load(f"{s}.load", address, 0)
    return body([I32, f.kind, f.kind], when(known, inside, constant(math.nan), f.kind))


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
            whole = self._add(ternary, multiply_add.whole_fma_fma64()) if f.bytes == 8 else -1
            fma = self._add(
                ternary, multiply_add.fma64(whole) if f.bytes == 8 else multiply_add.fma32()
            )
        if any(program.reads_arrays for program in self.programs.values()):
            table = self.memory.add_arrays(self.arrays)
            body = reads_read(f, table, len(self.arrays))
            read = self._add(signature([f.kind] * 2, [f.kind]), body)
        writer = Writer(self.dialect, Helpers(fma, read), self.memory.constant)
        numbers = self.memory.add_numbers(probe_numbers(f.bytes))
        here = self._add(signature([], [I32]), fused_here(writer, numbers))
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
