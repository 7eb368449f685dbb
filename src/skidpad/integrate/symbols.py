"""CasADi expressions shared by the implicit methods: columns, reciprocals, complex numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import casadi as ca

SX = Any
"""A scalar or matrix of CasADi's symbolic type, which comes without annotations."""
_TWO = ca.SX(2)


def plus(a: SX, b: SX) -> SX:
    """a + b of two expressions.

    CasADi's operators try every type that an operand might have, which takes seven times as long;
    the same holds for `times`.
    """
    return ca.SX.binary(ca.OP_ADD, a, b)


def times(a: SX, b: SX) -> SX:
    """a * b of two expressions; see `plus`."""
    return ca.SX.binary(ca.OP_MUL, a, b)


def column(values: Iterable[SX]) -> SX:
    """The values as a column; without values, an empty column of symbols rather than of numbers."""
    return ca.vertcat(ca.SX(0, 1), *values)


def symbols_besides(expression: SX, excluded: SX) -> SX:
    """The symbols in an expression, without those in the column `excluded`, as a column."""
    known = {excluded[i].element_hash() for i in range(excluded.numel())}
    return column(s for s in ca.symvar(expression) if s.element_hash() not in known)


def reciprocal(x: SX) -> SX:
    """1/x written so that CasADi does not merge it into products.

    CasADi rewrites a product with 1/x as a division by x, so that n products with one reciprocal
    would become n divisions; in vector code a division costs at least as much as ten
    multiplications. 2/(2x) is the same number and is left alone.
    """
    return ca.SX.binary(ca.OP_DIV, _TWO, times(_TWO, x))


class Complex(NamedTuple):
    """A complex expression re + i im. An imaginary part that is the number 0 costs nothing."""

    re: SX
    im: SX

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def __sub__(self, other: Any) -> Complex:
        return Complex(self.re - other.re, self.im - other.im)

    def __mul__(self, other: Any) -> Complex:
        return Complex(
            self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re
        )


Number = SX | Complex
"""A real or complex expression."""


def inverse_number(a: Number) -> Number:
    """1/a, with one division."""
    if not isinstance(a, Complex):
        return reciprocal(a)
    scale = reciprocal(a.re * a.re + a.im * a.im)
    return Complex(a.re * scale, -(a.im * scale))


def plus_product(sum_so_far: Number | None, a: Number, b: Number) -> Number:
    """sum_so_far + a b, with every product added separately so that it can be an fma."""
    if sum_so_far is None:
        return a * b
    if not isinstance(a, Complex):
        return sum_so_far + a * b
    re = (sum_so_far.re + a.re * b.re) - a.im * b.im
    return Complex(re, (sum_so_far.im + a.re * b.im) + a.im * b.re)


def real(value: SX) -> Complex:
    return Complex(value, ca.SX(0))
