"""Functions that are called within expressions: what they depend on, and their derivatives.

The derivative of a call is a call again, of a function made from the body of the one that was
called: of its Jacobian, of its pullback along weights of its results, of its pushforward along
changes of its arguments. So a kernel that is called four times is differentiated once. CasADi takes
every result of a call to depend on every argument; here it is what the body says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca

from .as_written import as_written
from .symbolic import SX, column, symbols_besides

Mask = tuple[bool, ...]
KEPT = 64
"""Derived functions that are kept, so that those who ask for the same one share it."""


def called(name: str, inputs: Sequence[SX], outputs: Sequence[SX]) -> Any:
    """A function of one column that becomes a function of the Program, not a part of its code."""
    options = {"cse": True, "never_inline": True}
    return ca.Function(name, [column(inputs)], [column(outputs)], options)


class Kernel:
    """A function of one column that is called; equal to any other handle of the same function."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.name: str = function.name()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and hash(self) == hash(other)

    def __hash__(self) -> int:
        return self.function.__hash__()

    def call(self, args: Sequence[SX]) -> list[SX]:
        """Its results for these arguments."""
        return _split(self.function.call([column(args)])[0])

    def body(self) -> tuple[SX, SX]:
        """Symbols for its arguments, and its results as expressions of them."""
        symbols = column(ca.SX.sym(f"a{k}") for k in range(self.function.nnz_in()))
        with as_written(ca.SX()):
            return symbols, _replayed(self.function, symbols)


def kernels_of(graph: Any) -> dict[int, Kernel]:
    """For each instruction of a CasADi function that is a call, what it calls."""
    calls = [k for k in range(graph.n_instructions()) if graph.instruction_id(k) == ca.OP_CALL]
    if not calls:
        return {}
    expressions = graph.instructions_sx()
    return {k: Kernel(expressions[k].which_function()) for k in calls}


def applied(op: int, args: list[SX]) -> SX:
    """The value of one operation, made anew."""
    return ca.SX.unary(op, *args) if len(args) == 1 else ca.SX.binary(op, *args)


def _replayed(function: Any, symbols: SX) -> SX:
    """The results of a function, made anew from its operations."""
    kernels = kernels_of(function)
    results: list[SX] = [ca.SX(0)] * function.nnz_out()
    values: dict[int, SX] = {}
    for k in range(function.n_instructions()):
        op, source = function.instruction_id(k), function.instruction_input(k)
        target = function.instruction_output(k)
        if op == ca.OP_OUTPUT:
            results[target[1]] = values[source[0]]
        elif op == ca.OP_CONST:
            values[target[0]] = ca.SX(function.instruction_constant(k))
        elif op == ca.OP_INPUT:
            values[target[0]] = symbols[source[1]]
        elif op == ca.OP_CALL:
            values.update(zip(target, kernels[k].call([values[s] for s in source]), strict=True))
        else:
            values[target[0]] = applied(op, [values[s] for s in source])
    return column(results)


class Dependencies(NamedTuple):
    """What expressions depend on."""

    places: list[set[int]]
    """For each expression the places of the inputs that it depends on."""
    by_calls: bool
    """Whether some call depends on the inputs."""


def dependencies(outputs: SX, inputs: SX) -> Dependencies:
    """What the column `outputs` needs of the symbols in the column `inputs`."""
    with as_written(ca.SX()):
        graph = ca.Function("graph", [inputs, symbols_besides(outputs, inputs)], [outputs])
    return _dependencies(graph)


@lru_cache(KEPT)
def needed_arguments(kernel: Kernel) -> list[set[int]]:
    """For each result of a kernel the places of the arguments that it depends on."""
    return _dependencies(kernel.function).places


