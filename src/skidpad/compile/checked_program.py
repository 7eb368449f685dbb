"""What a Program from a file must be before anything is made of it: kernels look at none of this.

A file may come from anyone. Its digest tells that it is whole, not that it is meant well, so that
every operation, operand, result and name is looked at here; so is how much work it asks for.
"""

from __future__ import annotations

import math
import re
from typing import Any

from ..errors import InvalidValue
from .operations import BOOL_OPS, CALL_OPS, LOWERED_OPS, TRACED_OPS, Instruction, Port

MOST_INSTRUCTIONS = 5_000_000
"""Instructions of a Program with its functions."""
MOST_EXECUTED = 1_000_000_000
"""Instructions that one run of a Program may take, loops included."""
MOST_FIELDS = 100_000
"""Fields of a port."""

_LOGICAL = ("and", "or", "xor", "not")
Program = Any
"""A `program.Program`, which is checked by this file when it is read."""
_PRECISIONS = (None, "float32", "float64")


def check_program(program: Program, where: str) -> None:
    """Raise unless a Program of the file `where` is one that the tracer could have written, or the
    lowering."""
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


def _work(program: Program) -> int:
    """Instructions that one run takes, those of what it calls included."""
    work: list[int] = []
    for part in (*program.functions, program):
        calls = sum((work[i.imm[0]] + 1) * i.imm[1] for i in part.code if i.op == "call")
        work.append(len(part.code) + calls)
    return work[-1]


class _Check:
    """One Program or function; `functions` are those that its code may call."""

    def __init__(self, program: Program, functions: tuple[Program, ...], where: str) -> None:
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
        self._must(isinstance(program.name, str), f"name {program.name!r} is no text")
        self._must(isinstance(program.meta, dict), f"meta {program.meta!r} is no mapping")
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
                # The lowering writes NaN where a function has no value; a model never does.
                return isinstance(i.imm, float) and (self._lowered or not math.isnan(i.imm))
            case "testbit":
                bits = 64 if self._program.precision == "float64" else 32
                return type(i.imm) is int and 0 <= i.imm < bits
            case _:
                return i.imm is None

    def _sound_operands(self, i: Instruction) -> bool:
        """Whether no operand is a bundle of results; in a lowered Program also of the right type:
        a number or a truth."""
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
    """Whether a port is letters, digits and underscores: its name becomes a part of CUDA C."""
    name = port.name
    return (
        isinstance(name, str)
        and re.fullmatch(r"\w+", name, re.ASCII) is not None
        and len(port.fields) <= MOST_FIELDS
        and all(isinstance(field, str) for field in port.fields)
    )
