"""Program: a flat list of operations in single-assignment form, traced or lowered.

The tracer writes Programs of elementary operations (`sin`, `pow`, ...); the lowering turns them
into Programs of IEEE operations only (`LOWERED_OPS`), which every target can emit with the same
bits.

A large Program may have functions: Programs of one input and one output port that its code calls,
so that repeated parts are written once. They are in one list, each after those that it calls
itself. Before the targets they are split at held arguments, see `passes`.

A Program from a file may come from anyone. Its digest shows that it is complete, not that it is
harmless, so every operation, operand, result and name is checked, and the amount of work.

`Builder` writes lowered instructions, each distinct value once. This value numbering shares a range
reduction between sin and cos of the same argument: both request the same instructions and get the
same indices.
"""

from __future__ import annotations

import hashlib
import json
import math
import pickle
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.files import brief_repr, json_of, reading, replacing
from ..errors import InvalidValue

__all__ = ["Port"]

_ONE = (
    *("neg", "exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"),
    *("tanh", "asinh", "acosh", "atanh", "log1p", "expm1", "abs", "sign", "floor", "ceil", "not"),
    "pow",
)
_TWO = (
    *("add", "sub", "mul", "div", "atan2", "hypot", "copysign", "min", "max", "read"),
    *("lt", "le", "eq", "ne", "and", "or"),
)
TRACED_OPS = {
    "const": 0,
    "input": 0,
    **dict.fromkeys(_ONE, 1),
    **dict.fromkeys(_TWO, 2),
    "select": 3,
}
"""Operations of a traced Program with their operand counts."""

FLOAT_OPS = {
    **dict.fromkeys(("const", "input"), 0),
    **dict.fromkeys(("neg", "abs", "sqrt", "rint", "floor", "pow2", "mantissa", "exponent"), 1),
    **dict.fromkeys(("add", "sub", "mul", "div", "copysign", "read"), 2),
    **dict.fromkeys(("fma", "select"), 3),
}
"""Lowered operations with a number as result, and their operand counts.

`fma(a, b, c)` is a*b + c rounded once; `rint` rounds to nearest, ties to even; `copysign(a, b)`
has the magnitude of a; `select(q, a, b)` is a where the boolean q holds. Three work on the bits
of a number: `pow2(n)` is 2**n for integral n with a normal result (any other n gives some
number, never a trap); `mantissa(x)` is x with its sign cleared and its exponent set to 0, in
[1, 2) for normal x; `exponent(x)` is the unbiased exponent field of x as a number. `read(n, i)`
is element i of the shared array n: the nearest one where there is no such element, NaN where
there is no such array (see `shared_arrays`).
"""

BOOL_OPS = dict.fromkeys(("lt", "le", "eq", "ne", "and", "or", "xor"), 2) | {"not": 1, "testbit": 1}
"""Lowered operations with a boolean as result, and their operand counts.

Comparisons with NaN are false, except `ne`, which is true. `testbit(x; k)` is bit k of the IEEE
representation of x.
"""

LOWERED_OPS = FLOAT_OPS | BOOL_OPS

CALL_OPS = ("call", "item")
"""Operations of traced and lowered Programs for calls of functions.

`call(a, b, ...; k, n)` runs function k on as many numbers as it has inputs, n times, each time
with the results of the time before as its first arguments; `item(c; j)` is result j of the call
c. Where a function has a second port, made by `passes.with_held_parts`, the call has one
argument more: the value in memory that its fields begin with.
"""


class Instruction(NamedTuple):
    """One operation of a Program. `args` are the indices of earlier instructions."""

    op: str
    args: tuple[int, ...] = ()
    imm: Any = None
    """Immediate operand of the instruction.

    The number of a `const`; (port, field) of an `input`; the bit of a `testbit`; the exponent
    of a `pow`; function and repetitions of a `call`; the result of an `item`.
    """

    @classmethod
    def of_document(cls, op: str, args: list[int], imm: Any) -> Instruction:
        if op in ("const", "pow"):
            imm = float.fromhex(imm)
        elif op in ("input", "call"):
            imm = (int(imm[0]), int(imm[1]))
        return cls(op, tuple(args), imm)


class Port(NamedTuple):
    """A named group of scalars that enters or leaves a Program."""

    name: str
    fields: tuple[str, ...]


