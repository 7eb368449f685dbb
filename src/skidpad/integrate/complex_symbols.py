"""Complex numbers with symbolic parts, as far as elimination needs them."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from .symbolic import SX, reciprocal


class Complex(NamedTuple):
    """re + i im. An imaginary part that is the number 0 costs nothing: CasADi drops it."""

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
"""A real or complex symbol."""


def inverse(a: Number) -> Number:
    """1/a, with one division."""
    if not isinstance(a, Complex):
        return reciprocal(a)
    scale = reciprocal(a.re * a.re + a.im * a.im)
    return Complex(a.re * scale, -(a.im * scale))


def plus_product(sum_so_far: Number | None, a: Number, b: Number) -> Number:
    """sum_so_far + a b, every product added on its own so that it can be an fma."""
    if sum_so_far is None:
        return a * b
    if not isinstance(a, Complex):
        return sum_so_far + a * b
    re = (sum_so_far.re + a.re * b.re) - a.im * b.im
    return Complex(re, (sum_so_far.im + a.re * b.im) + a.im * b.re)


def real(value: SX) -> Complex:
    """A real number as a complex one."""
    return Complex(value, ca.SX(0))
