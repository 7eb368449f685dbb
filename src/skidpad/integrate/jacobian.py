"""Exact Jacobians of traced expressions, with few operations.

CasADi differentiates one direction at a time. Here the Jacobian is accumulated instead by vertex
elimination on the graph of local partial derivatives, in the greedy order of Markowitz (Griewank,
Walther, *Evaluating Derivatives*, chapters 9 and 10): a chain such as sin(C atan(B alpha)) is first
collapsed to one factor and only then multiplied with the three directions. Two rules save divisions,
which cost as much as ten multiplications or more: a quotient is taken as a product with a reciprocal
that value and derivative share, and the slope of a minimum or maximum is a selection.
"""

from __future__ import annotations

import heapq
from functools import cache
from typing import NamedTuple

import casadi as ca

from .symbolic import SX, column, reciprocal, symbols_besides

_CONDITIONS = frozenset({ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR})
_FLAT = _CONDITIONS | {ca.OP_SIGN, ca.OP_FLOOR, ca.OP_CEIL}
"""Operations whose derivative is zero wherever it exists."""


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
                value = _apply(op, args)
                active = [vertex[s] for s in source]
                if op not in _FLAT and any(a is not None for a in active):
                    name, count = count, count + 1
                    for start, partial in zip(active, _partials(op, args, value), strict=True):
                        if start is not None and not partial.is_zero():
                            self._connect(name, start, partial)
            values[target[0]] = value
            vertex[target[0]] = name

    def _connect(self, end: int, start: int, partial: SX) -> None:
        edges = self.before.setdefault(end, {})
        edges[start] = edges[start] + partial if start in edges else partial
        self.after.setdefault(start, set()).add(end)

    def eliminate(self) -> None:
        """Replace paths through operations by direct edges, cheapest operation first."""
        inputs = self.size[1]
        queue = [(self._cost(v), v) for v in self.before if v >= inputs]
        heapq.heapify(queue)
        while queue:
            cost, v = heapq.heappop(queue)
            if v not in self.before:
                continue
            if cost != self._cost(v):
                heapq.heappush(queue, (self._cost(v), v))
                continue
            self._remove(v)

    def _cost(self, v: int) -> int:
        """Multiplications that removing the vertex takes."""
        return len(self.before.get(v, ())) * len(self.after.get(v, ()))

    def _remove(self, v: int) -> None:
        starts = self.before.pop(v)
        for end in self.after.pop(v, set()):
            outer = self.before[end].pop(v)
            for start, inner in starts.items():
                self._connect(end, start, _product(outer, inner))
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


def _apply(op: int, args: list[SX]) -> SX:
    if op == ca.OP_DIV and not args[1].is_constant():
        return args[0] * reciprocal(args[1])
    return ca.SX.unary(op, *args) if len(args) == 1 else ca.SX.binary(op, *args)


def _partials(op: int, args: list[SX], value: SX) -> list[SX]:
    """Derivative of one operation with respect to each argument."""
    if op == ca.OP_DIV:
        scale = reciprocal(args[1])
        return [scale, -(value * scale)]
    if op in (ca.OP_FMIN, ca.OP_FMAX):
        a, b = args
        first = a <= b if op == ca.OP_FMIN else b <= a
        return [first, ca.logic_not(first)]
    if op == ca.OP_IF_ELSE_ZERO:
        return [ca.SX(0), args[0]]
    symbols, rules = _rule(op, len(args))
    return ca.substitute(rules, symbols, args)


@cache
def _rule(op: int, arity: int) -> tuple[list[SX], list[SX]]:
    """CasADi's own partial derivatives of an operation, over symbols for its arguments."""
    symbols = [ca.SX.sym(f"a{i}") for i in range(arity)]
    expression = _apply(op, symbols)
    rules = [ca.jacobian(expression, a) for a in symbols]
    return symbols, [_without_inverse(rule) for rule in rules]


def _without_inverse(rule: SX) -> SX:
    return reciprocal(rule.dep(0)) if rule.op() == ca.OP_INV else rule


def _product(outer: SX, inner: SX) -> SX:
    """outer * inner, as a selection where one of them is a condition."""
    if outer.op() in _CONDITIONS:
        return ca.if_else(outer, inner, 0.0)
    if inner.op() in _CONDITIONS:
        return ca.if_else(inner, outer, 0.0)
    return outer * inner
