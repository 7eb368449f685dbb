"""Exact Jacobians of traced expressions, with few operations.

CasADi differentiates one direction at a time. Here the Jacobian is accumulated instead by vertex
elimination on the graph of local partial derivatives, in the greedy order of Markowitz (Griewank,
Walther, *Evaluating Derivatives*, chapters 9 and 10): a chain such as sin(C atan(B alpha)) is first
collapsed to one factor and only then multiplied with the three directions. The local derivatives
come from `partials`.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import casadi as ca

from .partials import FLAT, apply, partials, product
from .symbolic import SX, column, symbols_besides


class Linearised(NamedTuple):
    """Expressions and their Jacobian, built to share what they have in common."""

    values: SX
    jacobian: SX


def linearised(outputs: SX, inputs: SX) -> Linearised:
    """The column `outputs` and its Jacobian with respect to the symbols in the column `inputs`."""
    graph = _Graph(outputs, inputs)
    graph.eliminate()
    return Linearised(column(graph.results), graph.jacobian())


class _Graph:
    """Local partial derivatives between the operations of a trace that depend on the inputs.

    Vertices are numbers: inputs first, then operations in order; output k is the vertex -1 - k.
    """

    def __init__(self, outputs: SX, inputs: SX) -> None:
        self.size = (outputs.numel(), inputs.numel())
        self.before: dict[int, dict[int, SX]] = {}
        """For each vertex its partial derivatives with respect to its arguments."""
        self.after: dict[int, set[int]] = {i: set() for i in range(inputs.numel())}
        self.results: list[SX] = [ca.SX(0)] * outputs.numel()
        self._record(outputs, inputs)

    def _record(self, outputs: SX, inputs: SX) -> None:
        free = symbols_besides(outputs, inputs)
        trace = ca.Function("trace", [inputs, free], [outputs], {"cse": True})
        values: dict[int, SX] = {}
        vertex: dict[int, int | None] = {}
        count = inputs.numel()
        for k in range(trace.n_instructions()):
            op, source = trace.instruction_id(k), trace.instruction_input(k)
            target = trace.instruction_output(k)
            if op == ca.OP_OUTPUT:
                self.results[target[1]] = values[source[0]]
                start = vertex[source[0]]
                if start is not None:
                    self._connect(-1 - target[1], start, ca.SX(1))
                continue
            name: int | None = None
            if op == ca.OP_CONST:
                value = ca.SX(trace.instruction_constant(k))
            elif op == ca.OP_INPUT:
                value = (inputs, free)[source[0]][source[1]]
                name = source[1] if source[0] == 0 else None
            else:
                args = [values[s] for s in source]
                value = apply(op, args)
                active = [vertex[s] for s in source]
                if op not in FLAT and any(a is not None for a in active):
                    name = end = count
                    count += 1
                    for start, partial in zip(active, partials(op, args, value), strict=True):
                        if start is not None and not partial.is_zero():
                            self._connect(end, start, partial)
            values[target[0]] = value
            vertex[target[0]] = name

    def _connect(self, end: int, start: int, partial: SX) -> None:
        edges = self.before.setdefault(end, {})
        edges[start] = edges[start] + partial if start in edges else partial
        self.after.setdefault(start, set()).add(end)

    def eliminate(self) -> None:
        """Replace paths through operations by direct edges, cheapest operation first.

        Of equal ones the later goes first, which took the fewest operations on the cars.
        """
        inputs = self.size[1]
        queue = [(self._cost(v), -v) for v in self.before if v >= inputs]
        heapq.heapify(queue)
        while queue:
            cost, negative = heapq.heappop(queue)
            v = -negative
            if cost == self._cost(v):
                self._remove(v)
            else:
                heapq.heappush(queue, (self._cost(v), -v))

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
