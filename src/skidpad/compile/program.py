"""Program: a flat list of operations in single-assignment form, traced or lowered.

The tracer writes Programs of elementary operations (`sin`, `pow`, ...); the lowering turns them
into Programs of IEEE operations only (`operations.LOWERED_OPS`), which every target can emit with
the same bits.

A large Program may have functions: Programs of one input and one output port that its code calls,
so that what is run several times is written once. They stand in one list, each after those that it
calls itself. Right before the targets they are split at what is held, see `held_calls`.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..brief import brief_repr
from ..errors import InvalidValue
from ..files import json_of, reading, replacing
from .checked_program import check_program
from .operations import CALL_OPS, Instruction, Port

__all__ = ["Instruction", "Port", "Program"]

FORMAT = "skidpad-program"
FORMAT_VERSION = 3
"""Version 1 had no functions and version 2 did not read arrays; a Program is written as the first
version that has what it needs."""

NOT_RUN = frozenset({"const", "input", *CALL_OPS})
"""Instructions that are no operations of their own."""

_STORED_CODE = "_stored_code"
"""Where an unpickled Program has its code until it is asked for."""

HELD_PORTS = frozenset({"p", "dt"})
"""Input ports whose values stay the same over a whole rollout. They are checked to be finite before
it starts, and what depends on them alone is computed once."""


@dataclass(frozen=True)
class Program:
    """Inputs, operations and results. `precision` is None while traced, else float32 or float64."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    code: tuple[Instruction, ...]
    results: tuple[tuple[int, ...], ...]
    """For each output port, the instruction that holds each of its fields."""
    precision: str | None = None
    meta: dict[str, Any] = field(default_factory=dict[str, Any], compare=False)
    """What a user of the file needs besides the code (units, defaults); not part of the digest."""
    functions: tuple[Program, ...] = ()
    """What its code and the code of later functions may call; a function's own list is empty."""

    __repr__ = brief_repr

    def __getstate__(self) -> dict[str, Any]:
        """For `pickle`: the code apart, which who has it compiled already does not need."""
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
        """How often each operation is written, constants, inputs and calls left out."""
        own = Counter(i.op for i in self.code if i.op not in NOT_RUN)
        return sum((f.counts for f in self.functions), own)

    @property
    def operations(self) -> int:
        """Number of operations written, constants, inputs and calls left out."""
        return sum(self.counts.values())

    @cached_property
    def executed(self) -> int:
        """Number of operations run at most: a call counts as often as it is made."""
        times: list[int] = []
        for program in (*self.functions, self):
            calls = sum(times[i.imm[0]] * i.imm[1] for i in program.code if i.op == "call")
            times.append(calls + sum(i.op not in NOT_RUN for i in program.code))
        return times[-1]

    @property
    def reads_arrays(self) -> bool:
        """Whether it reads shared arrays, itself or in a function."""
        return any(i.op == "read" for part in (self, *self.functions) for i in part.code)

    @cached_property
    def held(self) -> tuple[bool, ...]:
        """For each instruction, whether it depends on nothing but constants and held ports."""
        ports = [port.name in HELD_PORTS for port in self.inputs]
        held: list[bool] = []
        for i in self.code:
            held.append(ports[i.imm[0]] if i.op == "input" else all([held[a] for a in i.args]))
        return tuple(held)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that decides what the Program computes."""
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
        """The Program of a `document` found in the file `where`."""
        return _decode(document, where)

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
        "code": [[i.op, i.args, _imm_text(i)] for i in program.code],
    }
    if program.functions:
        described["functions"] = [_document(function) for function in program.functions]
    return described


def _text(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def _imm_text(i: Instruction) -> Any:
    return float(i.imm).hex() if i.op in ("const", "pow") else i.imm


def _decode(document: Any, where: str) -> Program:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidValue(f"{where} is not a skidpad program file (no format {FORMAT!r})")
    if document.get("version") not in range(1, FORMAT_VERSION + 1):
        raise InvalidValue(
            f"{where} has program format version {document.get('version')!r}; "
            f"this skidpad reads versions 1 to {FORMAT_VERSION}"
        )
    with reading(where, "is a damaged program file"):
        functions = tuple(_program(entry) for entry in document.get("functions", ()))
        program = replace(_program(document), meta=document.get("meta", {}), functions=functions)
        check_program(program, where)
        sound = document["digest"] == program.digest
    if not sound:
        raise InvalidValue(f"{where} is a damaged program file: its digest does not match")
    return program


def _program(document: Any) -> Program:
    """What one document says of itself, without its functions."""
    return Program(
        name=document["name"],
        inputs=tuple(Port(n, tuple(f)) for n, f in document["inputs"]),
        outputs=tuple(Port(n, tuple(f)) for n, f in document["outputs"]),
        code=tuple(_instruction(*entry) for entry in document["code"]),
        results=tuple(tuple(r) for r in document["results"]),
        precision=document["precision"],
    )


def _instruction(op: str, args: list[int], imm: Any) -> Instruction:
    if op in ("const", "pow"):
        imm = float.fromhex(imm)
    elif op in ("input", "call"):
        imm = (int(imm[0]), int(imm[1]))
    return Instruction(op, tuple(args), imm)


INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "lt": "<",
    "le": "<=",
    "eq": "==",
    "ne": "!=",
    "and": "and",
    "or": "or",
    "xor": "xor",
}
"""Operations that are written between their arguments, and their signs in a listing."""


def _lines(program: Program, functions: tuple[Program, ...]) -> list[str]:
    """The Program as text, one operation a line, inputs and constants inlined.

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