MOST_INSTRUCTIONS = 5_000_000
"""Largest number of instructions of a Program with its functions."""
MOST_EXECUTED = 1_000_000_000
"""Largest number of instructions in one run of a Program, loops included."""
MOST_FIELDS = 100_000
"""Largest number of fields of a port."""

_LOGICAL = ("and", "or", "xor", "not")
CheckedProgram = Any
"""Alias of `Program` for Programs from files, which this module checks."""
_PRECISIONS = (None, "float32", "float64")


def check_program(program: CheckedProgram, where: str) -> None:
    """Raise unless a Program of the file `where` could come from the tracer or the lowering."""
    functions = program.functions
    if sum(len(part.code) for part in (*functions, program)) > MOST_INSTRUCTIONS:
        raise InvalidValue(f"{where} has a program of more than {MOST_INSTRUCTIONS} instructions")
    for k, function in enumerate(functions):
        _Check(function, functions[:k], where).all()
    _Check(program, functions, where).all()
    if _work(program) > MOST_EXECUTED:
        raise InvalidValue(
            f"{where} has a program that runs more than {MOST_EXECUTED} instructions at a time"
        )


def _work(program: CheckedProgram) -> int:
    """Number of instructions executed in one run, including those in called functions."""
    work: list[int] = []
    for part in (*program.functions, program):
        calls = sum((work[i.imm[0]] + 1) * i.imm[1] for i in part.code if i.op == "call")
        work.append(len(part.code) + calls)
    return work[-1]


class _Check:
    """Checks one Program or function; `functions` are those that its code may call."""

    def __init__(
        self,
        program: CheckedProgram,
        functions: tuple[CheckedProgram, ...],
        where: str,
    ) -> None:
        self._program, self._functions, self._where = program, functions, where
        self._code = program.code
        self._lowered = program.precision is not None

    def all(self) -> None:
        program = self._program
        if program.precision not in _PRECISIONS:
            raise InvalidValue(
                f"{self._where} is for an unknown precision, {program.precision!r}; "
                "allowed are None, float32, float64"
            )
        self._must(isinstance(program.name, str), f"name {program.name!r} is not a text")
        self._must(isinstance(program.meta, dict), f"meta {program.meta!r} is not a mapping")
        for port in (*program.inputs, *program.outputs):
            self._must(_sound_port(port), f"port {port.name!r:.80}")
        counts = LOWERED_OPS if self._lowered else TRACED_OPS
        for k, i in enumerate(self._code):
            known = isinstance(i.op, str) and (i.op in CALL_OPS or i.op in counts)
            in_order = all(type(a) is int and 0 <= a < k for a in i.args)
            sound = known and in_order and self._sound(i, counts.get(i.op, -1))
            self._must(sound, f"instruction {k} {i!r:.200}")
        for port, result in zip(program.outputs, program.results, strict=True):
            sound = len(port.fields) == len(result) and all(map(self._is_result, result))
            self._must(sound, f"output {port.name}")

    def _must(self, sound: bool, what: str) -> None:
        if not sound:
            raise InvalidValue(f"{self._where} is a damaged program file: {what}")

    def _sound(self, i: Instruction, count: int) -> bool:
        if i.op in CALL_OPS:
            return self._sound_item(i) if i.op == "item" else self._sound_call(i)
        if len(i.args) != count or not self._sound_operands(i):
            return False
        match i.op:
            case "input":
                return self._is_input(i.imm)
            case "const" | "pow":
                # NaN constants are allowed in lowered Programs only: the lowering writes them where
                # a function is undefined.
                return isinstance(i.imm, float) and (self._lowered or not math.isnan(i.imm))
            case "testbit":
                bits = 64 if self._program.precision == "float64" else 32
                return type(i.imm) is int and 0 <= i.imm < bits
            case _:
                return i.imm is None

    def _sound_operands(self, i: Instruction) -> bool:
        """Whether no operand is a `call` and, in a lowered Program, all have the right type.

        The types are number and boolean; only an `item` gives access to the results of a call.
        """
        kinds = [self._code[a].op for a in i.args]
        if "call" in kinds:
            return False
        if not self._lowered:
            return True
        truths = [kind in BOOL_OPS for kind in kinds]
        if i.op == "select":
            return truths == [True, False, False]
        return all(truths) if i.op in _LOGICAL else not any(truths)

    def _is_input(self, imm: Any) -> bool:
        port, index = imm
        inputs = self._program.inputs
        return 0 <= port < len(inputs) and 0 <= index < len(inputs[port].fields)

    def _sound_item(self, i: Instruction) -> bool:
        if len(i.args) != 1 or self._code[i.args[0]].op != "call":
            return False
        function = self._functions[self._code[i.args[0]].imm[0]]
        return type(i.imm) is int and 0 <= i.imm < len(function.results[0])

    def _sound_call(self, i: Instruction) -> bool:
        number, times = i.imm
        if not 0 <= number < len(self._functions) or not self._sound_operands(i):
            return False
        function = self._functions[number]
        return (
            len(function.inputs) == len(function.outputs) == 1
            and len(i.args) == len(function.inputs[0].fields)
            and (times == 1 or (times > 1 and len(function.results[0]) <= len(i.args)))
            and function.precision == self._program.precision
        )

    def _is_result(self, k: Any) -> bool:
        if type(k) is not int or not 0 <= k < len(self._code):
            return False
        op = self._code[k].op
        return op != "call" and not (self._lowered and op in BOOL_OPS)