def _dependencies(graph: Any) -> Dependencies:
    kernels, by_calls = kernels_of(graph), False
    results: list[set[int]] = [set() for _ in range(graph.nnz_out())]
    values: dict[int, set[int]] = {}
    for k in range(graph.n_instructions()):
        op, source = graph.instruction_id(k), graph.instruction_input(k)
        target = graph.instruction_output(k)
        if op == ca.OP_OUTPUT:
            results[target[1]] = values[source[0]]
        elif op == ca.OP_INPUT:
            values[target[0]] = {source[1]} if source[0] == 0 else set()
        elif op == ca.OP_CALL:
            for register, needed in zip(target, needed_arguments(kernels[k]), strict=True):
                values[register] = set[int]().union(*(values[source[a]] for a in needed))
                by_calls = by_calls or bool(values[register])
        else:
            values[target[0]] = set[int]().union(*(values[s] for s in source))
    return Dependencies(results, by_calls)


class Call(NamedTuple):
    """A call that depends on the inputs of a tape."""

    kernel: Kernel
    targets: list[int | None]
    """For each result its number; None where it does not depend on the inputs."""
    args: list[SX]
    active: list[int | None]
    """For each argument its number; None where it does not depend on the inputs."""

    def slopes(self) -> Iterator[tuple[int, int, SX]]:
        """Number of a result, number of an argument, and the derivative, where it is not zero."""
        mask = tuple(a is not None for a in self.active)
        function, places = _slopes(self.kernel, mask)
        numbers = [a for a in self.active if a is not None]
        entries = function.call(self.args)
        for (row, place), entry in zip(places, entries, strict=True):
            target = self.targets[row]
            if target is not None:
                yield target, numbers[place], entry

    def pullback(self, gradient: dict[int, SX]) -> list[tuple[int, SX]]:
        """The terms that weights of the results, taken from a gradient, add to it."""
        weights = [None if t is None else gradient.pop(t, None) for t in self.targets]
        given = [w for w in weights if w is not None]
        if not given:
            return []
        mask = tuple(a is not None for a in self.active)
        function = _pullback(self.kernel, mask, tuple(w is not None for w in weights))
        terms = function.call([*self.args, *given])
        return list(zip((a for a in self.active if a is not None), terms, strict=True))

    def pushforward(self, change: dict[int, SX]) -> list[tuple[int, SX]]:
        """The changes of the results for changes of the arguments."""
        changes = [None if a is None else change.get(a) for a in self.active]
        given = [c for c in changes if c is not None]
        if not given:
            return []
        function = _pushforward(self.kernel, tuple(c is not None for c in changes))
        moved = zip(self.targets, function.call([*self.args, *given]), strict=True)
        return [(target, value) for target, value in moved if target is not None]


@lru_cache(KEPT)
def _slopes(kernel: Kernel, mask: Mask) -> tuple[Kernel, list[tuple[int, int]]]:
    """The entries of a kernel's Jacobian as a kernel, and their places."""
    from .jacobian import linearised

    symbols, results = kernel.body()
    jacobian = linearised(results, _chosen(symbols, mask)).jacobian
    rows, columns = jacobian.sparsity().get_triplet()
    entries = called(f"{kernel.name}_slopes", [symbols], [column(jacobian.nonzeros())])
    return Kernel(entries), list(zip(rows, columns, strict=True))


@lru_cache(KEPT)
def _pullback(kernel: Kernel, mask: Mask, weighted: Mask) -> Kernel:
    from .sweep import pullback

    symbols, results = kernel.body()
    chosen = _chosen(results, weighted)
    weights = column(ca.SX.sym(f"w{k}") for k in range(chosen.numel()))
    gradient = pullback(chosen, weights, _chosen(symbols, mask))
    return Kernel(called(f"{kernel.name}_pullback", [symbols, weights], [gradient]))


@lru_cache(KEPT)
def _pushforward(kernel: Kernel, mask: Mask) -> Kernel:
    from .sweep import pushforward

    symbols, results = kernel.body()
    inputs = _chosen(symbols, mask)
    direction = column(ca.SX.sym(f"d{k}") for k in range(inputs.numel()))
    change = pushforward(results, inputs, direction)
    return Kernel(called(f"{kernel.name}_pushforward", [symbols, direction], [change]))


def _chosen(values: SX, mask: Mask) -> SX:
    return column(values[k] for k, wanted in enumerate(mask) if wanted)


def _split(values: SX) -> list[SX]:
    return ca.vertsplit(values) if values.numel() else []
