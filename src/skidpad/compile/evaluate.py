"""Evaluate a traced Program with `skidpad.ops`: on floats, arrays or symbols, or to retrace it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from ..core.backends import called
from .program import Program

_OPERATIONS: dict[str, Callable[..., Any]] = {
    **{op: getattr(operator, op) for op in ("add", "sub", "mul", "neg")},
    **{"div": operator.truediv, "lt": ops.less, "le": ops.less_equal, "eq": ops.equal},
    **{"ne": ops.not_equal, "select": ops.where, "min": ops.minimum, "max": ops.maximum},
    **{op: getattr(ops, f"logical_{op}") for op in ("not", "and", "or")},
}
"""Functions of operations that are operators or named differently in `ops`."""


def evaluate(program: Program, ports: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return the values of a traced Program's output ports for the values of its input ports."""
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
    """Results of a function called repeatedly, each time on its own results."""
    number, times = imm
    results: Sequence[Any] = []
    for _ in range(times):
        results = called(_Kernel(functions, number), *arguments)
        arguments = [*results, *arguments[len(results) :]]
    return results


class _Kernel:
    """A function of a Program as a callable; retraced, all its calls share one function."""

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