def _sound_port(port: Port) -> bool:
    """Whether the names of a port are letters, digits and underscores, for use in CUDA C."""
    name = port.name
    return (
        isinstance(name, str)
        and re.fullmatch(r"\w+", name, re.ASCII) is not None
        and len(port.fields) <= MOST_FIELDS
        and all(isinstance(field, str) for field in port.fields)
    )


FORMAT = "skidpad-program"
FORMAT_VERSION = 3
"""Version of the file format.

Version 1 had no functions and version 2 no reads of arrays; a Program is written as the first
version that has what it needs.
"""

NOT_RUN = frozenset({"const", "input", *CALL_OPS})
"""Names of instructions that do not count as operations."""

_STORED_CODE = "_stored_code"
"""Attribute in which an unpickled Program keeps its code until the first access."""

HELD_PORTS = frozenset({"p", "dt"})
"""Input ports that are held, that is constant over a whole rollout.

They are checked to be finite before it starts, and values that depend on them alone are
computed once.
"""


@dataclass(frozen=True)
class Program:
    """A computation as inputs, operations and results.

    `precision` is None while traced, else "float32" or "float64".
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    code: tuple[Instruction, ...]
    results: tuple[tuple[int, ...], ...]
    """For each output port, the instruction that holds each of its fields."""
    precision: str | None = None
    meta: dict[str, Any] = field(default_factory=dict[str, Any], compare=False)
    """Metadata for users of the file (units, defaults); not part of the digest."""
    functions: tuple[Program, ...] = ()
    """Functions that its code and later functions may call; a function's own list is empty."""

    __repr__ = brief_repr

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the code separately, as processes that have it compiled do not need it."""
        return vars(self) | {"code": None, _STORED_CODE: pickle.dumps(self.code, -1)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        del state["code"]
        vars(self).update(state)

    def __getattr__(self, name: str) -> Any:
        if name != "code" or _STORED_CODE not in vars(self):
            raise AttributeError(f"a Program has no attribute {name!r}")
        code = pickle.loads(vars(self)[_STORED_CODE])
        vars(self)["code"] = code
        return code

    @cached_property
    def counts(self) -> Counter[str]:
        """Count the occurrences of each operation, without constants, inputs and calls."""
        own = Counter(i.op for i in self.code if i.op not in NOT_RUN)
        return sum((f.counts for f in self.functions), own)

    @property
    def operations(self) -> int:
        """Number of operations in the code, without constants, inputs and calls."""
        return sum(self.counts.values())

    @cached_property
    def executed(self) -> int:
        """Largest number of operations in a run: a function counts once per call."""
        times: list[int] = []
        for program in (*self.functions, self):
            calls = sum(times[i.imm[0]] * i.imm[1] for i in program.code if i.op == "call")
            times.append(calls + sum(i.op not in NOT_RUN for i in program.code))
        return times[-1]

    @property
    def reads_arrays(self) -> bool:
        """Whether the Program or one of its functions reads shared arrays."""
        return any(i.op == "read" for part in (self, *self.functions) for i in part.code)

    @cached_property
    def held(self) -> tuple[bool, ...]:
        """For each instruction, whether it depends on constants and held ports alone."""
        ports = [port.name in HELD_PORTS for port in self.inputs]
        held: list[bool] = []
        for i in self.code:
            held.append(ports[i.imm[0]] if i.op == "input" else all([held[a] for a in i.args]))
        return tuple(held)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that determines what the Program computes."""
        return hashlib.sha256(_text(_document(self))).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the Program to one portable text file (JSON, numbers as exact hexadecimal)."""
        with replacing(path) as temporary:
            temporary.write_bytes(_text(self.document()))

    def document(self) -> dict[str, Any]:
        """The Program as JSON values, with its digest, to be part of a file."""
        return _document(self) | {"digest": self.digest, "meta": self.meta}

    @classmethod
    def from_document(cls, document: Any, where: str) -> Program:
        """Return the Program of a `document` found in the file `where`."""
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InvalidValue(f"{where} is not a skidpad program file (no format {FORMAT!r})")
        if document.get("version") not in range(1, FORMAT_VERSION + 1):
            raise InvalidValue(
                f"{where} has program format version {document.get('version')!r}; "
                f"this skidpad reads versions 1 to {FORMAT_VERSION}"
            )
        with reading(where, "is a damaged program file"):
            functions = tuple(_program(entry) for entry in document.get("functions", ()))
            program = replace(
                _program(document), meta=document.get("meta", {}), functions=functions
            )
            check_program(program, where)
            sound = document["digest"] == program.digest
        if not sound:
            raise InvalidValue(f"{where} is a damaged program file: its digest does not match")
        return program

    @classmethod
    def load(cls, path: str | Path) -> Program:
        """Read a Program written by `save`."""
        return cls.from_document(json_of(path, "a skidpad program file"), str(path))

    def __str__(self) -> str:
        return "\n".join(_lines(self, self.functions))


def _document(program: Program) -> dict[str, Any]:
    described: dict[str, Any] = {
        "format": FORMAT,
        "version": FORMAT_VERSION if program.reads_arrays else 2 if program.functions else 1,
        "name": program.name,
        "precision": program.precision,
        "inputs": program.inputs,
        "outputs": program.outputs,
        "results": program.results,
        "code": [
            [i.op, i.args, float(i.imm).hex() if i.op in ("const", "pow") else i.imm]
            for i in program.code
        ],
    }
    if program.functions:
        described["functions"] = [_document(function) for function in program.functions]
    return described


def _text(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def _program(document: Any) -> Program:
    return Program(
        name=document["name"],
        inputs=tuple(Port(n, tuple(f)) for n, f in document["inputs"]),
        outputs=tuple(Port(n, tuple(f)) for n, f in document["outputs"]),
        code=tuple(Instruction.of_document(*entry) for entry in document["code"]),
        results=tuple(tuple(r) for r in document["results"]),
        precision=document["precision"],
    )


INFIX = {name: name for name in ("and", "or", "xor")} | {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/"},
    **{"lt": "<", "le": "<=", "eq": "==", "ne": "!="},
}
"""Infix operators of a listing, by operation."""


def _lines(program: Program, functions: tuple[Program, ...]) -> list[str]:
    """Listing of a Program: one operation per line, with inputs and constants inlined.

    `functions` are those that its code may call.
    """
    word = program.precision or "traced"
    lines = [f"program {program.name} ({word}, {program.operations} operations)"]
    lines += [f"  in  {p.name}: {', '.join(p.fields)}" for p in program.inputs if p.fields]
    text: dict[int, str] = {}
    for k, i in enumerate(program.code):
        if i.op == "const":
            text[k] = repr(i.imm)
        elif i.op == "input":
            port = program.inputs[i.imm[0]]
            text[k] = f"{port.name}.{port.fields[i.imm[1]]}"
        elif i.op == "item":
            text[k] = f"{text[i.args[0]]}[{i.imm}]"
        else:
            text[k] = f"v{k}"
            value = _expression(i, [text[a] for a in i.args], functions)
            lines.append(f"  v{k} = {value}")
    for port, result in zip(program.outputs, program.results, strict=True):
        lines += [
            f"  out {port.name}.{name} = {text[r]}"
            for name, r in zip(port.fields, result, strict=True)
        ]
    counts = ", ".join(f"{op} {n}" for op, n in program.counts.most_common())
    called = [line for function in program.functions for line in _lines(function, functions)]
    return [*called, *lines, f"  # {counts}"]


def _expression(i: Instruction, args: list[str], functions: tuple[Program, ...]) -> str:
    if i.op in INFIX:
        return f"{args[0]} {INFIX[i.op]} {args[1]}"
    if i.op == "neg":
        return f"-{args[0]}"
    if i.op == "call":
        number, times = i.imm
        repeated = f", up to {times} times" if times > 1 else ""
        return f"{functions[number].name}({', '.join(args)}){repeated}"
    tail = [] if i.imm is None else [f"{i.imm:g}"]
    return f"{i.op}({', '.join(args + tail)})"


MAGIC = {"float64": 1.5 * 2.0**52, "float32": 1.5 * 2.0**23}
"""Adding this number rounds a number of moderate size to an integer.

