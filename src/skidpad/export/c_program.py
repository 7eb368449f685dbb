"""A lowered Program as a C function whose arguments are structs, numbers or arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..compile.c import Statements, all_functions, statements
from ..compile.c_exact import Type
from ..compile.program import Program
from .c_names import PORTS, Naming


class Argument(NamedTuple):
    """What a port of a Program is in C."""

    declaration: str
    """As "const car_state* x"; nothing for a port that has no argument."""
    name: str
    fields: tuple[str, ...]
    """How each field is written."""


def struct_argument(naming: Naming, port: str, name: str, *, written: bool = False) -> Argument:
    """A port that is a struct of the vehicle, as x, u, w, p and y are."""
    struct = PORTS[port]
    fields = naming.fields[struct]
    constant = "" if written else "const "
    declaration = f"{constant}{naming.name}_{struct}* {name}" if fields else ""
    return Argument(declaration, name, tuple(f"{name}->{field}" for field in fields))


def number_argument(kind: Type, name: str) -> Argument:
    """A port of one number, as dt is."""
    return Argument(f"{kind.name} {name}", name, (name,))


def array_argument(kind: Type, name: str, count: int, *, written: bool = False) -> Argument:
    """A port that is an array of numbers."""
    constant = "" if written else "const "
    declaration = f"{constant}{kind.name}* {name}" if count else ""
    return Argument(declaration, name, tuple(f"{name}[{k}]" for k in range(count)))


Checks = Callable[[Statements], list[str]]
"""Statements between the operations of a Program and the writing of its results."""


def program_function(
    program: Program,
    name: str,
    inputs: Sequence[Argument],
    outputs: Sequence[Argument],
    kind: Type,
    *,
    checks: Checks | None = None,
) -> list[str]:
    """The static C function `name` of a Program, with the functions that it calls before it.

    All inputs are read before the first output is written. With `checks` it returns an int, 0 where
    these do not return before.
    """

    def write(port: int, field: int) -> str:
        return inputs[port].fields[field]

    taken = statements(program, kind, name, program.functions, write)
    declared = [a.declaration for a in (*inputs, *outputs) if a.declaration]
    result = "void" if checks is None else "int"
    read = {i.imm[0] for i in program.code if i.op == "input"}
    ignored = [a.name for k, a in enumerate(inputs) if a.declaration and k not in read]
    return [
        *all_functions(program, name),
        f"SKIDPAD_TARGET static {result} {name}(",
        f"    {', '.join(declared)}) {{",
        *(f"    (void){unused};" for unused in ignored),
        *taken.lines,
        *(checks(taken) if checks is not None else ()),
        *(
            f"    {argument.fields[n]} = {taken.text[r]};"
            for argument, values in zip(outputs, program.results, strict=True)
            for n, r in enumerate(values)
        ),
        *(["    return 0;"] if checks is not None else []),
        "}",
        "",
    ]


def function_names(program: Program, name: str) -> list[str]:
    """All names that `program_function` defines."""
    return [*(f"{name}_{k}" for k in range(len(program.functions))), name]
