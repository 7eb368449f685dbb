"""Which inputs of a traced Program each of its results depends on.

It is read off the operations, so an FMU says no more and no less than what is computed: a result
that an input reaches through some operation depends on it, whatever the numbers are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..compile.program import Program

Place = tuple[str, int]
"""An input port by its name, and a field of it by its place."""
_Reached = frozenset[Any]
_NONE: _Reached = frozenset()


def dependencies(program: Program) -> tuple[frozenset[Place], ...]:
    """For each field of the first output port what it depends on."""
    functions: list[list[_Reached]] = []
    for function in program.functions:
        functions.append(_of_results(function, functions, lambda port, field: field))
    names = [port.name for port in program.inputs]
    return tuple(_of_results(program, functions, lambda port, field: (names[port], field)))


def _of_results(
    program: Program, functions: Sequence[list[_Reached]], named: Any
) -> list[_Reached]:
    """For each field of the first output port the inputs, as `named` calls them."""
    reached: list[Any] = []
    for op, args, imm in program.code:
        if op == "input":
            reached.append(frozenset([named(*imm)]))
        elif op == "call":
            reached.append(_of_call(functions[imm[0]], imm[1], [reached[a] for a in args]))
        elif op == "item":
            reached.append(reached[args[0]][imm])
        else:
            reached.append(_NONE.union(*(reached[a] for a in args)))
    return [reached[r] for r in program.results[0]]


def _of_call(function: list[_Reached], times: int, arguments: list[_Reached]) -> list[_Reached]:
    """What the results of a function depend on that is run several times on its own results."""
    results: list[_Reached] = []
    for _ in range(times):
        results = [_NONE.union(*(arguments[a] for a in needed)) for needed in function]
        arguments = [*results, *arguments[len(results) :]]
    return results
