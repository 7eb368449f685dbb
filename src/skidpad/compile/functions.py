"""Functions that iterate: when a call may be left out, and calls that follow one another.

A function that iterates ends with `select(q, new, old)` for each of its results, where q is one of
its arguments, the same for all, and `old` the argument in the place of the result, or with that
argument itself. Where q is zero
it gives back what it was given, so a target need not run it: a lane group skips it when no lane
asks for it, a thread when it does not. The results have the same bits either way.

Calls of such a function one after the other, each with the results of the one before and the same
other arguments, become one call that is made so many times: a loop in every target.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from .program import Instruction, Program

_ZERO = Instruction("const", (), 0.0)


def skipped_by(function: Program) -> int | None:
    """The argument that tells whether a function, traced or lowered, has to be run: where it is
    zero, the results are the first arguments. None if the function always has to be run."""
    conditions: set[int] = set()
    for place, result in enumerate(function.results[0]):
        i, old = function.code[result], Instruction("input", (), (0, place))
        if i == old:
            continue
        if i.op != "select" or function.code[i.args[2]] != old:
            return None
        conditions.add(i.args[0])
    if len(conditions) != 1:
        return None
    test = function.code[conditions.pop()]
    if test.op == "ne" and function.code[test.args[1]] == _ZERO:
        test = function.code[test.args[0]]
    return test.imm[1] if test.op == "input" and test.imm[0] == 0 else None


def with_loops(program: Program) -> Program:
    """The traced Program with calls that follow one another as one call made several times."""
    iterating = {k for k, f in enumerate(program.functions) if skipped_by(f) is not None}
    return _with_loops(program, program.functions, iterating) if iterating else program


def _with_loops(program: Program, functions: tuple[Program, ...], iterating: set[int]) -> Program:
    code = list(program.code)
    uses = Counter(a for i in code for a in i.args)
    uses.update(r for result in program.results for r in result)
    for k, i in enumerate(code):
        before = _call_before(code, i, functions) if i.op == "call" else None
        if before is not None and i.imm[0] in iterating:
            count = len(functions[i.imm[0]].results[0])
            items_of = [a for a in i.args[:count] if uses[a] == 1]
            if len(items_of) == count == uses[before]:
                earlier = code[before]
                code[k] = earlier._replace(imm=(i.imm[0], earlier.imm[1] + i.imm[1]))
    return replace(program, code=tuple(code))


def _call_before(
    code: list[Instruction], i: Instruction, functions: tuple[Program, ...]
) -> int | None:
    """The call of the same function whose results a call begins with, the rest being the same."""
    count = len(functions[i.imm[0]].results[0])
    sources = {code[a].args[0] for a in i.args[:count] if code[a].op == "item"}
    if len(sources) != 1:
        return None
    before = sources.pop()
    earlier = code[before]
    follows = (
        earlier.op == "call"
        and earlier.imm[0] == i.imm[0]
        and all(code[a] == Instruction("item", (before,), j) for j, a in enumerate(i.args[:count]))
        and earlier.args[count:] == i.args[count:]
    )
    return before if follows else None