The integer is then in the low bits of the representation of the sum, which `testbit` reads.
"""


def _emitter(op: str) -> Callable[..., int]:
    """A method of `Builder` that emits an operation of `LOWERED_OPS` on its operands."""

    def emit(self: Builder, *operands: int) -> int:
        return self.emit(op, *operands)

    return emit


class Builder:
    """Collects lowered instructions for one precision. Methods take and return instruction
    indices."""

    def __init__(self, precision: str, *, careful: bool = True) -> None:
        self.precision = precision
        self.careful = careful
        """Whether infinities and 0/0 have the documented results.

        Fast mode saves these operations.
        """
        self.double = precision == "float64"
        self.dtype: Any = np.dtype(precision)
        self.code: list[Instruction] = []
        self._numbered: dict[Instruction, int] = {}

    def emit(self, op: str, *args: int, imm: Any = None) -> int:
        """Index of the instruction with this operation; it is written only if it is new."""
        instruction = Instruction(op, args, imm)
        index = self._numbered.get(instruction)
        if index is None:
            index = self._numbered[instruction] = len(self.code)
            self.code.append(instruction)
        return index

    def const(self, value: float) -> int:
        """A constant, rounded to the precision. NaN and -0.0 are distinct constants."""
        rounded = float(self.dtype.type(value))
        key = Instruction("const", (), rounded.hex())
        index = self._numbered.get(key)
        if index is None:
            index = self._numbered[key] = len(self.code)
            self.code.append(Instruction("const", (), rounded))
        return index

    def is_bool(self, index: int) -> bool:
        return self.code[index].op in BOOL_OPS

    def is_const(self, index: int) -> bool:
        return self.code[index].op == "const"

    add, sub, mul, div = map(_emitter, ("add", "sub", "mul", "div"))
    fma, sqrt, rint, floor, abs = map(_emitter, ("fma", "sqrt", "rint", "floor", "abs"))
    lt, le, eq, ne, xor = map(_emitter, ("lt", "le", "eq", "ne", "xor"))
    logical_and, logical_or, logical_not = map(_emitter, ("and", "or", "not"))
    copysign, pow2, mantissa, exponent = map(_emitter, ("copysign", "pow2", "mantissa", "exponent"))
    read = _emitter("read")

    def neg(self, a: int) -> int:
        i = self.code[a]
        if i.op == "neg":
            return i.args[0]
        return self.const(-i.imm) if i.op == "const" else self.emit("neg", a)

    def select(self, condition: int, a: int, b: int) -> int:
        """Select a where the condition holds, else b."""
        return a if a == b else self.emit("select", condition, a, b)

    def testbit(self, a: int, bit: int) -> int:
        """A bit of the IEEE representation of a, as a boolean."""
        return self.emit("testbit", a, imm=bit)

    def magic(self) -> int:
        """The constant `MAGIC` of the precision."""
        return self.const(MAGIC[self.precision])

    def horner(self, z: int, coefficients: tuple[float, ...]) -> int:
        """Polynomial in z by fma; coefficients from the highest power down."""
        value = self.const(coefficients[0])
        for c in coefficients[1:]:
            value = self.fma(value, z, self.const(c))
        return value
