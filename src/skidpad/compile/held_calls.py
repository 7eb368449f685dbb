"""What functions compute from arguments that are held over a rollout is computed once.

Of the arguments of a tyre most are parameters. Here every function of a lowered Program whose calls
all have held arguments is split in two: a part `NAME_held` that takes these and is called once for
each set of them, and the rest. The results of the first lie side by side in memory, what the rest
needs of the arguments among them. The rest takes the address of the first of them: it has a second
input port, and a call of it one more argument, a result of the first part or, within a function, a
field of its own second port. As those calls of the first parts depend on held values alone, every
target runs them before its loop.

Operations only move, after the lowering has decided how they round: the bits stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from .builder import Builder
from .dead_code import without_dead_instructions
from .functions import skipped_by
from .program import Instruction, Port, Program

T = TypeVar("T")

HELD = "h"
"""Name of the second port of a function that was split."""


def with_held_parts(program: Program) -> Program:
    """The lowered Program with its functions split at their held arguments."""
    if not program.functions or any(len(f.inputs) > 1 for f in program.functions):
        return program
    split = _Functions()
    for function, arguments in zip(program.functions, _held_arguments(program), strict=True):
        split.add(function, arguments)
    return replace(_rewritten(program, split), functions=tuple(split.programs))


def _held_arguments(program: Program) -> list[list[bool]]:
    """For each function and each of its arguments whether it is held in every call."""
    functions = program.functions
    held = [[True] * len(f.inputs[0].fields) for f in functions]
    _note_calls(program, program.held, functions, held)
    # Callers come after what they call, so every call of a function is seen before the function.
    for k in range(len(functions) - 1, -1, -1):
        if all(held[k]):
            held[k] = [False] * len(held[k])
        _note_calls(functions[k], _held_values(functions[k], held[k]), functions, held)
    return held


def _note_calls(
    program: Program, held: Sequence[bool], functions: tuple[Program, ...], noted: list[list[bool]]
) -> None:
    for i in program.code:
        if i.op != "call":
            continue
        number, times = i.imm
        function, here = functions[number], noted[number]
        condition = skipped_by(function)
        carried = 0 if condition is None and times == 1 else len(function.results[0])
        for j, a in enumerate(i.args):
            here[j] = here[j] and held[a] and j >= carried and j != condition


def _held_values(function: Program, arguments: Sequence[bool]) -> list[bool]:
    """For each instruction of a function whether it depends on held arguments alone."""
    held: list[bool] = []
    for i in function.code:
        held.append(arguments[i.imm[1]] if i.op == "input" else all([held[a] for a in i.args]))
    return held


class _Split(NamedTuple):
    """What became of a function: its number, and where it was split also that of its first part."""

    rest: int
    first: int | None = None
    held: tuple[bool, ...] = ()
    """For each argument whether it goes to the first part."""


class _Functions:
    """The functions written so far, and what became of those of the Program."""

    def __init__(self) -> None:
        self.programs: list[Program] = []
        self.split: list[_Split] = []

    def add(self, function: Program, arguments: Sequence[bool]) -> None:
        """Write the next function, in two parts if some of its arguments are held."""
        number = len(self.programs)
        if not any(arguments):
            self.programs.append(_rewritten(function, self))
            self.split.append(_Split(number))
            return
        parts = _Halves(function, arguments, self).programs()
        self.programs += map(without_dead_instructions, parts)
        self.split.append(_Split(number + 1, number, tuple(arguments)))

    def call(self, b: Builder, i: Instruction, args: Sequence[int]) -> int:
        """Write a call where all of its arguments are at hand."""
        number, times = i.imm
        rest, first, held = self.split[number]
        if first is None:
            return b.emit("call", *args, imm=(rest, times))
        begin = b.emit("item", self.first_call(b, number, args), imm=0)
        return b.emit("call", *_chosen(args, held, False), begin, imm=(rest, times))

    def first_call(self, b: Builder, number: int, args: Sequence[int]) -> int:
        """Write the call of the first part of a function; `args` are those of the function."""
        first, held = self.split[number].first, self.split[number].held
        return b.emit("call", *_chosen(args, held, True), imm=(first, 1))

    def results(self, number: int) -> int:
        """How many results the first part of a function has."""
        first = self.split[number].first
        return 0 if first is None else len(self.programs[first].results[0])


def _chosen(values: Sequence[T], held: Sequence[bool], wanted: bool) -> list[T]:
    return [value for value, is_held in zip(values, held, strict=True) if is_held is wanted]


def _rewritten(program: Program, functions: _Functions) -> Program:
    """A Program, or a function that is not split itself, with calls of the split functions."""
    b, place = Builder(str(program.precision)), list[int]()
    for i in program.code:
        place.append(_copied(b, i, [place[a] for a in i.args], functions))
    results = tuple(tuple(place[r] for r in result) for result in program.results)
    return without_dead_instructions(replace(program, code=tuple(b.code), results=results))


def _copied(b: Builder, i: Instruction, args: Sequence[int], functions: _Functions) -> int:
    if i.op == "const":
        return b.const(i.imm)
    return functions.call(b, i, args) if i.op == "call" else b.emit(i.op, *args, imm=i.imm)


class _Halves:
    """A function in two parts: what its held arguments decide alone, and the rest."""

    def __init__(self, function: Program, arguments: Sequence[bool], functions: _Functions) -> None:
        self.function, self.arguments, self.functions = function, arguments, functions
        self.held = _held_values(function, arguments)
        self.first, self.rest = (Builder(str(function.precision)) for _ in range(2))
        self.place: list[int] = []
        """For each instruction where it is now, in the part that it belongs to."""
        self.handed: list[int] = []
        """What the first part hands to the rest, as instructions of the first part."""
        self.handed_at: dict[int, int] = {}
        self.blocks: dict[int, int] = {}
        """Where the results of a first part that is called begin, by the first of them."""
        for i in function.code:
            self.place.append(self._copied(i))
        self.results = tuple(self._in_rest(r) for r in function.results[0])
        if not self.handed:  # arguments that nothing needs
            self.handed.append(self.first.const(0.0))

    def programs(self) -> tuple[Program, Program]:
        (port,), fields = self.function.inputs, range(len(self.handed))
        handed = Port(HELD, tuple(f"{HELD}{k}" for k in fields))
        inputs = [
            Port(port.name, tuple(_chosen(port.fields, self.arguments, held)))
            for held in (True, False)
        ]
        first = replace(
            self.function,
            name=f"{self.function.name}_held",
            inputs=(inputs[0],),
            outputs=(handed,),
            code=tuple(self.first.code),
            results=(tuple(self.handed),),
        )
        rest = replace(
            self.function,
            inputs=(inputs[1], handed),
            code=tuple(self.rest.code),
            results=(self.results,),
        )
        return first, rest

    def _copied(self, i: Instruction) -> int:
        held = self.held[len(self.place)]
        if i.op == "input":
            index = sum(h is held for h in self.arguments[: i.imm[1]])
            return (self.first if held else self.rest).emit("input", imm=(0, index))
        if held:
            return _copied(self.first, i, [self.place[a] for a in i.args], self.functions)
        if i.op == "call" and self.functions.split[i.imm[0]].first is not None:
            return self._call(i)
        return _copied(self.rest, i, [self._in_rest(a) for a in i.args], self.functions)

    def _call(self, i: Instruction) -> int:
        """A call of a function that was split too: its first part becomes one of this one's."""
        number, times = i.imm
        split, first = self.functions.split[number], self.first
        args = [self.place[a] if self.held[a] else -1 for a in i.args]
        called = self.functions.first_call(first, number, args)
        items = [first.emit("item", called, imm=k) for k in range(self.functions.results(number))]
        # Side by side, and so not where one of them may stand already.
        begin = self.blocks.setdefault(items[0], len(self.handed))
        if begin == len(self.handed):
            self.handed += items
        rest = [self._in_rest(a) for a in _chosen(i.args, split.held, False)]
        block = self.rest.emit("input", imm=(1, begin))
        return self.rest.emit("call", *rest, block, imm=(split.rest, times))

    def _in_rest(self, k: int) -> int:
        """A value for the rest, handed over by the first part if it is held."""
        if not self.held[k]:
            return self.place[k]
        i, first = self.function.code[k], self.first
        if i.op == "const":
            return self.rest.const(i.imm)
        value = self.place[k]
        truth = first.is_bool(value)
        if truth:
            value = first.select(value, first.const(1.0), first.const(0.0))
        if value not in self.handed_at:
            self.handed_at[value] = len(self.handed)
            self.handed.append(value)
        number = self.rest.emit("input", imm=(1, self.handed_at[value]))
        return self.rest.ne(number, self.rest.const(0.0)) if truth else number
