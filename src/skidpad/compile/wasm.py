"""Programs as one WebAssembly module: functions without arguments over a memory of ports.

Each Program becomes an exported function that reads its input ports and writes its output ports,
all inputs before the first output. `memory` is exported as well, and `fused_here`, which returns 1
if the module's multiply-add rounds once: the relaxed instruction may multiply, round, add and round
again on a processor without a fused one. Shared arrays lie in the memory of the module.

`Body` writes a Program, or one of its functions, as a WebAssembly function; `Memory` lays out the
memory.

A value that is used once is written where it is used, as part of an expression, and memory is
loaded where it is used: engines keep such code in registers. Compared with operations one by one in
the order of the scheduler the code is a quarter shorter, and Chromium runs the implicit step of the
four-wheel car in three quarters of the time. Other values have local variables, which are reused
when their values are no longer needed, as engines accept at most `MOST_LOCALS`.

Every address in memory is fixed when the module is written: there is no stack, as functions of a
Program never call themselves. Ports come first, at the same addresses in every dialect, then
constants, then shared arrays and the arguments and results of calls.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..core.arrays import LONGEST_FLOAT32, Array
from ..errors import InvalidValue
from . import wasm_binary as w
from .passes import skipped_by, with_held_parts
from .program import Instruction, Port, Program
from .wasm_binary import FORMATS, I32, PAGE, V128, Dialect, Format, Helpers, Writer

_ALIGNMENT = 16
_LARGEST = 1 << 31
"""Largest memory in bytes: addresses are signed 32-bit constants."""


class Memory:
    """Memory layout of one module."""

    def __init__(self, numbers: Format) -> None:
        self.format = numbers
        self.ports: dict[str, tuple[int, tuple[str, ...]]] = {}
        """Address and fields of each port, by its name."""
        self.segments: list[tuple[int, bytes]] = []
        """Initial contents of the memory: address and bytes."""
        self._constants: dict[int, int] = {}
        self._end = 0

    def take(self, size: int) -> int:
        """Allocate `size` bytes; returns their address."""
        address = self._end
        self._end += -(-size // _ALIGNMENT) * _ALIGNMENT
        if self._end > _LARGEST:
            raise InvalidValue(
                f"the module needs more than {_LARGEST} bytes of memory: the shared arrays that "
                "its programs read are too large"
            )
        return address

    def numbers(self, count: int) -> int:
        """Allocate `count` numbers; returns their address."""
        return self.take(count * self.format.bytes)

    @property
    def pages(self) -> int:
        return max(1, -(-self._end // PAGE))

    def add_constants(self, words: Iterable[int]) -> None:
        """Allocate constants with these bits."""
        first, size = self._end, self.format.bytes
        new = sorted(set(words) - set(self._constants))
        self._constants |= {word: first + k * size for k, word in enumerate(new)}
        self.numbers(len(new))
        self.segments.append((first, b"".join(word.to_bytes(size, "little") for word in new)))

    def add_numbers(self, values: Sequence[float]) -> int:
        """Store these numbers consecutively; returns their address."""
        address, size = self.numbers(len(values)), self.format.bytes
        words = [self.format.bits_of(value).to_bytes(size, "little") for value in values]
        self.segments.append((address, b"".join(words)))
        return address

    def constant(self, word: int) -> int:
        """Address of the constant with these bits."""
        return self._constants[word]

    def add_ports(self, programs: Mapping[str, Program]) -> None:
        """Allocate all ports of the Programs; ports of the same name share their memory."""
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
        """Store shared arrays, the first with the number 1; returns the address of their table.

        An entry has two words: the address of the first element, and the last index.
        """
        table = self.take(8 * (len(arrays) + 1))
        entries = [0, 0]
        for number, array in enumerate(arrays, 1):
            if np.size(array) == 0:
                raise InvalidValue(f"shared array {number} needs at least 1 number, got none")
            if self.format.bytes == 4 and np.size(array) > LONGEST_FLOAT32:
                raise InvalidValue(
                    f"shared array {number} has {np.size(array)} numbers; a float32 index "
                    f"distinguishes at most {LONGEST_FLOAT32}"
                )
            flat = np.asarray(array, np.float64).ravel()
            with np.errstate(over="ignore"):
                data = flat.astype("<f8" if self.format.bytes == 8 else "<f4").tobytes()
            address = self.take(len(data))
            self.segments.append((address, data))
            entries += [address, flat.size - 1]
        self.segments.append((table, np.array(entries, "<u4").tobytes()))
        return table


DEEPEST = 60
"""Largest depth of an expression, as it is written and read recursively."""
IN_MEMORY = ("input", "item")
"""Operations that load a number."""
LARGEST_BODY, MOST_LOCALS = 7_654_321, 50_000
"""Limits of engines: bytes of a function body and number of local variables.

