"""Functions that are called within expressions: their bodies and what they depend on.

The derivative of a call is a call again, of a function made from the body of the one that was
called: its Jacobian (see `jacobian`), its pullback along weights of its results or its pushforward
along changes of its arguments (see `sweep`). So a kernel that is called four times is
differentiated once. CasADi takes every result of a call to depend on every argument; here it is
what the body says.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca

from ..ops.reading import casadi_reader
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

    @property
    def reads(self) -> bool:
        """Whether it reads a shared array: its value depends on its arguments, its slopes are 0."""
        return hash(self) == casadi_reader().__hash__()

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
        elif op == ca.OP_CALL and kernels[k].reads:
            values[target[0]] = set[int]().union(*(values[s] for s in source))
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

    @property
    def mask(self) -> Mask:
        """For each argument whether it depends on the inputs."""
        return tuple(a is not None for a in self.active)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the arguments that do."""
        return [a for a in self.active if a is not None]


def chosen(values: SX, mask: Mask) -> SX:
    """Some of the values of a column."""
    return column(values[k] for k, wanted in enumerate(mask) if wanted)


def _split(values: SX) -> list[SX]:
    return ca.vertsplit(values) if values.numel() else []
