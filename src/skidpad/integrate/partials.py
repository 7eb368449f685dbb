"""Local derivatives: of one CasADi operation with respect to its arguments, with few divisions.

The Jacobians of `jacobian` and the sweeps of `sweep` are put together from these. Two rules save
divisions, which cost as much as ten multiplications or more: a quotient is taken as a product with
a reciprocal that value and derivative share, and the slope of a minimum or maximum is a selection
(CasADi's own divides, to split the slope evenly where the two are equal).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import casadi as ca

from .symbolic import SX, plus, reciprocal, times

_CONDITIONS = frozenset({ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR})
FLAT = _CONDITIONS | {ca.OP_SIGN, ca.OP_FLOOR, ca.OP_CEIL}
"""Operations whose derivative is zero wherever it exists."""


def apply(op: int, args: list[SX]) -> SX:
    """The value of one operation; a quotient as a product with a reciprocal."""
    if op == ca.OP_DIV and not args[1].is_constant():
        return times(args[0], reciprocal(args[1]))
    if op == ca.OP_INV:
        return reciprocal(args[0])
    return ca.SX.unary(op, *args) if len(args) == 1 else ca.SX.binary(op, *args)


def partials(op: int, args: list[SX], value: SX) -> list[SX]:
    """Derivative of one operation with respect to each argument."""
    if op in _PARTIALS:
        return _PARTIALS[op](*args, value)
    symbols, rules = _casadi_rule(op, len(args))
    partials: list[SX] = list(ca.substitute(rules, symbols, args))
    return partials


def _quotient(a: SX, b: SX, value: SX) -> list[SX]:
    scale = reciprocal(b)
    return [scale, -times(value, scale)]


def _angle(y: SX, x: SX, value: SX) -> list[SX]:
    scale = reciprocal(plus(times(x, x), times(y, y)))
    return [times(x, scale), -times(y, scale)]


def _length(x: SX, y: SX, value: SX) -> list[SX]:
    scale = reciprocal(value)
    return [times(x, scale), times(y, scale)]


def _choice(first: SX) -> list[SX]:
    return [first, ca.logic_not(first)]


_ONE, _MINUS_ONE, _TWO = ca.SX(1), ca.SX(-1), ca.SX(2)
_PARTIALS: dict[int, Callable[..., list[SX]]] = {
    ca.OP_ADD: lambda a, b, value: [_ONE, _ONE],
    ca.OP_SUB: lambda a, b, value: [_ONE, _MINUS_ONE],
    ca.OP_MUL: lambda a, b, value: [b, a],
    ca.OP_DIV: _quotient,
    ca.OP_INV: lambda a, value: [-times(value, value)],
    ca.OP_NEG: lambda a, value: [_MINUS_ONE],
    ca.OP_TWICE: lambda a, value: [_TWO],
    ca.OP_SQ: lambda a, value: [times(_TWO, a)],
    ca.OP_SQRT: lambda a, value: [reciprocal(times(_TWO, value))],
    ca.OP_SIN: lambda a, value: [ca.cos(a)],
    ca.OP_COS: lambda a, value: [-ca.sin(a)],
    ca.OP_ATAN: lambda a, value: [reciprocal(plus(_ONE, times(a, a)))],
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
    expression = apply(op, symbols)
    return symbols, [ca.jacobian(expression, a) for a in symbols]


def product(outer: SX, inner: SX) -> SX:
    """outer * inner, as a selection where one of them is a condition."""
    if outer.op() in _CONDITIONS:
        return ca.if_else(outer, inner, 0.0)
    if inner.op() in _CONDITIONS:
        return ca.if_else(inner, outer, 0.0)
    return times(outer, inner)
