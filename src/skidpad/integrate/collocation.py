"""The Radau IIA tableaux, derived rather than copied, and their diagonal form.

The stage times of the method with s stages are the zeros of d^(s-1)/dx^(s-1) [x^(s-1) (x-1)^s];
the last is 1. The coefficients integrate the polynomial through the stages (Hairer, Wanner,
*Solving Ordinary Differential Equations II*, section IV.5). The arithmetic is decimal with 50
digits, so that the floats are correctly rounded and the same on every machine.

`radau_spectrum` brings the matrix A⁻¹ to diagonal form, T⁻¹ A⁻¹ T, with real numbers. With it the
Newton system of all stages falls apart into one system for each real eigenvalue and one complex
system for each pair (section IV.8). With an odd number of stages one eigenvalue is real; all others
come in pairs α ± iβ.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache
from itertools import pairwise

import numpy as np

from .explicit import Tableau

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


_NEWTON_STEPS = 8
"""Each doubles the digits of a root, of which the start has about twelve."""

Complex = tuple[Decimal, Decimal]
"""Real and imaginary part."""


@dataclass(frozen=True)
class Spectrum:
    """A⁻¹ = T Λ T⁻¹ with a block diagonal Λ: the real eigenvalues, then for each pair α ± iβ the
    block [[α, β], [-β, α]]."""

    reals: tuple[float, ...]
    pairs: tuple[tuple[float, float], ...]
    """α and β > 0 of each pair."""
    t: tuple[tuple[float, ...], ...]
    t_inverse: tuple[tuple[float, ...], ...]


@cache
def radau_spectrum(stages: int) -> Spectrum:
    """The spectrum of the inverse of the Radau IIA matrix with that many stages."""
    with localcontext() as context:
        context.prec = DIGITS
        matrix = exact_inverse(stages)
        roots = _eigenvalues(matrix)
        reals = [root for root in roots if root[1] == 0]
        pairs = [root for root in roots if root[1] > 0]
        columns = [[v[0] for v in _eigenvector(matrix, root)] for root in reals]
        for root in pairs:
            vector = _eigenvector(matrix, root)
            columns += [[v[part] for v in vector] for part in (0, 1)]
        t = [list(row) for row in zip(*columns, strict=True)]
        identity = [[Decimal(int(i == j)) for j in range(stages)] for i in range(stages)]
        t_inverse = solve(t, identity)
    return Spectrum(
        tuple(float(re) for re, _ in reals),
        tuple((float(re), float(im)) for re, im in pairs),
        _floats(t),
        _floats(t_inverse),
    )


def _floats(matrix: Matrix) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(value) for value in row) for row in matrix)


def _eigenvalues(matrix: Matrix) -> list[Complex]:
    """All of them, real ones first, then by falling real part; the upper one of a pair first."""
    polynomial = _characteristic(matrix)
    starts = np.roots([float(c) for c in polynomial])
    roots = [_polished(polynomial, (Decimal(z.real), Decimal(z.imag))) for z in starts.tolist()]
    return sorted(roots, key=lambda root: (root[1] != 0, -root[0], -root[1]))


def _characteristic(matrix: Matrix) -> list[Decimal]:
    """Coefficients of det(z - A), highest power first, after Faddeev and LeVerrier."""
    size = len(matrix)
    coefficients = [Decimal(1)]
    power: Matrix = [[Decimal(0)] * size for _ in range(size)]
    for k in range(1, size + 1):
        shifted = [
            [value + (coefficients[-1] if i == j else 0) for j, value in enumerate(row)]
            for i, row in enumerate(power)
        ]
        power = [
            [sum((a * shifted[m][j] for m, a in enumerate(row)), Decimal(0)) for j in range(size)]
            for row in matrix
        ]
        coefficients.append(-sum((power[i][i] for i in range(size)), Decimal(0)) / k)
    return coefficients


def _polished(polynomial: list[Decimal], z: Complex) -> Complex:
    """The root near z, by Newton's iteration; one that is as good as real becomes real."""
    if abs(z[1]) < Decimal("1e-6") * abs(z[0]):
        z = (z[0], Decimal(0))
    for _ in range(_NEWTON_STEPS):
        value = slope = (Decimal(0), Decimal(0))
        for c in polynomial:
            slope = _sum(_product(slope, z), value)
            value = _sum(_product(value, z), (c, Decimal(0)))
        step = _quotient(value, slope)
        z = (z[0] - step[0], z[1] - step[1])
    return z


def _eigenvector(matrix: Matrix, root: Complex) -> list[Complex]:
    """The vector whose last entry is 1, from all equations but the last."""
    size, (alpha, beta) = len(matrix) - 1, root
    rows, right = [], []
    for i in range(size):
        shifted = [a - alpha if i == j else a for j, a in enumerate(matrix[i])]
        turned = [beta if i == j else Decimal(0) for j in range(size)]
        # (A - α - iβ)(r + im) = 0 in real and imaginary parts.
        rows += [[*shifted[:size], *turned], [*(-b for b in turned), *shifted[:size]]]
        right += [[-shifted[size]], [Decimal(0)]]
    values = [value for (value,) in solve(rows, right)]
    return [*zip(values[:size], values[size:], strict=True), (Decimal(1), Decimal(0))]


def _sum(a: Complex, b: Complex) -> Complex:
    return a[0] + b[0], a[1] + b[1]


def _product(a: Complex, b: Complex) -> Complex:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _quotient(a: Complex, b: Complex) -> Complex:
    scale = b[0] * b[0] + b[1] * b[1]
    re, im = _product(a, (b[0], -b[1]))
    return re / scale, im / scale
