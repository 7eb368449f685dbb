"""Passes over lowered Programs. They move and remove operations after the lowering has decided the
rounding, so they change no bits, only the speed.

Dead code: instructions, results of functions and functions that no result needs are removed.

Scheduling: a traced function is in depth-first order, one wheel after the other, as chains of
operations that wait for each other. A processor looks ahead a few hundred instructions, so it finds
little to do at the same time. A list scheduler interleaves the chains, longest remaining chain
first: the four-wheel car runs 1.4 times as fast in lanes and twice as fast alone. Limiting the
number of live values as well (Goodman and Hsu, 1988) made no difference, nor did issuing products
between the other operations; LLVM's own allocator copes. Its scheduler is off where it would undo
the order (`pipeline`).

Iterating functions: one that ends with `select(q, new, old)` for each of its results, where q is
one of its arguments, the same for all, and `old` the argument in the place of the result, or with
that argument itself, returns its arguments where q is zero. So a target need not run it: a lane
group skips it when q is zero in all lanes, a thread when q is zero. The results have the same bits.
Consecutive calls of such a function, each with the results of the one before and the same other
arguments, become one repeated call: a loop in every target.

Held arguments (constant over a rollout): most arguments of a tyre are parameters. Every function
whose calls all have held arguments is split in two: a part `NAME_held` that takes these and is
called once for each set of them, and the rest. The results of the first part lie next to each other
in memory, with the held arguments that the rest needs. The rest takes the address of the first of
them: it has a second input port, and a call of it one more argument, which is a result of the first
part or, within a function, a field of its own second port. As calls of the first parts depend on
held values alone, every target runs them before its loop.

Start of a step: values that depend on the state at the start of a step and on inputs and
parameters, such as the results of `hold` and the command of a policy, are computed at the first
sub-step; targets save those that the other sub-steps need.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from .program import Builder, Instruction, Port, Program


def without_dead_code(program: Program) -> Program:
    """Remove the instructions of a Program that no result needs.

    Its functions return only results that some call uses; functions without a call are removed.
    """
    program = without_dead_instructions(program)
    if not program.functions:
        return program
    items: list[set[int]] = [set() for _ in program.functions]
    functions = list(program.functions)
    _note_items(program, functions, items)
    # Callers come after the functions that they call, so each function is reduced before its
    # callees.
    for k in range(len(functions) - 1, -1, -1):
        function = functions[k]
        kept = sorted(items[k])
        (port,), (result,) = function.outputs, function.results
        outputs = (Port(port.name, tuple(port.fields[j] for j in kept)),)
        kept_results = (tuple(result[j] for j in kept),)
        functions[k] = without_dead_instructions(
            replace(function, outputs=outputs, results=kept_results)
        )
        _note_items(functions[k], functions, items)
    used = [k for k in range(len(functions)) if items[k]]
    number = {k: n for n, k in enumerate(used)}
    item = [{j: n for n, j in enumerate(sorted(results))} for results in items]
    return replace(
        _renumbered(program, number, item),
        functions=tuple(_renumbered(functions[k], number, item) for k in used),
    )


def without_dead_instructions(program: Program) -> Program:
    """Remove the instructions of a Program or function that no result needs."""
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


def _note_items(program: Program, functions: list[Program], items: list[set[int]]) -> None:
    for i in program.code:
        if i.op == "item":
            items[program.code[i.args[0]].imm[0]].add(i.imm)
        elif i.op == "call" and i.imm[1] > 1:
            # All results that a loop passes to its next iteration are needed, even if unused
            # afterwards.
            items[i.imm[0]].update(range(len(functions[i.imm[0]].results[0])))


def _renumbered(program: Program, number: dict[int, int], item: list[dict[int, int]]) -> Program:
    code: list[Instruction] = []
    for i in program.code:
        if i.op == "call":
            i = i._replace(imm=(number[i.imm[0]], i.imm[1]))
        elif i.op == "item":
            i = i._replace(imm=item[program.code[i.args[0]].imm[0]][i.imm])
        code.append(i)
    return replace(program, code=tuple(code))


_LATENCY = {"div": 14, "sqrt": 20, "fma": 4, "mul": 3, "add": 3, "sub": 3, "lt": 3} | {"read": 20}
_DEFAULT_LATENCY = 2
"""Cycles until a result can be used, about as on current x86 cores (Fog's instruction tables)."""
LARGEST = 10_000
"""Largest number of instructions of a function that is scheduled.

A larger function is a matrix elimination: scheduled, its values live so long that it runs no faster
in lanes and takes LLVM twice as long to compile.
"""


def scheduled(program: Program) -> Program:
    """Reorder the instructions of a Program to keep the processor busy."""
    functions = tuple(
        function if len(function.code) > LARGEST else _scheduled(function, program.functions)
        for function in program.functions
    )
    return replace(_scheduled(program, program.functions), functions=functions)


def _scheduled(program: Program, functions: tuple[Program, ...]) -> Program:
    order = _order(program, functions)
    place = [0] * len(order)
    for n, k in enumerate(order):
        place[k] = n
    code = tuple(
        Instruction(i.op, tuple([place[a] for a in i.args]), i.imm)
        for i in (program.code[k] for k in order)
    )
    results = tuple(tuple(place[r] for r in result) for result in program.results)
    return replace(program, code=code, results=results)


def _order(program: Program, functions: tuple[Program, ...]) -> list[int]:
    """Instruction indices in the issue order of a machine that starts one operation per cycle."""
    users: list[list[int]] = [[] for _ in program.code]
    waiting_for: list[int] = []
    for k, i in enumerate(program.code):
        operands = set(i.args)
        waiting_for.append(len(operands))
        for a in operands:
            users[a].append(k)
    latency = [_latency(i, functions) for i in program.code]
    # Critical path in cycles from each operation to the end of the longest chain that depends on
    # it.
    remaining = [0] * len(latency)
    for k in reversed(range(len(latency))):
        remaining[k] = latency[k] + max((remaining[u] for u in users[k]), default=0)
    start = [0] * len(program.code)
    later = [(0, k) for k, n in enumerate(waiting_for) if n == 0]
    ready: list[tuple[int, int]] = []
    order: list[int] = []
    now = 0
    while ready or later:
        if not ready:
            now = max(now, later[0][0])
        while later and later[0][0] <= now:
            k = heapq.heappop(later)[1]
            heapq.heappush(ready, (-remaining[k], k))
        k = heapq.heappop(ready)[1]
        order.append(k)
        ready_at = now + latency[k]
        for user in users[k]:
            start[user] = max(start[user], ready_at)
            waiting_for[user] -= 1
            if waiting_for[user] == 0:
                heapq.heappush(later, (start[user], user))
        now += program.code[k].op not in ("const", "input")
    return order


def _latency(i: Instruction, functions: tuple[Program, ...]) -> int:
    if i.op == "call":
        return len(functions[i.imm[0]].code)
    return 0 if i.op in ("const", "input", "item") else _LATENCY.get(i.op, _DEFAULT_LATENCY)


_ZERO = Instruction("const", (), 0.0)


def skipped_by(function: Program) -> int | None:
    """Index of the argument that decides whether a function, traced or lowered, has to run.

    Where this argument is zero, the results equal the first arguments. None if the function always
    has to run.
    """
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
    """Merge consecutive calls of an iterating function in a traced Program into a loop."""
    iterating = {k for k, f in enumerate(program.functions) if skipped_by(f) is not None}
    if not iterating:
        return program
    code = list(program.code)
    uses = Counter(a for i in code for a in i.args)
    uses.update(r for result in program.results for r in result)
    for k, i in enumerate(code):
        before = _call_before(code, i, program.functions) if i.op == "call" else None
        if before is not None and i.imm[0] in iterating:
            count = len(program.functions[i.imm[0]].results[0])
            items_of = [a for a in i.args[:count] if uses[a] == 1]
            if len(items_of) == count == uses[before]:
                earlier = code[before]
                code[k] = earlier._replace(imm=(i.imm[0], earlier.imm[1] + i.imm[1]))
    return replace(program, code=tuple(code))


def _call_before(
    code: list[Instruction], i: Instruction, functions: tuple[Program, ...]
) -> int | None:
    """Index of the preceding call of the same function, if this call continues from its results.

    The first arguments are that call's results; all others are the same.
    """
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


T = TypeVar("T")

HELD = "h"
"""Name of the second input port of a split function."""


def with_held_parts(program: Program) -> Program:
    """Split the functions of a lowered Program at their held arguments."""
    if not program.functions or any(len(f.inputs) > 1 for f in program.functions):
        return program
    split = _Functions()
    # For each function and each of its arguments, whether it is held in every call
    functions = program.functions
    held = [[True] * len(f.inputs[0].fields) for f in functions]
    _note_calls(program, program.held, functions, held)
    # Callers come after the functions that they call, so all calls of a function are visited before
    # the function.
    for k in range(len(functions) - 1, -1, -1):
        if all(held[k]):
            held[k] = [False] * len(held[k])
        _note_calls(functions[k], _held_values(functions[k], held[k]), functions, held)
    for function, arguments in zip(program.functions, held, strict=True):
        split.add(function, arguments)
    return replace(_rewritten(program, split), functions=tuple(split.programs))


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
    """For each instruction of a function, whether it depends on held arguments alone."""
    held: list[bool] = []
    for i in function.code:
        held.append(arguments[i.imm[1]] if i.op == "input" else all([held[a] for a in i.args]))
    return held


class _Split(NamedTuple):
    """Function numbers after splitting: the number of the rest and, if it was split, of the first
    part.
    """

    rest: int
    first: int | None = None
    held: tuple[bool, ...] = ()
    """For each argument, whether it goes to the first part."""


class _Functions:
    """The functions written so far, and how each function of the Program was split."""

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
        """Write a call for which all arguments are available."""
        number, times = i.imm
        rest, first, held = self.split[number]
        if first is None:
            return b.emit("call", *args, imm=(rest, times))
        begin = b.emit("item", self.first_call(b, number, args), imm=0)
        return b.emit("call", *_chosen(args, held, False), begin, imm=(rest, times))

    def first_call(self, b: Builder, number: int, args: Sequence[int]) -> int:
        """Write the call of a function's first part; `args` are all arguments of the function."""
        first, held = self.split[number].first, self.split[number].held
        return b.emit("call", *_chosen(args, held, True), imm=(first, 1))

    def results(self, number: int) -> int:
        """Number of results of a function's first part; 0 if it was not split."""
        first = self.split[number].first
        return 0 if first is None else len(self.programs[first].results[0])


def _chosen(values: Sequence[T], held: Sequence[bool], wanted: bool) -> list[T]:
    return [value for value, is_held in zip(values, held, strict=True) if is_held is wanted]


def _rewritten(program: Program, functions: _Functions) -> Program:
    """Copy a Program, or a function that is not split itself, with calls of the split functions."""
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
    """The two parts of a split function: values that depend on held arguments alone, and the
    rest.
    """

    def __init__(self, function: Program, arguments: Sequence[bool], functions: _Functions) -> None:
        self.function, self.arguments, self.functions = function, arguments, functions
        self.held = _held_values(function, arguments)
        self.first, self.rest = (Builder(str(function.precision)) for _ in range(2))
        self.place: list[int] = []
        """New index of each instruction, in the part it belongs to."""
        self.handed: list[int] = []
        """Instructions of the first part whose values are passed to the rest."""
        self.handed_at: dict[int, int] = {}
        self.blocks: dict[int, int] = {}
        """Index of the first result of each called first part among the passed values."""
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
        """Copy a call of another split function.

        The other's first part is called in the first part of this one.
        """
        number, times = i.imm
        split, first = self.functions.split[number], self.first
        args = [self.place[a] if self.held[a] else -1 for a in i.args]
        called = self.functions.first_call(first, number, args)
        items = [first.emit("item", called, imm=k) for k in range(self.functions.results(number))]
        # The items must be adjacent, so an item that is already handed over elsewhere cannot be
        # reused.
        begin = self.blocks.setdefault(items[0], len(self.handed))
        if begin == len(self.handed):
            self.handed += items
        rest = [self._in_rest(a) for a in _chosen(i.args, split.held, False)]
        block = self.rest.emit("input", imm=(1, begin))
        return self.rest.emit("call", *rest, block, imm=(split.rest, times))

    def _in_rest(self, k: int) -> int:
        """Index of a value in the rest of the function; a held value is handed over by the first
        part.
        """
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


STATE, START = "x", "start"
"""Ports of a step Program: the present state, and the state at the start of the step."""


class StepValues(NamedTuple):
    """Instructions of a Program grouped by the states they depend on."""

    before: frozenset[int]
    """Independent of the present state and of the state at the start of the step."""
    at_start: frozenset[int]
    """Dependent on the state at the start of the step, but not on the present one."""
    kept: tuple[int, ...]
    """Members of `at_start` that the rest of the Program needs."""


def step_values(program: Program) -> StepValues:
    """Group the instructions of a step Program by when they can be computed."""
    names = [port.name for port in program.inputs]
    on_state, on_start = list[bool](), list[bool]()
    for i in program.code:
        port = names[i.imm[0]] if i.op == "input" else ""
        on_state.append(port == STATE or any([on_state[a] for a in i.args]))
        on_start.append(port == START or any([on_start[a] for a in i.args]))
    at_start = {k for k, it_is in enumerate(on_start) if it_is and not on_state[k]}
    needed = {a for k, i in enumerate(program.code) if k not in at_start for a in i.args}
    needed |= {r for result in program.results for r in result}
    before = {k for k in range(len(program.code)) if not on_start[k] and not on_state[k]}
    return StepValues(frozenset(before), frozenset(at_start), tuple(sorted(needed & at_start)))
