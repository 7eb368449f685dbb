"""Evaluate a traced Program by `skidpad.ops`: on floats, arrays, symbols, and to trace it again."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from .program import Program

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "lt": ops.less,
    "le": ops.less_equal,
    "eq": ops.equal,
    "ne": ops.not_equal,
    "not": ops.logical_not,
    "and": ops.logical_and,
    "or": ops.logical_or,
    "select": ops.where,
    "min": ops.minimum,
    "max": ops.maximum,
}
"""Operations that have another name or an operator; the others are called as in `ops`."""


def evaluate(program: Program, ports: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The values of a traced Program's output ports from those of its input ports."""
    return _values(program, ports, program.functions)


def _values(
    program: Program, ports: Sequence[Sequence[Any]], functions: tuple[Program, ...]
) -> list[list[Any]]:
    values: list[Any] = []
    for op, args, imm in program.code:
        operands = [values[k] for k in args]
        match op:
            case "const":
                value: Any = imm
            case "input":
                value = ports[imm[0]][imm[1]]
            case "pow":
                value = ops.pow(operands[0], imm)
            case "call":
                value = _called(functions, imm, operands)
            case "item":
                value = operands[0][imm]
            case _:
                value = (_OPERATIONS.get(op) or getattr(ops, op))(*operands)
        values.append(value)
    return [[values[k] for k in result] for result in program.results]


def _called(functions: tuple[Program, ...], imm: Any, arguments: list[Any]) -> list[Any]:
    """The results of a function that is run several times on its own results."""
    number, times = imm
    results: list[Any] = []
    for _ in range(times):
        (results,) = _values(functions[number], [arguments], functions)
        arguments = [*results, *arguments[len(results) :]]
    return results
