"""Exact Jacobians of traced expressions, with few operations.

CasADi differentiates one direction at a time. Here the Jacobian is accumulated instead by vertex
elimination on the graph of local partial derivatives, in the greedy order of Markowitz (Griewank,
Walther, *Evaluating Derivatives*, chapters 9 and 10): a chain such as sin(C atan(B alpha)) is first
collapsed to one factor and only then multiplied with the three directions. Two rules save
divisions, which cost as much as ten multiplications or more: a quotient is taken as a product with
a reciprocal that value and derivative share, and the slope of a minimum or maximum is a selection.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
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
                    name = end = count
                    count += 1
                    for start, partial in zip(active, _partials(op, args, value), strict=True):
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
    if op == ca.OP_INV:
        return reciprocal(args[0])
    return ca.SX.unary(op, *args) if len(args) == 1 else ca.SX.binary(op, *args)


def _partials(op: int, args: list[SX], value: SX) -> list[SX]:
    """Derivative of one operation with respect to each argument."""
    if op in _PARTIALS:
        return _PARTIALS[op](*args, value)
    symbols, rules = _casadi_rule(op, len(args))
    partials: list[SX] = list(ca.substitute(rules, symbols, args))
    return partials


def _quotient(a: SX, b: SX, value: SX) -> list[SX]:
    scale = reciprocal(b)
    return [scale, -(value * scale)]


def _angle(y: SX, x: SX, value: SX) -> list[SX]:
    scale = reciprocal(x * x + y * y)
    return [x * scale, -(y * scale)]


def _length(x: SX, y: SX, value: SX) -> list[SX]:
    scale = reciprocal(value)
    return [x * scale, y * scale]


def _choice(first: SX) -> list[SX]:
    return [first, ca.logic_not(first)]


_ONE, _MINUS_ONE, _TWO = ca.SX(1), ca.SX(-1), ca.SX(2)
_PARTIALS: dict[int, Callable[..., list[SX]]] = {
    ca.OP_ADD: lambda a, b, value: [_ONE, _ONE],
    ca.OP_SUB: lambda a, b, value: [_ONE, _MINUS_ONE],
    ca.OP_MUL: lambda a, b, value: [b, a],
    ca.OP_DIV: _quotient,
    ca.OP_INV: lambda a, value: [-(value * value)],
    ca.OP_NEG: lambda a, value: [_MINUS_ONE],
    ca.OP_TWICE: lambda a, value: [_TWO],
    ca.OP_SQ: lambda a, value: [2.0 * a],
    ca.OP_SQRT: lambda a, value: [reciprocal(2.0 * value)],
    ca.OP_SIN: lambda a, value: [ca.cos(a)],
    ca.OP_COS: lambda a, value: [-ca.sin(a)],
    ca.OP_ATAN: lambda a, value: [reciprocal(1.0 + a * a)],
    ca.OP_TANH: lambda a, value: [1.0 - value * value],
    ca.OP_EXP: lambda a, value: [value],
    ca.OP_LOG: lambda a, value: [reciprocal(a)],
    ca.OP_ATAN2: _angle,
    ca.OP_HYPOT: _length,
    ca.OP_FMIN: lambda a, b, value: _choice(a <= b),
    ca.OP_FMAX: lambda a, b, value: _choice(b <= a),
    ca.OP_IF_ELSE_ZERO: lambda condition, a, value: [ca.SX(0), condition],
}
"""Partial derivatives of the operations that are frequent, or that CasADi would divide for."""


@cache
def _casadi_rule(op: int, arity: int) -> tuple[list[SX], list[SX]]:
    """CasADi's own partial derivatives of an operation, over symbols for its arguments."""
    symbols = [ca.SX.sym(f"a{i}") for i in range(arity)]
    expression = _apply(op, symbols)
    return symbols, [ca.jacobian(expression, a) for a in symbols]


def _product(outer: SX, inner: SX) -> SX:
    """outer * inner, as a selection where one of them is a condition."""
    if outer.op() in _CONDITIONS:
        return ca.if_else(outer, inner, 0.0)
    if inner.op() in _CONDITIONS:
        return ca.if_else(inner, outer, 0.0)
    return outer * inner
