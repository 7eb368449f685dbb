"""Evaluate a traced Program by `skidpad.ops`: on floats, arrays, symbols, and to trace it again."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from ..core.backends import called
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


def _called(functions: tuple[Program, ...], imm: Any, arguments: list[Any]) -> Sequence[Any]:
    """The results of a function that is run several times on its own results."""
    number, times = imm
    results: Sequence[Any] = []
    for _ in range(times):
        results = called(_Kernel(functions, number), *arguments)
        arguments = [*results, *arguments[len(results) :]]
    return results


class _Kernel:
    """A function of a Program, to be called: traced again it is one function for all calls."""

    def __init__(self, functions: tuple[Program, ...], number: int) -> None:
        self._functions, self._number = functions, number
        self.__name__ = functions[number].name

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        (results,) = _values(self._functions[self._number], [arguments], self._functions)
        return tuple(results)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Kernel)
            and self._functions is other._functions
            and self._number == other._number
        )

    def __hash__(self) -> int:
        return hash((id(self._functions), self._number))
