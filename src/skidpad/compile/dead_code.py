"""What nothing needs is left out: instructions, results of functions, functions."""

from __future__ import annotations

from dataclasses import replace

from .program import Instruction, Port, Program


def without_dead_code(program: Program) -> Program:
    """The same Program without the instructions that no result needs.

    Its functions give only what some call uses, and those that nothing calls are gone.
    """
    program = without_dead_instructions(program)
    return _without_unused_results(program) if program.functions else program


def without_dead_instructions(program: Program) -> Program:
    """The same Program, or function of one, without the instructions that no result needs."""
    live = [False] * len(program.code)
    for result in program.results:
        for r in result:
            live[r] = True
    for k in range(len(program.code) - 1, -1, -1):
        if live[k]:
            for a in program.code[k].args:
                live[a] = True
    if all(live):
        return program
    index = [0] * len(program.code)
    code: list[Instruction] = []
    for k, i in enumerate(program.code):
        if live[k]:
            index[k] = len(code)
            args = tuple([index[a] for a in i.args])
            code.append(i if args == i.args else Instruction(i.op, args, i.imm))
    results = tuple(tuple(index[r] for r in result) for result in program.results)
    return replace(program, code=tuple(code), results=results)


def _without_unused_results(program: Program) -> Program:
    items: list[set[int]] = [set() for _ in program.functions]
    functions = list(program.functions)
    _note_items(program, functions, items)
    # Callers come after what they call, so each function is cut down before those that it calls.
    for k in range(len(functions) - 1, -1, -1):
        functions[k] = _with_results(functions[k], sorted(items[k]))
        _note_items(functions[k], functions, items)
    used = [k for k in range(len(functions)) if items[k]]
    number = {k: n for n, k in enumerate(used)}
    item = [{j: n for n, j in enumerate(sorted(results))} for results in items]
    return replace(
        _renumbered(program, number, item),
        functions=tuple(_renumbered(functions[k], number, item) for k in used),
    )


def _note_items(program: Program, functions: list[Program], items: list[set[int]]) -> None:
    for i in program.code:
        if i.op == "item":
            items[program.code[i.args[0]].imm[0]].add(i.imm)
        elif i.op == "call" and i.imm[1] > 1:
            # What goes around in a loop is needed there, whether or not it is looked at afterwards.
            items[i.imm[0]].update(range(len(functions[i.imm[0]].results[0])))


def _with_results(function: Program, kept: list[int]) -> Program:
    (port,), (result,) = function.outputs, function.results
    outputs = (Port(port.name, tuple(port.fields[j] for j in kept)),)
    results = (tuple(result[j] for j in kept),)
    return without_dead_instructions(replace(function, outputs=outputs, results=results))


def _renumbered(program: Program, number: dict[int, int], item: list[dict[int, int]]) -> Program:
    code: list[Instruction] = []
    for i in program.code:
        if i.op == "call":
            i = i._replace(imm=(number[i.imm[0]], i.imm[1]))
        elif i.op == "item":
            i = i._replace(imm=item[program.code[i.args[0]].imm[0]][i.imm])
        code.append(i)
    return replace(program, code=tuple(code))
