"""The Radau IIA tableaux, derived rather than copied.

The stage times of the method with s stages are the zeros of d^(s-1)/dx^(s-1) [x^(s-1) (x-1)^s];
the last is 1. The coefficients integrate the polynomial through the stages (Hairer, Wanner,
*Solving Ordinary Differential Equations II*, section IV.5). The arithmetic is decimal with 50
digits, so the floats that come out are correctly rounded.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache
from itertools import pairwise

from .tableau import Tableau

DIGITS = 50
_BISECTIONS = 170
"""Halvings of an interval of length 1 that reach below 10^-50."""

Matrix = list[list[Decimal]]


@cache
def radau_tableau(stages: int) -> Tableau:
    """The Radau IIA method with that many stages, of order 2 stages - 1."""
    c, a = _exact(stages)
    rows = tuple(tuple(float(value) for value in row) for row in a)
    return Tableau(f"radau{stages}", 2 * stages - 1, rows, rows[-1], tuple(map(float, c)))


@cache
def inverse_coefficients(stages: int) -> tuple[tuple[float, ...], ...]:
    """The inverse of the matrix a of `radau_tableau`, rounded once."""
    return tuple(tuple(float(value) for value in row) for row in exact_inverse(stages))


def exact_inverse(stages: int) -> Matrix:
    """The inverse of the matrix a, to `DIGITS` digits."""
    _, a = _exact(stages)
    with localcontext() as context:
        context.prec = DIGITS
        return solve(a, [[Decimal(int(i == j)) for j in range(stages)] for i in range(stages)])


def _exact(stages: int) -> tuple[list[Decimal], Matrix]:
    """Times c and coefficients a."""
    with localcontext() as context:
        context.prec = DIGITS
        c = _stage_times(stages)
        # a integrates every power below s exactly: Σ_j a_ij c_j^(k-1) = c_i^k / k.
        powers = [[time**k for time in c] for k in range(stages)]
        integrals = [[time ** (k + 1) / (k + 1) for time in c] for k in range(stages)]
        return c, _transposed(solve(powers, integrals))


def _stage_times(stages: int) -> list[Decimal]:
    """The zeros in (0, 1), found between those of the polynomial's derivative, and 1 itself."""
    polynomial = [1]
    for root in [0] * (stages - 1) + [1] * stages:
        polynomial = _times_linear(polynomial, root)
    for _ in range(stages - 1):
        polynomial = _differentiated(polynomial)
    quotient = _divided_by_linear(polynomial, 1)
    return [*_zeros(quotient), Decimal(1)]


def _zeros(polynomial: list[int]) -> list[Decimal]:
    """All zeros of a polynomial whose zeros are simple and lie in (0, 1), in order."""
    if len(polynomial) == 1:
        return []
    turning = _zeros(_differentiated(polynomial))
    edges = [Decimal(0), *turning, Decimal(1)]
    return [_zero(polynomial, low, high) for low, high in pairwise(edges)]


def _zero(polynomial: list[int], low: Decimal, high: Decimal) -> Decimal:
    rising = _value(polynomial, low) < 0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if (_value(polynomial, middle) < 0) == rising:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _value(polynomial: list[int], x: Decimal) -> Decimal:
    total = Decimal(0)
    for coefficient in reversed(polynomial):
        total = total * x + coefficient
    return total


def _times_linear(polynomial: list[int], root: int) -> list[int]:
    """The polynomial times (x - root); coefficients from the constant one up."""
    shifted = [0, *polynomial]
    return [s - root * p for s, p in zip(shifted, [*polynomial, 0], strict=True)]


def _divided_by_linear(polynomial: list[int], root: int) -> list[int]:
    quotient: list[int] = []
    carry = 0
    for coefficient in reversed(polynomial):
        carry = carry * root + coefficient
        quotient.append(carry)
    return quotient[-2::-1]


def _differentiated(polynomial: list[int]) -> list[int]:
    return [k * coefficient for k, coefficient in enumerate(polynomial)][1:]


def _transposed(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


def solve(matrix: Matrix, right: Matrix) -> Matrix:
    """The solution of a small linear system with several right sides, by Gauss-Jordan."""
    rows = [[*left, *values] for left, values in zip(matrix, right, strict=True)]
    size = len(rows)
    for k in range(size):
        best = max(range(k, size), key=lambda i: abs(rows[i][k]))
        rows[k], rows[best] = rows[best], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(size):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows]