From the WebAssembly JavaScript Interface, implementation limits.
"""


class Place(NamedTuple):
    """Location of the fields of a port: code for a base address, and an offset in bytes."""

    base: bytes
    offset: int


class Body:
    """Writer of the body of one WebAssembly function."""

    def __init__(
        self,
        program: Program,
        functions: Sequence[Program],
        indices: Sequence[int],
        writer: Writer,
        memory: Memory,
    ) -> None:
        self.program, self.functions, self.indices = program, functions, indices
        self.writer, self.memory = writer, memory
        self.size = writer.format.bytes
        self.inputs: list[Place] = []
        self.outputs: list[Place] = []
        self.arguments = 0
        self.areas: dict[int, int] = {}
        """Addresses of the results of calls."""
        self.kinds: list[bytes] = []
        self._free: dict[bytes, list[int]] = {}
        self._local: dict[int, int] = {}
        self._left: Counter[int] = Counter()
        self._inlined: set[int] = set()

    def exported(self) -> bytes:
        """The body of an exported function without arguments; ports have fixed addresses."""
        absolute = w.i32(0)
        at = self.memory.ports
        self.inputs = [Place(absolute, at[port.name][0]) for port in self.program.inputs]
        self.outputs = [Place(absolute, at[port.name][0]) for port in self.program.outputs]
        taken = {port.name for port in self.program.inputs}
        return self._written([port.name in taken for port in self.program.outputs])

    def called(self) -> bytes:
        """The body of a function of a Program.

        Its arguments are the addresses of the arguments, results and held values.
        """
        self.arguments = 3
        self.inputs = [Place(w.get(0), 0), Place(w.get(2), 0)]
        self.outputs = [Place(w.get(1), 0)]
        # Iterated functions write their results over their arguments.
        return self._written([skipped_by(self.program) is not None])

    def _written(self, late: Sequence[bool]) -> bytes:
        """The body of the function; `late` marks output ports that may overlap an input."""
        stores: dict[int, list[tuple[int, int]]] = {}
        at_the_end: list[tuple[int, int, int]] = []
        for port, result in enumerate(self.program.results):
            for field, r in enumerate(result):
                if late[port] or self.program.code[r].op == "const":
                    at_the_end.append((r, port, field))
                else:
                    stores.setdefault(r, []).append((port, field))
        self._left = self._uses()
        self._inlined = self._inline({r for r, _, _ in at_the_end} | set(stores))
        code = bytearray()
        for k, i in enumerate(self.program.code):
            if k in self._inlined or not self._left[k]:
                continue
            code += self._statement(k, i)
            for port, field in stores.get(k, ()):
                code += self._stored(port, field, self._value(k))
        for r, port, field in at_the_end:
            code += self._stored(port, field, self._value(r))
        if len(code) > LARGEST_BODY or len(self.kinds) > MOST_LOCALS:
            raise InvalidValue(
                f"program {self.program.name!r} is {len(code)} bytes with {len(self.kinds)} locals "
                f"as WebAssembly; engines take at most {LARGEST_BODY} bytes and {MOST_LOCALS}"
            )
        return w.body(self.kinds, bytes(code))

    def _uses(self) -> Counter[int]:
        """Count the uses of each value; results of calls that are taken by address do not count."""
        uses = Counter(r for result in self.program.results for r in result)
        for i in self.program.code:
            count = len(i.args)
            if i.op == "call":
                count = len(self.functions[i.imm[0]].inputs[0].fields)
            uses.update(i.args[:count] if i.op != "item" else ())
        # All calls are emitted, since `dead_code` has already removed unused calls.
        uses.update(k for k, i in enumerate(self.program.code) if i.op == "call")
        return uses

    def _inline(self, results: Collection[int]) -> set[int]:
        """Select the values whose code is written where they are used."""
        inline: set[int] = set()
        depth = [0] * len(self.program.code)
        for k, i in enumerate(self.program.code):
            depth[k] = 1 + max((depth[a] for a in i.args if a in inline), default=0)
            # A result that is written over an input has to be computed before the input is lost.
            free = k not in results and i.op != "call"
            once = self._left[k] == 1 and depth[k] < DEEPEST
            if i.op == "const" or (free and (i.op in IN_MEMORY or once)):
                inline.add(k)
        return inline

    def _statement(self, k: int, i: Instruction) -> bytes:
        """Code that computes a value and stores it in a local variable."""
        if i.op == "call":
            return self._call(k, i)
        code = self._code(i)
        local = self._new_local(self.writer.kind(i.op))
        self._local[k] = local
        return w.put(local, code)

    def _value(self, k: int) -> bytes:
        """Code that gives a value where it is used."""
        i = self.program.code[k]
        if k in self._inlined:
            return self._code(i)
        local = self._local[k]
        self._left[k] -= 1
        if not self._left[k]:
            self._free.setdefault(self.writer.kind(i.op), []).append(local)
        return w.get(local)

    def _code(self, i: Instruction) -> bytes:
        if i.op == "const":
            return self.writer.number(i.imm)
        if i.op == "input":
            base, offset = self.inputs[i.imm[0]]
            return self.writer.load(base, offset + i.imm[1] * self.size)
        if i.op == "item":
            return self.writer.load(w.i32(0), self.areas[i.args[0]] + i.imm * self.size)
        args = [self._value(a) for a in i.args]
        return self.writer.write(i.op, i.imm, args)

    def _new_local(self, kind: bytes) -> int:
        free = self._free.get(kind)
        if free:
            return free.pop()
        self.kinds.append(kind)
        return self.arguments + len(self.kinds) - 1

    def _stored(self, port: int, field: int, value: bytes) -> bytes:
        base, offset = self.outputs[port]
        return self.writer.store(base, offset + field * self.size, value)

    def _call(self, k: int, i: Instruction) -> bytes:
        """Code of a repeated call; its results stay where they are written."""
        number, times = i.imm
        function = self.functions[number]
        count, results = len(function.inputs[0].fields), len(function.results[0])
        arguments = self.memory.numbers(count)
        code = b"".join(
            self.writer.store(w.i32(0), arguments + n * self.size, self._value(a))
            for n, a in enumerate(i.args[:count])
        )
        held = self._address(i.args[count]) if len(i.args) > count else w.i32(0)
        condition = skipped_by(function)
        # Iterated functions write their results over their arguments, which they read first.
        out = self.areas[k] = arguments if condition is not None else self.memory.numbers(results)
        once = w.call(self.indices[number], w.i32(arguments), w.i32(out), held)
        if condition is None:
            return code + once + (self._results_again(arguments, out, results) + once) * (times - 1)
        return code + self._while_asked(arguments + condition * self.size, times, once)

    def _results_again(self, arguments: int, out: int, count: int) -> bytes:
        """Copy the results to the first arguments of the next call."""
        zero, size = w.i32(0), self.size
        return b"".join(
            self.writer.store(zero, arguments + n * size, self.writer.load(zero, out + n * size))
            for n in range(count)
        )

    def _while_asked(self, condition: int, times: int, once: bytes) -> bytes:
        """Code that runs up to `times` times, while the number at an address is not zero."""
        scalar = self.writer.format.scalar
        asked = w.op(
            f"{scalar}.ne",
            w.load(f"{scalar}.load", w.i32(0), condition),
            self._zero(),
        )
        if times == 1:
            return w.when(asked, once)
        local = self._new_local(I32)
        self._free.setdefault(I32, []).append(local)
        less = w.tee(local, w.op("i32.sub", w.get(local), w.i32(1)))
        return w.put(local, w.i32(times)) + w.repeated(
            w.jump_if(1, w.op("i32.eqz", asked)) + once + w.jump_if(0, less)
        )

    def _zero(self) -> bytes:
        return (b"\x44" if self.size == 8 else b"\x43") + bytes(self.size)

    def _address(self, k: int) -> bytes:
        """Address of a value in memory: a result of a call or an input."""
        i = self.program.code[k]
        if i.op == "item":
            return w.i32(self.areas[i.args[0]] + i.imm * self.size)
        base, offset = self.inputs[i.imm[0]]
        return w.op("i32.add", base, w.i32(offset + i.imm[1] * self.size))


_SCALE = {8: 2.0**-52, 4: 2.0**-23}
"""Machine epsilon (distance from 1 to the next larger number), by the size of a number in bytes."""


def triples(size: int) -> list[tuple[float, float, float]]:
    """Triples a, b, c for which a*b + c rounded once differs from the value rounded twice."""
    e = _SCALE[size]
    return [
        (1.0 + e, 1.0 - e, -1.0),
        (1.0 + e, 1.0 + e, -(1.0 + 2.0 * e)),
        (1.0 + 3.0 * e, 1.0 + 5.0 * e, -(1.0 + 8.0 * e)),
        (-(1.0 + 7.0 * e), 1.0 + 9.0 * e, 1.0 + 16.0 * e),
        (4.0 * (1.0 - e / 2.0), 0.25 * (1.0 - e / 2.0), -(1.0 - e)),
    ]


def probe_numbers(size: int) -> list[float]:
    """The triples, each followed by its correct result, in the order in memory."""
    numbers: list[float] = []
    for a, b, c in triples(size):
        numbers += [a, b, c, float(Fraction(a) * Fraction(b) + Fraction(c))]
    return numbers


def fused_here(writer: Writer, numbers: int) -> bytes:
    """The body of a function that returns 1 if the multiply-add rounds once, else 0.

    `numbers` is the address of `probe_numbers`: in memory, so that no compiler can fold them.
    """
    f = writer.format
    fine = w.i32(1)
    for k in range(len(triples(f.bytes))):
        a, b, c, exact = (writer.load(w.i32(0), numbers + (4 * k + n) * f.bytes) for n in range(4))
        rounded = writer.write("fma", None, [a, b, c])
        fine = w.op("i32.and", fine, _all_equal(writer, rounded, exact))
    return w.body([], fine)


def _all_equal(writer: Writer, x: bytes, y: bytes) -> bytes:
    f = writer.format
    if writer.dialect.number == f.kind:
        return w.op(f"{f.scalar}.eq", x, y)
    return w.op(f"{f.whole_lanes}.all_true", w.op(f"{f.lanes}.eq", x, y))


def reads_read(f: Format, table: int, count: int) -> bytes:
    """The body of the function that reads element `index` of array `number`, two numbers.

    Whatever their values, it reads nothing outside the arrays: see `read` in `program.FLOAT_OPS`.
    """
    s = f.scalar
    number, index, entry, last, at = range(5)

    def constant(value: float) -> bytes:
        code = b"\x44" if f.bytes == 8 else b"\x43"
        return code + f.bits_of(value).to_bytes(f.bytes, "little")

    known = w.op(f"{s}.ge", w.get(number), constant(1.0))
    known = w.op("i32.and", known, w.op(f"{s}.le", w.get(number), constant(float(count))))
    known = w.op(
        "i32.and",
        known,
        w.op(
            f"{s}.eq",
            w.op(f"{s}.floor", w.get(number)),
            w.get(number),
        ),
    )
    known = w.op("i32.and", known, w.op(f"{s}.eq", w.get(index), w.get(index)))
    place = w.op("i32.shl", w.op(f"i32.trunc_{s}_s", w.get(number)), w.i32(3))
    inside = w.put(entry, place)
    inside += w.put(
        last,
        w.op(f"{s}.convert_i32_s", w.load("i32.load", w.get(entry), table + 4)),
    )
    above = w.op(f"{s}.gt", w.get(index), constant(0.0))
    inside += w.put(at, w.op("select", w.get(index), constant(0.0), above))
    below = w.op(f"{s}.lt", w.get(at), w.get(last))
    inside += w.put(at, w.op("select", w.get(at), w.get(last), below))
    offset = w.op(
        "i32.shl",
        w.op(f"i32.trunc_{s}_s", w.get(at)),
        w.i32(int(math.log2(f.bytes))),
    )
    address = w.op("i32.add", w.load("i32.load", w.get(entry), table), offset)
    inside += w.load(f"{s}.load", address, 0)
    return w.body([I32, f.kind, f.kind], w.when(known, inside, constant(math.nan), f.kind))


RESERVED = ("memory", "fused_here")
"""Names that every module exports in addition to its Programs."""


class Module(NamedTuple):
    """A WebAssembly module as bytes, and the addresses of its ports."""

    code: bytes
    memory: Memory


def checked(programs: Mapping[str, Program]) -> str:
    """Return the common precision of the Programs; raises if they cannot form a module."""
    precisions = {name: program.precision for name, program in programs.items()}
    for name, precision in precisions.items():
        if precision not in FORMATS:
            raise InvalidValue(
                f"program {name!r} has precision {precision!r}; WebAssembly needs a lowered "
                f"program, {' or '.join(FORMATS)}"
            )
        if name in RESERVED:
            raise InvalidValue(f"program {name!r}: the module reserves the name {name!r}")
    if len(set(precisions.values())) != 1:
        raise InvalidValue(f"programs of a module need one precision, got {precisions!r}")
    return str(next(iter(precisions.values())))


def assembled(programs: Mapping[str, Program], arrays: Sequence[Array], dialect: Dialect) -> Module:
    """Build a module from Programs of one precision; each becomes a function of its name.

    `arrays` are the shared arrays that the Programs read, with the numbers 1, 2, ...
    """
    return _Assembly(programs, arrays, dialect).module()


class _Assembly:
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
        """Add a function to the module; return its index."""
        if kind not in self.types:
            self.types.append(kind)
        self.functions.append(self.types.index(kind))
        self.bodies.append(body)
        return len(self.bodies) - 1

    def _with_helpers(self) -> Writer:
        f = self.format
        fma = read = -1
        if self.dialect.number != V128:
            ternary = w.signature([f.kind] * 3, [f.kind])
            whole = self._add(ternary, w.whole_fma_fma64()) if f.bytes == 8 else -1
            fma = self._add(ternary, w.fma64(whole) if f.bytes == 8 else w.fma32())
        if any(program.reads_arrays for program in self.programs.values()):
            table = self.memory.add_arrays(self.arrays)
            body = reads_read(f, table, len(self.arrays))
            read = self._add(w.signature([f.kind] * 2, [f.kind]), body)
        writer = Writer(self.dialect, Helpers(fma, read), self.memory.constant)
        numbers = self.memory.add_numbers(probe_numbers(f.bytes))
        here = self._add(w.signature([], [I32]), fused_here(writer, numbers))
        self.exports.append(_export("fused_here", 0, here))
        return writer

    def _add_program(self, name: str, program: Program, writer: Writer) -> None:
        indices: list[int] = []
        for function in program.functions:
            body = Body(function, program.functions, indices, writer, self.memory).called()
            indices.append(self._add(w.signature([I32] * 3, []), body))
        body = Body(program, program.functions, indices, writer, self.memory).exported()
        self.exports.append(_export(name, 0, self._add(w.signature([], []), body)))

    def _bytes(self) -> bytes:
        pages = self.memory.pages
        memory = b"\1" + w.unsigned(pages) + w.unsigned(pages)
        parts = (
            (w.TYPE, w.vector(self.types)),
            (
                w.FUNCTION,
                w.vector(w.unsigned(kind) for kind in self.functions),
            ),
            (w.MEMORY, w.vector([memory])),
            (w.EXPORT, w.vector(self.exports)),
            (w.CODE, w.vector(self.bodies)),
            (
                w.DATA,
                w.vector(
                    b"\0" + w.i32(address) + w.END + w.sized(data)
                    for address, data in self.memory.segments
                ),
            ),
        )
        return w.HEADER + b"".join(w.section(*part) for part in parts)


def _export(name: str, what: int, index: int) -> bytes:
    return w.sized(name.encode()) + bytes([what]) + w.unsigned(index)


class _Words:
    """Collector of the constants of Programs, found by writing their operations once."""

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
