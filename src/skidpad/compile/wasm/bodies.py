"""A Program, or a function of one, as the body of a WebAssembly function, and the layout of memory.

A value that is used once is written where it is used, as part of an expression, and memory is
loaded where it is used: engines keep such code in registers. Compared with operations one by one in
the order of the scheduler it is a quarter shorter, and Chromium runs the implicit step of the
four-wheel car in three quarters of the time. Other values have locals, and a local is reused when
its value is not needed any more, as engines take at most `MOST_LOCALS`.

Every address in memory is fixed when the module is written: there is no stack, as functions of a
Program never call themselves. Ports come first, at the same addresses in every dialect, then
constants, then shared arrays and the arguments and results of calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...core.arrays import LONGEST_FLOAT32, Array
from ...errors import InvalidValue
from ..passes import skipped_by
from ..program import Instruction, Port, Program
from .binary import I32, PAGE, call, get, i32, jump_if, load, op, put, repeated, tee, when
from .binary import body as finished
from .dialects import Format, Writer

_ALIGNMENT = 16
_LARGEST = 1 << 31
"""Bytes of the largest memory: addresses are constants with a sign."""


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
        """The address of `size` bytes of its own."""
        address = self._end
        self._end += -(-size // _ALIGNMENT) * _ALIGNMENT
        if self._end > _LARGEST:
            raise InvalidValue(
                f"the module needs more than {_LARGEST} bytes of memory: the shared arrays that "
                "its programs read are too large"
            )
        return address

    def numbers(self, count: int) -> int:
        """The address of `count` numbers."""
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
        for number, array in enumerate(arrays, 1):
            if np.size(array) == 0:
                raise InvalidValue(f"shared array {number} needs at least 1 number, got none")
            if self.format.bytes == 4 and np.size(array) > LONGEST_FLOAT32:
                raise InvalidValue(
                    f"shared array {number} has {np.size(array)} numbers; an index in float32 "
                    f"tells at most {LONGEST_FLOAT32} apart"
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
"""Operations of the deepest expression: code that writes and reads it calls itself that often."""
IN_MEMORY = ("input", "item")
"""Operations that load a number."""
LARGEST_BODY, MOST_LOCALS = 7_654_321, 50_000
"""What engines agreed to take (WebAssembly JavaScript Interface, implementation limits)."""


class Place(NamedTuple):
    """Where the fields of a port lie: behind an address that code gives."""

    base: bytes
    offset: int


class Body:
    """Writes one function."""

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
        """The body of a function without arguments; ports are where the memory has them."""
        absolute = i32(0)
        at = self.memory.ports
        self.inputs = [Place(absolute, at[port.name][0]) for port in self.program.inputs]
        self.outputs = [Place(absolute, at[port.name][0]) for port in self.program.outputs]
        taken = {port.name for port in self.program.inputs}
        return self._written([port.name in taken for port in self.program.outputs])

    def called(self) -> bytes:
        """The body of a function of a Program.

        Its arguments are the addresses of its arguments, its results and its held values.
        """
        self.arguments = 3
        self.inputs = [Place(get(0), 0), Place(get(2), 0)]
        self.outputs = [Place(get(1), 0)]
        # What iterates writes its results over its arguments.
        return self._written([skipped_by(self.program) is not None])

    def _written(self, late: Sequence[bool]) -> bytes:
        """`late` says for each output port whether it may lie where an input is read from."""
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
        return finished(self.kinds, bytes(code))

    def _uses(self) -> Counter[int]:
        """How often each value is asked for; a result of a call whose address is taken is not."""
        uses = Counter(r for result in self.program.results for r in result)
        for i in self.program.code:
            count = len(i.args)
            if i.op == "call":
                count = len(self.functions[i.imm[0]].inputs[0].fields)
            uses.update(i.args[:count] if i.op != "item" else ())
        # Every call is made: what its results are for is decided before (`dead_code`).
        uses.update(k for k, i in enumerate(self.program.code) if i.op == "call")
        return uses

    def _inline(self, results: Collection[int]) -> set[int]:
        """Values whose code stands where they are used."""
        inline: set[int] = set()
        depth = [0] * len(self.program.code)
        for k, i in enumerate(self.program.code):
            depth[k] = 1 + max((depth[a] for a in i.args if a in inline), default=0)
            # A result that is written over an input is computed before.
            free = k not in results and i.op != "call"
            once = self._left[k] == 1 and depth[k] < DEEPEST
            if i.op == "const" or (free and (i.op in IN_MEMORY or once)):
                inline.add(k)
        return inline

    def _statement(self, k: int, i: Instruction) -> bytes:
        """Compute a value and keep it."""
        if i.op == "call":
            return self._call(k, i)
        code = self._code(i)
        local = self._new_local(self.writer.kind(i.op))
        self._local[k] = local
        return put(local, code)

    def _value(self, k: int) -> bytes:
        """The code of a value where it is used."""
        i = self.program.code[k]
        if k in self._inlined:
            return self._code(i)
        local = self._local[k]
        self._left[k] -= 1
        if not self._left[k]:
            self._free.setdefault(self.writer.kind(i.op), []).append(local)
        return get(local)

    def _code(self, i: Instruction) -> bytes:
        """The code of the operation itself."""
        if i.op == "const":
            return self.writer.number(i.imm)
        if i.op == "input":
            base, offset = self.inputs[i.imm[0]]
            return self.writer.load(base, offset + i.imm[1] * self.size)
        if i.op == "item":
            return self.writer.load(i32(0), self.areas[i.args[0]] + i.imm * self.size)
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
        """Run a function as often as it asks for; its results stay where they are written."""
        number, times = i.imm
        function = self.functions[number]
        count, results = len(function.inputs[0].fields), len(function.results[0])
        arguments = self.memory.numbers(count)
        code = b"".join(
            self.writer.store(i32(0), arguments + n * self.size, self._value(a))
            for n, a in enumerate(i.args[:count])
        )
        held = self._address(i.args[count]) if len(i.args) > count else i32(0)
        condition = skipped_by(function)
        # What iterates writes its results over its arguments, which it reads before.
        out = self.areas[k] = arguments if condition is not None else self.memory.numbers(results)
        once = call(self.indices[number], i32(arguments), i32(out), held)
        if condition is None:
            return code + once + (self._results_again(arguments, out, results) + once) * (times - 1)
        return code + self._while_asked(arguments + condition * self.size, times, once)

    def _results_again(self, arguments: int, out: int, count: int) -> bytes:
        """Results as the first arguments of the next call."""
        zero, size = i32(0), self.size
        return b"".join(
            self.writer.store(zero, arguments + n * size, self.writer.load(zero, out + n * size))
            for n in range(count)
        )

    def _while_asked(self, condition: int, times: int, once: bytes) -> bytes:
        """Code that runs up to `times` times, while the number at an address is not zero."""
        scalar = self.writer.format.scalar
        asked = op(f"{scalar}.ne", load(f"{scalar}.load", i32(0), condition), self._zero())
        if times == 1:
            return when(asked, once)
        local = self._new_local(I32)
        self._free.setdefault(I32, []).append(local)
        less = tee(local, op("i32.sub", get(local), i32(1)))
        return put(local, i32(times)) + repeated(
            jump_if(1, op("i32.eqz", asked)) + once + jump_if(0, less)
        )

    def _zero(self) -> bytes:
        return (b"\x44" if self.size == 8 else b"\x43") + bytes(self.size)

    def _address(self, k: int) -> bytes:
        """Where a value lies in memory: a result of a call or an input."""
        i = self.program.code[k]
        if i.op == "item":
            return i32(self.areas[i.args[0]] + i.imm * self.size)
        base, offset = self.inputs[i.imm[0]]
        return op("i32.add", base, i32(offset + i.imm[1] * self.size))
