"""Exact Jacobians of traced expressions, with few operations.

CasADi differentiates one direction at a time. Here the Jacobian is accumulated instead by vertex
elimination on the graph of local partial derivatives, in the greedy order of Markowitz (Griewank,
Walther, *Evaluating Derivatives*, chapters 9 and 10): a chain such as sin(C atan(B alpha)) is first
collapsed to one factor and only then multiplied with the three directions. The local derivatives
come from `partials`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import casadi as ca

from .called_kernels import KEPT, Call, Kernel, Mask, called, chosen
from .partials import apply, partials, product
from .sweep import Tape
from .symbolic import SX, column, plus


class Linearised(NamedTuple):
    """Expressions and their Jacobian, built to share what they have in common."""

    values: SX
    jacobian: SX


def linearised(outputs: SX, inputs: SX) -> Linearised:
    """The column `outputs` and its Jacobian with respect to the symbols in the column `inputs`."""
    graph = _Graph(outputs, inputs)
    graph.eliminate()
    return Linearised(column(graph.results), graph.jacobian())


def _entries(call: Call) -> Iterator[tuple[int, int, SX]]:
    """Number of a result of a call, number of an argument, and the derivative if it is not zero."""
    function, places = _slopes(call.kernel, call.mask)
    for (row, place), entry in zip(places, function.call(call.args), strict=True):
        target = call.targets[row]
        if target is not None:
            yield target, call.numbers[place], entry


@lru_cache(KEPT)
def _slopes(kernel: Kernel, mask: Mask) -> tuple[Kernel, list[tuple[int, int]]]:
    """The entries of a kernel's Jacobian as a kernel, and their places."""
    symbols, results = kernel.body()
    jacobian = linearised(results, chosen(symbols, mask)).jacobian
    rows, columns = jacobian.sparsity().get_triplet()
    entries = called(f"{kernel.name}_slopes", [symbols], [column(jacobian.nonzeros())])
    return Kernel(entries), list(zip(rows, columns, strict=True))


class _Graph:
    """Local partial derivatives between the operations of a trace that depend on the inputs.

    Vertices are numbers: inputs first, then operations in order; output k is the vertex -1 - k.
    """

    def __init__(self, outputs: SX, inputs: SX) -> None:
        self.size = (outputs.numel(), inputs.numel())
        self.before: dict[int, dict[int, SX]] = {}
        """For each vertex its partial derivatives with respect to its arguments."""
        self.after: dict[int, set[int]] = {i: set() for i in range(inputs.numel())}
        tape = Tape(outputs, inputs, apply)
        self.results = tape.results
        for operation in tape.operations:
            if isinstance(operation, Call):
                for end, start, partial in _entries(operation):
                    self._connect(end, start, partial)
                continue
            op, end, value, args, active = operation
            for start, partial in zip(active, partials(op, args, value), strict=True):
                if start is not None and not partial.is_zero():
                    self._connect(end, start, partial)
        for k, start in enumerate(tape.numbers):
            if start is not None:
                self._connect(-1 - k, start, ca.SX(1))

    def _connect(self, end: int, start: int, partial: SX) -> None:
        edges = self.before.setdefault(end, {})
        edges[start] = plus(edges[start], partial) if start in edges else partial
        self.after.setdefault(start, set()).add(end)

    def eliminate(self) -> None:
        """Replace paths through operations by direct edges, cheapest operation first.

        Of equal ones the later goes first, which took the fewest operations on the cars.
        """
        inputs = self.size[1]
        self._forget_constants()
        queue = [(self._cost(v), -v) for v in self.before if v >= inputs]
        heapq.heapify(queue)
        while queue:
            cost, negative = heapq.heappop(queue)
            v = -negative
            if cost == self._cost(v):
                self._remove(v)
            else:
                heapq.heappush(queue, (self._cost(v), -v))

    def _forget_constants(self) -> None:
        """Drop operations that do not change with the inputs, as 0 x does not, and what is left of
        those that only they would have changed."""
        inputs = self.size[1]
        constant = [v for v in self.after if v >= inputs and not self.before.get(v)]
        while constant:
            v = constant.pop()
            self.before.pop(v, None)
            for end in self.after.pop(v, ()):
                self.before[end].pop(v)
                if not self.before[end] and end >= inputs:
                    constant.append(end)

    def _cost(self, v: int) -> int:
        """Multiplications that removing the vertex takes."""
        return len(self.before.get(v, ())) * len(self.after.get(v, ()))

    def _remove(self, v: int) -> None:
        starts = self.before.pop(v)
        for end in self.after.pop(v, set()):
            outer = self.before[end].pop(v)
            for start, inner in starts.items():
                self._connect(end, start, product(outer, inner))
        for start in starts:
            self.after[start].discard(v)

    def jacobian(self) -> SX:
        """The matrix left when only edges from inputs to outputs remain."""
        rows, columns = self.size
        matrix = ca.SX(rows, columns)
        for i in range(rows):
            for j, partial in self.before.get(-1 - i, {}).items():
                matrix[i, j] = partial
        return matrix
